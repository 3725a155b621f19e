"""Medoids without rules: swaps of a medoid and a candidate (FasterPAM), and first medoids.

Each row knows its nearest and second nearest medoid, at distances d1 and d2.  If candidate c takes
the place of medoid i, the objective changes by

    sum_o min(d_oc - d1_o, 0) + R_i + sum_{o nearest to i} (clip(d_oc, d1_o, d2_o) - d2_o)

with ``R_i = sum_{o nearest to i} (d2_o - d1_o)``, what it costs to lose medoid i.  So all k swaps
of one candidate take one look at its column.  Candidates are looked at in turn, and a swap that
pays is made at once (Schubert and Rousseeuw, Information Systems 101, 2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..search.compiled import compiled, part, spliced

#: Falls below this part of the objective are rounding.
NEGLIGIBLE = 1e-12
#: Entries of the costs that are looked at between two looks at the clock.  More have less overhead
#: and end later: about 0.02 s.
BLOCK_ENTRIES = 1 << 23


class Nearest(NamedTuple):
    """Medoids (k,), and the two nearest of each group with their costs, (m,)."""

    medoids: IntArray
    near: IntArray
    second: IntArray
    d1: FloatArray
    d2: FloatArray
    loss: FloatArray  # what it costs to lose each medoid, (k,)
    rise: FloatArray  # of the swaps of one candidate, (k,)


def swap_medoids(cost: FloatArray, medoids: IntArray, deadline: Deadline) -> IntArray:
    """The medoids after all swaps that pay; cluster by cluster they replace those given.

    ``cost`` (m, c) is what groups cost at candidates.
    """
    (m, c), k = cost.shape, len(medoids)
    if k == 1:
        return np.array([cost.sum(axis=0).argmin()])
    columns = np.ascontiguousarray(cost.T)
    two, (ones, none) = np.zeros((2, m), np.int64), (np.zeros((2, m)), np.zeros((2, k)))
    state = Nearest(medoids.astype(np.int64), *two, *ones, *none)
    for group in range(m):
        look(columns, state, group)
    block, start, idle = max(BLOCK_ENTRIES // m, 1), 0, 0
    while idle < c and not deadline.passed:
        idle = swap_some(columns, state, start, min(block, c - idle), idle)
        start = (start + block) % c
    return state.medoids


@compiled
def swap_some(columns: FloatArray, state: Nearest, start: int, number: int, idle: int) -> int:
    """Look at so many candidates in turn and swap; the candidates in a row that did not pay."""
    c, m = columns.shape
    k = len(state.medoids)
    loss, rise = state.loss, state.rise
    count_losses(state)
    objective = 0.0
    for o in range(m):
        objective += state.d1[o]
    for place in range(start, start + number):
        candidate, shared = place % c, 0.0
        for i in range(k):
            rise[i] = loss[i]
        for o in range(m):
            at, d1, d2 = columns[candidate, o], state.d1[o], state.d2[o]
            if at < d1:
                shared += at - d1
                rise[state.near[o]] += d1 - d2
            elif at < d2:
                rise[state.near[o]] += at - d2
        best = 0
        for i in range(k):
            if rise[i] < rise[best]:
                best = i
        change = shared + rise[best]
        idle += 1
        if change < -NEGLIGIBLE * objective:
            swap(columns, state, best, candidate)
            objective += change
            idle = 0
    return idle


@part
def count_losses(state: Nearest) -> None:
    """What it costs to lose each medoid."""
    for i in range(len(state.loss)):
        state.loss[i] = 0.0
    for o in range(len(state.near)):
        state.loss[state.near[o]] += state.d2[o] - state.d1[o]


@spliced
def swap(columns: FloatArray, state: Nearest, i: int, candidate: int) -> None:
    """Put a candidate in the place of medoid i."""
    near, second, d1, d2 = state.near, state.second, state.d1, state.d2
    state.medoids[i] = candidate
    for o in range(len(near)):
        at = columns[candidate, o]
        if near[o] == i and at < d2[o]:
            d1[o] = at
        elif near[o] == i or (second[o] == i and at >= d2[o]):
            look(columns, state, o)
        elif at < d1[o]:
            second[o], d2[o] = near[o], d1[o]
            near[o], d1[o] = i, at
        elif at < d2[o]:
            second[o], d2[o] = i, at
    count_losses(state)


@compiled
def look(columns: FloatArray, state: Nearest, o: int) -> None:
    """Find the two nearest medoids of group o anew."""
    first, second, d1, d2 = -1, -1, np.inf, np.inf
    for i in range(len(state.medoids)):
        at = columns[state.medoids[i], o]
        if at < d1:
            second, d2 = first, d1
            first, d1 = i, at
        elif at < d2:
            second, d2 = i, at
    state.near[o], state.second[o], state.d1[o], state.d2[o] = first, second, d1, d2


def draw_medoids(
    cost: FloatArray,
    n_clusters: int,
    random_state: np.random.RandomState,
    groups: IntArray | None = None,
    own: IntArray | None = None,
) -> IntArray:
    """Medoids as k-means++ draws seeds: groups in proportion to what they cost so far.

    Of a few groups drawn, the one whose candidate saves most is taken.

    Parameters
    ----------
    cost : (m, c) array
    n_clusters : int
    random_state : RandomState
    groups : (g,) array, optional
        Groups that count; all without it.
    own : (m,) array, optional
        The candidate of each group; without it the cheapest that is none yet.
    """
    groups = np.arange(len(cost)) if groups is None else groups
    now, chance = np.full(len(groups), np.inf), np.ones(len(groups))
    free = np.ones(len(groups), bool)
    used = np.zeros(cost.shape[1], bool)
    medoids: list[int] = []
    for _ in range(n_clusters):
        if own is not None:
            chance = np.where(free, chance, 0.0)
            chance = chance if chance.any() else free.astype(float)
        heap = np.cumsum(chance)
        drawn = random_state.uniform(size=2 + int(np.log(n_clusters))) * heap[-1]
        places = np.minimum(np.searchsorted(heap, drawn, side="right"), len(groups) - 1)
        if own is None:
            able = np.where(used, np.inf, cost[groups[places]]).argmin(axis=1)
        else:
            able = own[groups[places]]
        left = np.minimum(cost[groups[:, None], able], now[:, None])
        best = int(left.sum(axis=0).argmin())
        medoids.append(int(able[best]))
        used[medoids[-1]], free[places[best]] = True, False
        now = left[:, best]
        chance = now if now.any() else np.ones(len(groups))
    return np.array(medoids)
