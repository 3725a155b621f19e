"""The few clusters that matter for each row, out of many.

With thousands of clusters all costs of all rows take too much time and memory.  A row ends in one
of the clusters where it costs least, the prices of the clusters included; the *candidates* are some
of those.  What no candidate tells, a bound does: no other cluster costs less than ``beyond``.

:class:`Candidates` are those of all rows in memory, or of one shard; their arrays are NumPy's or
PyTorch's.  :class:`.shard_candidates.ShardCandidates` has those of all shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._arrays import added_by, namespace, put_beside, ranked, to_host
from .._typing import FloatArray, IntArray

#: Product of a row's two largest shares below which it is not counted as lying on a border.
ON_BORDER = 1e-3

#: Gives candidates at prices: so many for each row, of all rows or of those given.
Look = Callable[[FloatArray, int, IntArray | None], "Candidates"]


@dataclass(frozen=True)
class Open:
    """Rows whose clusters are open, in this process's memory."""

    rows: IntArray  # their numbers, (r,)
    slot: IntArray  # the candidate that each is in, (r,)
    cluster: IntArray  # their candidates, (r, t)
    cost: FloatArray  # what these cost without prices, (r, t)

    @property
    def labels(self) -> IntArray:
        """The clusters that they are in."""
        return self.cluster[np.arange(len(self.slot)), self.slot].astype(np.int64)


class Choices(Protocol):
    """Candidates of all rows, wherever these are."""

    @property
    def prices(self) -> FloatArray:
        """Prices at which the candidates were chosen, (k,)."""

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""

    @property
    def n_free(self) -> int:
        """Rows that are to be placed."""

    @property
    def far(self) -> bool:
        """Whether the rows are outside this process's memory, where passes are fast."""

    def mean_margin(self, prices: FloatArray) -> float:
        """Mean of the finite margins between the best candidate and the next; 0 without any."""

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """Rows that each cluster holds, in shares ``exp(-(cost + price) / temperature)``, (k,)."""

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """What :meth:`held` gives, and how many rows lie between each two clusters."""

    def at(self, prices: FloatArray) -> Standing:
        """Every row in its cheapest candidate."""


class Standing(Protocol):
    """Rows in one of their candidates each."""

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster, (k,)."""

    @property
    def scale(self) -> float:
        """The largest cost of a row in absolute value, price included."""

    def brought(self) -> IntArray:
        """The cluster of each row, in this process's memory, (m,)."""

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """Margins up to which about so many rows lie, in all, and of each cluster, (k,)."""

    def near(self, reach: FloatArray) -> Open:
        """The rows whose margin is within the reach of their cluster."""

    def moved(self, opened: Open, slot: IntArray) -> Standing:
        """The same with these rows in other candidates."""

    def astray(self, prices: FloatArray) -> float:
        """The most that a row would save at these prices by another of its candidates."""

    def renewed(self, prices: FloatArray, number: int) -> tuple[Choices, float]:
        """Other candidates for rows that a cluster beyond theirs suits better at these prices.

        Also the most that one of them saves there.
        """


@dataclass(frozen=True)
class Border:
    """Sums over the rows of the products of their two largest shares, for pairs of clusters."""

    one: IntArray
    other: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class Candidates:
    """Clusters that each row may go to, and their costs; see :class:`Choices`."""

    cluster: Any  # (m, t)
    cost: Any  # without prices, (m, t)
    beyond: Any  # least cost of all other clusters, at ``prices`` and these included, (m,)
    prices: FloatArray  # at which the candidates were chosen, (k,)
    eps: float  # relative rounding of the costs
    look: Look | None = None  # where candidates of some rows come from
    count: Any = None  # rows that each stands for, (m,), 0 for one that has its place; None for one

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""
        return self.cluster.shape[0], self.cluster.shape[1]

    far = False

    @property
    def n_free(self) -> int:
        """As :class:`Choices`."""
        return self.shape[0]

    def priced(self, prices: FloatArray) -> Any:
        """Costs with these prices, (m, t)."""
        return self.cost + put_beside(prices, self.cost)[self.cluster]

    def at(self, prices: FloatArray) -> Placed:
        """As :class:`Choices`."""
        xp, priced = namespace(self.cost), self.priced(prices)
        slot = xp.argmin(priced, axis=1)
        rows = xp.arange(len(slot), device=slot.device)
        best = priced[rows, slot]
        priced[rows, slot] = np.inf
        return Placed(self, prices, slot, best, xp.min(priced, axis=1) - best)

    def mean_margin(self, prices: FloatArray) -> float:
        """As :class:`Choices`."""
        total, number = self.margins(prices)
        return total / number if number else 0.0

    def margins(self, prices: FloatArray) -> tuple[float, int]:
        """Sum and number of the finite margins."""
        margin = self.at(prices).margin
        margin = margin[namespace(margin).isfinite(margin)]
        return float(margin.sum()), len(margin)

    def soft(self, prices: FloatArray, temperature: float) -> Any:
        """Memberships ``exp(-(cost + price) / temperature)``, (m, t), which add up to one a row."""
        xp, share = namespace(self.cost), self.priced(prices)
        share -= xp.min(share, axis=1, keepdims=True)
        share /= -temperature
        share = xp.exp(share)
        share /= xp.sum(share, axis=1, keepdims=True)
        return share

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """As :class:`Choices`."""
        return self._held(self.soft(prices, temperature), len(prices))

    def _held(self, share: Any, k: int) -> FloatArray:
        if self.count is not None:
            share = share * self.count[:, None]
        held: FloatArray = added_by(self.cluster.reshape(-1), share.reshape(-1), k)
        return held

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """As :class:`Choices`."""
        share, k = self.soft(prices, temperature), len(prices)
        held, xp = self._held(share, k), namespace(share)
        every = xp.arange(len(share), device=share.device)
        first = xp.argmax(share, axis=1)
        most = share[every, first]
        share[every, first] = -1.0
        second = xp.argmax(share, axis=1)
        product = most * share[every, second]
        some = xp.nonzero(product > ON_BORDER)[0]
        ends = [xp.astype(self.cluster[some, slot[some]], xp.int64) for slot in (first, second)]
        pair = xp.minimum(*ends) * k + xp.maximum(*ends)
        pairs, place = xp.unique_inverse(pair)
        own = product[some]
        if self.count is not None:
            own = own * self.count[some]
        weight = added_by(place.reshape(-1), own, len(pairs))
        one, other = np.divmod(to_host(pairs), k)
        return held, Border(one, other, weight)

    def spent(self) -> float:
        """What all rows cost in the cheapest of their candidates, without prices."""
        xp = namespace(self.cost)
        least = xp.astype(xp.min(self.cost, axis=1), xp.float64)
        return float(xp.sum(least if self.count is None else least * self.count))

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
        return replace(self, cluster=cluster, cost=cost, beyond=beyond, prices=others.prices)


