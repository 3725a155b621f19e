"""Candidates of rows in shards: they stay where the rows are.

Every method is one pass over all shards.  A shard keeps the candidates, and the rows' places among
them, in its memo; a pass that does not find them makes them again from the same centres and prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from .candidates import Border, Candidates, Open, Placed
from .shard import Patch, Shard, Shards, patches_of, starts
from .shard_labels import ShardLabels, kept_labels, no_sums, parted, weighted_sums
from .shard_passes import Ask, Here, chunks, costs_where, doubles, least

#: Part of a share below which it adds nothing to a mean of shares.
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class Family:
    """Parts of the rows, and the clusters that each may be cut into."""

    children: IntArray  # (p, b), -1 where there are fewer
    parts: tuple[str, Any, Any] | None  # what labels follow from; None if all rows are one part


@dataclass(frozen=True)
class Asked:
    """What candidates follow from."""

    ask: Ask  # centres, prices, and the key of these candidates
    local: FloatArray  # the point that centres are relative to, (d,)
    number: int  # candidates of each row
    eps: float  # relative rounding of the points
    family: Family | None = None  # whose children are the candidates
    like: Asked | None = None  # those whose clusters are kept


@dataclass(frozen=True)
class ShardCandidates:
    """Candidates of all rows, or of the free ones; see :class:`.candidates.Choices`."""

    shards: Shards
    asked: Asked
    counts: Sequence[tuple[Any]]  # rows of each group, by shard; None for one each
    n_free: int
    deadline: Deadline

    far = True

    @property
    def prices(self) -> FloatArray:
        """Prices at which the candidates were chosen."""
        return self.asked.ask.prices

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""
        return self.asked.eps

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""
        return int(sum(self.shards.lengths)), min(self.asked.number, len(self.prices))

    def _map(self, function: Any, *args: Any) -> list[Any]:
        self.deadline.check()
        return self.shards.map(function, self.asked, *args, each=self.counts)

    def mean_margin(self, prices: FloatArray) -> float:
        """As :class:`.candidates.Choices`."""
        parts = self._map(of_table, "margins", prices)
        total, number = (sum(column) for column in zip(*parts, strict=True))
        return total / number if number else 0.0

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """As :class:`.candidates.Choices`."""
        held: FloatArray = reduce(add, self._map(of_table, "held", prices, temperature))
        return held

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """As :class:`.candidates.Choices`."""
        parts = self._map(of_table, "borders", prices, temperature)
        borders = [border for _, border in parts]
        ends = [(border.one, border.other, border.weight) for border in borders]
        joined = Border(*(np.concatenate(column) for column in zip(*ends, strict=True)))
        return reduce(add, [held for held, _ in parts]), joined

    def spent(self) -> float:
        """What all rows cost in the cheapest of their candidates, without prices."""
        return float(sum(self._map(of_table, "spent")))

    def soft_sums(
        self, prices: FloatArray, temperature: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """``sum w p`` and ``sum w`` of clusters that hold shares, and what these cost."""
        parts = self._map(soft_sums, prices, temperature)
        sums, mass, cost = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass, cost

    def at(self, prices: FloatArray) -> ShardStanding:
        """As :class:`.candidates.Choices`."""
        none: IntArray = np.empty(0, np.int64)
        return ShardStanding(self, prices, uuid4().hex, [(none, none)] * len(self.shards.lengths))


@dataclass(frozen=True)
class ShardStanding:
    """Rows in candidates of theirs; see :class:`.candidates.Standing`."""

    table: ShardCandidates
    prices: FloatArray
    key: str  # of the places at these prices
    patches: Sequence[Patch]  # rows of each shard that are elsewhere, and their slots

    def _map(self, function: Any, *args: Any) -> list[Any]:
        table = self.table
        table.deadline.check()
        given = (table.asked, self.prices, self.key)
        each = [(*own, *patch) for own, patch in zip(table.counts, self.patches, strict=True)]
        return table.shards.map(function, *given, *args, each=each)

    @cached_property
    def _stand(self) -> tuple[IntArray, float]:
        counted, scale = zip(*self._map(stand), strict=True)
        return reduce(add, counted), max(scale)

    @property
    def counted(self) -> IntArray:
        """As :class:`.candidates.Standing`."""
        return self._stand[0]

    @property
    def scale(self) -> float:
        """As :class:`.candidates.Standing`."""
        return self._stand[1]

    def brought(self) -> IntArray:
        """As :class:`.candidates.Standing`."""
        return np.concatenate(self._map(brought_part))

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """As :class:`.candidates.Standing`; the largest of those of the shards' parts."""
        parts = self._map(reach_part, number / self.table.shape[0], each / self.table.shape[0])
        reach: FloatArray = np.max(parts, axis=0)
        return reach

    def near(self, reach: FloatArray) -> Open:
        """As :class:`.candidates.Standing`."""
        parts = self._map(near_part, reach)
        first = starts(self.table.shards)
        rows = [part.rows + start for part, start in zip(parts, first, strict=False)]
        others = [(part.slot, part.cluster, part.cost) for part in parts]
        return Open(
            np.concatenate(rows), *(np.concatenate(column) for column in zip(*others, strict=True))
        )

    def moved(self, opened: Open, slot: IntArray) -> ShardStanding:
        """As :class:`.candidates.Standing`."""
        return replace(self, patches=patches_of(self.table.shards, opened.rows, slot))

    def astray(self, prices: FloatArray) -> float:
        """As :class:`.candidates.Standing`."""
        return float(max(self._map(astray_part, prices)))

    def renewed(self, prices: FloatArray, number: int) -> tuple[ShardCandidates, float]:
        """As :class:`.candidates.Standing`; all rows get new candidates where one saves."""
        table = self.table
        saved = max(self._map(beyond_part, prices))
        ask = replace(table.asked.ask, prices=prices, key=uuid4().hex)
        asked = replace(table.asked, ask=ask, number=number)
        return replace(table, asked=asked), saved

    def labels(self, places: Sequence[Patch]) -> ShardLabels:
        """The clusters of the rows, kept where these are; ``places`` are those of other rows."""
        table = self.table
        each = [
            (*own, *patch, *placed)
            for own, patch, placed in zip(table.counts, self.patches, places, strict=True)
        ]
        given = (table.asked, self.prices, self.key)
        return ShardLabels.kept(table.shards, len(self.prices), labels_part, given, each)


