"""The work on one shard, for passes over all shards: NumPy's arrays or PyTorch's tensors.

Each function takes a :class:`~.shard.Shard` first and gives small NumPy arrays.  A row with point
p, weight w and amounts a costs ``w (offset_j - 2 p . c_j) + a . price_j`` in cluster j, up to a
constant of the row.  Rows are worked on in blocks, so that no array of all rows and clusters is
made.  Products have the precision of the points; sums over rows are in double precision.

The clusters of the rows stay in the shard's memo, and so do the margins and the few cheapest
clusters of each row; a pass that needs them and does not find them computes them again.  Sums are
taken once and labels are kept: labels that were computed again on another machine could differ
where costs are equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import added_by, to_host
from .._typing import FloatArray, IntArray
from .shard import Patch, Shard

#: Entries of a work array in memory; larger ones do not stay in the cache of a core.
ENTRIES = 1 << 20
#: Entries of a work array on a device; smaller ones do not keep all of a GPU busy.
ENTRIES_ON_DEVICE = 1 << 25
#: Least rows of a block: products of fewer rows with many clusters are slow.  More need more
#: memory, a block of so many rows and all clusters.
LEAST_ROWS = 256
#: Clusters of each row that shares are made over where clusters are very many (:attr:`Ask.near`).
#: More take more memory and time; fewer miss shares of rows that lie between many clusters.
CHEAPEST = 32
#: Labels that a shard keeps: those of the best answer, and of the steps of the next one.
KEPT = 6
#: Clusters from which sums on a device are those of sorted rows.  A matrix of all rows and clusters
#: takes longer there: 1.4 times with 256 clusters of 10,000,000 x 64 rows.
SORTED_FROM = 256
#: Margins of a shard that tell how large they are; more tell it more exactly.
MARGINS = 1 << 14
#: The part of one by which the numbers drawn for consecutive rows differ (the golden section); such
#: numbers are spread evenly, so that rows that are alike are shared out as their shares say.
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Ask:
    """Centres and prices, which say what every row costs in every cluster."""

    centers: FloatArray  # (k, d)
    offsets: FloatArray  # the clusters' part of the costs, (k,)
    prices: FloatArray  # of the amounts in their units, (q, k)
    unit: FloatArray  # of the amounts, (q,)
    key: str  # different for every question; the memo is valid for one key
    temperature: float = 0.0  # at which clusters are drawn; 0 for the cheapest cluster of each row
    near: Ask | None = None  # the question whose cheapest clusters alone have shares; None for all


@dataclass(frozen=True)
class Where:
    """What the labels of the rows follow from; each shard has a patch of its own besides."""

    ask: Ask
    key: str  # different for different patches


@dataclass(frozen=True)
class Placed:
    """The clusters of the rows of a shard."""

    labels: Any  # int32, (m,)
    second: Any  # the cheapest other cluster, int32, (m,)
    margin: Any  # what that costs more, below 0 for a row that was drawn to a dearer one, (m,)


def chunks(shard: Shard, width: int) -> Iterator[slice]:
    """Slices of all rows, at least one, that fit a work array of this width."""
    entries = ENTRIES if str(shard.points.device).startswith("cpu") else ENTRIES_ON_DEVICE
    step = max(entries // max(width, 1), LEAST_ROWS)
    return (slice(start, start + step) for start in range(0, max(len(shard), 1), step))


def doubles(shard: Shard, a: Any) -> Any:
    """The array in double precision."""
    return shard.xp.astype(a, shard.xp.float64)


def on_points(shard: Shard, function: Any, *args: Any) -> Any:
    """``function(points, *args)`` of the points of a shard."""
    return function(shard.points, *args)


def rows_of(shard: Shard, rows: IntArray) -> FloatArray:
    """Some of the points."""
    points: FloatArray = to_host(shard.points[shard.put(rows)])
    return points


def finite(shard: Shard) -> int:
    """Number of the first row with a value that is not finite, or -1."""
    for part in chunks(shard, shard.points.shape[1]):
        bad = ~shard.xp.all(shard.xp.isfinite(shard.points[part]), axis=1)
        if bool(shard.xp.any(bad)):
            return int(part.start) + int(to_host(bad).argmax())
    return -1


def moments(shard: Shard, about: FloatArray) -> tuple[float, FloatArray, float]:
    """Weight, ``sum w q`` and ``sum w |q|^2``; ``q`` is the point less ``about``."""
    d = shard.points.shape[1]
    total, sums, spread = 0.0, np.zeros(d), 0.0
    for part in chunks(shard, d):
        q = doubles(shard, shard.points[part]) - shard.double(about)
        wq = q if shard.weight is None else q * doubles(shard, shard.weight[part])[:, None]
        weight = None if shard.weight is None else shard.weight[part]
        total += float(q.shape[0] if weight is None else shard.xp.sum(doubles(shard, weight)))
        sums += to_host(shard.xp.sum(wq, axis=0))
        spread += float(shard.xp.sum(wq * q))
    return total, sums, spread


class Here:
    """A question where the shard is, in the precision of its points, times a factor."""

    def __init__(self, shard: Shard, ask: Ask, factor: float = 1.0) -> None:
        self.shard, self.unit, self.k = shard, shard.double(ask.unit), len(ask.offsets)
        self.centers = shard.put(-2.0 * factor * ask.centers).T
        offsets, prices = factor * ask.offsets, factor * ask.prices
        self.fused = shard.weight is None and shard.amounts is None
        if self.fused and len(prices):  # one price of each cluster, the same for all rows
            offsets = offsets + prices[0]
        self.offsets = shard.put(offsets)
        self.prices = None if self.fused or not len(prices) else shard.put(prices)

    def amounts(self, part: slice) -> Any:
        """Amounts of some rows in their units and the precision of the points, (b, q)."""
        shard = self.shard
        if shard.amounts is None:
            return shard.xp.ones_like(shard.points[part][:, :1])
        return shard.xp.astype(shard.amounts[part] / self.unit, shard.points.dtype)

    def costs(self, part: slice) -> Any:
        """Costs of some rows in all clusters, prices included, (b, k)."""
        shard = self.shard
        if self.fused and shard.xp is not np:
            return shard.xp.addmm(self.offsets, shard.points[part], self.centers)
        costs = shard.points[part] @ self.centers
        costs += self.offsets
        if shard.weight is not None:
            costs *= shard.weight[part][:, None]
        if self.prices is not None:
            costs += self.amounts(part) @ self.prices
        return costs


def soft_loads(shard: Shard, ask: Ask, temperature: float) -> tuple[FloatArray, FloatArray]:
    """What clusters hold of the amounts in shares, and how that falls with the prices, (q, k) both.

    Shares are ``P = softmax(-costs / temperature)`` over the clusters; the loads are ``A'P`` and
    the curvature is ``(A^2)'(P (1 - P))``, both for amounts in their units.
    """
    if ask.near is not None:
        return _soft_loads_near(shard, ask, temperature)
    xp, here = shard.xp, Here(shard, ask, -1.0 / temperature)
    shape = len(ask.unit), here.k
    load, bend = (xp.zeros(shape, dtype=xp.float64, device=shard.points.device) for _ in range(2))
    for part in chunks(shard, here.k):
        share = _softmax(shard, here.costs(part))
        if shard.amounts is None:
            held = xp.sum(share, axis=0)
            load += doubles(shard, held)
            share *= share
            bend += doubles(shard, held - xp.sum(share, axis=0))
            continue
        own = here.amounts(part).T
        load += doubles(shard, own @ share)
        share -= share * share
        bend += doubles(shard, (own * own) @ share)
    return to_host(load), to_host(bend)


def _softmax(shard: Shard, logits: Any) -> Any:
    """Shares of each row, which add up to one; NumPy's are written over."""
    if shard.xp is not np:
        return shard.xp.softmax(logits, 1)
    logits -= logits.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def _soft_loads_near(shard: Shard, ask: Ask, temperature: float) -> tuple[FloatArray, FloatArray]:
    """Soft loads over the few clusters where each row costs least at the prices of ``ask.near``."""
    cluster, cost = _cheapest(shard, ask)
    here, k = Here(shard, ask), len(ask.offsets)
    load, bend = np.zeros((len(ask.unit), k)), np.zeros((len(ask.unit), k))
    prices = shard.put(ask.prices)
    for part in chunks(shard, cluster.shape[1]):
        own, where = here.amounts(part), cluster[part]
        logits = cost[part] + 0.0
        for q in range(len(load)):
            logits += own[:, q : q + 1] * prices[q][where]
        logits /= -temperature
        share, flat = _softmax(shard, logits), where.reshape(-1)
        for q in range(len(load)):
            held = own[:, q : q + 1] * share
            load[q] += added_by(flat, held.reshape(-1), k)
            held *= own[:, q : q + 1] * (1.0 - share)
            bend[q] += added_by(flat, held.reshape(-1), k)
    return load, bend


