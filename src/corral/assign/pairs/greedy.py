"""Labels under cannot-links without a proof, for graphs too tangled to solve in time."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import sparse

from ..._typing import FloatArray, IntArray
from ...presolve import Rules
from ...presolve.graphs import link_graph
from ..nearest import with_pins

#: Passes over the groups in which each takes its cheapest allowed cluster.
SWEEPS = 5
#: Groups may put others out so many times for each group that has cannot-links.
PUT_OUT = 5


def solve_greedily(
    rules: Rules, cost: FloatArray, start: IntArray | None = None
) -> IntArray | None:
    """Cheap labels that obey pins and cannot-links, or None if greed meets a dead end.

    Without a start the groups are placed one after another, those with most cannot-links first,
    each where it costs least among the clusters its neighbours leave, or in the place of some of
    them; then, as from a given start, each moves to its cheapest allowed cluster in a few sweeps.

    Parameters
    ----------
    rules : Rules
        Whose pins and cannot-links are obeyed; no other rule is looked at.
    cost : (m, k) array
    start : (m,) array, optional
        Labels that obey the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.presolve import Pairs, Rules
    >>> pairs = Pairs(3, apart=np.array([[0, 1], [1, 2]]))
    >>> rules = Rules(n_clusters=2, count=np.ones(3, int), pairs=pairs)
    >>> solve_greedily(rules, np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 1.0]]))
    array([1, 0, 1])
    """
    priced = with_pins(rules, cost)
    graph = link_graph(rules.n_groups, rules.apart)
    degree = np.diff(graph.indptr)
    linked = np.flatnonzero(degree > 0)
    linked = linked[np.argsort(-degree[linked], kind="stable")]
    labels = np.asarray(priced.argmin(axis=1))
    if start is not None:
        labels[linked] = start[linked]
    elif not _place(linked, graph, priced, labels):
        return None
    for _ in range(SWEEPS):
        moved = False
        for g in linked.tolist():
            best = _cheapest(priced[g], labels[_neighbours(graph, g)])
            moved |= best != labels[g]
            labels[g] = best
        if not moved:
            break
    return labels


def _place(linked: IntArray, graph: sparse.csr_array, priced: FloatArray, labels: IntArray) -> bool:
    """Write labels of the linked groups, one after another; whether all have found a place.

    A group that its neighbours leave nothing puts those out that are in one cluster, few of them
    and such as were seldom put out, and they are placed again.
    """
    labels[linked] = -1
    waiting, put_out = deque(linked.tolist()), np.zeros(len(labels))
    left = PUT_OUT * len(linked)
    while waiting:
        g = waiting.popleft()
        neighbours = _neighbours(graph, g)
        taken = labels[neighbours]
        best = _cheapest(priced[g], taken)
        if best < 0:
            left -= 1
            there = taken >= 0
            trouble = np.bincount(taken[there], 1.0 + put_out[neighbours[there]], priced.shape[1])
            trouble[~np.isfinite(priced[g])] = np.inf
            best = int(trouble.argmin())
            if left < 0 or not np.isfinite(trouble[best]):
                return False
            out = neighbours[taken == best]
            labels[out] = -1
            put_out[out] += 1.0
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