def _table(shard: Shard, asked: Asked, count: Any) -> Candidates:
    """The candidates of a shard's rows."""
    found = shard.memo.get("candidates")
    if found is None or found[0] != asked.ask.key:
        known = None if asked.like is None else _table(shard, asked.like, count)
        shard.memo.pop("candidates", None)  # both at once would take twice the memory
        found = asked.ask.key, candidates_of(shard, asked, count, known)
        shard.memo["candidates"] = found
    table: Candidates = found[1]
    return table


def candidates_of(
    shard: Shard, asked: Asked, count: Any, known: Candidates | None = None
) -> Candidates:
    """Cheapest clusters of the rows, or those known, with costs for one of ``count``.

    A row that is not free has its place: it has no second candidate and counts nothing.
    """
    ask, xp, number = asked.ask, shard.xp, len(asked.ask.prices)
    if known is not None:
        of_each = known.cluster
    elif asked.family is not None:
        of_each = _relatives(shard, asked.family)
    else:
        of_each = None
    if of_each is not None:
        number = 2 * of_each.shape[1] * shard.points.shape[1]
    each, found = None if count is None else shard.put(count), []
    here, local = Here.of(shard, ask), shard.double(asked.local)
    for part in chunks(shard, number):
        weight = _weight(shard, part, each)
        constant = _squares(shard, part, local, weight)
        if of_each is None:
            cluster, cost, beyond = _searched(shard, here, part, weight, asked.number)
        else:
            cluster, cost = _costs_among(shard, here, part, weight, of_each[part])
            beyond = constant * 0.0 - np.inf
        cost = cost + constant[:, None]
        cost[cost < 0.0] = 0.0
        found.append((cluster, cost, beyond + constant))
    cluster, cost, beyond = (xp.concat(column) for column in zip(*found, strict=True))
    if shard.free is not None:
        placed = ~shard.free
        cost[placed, 1:], beyond[placed] = np.inf, np.inf
        each = shard.free * (1 if each is None else each)
    return Candidates(cluster, cost, beyond, ask.prices, asked.eps, count=each)


def _relatives(shard: Shard, family: Family) -> Any:
    """The children of the part of each row, (m, b); -1 where there are fewer."""
    children = shard.put(family.children.astype(np.int32))
    if family.parts is None:
        where = shard.xp.zeros(len(shard), dtype=shard.xp.int32, device=children.device)
    else:
        none: IntArray = np.empty(0, np.int64)
        where = kept_labels(shard, *family.parts, (None, none, none, none, none))
    return children[where]


def _searched(
    shard: Shard, here: Here, rows: slice, weight: Any, number: int
) -> tuple[Any, Any, Any]:
    """The clusters where rows cost least, their costs, and the next cost with its price."""
    priced = costs_where(shard, here, rows, weight)
    priced += here.prices
    order, best, beyond = least(priced, min(number, len(here.prices)))
    return shard.xp.astype(order, shard.xp.int32), best - here.prices[order], beyond


def _costs_among(
    shard: Shard, here: Here, rows: slice, weight: Any, cluster: Any
) -> tuple[Any, Any]:
    """Given clusters of each row and its costs there, (r, t); infinite where there is none (-1)."""
    xp, points = shard.xp, shard.points[rows]
    some = xp.where(cluster < 0, 0, cluster)
    inner = here.centers[some] @ points[:, :, None]
    cost = here.norms[some] - 2.0 * inner[:, :, 0]
    if weight is not None:
        cost = cost * weight[:, None]
    cost[cluster < 0] = np.inf
    return some, cost


def _squares(shard: Shard, rows: Any, local: Any, weight: Any) -> Any:
    """The part of the costs that is the same in all clusters, (r,)."""
    off = doubles(shard, shard.points[rows]) - local
    squares = shard.xp.astype(shard.xp.sum(off * off, axis=1), shard.points.dtype)
    return squares if weight is None else squares * weight


