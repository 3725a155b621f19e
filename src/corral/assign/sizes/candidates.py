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

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline
from ...plan.thresholds import FLOW_SECONDS
from ...presolve import SizeBounds
from ...rows.candidates import Candidates, Preferred
from ..result import NoAssignment
from .flow import fitting, flow_along

#: Gives candidates at prices: so many for each row, of all rows or of those given.
Look = Callable[[FloatArray, int, IntArray | None], Candidates]

#: Rows that take part in a flow for each misplaced row; more make a flow longer and a proof
#: likelier.
ROWS_EACH = 24
#: Temperatures at which first prices are found, in mean margins, and sweeps at each.  More of them
#: leave fewer rows to the first flow.
TEMPERATURES, SWEEPS = (2.0, 1.0, 0.5, 0.25, 0.12), 6
#: Part of all rows that prices may misplace; if it is more, sweeps at the lowest temperature come
#: before the flow.
MISPLACED = 0.02
#: Rows, in shares, that an empty cluster is taken to hold.  Fewer make its price fall faster.
FEWEST = 1e-3
#: Times that rows get as many new candidates as they had; after that, twice as many.
PASSES = 8
#: Difference of costs, relative to the largest of them, up to which they count as equal: in units
#: of their own rounding, and at least.  Flows round costs to the latter.
ROUNDINGS, ROUNDING = 32.0, 2.0**-42


@dataclass(frozen=True)
class Shipped:
    """Labels of rows, their costs, prices that explain them, and the candidates."""

    labels: IntArray  # (m,)
    cost: FloatArray  # of each row in its cluster, without prices, (m,)
    prices: FloatArray  # (k,)
    table: Candidates


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
    candidates are not looked at.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    start = np.zeros(len(lower)) if prices is None else prices
    table = look(start, number, None)
    sizes = SizeBounds(*fitting(lower, upper, table.shape[0]), ordered=True)
    if prices is None:
        start = swept_prices(table, sizes, start, deadline=deadline)
    passes = 0
    while True:
        table, slot, start = _with_room(look, table, sizes, start, deadline)
        rows = np.arange(len(slot))
        cost, labels = table.cost[rows, slot], table.cluster[rows, slot].astype(np.int64)
        total = cost + start[labels]
        doubtful = table.doubtful(start, total)
        found = Shipped(labels, cost, start, table)
        if not (exact and len(doubtful)):
            return found
        others = look(start, number, doubtful)
        least = others.priced(start).min(axis=1)
        if np.all(least >= total[doubtful] - _rounding(total, start, table.eps)):
            return found
        table = table.replaced(doubtful, others.including(labels[doubtful], cost[doubtful]))
        passes += 1
        number *= 2 if passes > PASSES else 1


def _with_room(
    look: Look, table: Candidates, sizes: SizeBounds, prices: FloatArray, deadline: Deadline
) -> tuple[Candidates, IntArray, FloatArray]:
    """Candidates that have room for all rows, the best slots of the rows, and prices."""
    while True:
        try:
            return table, *_settled(table, sizes, prices, deadline)
        except NoAssignment:
            if table.shape[1] == len(prices):
                raise
            # Prices rise where rows crowd, so that these see clusters farther away.
            prices = swept_prices(table, sizes, prices, deadline=deadline)
            table = look(prices, 2 * table.shape[1], None)


