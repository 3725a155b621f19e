"""Audit: everything an answer claims, recomputed from its labels and the rules alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ._typing import FloatArray, IntArray, Matrix
from .constraints import Constraint, ConstraintSet, Violations
from .constraints.files import atomic_writer
from .html import View, to_fragment, to_page

if TYPE_CHECKING:
    from .admm.history import History

# Rows worked on at a time: large enough for NumPy, small enough to stay out of memory's way.
_BLOCK = 8192


@dataclass(frozen=True)
class Entry:
    """One constraint and what the labels break of it.

    Attributes
    ----------
    constraint : Constraint
    violations : Violations
    hard_count : int
        How many of the broken rules are hard.
    soft_cost : float
        Price of those that are soft.
    """

    constraint: Constraint
    violations: Violations
    hard_count: int
    soft_cost: float

    @classmethod
    def of(cls, constraint: Constraint, labels: IntArray, n_clusters: int) -> Entry:
        """Ask the constraint, and its hard and soft parts where it has both."""
        hard, soft = constraint.part(hard=True), constraint.part(hard=False)
        return cls(
            constraint,
            constraint.violations(labels, n_clusters),
            hard_count=0 if hard is None else hard.violations(labels, n_clusters).count,
            soft_cost=0.0 if soft is None else float(soft.violations(labels, n_clusters).amount),
        )


@dataclass(frozen=True)
class Report:
    """What labels are worth and which rules they break.

    Printing it gives a small table.

    Attributes
    ----------
    inertia : float
        Weighted sum of squared distances of the points to the centre of their cluster.
    sizes : tuple of int
        Number of points in each cluster.
    entries : tuple of Entry
        One for each constraint, in the order given.
    view, history, names
        What the HTML page shows besides: some of the points, the solver's history, and what to
        call the rows.
    """

    inertia: float
    sizes: tuple[int, ...]
    entries: tuple[Entry, ...]
    view: View | None = field(default=None, repr=False, compare=False)
    history: History | None = field(default=None, repr=False, compare=False)
    names: Any = field(default=None, compare=False, repr=False)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "corral report",
        names: Sequence[Any] | None = None,
    ) -> str:
        """Give the report as one HTML page that needs nothing else, and write it if asked.

        Pictures need matplotlib; without it the page says so and has the tables.

        Parameters
        ----------
        path : path, optional
            Where to write the page, whole or not at all.
        title : str
        names : sequence, optional
            What to call the rows, such as the index of a data frame.
        """
        page = to_page(
            self, self.view, self.history, title=title, names=self.names if names is None else names
        )
        if path is not None:
            with atomic_writer(path) as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        return to_fragment(self, self.view, self.history)

    @property
    def soft_cost(self) -> float:
        """Price of all the soft pairs broken."""
        return sum(entry.soft_cost for entry in self.entries)

    @property
    def objective(self) -> float:
        """Inertia plus the price of the soft pairs broken: what the solvers minimise."""
        return self.inertia + self.soft_cost

    @property
    def broken(self) -> tuple[Entry, ...]:
        """The entries of which a hard rule is broken."""
        return tuple(entry for entry in self.entries if entry.hard_count)

    @property
    def feasible(self) -> bool:
        """Whether no hard rule is broken."""
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain numbers, strings, lists and dicts, ready for JSON."""
        return {
            "feasible": self.feasible,
            "inertia": self.inertia,
            "soft_cost": self.soft_cost,
            "objective": self.objective,
            "sizes": list(self.sizes),
            "constraints": [
                {
                    "constraint": entry.constraint.phrase(),
                    "hard": entry.constraint.hard,
                    "broken": entry.violations.count,
                    "amount": float(entry.violations.amount),
                    "soft_cost": entry.soft_cost,
                    "where": entry.violations.where.tolist(),
                }
                for entry in self.entries
            ],
        }

    def __str__(self) -> str:
        return "\n".join([*self._summary(), "", *_table(self.entries), *self._complaints()])

    def _summary(self) -> list[str]:
        hard = sum(entry.hard_count for entry in self.broken)
        broken = "1 hard rule is broken" if hard == 1 else f"{hard} hard rules are broken"
        verdict = "every hard rule is obeyed" if self.feasible else broken
        lines = [
            f"{sum(self.sizes)} points in {len(self.sizes)} clusters: {verdict}",
            f"inertia  {self.inertia:.6g}",
            f"sizes    {' '.join(map(str, self.sizes))}",
        ]
        if self.soft_cost:
            lines.insert(2, f"soft     {self.soft_cost:.6g} for broken soft pairs")
        return lines

    def _complaints(self) -> list[str]:
        messages = [
            line
            for entry in self.broken
            for line in entry.violations.messages(limit=3, names=self.names)
        ]
        return ["", *messages] if messages else []


