r"""Cluster sizes for many rows: prices, and a flow among the few rows that they leave open.

Rows that each count one go into k clusters of bounded size.  At prices :math:`\lambda` every row
prefers ``argmin_j cost[i, j] + lambda[j]``; at the right ones the preferences fit the bounds up
to ties.  Prices come from the round before or from a sample, and are nearly right.  Putting the
rest right moves rows that are nearly indifferent: those whose next best cluster costs at most
``reach`` more.  The others stay where they are and the few are settled by a flow.  The result is
the best of all if no cycle of moves pays, where a row that took no part is known to lose more
than ``reach`` by any move; if that cannot be shown, the prices of the flow are better ones to
start from, and more rows take part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..problem import SizeBounds
from .flow import LEVELS, settle, ship, transport
from .newton import newton_step, signed_prices
from .result import NoAssignment
from .scan import scan
from .ties import spread_ties

#: Everything goes into one flow up to so many entries of the cost matrix, with prices to start
#: from or without, and without them where a sample would have too few rows for each cluster.
DIRECT_WARM = 4_000
DIRECT_COLD = 20_000
ROWS_PER_CLUSTER = 40

#: Rows that take part for each that is in the wrong place, and the least number of them.
ROWS_EACH = 4
LEAST_ROWS = 500

#: So few misplaced rows, and this part of all, are left to the flow.
FEW_MISPLACED = 50
SMALL_PART = 1e-3

#: Prices that misplace a larger part of the rows are not worth starting from.
BAD_START = 0.1

#: No price changes by more than so many times the largest margin that a step looks at.
LONGEST_STEP = 8.0

#: A sample has this part of the rows.
SAMPLE = 0.1

#: More rows than this that are indifferent between clusters are placed in bulk.
MANY_TIES = 1_000

#: Moves among more arcs than this are cut down to those that can be of use.
MANY_ARCS = 20_000


def solve_sizes(
    cost: FloatArray, count: IntArray, sizes: SizeBounds, prices: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Cheapest labels under cluster sizes for groups of equal count, and a price per point.

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
    >>> ship_units(cost, np.array([1, 1]), np.array([1, 2]))
    (array([1, 1, 0]), array([5., 0.]))
    """
    m = len(cost)
    lower, upper = np.maximum(lower, 0), np.minimum(upper, m)
    if np.any(lower > upper) or not lower.sum() <= m <= upper.sum():
        raise NoAssignment
    few = cost.size <= (DIRECT_COLD if prices is None else DIRECT_WARM)
    if few or (prices is None and m < ROWS_PER_CLUSTER * len(lower)):
        return _all_at_once(cost, lower, upper)
    start = _sampled(cost, lower, upper) if prices is None else prices
    state = _State.at(cost, lower, upper, start)
    if prices is not None and state.misplaced > BAD_START * m:
        state = _State.at(cost, lower, upper, _sampled(cost, lower, upper))
    widen = 1
    while state.misplaced:
        state = _approach(state, widen)
        taking_part = widen * max(LEAST_ROWS, ROWS_EACH * state.misplaced)
        if widen > 1 and 2 * taking_part > m:
            return _all_at_once(cost, lower, upper)
        if state.finish(min(taking_part, m // 2)):
            break
        widen *= 4
    return state.labels, state.prices


def _approach(state: _State, widen: int) -> _State:
    """Better prices by Newton's method, as long as each step mends half of what is wrong."""
    enough = max(FEW_MISPLACED, SMALL_PART * len(state.cost))
    while state.misplaced > enough:
        trial = state.newton(min(widen * ROWS_EACH * state.misplaced, len(state.cost) // 2))
        if trial.misplaced >= state.misplaced:
            break
        slow = 2 * trial.misplaced > state.misplaced
        state = trial
        if slow:
            break
    return state


def _all_at_once(
    cost: FloatArray, lower: IntArray, upper: IntArray
) -> tuple[IntArray, FloatArray]:
    labels = transport(cost, np.ones(len(cost), np.int64), lower, upper).argmax(axis=1)
    zero = np.zeros(cost.shape[1])
    moves = cheapest_moves(cost, labels)
    counted = np.bincount(labels, minlength=len(zero))
    _add_outside(moves, counted, lower, upper, zero)
    return labels, settle(moves, anchored=bool(np.any(lower < upper)))[0]


def _sampled(cost: FloatArray, lower: IntArray, upper: IntArray) -> FloatArray:
    """Prices for some of the rows, with bounds in proportion."""
    m, k = cost.shape
    size = int(SAMPLE * m)
    rows = np.sort(np.random.default_rng(0).integers(0, m, size))
    # Rounding the sums keeps exact sizes exact and the whole feasible.
    low, high = (
        np.diff(np.floor(np.cumsum(bound) * (size / m) + 1e-9), prepend=0.0).astype(np.int64)
        for bound in (lower, upper)
    )
    try:
        return ship_units(cost[rows], low, np.maximum(low, high))[1]
    except NoAssignment:
        return np.zeros(k)


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


def _add_outside(
    moves: FloatArray, counted: IntArray, lower: IntArray, upper: IntArray, prices: FloatArray
) -> None:
    """A cluster with room above has no positive price, one with room below no negative one."""
    interval = lower < upper
    above, below = interval & (counted < upper), interval & (counted > lower)
    moves[:-1, -1][above] = -prices[above]
    moves[-1, :-1][below] = prices[below]


@dataclass
class _State:
    """Labels that are right for their own sizes at the prices, and what the bounds ask."""

    cost: FloatArray
    lower: IntArray
    upper: IntArray
    prices: FloatArray
    labels: IntArray
    best: FloatArray
    margin: FloatArray

    @classmethod
    def at(
        cls, cost: FloatArray, lower: IntArray, upper: IntArray, prices: FloatArray
    ) -> _State:
        """Rows where they prefer to be at the prices, indifferent ones where they are wanted."""
        if np.all(lower == upper):
            prices = prices - prices.mean()
        # Rounding must not make a price of 0 the order to fill a cluster.
        prices = np.where(np.abs(prices) > 1e-13 * np.abs(prices).max(), prices, 0.0)
        labels, best, margin = scan(cost, prices)
        if not np.isfinite(best).all():
            raise NoAssignment
        state = cls(cost, lower, upper, prices, labels, best, margin)
        state.even_out()
        return state

    @property
    def counted(self) -> IntArray:
        return np.bincount(self.labels, minlength=len(self.prices))

    def _imbalance(self) -> tuple[IntArray, IntArray]:
        """Rows too many and too few in each cluster; a price says to which end it belongs."""
        counted = self.counted
        low = np.where(self.prices > 0, self.upper, self.lower)
        high = np.where(self.prices < 0, self.lower, self.upper)
        return np.maximum(counted - high, 0), np.maximum(low - counted, 0)

    @property
    def misplaced(self) -> int:
        over, under = self._imbalance()
        # Without a world outside every row too many is one too few elsewhere.
        return int(over.sum() + under.sum() * np.any(self.lower < self.upper))

    @property
    def rounding(self) -> float:
        """Differences that mean nothing."""
        scale = float(np.abs(self.best).max() + np.abs(self.prices).max())
        return 32.0 * float(np.finfo(np.float64).eps) * scale

    def even_out(self) -> None:
        """Move indifferent rows in bulk, if there are too many to leave them to the flow."""
        tied = np.flatnonzero(self.margin <= self.rounding)
        if len(tied) <= MANY_TIES or not self.misplaced:
            return
        gap = self.cost[tied] + self.prices
        gap -= gap.min(axis=1, keepdims=True)
        equal = gap <= self.rounding
        unpriced = self.prices == 0
        for stage in range(3):
            over, under = self._imbalance()
            # First among those that miss their bounds, then with those that have room.
            if stage == 1:
                under = np.where(unpriced, np.maximum(self.upper - self.counted, 0), 0)
            elif stage == 2:
                over = np.where(unpriced, np.maximum(self.counted - self.lower, 0), 0)
            if over.any() and under.any():
                self.labels[tied] = spread_ties(equal, self.labels[tied], over, under)

    def newton(self, taking_part: int) -> _State:
        """State at prices that would be right if rows were spread evenly near the borders.

        Raising the price of a by p drives away p times as many rows as lie, in a unit of margin,
        on its borders: a system of k linear equations.
        """
        reach, rows, gap = self._near(taking_part)
        if reach <= self.rounding:
            return self  # ties, which no price can part
        k, before = len(self.prices), self.labels[rows]
        row, to = np.nonzero(gap <= reach)
        border = np.bincount(before[row] * k + to, minlength=k * k).reshape(k, k).astype(float)
        border = (border + border.T) / 2.0
        np.fill_diagonal(border, 0.0)
        system = np.diag(border.sum(axis=1)) - border
        over, under = self._imbalance()
        excess, signed = (over - under).astype(float), self.lower < self.upper
        # A price of 0 that fits, on an interval, stays as it is.
        fixed = signed & (self.prices == 0) & (excess == 0)
        step = newton_step(system, excess, self.prices / reach, signed, fixed)
        moved = self.prices + reach * np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        prices = signed_prices(self.prices, moved, excess, signed)
        return _State.at(self.cost, self.lower, self.upper, prices)

    def _near(self, taking_part: int) -> tuple[float, IntArray, FloatArray]:
        """Rows of the smallest margins: the largest of these, the rows, and all their gaps."""
        reach = float(np.partition(self.margin, taking_part)[taking_part])
        if np.isinf(reach):  # the rows beyond may go to one cluster only
            reach = float(self.margin[np.isfinite(self.margin)].max(initial=0.0))
        rows = np.flatnonzero(self.margin <= reach)
        gap = self.cost[rows] + self.prices
        gap -= gap.min(axis=1, keepdims=True)
        return reach, rows, gap

    def finish(self, taking_part: int) -> bool:
        """Settle the rows of small margin by a flow; say whether that is proven to be best."""
        reach, rows, gap = self._near(taking_part)
        counted, before = self.counted, self.labels[rows]
        rest = counted - np.bincount(before, minlength=len(counted))
        try:
            after = self._flow(gap, before, rest, reach)
        except NoAssignment:
            return False
        moves = cheapest_moves(gap, after)
        moves[:-1, :-1] = np.where(rest[:, None] > 0, np.minimum(moves[:-1, :-1], reach), moves[:-1, :-1])
        counted = rest + np.bincount(after, minlength=len(rest))
        _add_outside(moves, counted, self.lower, self.upper, self.prices)
        change, missed = settle(moves, anchored=bool(np.any(self.lower < self.upper)))
        if missed <= self.rounding + 1e-12 * min(reach, float(gap[np.isfinite(gap)].max())):
            self.labels[rows] = after
            self.prices = self.prices + change
            return True
        again = _State.at(self.cost, self.lower, self.upper, self.prices + change)
        self.__dict__.update(again.__dict__)
        return False

    def _flow(
        self, gap: FloatArray, before: IntArray, rest: IntArray, reach: float
    ) -> IntArray:
        """Best labels of the rows with these gaps, on moves that cost at most ``reach``."""
        opened = self._useful(gap, before, gap <= reach)
        free = np.flatnonzero(np.count_nonzero(opened, axis=1) > 1)
        k = len(rest)
        rest = rest + np.bincount(before, minlength=k) - np.bincount(before[free], minlength=k)
        # A price beyond reach keeps its sign, and with it the cluster its end of the interval.
        low = np.where(self.prices > reach, self.upper, self.lower)
        high = np.where(self.prices < -reach, self.lower, self.upper)
        least, most = np.maximum(low - rest, 0), high - rest
        if np.any(most < least):
            raise NoAssignment
        toll = np.where(most > least, -self.prices, np.inf)
        toll -= toll.min() if np.any(most > least) else 0.0
        toll[most == least] = 0.0
        arcs = np.flatnonzero(opened[free])
        flow = _ship_exactly(gap[free].ravel()[arcs], arcs, (len(free), k), least, most, toll)
        after = before.copy()
        after[free] = flow.argmax(axis=1)
        return after

    def _useful(self, gap: FloatArray, before: IntArray, opened: BoolArray) -> BoolArray:
        """Moves that an optimal flow may need.

        It is reached by as many paths as rows are misplaced, and each leaves a cluster at most
        once; so of the moves from a to b only that many, the cheapest, are of use.
        """
        own = np.zeros_like(opened)
        own[np.arange(len(before)), before] = True
        row, to = np.nonzero(opened & ~own)
        if len(row) <= MANY_ARCS:
            return opened | own
        edge = before[row] * gap.shape[1] + to
        order = np.lexsort((gap[row, to], edge))
        edge = edge[order]
        first = np.concatenate([[True], edge[1:] != edge[:-1]])
        start = np.maximum.accumulate(np.where(first, np.arange(len(edge)), 0))
        keep = order[np.arange(len(edge)) - start < self.misplaced]
        own[row[keep], to[keep]] = True
        return own


def _ship_exactly(
    gap: FloatArray,
    arcs: IntArray,
    shape: tuple[int, int],
    least: IntArray,
    most: IntArray,
    toll: FloatArray,
) -> IntArray:
    """Flow over some arcs, in whole costs as fine as the solver takes them."""
    largest = max(float(gap.max(initial=0.0)), float(toll.max(initial=0.0)))
    levels = min(LEVELS, 2.0**60 / (sum(shape) + 2))
    while True:
        scale = levels / largest if largest > 0 else 0.0
        whole, tolls = (np.rint(value * scale).astype(np.int64) for value in (gap, toll))
        flow = ship(whole, arcs, np.ones(shape[0], np.int64), least, most, tolls)
        if flow is not None:
            return flow
        levels /= 2.0**6
