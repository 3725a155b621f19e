"""Where rows prefer to be at given prices, and how few of them have to move to fit the bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...rows.costs import Costs
from ..result import NoAssignment
from ..sums.newton import newton_step, signed_prices
from .flow import settle, ship_some
from .ties import spread_ties

#: No price changes by more than so many times the largest margin that a step looks at.
LONGEST_STEP = 8.0

#: More rows than this that are indifferent between clusters are placed in bulk.
MANY_TIES = 1_000

#: Moves among more arcs than this are cut down to those that can be of use.
MANY_ARCS = 20_000


def cheapest_moves(gap: FloatArray, labels: IntArray) -> FloatArray:
    """Least ``gap[i, b] - gap[i, a]`` over the rows i of each cluster a, with an empty node k."""
    k = gap.shape[1]
    moves = np.full((k + 1, k + 1), np.inf)
    order = np.argsort(labels, kind="stable")
    filled, starts = np.unique(labels[order], return_index=True)
    change = gap[order]
    change -= change[np.arange(len(order)), labels[order]][:, None]
    if len(order):
        moves[filled, :k] = np.minimum.reduceat(change, starts, axis=0)
    return moves


def add_outside(
    moves: FloatArray, counted: IntArray, lower: IntArray, upper: IntArray, prices: FloatArray
) -> None:
    """A cluster with room above has no positive price, one with room below no negative one."""
    interval = lower < upper
    above, below = interval & (counted < upper), interval & (counted > lower)
    moves[:-1, -1][above] = -prices[above]
    moves[-1, :-1][below] = prices[below]


@dataclass
class State:
    """Labels that are right for their own sizes at the prices, and what the bounds ask."""

    costs: Costs
    lower: IntArray
    upper: IntArray
    prices: FloatArray
    scan: Any

    @classmethod
    def at(cls, costs: Costs, lower: IntArray, upper: IntArray, prices: FloatArray) -> State:
        """Rows where they prefer to be at the prices, indifferent ones where they are wanted."""
        if np.all(lower == upper):
            prices = prices - prices.mean()
        # Rounding must not make a price of 0 the order to fill a cluster.
        prices = np.where(np.abs(prices) > 1e-13 * np.abs(prices).max(), prices, 0.0)
        scan = costs.scan(prices)
        if not np.isfinite(scan.scale):
            raise NoAssignment
        state = cls(costs, lower, upper, prices, scan)
        state.even_out()
        return state

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster."""
        counted: IntArray = self.scan.counted
        return counted

    def _imbalance(self) -> tuple[IntArray, IntArray]:
        """Rows too many and too few in each cluster; a price says to which end it belongs."""
        counted = self.counted
        low = np.where(self.prices > 0, self.upper, self.lower)
        high = np.where(self.prices < 0, self.lower, self.upper)
        return np.maximum(counted - high, 0), np.maximum(low - counted, 0)

    @property
    def misplaced(self) -> int:
        """Rows that have to go elsewhere, each a path from one cluster to another."""
        over, under = self._imbalance()
        # Without a world outside every row too many is one too few elsewhere.
        return int(over.sum() + under.sum() * np.any(self.lower < self.upper))

    @property
    def rounding(self) -> float:
        """Differences that mean nothing."""
        scale: float = self.scan.scale + float(np.abs(self.prices).max())
        return 32.0 * self.costs.eps * scale

    def even_out(self) -> None:
        """Move indifferent rows in bulk, if there are too many to leave them to the flow."""
        if not self.misplaced or self.scan.within(self.rounding) <= MANY_TIES:
            return
        tied = self.scan.near(np.full(len(self.prices), self.rounding))
        equal = tied.gap <= self.rounding
        unpriced = self.prices == 0
        for stage in range(3):
            over, under = self._imbalance()
            # First among those that miss their bounds, then with those that have room.
            if stage == 1:
                under = np.where(unpriced, np.maximum(self.upper - self.counted, 0), 0)
            elif stage == 2:
                over = np.where(unpriced, np.maximum(self.counted - self.lower, 0), 0)
            if over.any() and under.any():
                tied = replace(tied, labels=spread_ties(equal, tied.labels, over, under))
                self.scan = self.scan.moved(tied, tied.labels)

    def newton(self, taking_part: int) -> State:
        """State at prices that would be right if rows were spread evenly near the borders.

        Raising the price of a by p drives away p times as many rows as lie, in a unit of margin,
        on its borders: a system of k linear equations.
        """
        reach = self._reach(taking_part)
        longest = float(reach.max())
        if longest <= self.rounding:
            return self  # ties, which no price can part
        # Rows in a unit of ``longest``, from each side of a border.
        border = self.scan.border(reach) * (longest / np.maximum(reach, self.rounding))[:, None]
        border = (border + border.T) / 2.0
        np.fill_diagonal(border, 0.0)
        system = np.diag(border.sum(axis=1)) - border
        over, under = self._imbalance()
        excess, signed = (over - under).astype(float), self.lower < self.upper
        # A price of 0 that fits, on an interval, stays as it is.
        fixed = signed & (self.prices == 0) & (excess == 0)
        step = newton_step(system, excess, self.prices / longest, signed, fixed)
        moved = self.prices + longest * np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        prices = signed_prices(self.prices, moved, excess, signed)
        return State.at(self.costs, self.lower, self.upper, prices)

    def finish(self, taking_part: int) -> tuple[State, bool]:
        """Settle the rows of small margin by a flow, and say if that is proven to be best.

        Without a proof it is the state at the prices of the flow, if there is one.
        """
        reach = self._reach(taking_part)
        near = self.scan.near(reach)
        counted, before, gap = self.counted, near.labels, near.gap
        rest = counted - np.bincount(before, minlength=len(counted))
        try:
            after = self._settled(gap, before, rest, reach)
        except NoAssignment:
            return self, False
        moves = cheapest_moves(gap, after)
        others = moves[:-1, :-1]
        others[rest > 0] = np.minimum(others[rest > 0], reach[rest > 0, None])
        counted = rest + np.bincount(after, minlength=len(rest))
        add_outside(moves, counted, self.lower, self.upper, self.prices)
        change, missed = settle(moves, anchored=bool(np.any(self.lower < self.upper)))
        prices = self.prices + change
        largest = min(float(reach.max()), float(gap[np.isfinite(gap)].max(initial=0.0)))
        if missed > self.rounding + 1e-12 * largest:
            return State.at(self.costs, self.lower, self.upper, prices), False
        return replace(self, scan=self.scan.moved(near, after), prices=prices), True

    def _reach(self, number: int) -> FloatArray:
        """Margins of the rows of each cluster that take part, about so many in all.

        A cluster that stands apart has no row among the nearest of all, but may have to give.
        """
        over, _ = self._imbalance()
        k, times = len(over), max(1, number // (4 * max(self.misplaced, 1)))
        reach: FloatArray = self.scan.reach(number, times * over + number // (4 * k) + 1)
        return reach

    def _settled(
        self, gap: FloatArray, before: IntArray, rest: IntArray, reach: FloatArray
    ) -> IntArray:
        """Best labels of the rows with these gaps, on moves within reach or, if need be, on all.

        A cluster that stands apart and lacks rows is within the reach of none.
        """
        longest = float(reach.max())
        try:
            return self._flow(gap, before, rest, gap <= reach[before][:, None], longest)
        except NoAssignment:
            return self._flow(gap, before, rest, np.isfinite(gap), longest)

    def _flow(
        self,
        gap: FloatArray,
        before: IntArray,
        rest: IntArray,
        opened: BoolArray,
        longest: float,
    ) -> IntArray:
        """Best labels of the rows with these gaps, on opened moves."""
        opened = self._useful(gap, before, opened)
        free = np.flatnonzero(np.count_nonzero(opened, axis=1) > 1)
        k = len(rest)
        rest = rest + np.bincount(before, minlength=k) - np.bincount(before[free], minlength=k)
        # A price beyond reach keeps its sign, and with it the cluster its end of the interval.
        low = np.where(self.prices > longest, self.upper, self.lower)
        high = np.where(self.prices < -longest, self.lower, self.upper)
        least, most = np.maximum(low - rest, 0), high - rest
        if np.any(most < least):
            raise NoAssignment
        toll = np.where(most > least, -self.prices, np.inf)
        toll -= toll.min() if np.any(most > least) else 0.0
        toll[most == least] = 0.0
        arcs = np.flatnonzero(opened[free])
        flow = ship_some(gap[free].ravel()[arcs], arcs, (len(free), k), least, most, toll)
        after = before.copy()
        after[free] = flow.argmax(axis=1)
        return after

    def _useful(self, gap: FloatArray, before: IntArray, opened: BoolArray) -> BoolArray:
        """Moves that an optimal flow may need.

        It is reached by as many paths as rows are misplaced, and each leaves a cluster at most
        once; so of the moves from a to b only that many, the cheapest, are of use.
        """
        useful = opened.copy()
        if np.count_nonzero(opened) > MANY_ARCS:
            order = np.argsort(before, kind="stable")
            edges = np.searchsorted(before[order], np.arange(gap.shape[1] + 1))
            for rows in (order[a:b] for a, b in pairwise(edges) if b - a > self.misplaced):
                own = np.where(opened[rows], gap[rows], np.inf)
                own.partition(self.misplaced - 1, axis=0)
                useful[rows] &= gap[rows] <= own[self.misplaced - 1]
        useful[np.arange(len(before)), before] = True
        return useful
