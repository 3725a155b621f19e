"""Rows in their cheapest clusters at given prices, and the moves that make the sizes fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline
from ...rows.costs import Costs, Scan
from ..result import NoAssignment
from .flow import FLOW_SECONDS, flow_over
from .prices import add_outside, cheapest_moves, newton_step, settle
from .room import Room

#: Longest change of a price in one step, in units of the largest margin that the step looks at;
#: beyond that margin the step knows nothing of the rows.
LONGEST_STEP = 8.0
#: Rows with equal costs in several clusters above which they are moved in bulk before the flow.
#: 50,000 rows in 10 clusters with costs of four values take 0.05 s with it and 0.9 s without.
MANY_TIES = 1_000


@dataclass
class State:
    """Rows where they cost least at the prices, a :class:`Scan`, and what their numbers cost."""

    costs: Costs
    room: Room
    prices: FloatArray
    scan: Scan
    deadline: Deadline = NEVER

    @classmethod
    def at(cls, costs: Costs, room: Room, prices: FloatArray, deadline: Deadline = NEVER) -> State:
        """The state at the prices; ties are broken in favour of the bounds.

        Raises
        ------
        NoAssignment, OutOfTime
        """
        deadline.check()
        if not room.open.any():
            prices = prices - prices.mean()
        # A price that differs from 0 by rounding alone must not demand a full or an empty cluster.
        prices = room.snapped(prices)
        scan = costs.scan(prices)
        if not np.isfinite(scan.scale):
            raise NoAssignment
        state = cls(costs, room, prices, scan, deadline)
        state.even_out()
        return state

    def priced(self, prices: FloatArray) -> State:
        """The same rows and bounds at other prices."""
        return State.at(self.costs, self.room, prices, self.deadline)

    def _imbalance(self) -> tuple[IntArray, IntArray]:
        """Rows too many and too few in each cluster, whose size should be a best one at its price.

        Of hard bounds, a positive price asks for the upper one and a negative price for the lower.
        """
        counted, room = self.scan.counted, self.room
        low, high = room.least(self.prices), room.most(self.prices)
        return np.maximum(counted - high, 0), np.maximum(low - counted, 0)

    @property
    def misplaced(self) -> int:
        """Rows that have to go elsewhere, each a path from one cluster to another."""
        over, under = self._imbalance()
        # With exact sizes every row too many is also one too few elsewhere.
        return int(over.sum() + under.sum() * np.any(self.room.open))

    @property
    def rounding(self) -> float:
        """Differences between costs up to which they count as equal."""
        return 32.0 * self.costs.eps * (self.scan.scale + float(np.abs(self.prices).max()))

    def even_out(self) -> None:
        """Move rows with equal costs in bulk, if there are too many to leave them to the flow."""
        if not self.misplaced or self.scan.within(self.rounding) <= MANY_TIES:
            return
        tied = self.scan.near(np.full(len(self.prices), self.rounding))
        equal = tied.gap <= self.rounding
        low, high = self.room.least(self.prices), self.room.most(self.prices)
        either = (self.prices == 0) | (low < high)  # more than one size may be a best one
        for stage in range(3):
            over, under = self._imbalance()
            # First between clusters out of bounds, then also into and out of those with room.
            if stage == 1:
                under = np.where(either, np.maximum(high - self.scan.counted, 0), 0)
            elif stage == 2:
                over = np.where(either, np.maximum(self.scan.counted - low, 0), 0)
            if over.any() and under.any():
                spread = spread_ties(equal, tied.labels, over, under, self.deadline)
                self.scan = self.scan.moved(tied, spread)
                tied = replace(tied, labels=spread)

    def newton(self, taking_part: int) -> State:
        """State at prices that would be right if rows were spread evenly near the borders.

        Raising the price of a by p drives away p times as many rows as lie, in a unit of margin,
        on its borders: a system of k linear equations.
        """
        reach = self._reach(taking_part)
        longest = float(reach.max())
        if longest <= self.rounding:
            return self  # only rows with equal costs, which no price can separate
        # Rows in a unit of ``longest``, from each side of a border.
        border = self.scan.border(reach) * (longest / np.maximum(reach, self.rounding))[:, None]
        border = (border + border.T) / 2.0
        np.fill_diagonal(border, 0.0)
        system = np.diag(border.sum(axis=1)) - border
        over, under = self._imbalance()
        excess, signed = (over - under).astype(float), self.room.open
        # A price at a kink that fits, such as 0 on an interval, stays as it is.
        beyond = self.prices - self.room.nearest_kink(self.prices, excess)
        fixed = signed & (beyond == 0) & (excess == 0)
        step = newton_step(system, excess, beyond / longest, signed, fixed, self.deadline)
        moved = self.prices + longest * np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        return self.priced(self.room.stopped(self.prices, moved, excess))

    def finish(self, taking_part: int) -> tuple[State, bool]:
        """Settle the rows of small margin by a flow, and say if that is proven to be best.

        Without a proof it is the state at the prices of the flow, if there is one.  The flow cannot
        be interrupted; the deadline is asked before it.
        """
        self.deadline.check(FLOW_SECONDS * taking_part * len(self.prices))
        reach = self._reach(taking_part)
        near = self.scan.near(reach)
        before, gap = near.labels, near.gap
        rest = self.scan.counted - np.bincount(before, minlength=len(reach))
        try:
            after = self._settled(gap, before, rest, reach)
        except NoAssignment:
            return self, False
        moves = cheapest_moves(gap, after)
        others = moves[:-1, :-1]
        others[rest > 0] = np.minimum(others[rest > 0], reach[rest > 0, None])
        counted = rest + np.bincount(after, minlength=len(rest))
        add_outside(moves, counted, self.room, self.prices)
        anchored = bool(np.any(self.room.open))
        change, missed = settle(moves, anchored=anchored, deadline=self.deadline)
        prices = self.prices + change
        largest = min(float(reach.max()), float(gap[np.isfinite(gap)].max(initial=0.0)))
        if missed > self.rounding + 1e-12 * largest:
            return self.priced(prices), False
        return replace(self, scan=self.scan.moved(near, after), prices=prices), True

    def _reach(self, number: int) -> FloatArray:
        """Margins of the rows of each cluster that take part, about ``number`` in all.

        A cluster far from the others has no row of small margin, but may have to give up some.
        """
        over, _ = self._imbalance()
        k, times = len(over), max(1, number // (4 * max(self.misplaced, 1)))
        return self.scan.reach(number, times * over + number // (4 * k) + 1)

    def _settled(
        self, gap: FloatArray, before: IntArray, rest: IntArray, reach: FloatArray
    ) -> IntArray:
        """Best labels of the rows with these gaps, on moves within reach and, if need be, others.

        A cluster far from the others that lacks rows is out of reach of every row.  Direct moves
        suffice then, unless some rows must not make them.
        """
        longest = float(reach.max())
        opened = gap <= reach[before][:, None]
        try:
            return self._flow(gap, before, rest, opened, longest)
        except NoAssignment:
            opened |= self._direct_moves(gap, before)
        try:
            return self._flow(gap, before, rest, opened, longest)
        except NoAssignment:
            return self._flow(gap, before, rest, np.isfinite(gap), longest)

    def _direct_moves(self, gap: FloatArray, before: IntArray) -> BoolArray:
        """The cheapest moves from each cluster with too many rows to each that lacks some.

        They are as many as the first has too many, so that together they make all sizes fit.
        """
        over, under = self._imbalance()
        counted, missing = self.scan.counted, int(under.sum() - over.sum())
        low, high = self.room.least(self.prices), self.room.most(self.prices)
        # With intervals, clusters within their bounds give or take what is left.
        over += _portion(np.maximum(counted - low - over, 0), missing)
        under += _portion(np.maximum(high - counted - under, 0), -missing)
        to, moves = np.flatnonzero(under), np.zeros(gap.shape, bool)
        for a in np.flatnonzero(over):
            rows = np.flatnonzero(before == a)
            number = min(int(over[a]), len(rows))
            if number and len(to):
                order = np.argpartition(gap[np.ix_(rows, to)], number - 1, axis=0)
                moves[rows[order[:number]], to] = True
        return moves & np.isfinite(gap)

    def _flow(
        self,
        gap: FloatArray,
        before: IntArray,
        rest: IntArray,
        opened: BoolArray,
        longest: float,
    ) -> IntArray:
        """Best labels of the rows with these gaps, on opened moves; to stay is always one."""
        opened[np.arange(len(before)), before] = True
        free = np.flatnonzero(np.count_nonzero(opened, axis=1) > 1)
        k = len(rest)
        rest = rest + np.bincount(before, minlength=k) - np.bincount(before[free], minlength=k)
        # A price farther than the reach from a kink stays on its side, and its cluster at a break.
        room, low = self.room, self.room.least(self.prices - longest)
        least, most = np.maximum(low - rest, 0), room.most(self.prices + longest) - rest
        if np.any(most < least):
            raise NoAssignment
        ends = np.clip(room.breaks[:, 1:] - rest[:, None], least[:, None], most[:, None])
        wide = np.diff(np.column_stack([least, ends]), axis=1) > 0
        toll = np.where(wide, room.slopes - self.prices[:, None], np.inf)
        toll -= toll.min() if wide.any() else 0.0
        toll[~wide] = 0.0
        arcs = np.flatnonzero(opened[free])
        supply = np.ones(len(free), np.int64)
        flow = flow_over(gap[free].ravel()[arcs], arcs, supply, least, ends, toll)
        after = before.copy()
        after[free] = flow.argmax(axis=1)
        return after


def _portion(have: IntArray, need: int) -> IntArray:
    """So many in all, taken from the first that have some."""
    return np.asarray(np.clip(need - (np.cumsum(have) - have), 0, have))


def spread_ties(
    tied: BoolArray,
    labels: IntArray,
    over: IntArray,
    under: IntArray,
    deadline: Deadline = NEVER,
) -> IntArray:
    """New labels, with rows moved from clusters that have too many to those that have too few.

    ``tied[i, j]`` says that cluster j is as good as its own for row i; only such moves are made.
    """
    labels, over, under = labels.copy(), over.copy(), under.copy()
    k = tied.shape[1]
    counts = np.array([np.count_nonzero(tied[labels == a], axis=0) for a in range(k)])
    np.fill_diagonal(counts, 0)
    while True:
        deadline.check()
        path = _path(counts > 0, over > 0, under > 0)
        if not path:
            return labels
        edges = list(pairwise(path))
        number = min(over[path[0]], under[path[-1]], *(counts[edge] for edge in edges))
        # From the end, so that no row moves twice.
        for a, b in reversed(edges):
            rows = np.flatnonzero((labels == a) & tied[:, b])[:number]
            labels[rows] = b
            gone = np.count_nonzero(tied[rows], axis=0)
            counts[a] -= gone
            counts[b] += gone
            counts[[a, b], [a, b]] = 0
        over[path[0]] -= number
        under[path[-1]] -= number


def _path(edges: BoolArray, sources: BoolArray, targets: BoolArray) -> list[int]:
    """A path of fewest edges from a source to a target, empty if there is none."""
    came_from = np.full(len(edges), -1)
    seen, front = sources.copy(), list(np.flatnonzero(sources))
    for a in front:
        if targets[a]:
            path = [int(a)]
            while came_from[path[0]] >= 0:
                path.insert(0, int(came_from[path[0]]))
            return path
        new = np.flatnonzero(edges[a] & ~seen)
        seen[new], came_from[new] = True, a
        front.extend(new)
    return []
