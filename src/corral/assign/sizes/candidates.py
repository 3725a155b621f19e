r"""Cluster sizes for many clusters: prices over candidates, and a flow among the rows left open.

Each row knows the few clusters where it costs least (:class:`.rows.Candidates`).  At prices every
row prefers one of them; a flow decides among the rows whose next best cluster costs hardly more,
where the sizes do not fit yet.  Two checks make the answer exact.  Rows that took no part must not
prefer another candidate at the prices of the flow; those that do take part in the next one.  Rows
that a cluster outside their candidates might suit better get new candidates, chosen at these
prices.  Work and memory grow with the number of candidates, not with that of the clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...deadline import NEVER, Deadline
from ...plan.many_thresholds import ARC_REACH, DOORS, GIVE_UP, HOMES_EACH, LARGE_FLOW, WIDEST
from ...plan.thresholds import FLOW_SECONDS
from ...presolve import SizeBounds
from ...rows.choices import Open
from ..result import NoAssignment
from .explain import ROUNDING, Moves
from .flow import fitting, flow_along
from .shares import approached, by_parts, misplaced_rows, missed, normal_prices, roomy, swept_prices

#: Gives candidates of all rows at prices, so many for each (:class:`.rows.choices.Choices`), from
#: among some clusters or, for None, from all.
Look = Callable[[FloatArray, int, IntArray | None], Any]

#: Rows that take part in a flow for each misplaced row; more make a flow longer and a proof
#: likelier.
ROWS_EACH = 24
#: Rows of a crowded cluster that take part for each that it has too many.
CROWDED_EACH = 4
#: Times that rows get as many new candidates as they had; after that, twice as many.
PASSES = 8
#: Difference of costs, relative to the largest of them, up to which they count as equal, in units
#: of their own rounding; at least :data:`.explain.ROUNDING`.
ROUNDINGS = 32.0


@dataclass(frozen=True)
class Shipped:
    """Rows in clusters, and prices that explain why they are there."""

    where: Any  # a :class:`.rows.choices.Standing`
    prices: FloatArray  # (k,)
    table: Any  # :class:`.rows.choices.Choices`


def ship_among(
    look: Look,
    lower: IntArray,
    upper: IntArray,
    number: int,
    prices: FloatArray | None = None,
    deadline: Deadline = NEVER,
    *,
    exact: bool = True,
) -> Shipped:
    """Cheapest way to put ``lower[j]`` to ``upper[j]`` rows into cluster j.

    ``number`` is the number of candidates to begin with.  Prices to start from do not change the
    answer up to rounding; good ones make it faster.  If it need not be exact, clusters outside the
    candidates are looked at only where these have no room.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    start = np.zeros(len(lower)) if prices is None else prices
    table = look(start, number, None)
    sizes = SizeBounds(*fitting(lower, upper, table.n_free), ordered=True)
    if prices is None:
        start = swept_prices(table, sizes, start, deadline=deadline)
    passes = 0
    while True:
        table, where, start = _with_room(look, table, sizes, start, deadline, exact)
        found = Shipped(where, start, table)
        if not exact:
            return found
        others, saved = where.renewed(start, number)
        if saved <= _rounding(where.scale, start, table.eps):
            return found
        table = others
        passes += 1
        number *= 2 if passes > PASSES else 1


def _with_room(
    look: Look,
    table: Any,
    sizes: SizeBounds,
    prices: FloatArray,
    deadline: Deadline,
    exact: bool,
) -> tuple[Any, Any, FloatArray]:
    """Candidates that have room for all rows, the rows in their best ones, and prices."""
    number, narrow = table.shape[1], True
    while True:
        found = approached(table, sizes, prices, deadline)
        try:
            return table, *_settled(found.now, sizes, deadline, exact)
        except NoAssignment:
            if table.home is not None and not exact:
                return table, *_from_home(table, sizes, found.now.prices, deadline)
            if number >= len(prices):
                raise
        prices = found.now.prices
        doors, each = roomy(sizes, found.now, found.part)
        if narrow and len(doors):
            # Parts that too few rows have among their candidates.
            table, narrow = table.beside(look(prices, min(DOORS * each, number), doors)), False
            prices = by_parts(table, sizes, prices, found.part, deadline)
        else:
            # Prices rise where rows crowd, so that these see clusters farther away.
            prices, number = swept_prices(table, sizes, prices, deadline=deadline), 2 * number
            table, narrow = look(prices, number, None), True


