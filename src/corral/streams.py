"""Rows that come in batches: each is placed under what the rules leave of all batches so far.

The rules of a batch are written for its rows.  Bounds on sizes and totals add up: after every batch
a cluster holds, of all rows so far, at least the sum of the lower bounds and at most the sum of the
upper ones.  So a batch may miss its own bounds where those before left room, and shares hold for
the stream, not for each batch.  What fits every batch alone fits the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._typing import FloatArray, IntArray
from .constraints import ClusterSizes, ClusterTotals, ConstraintSet, GroupShares
from .constraints._checks import sums_by
from .constraints.clusters import read_cluster_names
from .constraints.collection import rules_for
from .constraints.sizes import fitting_order
from .deadline import Deadline
from .inputs import brought, column_names, refuse_others, row_names
from .new_rows import NewRows, place
from .report import Report
from .rows import METRICS

#: Lower and upper bounds of a sum in each cluster, (k,) both.
Bounds = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Stream:
    """What has come of a stream.

    Attributes
    ----------
    rows : int
    sums : (k, d) array
        Weighted sums of the points of the clusters, as the metric sees them.
    mass : (k,) array
        Sums of their weights.
    left : tuple of pairs of (k,) arrays
        What the bounds of all batches so far leave: the least and the most that a cluster has to
        get beside the bounds of the next batch, one pair for each bounded sum.
    orders : tuple of (k,) arrays
        Which of its bounds each cluster has of each sum; the first batch decides it.
    """

    rows: int
    sums: FloatArray
    mass: FloatArray
    left: tuple[Bounds, ...]
    orders: tuple[IntArray, ...]

    @classmethod
    def begun(cls, k: int, d: int, bounded: list[Any], sizes: IntArray) -> Stream:
        """A stream before its first batch, whose clusters will have these sizes."""
        none = np.zeros(k), np.zeros(k)
        orders = tuple(_order(rule, sizes, k) for rule, _ in bounded)
        return cls(0, np.zeros((k, d)), np.zeros(k), (none,) * len(bounded), orders)

    def running(self, bounded: list[Any], n: int, k: int) -> list[Bounds]:
        """Bounds of a batch, given what those before left."""
        if len(bounded) != len(self.left):
            raise ValueError(
                f"the batch has {len(bounded)} bounds on sizes, totals and shares, but the stream "
                f"began with {len(self.left)}; give each batch the same rules, for its own rows."
            )
        found = []
        for (rule, _), (low, high), order in zip(bounded, self.left, self.orders, strict=True):
            lower, upper = (side.astype(float)[order] for side in _bounds(rule, n, k))
            found.append((lower + low, upper + high))
        return found

    def after(
        self, points: FloatArray, weight: FloatArray, labels: IntArray, bounded: Any, bounds: Any
    ) -> Stream:
        """The stream with a batch that has these labels."""
        k = len(self.mass)
        sums, left = self.sums.copy(), []
        np.add.at(sums, labels, weight[:, None] * points)
        for (_, values), (lower, upper) in zip(bounded, bounds, strict=True):
            held = sums_by(labels, values, k)
            left.append((lower - held, upper - held))
        mass = self.mass + sums_by(labels, weight, k)
        return replace(self, rows=self.rows + len(labels), sums=sums, mass=mass, left=tuple(left))


def _order(rule: Any, sizes: IntArray, k: int) -> IntArray:
    """The bounds that clusters of these sizes have; of totals each has its own."""
    if isinstance(rule, ClusterSizes) and not rule.ordered:
        found = fitting_order(sizes, *rule.bounds(int(sizes.sum()), k))
        return np.arange(k) if found is None else found
    return np.arange(k)


def _bounds(rule: Any, n: int, k: int) -> tuple[Any, Any]:
    found: tuple[Any, Any] = rule.bounds(n, k) if isinstance(rule, ClusterSizes) else rule.bounds(k)
    return found


def _parts(given: ConstraintSet, n: int, k: int) -> Iterator[tuple[Any, FloatArray | None]]:
    """Rules one by one; sizes, totals and shares with what each row adds to their sum."""
    for rule in given:
        if isinstance(rule, ClusterSizes):
            yield rule, np.ones(n)
        elif isinstance(rule, ClusterTotals | GroupShares):
            totals: Any = rule.expand(n, k)
            yield from ((total, total.values) for total in totals)
        else:
            yield rule, None


def _with_bounds(rule: Any, bounds: Bounds) -> Any:
    """Sizes or totals with other bounds, in the order of the clusters."""
    lower, upper = bounds
    if isinstance(rule, ClusterSizes):
        low, high = (np.maximum(side, 0).astype(np.int64) for side in (lower, upper))
        return ClusterSizes(minimum=low, maximum=high, ordered=True, weight=rule.weight)
    return ClusterTotals(rule.values, minimum=lower, maximum=upper, weight=rule.weight)


class Streamed(NewRows):
    """The method of an estimator for rows that come in batches."""

    labels_: Any
    report_: Report
    stream_: Stream

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Take in the next batch of a stream of rows.

        The first batch is fitted.  Each later one is assigned exactly to the centres so far, under
        the bounds of all batches so far; then the centres are the means of all rows that have come.
        Every batch obeys the rules, but the whole is not the best for all rows: a later
        ``fit(X, init=model)`` of all rows begins with these centres.  ``fit`` ends the stream.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the batch, in memory or to be brought there.
        y : ignored
        constraints : Constraint, iterable of them, or None
            Rules for the rows of this batch, of the same kinds in each.  Bounds on sizes and totals
            add up over the batches: with at most 12 % of the rows of each batch in a cluster, at
            most 12 % of all rows so far are there.  Links and pins join rows of one batch.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            ``labels_`` and ``report_`` are those of the batch.

        Examples
        --------
        >>> import numpy as np
        >>> from corral import ClusterSizes, ConstrainedKMeans
        >>> model = ConstrainedKMeans(2, random_state=0)
        >>> for batch in np.array([[0.0, 1, 9, 10], [0, 0, 0, 1], [9, 9, 9, 9]]):
        ...     model = model.partial_fit(batch[:, None], constraints=ClusterSizes(minimum=1))
        >>> model.stream_.rows, model.labels_.tolist()
        (12, [1, 1, 1, 1])
        """
        refuse_others(y)
        if self.metric == "haversine":
            raise ValueError("metric='haversine' has no means of a stream; fit all rows at once.")
        first = not hasattr(self, "stream_")
        if first:
            own: Any = self
            own.fit(X, constraints=constraints, sample_weight=sample_weight)
        backend = self._checked(X)
        names = read_cluster_names(self.cluster_names)
        given, _ = rules_for(X, constraints, getattr(self, "constraints", None), names)
        metric, k = METRICS[self.metric], len(self._centers)
        with self._table(X, backend, sample_weight) as table:
            near = table.home()
            n, d = int(near.points.shape[0]), table.n_features
            parts = [*_parts(given, n, k)]
            bounded = [(rule, values) for rule, values in parts if values is not None]
            if first:
                sizes = np.array(self.report_.sizes)
                stream = Stream.begun(k, d, bounded, sizes)
                bounds = stream.running(bounded, n, k)
                labels: IntArray = brought(self.labels_).astype(np.int64)
            else:
                stream = self.stream_
                bounds = stream.running(bounded, n, k)
                rules = [rule for rule, values in parts if values is None]
                pairs = zip(bounded, bounds, strict=True)
                running = ConstraintSet([*rules, *(_with_bounds(r, b) for (r, _), b in pairs)])
                deadline, names = Deadline.after(self.time_limit), row_names(X)
                centers = self._centers.astype(np.float64)
                labels = place(near, running, centers, deadline, names)
                weight = near.weight
                report = Report.of(near, labels, running, k, weight, metric=self.metric)
            points = metric.embedded(np.asarray(near.points, np.float64))
            weight = np.ones(n) if near.weight is None else near.weight
            stream = stream.after(points, weight, labels, bounded, bounds)
        if not first:
            kept = stream.mass > 0.0
            means = stream.sums[kept] / stream.mass[kept, None]
            centers[kept] = metric.given(means)
            centers = centers.astype(self._centers.dtype)
            self.labels_ = backend.give(labels.astype(np.int32))
            self.cluster_centers_ = backend.give_small(centers)
            self.report_ = replace(report, features=column_names(X))
            self.inertia_ = report.inertia
        self.stream_ = stream
        return self
