r"""Prices at which rows that share themselves out among their candidates keep the sizes.

A row belongs to its candidates in shares :math:`\exp(-(c_{ij} + p_j) / T)`.  What the clusters hold
then is smooth in the prices p.  A *sweep* is one of Sinkhorn's: each price makes its cluster fit,
the others staying as they are.  A step of *Newton's method* moves all prices together: raising one
drives rows to the clusters that they share, a sparse system of linear equations.  As the
temperature T falls, shares become whole.  *Bids* raise the prices of crowded clusters alone, to
where as many rows leave as are too many.

Where rows lie in groups far apart, none of these sees that a whole group of clusters has too many
of them.  The clusters between which rows lie are then one *part*.  Parts get prices first, as if
each were a cluster, and their clusters change theirs by as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg

from ..._typing import FloatArray, IntArray
from ...deadline import NEVER, Deadline
from ...plan.many_thresholds import STEPPED_FAR, STEPPED_NEAR
from ...presolve import SizeBounds
from ...rows.choices import Border

#: Temperatures at which first prices are found, in mean margins, and sweeps at each.  More of them
#: leave fewer rows to the first flow.
TEMPERATURES, SWEEPS = (2.0, 1.0, 0.5, 0.25, 0.12), 6
#: Rows, in shares, that an empty cluster is taken to hold.  Fewer make its price fall faster.
FEWEST = 1e-3
#: Rows for each misplaced one that lie within two temperatures of a step.  More make steps longer
#: and less exact.
ROWS_EACH = 4
#: Temperatures of Newton's steps, in those, that are tried one after another while steps do not
#: help; 0 is a step of bids.  A step of bids takes 20,000 rows of well separated blobs in 400
#: clusters from 624 misplaced rows to 269, where Newton's steps do not help.
TRIED = (1.0, 0.0, 0.25)
#: Longest change of a price in a step, in temperatures; beyond, shares tell nothing of the rows.
LONGEST_STEP = 8.0
#: Weight, relative to the mean, with which a price is held where no row lies on a border.
HELD_BACK = 1e-6
#: Relative error of the solution of the linear equations, and most steps to it.
SOLVED, MOST_STEPS = 1e-3, 200
#: Part of the misplaced rows that may be left after a step that helps, in memory and in shards,
#: where most rows are too many for a flow.
WORTH_NEAR, WORTH_FAR = 0.85, 0.97


def normal_prices(prices: FloatArray, sizes: SizeBounds) -> FloatArray:
    """The prices about 0 if a constant means nothing, and without those that are mere rounding."""
    if sizes.exact:
        prices = prices - prices.mean()
    # A price that differs from 0 by rounding alone must not demand a full or an empty cluster.
    return np.where(np.abs(prices) > 1e-13 * np.abs(prices).max(), prices, 0.0)


def missed(sizes: SizeBounds, held: IntArray | FloatArray, prices: FloatArray) -> tuple[Any, Any]:
    """Rows too many and too few in each cluster.

    A cluster with a positive price should be at its upper bound, one with a negative price at its
    lower bound.
    """
    low = np.where(prices > 0, sizes.upper, sizes.lower)
    high = np.where(prices < 0, sizes.lower, sizes.upper)
    return np.maximum(held - high, 0), np.maximum(low - held, 0)


def swept_prices(
    table: Any,
    sizes: SizeBounds,
    prices: FloatArray,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """Prices at which shares keep the sizes, about, at falling temperatures, in mean margins."""
    unit = table.mean_margin(prices)
    if unit <= 0.0:
        return prices
    for part in TEMPERATURES:
        for _ in range(SWEEPS):
            deadline.check()
            prices = sweep(table, sizes, prices, part * unit)
    return prices


def sweep(table: Any, sizes: SizeBounds, prices: FloatArray, temperature: float) -> FloatArray:
    """Prices at which the clusters would fit if no others moved."""
    held = table.held(prices, temperature)
    # What a cluster would hold without its price; an empty one becomes cheaper step by step.
    bare = np.log(np.maximum(held, FEWEST)) + prices / temperature
    least, most = (np.log(np.maximum(bound, FEWEST)) for bound in (sizes.lower, sizes.upper))
    swept: FloatArray = temperature * (bare - np.clip(bare, least, most))
    return swept


@dataclass(frozen=True)
class Approach:
    """Rows at prices that misplace few of them."""

    now: Any  # a :class:`.rows.choices.Standing`
    part: IntArray | None  # of each cluster, (k,); None if one part has all or each has one


def approached(
    table: Any,
    sizes: SizeBounds,
    prices: FloatArray,
    deadline: Deadline = NEVER,
    few: float | None = None,
) -> Approach:
    """Prices by steps, until these do not help or misplace a small part of the rows, ``few``."""
    if few is None:
        few = STEPPED_FAR if table.far else STEPPED_NEAR
    worth, part = WORTH_FAR if table.far else WORTH_NEAR, None
    prices = normal_prices(prices, sizes)
    now, idle = table.at(prices), 0
    wrong = misplaced_rows(sizes, now.counted, prices)
    if wrong > few * table.n_free:
        part = _parts(table, prices, _temperature(now, wrong))
        prices = by_parts(table, sizes, prices, part, deadline)
        now = table.at(prices)
        wrong = misplaced_rows(sizes, now.counted, prices)
    while wrong > few * table.n_free and idle < len(TRIED):
        deadline.check()
        if TRIED[idle]:
            moved = newton_step(table, sizes, prices, TRIED[idle] * _temperature(now, wrong))
        else:
            moved = bids(now, sizes, prices)
        moved = normal_prices(moved, sizes)
        there = table.at(moved)
        left = misplaced_rows(sizes, there.counted, moved)
        idle = idle + 1 if left > worth * wrong else 0
        if left < wrong:
            prices, now, wrong = moved, there, left
    return Approach(now, part)


def by_parts(
    table: Any,
    sizes: SizeBounds,
    prices: FloatArray,
    part: IntArray | None,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """Prices at which the parts hold about as many rows as their clusters should."""
    if part is None:
        return prices
    low, high = (np.bincount(part, each).astype(np.int64) for each in (sizes.lower, sizes.upper))
    whole, merged = SizeBounds(low, high, ordered=True), table.merged(part, prices)
    found = approached(merged, whole, np.zeros(part.max() + 1), deadline, STEPPED_FAR)
    return normal_prices(prices + found.now.prices[part], sizes)


def roomy(sizes: SizeBounds, now: Any, part: IntArray | None) -> tuple[IntArray, int]:
    """Clusters with room for what the parts that hold too few rows lack, and most of a part."""
    if part is None:
        return np.empty(0, np.int64), 0
    over, under = missed(sizes, now.counted, now.prices)
    short = np.maximum(np.bincount(part, under - over), 0)
    order = np.lexsort((-under, part))  # by part, those with the most room first
    room, where = under[order], part[order]
    first = np.searchsorted(where, np.arange(len(short)))
    before = np.cumsum(room) - room
    needed = (before - before[first][where] < short[where]) & (room > 0)
    doors: IntArray = order[needed]
    return doors, int(np.bincount(part[doors]).max(initial=0))


def _temperature(now: Any, wrong: int) -> float:
    """That at which enough rows lie on borders to make up for so many misplaced ones."""
    reach = now.reach(ROWS_EACH * wrong, np.zeros(len(now.prices), np.int64))
    return float(reach[0]) / 2.0


def _parts(table: Any, prices: FloatArray, temperature: float) -> IntArray | None:
    """The part of each cluster: those that have rows on a border between them are of one."""
    if not 0.0 < temperature < np.inf:
        return None
    part = _joined(table.borders(prices, temperature)[1], len(prices))
    return part if 0 < part.max() < len(prices) - 1 else None


def _joined(border: Border, k: int) -> IntArray:
    ends = sparse.coo_array((np.ones(len(border.one)), (border.one, border.other)), shape=(k, k))
    part: IntArray = connected_components(ends, directed=False)[1].astype(np.int64)
    return part


def misplaced_rows(sizes: SizeBounds, counted: IntArray, prices: FloatArray) -> int:
    """Rows that have to go elsewhere."""
    over, under = missed(sizes, counted, prices)
    return int(max(over.sum(), under.sum()))


def newton_step(
    table: Any, sizes: SizeBounds, prices: FloatArray, temperature: float
) -> FloatArray:
    """Prices at which the shares would keep the sizes if these changed linearly."""
    if not 0.0 < temperature < np.inf:
        return prices
    held, border = table.borders(prices, temperature)
    if not len(border.weight):
        return prices
    over, under = missed(sizes, held, prices)
    excess = over - under
    interval = sizes.lower < sizes.upper
    # A price of 0 whose cluster is inside its bounds stays 0.
    fixed = interval & (prices == 0.0) & (excess == 0.0)
    if sizes.exact:  # a part whose rows lie on no border to others cannot hold more or fewer
        part = _joined(border, len(prices))
        excess = excess - (np.bincount(part, excess) / np.bincount(part))[part]
    step = _solved(border, len(prices), temperature, np.where(fixed, 0.0, excess), fixed)
    moved = prices + np.clip(step, -LONGEST_STEP * temperature, LONGEST_STEP * temperature)
    crossed = interval & (prices != 0.0) & (np.sign(moved) != np.sign(prices))
    return np.where(crossed, 0.0, moved)


def bids(now: Any, sizes: SizeBounds, prices: FloatArray) -> FloatArray:
    """Prices at which crowded clusters lose as many rows as they have too many.

    Newton's method does not see a cluster that is far from all others; its rows do.
    """
    over, _ = missed(sizes, now.counted, prices)
    rise = now.reach(0, over)
    crowded = (over > 0) & np.isfinite(rise)
    moved = np.where(crowded, prices + rise, prices)
    crossed = (sizes.lower < sizes.upper) & (prices < 0.0) & (moved > 0.0)
    return np.where(crossed, 0.0, moved)


def _solved(
    border: Border, k: int, temperature: float, excess: FloatArray, fixed: Any
) -> FloatArray:
    """Changes of the prices that drive away the excess; those of fixed prices are 0."""
    ends = np.concatenate([border.one, border.other]), np.concatenate([border.other, border.one])
    flow = np.concatenate([border.weight, border.weight]) / temperature
    pairs = sparse.csr_array((flow, ends), shape=(k, k))
    degree = np.asarray(pairs.sum(axis=1))
    free = np.where(fixed, 0.0, 1.0)
    diagonal = np.where(fixed, 1.0, degree + HELD_BACK * float(degree.mean()))
    inner = sparse.diags_array(free) @ pairs @ sparse.diags_array(free)
    system = sparse.csr_array(sparse.diags_array(diagonal) - inner)
    scaling = sparse.diags_array(1.0 / diagonal)
    step, _ = cg(system, excess, rtol=SOLVED, maxiter=MOST_STEPS, M=scaling)
    return np.asarray(step)
