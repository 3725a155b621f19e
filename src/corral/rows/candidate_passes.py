"""The work on the candidates of one shard, for passes over all shards.

Each function takes a :class:`~.shard.Shard` first and gives small NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from .candidates import Candidates, Placed
from .choices import Open
from .shard import Patch, Shard
from .shard_labels import kept_labels, no_sums, parted, weighted_sums
from .shard_passes import Ask, Here, chunks, costs_where, doubles, least

#: Part of a share below which it adds nothing to a mean of shares.
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class Family:
    """Parts of the rows, and the clusters that each may be cut into."""

    children: IntArray  # (p, b), -1 where there are fewer
    parts: tuple[str, Any, Any] | None  # what labels follow from; None if all rows are one part


@dataclass(frozen=True)
class Merged:
    """Candidates that are parts of the clusters, in place of the clusters themselves."""

    base: Asked
    part: IntArray  # of each cluster, (k,)
    prices: FloatArray  # of the clusters, (k,)


@dataclass(frozen=True)
class Joined:
    """Two kinds of candidates; a row has those of both."""

    base: Asked
    others: Asked


@dataclass(frozen=True)
class Asked:
    """What candidates follow from."""

    ask: Ask  # centres, prices, and the key of these candidates
    local: FloatArray  # the point that centres are relative to, (d,)
    number: int  # candidates of each row
    eps: float  # relative rounding of the points
    family: Family | None = None  # whose children are the candidates
    like: Asked | None = None  # those whose clusters are kept
    names: IntArray | None = None  # numbers of the clusters, if these are but some of all
    merged: Merged | None = None  # whose parts are the candidates
    joined: Joined | None = None  # whose candidates these are


def _table(shard: Shard, asked: Asked, count: Any) -> Candidates:
    """The candidates of a shard's rows."""
    if asked.merged is not None:
        return _merged_table(shard, asked.ask.key, asked.merged, count)
    found = shard.memo.get("candidates")
    if found is None or found[0] != asked.ask.key:
        found = asked.ask.key, _new_table(shard, asked, count)
        shard.memo["candidates"] = found
    table: Candidates = found[1]
    return table


def _new_table(shard: Shard, asked: Asked, count: Any) -> Candidates:
    """Candidates that are not in the memo."""
    if asked.joined is not None:
        base = _table(shard, asked.joined.base, count)
        return base.beside(candidates_of(shard, asked.joined.others, count))
    known = None if asked.like is None else _table(shard, asked.like, count)
    for old in ("candidates", "placed", "merged"):  # both at once would take twice the memory
        shard.memo.pop(old, None)
    return candidates_of(shard, asked, count, known)


def _merged_table(shard: Shard, key: str, merged: Merged, count: Any) -> Candidates:
    """The candidates of a shard's rows among parts."""
    found = shard.memo.get("merged")
    if found is None or found[0] != key:
        found = key, _table(shard, merged.base, count).merged(merged.part, merged.prices)
        shard.memo["merged"] = found
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
    if asked.names is not None:
        cluster = shard.put(asked.names.astype(np.int32))[cluster]
    if shard.free is not None:
        placed, first = ~shard.free, 1 if asked.names is None else 0
        cost[placed, first:], beyond[placed] = np.inf, np.inf
        each = shard.free * (1 if each is None else each)
    return Candidates(cluster, cost, beyond, ask.prices, asked.eps, count=each)


def _relatives(shard: Shard, family: Family) -> Any:
    """The children of the part of each row, (m, b); -1 where there are fewer."""
    children = shard.put(family.children.astype(np.int32))
    if family.parts is None:
        where = shard.xp.zeros(len(shard), dtype=shard.xp.int32, device=children.device)
    else:
        none: IntArray = np.empty(0, np.int64)
        where = kept_labels(shard, *family.parts, (None, (none, none), (none, none)))
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
    """The places of a shard's rows; ``own`` are its counts, and its patch: rows and clusters."""
    count, rows, where = own
    table = _table(shard, asked, count)
    found = shard.memo.get("placed")
    if found is None or found[0] != key or found[1].table is not table:
        found = key, table.at(prices)
        shard.memo["placed"] = found
    placed: Placed = found[1]
    if not len(rows):
        return placed
    same = table.cluster[shard.put(rows)] == shard.put(where)[:, None]
    slot = to_host(shard.xp.argmax(shard.xp.astype(same, shard.xp.int32), axis=1))
    return placed.moved(Open(rows, slot, slot, slot), slot)


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
    patch: Patch,
    places: Patch,
) -> Any:
    """Clusters of all rows of a shard, of which the tied ones are where they were placed."""
    none: IntArray = np.empty(0, np.int64)
    labels = _placed(shard, asked, prices, key, count, none, none).labels + 0
    for rows, where in (patch, places):
        if len(rows):
            labels[shard.put(rows)] = shard.put(where)
    return labels
