r"""Cluster sizes for many clusters: prices over candidates, and a flow among the rows left open.

Each row knows the few clusters where it costs least (:class:`.rows.choices.Choices`).  At prices
every row prefers one of them; a flow decides among the rows whose next best cluster costs hardly
more, where the sizes do not fit yet.  Two checks make the answer exact.  No row may prefer another
of its candidates at the prices of the flow; otherwise more rows take part in the next one.  Rows
that a cluster outside their candidates might suit better get new candidates, chosen at these
prices.  Work and memory grow with the number of candidates, not with that of the clusters; rows
that are elsewhere stay there, except those of the flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import FloatArray, IntArray
from ...deadline import NEVER, Deadline
from ...plan.thresholds import FLOW_SECONDS, MISPLACED
from ...presolve import SizeBounds
from ...rows.choices import Choices
from ...rows.pieces import Opened, Patch
from ..result import NoAssignment
from .flow import fitting, flow_along

#: Rows that take part in a flow for each misplaced row; more make a flow longer and a proof
#: likelier.
ROWS_EACH = 24
#: Largest cost of a move that takes part, in margins of the rows that do.  More moves make a flow
#: longer and a proof likelier.
FARTHEST = 8.0
#: Moves from one cluster to another that take part if that was not enough: the cheapest of each
#: two clusters, so that rows can go any way.
MOVES_EACH = 8
#: Times that more moves take part where there was no room, before rows get more candidates.
WAYS = 2
#: Temperatures at which first prices are found, in mean margins, and sweeps at each.  More of them
#: leave fewer rows to the first flow.
TEMPERATURES, SWEEPS = (2.0, 1.0, 0.5, 0.25, 0.12), 6
#: Temperatures of sweeps before a flow, as long as too many rows are misplaced for one.
COLD = (0.12, 0.06, 0.03, 0.015)
#: Rows, in shares, that an empty cluster is taken to hold.  Fewer make its price fall faster.
FEWEST = 1e-3
#: Times that rows get as many new candidates as they had; after that, twice as many.
PASSES = 8
#: Difference of costs, relative to the largest of them, up to which they count as equal: in units
#: of their own rounding, and at least.  Flows round costs to the latter.
ROUNDINGS, ROUNDING = 32.0, 2.0**-42


@dataclass(frozen=True)
class Shipped:
    """Labels of rows, where these are, prices that explain them, and the candidates."""

    labels: Any  # (m,), or what :meth:`.rows.choices.Source.placed` gives
    cost: float  # of all rows, without prices; NaN if they are elsewhere
    prices: FloatArray  # (k,)
    choices: Choices


@dataclass(frozen=True)
class Settled:
    """Rows where they cost least at prices, but for those that a flow moved."""

    at: FloatArray
    patches: Sequence[Patch]
    prices: FloatArray  # that explain both
    largest: float  # cost of a row, price included


def ship_among(
    choices: Choices,
    lower: IntArray,
    upper: IntArray,
    prices: FloatArray | None = None,
    deadline: Deadline = NEVER,
    *,
    exact: bool = True,
) -> Shipped:
    """Cheapest way to put ``lower[j]`` to ``upper[j]`` rows into cluster j.

    Prices to start from do not change the answer up to rounding; good ones make it faster.  If it
    need not be exact, clusters outside the candidates are not looked at.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    sizes = SizeBounds(*fitting(lower, upper, choices.n_rows), ordered=True)
    if prices is None:
        prices = swept_prices(choices, sizes, np.zeros(len(lower)), deadline=deadline)
    passes = 0
    while True:
        choices, found = _with_room(choices, sizes, prices, deadline)
        prices = found.prices
        shipped = Shipped(
            choices.placed(found.at, found.patches),
            np.nan if choices.far else choices.cost(found.at, found.patches),
            prices,
            choices,
        )
        if not exact:
            return shipped
        choices, gain = choices.renewed(prices)
        if gain <= _rounding(found.largest, prices, choices.eps):
            return shipped
        passes += 1
        if passes > PASSES:
            choices = choices.anew(prices, 2 * choices.number)


def _with_room(
    choices: Choices, sizes: SizeBounds, prices: FloatArray, deadline: Deadline
) -> tuple[Choices, Settled]:
    """Candidates that have room for all rows, and the best of these for each row."""
    while True:
        try:
            return choices, _settled(choices, sizes, prices, deadline)
        except NoAssignment:
            if choices.number == len(prices):
                raise
            # Prices rise where rows crowd, so that these see clusters farther away.
            prices = swept_prices(choices, sizes, prices, deadline=deadline)
            choices = choices.anew(prices, 2 * choices.number)


