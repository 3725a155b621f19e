"""Names of clusters: reading them, looking them up, and messages with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._text import shown, suggestion
from ._checks import as_numbers, plural, short_bound, shortened

Cluster: TypeAlias = str | int
"""What rules call a cluster: its name, or its number from 0."""

ClusterNames: TypeAlias = tuple[str, ...] | None
"""Names of all clusters in the order of their numbers; None if they have none."""


class Called(Sequence[Any]):
    """Names of rows, which know the names of the clusters besides.

    It goes where messages take the names of rows; :func:`cluster_name` finds the others in it.

    Examples
    --------
    >>> both = Called(["ann", "bob"], ("north", "south"))
    >>> both[1], cluster_name(0, both), cluster_name(0, ["ann", "bob"])
    ('bob', 'north', '0')
    """

    def __init__(self, rows: Sequence[Any], clusters: tuple[str, ...]) -> None:
        self.rows, self.clusters = rows, clusters

    def __getitem__(self, row: Any) -> Any:
        return self.rows[row]

    def __len__(self) -> int:
        return len(self.rows)


def called(rows: Any, clusters: ClusterNames, n_rows: int) -> Any:
    """The names of the rows, which know those of the clusters if there are any.

    Rows without names are called by their numbers.
    """
    if clusters is None:
        return rows
    return Called(range(n_rows) if rows is None else rows, clusters)


def cluster_name(cluster: Any, names: Any) -> str:
    """What a message calls a cluster: its name if ``names`` knows it, else its number."""
    known: ClusterNames = names.clusters if isinstance(names, Called) else None
    inside = known is not None and 0 <= int(cluster) < len(known)
    return known[int(cluster)] if inside and known is not None else str(cluster)


def read_cluster_names(names: Any, n_clusters: int | None = None) -> ClusterNames:
    """Read the parameter ``cluster_names``: one text a cluster, none twice; None stays None.

    Raises
    ------
    ValueError
        With the name that is wrong, or both numbers if there are too many or too few.

    Examples
    --------
    >>> read_cluster_names(["north", "south"], 2)
    ('north', 'south')
    """
    if names is None:
        return None
    if isinstance(names, (str, bytes, Mapping)) or not isinstance(names, Iterable):
        raise ValueError(f"`cluster_names` is {shown(names)}; it must be a list of texts.")
    read = [name.item() if isinstance(name, np.generic) else name for name in names]
    first: dict[str, int] = {}
    for place, name in enumerate(read):
        if not isinstance(name, str) or not name.strip():
            raise ValueError(
                f"`cluster_names[{place}]` is {shown(name)}; each name must be a text that is not "
                "blank."
            )
        if name in first:
            raise ValueError(
                f"`cluster_names` holds {name!r} twice, at {first[name]} and {place}; each cluster "
                "needs a name of its own."
            )
        first[name] = place
    if n_clusters is not None and len(read) != n_clusters:
        raise ValueError(
            f"`cluster_names` has {plural(len(read), 'name')}, but n_clusters is {n_clusters}; "
            "give one name per cluster, in the order of their numbers."
        )
    return tuple(read)


def numbers_of_clusters(
    wanted: Iterable[Cluster], names: Sequence[str] | None, what: str
) -> list[int]:
    """The numbers of clusters that rules call by names or numbers.

    Raises
    ------
    ValueError
        A name is not known, or there are no names.
    """
    place = {name: number for number, name in enumerate(names or ())}
    found = []
    for cluster in wanted:
        if isinstance(cluster, str):
            if names is None:
                raise ValueError(
                    f"{what} name the cluster {cluster!r}, but the clusters have no names; give "
                    "cluster_names=, or the number of the cluster."
                )
            if cluster not in place:
                known = shortened(map(repr, names), len(names))
                raise ValueError(
                    f"{what} name the cluster {cluster!r}{suggestion(cluster, names)}, which is "
                    f"not in cluster_names; these are {known}."
                )
            found.append(place[cluster])
        else:
            found.append(int(cluster))
    return found


def check_clusters(clusters: Iterable[Any], what: str) -> tuple[Cluster, ...]:
    """Read names or numbers of clusters; none may be there twice."""
    read: list[Cluster] = []
    for given in clusters:
        cluster = given.item() if isinstance(given, np.generic) else given
        number = isinstance(cluster, int) and not isinstance(cluster, bool) and cluster >= 0
        if not number and not (isinstance(cluster, str) and cluster.strip()):
            raise ValueError(
                f"{what} name the cluster {shown(cluster)}; it must be a name, or a number from 0."
            )
        if cluster in read:
            raise ValueError(f"{what} name the cluster {cluster!r} twice.")
        read.append(cluster)
    return tuple(read)


def check_names(names: Iterable[Any], what: str) -> tuple[str, ...]:
    """Read names of clusters."""
    read = tuple(names)
    for name in read:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(
                f"{what} name the cluster {shown(name)}; it must be a name in cluster_names."
            )
    return tuple(map(str, read))


def named_bounds(
    what: str, free: Mapping[str, float], **sides: Any
) -> tuple[dict[str, Any], tuple[str, ...] | None]:
    """Bounds by cluster as arrays, all for the same clusters, and these clusters.

    A side that is no mapping stays as it is.  Where one has no bound for a cluster, it has that of
    ``free``.  The clusters are None if no side is a mapping.

    Examples
    --------
    >>> named_bounds("sizes", {"minimum": 0, "maximum": 99}, minimum={"a": 1}, maximum={"b": 5})
    ({'minimum': array([1., 0.]), 'maximum': array([99.,  5.])}, ('a', 'b'))
    """
    given = {side: value for side, value in sides.items() if isinstance(value, Mapping)}
    if not given:
        return sides, None
    clusters = check_names(dict.fromkeys(key for own in given.values() for key in own), what)
    made = dict(sides)
    for side, bounds in given.items():
        values = {key: value for key, value in bounds.items() if value is not None}
        read = as_numbers(list(values.values()), f"{side} by cluster")
        if read.ndim > 1:
            raise ValueError(f"{side} by cluster must hold one number for each cluster.")
        bound = dict(zip(map(str, values), read, strict=True))
        if side == "sizes" and len(bound) < len(clusters):
            lacking = next(cluster for cluster in clusters if cluster not in bound)
            raise ValueError(f"{side} has no number for cluster {lacking!r}; sizes are exact.")
        made[side] = np.array([bound.get(j, free.get(side, 0.0)) for j in clusters], np.float64)
    return made, clusters


def refuse_lists(clusters: tuple[str, ...] | None, *bounds: Any) -> None:
    """Raise ``ValueError`` for a side with a list where another has bounds by cluster."""
    if clusters is None:
        return
    for bound in bounds:
        if bound is not None and bound.ndim and len(bound) != len(clusters):
            raise ValueError(
                "one side has bounds by cluster and the other a list; give a mapping for both, or "
                "one number."
            )


def spread(
    clusters: Sequence[str],
    names: Sequence[str],
    sides: Mapping[str, NDArray[Any] | None],
    free: Mapping[str, Any],
) -> dict[str, NDArray[Any] | None]:
    """Bounds of some clusters as bounds of all; the others have those of ``free``."""
    numbers = numbers_of_clusters(clusters, names, "bounds")
    made: dict[str, NDArray[Any] | None] = {}
    for side, bound in sides.items():
        made[side] = bound
        if bound is not None and bound.ndim:
            every = np.full(len(names), free[side], bound.dtype)
            every[numbers] = bound
            made[side] = every
    return made


def bound_in_words(
    bound: NDArray[Any], free: Any, clusters: Sequence[str] | None, names: Any
) -> str:
    """A bound as text: one number, a list of them, or those of the clusters that have names."""
    known = names.clusters if isinstance(names, Called) else None
    own = known if clusters is None else clusters
    if not bound.ndim or own is None or len(own) != len(bound):
        return short_bound(bound)
    both = zip(own, bound.tolist(), strict=True)
    parts = [f"{value:.10g} in {cluster}" for cluster, value in both if value != free]
    return shortened(parts, len(parts), 8) or "any"


def of_names(clusters: Iterable[Any] | None) -> Iterator[str]:
    """The names among clusters, without the numbers."""
    yield from (cluster for cluster in clusters or () if isinstance(cluster, str))


def refuse_names(clusters: Any, what: str) -> None:
    """Raise ``ValueError`` for a rule that is used before its clusters are looked up."""
    if clusters is not None and len(clusters):
        raise ValueError(
            f"{what} name clusters, such as {clusters[0]!r}; give cluster_names= to the estimator, "
            "or look the names up first with resolve_clusters(names)."
        )


def refuse_missing(clusters: Sequence[str], names: Sequence[str], why: str) -> None:
    """Raise ``ValueError`` unless every cluster is there."""
    found = set(numbers_of_clusters(clusters, names, "bounds"))
    missing = next((name for j, name in enumerate(names) if j not in found), None)
    if missing is not None:
        raise ValueError(f"{why}, but cluster {missing!r} has none; give one for each cluster.")


def clusters_of_json(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The clusters of bounds in a file."""
    given = values.get("clusters")
    return None if given is None else check_names(given, "bounds")
