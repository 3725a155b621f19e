"""Report: what the audit finds, as text, as an HTML page with pictures, and as plain data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from .._arrays import sound
from .._text import in_digits
from .._typing import FloatArray, IntArray
from ..audit import Findings, InMemory, PointPieces, centres_of, examine
from ..audit.distances import check_places
from ..constraints import Constraint
from ..constraints._checks import as_numbers, check_count, refuse
from ..constraints.clusters import ClusterNames, called, cluster_name, read_cluster_names
from ..constraints.collection import rules_for
from ..constraints.files import atomic_writer
from ..constraints.previous import Previous
from ..geo.frames import as_points
from ..geo.shapes import Map, map_of
from ..plots._style import feature_names
from .changes import Changes
from .old import know_old_names
from .page import (
    Profile,
    Told,
    bounds_section,
    changes_section,
    headline,
    profile_section,
    profiles,
    rules_section,
    section,
    solver_section,
    summary,
    to_fragment,
    to_members,
    to_page,
)
from .pictures import Pictures, View, to_pictures
from .roster import MOST_ROWS, members, to_roster
from .text import Prices, to_text

if TYPE_CHECKING:
    from ..admm.history import History

__all__ = ["Report", "audit"]

UNKNOWN_PLAN = "The report was made from labels alone: it does not say how they were found."


class HowFound(Protocol):
    """How an answer was found: the events of the search."""

    def table(self) -> list[tuple[str, str]]:
        """Give pairs of event and value, in plain words."""


@dataclass(frozen=True)
class Report(Findings):
    """What labels are worth and which rules they break.

    Printing it gives a small table.

    Attributes
    ----------
    inertia : float
        Weighted sum of squared distances of the points to the centre of their cluster; of cosine
        distances, if that is the metric.
    sizes : tuple of int
        Number of points in each cluster.
    entries : tuple of Entry
        One for each constraint, in the order given.
    view, history, names, features
        What the HTML page shows besides: some of the points, the solver's history, and what to
        call the rows and the features.
    outside : int
        Number of rules that do not apply because they name rows outside X; such rules come from
        :meth:`ConstraintSet.for_folds`.
    metric : str
        "euclidean", "cosine" or "haversine"; of medoids, the name of their metric.
    unit : str
        What the inertia is counted in, where that has a name.
    plan
        The events of the search; :meth:`how` prints them.
    proof
        The lower bound that was proven, a :class:`~corral.LowerBound`; None if none was asked for.
    ended : str
        What ended the fit before it was finished: its time limit, a request, or nothing.
    fewest : str
        With ``n_clusters="fewest"``, the number of clusters and why fewer are not enough.
    prices : Prices
        What the rules cost; None unless :func:`corral.price_rules` was asked.
    scaler
        Takes points back to the user's units; see :meth:`in_units`.
    clusters : tuple of str
        Names of the clusters; None if they have none.
    changes : Changes
        What changed since an earlier answer; None unless ``fit`` was given ``previous``.
    map : Map
        Shapes of the rows; None unless X was a frame of GeoPandas, or :meth:`on_map` has set it.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import CannotLink, audit
    >>> print(audit(np.array([[0.0], [1.0], [5.0]]), [0, 0, 1], CannotLink([(0, 1)]), 2))
    3 points in 2 clusters: 1 hard rule is broken
    inertia  0.5
    sizes    2 1
    <BLANKLINE>
    constraint          rule  broken  amount
    CannotLink(1 pair)  hard       1       1
    <BLANKLINE>
    samples 0 and 1 must not be together, but are both in cluster 0
    """

    view: View | None = field(default=None, repr=False, compare=False)
    history: History | None = field(default=None, repr=False, compare=False)
    names: Any = field(default=None, compare=False, repr=False)
    features: Any = field(default=None, compare=False, repr=False)
    plan: HowFound | None = field(default=None, compare=False, repr=False)
    proof: Any = field(default=None, compare=False, repr=False)
    ended: str = field(default="", compare=False, repr=False)
    fewest: str = field(default="", compare=False, repr=False)
    prices: Prices | None = field(default=None, compare=False, repr=False)
    scaler: Any = field(default=None, compare=False, repr=False)
    clusters: ClusterNames = field(default=None, compare=False, repr=False)
    changes: Changes | None = field(default=None, compare=False, repr=False)
    map: Map | None = field(default=None, compare=False, repr=False)

    def on_map(self, frame: Any, base: Any = None) -> Report:
        """Give the same report with a map.

        Parameters
        ----------
        frame : GeoDataFrame or GeoSeries
            Shapes of the rows.
        base : GeoDataFrame or GeoSeries, optional
            A base map: borders, coasts or roads to draw below.
        """
        shapes = map_of(frame, base)
        if shapes is None:
            raise TypeError(f"a map needs a GeoDataFrame or GeoSeries, not {frame!r:.40}.")
        if len(shapes) != sum(self.sizes):
            raise ValueError(
                f"the frame has {len(shapes)} shapes, but the report is on {sum(self.sizes)} rows."
            )
        return replace(self, map=shapes)

    def named(
        self,
        names: Any,
        clusters: ClusterNames = None,
        before: Previous | None = None,
        shapes: Map | None = None,
    ) -> Report:
        """The same with names of rows and clusters, what changed since an answer, and a map."""
        changes = None
        if before is not None and self.view is not None:
            own = self.view.labels, len(self.sizes)
            changes = Changes(before.labels, *own, names, clusters, before.gone)
        return replace(self, names=names, clusters=clusters, changes=changes, map=shapes)

    @property
    def called(self) -> Any:
        """Names of the rows, which know those of the clusters; for messages."""
        return called(self.names, self.clusters, sum(self.sizes))

    @property
    def bound(self) -> float | None:
        """What no clustering under the rules can be below; None if nothing was proven."""
        return None if self.proof is None else self.proof.value

    @property
    def gap(self) -> float | None:
        """How far the objective is above the bound, as a part of it; None without a bound."""
        return None if self.proof is None else self.proof.gap

    @classmethod
    def of(
        cls,
        points: PointPieces,
        labels: IntArray,
        constraints: Constraint | Iterable[Constraint] | None,
        n_clusters: int,
        sample_weight: FloatArray | None = None,
        centers: FloatArray | None = None,
        metric: str = "euclidean",
    ) -> Report:
        """Audit labels of points wherever these are, and keep a sample of them for pictures.

        The arguments are those of :func:`corral.audit.examine`, taken as they are.
        """
        if centers is None:
            centers = centres_of(points, labels, n_clusters, sample_weight, metric)
        found = examine(points, labels, constraints, n_clusters, sample_weight, centers, metric)
        view = View.of(points, labels, found.entries, centers)
        return cls(**vars(found), view=view)

    def how(self) -> str:
        """Say how the answer was found: the events of the search, one a line."""
        rows = self._events()
        if not rows:
            return UNKNOWN_PLAN
        wide = max((len(event) for event, _ in rows), default=0)
        return "\n".join(f"{event:<{wide}}  {value}" for event, value in rows)

    def _events(self) -> list[tuple[str, str]]:
        """The events of the search, and what ended the fit before it was finished."""
        rows = [] if self.plan is None else self.plan.table()
        return [*rows, ("ended", self.ended)] if self.ended else rows

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "corral report",
        names: Sequence[Any] | None = None,
        all_rows: bool = False,
    ) -> str:
        """Give the report as one HTML page that needs no other file, and write it if asked.

        Pictures need matplotlib; without it the page says so and has the tables.  Printed, a page
        on up to 3,000 rows has all members under the names of their clusters, and one on more rows
        has the first of them.

        Parameters
        ----------
        path : path, optional
            Where to write the page.  A page that cannot be written whole leaves no file.
        title : str
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        all_rows : bool, default=False
            Show and print all rows, however many there are.
        """
        pictures = self._pictures(self.history)
        own = self.names if names is None else names
        content = self._content(own, pictures, all_rows=all_rows)
        page = to_page(content, title)
        if path is not None:
            with atomic_writer(path) as file:
                file.write(page)
        return page

    def _pictures(self, history: History | None) -> Pictures:
        """Pictures of the clusters, of their bounds and of the solver."""
        own: Any = {"features": self.features, "clusters": self.clusters, "shapes": self.map}
        return to_pictures(self, self.view, history, **own)

    def _repr_html_(self) -> str:
        pictures = self._pictures(None)
        return to_fragment(self._content(self.names, pictures, interactive=False))

    def _content(
        self,
        names: Sequence[Any] | None,
        pictures: Pictures,
        *,
        interactive: bool = True,
        all_rows: bool = False,
    ) -> str:
        """The page: one sentence, the rosters, the picture, the numbers, the rules, the solver."""
        told = self._told(names)
        own: Any = {"clusters": self.clusters, "interactive": interactive}
        listed = "" if told.labels is None else to_members(told.labels, names, **own)
        roster = self._roster(names, all_rows=all_rows) if interactive else ""
        # Paper has the rosters, or the first rows; all of them if that is asked.
        kind = "all-rows" if all_rows else "on-screen" if roster else ""
        parts = [
            headline(self),
            section("Members", roster) if roster else "",
            pictures.map,
            pictures.clusters,
            summary(self, told),
            rules_section(self, told),
            changes_section(self.changes),
            profile_section(self.profiles(), told),
            bounds_section(self, told, pictures.bounds),
            section("Who is in which cluster", listed, kind) if listed else "",
            solver_section(told, pictures.solver),
        ]
        return "\n".join(filter(None, parts))

    def rosters(self) -> list[list[str]]:
        """Names, or else numbers, of the rows of each cluster."""
        if self.view is None:
            return [[] for _ in self.sizes]
        return members(self.view.labels, len(self.sizes), self.names)

    def _roster(self, names: Sequence[Any] | None, *, all_rows: bool) -> str:
        """The members of each cluster; nothing of many rows, unless they are asked for."""
        if self.view is None or (sum(self.sizes) > MOST_ROWS and not all_rows):
            return ""
        return to_roster(replace(self, names=names).rosters(), self.clusters)

    def _told(self, names: Sequence[Any] | None) -> Told:
        """What is known besides the findings."""
        return Told(
            names=names,
            clusters=self.clusters,
            labels=None if self.view is None else self.view.labels,
            n_iterations=None if self.history is None else len(self.history),
            plan=self._events(),
            proof="" if self.proof is None else str(self.proof),
            prices=self.prices,
        )

    def in_units(self, scaler: Any) -> Report:
        """Give the same report with the means of the clusters in the units before scaling.

        Parameters
        ----------
        scaler : fitted transformer or function
            What made the points of the data: it has ``inverse_transform``, such as StandardScaler
            or the first steps of a pipeline; or it is a function that takes points back.
        """
        return replace(self, scaler=scaler)

    def profiles(self) -> list[Profile]:
        """Say for each cluster in which columns its mean differs most from that of all rows."""
        if self.view is None or not sum(self.sizes):
            return []
        return profiles(self.view, self.sizes, self.features, self.scaler)

    def describe(self) -> str:
        """Say in words what characterises each cluster, one a line."""
        lines = []
        for found in self.profiles():
            told = "; ".join(map(str, found.differences)) or "near the mean of all rows"
            name = cluster_name(found.cluster, self.called)
            lines.append(f"cluster {name} ({in_digits(found.size)} points): {told}")
        return "\n".join(lines)

    def to_dict(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Give the report as plain data, ready for JSON.

        "plan" and "fewest" are there if there are any, and "bound" and "gap" if a bound was proven.

        Parameters
        ----------
        names : sequence, optional
            What to call the rows; the report's own names unless given.
        """
        rows = self.names if names is None else names
        plain = super().to_dict(called(rows, self.clusters, sum(self.sizes)))
        if self.clusters is not None:
            plain["clusters"] = list(self.clusters)
        if self.changes is not None:
            plain["changes"] = [
                {"id": row, "before": old or None, "after": new}
                for row, old, new in self.changes.rows()
            ]
        if self.fewest:
            plain["fewest"] = self.fewest
        if self._events():
            plain["plan"] = dict(self._events())
        if self.prices is not None:
            plain["free"] = {"objective": self.prices.free, "moved": self.prices.moved}
            for number, constraint in enumerate(plain["constraints"]):
                constraint["price"] = self.prices.price(number)
        return plain if self.proof is None else {**plain, "bound": self.bound, "gap": self.gap}

    def __str__(self) -> str:
        known = {"changed": self.changes, "fewest": self.fewest, "free": self.prices}
        known |= {"proof": self.proof, "ended": self.ended}
        return to_text(self, known, self.prices, self.called)


