"""Report: what the audit finds, as text, as an HTML page with pictures, and as plain data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from .._typing import FloatArray, IntArray
from ..audit import Findings, InMemory, PointPieces, centres_of, examine
from ..audit.spheres import check_places
from ..constraints import Constraint
from ..constraints._checks import as_numbers, refuse
from ..constraints.files import atomic_writer
from ..constraints.lookup import rules_for
from ..plots._style import feature_names
from .page import to_fragment, to_page, to_tables
from .pictures import View, to_pictures
from .text import prices, summary, table

if TYPE_CHECKING:
    from ..admm.history import History

__all__ = ["Report", "audit"]

#: Broken rules that the text lists for each constraint; the others are only counted.
MOST_MESSAGES = 3

UNKNOWN_PLAN = "The report was made from labels alone: it does not say how they were found."


class Decisions(Protocol):
    """How an answer was found: the decisions that the solver took."""

    def table(self) -> list[tuple[str, str]]:
        """Give pairs of decision and value, in plain words."""


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
        "euclidean", "cosine" or "haversine".
    plan
        The decisions that the solver took; :meth:`how` prints them.
    proof
        The lower bound that was proven, a :class:`~corral.LowerBound`; None if none was asked for.
    ended : str
        What ended the fit before it was finished: its time limit, a request, or nothing.
    fewest : str
        With ``n_clusters="fewest"``, the number of clusters and why fewer are not enough.

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
    plan: Decisions | None = field(default=None, compare=False, repr=False)
    proof: Any = field(default=None, compare=False, repr=False)
    ended: str = field(default="", compare=False, repr=False)
    fewest: str = field(default="", compare=False, repr=False)

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
        view = View.of(points, labels, constraints, centers)
        return cls(found.inertia, found.sizes, found.entries, metric=metric, view=view)

    def how(self) -> str:
        """Say how the answer was found: the decisions of the solver, one a line."""
        rows = self._decisions()
        if not rows:
            return UNKNOWN_PLAN
        wide = max((len(decision) for decision, _ in rows), default=0)
        return "\n".join(f"{decision:<{wide}}  {value}" for decision, value in rows)

    def _decisions(self) -> list[tuple[str, str]]:
        """The plan, and what ended it."""
        rows = [] if self.plan is None else self.plan.table()
        return [*rows, ("ended", self.ended)] if self.ended else rows

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "corral report",
        names: Sequence[Any] | None = None,
    ) -> str:
        """Give the report as one HTML page that needs no other file, and write it if asked.

        Pictures need matplotlib; without it the page says so and has the tables.

        Parameters
        ----------
        path : path, optional
            Where to write the page.  A page that cannot be written whole leaves no file.
        title : str
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        """
        numbers = self._tables(self.names if names is None else names)
        pictures = to_pictures(self, self.view, self.history, self.features)
        page = to_page(f"{numbers}\n{pictures}", title)
        if path is not None:
            with atomic_writer(path) as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        return to_fragment(self._tables(self.names))

    def _tables(self, names: Sequence[Any] | None) -> str:
        plan = self._decisions() or None
        labels = None if self.view is None else self.view.labels
        n_iterations = None if self.history is None else len(self.history)
        said = "" if self.proof is None else str(self.proof)
        options: Any = {"n_iterations": n_iterations, "plan": plan, "proof": said}
        return to_tables(self, labels, names=names, **options)

    def to_dict(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Give the report as plain data, ready for JSON.

        "plan" is there if there is one, and "bound" and "gap" if a bound was proven.

        Parameters
        ----------
        names : sequence, optional
            What to call the rows; the report's own names unless given.
        """
        plain = super().to_dict(self.names if names is None else names)
        if self._decisions():
            plain["plan"] = dict(self._decisions())
        return plain if self.proof is None else {**plain, "bound": self.bound, "gap": self.gap}

    def __str__(self) -> str:
        messages = [
            line
            for entry in self.broken
            for line in entry.violations.messages(limit=MOST_MESSAGES, names=self.names)
        ]
        known = {"fewest": self.fewest, "proof": self.proof, "ended": self.ended}
        more = [f"{name:<7}  {value}" for name, value in known.items() if value]
        parts = [summary(self) + more, table(self.entries), prices(self.entries), messages]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)


def audit(
    X: Any,
    labels: ArrayLike,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    centers: ArrayLike | None = None,
    metric: str = "euclidean",
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
    points = check_array(X, accept_sparse="csr", dtype=kinds, input_name="X")
    points = sparse.csr_array(points) if sparse.issparse(points) else points
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool) or n_clusters < 1:
        raise ValueError(f"`n_clusters` is {n_clusters!r}; it must be an integer of at least 1.")
    k = int(n_clusters)
    label = _checked_labels(labels, points.shape[0], k)
    weight = _checked_weights(sample_weight, len(label))
    check_places(points, metric)
    rules, outside = rules_for(X, constraints)
    rules.check(len(label), k)
    mean = None if centers is None else _checked_centers(centers, (k, points.shape[1]))
    if mean is not None:
        check_places(mean, metric, "`centers`")
    report = Report.of(InMemory(points), label, rules, k, weight, mean, metric)
    return replace(report, outside=outside, features=feature_names(X))


def _checked_labels(labels: ArrayLike, n_samples: int, n_clusters: int) -> IntArray:
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


def _checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
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


def _checked_centers(centers: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    mean = as_numbers(centers, "`centers`")
    if mean.shape != shape:
        raise ValueError(f"`centers` has shape {mean.shape}; its shape must be {shape}.")
    refuse(~np.isfinite(mean), mean, "`centers`", "each must be finite")
    return mean