def _weight(shard: Shard, rows: Any, count: Any) -> Any:
    """Weights of some rows for one of ``count``; None if all are one."""
    weight = None if shard.weight is None else shard.weight[rows]
    if count is None:
        return weight
    each = shard.xp.astype(count[rows], shard.points.dtype)
    return (1.0 if weight is None else weight) / each


def of_table(shard: Shard, asked: Asked, method: str, *args: Any) -> Any:
    """A method of the candidates of a shard; the last argument is the count of its rows."""
    *given, count = args
    return getattr(_table(shard, asked, count), method)(*given)


def soft_sums(
    shard: Shard, asked: Asked, prices: FloatArray, temperature: float, count: Any
) -> tuple[FloatArray, FloatArray, float]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of clusters that hold shares, and what these cost."""
    table, xp, k = _table(shard, asked, count), shard.xp, len(prices)
    share = table.soft(prices, temperature)
    paid = share * xp.where(share > 0.0, table.cost, 0.0)
    if table.count is not None:
        paid = paid * table.count[:, None]
    total = no_sums(shard, k)
    for part in chunks(shard, 8 * shard.points.shape[1]):
        row, slot = xp.nonzero(share[part] > NEGLIGIBLE)
        held, rows = share[part][row, slot], row + part.start
        if shard.weight is not None:
            held = held * shard.weight[rows]
        total += weighted_sums(shard, rows, table.cluster[part][row, slot], held, k)
    return *parted(total), float(xp.sum(doubles(shard, paid)))


def _placed(shard: Shard, asked: Asked, prices: FloatArray, key: str, *own: Any) -> Placed:
    """The places of a shard's rows; ``own`` are its counts, and the rows and slots of its patch."""
    count, rows, slots = own
    table = _table(shard, asked, count)
    found = shard.memo.get("placed")
    if found is None or found[0] != key or found[1].table is not table:
        found = key, table.at(prices)
        shard.memo["placed"] = found
    placed: Placed = found[1]
    if not len(rows):
        return placed
    return placed.moved(Open(rows, slots, slots, slots), slots)


def stand(
    shard: Shard, asked: Asked, prices: FloatArray, key: str, *own: Any
) -> tuple[IntArray, float]:
    """Rows in each cluster, and the largest cost of one."""
    placed = _placed(shard, asked, prices, key, *own)
    return placed.counted, placed.scale


def brought_part(shard: Shard, asked: Asked, prices: FloatArray, key: str, *own: Any) -> IntArray:
    """The clusters of a shard's rows."""
    return _placed(shard, asked, prices, key, *own).brought()


def reach_part(
    shard: Shard,
    asked: Asked,
    prices: FloatArray,
    key: str,
    number: float,
    each: FloatArray,
    *own: Any,
) -> FloatArray:
    """Reach of the rows that are the shard's part of so many, in shares of all rows."""
    placed, m = _placed(shard, asked, prices, key, *own), len(shard)
    if not m:
        return np.zeros(len(each))
    return placed.reach(int(np.ceil(number * m)), np.ceil(each * m).astype(np.int64))


def near_part(
    shard: Shard, asked: Asked, prices: FloatArray, key: str, reach: FloatArray, *own: Any
) -> Open:
    """Rows within reach."""
    return _placed(shard, asked, prices, key, *own).near(reach)


def astray_part(
    shard: Shard, asked: Asked, prices: FloatArray, key: str, others: FloatArray, *own: Any
) -> float:
    """The most that a row would save at other prices by another of its candidates."""
    return _placed(shard, asked, prices, key, *own).astray(others)


def beyond_part(
    shard: Shard, asked: Asked, prices: FloatArray, key: str, others: FloatArray, *own: Any
) -> float:
    """The most that a row would save at other prices by a cluster beyond its candidates."""
    placed = _placed(shard, asked, prices, key, *own)
    rows, total = placed.doubtful(others)
    here, local = Here.of(shard, replace(asked.ask, prices=others)), shard.double(asked.local)
    saved, count = 0.0, placed.table.count
    for part in chunks(shard, len(others), len(rows)):
        some = rows[part]
        if not len(some):
            break
        weight = _weight(shard, some, count)
        constant = _squares(shard, some, local, weight)
        priced = costs_where(shard, here, some, weight)
        priced += here.prices
        least_cost = shard.xp.min(priced, axis=1) + constant
        saved = max(saved, float((total[part] - least_cost).max()))
    return saved


def labels_part(
    shard: Shard,
    asked: Asked,
    prices: FloatArray,
    key: str,
    count: Any,
    rows: IntArray,
    slots: IntArray,
    tied: IntArray,
    where: IntArray,
) -> Any:
    """Clusters of all rows of a shard, of which the tied ones are where they were placed."""
    labels = _placed(shard, asked, prices, key, count, rows, slots).labels
    if len(tied):
        labels = labels + 0
        labels[shard.put(tied)] = shard.put(where)
    return labels