def audit(
    X: Any,
    labels: ArrayLike,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    metric: str = "euclidean",
    cluster_names: Sequence[str] | None = None,
) -> Report:
    """Recompute from the labels alone what an answer is worth and which rules it breaks.

    Parameters
    ----------
    X : array-like, sparse or data frame of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        The cluster of each row, 0 to ``n_clusters - 1``.
    constraints : Constraint, iterable of them, or None
    n_clusters : int
    sample_weight : array-like of shape (n_samples,), default=None
        All ones unless given.
    centers : array-like of shape (n_clusters, n_features), default=None
        The best centres of the clusters unless given: by "euclidean" the weighted means.
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        As in :class:`~corral.ConstrainedKMeans`.
    cluster_names : sequence of str, optional
        Names of the clusters, for the rules and in the report.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the points, labels, weights or centres do not fit each other or the constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, MustLink, audit
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> report = audit(X, [0, 0, 1, 1], [MustLink([(1, 2)]), ClusterSizes([2, 2])], n_clusters=2)
    >>> report.inertia, report.sizes, report.feasible
    (4.0, (2, 2), False)
    >>> [entry.violations.count for entry in report.entries]
    [1, 0]
    """
    kinds = [np.float64, np.float32]
    shapes, X = map_of(X), as_points(X, metric)
    points = check_array(sound(X), accept_sparse="csr", dtype=kinds, input_name="X")
    points = sparse.csr_array(points) if sparse.issparse(points) else points
    check_count(n_clusters, "`n_clusters`")
    k = int(n_clusters)
    label = checked_labels(labels, points.shape[0], k)
    weight = checked_weights(sample_weight, len(label))
    check_places(points, metric)
    clusters = read_cluster_names(cluster_names, k)
    rules, outside = rules_for(X, constraints, None, clusters)
    rules.check(len(label), k)
    mean = None if centers is None else checked_centers(centers, (k, points.shape[1]))
    if mean is not None:
        check_places(mean, metric, "`centers`")
    report = Report.of(InMemory(points), label, rules, k, weight, mean, metric)
    return replace(
        report, outside=outside, features=feature_names(X), clusters=clusters, map=shapes
    )


