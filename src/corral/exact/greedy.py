"""Cheap labels under pins, cannot-links and sizes: one group after another, and no proof."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..rules import Rules, SizeBounds
from .check import with_pins
from .result import NoAssignment
from .sizes import solve_sizes, split_prices
from .sums.repair import share_out

#: Most passes over the groups in which each takes its cheapest allowed cluster.
SWEEPS = 5
#: Most times that groups displace others, for each group with cannot-links; the search fails after
#: that.
DISPLACED = 5


def solve_greedily(
    rules: Rules,
    cost: FloatArray,
    start: IntArray | None = None,
    deadline: Deadline = NEVER,
) -> IntArray | None:
    """Cheap labels that obey pins and cannot-links, or None if the search fails.

    Without a start the groups are placed one after another, those with most cannot-links first.
    Each goes where it costs least among the clusters without neighbours; if there is none, it
    displaces the neighbours in one cluster.  Then, as from a given start, each group moves to its
    cheapest allowed cluster in a few sweeps.

    A start obeys the rules.  The sweeps end with the deadline; groups are placed for a moment
    longer, because this is the last method that can give an answer, and OutOfTime ends that.
    """
    priced = with_pins(rules, cost)
    graph = rules.pairs.links
    degree = np.diff(graph.indptr)
    linked = np.flatnonzero(degree > 0)
    linked = linked[np.argsort(-degree[linked], kind="stable")]
    labels = np.asarray(priced.argmin(axis=1))
    if start is not None:
        labels[linked] = start[linked]
    elif not _place(linked, graph, priced, labels, deadline.first):
        return None
    for _ in range(SWEEPS):
        moved = False
        for g in linked.tolist():
            if deadline.passed:
                break
            best = _cheapest(priced[g], labels[_neighbours(graph, g)])
            moved |= best != labels[g]
            labels[g] = best
        if not moved:
            break
    return labels


def _place(
    linked: IntArray,
    graph: sparse.csr_array,
    priced: FloatArray,
    labels: IntArray,
    until: Deadline,
) -> bool:
    """Write labels of the linked groups, one after another; whether all could be placed.

    A group without an allowed cluster displaces its neighbours in one cluster: that with the fewest
    of them, where neighbours that were displaced before count more.  They are placed again.
    """
    labels[linked] = -1
    waiting, displaced = deque(linked.tolist()), np.zeros(len(labels))
    left = DISPLACED * len(linked)
    while waiting:
        until.check()
        g = waiting.popleft()
        neighbours = _neighbours(graph, g)
        taken = labels[neighbours]
        best = _cheapest(priced[g], taken)
        if best < 0:
            left -= 1
            there = taken >= 0
            trouble = np.bincount(taken[there], 1.0 + displaced[neighbours[there]], priced.shape[1])
            trouble[~np.isfinite(priced[g])] = np.inf
            best = int(trouble.argmin())
            if left < 0 or not np.isfinite(trouble[best]):
                return False
            out = neighbours[taken == best]
            labels[out] = -1
            displaced[out] += 1.0
            waiting.extend(out.tolist())
        labels[g] = best
    return True


def _neighbours(graph: sparse.csr_array, g: int) -> IntArray:
    found: IntArray = graph.indices[graph.indptr[g] : graph.indptr[g + 1]]
    return found


def _cheapest(cost: FloatArray, taken: IntArray) -> int:
    """The cheapest cluster that is not taken, -1 if there is none."""
    left = cost.copy()
    left[taken[taken >= 0]] = np.inf
    best = int(left.argmin())
    return best if np.isfinite(left[best]) else -1


def solve_crowded(
    rules: Rules,
    cost: FloatArray,
    start: IntArray | None = None,
    deadline: Deadline = NEVER,
) -> IntArray | None:
    """Cheap labels that obey pins, cannot-links and sizes, or None if the search fails.

    Groups are placed greedily at the prices of the sizes, which keeps the sizes nearly.  Then
    groups of one row that share no pair are assigned again, so that the sizes are kept.  A start
    obeys the rules; without one the search goes on for a moment after the deadline.
    """
    if rules.sizes is None:
        return None
    pinned = with_pins(rules, cost)
    until = deadline.first if start is None else deadline
    try:
        prices = _prices(pinned, rules.count, rules.sizes, until)
    except NoAssignment:
        return None
    priced = pinned + rules.count[:, None] * prices
    labels = solve_greedily(rules, priced, start, deadline)
    if labels is None:
        return None
    two = np.partition(priced, 1, axis=1)
    return share_out(rules, pinned, labels, two[:, 1] - two[:, 0], prices, until)


def _prices(cost: FloatArray, count: IntArray, sizes: SizeBounds, deadline: Deadline) -> FloatArray:
    """Price per row of each cluster by the sizes alone."""
    if np.ptp(count) == 0:
        found = solve_sizes(cost, count, sizes, None, deadline)[1]
        if found is not None:
            return found
    return split_prices(cost, count, sizes, deadline)