def swept_prices(
    choices: Choices,
    sizes: SizeBounds,
    prices: FloatArray,
    temperatures: tuple[float, ...] = TEMPERATURES,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """Prices at which soft memberships keep the sizes, about, at falling temperatures.

    Temperatures are in mean margins.
    """
    unit = choices.mean_margin(prices)
    if unit <= 0.0:
        return prices
    for part in temperatures:
        for _ in range(SWEEPS):
            deadline.check()
            prices = sweep(choices, sizes, prices, part * unit)
    return prices


def sweep(
    choices: Choices, sizes: SizeBounds, prices: FloatArray, temperature: float
) -> FloatArray:
    """Prices at which each cluster would fit if the others stayed as they are.

    A sweep is one of Sinkhorn's: the rows share out at the prices, then each price makes its
    cluster fit.
    """
    held = choices.held(prices, temperature)
    # What a cluster would hold without its price; an empty one becomes cheaper step by step.
    bare = np.log(np.maximum(held, FEWEST)) + prices / temperature
    least, most = (np.log(np.maximum(bound, FEWEST)) for bound in (sizes.lower, sizes.upper))
    return np.asarray(temperature * (bare - np.clip(bare, least, most)))


def _settled(
    choices: Choices, sizes: SizeBounds, prices: FloatArray, deadline: Deadline
) -> Settled:
    """Each row in the best of its candidates, and prices that explain it."""
    m, tries, cold, none = choices.n_rows, 0, iter(COLD), np.empty(0, np.int64)
    allowed = MISPLACED["elsewhere" if choices.far else "memory"] * m
    while True:
        deadline.check()
        prices = _normal(prices, sizes)
        over, under = _missed(sizes, choices.counted(prices), prices)
        misplaced = int(max(over.sum(), under.sum()))
        if not misplaced:
            nowhere = [(none, none)] * choices.source.n_pieces
            return Settled(prices, nowhere, prices, choices.missed(prices, prices, nowhere)[1])
        if misplaced > allowed and (temperature := next(cold, None)) is not None:
            prices = swept_prices(choices, sizes, prices, (temperature,), deadline)
            continue
        each = MOVES_EACH * 4 ** (tries - 1)
        everything = tries > 0 and each * len(prices) > m
        if tries:
            parts = choices.least_moves(prices, 0 if everything else each)
        else:
            reach = _reach(choices, prices, over, ROWS_EACH * misplaced)
            parts = choices.near_moves(prices, reach, FARTHEST)
        try:
            patches, after = _flow(choices, sizes, prices, parts, deadline)
        except NoAssignment:
            # Candidates that leave no way between two regions are too few, whoever takes part.
            if everything or (tries == WAYS and choices.number < len(prices)):
                raise
        else:
            worst, largest = choices.missed(prices, after, patches)
            if everything or worst <= _rounding(largest, after):
                return Settled(prices, patches, after, largest)
            prices = after
        tries += 1


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


def _rounding(largest: float, prices: FloatArray, eps: float = 0.0) -> float:
    """Differences between costs, rounded to ``eps``, up to which they count as equal."""
    return max(ROUNDING, ROUNDINGS * eps) * (largest + float(np.abs(prices).max()))


def _reach(choices: Choices, prices: FloatArray, over: IntArray, number: int) -> FloatArray:
    """Margins up to which rows take part in a flow: about so many, and more in crowded clusters."""
    margin, labels, stride = choices.margins(prices)
    rank = min(number // stride, len(margin) - 1)
    reach = np.full(len(over), np.partition(margin, rank)[rank])
    crowded = np.flatnonzero(over[labels] > 0)
    crowded = crowded[np.lexsort((margin[crowded], labels[crowded]))]
    where = labels[crowded]
    place = np.arange(len(where)) - np.searchsorted(where, where)
    some = place <= -(-4 * over[where] // stride)
    np.maximum.at(reach, where[some], margin[crowded[some]])
    return reach


def _flow(
    choices: Choices,
    sizes: SizeBounds,
    prices: FloatArray,
    parts: list[Opened],
    deadline: Deadline,
) -> tuple[list[Patch], FloatArray]:
    """Best clusters of some rows if only these move, and prices that explain them."""
    k = len(prices)
    free = Opened(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    rest = choices.counted(prices) - np.bincount(free.labels, minlength=k)
    least, most = np.maximum(sizes.lower - rest, 0), sizes.upper - rest
    if np.any(most < least):
        raise NoAssignment
    gap = free.cost + prices[free.cluster]
    gap -= gap.min(axis=1, keepdims=True)
    toll = np.where(most > least, -prices, np.inf)
    toll -= toll.min() if np.any(most > least) else 0.0
    toll[most == least] = 0.0
    arcs, t = np.flatnonzero(np.isfinite(gap)), gap.shape[1]
    deadline.check(FLOW_SECONDS * len(arcs))
    supply, flow = np.ones(len(gap), np.int64), np.zeros(gap.size, np.int64)
    flow[arcs] = flow_along(
        gap.ravel()[arcs], arcs // t, free.cluster.ravel()[arcs], supply, least, most, toll
    )
    chosen = flow.reshape(-1, t).argmax(axis=1)
    labels = free.cluster[np.arange(len(gap)), chosen].astype(np.int64)
    moves = Moves.of(gap, free.cluster, chosen, k)
    if not sizes.exact:
        moves = moves.with_outside(sizes, rest + np.bincount(labels, minlength=k), prices)
    cuts = np.cumsum([len(part.rows) for part in parts])[:-1]
    patches = zip((part.rows for part in parts), np.split(labels, cuts), strict=True)
    return list(patches), prices + moves.settle(deadline)


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