def _settled(
    now: Any, sizes: SizeBounds, deadline: Deadline, exact: bool
) -> tuple[Any, FloatArray]:
    """Rows in the best of their candidates, and prices that explain them.

    If it need not be exact, the first flow that fits is enough in shards, and if it is large.
    """
    table, prices, widen = now.table, now.prices, 1
    m = table.n_free
    while True:
        deadline.check()
        over, under = missed(sizes, now.counted, prices)
        misplaced = int(max(over.sum(), under.sum()))
        if not misplaced:
            return now, prices
        number = ROWS_EACH * widen * misplaced
        whole = 2 * number > m and (m * table.shape[1] <= LARGE_FLOW or number > WIDEST * m)
        reach = np.full(len(prices), np.inf)
        if not whole:
            reach = now.reach(min(number, m // 2), CROWDED_EACH * widen * over)
        try:
            opened = now.near(reach)
            slot, after = _flow_soon(opened, reach, now.counted, sizes, prices, deadline)
        except NoAssignment:
            # More candidates find room sooner than a flow over all rows finds that there is none.
            known = table.home is not None and not exact and opened.cost.size > LARGE_FLOW
            if whole or known or (widen >= GIVE_UP and table.shape[1] < len(prices)):
                raise
        else:
            moved = now.moved(opened, slot)
            if whole or moved.astray(after) <= _rounding(now.scale, after, table.eps):
                return moved, after
            after = normal_prices(after, sizes)
            there = table.at(after)
            if misplaced_rows(sizes, there.counted, after) < misplaced:
                prices, now = after, there
            if not exact and (table.far or opened.cost.size > LARGE_FLOW):
                return moved, prices
        widen *= 4


def _from_home(
    table: Any, sizes: SizeBounds, prices: FloatArray, deadline: Deadline
) -> tuple[Any, FloatArray]:
    """Rows in candidates that cost no more than the labels that are known."""
    now = table.at_home(prices)
    lost = int(np.count_nonzero(now.margin < 0.0))
    opened = now.near(now.reach(HOMES_EACH * lost, np.zeros(len(prices), np.int64)))
    every = np.full(len(prices), np.inf)
    slot, _ = _flow(opened, every, now.counted, sizes, prices, deadline)
    return now.moved(opened, slot), prices


def _rounding(scale: float, prices: FloatArray, eps: float) -> float:
    """Differences between costs, rounded to ``eps``, up to which they count as equal."""
    return max(ROUNDING, ROUNDINGS * eps) * (scale + float(np.abs(prices).max()))


def _flow_soon(opened: Open, reach: FloatArray, *given: Any) -> tuple[IntArray, FloatArray]:
    """As :func:`_flow`, with all candidates of these rows where the near ones have no room."""
    try:
        return _flow(opened, ARC_REACH * reach, *given)
    except NoAssignment:
        return _flow(opened, np.full(len(reach), np.inf), *given)


def _flow(
    opened: Open,
    reach: FloatArray,
    counted: IntArray,
    sizes: SizeBounds,
    prices: FloatArray,
    deadline: Deadline,
) -> tuple[IntArray, FloatArray]:
    """Best slots of the opened rows if only they move, and prices that explain all.

    They move to candidates that cost at most the reach of their cluster more.
    """
    (r, t), k = opened.cluster.shape, len(prices)
    rest = counted - np.bincount(opened.labels, minlength=k)
    least, most = np.maximum(sizes.lower - rest, 0), sizes.upper - rest
    if np.any(most < least):
        raise NoAssignment
    where = opened.cluster
    gap = opened.cost + prices[where]
    gap -= gap.min(axis=1, keepdims=True)
    gap[gap > reach[opened.labels][:, None]] = np.inf
    toll = np.where(most > least, -prices, np.inf)
    toll -= toll.min() if np.any(most > least) else 0.0
    toll[most == least] = 0.0
    arcs = np.flatnonzero(np.isfinite(gap))
    deadline.check(FLOW_SECONDS * len(arcs))
    supply, flow = np.ones(r, np.int64), np.zeros(gap.size, np.int64)
    flow[arcs] = flow_along(
        gap.ravel()[arcs], arcs // t, where.ravel()[arcs], supply, least, most, toll
    )
    slot = flow.reshape(-1, t).argmax(axis=1)
    after = rest + np.bincount(where[np.arange(r), slot], minlength=k)
    moves = Moves.of(gap, where, slot, k)
    if not sizes.exact:
        moves = moves.with_outside(sizes, after, prices)
    return slot, prices + moves.settle(deadline)
