"""Groups that are alike: rows dealt in batches, one for each group, so that sums cancel.

Rows far from the mean come first.  Each batch goes to the groups by the assignment that makes the
sums shortest (the Hungarian method).  Many groups are dealt in two steps: first into a few large
parts, each of which is alike the whole, then each part into its groups.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._typing import BoolArray, FloatArray, IntArray
from .deadline import NEVER, Deadline, OutOfTime

#: Groups that one assignment deals to, at most.  A batch of so many takes about a millisecond.
DEALT = 128


def deal(
    points: FloatArray,
    count: IntArray,
    room: IntArray,
    random_state: np.random.RandomState,
    strata: IntArray | None = None,
    fixed: IntArray | None = None,
    noise: float = 0.0,
    deadline: Deadline = NEVER,
) -> IntArray:
    """Deal points of so many rows each to groups with room for so many rows.

    Parameters
    ----------
    points : (m, d) array
        About their mean, times their weights.
    count : (m,) array
        Rows of each point.
    room : (k,) array
        Rows of each group, as many in all as the points have; a guide, not a bound.
    random_state : RandomState
    strata : (m,) array, optional
        Points of the same number are dealt one after another, so that all groups get some.
    fixed : (m,) array, optional
        The group of a point, or -1.
    noise : float
        How far the order of the points is from that of their distances.
    deadline : Deadline
        After it the rest goes where there is room.

    Returns
    -------
    (m,) array
        The group of each point.

    Examples
    --------
    >>> points = np.array([[-2.0], [-2.0], [2.0], [2.0]])
    >>> labels = deal(points, np.ones(4, int), np.array([2, 2]), np.random.RandomState(0))
    >>> bool(labels[0] != labels[1]), bool(labels[2] != labels[3])
    (True, True)
    """
    m, k = len(points), len(room)
    labels = np.full(m, -1, np.int64) if fixed is None else fixed.astype(np.int64)
    far = np.sqrt(np.einsum("id,id->i", points, points)) / count
    far *= np.exp(noise * random_state.standard_normal(m))
    parts = np.zeros(m, np.int64) if strata is None else strata
    order = np.lexsort((-far, parts, -count))  # what takes much room comes first
    if k > DEALT:
        return _in_two_steps(points, count, room, random_state, order, labels, deadline)
    table = _Table(points, count, room.astype(np.float64), labels, labels >= 0)
    order = order[labels[order] < 0]
    several = int(np.searchsorted(-count[order], -1))
    try:
        table.deal_large(order[:several], deadline)
        table.deal_single(order[several:], deadline)
    except OutOfTime:
        table.place_rest()
    return labels


def _in_two_steps(
    points: FloatArray,
    count: IntArray,
    room: IntArray,
    random_state: np.random.RandomState,
    order: IntArray,
    labels: IntArray,
    deadline: Deadline,
) -> IntArray:
    """Deal to parts of about as many groups each as there are parts, then inside the parts."""
    k = len(room)
    n_parts = min(int(np.ceil(np.sqrt(k))), DEALT)
    part = np.arange(k) * n_parts // k
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    inside = np.where(labels >= 0, part[labels], -1)
    large = np.bincount(part, room, n_parts).astype(np.int64)
    inside = deal(points, count, large, random_state, rank, inside, deadline=deadline)
    first = np.searchsorted(part, np.arange(n_parts + 1))
    members = np.argsort(inside, kind="stable")
    ends = np.searchsorted(inside[members], np.arange(n_parts + 1))
    for p in range(n_parts):
        own, start, stop = members[ends[p] : ends[p + 1]], first[p], first[p + 1]
        fixed = np.where(labels[own] >= 0, labels[own] - start, -1)
        about = points[own] - points[own].sum(axis=0) * (count[own] / count[own].sum())[:, None]
        found = deal(
            about, count[own], room[start:stop], random_state, rank[own], fixed, deadline=deadline
        )
        labels[own] = found + start
    return labels


class _Table:
    """Groups while points are dealt to them: sums and room that is left."""

    def __init__(
        self,
        points: FloatArray,
        count: IntArray,
        room: FloatArray,
        labels: IntArray,
        there: BoolArray,
    ) -> None:
        self.points, self.count, self.labels = points, count, labels
        self.size, self.left = np.maximum(room, 1.0), room.copy()
        self.sums = np.zeros((len(room), points.shape[1]))
        np.add.at(self.sums, labels[there], points[there])
        np.subtract.at(self.left, labels[there], count[there])

    def _give(self, batch: IntArray, groups: IntArray) -> None:
        """Give the points of a batch to different groups so that the sums become short."""
        cost = self.points[batch] @ (self.sums[groups] / self.size[groups, None]).T
        rows, columns = linear_sum_assignment(cost)
        batch, groups = batch[rows], groups[columns]
        self.labels[batch] = groups
        self.sums[groups] += self.points[batch]
        self.left[groups] -= self.count[batch]

    def deal_large(self, order: IntArray, deadline: Deadline) -> None:
        """Deal points of several rows to the groups with the most room, a few at a time."""
        start = 0
        while start < len(order):
            deadline.check()
            size = self.count[order[start]]
            # The same number of rows each, so that an assignment does not mind the room.
            alike = int(np.searchsorted(-self.count[order[start:]], -size, side="right"))
            roomy = np.argsort(-self.left, kind="stable")
            within = int(np.sum(self.left > self.left[roomy[0]] - size))
            batch = order[start : start + min(alike, within)]
            self._give(batch, roomy[: len(batch)])
            start += len(batch)

    def deal_single(self, order: IntArray, deadline: Deadline) -> None:
        """Deal single rows, to each group as many as it has room for, at equal steps."""
        left = np.maximum(self.left, 0.0).astype(np.int64)
        missing = len(order) - int(left.sum())
        if missing > 0:
            left += missing // len(left) + (np.arange(len(left)) < missing % len(left))
        slots = np.repeat(np.arange(len(left)), left)
        turn = np.arange(len(slots)) - np.repeat(np.cumsum(left) - left, left)
        slots = slots[np.argsort((turn + 0.5) / left[slots], kind="stable")]
        start = 0
        while start < len(order):
            if start % 64 == 0:
                deadline.check()
            groups = slots[start : start + len(left)]
            first = np.sort(np.unique(groups, return_index=True)[1])
            # Each group once in a batch: up to the first that comes again.
            again = np.flatnonzero(first != np.arange(len(first)))
            size = min(int(again[0]) if len(again) else len(first), len(order) - start)
            self._give(order[start : start + size], groups[:size])
            start += size

    def place_rest(self) -> None:
        """Place what is left where there is most room, without a look at the points."""
        rest = np.flatnonzero(self.labels < 0)
        left = np.maximum(self.left, 0.0).astype(np.int64)
        slots = np.repeat(np.arange(len(left)), left)
        slots = slots if len(slots) else np.arange(len(left))
        self.labels[rest] = slots[np.arange(len(rest)) % len(slots)]