def audit(
    X: Matrix,
    labels: ArrayLike,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    centers: ArrayLike | None = None,
) -> Report:
    """Recompute from the labels alone what an answer is worth and which rules it breaks.

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        The cluster of each row, 0 to ``n_clusters - 1``.
    constraints : Constraint, iterable of them, or None
    n_clusters : int
    sample_weight : array-like of shape (n_samples,), default=None
        All ones unless given.
    centers : array-like of shape (n_clusters, n_features), default=None
        The weighted means of the clusters unless given.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, MustLink
    >>> from corral.audit import audit
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> report = audit(X, [0, 0, 1, 1], [MustLink([(1, 2)]), ClusterSizes([2, 2])], n_clusters=2)
    >>> report.inertia, report.sizes, report.feasible
    (4.0, (2, 2), False)
    >>> [entry.violations.count for entry in report.entries]
    [1, 0]
    """
    rules = ConstraintSet(constraints)
    label = _checked_labels(labels, X.shape[0], n_clusters)
    weight = np.ones(len(label)) if sample_weight is None else np.asarray(sample_weight, float)
    mean = _means(X, label, weight, n_clusters) if centers is None else np.asarray(centers, float)
    return Report(
        inertia=_inertia(X, label, weight, mean),
        sizes=tuple(np.bincount(label, minlength=n_clusters).tolist()),
        entries=tuple(Entry.of(rule, label, n_clusters) for rule in rules),
        view=View.of(X, label, rules, mean),
    )


def _checked_labels(labels: ArrayLike, n_samples: int, n_clusters: int) -> IntArray:
    label = np.asarray(labels)
    if label.shape != (n_samples,):
        raise ValueError(
            f"`labels` has shape {label.shape}, but X has {n_samples} samples; "
            f"the shape must be ({n_samples},)."
        )
    if not np.issubdtype(label.dtype, np.integer):
        raise ValueError(f"`labels` has dtype {label.dtype}; labels must be integers.")
    outside = np.flatnonzero((label < 0) | (label >= n_clusters))
    if outside.size:
        row = outside[0]
        raise ValueError(
            f"`labels` of sample {row} is {label[row]}; labels must lie in [0, {n_clusters - 1}]."
        )
    return label


def _membership(label: IntArray, weight: FloatArray, n_clusters: int) -> sparse.csr_array:
    """The (k, n) matrix that sums rows by cluster, each with its weight."""
    rows = np.arange(len(label))
    return sparse.csr_array((weight, (label, rows)), shape=(n_clusters, len(label)))


def _means(X: Matrix, label: IntArray, weight: FloatArray, n_clusters: int) -> FloatArray:
    """Weighted mean of each cluster; zero where a cluster has no weight."""
    total = np.bincount(label, weights=weight, minlength=n_clusters)
    sums = np.zeros((n_clusters, X.shape[1]))
    for block in _blocks(len(label)):
        member = _membership(label[block], weight[block], n_clusters)
        sums += member @ X[block].astype(float)
    means: FloatArray = sums / np.where(total > 0, total, 1.0)[:, None]
    return means


def _inertia(X: Matrix, label: IntArray, weight: FloatArray, centers: FloatArray) -> float:
    """Sum of w_i |x_i - mu_label(i)|^2, from differences so that no digits cancel."""
    if sparse.issparse(X):
        return _sparse_inertia(X, label, weight, centers)
    total = 0.0
    for block in _blocks(len(label)):
        step = X[block] - centers[label[block]]
        total += float(weight[block] @ np.einsum("ij,ij->i", step, step))
    return total


def _sparse_inertia(
    X: sparse.csr_array, label: IntArray, weight: FloatArray, centers: FloatArray
) -> float:
    """The same from the entries stored; the others are zeros and cost mu^2 each.

    The zeros are counted (by weight) for each cluster and feature, so that X stays sparse:
    a weight W_j of rows less the weight stored in feature f leaves W_j - N_jf of zeros.
    """
    X = sparse.csr_array(X, dtype=float)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored = weight[row] @ (X.data - centers[label[row], X.indices]) ** 2
    member = _membership(label, weight, len(centers))
    pattern = sparse.csr_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    # Both products add weights in the order of the rows: a full column leaves exactly 0.
    zeros = (member @ np.ones(len(label)))[:, None] - (member @ pattern).toarray()
    return float(stored + (zeros * centers**2).sum())


def _blocks(n_rows: int) -> Iterable[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK))


def _rule(constraint: Constraint) -> str:
    """Whether its rules are hard, soft, or some of each."""
    parts = [name for name in ("hard", "soft") if constraint.part(hard=name == "hard") is not None]
    return "/".join(parts) or "none"


def _table(entries: tuple[Entry, ...]) -> list[str]:
    """Aligned lines, one for each constraint: the words left, the numbers right."""
    if not entries:
        return ["no constraints"]
    head = ("constraint", "rule", "broken", "amount")
    rows = [
        (
            repr(entry.constraint),
            _rule(entry.constraint),
            str(entry.violations.count),
            f"{entry.violations.amount:g}",
        )
        for entry in entries
    ]
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"{words:<{wide[0]}}  {rule:<{wide[1]}}  {broken:>{wide[2]}}  {amount:>{wide[3]}}"
        for words, rule, broken, amount in (head, *rows)
    ]
