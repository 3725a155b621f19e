r"""Cluster sizes for many rows: prices, and a flow among the few rows that they leave open.

Rows that each count one go into k clusters of bounded size.  At prices :math:`\lambda` every row
prefers ``argmin_j cost[i, j] + lambda[j]``; at the right ones the preferences fit the bounds up
to ties.  Prices come from the round before or from a sample, and are nearly right.  Putting the
rest right moves rows that are nearly indifferent: those whose next best cluster costs at most
``reach`` more.  The others stay where they are and the few are settled by a flow.  The result is
the best of all if no cycle of moves pays, where a row that took no part is known to lose more
than ``reach`` by any move.  If that cannot be shown, more rows take part, from the prices of the
flow unless they misplace more rows than those before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...plan.thresholds import FLOW_COLD, FLOW_ROWS_EACH, FLOW_WARM
from ...presolve import SizeBounds
from ...rows.costs import Costs, Dense, DenseScan
from ..result import NoAssignment
from .flow import settle, transport
from .preferences import State, add_outside, cheapest_moves

#: Rows that take part for each that is in the wrong place, and the least number of them, in all and
#: for each cluster.
ROWS_EACH = 4
LEAST_ROWS, LEAST_EACH = 500, 20

#: So few misplaced rows, or this part of all up to so many, are left to the flow.
FEW_MISPLACED, MANY_MISPLACED = 50, 100
SMALL_PART = 1e-3

#: A step that leaves more than this part of the misplaced rows is the last.
WORTH_A_STEP = 0.75

#: Prices that misplace a larger part of the rows are not worth starting from.
BAD_START = 0.1

#: A sample has this part of the rows, but no more than so many, or than so many for each cluster.
SAMPLE = 0.1
SAMPLE_MOST, SAMPLE_EACH = 50_000, 1_000


def solve_sizes(
    cost: FloatArray, count: IntArray, sizes: SizeBounds, prices: FloatArray | None = None
) -> tuple[IntArray, FloatArray | None]:
    """Cheapest labels under cluster sizes for groups of equal count, and a price per point.

    There are no prices where the next round would not start from them.

    Parameters
    ----------
    cost : (m, k) array
        Infinite where a group may not go.
    count : (m,) array
        All equal.
    sizes : SizeBounds
    prices : (k,) array, optional
        Per point, to start from.
    """
    each = int(count[0])
    lower, upper = -(-sizes.lower // each), sizes.upper // each
    if cost.size <= FLOW_WARM:
        return _flow(cost, *_fitting(lower, upper, len(cost))), None
    start = None if prices is None else each * prices
    labels, found = ship_units(cost, lower, upper, start)
    return labels, found / each


def ship_units(
    cost: FloatArray, lower: IntArray, upper: IntArray, prices: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Cheapest labels with ``lower[j]`` to ``upper[j]`` rows in cluster j, and their prices.

    Parameters
    ----------
    cost : (m, k) array
        Infinite where a row may not go; left as it is.
    lower, upper : (k,) arrays of int
    prices : (k,) array, optional
        To start from; any are correct, good ones are fast.

    Returns
    -------
    labels : (m,) array
    prices : (k,) array
        ``labels[i]`` is in ``argmin_j cost[i, j] + prices[j]`` up to rounding.  Where bounds are
        intervals a price is at least 0 above the lower bound and at most 0 below the upper.

    Raises
    ------
    NoAssignment
        When the rows do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> cost = np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 7.0]])
    >>> ship_units(cost, np.array([1, 2]), np.array([1, 2]))
    (array([1, 1, 0]), array([ 1.5, -1.5]))
    """
    scan, found = ship(Dense(cost), lower, upper, prices)
    if isinstance(scan, DenseScan):
        return scan.labels, found
    return scan, found


def ship(
    costs: Costs, lower: IntArray, upper: IntArray, prices: FloatArray | None = None
) -> tuple[Any, FloatArray]:
    """As :func:`ship_units`, for costs wherever they are.

    Returns
    -------
    scan : Scan or (m,) array
        Rows in their clusters; labels if all went into one flow.
    prices : (k,) array
    """
    m, k = costs.shape
    lower, upper = _fitting(lower, upper, m)
    few = m * k <= (FLOW_COLD if prices is None else FLOW_WARM)
    if few or (prices is None and m < FLOW_ROWS_EACH * k):
        return _all_at_once(costs.dense(), lower, upper)
    start = first_prices(costs, lower, upper) if prices is None else prices
    state = State.at(costs, lower, upper, start)
    if prices is not None and state.misplaced > BAD_START * m:
        state = State.at(costs, lower, upper, first_prices(costs, lower, upper))
    widen = 1
    while (state := _approach(state, widen)).misplaced:
        taking_part = widen * max(LEAST_ROWS, LEAST_EACH * k, ROWS_EACH * state.misplaced)
        if widen > 1 and 2 * taking_part > m:
            return _all_at_once(costs.dense(), lower, upper)
        found, proven = state.finish(min(taking_part, m // 2))
        if proven:
            return found.scan, found.prices
        # The prices of a flow among too few rows can be far off.
        state = min(found, state, key=lambda state: state.misplaced)
        widen *= 4
    return state.scan, state.prices


def _fitting(lower: IntArray, upper: IntArray, m: int) -> tuple[IntArray, IntArray]:
    """Bounds that m rows can fill."""
    lower, upper = np.maximum(lower, 0), np.minimum(upper, m)
    if np.any(lower > upper) or not lower.sum() <= m <= upper.sum():
        raise NoAssignment
    return lower, upper


def _approach(state: State, widen: int) -> State:
    """Better prices by Newton's method, as long as each step mends a good part of what is wrong."""
    m = state.costs.shape[0]
    enough = np.clip(SMALL_PART * m, FEW_MISPLACED, MANY_MISPLACED)
    while state.misplaced > enough:
        trial = state.newton(min(widen * ROWS_EACH * state.misplaced, m // 2))
        if trial.misplaced > WORTH_A_STEP * state.misplaced:
            return min(trial, state, key=lambda found: found.misplaced)
        state = trial
    return state


def _all_at_once(cost: FloatArray, lower: IntArray, upper: IntArray) -> tuple[IntArray, FloatArray]:
    labels = _flow(cost, lower, upper)
    zero = np.zeros(cost.shape[1])
    moves = cheapest_moves(cost, labels)
    counted = np.bincount(labels, minlength=len(zero))
    add_outside(moves, counted, lower, upper, zero)
    return labels, settle(moves, anchored=bool(np.any(lower < upper)))[0]


def _flow(cost: FloatArray, lower: IntArray, upper: IntArray) -> IntArray:
    labels: IntArray = transport(cost, np.ones(len(cost), np.int64), lower, upper).argmax(axis=1)
    return labels


def first_prices(costs: Costs, lower: IntArray, upper: IntArray) -> FloatArray:
    """Prices to start from: those of some of the rows, with bounds in proportion."""
    m, k = costs.shape
    size = min(int(SAMPLE * m), max(SAMPLE_MOST, SAMPLE_EACH * k))
    # Rounding the sums keeps exact sizes exact and the whole feasible.
    low, high = (
        np.diff(np.floor(np.cumsum(bound) * (size / m) + 1e-9), prepend=0.0).astype(np.int64)
        for bound in (lower, upper)
    )
    try:
        return ship_units(costs.sample(size), low, np.maximum(low, high))[1]
    except NoAssignment:
        return np.zeros(k)