@dataclass(frozen=True)
class Placed:
    """Rows in candidates of theirs; see :class:`Standing`."""

    table: Candidates
    prices: FloatArray
    slot: Any  # the candidate of each row, (m,)
    best: Any  # cost of the cheapest, price included, (m,)
    margin: Any  # what the next best candidate costs more; infinite if there is but one, (m,)

    @cached_property
    def labels(self) -> Any:
        """The cluster of each row, (m,)."""
        xp = namespace(self.slot)
        rows = xp.arange(len(self.slot), device=self.slot.device)
        return xp.astype(self.table.cluster[rows, self.slot], xp.int64)

    def brought(self) -> IntArray:
        """As :class:`Standing`."""
        labels: IntArray = to_host(self.labels)
        return labels

    @property
    def cost(self) -> Any:
        """The cost of each row without the price, (m,)."""
        xp = namespace(self.slot)
        return self.table.cost[xp.arange(len(self.slot), device=self.slot.device), self.slot]

    @cached_property
    def counted(self) -> IntArray:
        """As :class:`Standing`."""
        count = self.table.count
        labels = self.labels if count is None else self.labels[count > 0]
        counted: IntArray = added_by(labels, None, len(self.prices))
        return counted

    @cached_property
    def scale(self) -> float:
        """As :class:`Standing`."""
        return float(abs(self.best).max()) if len(self.best) else 0.0

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`Standing`."""
        k, limit = len(each), ranked(self.margin, number)
        reach = np.full(k, limit)
        wanted = np.flatnonzero((each > 0) & (self.counted > 0))
        if not len(wanted) or limit == np.inf:
            return reach
        xp, where = namespace(self.margin), np.zeros(k, bool)
        where[wanted] = True
        wanted_rows = put_beside(where, self.labels)[self.labels]
        if self.table.count is not None:
            wanted_rows = wanted_rows & (self.table.count > 0)
        some = xp.nonzero(wanted_rows)[0]
        # Rows of these clusters, by cluster and by margin inside each.
        some = some[xp.argsort(self.margin[some])]
        some = some[xp.argsort(self.labels[some], stable=True)]
        counted = self.counted[wanted]
        last = np.cumsum(counted) - counted + np.minimum(each[wanted], counted - 1)
        found = to_host(self.margin[some[put_beside(last, self.labels)]])
        reach[wanted] = np.maximum(reach[wanted], found)
        return reach

    def near(self, reach: FloatArray) -> Open:
        """As :class:`Standing`."""
        xp = namespace(self.margin)
        rows = xp.nonzero(self.margin <= put_beside(reach, self.margin)[self.labels])[0]
        table = self.table
        parts = (rows, self.slot[rows], table.cluster[rows], table.cost[rows])
        return Open(*(to_host(part) for part in parts))

    def moved(self, opened: Open, slot: IntArray) -> Placed:
        """As :class:`Standing`."""
        changed = self.slot + 0
        changed[put_beside(opened.rows, changed)] = put_beside(slot, changed)
        return replace(self, slot=changed)

    def astray(self, prices: FloatArray) -> float:
        """As :class:`Standing`."""
        if not len(self.slot):
            return 0.0
        xp, priced = namespace(self.slot), self.table.priced(prices)
        own = priced[xp.arange(len(self.slot), device=self.slot.device), self.slot]
        return float((own - xp.min(priced, axis=1)).max())

    def doubtful(self, prices: FloatArray) -> tuple[Any, Any]:
        """Rows that a cluster beyond their candidates may suit better, and what they cost now."""
        table, xp = self.table, namespace(self.slot)
        total = self.cost + put_beside(prices, self.cost)[self.labels]
        fallen = float((prices - table.prices).min())
        rows = xp.nonzero(total > table.beyond + fallen)[0]
        return rows, total[rows]

    def renewed(self, prices: FloatArray, number: int) -> tuple[Candidates, float]:
        """As :class:`Standing`; only these rows are looked at."""
        rows, total = self.doubtful(prices)
        if not len(rows) or self.table.look is None:
            return self.table, 0.0
        others = self.table.look(prices, number, rows)
        saved = float((total - others.priced(prices).min(axis=1)).max())
        kept = others.including(self.labels[rows], self.cost[rows])
        return self.table.replaced(rows, kept), saved
