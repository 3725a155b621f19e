"""The few clusters that matter for each row, out of many.

With thousands of clusters all costs of all rows take too much time and memory.  A row ends in one
of the clusters where it costs least, the prices of the clusters included; the *candidates* are some
of those.  What no candidate tells, a bound does: no other cluster costs less than ``beyond``.

:class:`Candidates` are those of all rows in memory, or of one shard; their arrays are NumPy's or
PyTorch's.  :class:`.shard_candidates.ShardCandidates` has those of all shards, and :mod:`.choices`
says what both can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import added_by, namespace, put_beside, ranked, to_host
from .._typing import FloatArray, IntArray
from .choices import Border, Open

#: Product of a row's two largest shares below which it is not counted as lying on a border.
ON_BORDER = 1e-3

#: Gives candidates at prices: so many for each row, of all rows or of those given.
Search = Callable[[FloatArray, int, IntArray | None], "Candidates"]


@dataclass(frozen=True)
class Candidates:
    """Clusters that each row may go to, and their costs; see :class:`.choices.Choices`."""

    cluster: Any  # (m, t)
    cost: Any  # without prices, (m, t)
    beyond: Any  # least cost of all other clusters, at ``prices`` and these included, (m,)
    prices: FloatArray  # at which the candidates were chosen, (k,)
    eps: float  # relative rounding of the costs
    search: Search | None = None  # where candidates of some rows come from
    home: Any = None  # candidates of labels that obey the sizes, (m,), if some are known
    count: Any = None  # rows that each stands for, (m,), 0 for one that has its place; None for one

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""
        return self.cluster.shape[0], self.cluster.shape[1]

    far = False

    @property
    def n_free(self) -> int:
        """As :class:`.choices.Choices`."""
        return self.shape[0]

    def priced(self, prices: FloatArray) -> Any:
        """Costs with these prices, (m, t)."""
        return self.cost + put_beside(prices, self.cost)[self.cluster]

    def at(self, prices: FloatArray) -> Placed:
        """As :class:`.choices.Choices`."""
        xp, priced = namespace(self.cost), self.priced(prices)
        slot = xp.argmin(priced, axis=1)
        rows = xp.arange(len(slot), device=slot.device)
        best = priced[rows, slot]
        priced[rows, slot] = np.inf
        return Placed(self, prices, slot, best, xp.min(priced, axis=1) - best)

    def at_home(self, prices: FloatArray) -> Placed:
        """Every row where the labels that are known have it; margins below 0 are what it loses."""
        every, priced = np.arange(len(self.home)), self.priced(prices)
        own = priced[every, self.home]
        priced[every, self.home] = np.inf
        return Placed(self, prices, self.home, own, priced.min(axis=1) - own)

    def merged(self, part: IntArray, prices: FloatArray) -> Candidates:
        """As :class:`.choices.Choices`."""
        xp, priced = namespace(self.cost), self.priced(prices)
        order = xp.argsort(priced, axis=1)
        priced = xp.take_along_axis(priced, order, axis=1)
        parts = put_beside(part.astype(np.int32), self.cluster)[self.cluster]
        parts = xp.take_along_axis(parts, order, axis=1)
        for slot in range(1, parts.shape[1]):
            cheaper = xp.any(parts[:, :slot] == parts[:, slot : slot + 1], axis=1)
            priced[cheaper, slot] = np.inf
        return replace(self, cluster=parts, cost=priced, prices=np.zeros(int(part.max()) + 1))

    def mean_margin(self, prices: FloatArray) -> float:
        """As :class:`.choices.Choices`."""
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
        """As :class:`.choices.Choices`."""
        return self._held(self.soft(prices, temperature), len(prices))

    def _held(self, share: Any, k: int) -> FloatArray:
        if self.count is not None:
            share = share * self.count[:, None]
        held: FloatArray = added_by(self.cluster.reshape(-1), share.reshape(-1), k)
        return held

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """As :class:`.choices.Choices`."""
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
        """The same with a given cluster of each row, its home, as one candidate more."""
        same = (self.cluster == clusters[:, None]) & np.isfinite(self.cost)
        known = same.any(axis=1)
        return replace(
            self,
            cluster=np.column_stack([self.cluster, clusters.astype(np.int32)]),
            cost=np.column_stack([self.cost, np.where(known, np.inf, cost)]),
            home=np.where(known, same.argmax(axis=1), self.shape[1]),
        )

    def named(self, clusters: IntArray) -> Candidates:
        """As :class:`.choices.Choices`."""
        return replace(self, cluster=clusters.astype(np.int32)[self.cluster])

    def beside(self, others: Any) -> Candidates:
        """As :class:`.choices.Choices`."""
        xp = namespace(self.cost)
        cluster, cost = [self.cluster], [self.cost]
        for slot in range(others.shape[1]):
            own = others.cluster[:, slot : slot + 1]
            known = xp.any((self.cluster == own) & xp.isfinite(self.cost), axis=1)
            cluster.append(own)
            cost.append(xp.where(known, np.inf, others.cost[:, slot])[:, None])
        return replace(self, cluster=xp.concat(cluster, axis=1), cost=xp.concat(cost, axis=1))

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
        new = Candidates(cluster, cost, beyond, others.prices, self.eps)
        return replace(new, search=self.search, count=self.count)


@dataclass(frozen=True)
class Placed:
    """Rows in candidates of theirs; see :class:`.choices.Standing`."""

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
        """As :class:`.choices.Standing`."""
        labels: IntArray = to_host(self.labels)
        return labels

    @property
    def cost(self) -> Any:
        """The cost of each row without the price, (m,)."""
        xp = namespace(self.slot)
        return self.table.cost[xp.arange(len(self.slot), device=self.slot.device), self.slot]

    @cached_property
    def counted(self) -> IntArray:
        """As :class:`.choices.Standing`."""
        count = self.table.count
        labels = self.labels if count is None else self.labels[count > 0]
        counted: IntArray = added_by(labels, None, len(self.prices))
        return counted

    @cached_property
    def scale(self) -> float:
        """As :class:`.choices.Standing`."""
        return float(abs(self.best).max()) if len(self.best) else 0.0

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`.choices.Standing`."""
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
        """As :class:`.choices.Standing`."""
        xp = namespace(self.margin)
        rows = xp.nonzero(self.margin <= put_beside(reach, self.margin)[self.labels])[0]
        table = self.table
        parts = (rows, self.slot[rows], table.cluster[rows], table.cost[rows])
        return Open(*(to_host(part) for part in parts))

    def moved(self, opened: Open, slot: IntArray) -> Placed:
        """As :class:`.choices.Standing`."""
        changed = self.slot + 0
        changed[put_beside(opened.rows, changed)] = put_beside(slot, changed)
        return replace(self, slot=changed)

    def astray(self, prices: FloatArray) -> float:
        """As :class:`.choices.Standing`."""
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
        """As :class:`.choices.Standing`; only these rows are looked at."""
        rows, total = self.doubtful(prices)
        if not len(rows) or self.table.search is None:
            return self.table, 0.0
        others = self.table.search(prices, number, rows)
        saved = float((total - others.priced(prices).min(axis=1)).max())
        kept = others.including(self.labels[rows], self.cost[rows])
        return self.table.replaced(rows, kept), saved
