"""Assignment of some groups with the others fixed: a feasible answer near given labels."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline, OutOfTime
from ...plan.thresholds import REPAIR_GROUPS, REPAIR_MOVES
from ...presolve import Rules, Sums
from ..result import NoAssignment
from ..sizes import ship_units
from .duals import View


def restricted(
    rules: Rules, cost: FloatArray, labels: IntArray, chosen: BoolArray
) -> tuple[Rules, FloatArray]:
    """Rules and costs of the chosen groups, the others being where the labels have them.

    Bounds are reduced by what the others take; their pairs with chosen groups become costs.
    """
    soft, left = rules.soft, cost[chosen]
    for pairs, together in ((rules.apart, False), (rules.together, True)):
        hard = np.full(len(pairs), np.inf)
        _charge(left, pairs, hard, np.full(len(pairs), together), labels, chosen)
    _charge(left, soft.pairs, soft.price, soft.together, labels, chosen)
    return rules.less(labels, chosen), left


def _charge(
    left: FloatArray,
    pairs: IntArray,
    price: FloatArray,
    together: BoolArray,
    labels: IntArray,
    chosen: BoolArray,
) -> None:
    """Add to the costs of the chosen groups what their pairs with the others cost."""
    number = np.cumsum(chosen) - 1
    for a, b in (pairs.T, pairs.T[::-1]):
        half = chosen[a] & ~chosen[b]
        rows, clusters = number[a[half]], labels[b[half]]
        same = np.where(together[half], 0.0, price[half])
        differ = np.where(together[half], price[half], 0.0)
        extra = np.repeat(differ[:, None], left.shape[1], axis=1)
        extra[np.arange(len(rows)), clusters] = same
        np.add.at(left, rows, extra)


def repaired(
    rules: Rules, cost: FloatArray, sums: Sums, view: View, deadline: Deadline = NEVER
) -> IntArray | None:
    """Labels that keep all sums, made from those of the view, or None if that fails.

    Only groups move that share no pair with each other, and only where their pairs allow it.  If
    only sizes are bounded, the groups of one row are assigned again.  Otherwise groups move one at
    a time, each time the move that corrects most for its cost.

    Parameters
    ----------
    rules : Rules
    cost : (m, k) array
    sums : Sums
    view : View
    deadline : Deadline, optional
        None is the answer when it has passed.
    """
    if rules.sizes is not None and not rules.totals:
        return share_out(rules, cost, view.labels, view.margin, view.prices[0], deadline)
    chosen = _unrelated(rules, view.margin, np.isfinite(view.margin))
    if np.count_nonzero(chosen) > REPAIR_GROUPS:
        most = np.partition(view.margin[chosen], REPAIR_GROUPS)[REPAIR_GROUPS]
        chosen &= view.margin <= most
    if not chosen.any():
        return None
    _, part_cost = restricted(rules, cost, view.labels, chosen)
    return _moved(part_cost, sums, view, np.flatnonzero(chosen), deadline)


def share_out(
    rules: Rules,
    cost: FloatArray,
    labels: IntArray,
    margin: FloatArray,
    prices: FloatArray,
    deadline: Deadline = NEVER,
) -> IntArray | None:
    """Assign groups of one row again so that the sizes are kept; None if that fails.

    Parameters
    ----------
    rules : Rules
        Whose only sums are sizes.
    cost : (m, k) array
    labels : (m,) array
        They obey the pairs.
    margin : (m,) array
        What the next best cluster of a group costs more.  Of two groups in a pair, that of the
        smaller margin may move.
    prices : (k,) array
        To start from.
    deadline : Deadline, optional
        None is the answer when it has passed.
    """
    chosen = _unrelated(rules, margin, rules.count == 1)
    part, part_cost = restricted(rules, cost, labels, chosen)
    if part.sizes is None or not chosen.any():
        return None
    try:
        found = ship_units(part_cost, part.sizes.lower, part.sizes.upper, prices, deadline)[0]
    except (NoAssignment, OutOfTime):
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


def _moved(
    cost: FloatArray, sums: Sums, view: View, pool: IntArray, deadline: Deadline
) -> IntArray | None:
    """Move groups of the pool, which have these costs, until all sums are kept."""
    labels = view.labels.copy()
    reached = sums.reached(labels)
    part, unit = sums.part(pool), sums.unit
    tolerance = 1e-10 * np.abs(sums.values).sum(axis=1)[:, None] / sums.lower.shape[1]
    for _ in range(REPAIR_MOVES):
        if np.all(sums.outside(reached) <= tolerance):
            return labels
        move = _best_move(cost, labels[pool], part, reached, unit)
        if move is None or deadline.passed:
            return None
        row, to = move
        reached[:, labels[pool[row]]] -= part.values[:, row]
        reached[:, to] += part.values[:, row]
        labels[pool[row]] = to
    return None


def _best_move(
    cost: FloatArray, own: IntArray, sums: Sums, reached: FloatArray, unit: FloatArray
) -> tuple[int, int] | None:
    """The group and its new cluster that correct most for their cost."""
    rows = np.arange(len(own))
    corrected = np.zeros(cost.shape)
    for r, value in enumerate(sums.values):
        now = sums.outside(reached)[r]
        low, high = sums.lower[r], sums.upper[r]
        arrived = reached[r] + value[:, None]
        then = np.maximum(np.maximum(low - arrived, arrived - high), 0.0)
        left = reached[r][own] - value
        gone = np.maximum(np.maximum(low[own] - left, left - high[own]), 0.0)
        corrected += (now - then + (now[own] - gone)[:, None]) / unit[r]
    corrected[rows, own] = 0.0
    rise = cost - cost[rows, own][:, None]
    possible = (corrected > 1e-12) & np.isfinite(rise)
    if not possible.any():
        return None
    rate = np.where(possible, rise / np.where(possible, corrected, 1.0), np.inf)
    row, to = np.unravel_index(int(rate.argmin()), rate.shape)
    return int(row), int(to)
