"""Labels of an earlier answer: reading them, and the pins that keep rows where they were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import sound
from .._text import shown
from .._typing import IntArray
from ._checks import as_entries, as_numbers, index_of, kind_of, plural, table_of
from .base import Constraint
from .clusters import ClusterNames, numbers_of_clusters, read_cluster_names
from .connected import Connected
from .links import CannotLink, MustLink
from .pins import Pin
from .shares import GroupShares
from .sizes import ClusterSizes
from .totals import ClusterTotals

#: What stands for no cluster in a list of labels, besides -1, None and NaN.
NO_NAME = ("", "-1", "nan")


@dataclass(frozen=True, eq=False)
class Previous:
    """The clusters that rows had before.

    Attributes
    ----------
    labels : (n_samples,) int array
        -1 for rows that had none.
    stay : float or None
        Price of each row that leaves its cluster; infinite if none may.  None: it costs nothing.
    gone : int
        Rows of the earlier answer that are not in the data any more.
    """

    labels: IntArray
    stay: float | None = None
    gone: int = 0

    @property
    def pins(self) -> Pin | None:
        """Pins of the rows to the clusters that they had; None if they are free to leave."""
        if self.stay is None or not (self.labels >= 0).any():
            return None
        return Pin(self.labels, self.stay, n_samples=len(self.labels))

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` if the labels are for other rows, or other clusters."""
        if len(self.labels) != n_samples:
            raise ValueError(
                f"`previous` has {plural(len(self.labels), 'label')}, but X has {n_samples} "
                "samples; give one per row, or a pandas series whose index names rows of the data "
                "frame X."
            )
        wrong = np.flatnonzero(self.labels >= n_clusters)
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"`previous[{row}]` is {self.labels[row]}, but n_clusters is {n_clusters}; labels "
                f"must lie in [0, {n_clusters - 1}], or be -1 for a row that is free."
            )


def check_named(
    clusters: ClusterNames, before: Previous | None, n_samples: int, n_clusters: int
) -> None:
    """Raise ``ValueError`` unless there is one name a cluster, and labels for these rows."""
    read_cluster_names(clusters, n_clusters)
    if before is not None:
        before.check(n_samples, n_clusters)


def read_previous(
    previous: Any, stay: Any = None, X: Any = None, clusters: ClusterNames = None
) -> Previous | None:
    """Read ``previous`` and ``stay`` of a fit; None if there is no earlier answer.

    Parameters
    ----------
    previous : array-like, pandas series, mapping or None
        Numbers or names of clusters; -1, None, NaN or an empty text for rows without one.  A
        series, or a mapping from names of rows, is for the rows of the data frame X with these
        names.
    stay : float or None
    X : array-like or data frame
    clusters : names of the clusters, or None

    Examples
    --------
    >>> before = read_previous(["b", None, "a"], stay=2.0, clusters=("a", "b"))
    >>> before.labels, before.pins
    (array([ 1, -1,  0]), Pin(2 rows, 2 soft))
    """
    if isinstance(previous, Previous):
        return previous
    if previous is None:
        if stay is not None:
            raise ValueError(
                f"`stay` is {shown(stay)}, but `previous` is None; give the labels to stay at."
            )
        return None
    price = None
    if stay is not None:
        number = as_numbers(stay, "`stay`")
        if number.ndim or number < 0:
            raise ValueError(
                f"`stay` is {shown(stay)}; it must be one number of at least 0, inf for pins that "
                "hold, or None."
            )
        price = float(number)
    values, gone = _aligned(previous, X)
    return Previous(_numbers(values, clusters), price, gone)


def _aligned(previous: Any, X: Any) -> tuple[Any, int]:
    """The labels in the order of the rows of X, and how many belong to no row of it."""
    index, own = index_of(X), index_of(previous)
    if isinstance(previous, Mapping):
        own, values = list(previous), list(previous.values())
        if index is None:
            raise ValueError(
                "`previous` is a mapping from names of rows, but X has no index; give X as a "
                "pandas data frame, or one label per row."
            )
    else:
        if isinstance(previous, (str, bytes)):
            raise ValueError(f"`previous` is {kind_of(previous)}; it must be one label per row.")
        values = previous
    if own is None or index is None or (len(own) == len(index) and list(own) == list(index)):
        return values, 0
    place = table_of(list(index))
    found: list[Any] = [None] * len(place)
    gone = 0
    for name, label in zip(table_of(list(own)), list(values), strict=True):
        if name in place:
            found[place[name]] = label
        else:
            gone += 1
    return found, gone


def _numbers(values: Any, clusters: ClusterNames) -> IntArray:
    """Labels as numbers of clusters, -1 where there is none."""
    array = as_entries(sound(values, "`previous`"), "`previous`")
    if array.ndim != 1:
        raise ValueError(f"`previous` has shape {array.shape}; it must be one label per row.")
    if array.dtype.kind in "iu":
        labels = array.astype(np.int64)
        _refuse(labels < -1, array)
        return labels
    labels = np.full(len(array), -1)
    names: dict[int, str] = {}
    for row, value in enumerate(array.tolist()):
        if isinstance(value, str):
            if value.strip().lower() not in NO_NAME:
                names[row] = value
        elif value is not None and not _missing(value):
            whole = not isinstance(value, bool) and isinstance(value, (int, float))
            if not whole or not math.isfinite(value) or value != int(value) or value < -1:
                _refuse(np.arange(len(array)) == row, array)
            labels[row] = int(value)
    labels[list(names)] = _named(names, clusters)
    return labels


def _named(names: Mapping[int, str], clusters: ClusterNames) -> Sequence[int]:
    """The numbers of named clusters; texts of numbers are numbers where clusters have no names."""
    if clusters is None and all(name.strip().isdecimal() for name in names.values()):
        return [int(name) for name in names.values()]
    return numbers_of_clusters(names.values(), clusters, "labels of `previous`")


def _missing(value: Any) -> bool:
    """Whether a value is NaN or pandas.NA."""
    try:
        return bool(value != value)
    except TypeError:
        return True


def _refuse(wrong: Any, array: Any) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"`previous[{row}]` is {shown(array.tolist()[row])}; a label is a whole number from "
            "0, a name of a cluster, or -1, None or NaN for a row that is free."
        )


def named_clusters(rules: Iterable[Constraint], n_clusters: int) -> set[int]:
    """Clusters whose number matters to a rule, so that it cannot be exchanged with another's."""
    found: set[int] = set()
    for rule in rules:
        if isinstance(rule, Pin):
            found |= set(rule.clusters.tolist())
        elif isinstance(rule, ClusterSizes):
            bounds = (rule.sizes, rule.minimum, rule.maximum)
            if rule.ordered and _per_cluster(bounds):
                return set(range(n_clusters))
        elif isinstance(rule, ClusterTotals):
            if _per_cluster((rule.minimum, rule.maximum)):
                return set(range(n_clusters))
        elif isinstance(rule, GroupShares):
            found |= set(map(int, rule.clusters or ()))
        elif not isinstance(rule, (MustLink, CannotLink, Connected)):
            return set(range(n_clusters))
    return found


def _per_cluster(bounds: Sequence[Any]) -> bool:
    return any(bound is not None and np.ndim(bound) > 0 for bound in bounds)
