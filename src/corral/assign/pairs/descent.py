"""Good labels under pairs too entangled to be solved, by moving one group at a time."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ...presolve import PairGraph
from ..check import sums_by

#: Sweeps at most; each moves every group that gains more than its neighbours.
SWEEPS = 300


def descend(graph: PairGraph, cost: FloatArray) -> IntArray | None:
    """Labels that no single move improves, or None if they break a hard pair.

    In every sweep the groups move that gain more than all their neighbours: no two of them share
    a pair, so the gains add up.

    Parameters
    ----------
    graph : PairGraph
    cost : (m, k) array
        Infinite where a group may not go.

    Examples
    --------
    >>> import numpy as np
    >>> one = PairGraph.of_pairs(2, np.array([[0, 1]]), np.array([np.inf]), np.array([0.0]))
    >>> descend(one, np.array([[0.0, 5.0], [0.0, 3.0]]))
    array([0, 1])
    """
    m, k = cost.shape
    least = cost.min(axis=1)
    spread = np.where(np.isfinite(cost), cost - least[:, None], 0.0)
    # Dearer than anything that can be gained by breaking a hard pair.
    wall = 4.0 * float(spread.max(initial=0.0)) + 1.0
    same, differ = np.minimum(graph.same, wall), np.minimum(graph.differ, wall)
    # Equal groups in a pair must not wait for each other.
    jitter = 1.0 + 1e-6 * np.random.default_rng(0).random(m)
    labels: IntArray = cost.argmin(axis=1)
    ends, others = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
    bonus, base = np.tile(same - differ, 2), sums_by(ends, np.tile(differ, 2), m)
    rows = np.arange(m)
    for _ in range(SWEEPS):
        paid = sums_by(ends * k + labels[others], bonus, m * k).reshape(m, k)
        paid += base[:, None]
        paid += cost
        to = paid.argmin(axis=1)
        gain = (paid[rows, labels] - paid[rows, to]) * jitter
        rival = np.zeros(m)
        np.maximum.at(rival, ends, gain[others])
        moving = (gain > 1e-12 * wall) & (gain > rival)
        if not moving.any():
            break
        labels[moving] = to[moving]
    broken = np.isinf(graph.paid(labels)).any()
    return None if broken or not np.isfinite(cost[rows, labels]).all() else labels
