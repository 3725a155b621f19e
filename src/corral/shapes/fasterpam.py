"""Medoids without rules: swaps of a medoid and a candidate (FasterPAM).

Each row knows its nearest and second nearest medoid, at distances d1 and d2.  If candidate c takes
the place of medoid i, the objective changes by

    sum_o min(d_oc - d1_o, 0) + R_i + sum_{o nearest to i} (clip(d_oc, d1_o, d2_o) - d2_o)

with ``R_i = sum_{o nearest to i} (d2_o - d1_o)``, what it costs to lose medoid i.  So all k swaps
of one candidate take one look at its column.  Candidates are looked at in turn, and a swap that
pays is made at once (Schubert and Rousseeuw, Information Systems 101, 2021).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..plan.medoid_thresholds import BLOCK_ENTRIES

#: Falls below this part of the objective are rounding.
NEGLIGIBLE = 1e-12


def swap_medoids(cost: FloatArray, medoids: IntArray, deadline: Deadline) -> IntArray:
    """The medoids after all swaps that pay; cluster by cluster they replace those given.

    ``cost`` (m, c) is what groups cost at candidates.
    """
    if len(medoids) == 1:
        return np.array([cost.sum(axis=0).argmin()])
    state = _State(cost, medoids)
    c = cost.shape[1]
    at, idle, size = 0, 0, 1
    most = max(BLOCK_ENTRIES // len(cost), 1)
    while idle < c and not deadline.passed:
        # Blocks are small while swaps are frequent: after a swap the rest of one is looked at anew.
        block = np.arange(at, min(at + size, c))
        gains = state.changes(block)
        change = gains.min(axis=0)
        paying = np.flatnonzero(change < -NEGLIGIBLE * state.objective)
        if len(paying):
            first = int(paying[0])
            state.swap(int(gains[:, first].argmin()), int(block[first]))
            at, idle, size = at + first + 1, 0, 1
        else:
            at, idle, size = at + len(block), idle + len(block), min(2 * size, most)
        at %= c
    return state.medoids


def draw_medoids(
    cost: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> IntArray:
    """Medoids as k-means++ draws seeds: groups in proportion to what they cost so far.

    Of a few groups drawn, the one whose cheapest candidate saves most is taken.
    """
    m = len(cost)
    now = np.full(m, np.inf)
    chance = np.ones(m)
    medoids: list[int] = []
    for _ in range(n_clusters):
        groups = random_state.choice(m, 2 + int(np.log(n_clusters)), p=chance / chance.sum())
        places = cost[groups].copy()
        places[:, medoids] = np.inf
        able = places.argmin(axis=1)
        left = np.minimum(cost[:, able], now[:, None])
        best = int(left.sum(axis=0).argmin())
        medoids.append(int(able[best]))
        now = left[:, best]
        chance = now if now.any() else np.ones(m)
    return np.array(medoids)


class _State:
    """Medoids, and the two nearest of each group."""

    def __init__(self, cost: FloatArray, medoids: IntArray) -> None:
        self.cost, self.medoids = cost, medoids.copy()
        self._rows = np.arange(len(cost))
        self._at = cost[:, medoids]
        self._look()

    def swap(self, i: int, candidate: int) -> None:
        """Put a candidate in the place of medoid i."""
        self.medoids[i] = candidate
        self._at[:, i] = self.cost[:, candidate]
        self._look()

    def _look(self) -> None:
        """Find the two nearest medoids of each group anew."""
        two = np.argpartition(self._at, 1, axis=1)[:, :2]
        first, second = (self._at[self._rows, place] for place in two.T)
        self._d1, self._d2 = np.minimum(first, second)[:, None], np.maximum(first, second)[:, None]
        nearest = np.where(first <= second, two[:, 0], two[:, 1])
        m, k = self._at.shape
        self._member = sparse.csr_array((np.ones(m), (nearest, self._rows)), shape=(k, m))
        self._removal = self._member @ (self._d2 - self._d1)
        self.objective = float(self._d1.sum())

    def changes(self, block: IntArray) -> FloatArray:
        """By how much the objective rises when each candidate of a block replaces each medoid."""
        own = self.cost[:, block[0] : block[-1] + 1]
        shared = np.minimum(own - self._d1, 0.0).sum(axis=0)
        alone = np.clip(own, self._d1, self._d2) - self._d2
        return np.asarray(shared + self._removal + self._member @ alone)