def swept_prices(
    table: Candidates,
    sizes: SizeBounds,
    prices: FloatArray,
    temperatures: tuple[float, ...] = TEMPERATURES,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """Prices at which soft memberships keep the sizes, about, at falling temperatures.

    A sweep is one of Sinkhorn's: the rows share out at the prices, then each price makes its
    cluster fit, the others staying as they are.  Temperatures are in mean margins.
    """
    margin = table.preferred(prices).margin
    unit = float(margin[np.isfinite(margin)].mean()) if np.isfinite(margin).any() else 0.0
    if unit <= 0.0:
        return prices
    for part in temperatures:
        for _ in range(SWEEPS):
            deadline.check()
            prices = sweep(table, sizes, prices, part * unit)[1]
    return prices


def sweep(
    table: Candidates,
    sizes: SizeBounds,
    prices: FloatArray,
    temperature: float,
    count: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Memberships at the prices, and prices at which the clusters would fit if no others moved.

    ``count`` has the rows of each group of the table, one if it is not given.
    """
    share = table.soft(prices, temperature)
    held_by = share if count is None else share * count[:, None]
    held = np.bincount(table.cluster.ravel(), held_by.ravel(), len(prices))
    # What a cluster would hold without its price; an empty one becomes cheaper step by step.
    bare = np.log(np.maximum(held, FEWEST)) + prices / temperature
    least, most = (np.log(np.maximum(bound, FEWEST)) for bound in (sizes.lower, sizes.upper))
    return share, temperature * (bare - np.clip(bare, least, most))


def _settled(
    table: Candidates, sizes: SizeBounds, prices: FloatArray, deadline: Deadline
) -> tuple[IntArray, FloatArray]:
    """Best slots of the rows among their candidates, and prices that explain them."""
    m, widen, swept = table.shape[0], 1, False
    while True:
        deadline.check()
        prices = _normal(prices, sizes)
        now = table.preferred(prices)
        over, under = _missed(sizes, np.bincount(now.labels, minlength=len(prices)), prices)
        misplaced = int(max(over.sum(), under.sum()))
        if not misplaced:
            return now.slot, prices
        if misplaced > MISPLACED * m and not swept:
            prices, swept = swept_prices(table, sizes, prices, TEMPERATURES[-1:], deadline), True
            continue
        opened = _opened(now, over, ROWS_EACH * misplaced, widen)
        try:
            slot, prices = _flow(table, sizes, prices, now, opened, deadline)
        except NoAssignment:
            if opened.all():
                raise
        else:
            total = table.priced(prices)
            own = total[np.arange(m), slot]
            if opened.all() or np.all(own <= total.min(axis=1) + _rounding(own, prices)):
                return slot, prices
        widen *= 4


def _normal(prices: FloatArray, sizes: SizeBounds) -> FloatArray:
    """The prices about 0 if a constant means nothing, and without those that are mere rounding."""
    if sizes.exact:
        prices = prices - prices.mean()
    # A price that differs from 0 by rounding alone must not demand a full or an empty cluster.
    return np.where(np.abs(prices) > 1e-13 * np.abs(prices).max(), prices, 0.0)


def _missed(sizes: SizeBounds, counted: IntArray, prices: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows too many and too few in each cluster.

    A cluster with a positive price should be at its upper bound, one with a negative price at its
    lower bound.
    """
    low = np.where(prices > 0, sizes.upper, sizes.lower)
    high = np.where(prices < 0, sizes.lower, sizes.upper)
    return np.maximum(counted - high, 0), np.maximum(low - counted, 0)


def _rounding(cost: FloatArray, prices: FloatArray, eps: float = 0.0) -> float:
    """Differences between costs, rounded to ``eps``, up to which they count as equal."""
    relative = max(ROUNDING, ROUNDINGS * eps)
    return relative * (float(np.abs(cost).max()) + float(np.abs(prices).max()))


def _opened(now: Preferred, over: IntArray, number: int, widen: int) -> BoolArray:
    """Rows that take part in a flow: those of least margin, in all and in crowded clusters."""
    m, number = len(now.margin), widen * number
    if 2 * number > m:
        return np.ones(m, bool)
    opened: BoolArray = now.margin <= np.partition(now.margin, number)[number]
    crowded = np.flatnonzero(over[now.labels] > 0)
    crowded = crowded[np.lexsort((now.margin[crowded], now.labels[crowded]))]
    where = now.labels[crowded]
    rank = np.arange(len(where)) - np.searchsorted(where, where)
    opened[crowded[rank <= 4 * widen * over[where]]] = True
    return opened


def _flow(
    table: Candidates,
    sizes: SizeBounds,
    prices: FloatArray,
    now: Preferred,
    opened: BoolArray,
    deadline: Deadline,
) -> tuple[IntArray, FloatArray]:
    """Best slots if only the opened rows move, and prices that explain those."""
    k, t = len(prices), table.shape[1]
    free = np.flatnonzero(opened)
    deadline.check(FLOW_SECONDS * len(free) * t)
    rest = np.bincount(now.labels[~opened], minlength=k)
    least, most = np.maximum(sizes.lower - rest, 0), sizes.upper - rest
    if np.any(most < least):
        raise NoAssignment
    where = table.cluster[free]
    gap = table.cost[free] + prices[where]
    gap -= gap.min(axis=1, keepdims=True)
    toll = np.where(most > least, -prices, np.inf)
    toll -= toll.min() if np.any(most > least) else 0.0
    toll[most == least] = 0.0
    arcs = np.flatnonzero(np.isfinite(gap))
    supply, flow = np.ones(len(free), np.int64), np.zeros(gap.size, np.int64)
    flow[arcs] = flow_along(
        gap.ravel()[arcs], arcs // t, where.ravel()[arcs], supply, least, most, toll
    )
    slot = now.slot.copy()
    slot[free] = chosen = flow.reshape(-1, t).argmax(axis=1)
    labels = where[np.arange(len(free)), chosen]
    counted = rest + np.bincount(labels, minlength=k)
    moves = Moves.of(gap, where, chosen, k)
    if not sizes.exact:
        moves = moves.with_outside(sizes, counted, prices)
    return slot, prices + moves.settle(deadline)


@dataclass(frozen=True)
class Moves:
    """Least cost of moving a row from one cluster to another, where rows may; node k is outside."""

    k: int
    start: IntArray
    end: IntArray
    length: FloatArray
    anchored: bool = False

    @classmethod
    def of(cls, gap: FloatArray, where: IntArray, chosen: IntArray, k: int) -> Moves:
        """Of rows in the chosen ones of their candidates."""
        rows = np.arange(len(chosen))
        open_to = np.isfinite(gap)
        key = (where[rows, chosen].astype(np.int64)[:, None] * (k + 1) + where)[open_to]
        length = (gap - gap[rows, chosen][:, None])[open_to]
        order = np.argsort(key, kind="stable")
        found, first = np.unique(key[order], return_index=True)
        return cls(k, *np.divmod(found, k + 1), np.minimum.reduceat(length[order], first))

    def with_outside(self, sizes: SizeBounds, counted: IntArray, prices: FloatArray) -> Moves:
        """The same with moves from and to the outside, whose price is 0.

        A cluster with fewer rows than its upper bound has no positive price, and one with more than
        its lower bound no negative price.
        """
        interval = sizes.lower < sizes.upper
        leave = np.flatnonzero(interval & (counted < sizes.upper))
        enter = np.flatnonzero(interval & (counted > sizes.lower))
        return Moves(
            self.k,
            np.concatenate([self.start, leave, np.full(len(enter), self.k)]),
            np.concatenate([self.end, np.full(len(leave), self.k), enter]),
            np.concatenate([self.length, -prices[leave], prices[enter]]),
            anchored=True,
        )

    def settle(self, deadline: Deadline) -> FloatArray:
        """Changes of the prices with ``change[a] <= change[b] + length`` for a move from a to b.

        They are midway between the lowest and the highest.  Anchored, the outside stays at 0.
        """
        high = self._shortest(self.start, self.end, deadline)
        low = self._shortest(self.end, self.start, deadline)
        result = (high - low) / 2
        return np.asarray(result[:-1] - (result[-1] if self.anchored else result[:-1].mean()))

    def _shortest(self, start: IntArray, end: IntArray, deadline: Deadline) -> FloatArray:
        """Highest values of at most 0 with ``value[start] <= value[end] + length``."""
        order = np.argsort(start, kind="stable")
        nodes, first = np.unique(start[order], return_index=True)
        end, length = end[order], self.length[order]
        value = np.zeros(self.k + 1)
        # Lengths are rounded, so that a cycle may be a little shorter than 0.
        length = length + ROUNDING / 4 * float(np.abs(length).max(initial=0.0)) * (length != 0)
        for _ in range(self.k + 1):
            deadline.check()
            least = np.minimum.reduceat(value[end] + length, first) if len(first) else value[nodes]
            if np.all(least >= value[nodes]):
                break
            value[nodes] = np.minimum(value[nodes], least)
        return value
