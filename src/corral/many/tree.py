"""A tree of parts: rows cut into a few parts, each part again, until a part is one cluster.

The sizes of the parts are sums of the sizes asked for, so that every region has as many clusters as
its rows fill.  A level of the tree costs as little as a problem with few clusters.  In memory one
part is cut after another, with exact sizes.  In shards all parts of a level are cut at once, by
graduation, where each row knows the children of its own part alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign.sizes import ship_units
from ..deadline import NEVER, Deadline, OutOfTime
from ..plan.many_thresholds import (
    LEVEL_BRANCHES,
    LEVEL_ROUNDS,
    SPLIT_BRANCHES,
    SPLIT_ROUNDS,
    SPLIT_ROWS_EACH,
)
from ..presolve import SizeBounds
from ..problem import Problem
from ..rows import MemoryRows, ShardRows
from ..rows.candidate_passes import Family
from ..rows.shard_labels import ShardLabels
from .graduation import cooled, sizes_of


def split(problem: Problem, random_state: np.random.RandomState) -> FloatArray:
    """Centres of a tree of parts, relative to the middle of the rows, in the order of the sizes.

    In memory it looks at some of the single rows.
    """
    rules, rows = problem.rules, problem.rows
    if problem.rows.far:
        levels = Levels(cast(ShardRows, rows), random_state, problem.deadline)
        return levels.centers(sizes_of(problem, rows.shape[0]))
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


@dataclass(frozen=True)
class Levels:
    """Cuts rows in shards into clusters, all parts of a level at once."""

    rows: ShardRows
    random_state: np.random.RandomState
    deadline: Deadline = NEVER

    def centers(self, sizes: SizeBounds) -> FloatArray:
        """Centres (k, d), relative to the middle of the rows, in the order of the sizes."""
        k, m = len(sizes.lower), self.rows.shape[0]
        parts: list[IntArray] = [np.arange(k)]
        where: IntArray = np.zeros(m, np.int64)
        found: FloatArray = np.zeros((1, self.rows.shape[1]))
        last: ShardLabels | None = None  # the part of each row, where it is
        while max(len(part) for part in parts) > 1:
            cut = [np.array_split(part, min(LEVEL_BRANCHES, len(part))) for part in parts]
            children = _children([len(each) for each in cut])
            parts = [part for each in cut for part in each]
            low, high = (
                np.array([bound[part].sum() for part in parts])
                for bound in (sizes.lower, sizes.upper)
            )
            family, seeds = self.rows.family(children, last), self._seeds(where, children)
            found, last = self._cut(SizeBounds(low, high, True), seeds, family)
            where = last()
        centers: FloatArray = found[np.argsort([part[0] for part in parts])]
        return centers

    def _seeds(self, where: IntArray, children: IntArray) -> FloatArray:
        """Rows drawn at random from each part, as many as it has children; of the part's own."""
        order = self.random_state.permutation(len(where))
        order = order[np.argsort(where[order], kind="stable")]
        counted = np.bincount(where, minlength=len(children))
        first = np.cumsum(counted) - counted
        parent, slot = np.nonzero(children >= 0)
        # A part with fewer rows than children takes some twice, one without rows that of another.
        place = np.minimum(first[parent] + slot % np.maximum(counted[parent], 1), len(order) - 1)
        drawn, back = np.unique(order[place], return_inverse=True)
        part = self.rows.take(drawn)
        points = np.stack([part.row(g) for g in range(len(drawn))]) + part.middle
        seeds: FloatArray = points[back] - self.rows.middle
        return seeds

    def _cut(
        self, sizes: SizeBounds, seeds: FloatArray, family: Family
    ) -> tuple[FloatArray, ShardLabels]:
        """Centres of the children, and the child of each row."""
        rows, centers = self.rows, seeds
        prices: FloatArray = np.zeros(len(seeds))

        def look(at: FloatArray, price: FloatArray, table: Any, number: int) -> Any:
            return rows.relatives(at, price, family, self.deadline)

        for step in cooled(rows, look, sizes, seeds, rows.shape[0], LEVEL_ROUNDS):
            centers, prices = step.centers, step.prices
        none: IntArray = np.empty(0, np.int64)
        standing = rows.relatives(centers, prices, family, self.deadline).at(prices)
        return centers, standing.labels(rows.patches(none, none))


def _in_order(low: IntArray, high: IntArray, m: int) -> IntArray:
    """Labels of so many rows, one part after another, of sizes within these bounds."""
    room = high - low
    more = np.clip(m - low.sum() - (np.cumsum(room) - room), 0, room)
    return np.repeat(np.arange(len(low)), low + more)


def _children(numbers: list[int]) -> IntArray:
    """Numbers of the children of each part, which has so many, (p, b); -1 where there are fewer."""
    most, ends = max(numbers), np.cumsum(numbers)
    slots = np.arange(most)
    counts = np.array(numbers)[:, None]
    return np.where(slots < counts, (ends[:, None] - counts) + slots, -1)
