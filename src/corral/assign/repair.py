"""A feasible answer near the best labels at prices, by moving a few groups."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..problem import Problem
from .duals import Sums, View

#: Groups that may be moved, those that lose least, and moves at most.
POOL = 3000
MOVES = 400


def repaired(problem: Problem, cost: FloatArray, sums: Sums, view: View) -> IntArray | None:
    """Labels that keep all sums, from those of the view, or None if that fails.

    Only groups without pairs are moved, one at a time: the move that costs least for what it
    mends.

    Parameters
    ----------
    problem : Problem
    cost : (m, k) array
    sums : Sums
    view : View
    """
    free = np.ones(len(cost), bool)
    for pairs in (problem.apart, problem.together, problem.soft.pairs):
        free[pairs.ravel()] = False
    pool = np.flatnonzero(free & np.isfinite(view.margin))
    if len(pool) > POOL:
        pool = pool[np.argpartition(view.margin[pool], POOL)[:POOL]]
    labels = view.labels.copy()
    reached = sums.reached(labels)
    values = sums.values[:, pool]
    unit = np.abs(sums.values).mean(axis=1)
    unit = np.where(unit > 0, unit, 1.0)[:, None]
    tolerance = 1e-10 * np.abs(sums.values).sum(axis=1)[:, None] / sums.lower.shape[1]
    for _ in range(MOVES):
        off = _outside(sums, reached)
        if np.all(off <= tolerance):
            return labels
        move = _best_move(cost[pool], labels[pool], values, sums, reached, unit)
        if move is None:
            return None
        row, to = move
        reached[:, labels[pool[row]]] -= values[:, row]
        reached[:, to] += values[:, row]
        labels[pool[row]] = to
    return None


def _outside(sums: Sums, reached: FloatArray) -> FloatArray:
    return np.maximum(np.maximum(sums.lower - reached, reached - sums.upper), 0.0)


def _best_move(
    cost: FloatArray,
    own: IntArray,
    values: FloatArray,
    sums: Sums,
    reached: FloatArray,
    unit: FloatArray,
) -> tuple[int, int] | None:
    """The group and its new cluster that mend most for their cost."""
    rows = np.arange(len(own))
    mended = np.zeros(cost.shape)
    for r, value in enumerate(values):
        now = _outside(sums, reached)[r]
        low, high = sums.lower[r], sums.upper[r]
        arrived = reached[r] + value[:, None]
        then = np.maximum(np.maximum(low - arrived, arrived - high), 0.0)
        left = reached[r][own] - value
        gone = np.maximum(np.maximum(low[own] - left, left - high[own]), 0.0)
        mended += (now - then + (now[own] - gone)[:, None]) / unit[r]
    mended[rows, own] = 0.0
    dearer = cost - cost[rows, own][:, None]
    possible = (mended > 1e-12) & np.isfinite(dearer)
    if not possible.any():
        return None
    rate = np.where(possible, dearer / np.where(possible, mended, 1.0), np.inf)
    row, to = np.unravel_index(int(rate.argmin()), rate.shape)
    return int(row), int(to)
