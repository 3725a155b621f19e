"""The few clusters that matter for each row, out of many.

With thousands of clusters all costs of all rows take too much time and memory.  A row ends in one
of the clusters where it costs least, the prices of the clusters included; the *candidates* are some
of those.  What no candidate tells, a bound does: no other cluster costs less than ``beyond``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from joblib import cpu_count

from .._arrays import one_blas_thread
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline

#: Entries of a block of costs that candidates are chosen from.  Larger blocks do not stay in the
#: cache of a core.
BLOCK_ENTRIES = 1 << 19
#: Rows of such a block, at least.  With fewer, the calls of NumPy cost more than their work.
LEAST_BLOCK = 64
#: Part by which the limit for candidates is higher than the cost of the candidates before.  More
#: find enough of them where centres move far, and have more to choose from.
SLACK = 0.1
#: Fewest and most entries below the limit, in candidates; otherwise the row is searched anew.
FEWEST, MOST = 0.5, 4.0


@dataclass(frozen=True)
class Preferred:
    """Rows in their cheapest candidates at some prices."""

    slot: IntArray  # place of that cluster among the candidates, (m,)
    labels: IntArray  # the cluster itself, (m,)
    best: FloatArray  # its cost, price included, (m,)
    margin: FloatArray  # what the next best candidate costs more, (m,)


@dataclass(frozen=True)
class Candidates:
    """Clusters that each row may go to, and their costs."""

    cluster: IntArray  # (m, t)
    cost: FloatArray  # without prices, (m, t)
    beyond: FloatArray  # least cost of all other clusters, at ``prices`` and these included, (m,)
    prices: FloatArray  # at which the candidates were chosen, (k,)
    eps: float  # relative rounding of the costs

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""
        return self.cluster.shape[0], self.cluster.shape[1]

    def priced(self, prices: FloatArray) -> FloatArray:
        """Costs with these prices, (m, t)."""
        total: FloatArray = self.cost + prices[self.cluster]
        return total

    def preferred(self, prices: FloatArray) -> Preferred:
        """The cheapest candidate of each row; the margin is infinite if there is but one."""
        priced, rows = self.priced(prices), np.arange(len(self.beyond))
        slot = priced.argmin(axis=1)
        best = priced[rows, slot]
        priced[rows, slot] = np.inf
        margin = priced.min(axis=1) - best
        return Preferred(slot, self.cluster[rows, slot], best, margin)

    def soft(self, prices: FloatArray, temperature: float) -> FloatArray:
        """Memberships ``exp(-(cost + price) / temperature)``, (m, t), which add up to one a row."""
        share = self.priced(prices)
        share -= share.min(axis=1, keepdims=True)
        share /= -temperature
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        return share

    def limits(self) -> FloatArray:
        """About what the candidates cost at most, prices included, (m,)."""
        best = self.priced(self.prices).min(axis=1)
        return np.asarray(self.beyond + SLACK * (self.beyond - best))

    def doubtful(self, prices: FloatArray, cost: FloatArray) -> IntArray:
        """Rows that another cluster may suit better than one of this cost, price included."""
        fallen = float((prices - self.prices).min())
        return np.flatnonzero(cost > self.beyond + fallen)

    def including(self, clusters: IntArray, cost: FloatArray) -> Candidates:
        """The same with a given cluster of each row as one candidate more."""
        known = ((self.cluster == clusters[:, None]) & np.isfinite(self.cost)).any(axis=1)
        return replace(
            self,
            cluster=np.column_stack([self.cluster, clusters.astype(np.int32)]),
            cost=np.column_stack([self.cost, np.where(known, np.inf, cost)]),
        )

    def replaced(self, rows: IntArray, others: Candidates) -> Candidates:
        """The same with other candidates for some rows, chosen at the prices of those.

        The bound of the other rows is moved to these prices.
        """
        (m, t), (_, own) = self.shape, others.shape
        cluster, cost = np.zeros((m, max(t, own)), np.int32), np.full((m, max(t, own)), np.inf)
        cluster[:, :t], cost[:, :t] = self.cluster, self.cost
        beyond = self.beyond + float((others.prices - self.prices).min())
        cost[rows] = np.inf
        cluster[rows, :own], cost[rows, :own] = others.cluster, others.cost
        beyond[rows] = others.beyond
        return Candidates(cluster, cost, beyond, others.prices, self.eps)


class Costs(Protocol):
    """Costs of groups in clusters, but for a constant of each group."""

    eps: float  # relative rounding

    def block(self, groups: Any) -> FloatArray:
        """Costs of some groups in all clusters, in an array that is written over."""

    def constant(self, groups: Any) -> FloatArray:
        """What is left out of the costs of these groups."""


def cheapest(
    costs: Costs,
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
    guess = None if like is None or len(like.beyond) != m else like.limits()
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


def least_of(block: FloatArray, t: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Places and values of the ``t`` least entries of each row, and the next one."""
    if t == block.shape[1]:
        places = np.broadcast_to(np.arange(t), block.shape)
        return places, block.astype(np.float64), np.full(len(block), np.inf)
    order = np.argpartition(block, t, axis=1)[:, : t + 1]
    least = np.take_along_axis(block, order, axis=1).astype(np.float64)
    return order[:, :t], least[:, :t], least[:, t]


def _below(block: FloatArray, limit: FloatArray, t: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """As :func:`_least`, but entries above the limit of a row may be missing: they are infinite.

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
