"""How candidates are chosen in memory: the cheapest clusters of each row, a block at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from joblib import cpu_count

from .._arrays import one_blas_thread
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from .candidates import Candidates

#: Entries of a block of costs that candidates are chosen from.  Larger blocks do not stay in the
#: cache of a core.
BLOCK_ENTRIES = 1 << 19
#: Rows of such a block, at least.  With fewer, the calls of NumPy cost more than their work.
LEAST_BLOCK = 64
#: Part by which the limit for candidates is higher than the cost of the candidates before.  More
#: find enough of them where centres move far, and have more to choose from.
SLACK = 0.1
#: Fewest clusters for which that is tried.  With 100 a search of 20,000 rows takes 24 ms in place
#: of 17 ms; with 150 it takes 24 ms in place of 37 ms, and with 1,000 38 ms in place of 217 ms.
LEAST_CLUSTERS = 120
#: Fewest and most entries below the limit, in candidates; otherwise the row is searched anew.
FEWEST, MOST = 0.5, 4.0


class SomeCosts(Protocol):
    """Costs of groups in clusters, but for a constant of each group."""

    eps: float  # relative rounding

    def block(self, groups: Any) -> FloatArray:
        """Costs of some groups in all clusters, in an array that is written over."""

    def constant(self, groups: Any) -> FloatArray:
        """What is left out of the costs of these groups."""


def cheapest(
    costs: SomeCosts,
    groups: IntArray,
    prices: FloatArray,
    number: int,
    like: Candidates | None = None,
    deadline: Deadline = NEVER,
) -> Candidates:
    """So many candidates of each group, from all clusters; raises OutOfTime.

    ``like`` are candidates of the same groups at centres and prices that were similar: they tell
    about how much the candidates of a group cost, which makes the search faster.
    """
    m, t = len(groups), min(number, len(prices))
    cluster, cost, beyond = np.empty((m, t), np.int32), np.empty((m, t)), np.empty(m)
    guess = None
    if like is not None and len(like.beyond) == m and max(t + 1, LEAST_CLUSTERS) <= len(prices):
        guess = _limits(like)
    step = max(BLOCK_ENTRIES // len(prices), LEAST_BLOCK)

    def choose(part: slice) -> None:
        deadline.check()
        block, constant = costs.block(groups[part]), costs.constant(groups[part])
        block += prices.astype(block.dtype, copy=False)
        if guess is None:
            order, least, beyond[part] = least_of(block, t)
        else:
            order, least, beyond[part] = _below(block, guess[part] - constant, t)
        beyond[part] += constant
        cluster[part] = order
        cost[part] = np.maximum(least - prices[order] + constant[:, None], 0.0)

    parts = [slice(start, start + step) for start in range(0, m, step)]
    if len(parts) < 2 * cpu_count():
        for part in parts:
            choose(part)
    else:  # the products of a block are too small for threads of their own
        with one_blas_thread(), ThreadPoolExecutor(cpu_count()) as pool:
            for _ in pool.map(choose, parts):
                pass
    return Candidates(cluster, cost, beyond, prices, costs.eps)


def _limits(like: Candidates) -> FloatArray:
    """About what these candidates cost at most, prices included, (m,)."""
    best = like.priced(like.prices).min(axis=1)
    return np.asarray(like.beyond + SLACK * (like.beyond - best))


def least_of(block: FloatArray, t: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Places and values of the ``t`` least entries of each row, and the next one."""
    if t == block.shape[1]:
        places = np.broadcast_to(np.arange(t), block.shape)
        return places, block.astype(np.float64), np.full(len(block), np.inf)
    order = np.argpartition(block, t, axis=1)[:, : t + 1]
    least = np.take_along_axis(block, order, axis=1).astype(np.float64)
    return order[:, :t], least[:, :t], least[:, t]


def _below(block: FloatArray, limit: FloatArray, t: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """As :func:`least_of`, but entries above the limit of a row may be missing: they are infinite.

    No entry that is left out is less than the third result.  Comparing all entries with a number
    is much faster than finding the least of them.
    """
    limit = limit.astype(block.dtype)
    row, place = np.divmod(np.flatnonzero(block <= limit[:, None]), block.shape[1])
    found = np.bincount(row, minlength=len(block))
    good = (FEWEST * t <= found) & (found <= MOST * t)
    order, least = np.zeros((len(block), t), np.int64), np.full((len(block), t), np.inf)
    beyond = limit.astype(np.float64)
    if not good.all():
        bad = np.flatnonzero(~good)
        order[bad], least[bad], beyond[bad] = least_of(block[bad], t)
        row, place = row[good[row]], place[good[row]]
        found = np.where(good, found, 0)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(found) - found, found)
    width = max(int(found.max(initial=0)), t + 1)
    places = np.zeros((len(block), width), np.int64)
    values = np.full((len(block), width), np.inf)
    places[row, slot], values[row, slot] = place, block[row, place]
    chosen, kept, further = least_of(values, t)
    order[good] = np.take_along_axis(places, chosen, axis=1)[good]
    least[good], beyond[good] = kept[good], np.minimum(beyond, further)[good]
    return order, least, beyond
