"""A feasible answer near the best labels at prices, by moving a few groups."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...presolve import Rules
from ..result import NoAssignment
from ..sizes import ship_units
from .duals import Sums, View
from .restrict import restricted

#: Groups that may be moved, those that lose least, and moves at most.
POOL = 3000
MOVES = 400


def repaired(rules: Rules, cost: FloatArray, sums: Sums, view: View) -> IntArray | None:
    """Labels that keep all sums, from those of the view, or None if that fails.

    Only groups move that share no pair, and only to where their pairs let them.  Where sizes
    alone are bounded those of one point are shared out anew; otherwise groups move one at a
    time, at least cost for what that mends.

    Parameters
    ----------
    rules : Rules
    cost : (m, k) array
    sums : Sums
    view : View
    """
    if rules.sizes is not None and not rules.totals:
        return share_out(rules, cost, view.labels, view.margin, view.prices[0])
    chosen = _unrelated(rules, view.margin, np.isfinite(view.margin))
    if np.count_nonzero(chosen) > POOL:
        chosen &= view.margin <= np.partition(view.margin[chosen], POOL)[POOL]
    if not chosen.any():
        return None
    _, part_cost = restricted(rules, cost, view.labels, chosen)
    return _moved(part_cost, sums, view, np.flatnonzero(chosen))


def share_out(
    rules: Rules, cost: FloatArray, labels: IntArray, margin: FloatArray, prices: FloatArray
) -> IntArray | None:
    """Labels that keep the sizes, or None if that fails.

    Parameters
    ----------
    rules : Rules
        Whose only sums are sizes.
    cost : (m, k) array
    labels : (m,) array
        That obey the pairs.
    margin : (m,) array
        What the next best cluster of a group costs more; those of small margin move first.
    prices : (k,) array
        To start from.
    """
    chosen = _unrelated(rules, margin, rules.count == 1)
    part, part_cost = restricted(rules, cost, labels, chosen)
    if part.sizes is None or not chosen.any():
        return None
    try:
        found = ship_units(part_cost, part.sizes.lower, part.sizes.upper, prices)[0]
    except NoAssignment:
        return None
    labels = labels.copy()
    labels[chosen] = found
    return labels


def _unrelated(rules: Rules, margin: FloatArray, able: BoolArray) -> BoolArray:
    """Some of the able groups, no two in a pair, those of smaller margin first."""
    rank = np.empty(len(margin), np.int64)
    rank[np.argsort(np.where(able, margin, np.inf), kind="stable")] = np.arange(len(margin))
    pairs = np.concatenate([rules.apart, rules.together, rules.soft.pairs])
    first = np.full(len(margin), len(margin))
    np.minimum.at(first, pairs[:, 0], rank[pairs[:, 1]])
    np.minimum.at(first, pairs[:, 1], rank[pairs[:, 0]])
    return np.asarray(able & (rank < first))


def _moved(cost: FloatArray, sums: Sums, view: View, pool: IntArray) -> IntArray | None:
    """Move groups of the pool, which have these costs, until all sums are kept."""
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
        move = _best_move(cost, labels[pool], values, sums, reached, unit)
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