def checked_labels(labels: ArrayLike, n_samples: int, n_clusters: int) -> IntArray:
    """One integer for each row, from 0 to ``n_clusters - 1``."""
    sound(labels, "`labels`")
    try:
        label = np.asarray(labels)
    except ValueError:
        raise ValueError("`labels` is ragged; it must be one integer per sample.") from None
    _one_per_row(label, n_samples, "labels")
    if not np.issubdtype(label.dtype, np.integer):
        raise ValueError(f"`labels` has dtype {label.dtype}; labels must be integers.")
    outside = np.flatnonzero((label < 0) | (label >= n_clusters))
    if outside.size:
        row = outside[0]
        raise ValueError(
            f"`labels` of sample {row} is {label[row]}; labels must lie in [0, {n_clusters - 1}]."
        )
    return label


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """One weight for each row, finite and not negative, or None."""
    if sample_weight is None:
        return None
    weight = as_numbers(sample_weight, "`sample_weight`")
    if weight.ndim:
        _one_per_row(weight, n_samples, "sample_weight")
    wrong = ~np.isfinite(weight) | (weight < 0)
    refuse(wrong, weight, "`sample_weight`", "weights must be finite and not negative")
    return np.broadcast_to(weight, (n_samples,))


def _one_per_row(array: NDArray[Any], n_samples: int, name: str) -> None:
    if array.shape != (n_samples,):
        raise ValueError(
            f"`{name}` has shape {array.shape}, but X has {n_samples} samples; "
            f"the shape must be ({n_samples},)."
        )


def checked_centers(centers: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """One finite centre for each cluster."""
    mean = as_numbers(centers, "`centers`")
    if mean.shape != shape:
        raise ValueError(f"`centers` has shape {mean.shape}; its shape must be {shape}.")
    refuse(~np.isfinite(mean), mean, "`centers`", "each must be finite")
    return mean


know_old_names()
