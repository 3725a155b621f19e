"""A tree of parts: rows cut into a few parts, each part again, until a part is one cluster.

The sizes of the parts are sums of the sizes asked for, so that every region has as many clusters as
its rows fill.  A level of the tree costs as little as a problem with few clusters.  One part is cut
after another, with exact sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign.sizes import ship_units
from ..deadline import NEVER, Deadline, OutOfTime
from ..plan.many_thresholds import (
    SPLIT_BRANCHES,
    SPLIT_ROUNDS,
    SPLIT_ROWS_EACH,
)
from ..presolve import SizeBounds
from ..problem import Problem
from ..rows import MemoryRows
from .graduation import sizes_of


def split(problem: Problem, random_state: np.random.RandomState) -> FloatArray:
    """Centres of a tree of parts, relative to the middle of the rows, in the order of the sizes.

    It looks at some of the single rows.
    """
    rules, rows = problem.rules, problem.rows
    single = np.flatnonzero(rules.count == rules.count.min())
    if len(single) < rules.n_clusters:  # too few to show where all clusters are
        single = np.arange(rules.n_groups)
    number = min(len(single), SPLIT_ROWS_EACH * rules.n_clusters)
    some = np.sort(random_state.choice(single, number, replace=False))
    part = rows.take(some)
    found = Split(part, random_state, problem.deadline).centers(sizes_of(problem, number))
    centers: FloatArray = found + (part.middle - rows.middle)
    return centers


@dataclass(frozen=True)
class Split:
    """Cuts rows into clusters, a few parts at a time."""

    rows: MemoryRows
    random_state: np.random.RandomState
    deadline: Deadline = NEVER

    def centers(self, sizes: SizeBounds) -> FloatArray:
        """Centres (k, d), relative to the middle of the rows, in the order of the sizes."""
        k = len(sizes.lower)
        centers = np.empty((k, self.rows.shape[1]))
        parts = [(np.arange(self.rows.shape[0]), np.arange(k))]
        while parts:
            groups, clusters = parts.pop()
            if not len(groups):  # clusters of no rows
                centers[clusters] = 0.0
                continue
            own = self.rows.take(groups)
            shares = np.array_split(clusters, min(SPLIT_BRANCHES, len(clusters)))
            low, high = (
                np.array([bound[share].sum() for share in shares])
                for bound in (sizes.lower, sizes.upper)
            )
            labels, found = self._cut(own, low, high)
            for j, share in enumerate(shares):
                if len(share) == 1:
                    centers[share[0]] = found[j] + (own.middle - self.rows.middle)
                else:
                    parts.append((groups[labels == j], share))
        return centers

    def _cut(self, rows: MemoryRows, low: IntArray, high: IntArray) -> tuple[IntArray, FloatArray]:
        """Labels and means of the rows in parts of these sizes; after the deadline, in order."""
        m = rows.shape[0]
        labels = _in_order(low, high, m)
        if self.deadline.passed:
            return labels, rows.means(labels, len(low))
        centers = rows.seeds(len(low), np.arange(m), self.random_state)
        prices: FloatArray | None = None
        for _ in range(SPLIT_ROUNDS):
            try:
                cost = rows.costs(centers, self.deadline).dense()
                after, prices = ship_units(cost, low, high, prices, self.deadline)
            except OutOfTime:
                if prices is None:
                    centers = rows.means(labels, len(low))
                break
            centers = rows.means(after, len(low), centers)
            if np.array_equal(after, labels):
                break
            labels = after
        return labels, centers


def _in_order(low: IntArray, high: IntArray, m: int) -> IntArray:
    """Labels of so many rows, one part after another, of sizes within these bounds."""
    room = high - low
    more = np.clip(m - low.sum() - (np.cumsum(room) - room), 0, room)
    return np.repeat(np.arange(len(low)), low + more)