def _cheapest(shard: Shard, ask: Ask) -> tuple[Any, Any]:
    """The few clusters where each row costs least, (m, t), and the costs without prices."""
    near = ask if ask.near is None else ask.near
    found = shard.memo.get("cheapest")
    if found is None or found[0] != near.key:
        shard.memo.pop("cheapest", None)  # both at once would take twice the memory
        here, xp, parts = Here(shard, near), shard.xp, []
        prices, t = shard.put(near.prices), min(CHEAPEST, here.k)
        for part in chunks(shard, here.k):
            priced = here.costs(part)
            if xp is np:
                where = np.argpartition(priced, t - 1, axis=1)[:, :t]
                cost = np.take_along_axis(priced, where, axis=1)
            else:
                cost, where = priced.topk(t, dim=1, largest=False, sorted=False)
            own = here.amounts(part)
            for q in range(len(prices)):
                cost = cost - own[:, q : q + 1] * prices[q][where]
            parts.append((xp.astype(where, xp.int32), cost))
        both = (xp.concat(column) for column in zip(*parts, strict=True))
        found = shard.memo["cheapest"] = near.key, *both
    return found[1], found[2]


def place(shard: Shard, ask: Ask) -> tuple[FloatArray, IntArray, FloatArray]:
    """Put rows into clusters: sums of the amounts (q, k), rows (k,), and margins of some rows."""
    placed, k = placed_at(shard, ask), len(ask.offsets)
    counted: IntArray = added_by(placed.labels, None, k)
    margins = to_host(placed.margin[:: max(1, len(shard) // MARGINS)])
    return amounts_by(shard, placed.labels, k), counted, margins


def placed_at(shard: Shard, ask: Ask) -> Placed:
    """The cluster of each row, the next best one and the margin.

    At a temperature clusters are drawn in proportion to their shares, which splits rows that are
    alike where the cheapest cluster would take all of them.
    """
    found = shard.memo.get("placed")
    if found is None or found[0] != ask.key:
        found = shard.memo["placed"] = ask.key, _place(shard, ask)
    placed: Placed = found[1]
    return placed


def _place(shard: Shard, ask: Ask) -> Placed:
    xp, scale = shard.xp, ask.temperature or 1.0
    here, parts = Here(shard, ask, -1.0 / scale), []
    for part in chunks(shard, here.k):
        worth = here.costs(part)
        rows = xp.arange(worth.shape[0], device=worth.device)
        label = xp.argmax(worth, axis=1)
        if ask.temperature:
            share = _softmax(shard, worth + 0.0)
            number = (doubles(shard, rows) + (part.start + 1)) * GOLDEN
            below = xp.cumsum(share, axis=1) < xp.astype(number % 1.0, share.dtype)[:, None]
            drawn = xp.sum(xp.astype(below, xp.int32), axis=1)
            # A row that rounding draws beyond the last cluster stays in its cheapest.
            label = xp.where(drawn < here.k, xp.astype(drawn, label.dtype), label)
        best = worth[rows, label]
        worth[rows, label] = -np.inf
        second = xp.argmax(worth, axis=1)
        margin = (best - worth[rows, second]) * scale
        parts.append((xp.astype(label, xp.int32), xp.astype(second, xp.int32), margin))
    return Placed(*(xp.concat(column) for column in zip(*parts, strict=True)))


def least_margins(
    shard: Shard, ask: Ask, number: float, own: FloatArray, to: FloatArray
) -> IntArray:
    """Rows of the smallest margins, in order.

    ``own`` and ``to``, (k,), are the parts of the rows of each cluster, and of those whose next
    best it is; ``number`` is a part of all rows of the shard.
    """
    placed, k, xp = placed_at(shard, ask), len(ask.offsets), shard.xp
    if not len(shard):
        return np.empty(0, np.int64)
    order = xp.argsort(placed.margin)
    found = [order[: int(np.ceil(number * len(shard)))]]
    for where, parts in ((placed.labels, own), (placed.second, to)):
        if parts.any():
            found.append(_first_of_each(shard, order, where, parts, k))
    rows: IntArray = np.unique(np.concatenate([to_host(some) for some in found]))
    return rows


def _first_of_each(shard: Shard, order: Any, where: Any, parts: FloatArray, k: int) -> Any:
    """The first rows in this order of each cluster, a part of its rows."""
    counted: IntArray = added_by(where, None, k)
    most = np.minimum(np.ceil(parts * counted), counted).astype(np.int64)
    ranked = order[shard.xp.argsort(where[order], stable=True)]
    cluster = where[ranked]
    first = shard.put(np.cumsum(counted) - counted)
    rank = shard.xp.arange(len(ranked), device=ranked.device) - first[cluster]
    return ranked[rank < shard.put(most)[cluster]]


def rows_within(shard: Shard, ask: Ask, reach: float) -> IntArray:
    """Rows whose margin is at most this."""
    rows: IntArray = to_host(shard.xp.nonzero(placed_at(shard, ask).margin <= reach)[0])
    return rows


def labels_of(shard: Shard, where: Where, patch: Patch) -> Any:
    """The clusters of a shard's rows, where the rows are; the rows of the patch are elsewhere."""
    known: dict[str, Any] = shard.memo.setdefault("labels", {})
    if where.key not in known:
        labels, (rows, moved) = placed_at(shard, where.ask).labels, patch
        if len(rows):
            labels = labels + 0
            labels[shard.put(rows)] = shard.put(moved.astype(np.int32))
        known[where.key] = labels
        for old in [*known][:-KEPT]:
            del known[old]
    return known[where.key]


def brought(shard: Shard, where: Where, patch: Patch) -> IntArray:
    """The clusters as a NumPy array."""
    labels: IntArray = to_host(labels_of(shard, where, patch))
    return labels


def labels_at(shard: Shard, where: Where, patch: Patch, rows: IntArray) -> IntArray:
    """The clusters of some rows."""
    labels: IntArray = to_host(labels_of(shard, where, patch)[shard.put(rows)])
    return labels


def measured(
    shard: Shard, where: Where, centers: FloatArray, patch: Patch
) -> tuple[FloatArray, FloatArray, float]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, and the inertia at centres."""
    labels = labels_of(shard, where, patch)
    return *sums_by_label(shard, labels, len(centers)), inertia_by(shard, labels, centers)


def amounts_kept(shard: Shard, where: Where, patch: Patch) -> FloatArray:
    """Sums of the amounts of the clusters, (q, k)."""
    return amounts_by(shard, labels_of(shard, where, patch), len(where.ask.offsets))


def label_sums(shard: Shard, k: int, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` and ``sum w`` of given labels."""
    return sums_by_label(shard, shard.put(labels), k)


def label_inertia(shard: Shard, centers: FloatArray, labels: IntArray) -> float:
    """Weighted sum of the squared distances of rows to the centres of given labels."""
    return inertia_by(shard, shard.put(labels), centers)


def amounts_by(shard: Shard, where: Any, k: int) -> FloatArray:
    """Sums of the amounts of the clusters, (q, k), in double precision."""
    amounts = shard.amounts
    if amounts is None:
        counted: FloatArray = added_by(where, None, k).astype(np.float64)
        return counted[None]
    return _sums_of(shard, where, k, amounts.shape[1], lambda part: amounts[part]).T


def sums_by_label(shard: Shard, where: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, in double precision."""
    xp, d = shard.xp, shard.points.shape[1]

    def columns(part: slice) -> Any:
        points = doubles(shard, shard.points[part])
        one = xp.ones_like(points[:, :1])
        weight = one if shard.weight is None else doubles(shard, shard.weight[part])[:, None]
        return xp.concat([points * weight, weight], axis=1)

    total = _sums_of(shard, where, k, d + 1, columns)
    return total[:, :-1], total[:, -1]


def _sums_of(
    shard: Shard, where: Any, k: int, width: int, columns: Callable[[slice], Any]
) -> FloatArray:
    """Sums over the rows of each cluster of columns in double precision, (k, width).

    They do not depend on the order in which threads of a device add.
    """
    xp, total = shard.xp, np.zeros((k, width))
    if not len(shard):
        return total
    if xp is np:
        for part in chunks(shard, 4 * width):
            own = where[part]
            entries = np.ones(len(own)), own, np.arange(len(own) + 1)
            total += sparse.csc_array(entries, shape=(k, len(own))) @ columns(part)
        return total
    sums = xp.zeros((k, width), dtype=xp.float64, device=where.device)
    numbers = xp.arange(k, device=where.device)[:, None]
    for part in chunks(shard, 4 * max(width, k if k < SORTED_FROM else 0)):
        own, values = where[part], columns(part)
        if k < SORTED_FROM:
            sums += doubles(shard, own[None, :] == numbers) @ values
            continue
        lengths = own.bincount(minlength=k)
        ordered = values[own.sort(stable=True).indices]
        sums += xp.segment_reduce(ordered, "sum", lengths=lengths, axis=0, unsafe=True)
    host: FloatArray = to_host(sums)
    return host


def inertia_by(shard: Shard, where: Any, centers: FloatArray) -> float:
    """Weighted sum of the squared distances to centres in the shard's own coordinates."""
    xp, center = shard.xp, shard.double(centers)
    total = xp.zeros((), dtype=xp.float64, device=shard.points.device)
    for part in chunks(shard, 4 * shard.points.shape[1]):
        off = doubles(shard, shard.points[part]) - center[where[part]]
        squares = xp.sum(off * off, axis=1)
        weight = None if shard.weight is None else doubles(shard, shard.weight[part])
        total += xp.sum(squares if weight is None else squares * weight)
    return float(total)
