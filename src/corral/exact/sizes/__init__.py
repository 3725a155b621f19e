r"""Cluster sizes for many rows: prices, and a flow among the few rows that they leave open.

Rows that each count one go into k clusters of bounded size.  At prices :math:`\lambda` every row
prefers ``argmin_j cost[i, j] + lambda[j]``; at the right prices these labels keep the bounds, up to
ties.  Prices come from the round before or from a sample, and are nearly right.  What is left is
corrected by moving rows whose next best cluster costs at most ``reach`` more: a flow decides among
these few rows, and all others stay where they are.  The result is proven to be the best if no cycle
of moves lowers the cost, where a row that took no part loses more than ``reach`` by any move.
Without a proof more rows take part, from the prices of the flow unless they misplace more rows than
those before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...deadline import NEVER, Deadline, OutOfTime
from ...rows.costs import Costs, Dense, DenseScan
from ...rules import SizeBounds, SoftSizes
from ...rules.sums import scaled_bounds
from ..result import NoAssignment
from .flow import FLOW_SECONDS, fitting, transport
from .preferences import State
from .prices import flow_prices
from .prices import prices as explaining_prices
from .room import Room

#: Rows that take part in a step for each misplaced row; more make a step longer and a proof
#: likelier.
ROWS_EACH = 4
#: Least number of rows that take part in a flow, in all and for each cluster.
LEAST_ROWS, LEAST_EACH = 500, 20

#: Steps towards better prices end when at most ``SMALL_PART`` of the rows are misplaced; this
#: number of rows is kept between the other two.  A flow places that few at once.
SMALL_PART = 1e-3
FEW_MISPLACED, MANY_MISPLACED = 50, 100

#: Part of the misplaced rows that may be left after a step; if more are left, it is the last step.
WORTH_A_STEP = 0.75

#: Part of all rows that given prices may misplace; if it is more, prices of a sample replace them.
BAD_START = 0.1

#: Part of the rows in the sample that gives the first prices; more rows give better prices.
SAMPLE = 0.1
#: Entries of the costs up to which sizes are one flow: with prices to start from, and without.
#: More make a flow longer than prices: 12,000 entries with prices take 1 ms, as one flow 7 ms;
#: 30,000 entries without prices take 5 ms, as one flow 16 ms.
FLOW_WARM, FLOW_COLD = 4_000, 20_000
#: Rows for each cluster below which sizes without prices are one flow, because a sample would have
#: no row in some clusters.  More make flows larger: 6,000 rows in 200 clusters take 0.15 s at 5 and
#: 1.2 s at 40; at 0 they take 0.28 s.
FLOW_ROWS_EACH = 5
#: Most rows of the sample that gives the first prices, in all and for each cluster; the larger of
#: the two counts.  500,000 rows in 20 clusters take 0.55 s, and 0.65 s at a tenth or without limit.
PRICE_SAMPLE_MOST, PRICE_SAMPLE_EACH = 50_000, 1_000


def solve_sizes(
    cost: FloatArray,
    count: IntArray,
    sizes: SizeBounds,
    prices: FloatArray | None = None,
    deadline: Deadline = NEVER,
) -> tuple[IntArray, FloatArray | None]:
    """Cheapest labels under cluster sizes for groups of equal count, and a price per point.

    Small problems are one flow; there the prices are None, because the next round is one too.  With
    soft sizes every group is one row.

    Raises
    ------
    NoAssignment, OutOfTime

    Examples
    --------
    >>> import numpy as np
    >>> cost = np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 7.0]])
    >>> sizes = SizeBounds(np.array([1, 2]), np.array([1, 2]), ordered=True)
    >>> solve_sizes(cost, np.ones(3, int), sizes)
    (array([1, 1, 0]), None)
    """
    each = int(count[0])
    lower, upper = -(-sizes.lower // each), sizes.upper // each
    if cost.size <= FLOW_WARM:
        return _flow(cost, lower, upper, sizes.soft), None
    start = None if prices is None else each * prices
    labels, found = ship_units(cost, lower, upper, start, deadline, sizes.soft)
    return labels, found / each


def ship_units(
    cost: FloatArray,
    lower: IntArray,
    upper: IntArray,
    prices: FloatArray | None = None,
    deadline: Deadline = NEVER,
    soft: SoftSizes | None = None,
) -> tuple[IntArray, FloatArray]:
    """As :func:`ship`, for costs in memory; gives labels and prices."""
    scan, found = ship(Dense(cost), lower, upper, prices, deadline, soft)
    return scan.labels if isinstance(scan, DenseScan) else scan, found


def ship(
    costs: Costs,
    lower: IntArray,
    upper: IntArray,
    prices: FloatArray | None = None,
    deadline: Deadline = NEVER,
    soft: SoftSizes | None = None,
) -> tuple[Any, FloatArray]:
    """Cheapest way to put ``lower[j]`` to ``upper[j]`` rows into cluster j, and its prices.

    Gives a :class:`Scan`, or labels if all rows went into one flow.  Prices to start from do not
    change the answer; good ones make it faster.  Row i is in ``argmin_j cost[i, j] + prices[j]`` up
    to rounding; a price is at least 0 above the lower bound and at most 0 below the upper one.
    With soft sizes the price is between the slopes of their cost (:class:`.room.Room`).

    Raises
    ------
    NoAssignment, OutOfTime
    """
    m, k = costs.shape
    lower, upper = fitting(lower, upper, m)
    few = m * k <= (FLOW_COLD if prices is None else FLOW_WARM)
    if few or (prices is None and m < FLOW_ROWS_EACH * k):
        return _all_at_once(costs.dense(), SizeBounds(lower, upper, True, soft), deadline)
    start = first_prices(costs, lower, upper, deadline, soft) if prices is None else prices
    state = State.at(costs, Room.of(lower, upper, soft), start, deadline)
    if prices is not None and state.misplaced > BAD_START * m:
        state = state.priced(first_prices(costs, lower, upper, deadline, soft))
    widen = 1
    while (state := _approach(state, widen)).misplaced:
        taking_part = widen * max(LEAST_ROWS, LEAST_EACH * k, ROWS_EACH * state.misplaced)
        if widen > 1 and 2 * taking_part > m:
            return _all_at_once(costs.dense(), SizeBounds(lower, upper, True, soft), deadline)
        found, proven = state.finish(min(taking_part, m // 2))
        if proven:
            return found.scan, found.prices
        # The prices of a flow among too few rows can be far off.
        state = min(found, state, key=lambda state: state.misplaced)
        widen *= 4
    return state.scan, state.prices


def _approach(state: State, widen: int) -> State:
    """Better prices by Newton's method, while each step corrects a large part of what is wrong."""
    m = state.costs.shape[0]
    enough = np.clip(SMALL_PART * m, FEW_MISPLACED, MANY_MISPLACED)
    while state.misplaced > enough:
        trial = state.newton(min(widen * ROWS_EACH * state.misplaced, m // 2))
        if trial.misplaced > WORTH_A_STEP * state.misplaced:
            return min(trial, state, key=lambda found: found.misplaced)
        state = trial
    return state


def _all_at_once(
    cost: FloatArray, sizes: SizeBounds, deadline: Deadline
) -> tuple[IntArray, FloatArray]:
    """One flow over all rows, which cannot be interrupted; the deadline is asked before it.

    Prices that there is no time for are 0.
    """
    deadline.check(FLOW_SECONDS * cost.size)
    labels = _flow(cost, sizes.lower, sizes.upper, sizes.soft)
    try:
        return labels, explaining_prices(labels, cost, sizes, deadline=deadline)
    except OutOfTime:
        return labels, np.zeros(len(sizes.lower))


def _flow(cost: FloatArray, lower: IntArray, upper: IntArray, soft: SoftSizes | None) -> IntArray:
    flow = transport(cost, np.ones(len(cost), np.int64), lower, upper, soft)
    return np.asarray(flow.argmax(axis=1))


def split_prices(
    cost: FloatArray, count: IntArray, sizes: SizeBounds, deadline: Deadline = NEVER
) -> FloatArray:
    """Price per point of each cluster if groups could be split.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    deadline.check(FLOW_SECONDS * cost.size)
    unit_cost = cost / count[:, None]
    flow = transport(unit_cost, count, sizes.lower, sizes.upper, sizes.soft)
    return flow_prices(flow > 0, unit_cost, flow.sum(axis=0), sizes, deadline)


def first_prices(
    costs: Costs,
    lower: IntArray,
    upper: IntArray,
    deadline: Deadline = NEVER,
    soft: SoftSizes | None = None,
) -> FloatArray:
    """Prices to start from: those of a sample of the rows, with bounds in proportion."""
    m, k = costs.shape
    size = min(int(SAMPLE * m), max(PRICE_SAMPLE_MOST, PRICE_SAMPLE_EACH * k))
    low, high = (scaled_bounds(bound, size / m) for bound in (lower, upper))
    soft = SizeBounds(lower, upper, True, soft).scaled(size / m, size).soft
    try:
        return ship_units(costs.sample(size), low, np.maximum(low, high), None, deadline, soft)[1]
    except NoAssignment:
        return np.zeros(k)
