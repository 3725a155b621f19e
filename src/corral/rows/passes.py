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
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import added_by, to_host
from .._typing import FloatArray, IntArray
from ..numbers import (
    BENT,
    BLOCK_ENTRIES,
    CHEAPEST,
    DECIDED,
    ENTRIES_ON_DEVICE,
    KEPT,
    SORTED_FROM,
    SURE,
)
from .shard import Patch, Shard

#: The part of one by which the numbers drawn for consecutive rows differ (the golden section); such
#: numbers are spread evenly, so that rows that are alike are shared out as their shares say.
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Curvature:
    """Minus the second derivatives of the soft dual times the temperature, (k q, k q), in factors.

    A row of shares p, which add up to one, and amounts a adds ``(diag(p) - p p')`` times ``a a'``.
    """

    own: FloatArray  # sum of the first part, blocks on the diagonal, (k, q, q)
    held: Any  # ``a p`` of each row, a sparse array of SciPy's, (r, k q)

    @classmethod
    def of(
        cls, share: FloatArray, where: IntArray, amount: FloatArray, k: int, each: FloatArray
    ) -> Curvature:
        """That of rows which count ``each`` times, (r,).

        ``share`` and ``where``, (r, t), are shares and their clusters, ``amount`` is (r, q).
        Large shares are scaled so that they add up to one, the others are left out.
        """
        q, large = amount.shape[1], share > DECIDED**2 * share.max(axis=1, keepdims=True, initial=0)
        number, total = large.sum(axis=1), np.where(large, share, 0.0).sum(axis=1)
        part, cluster = share[large] / np.repeat(total, number), where[large].astype(np.int64)
        amount, ends = np.sqrt(each)[:, None] * amount, np.concatenate([[0], np.cumsum(number)])
        parts = sparse.csr_array((part, cluster, ends), shape=(len(share), k))
        own = parts.T @ (amount[:, :, None] * amount[:, None, :]).reshape(-1, q * q)
        held = part[:, None] * np.repeat(amount, number, axis=0)
        cell = cluster[:, None] * q + np.arange(q)
        rows = sparse.csr_array((held.ravel(), cell.ravel(), ends * q), shape=(len(share), k * q))
        return cls(own.reshape(k, q, q), rows)

    def __add__(self, other: Curvature) -> Curvature:
        """Of the rows of both."""
        return Curvature(self.own + other.own, sparse.vstack([self.held, other.held], "csr"))

    def __mul__(self, times: float) -> Curvature:
        """Of rows that are so many times as many."""
        return Curvature(times * self.own, np.sqrt(times) * self.held)

    def __matmul__(self, prices: FloatArray) -> FloatArray:
        """Its product with prices, (k q,)."""
        own = (self.own @ prices.reshape(len(self.own), -1, 1)).ravel()
        product: FloatArray = own - self.held.T @ (self.held @ prices)
        return product

    def diagonal(self) -> FloatArray:
        """Its diagonal, (k q,)."""
        own = np.diagonal(self.own, axis1=1, axis2=2).ravel()
        rest: FloatArray = own - np.bincount(self.held.indices, self.held.data**2, len(own))
        return rest


@dataclass(frozen=True)
class Look:
    """The soft assignment at some prices and a temperature, as one pass over all groups shows it.

    With shares ``P = softmax(-(c + A p) / temperature)`` of the clusters the loads are ``A'P``.
    They are the slopes of the value.
    """

    value: float  # sum of the soft least costs
    load: FloatArray  # what clusters hold of the amounts in shares, (k, q)
    undecided: int  # groups whose largest share is not close to one
    #: Minus the second derivatives times the temperature, (k q, k q); in factors if it is large.
    curvature: Any
    blind: int = 0  # groups that may miss a cheaper cluster than those that have shares

    def __add__(self, other: Look) -> Look:
        """Of the groups of both."""
        return Look(*map(add, vars(self).values(), vars(other).values()))

    def __mul__(self, times: float) -> Look:
        """Of groups that are so many times as many."""
        counts = round(self.undecided * times), self.curvature * times, round(self.blind * times)
        return Look(self.value * times, self.load * times, *counts)


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

    labels: Any  # (m,), of the smallest type in NumPy
    second: Any  # the cheapest other cluster, (m,)
    margin: Any  # what that costs more, below 0 for a row that was drawn to a dearer one, (m,)


def chunks(shard: Shard, width: int) -> Iterator[slice]:
    """Slices of all rows, at least one, that fit a work array of this width."""
    entries = BLOCK_ENTRIES if str(shard.example.device).startswith("cpu") else ENTRIES_ON_DEVICE
    entries //= shard.memo.get("shrunk", 1)
    step = max(entries // max(width, 1), SORTED_FROM)
    return (slice(start, start + step) for start in range(0, max(len(shard), 1), step))


def doubles(shard: Shard, a: Any) -> Any:
    """The array in double precision."""
    return shard.xp.astype(a, shard.xp.float64)


def weights(shard: Shard, part: slice) -> Any:
    """The weights of some rows in double precision."""
    if shard.weight is None:
        return shard.xp.ones_like(shard.points[part][:, 0], dtype=shard.xp.float64)
    return doubles(shard, shard.weight[part])


def on_points(shard: Shard, function: Any, *args: Any) -> Any:
    """``function(points, *args)`` of the points of a shard."""
    return function(shard.points, *args)


def rows_of(shard: Shard, rows: IntArray) -> FloatArray:
    """Some of the points."""
    if not len(rows):
        return np.empty((0, shard.example.shape[1]))
    return to_host(shard.points[shard.put(rows)])


def finite(shard: Shard) -> int:
    """Number of the first row with a value that is not finite, or -1."""
    for part in chunks(shard, shard.points.shape[1]):
        bad = ~shard.xp.all(shard.xp.isfinite(shard.points[part]), axis=1)
        if bool(shard.xp.any(bad)):
            return int(part.start) + int(to_host(bad).argmax())
    return -1


def moments(shard: Shard, about: FloatArray) -> tuple[float, FloatArray, float]:
    """Weight, ``sum w q`` and ``sum w |q|^2``; ``q`` is the point less ``about``."""
    d = shard.example.shape[1]
    total, sums, spread = 0.0, np.zeros(d), 0.0
    for part in chunks(shard, d):
        q = doubles(shard, shard.points[part]) - shard.double(about)
        weight = weights(shard, part)
        wq = q if shard.weight is None else q * weight[:, None]
        total += float(shard.xp.sum(weight))
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
        self.factor = factor

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
            return self._pinned(
                part, shard.xp.addmm(self.offsets, shard.points[part], self.centers)
            )
        costs = shard.points[part] @ self.centers
        costs += self.offsets
        if shard.weight is not None:
            costs *= shard.weight[part][:, None]
        if self.prices is not None:
            costs += self.amounts(part) @ self.prices
        return self._pinned(part, costs)

    def _pinned(self, part: slice, costs: Any) -> Any:
        """The costs less the prices of soft pins."""
        if self.shard.pins is not None:
            rows, clusters, price = self.shard.pins
            own = slice(*np.searchsorted(rows, [part.start, part.stop]))
            at = self.shard.put(rows[own] - part.start), self.shard.put(clusters[own])
            costs[at] -= self.shard.put(self.factor * price[own])
        return costs


def soft_loads(shard: Shard, ask: Ask, temperature: float) -> Look:
    """The soft assignment of the rows, for amounts in their units.

    The curvature is that of the rows which lie between clusters, or of some of them; the sum over
    a row of shares P is ``(A^2)'(diag(P) - P P')``.
    """
    if ask.near is not None:
        return _soft_loads_near(shard, ask, ask.near, temperature)
    xp, here, n_sums = shard.xp, Here(shard, ask, -1.0 / temperature), len(ask.unit)
    k, device = here.k, shard.points.device
    load = xp.zeros((k, n_sums), dtype=xp.float64, device=device)
    value, undecided = (xp.zeros((), dtype=xp.float64, device=device) for _ in range(2))
    bent = Bent(shard, k, n_sums)
    for part in chunks(shard, k):
        share, top = _softmax(shard, here.costs(part))
        most, own = xp.max(share, axis=1), here.amounts(part)
        value -= xp.sum(doubles(shard, top) - xp.log(doubles(shard, most)))
        undecided += xp.sum(doubles(shard, most < 1.0 / (1.0 + DECIDED)))
        load += doubles(shard, share.T @ own)
        bent.add(share, most, own)
    return Look(temperature * float(value), to_host(load), int(undecided), bent.matrix())


class Bent:
    """The curvature of the rows of a shard that lie between clusters."""

    def __init__(self, shard: Shard, k: int, n_sums: int) -> None:
        self.shard, self.shape = shard, (k, n_sums)
        xp, kind = shard.xp, {"dtype": shard.points.dtype, "device": shard.points.device}
        self._products = xp.zeros((k * n_sums, k * n_sums), **kind)
        self._own = xp.zeros((k, n_sums * n_sums), **kind)

    def add(self, share: Any, most: Any, own: Any) -> None:
        """Add rows with these shares (b, k), the largest ones (b,), and amounts (b, q)."""
        (k, q), xp = self.shape, self.shard.xp
        between = xp.nonzero(most < SURE)[0]
        upto = max(BENT * len(most) // (k * q * q), 1)
        some = between[:: max(-(-len(between) // upto), 1)]
        if not len(some):
            return
        weight = len(between) / len(some)
        share, own = share[some], own[some]
        self._own += weight * (share.T @ (own[:, :, None] * own[:, None, :]).reshape(-1, q * q))
        held = (share[:, :, None] * own[:, None, :]).reshape(-1, k * q)
        self._products += weight * (held.T @ held)

    def matrix(self) -> FloatArray:
        """The curvature, (k q, k q)."""
        (k, q), every = self.shape, np.arange(self.shape[0])
        matrix = -to_host(self._products)
        matrix.reshape(k, q, k, q)[every, :, every, :] += to_host(self._own).reshape(k, q, q)
        return matrix


def _softmax(shard: Shard, logits: Any) -> tuple[Any, Any]:
    """Shares of each row, which add up to one, and the largest logits; NumPy's are written over."""
    top = shard.xp.max(logits, axis=1)
    if shard.xp is not np:
        return shard.xp.softmax(logits, 1), top
    logits -= top[:, None]
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits, top


def _soft_loads_near(shard: Shard, ask: Ask, near: Ask, temperature: float) -> Look:
    """The same over the few clusters where each row costs least at the prices of ``near``.

    The curvature is that of some rows which lie between clusters, with about as many shares as all
    prices need.
    """
    cluster, cost, reach = _cheapest(shard, near)
    here, xp, k, n_sums = Here(shard, ask), shard.xp, len(ask.offsets), len(ask.unit)
    t, load, bent = cluster.shape[1], np.zeros((k, n_sums)), []
    change = ask.prices - near.prices
    prices, most, least = (shard.put(a) for a in (ask.prices, change.max(1), change.min(1)))
    value, undecided, blind = 0.0, 0, 0
    for part in chunks(shard, t):
        own, where = here.amounts(part), cluster[part]
        logits = cost[part] + 0.0
        for q in range(n_sums):
            logits += own[:, q : q + 1] * prices[q][where]
        logits /= -temperature
        share, top = _softmax(shard, logits)
        # No other cluster costs less than this at the prices now.
        beyond = reach[part] + xp.sum(xp.where(own > 0.0, own * least, own * most), axis=1)
        blind += int(xp.sum(doubles(shard, beyond < -temperature * top)))
        largest, flat = xp.max(share, axis=1), where.reshape(-1)
        value -= float(xp.sum(doubles(shard, top) - xp.log(doubles(shard, largest))))
        undecided += int(xp.sum(doubles(shard, largest < 1.0 / (1.0 + DECIDED))))
        for q in range(n_sums):
            held = own[:, q : q + 1] * share
            load[:, q] += added_by(flat, held.reshape(-1), k)
        between = xp.nonzero(largest < SURE)[0]
        upto = BENT * k * len(largest) / (t * max(len(shard), 1))
        some = between[:: max(int(np.ceil(len(between) / max(upto, 1.0))), 1)]
        each = np.full(len(some), len(between) / max(len(some), 1))
        bent.append((*(to_host(column[some]) for column in (share, where, own)), each))
    share, where, own, each = (np.concatenate(column) for column in zip(*bent, strict=True))
    curvature = Curvature.of(share, where, own * ask.unit, k, each)
    return Look(temperature * value, load, undecided, curvature, blind)


def _cheapest(shard: Shard, near: Ask) -> tuple[Any, Any, Any]:
    """The few clusters where each row costs least, and the costs without prices, (m, t) both.

    And the largest of the costs with prices, (m,), infinite where there are no other clusters.
    """
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
            own, reach = here.amounts(part), xp.max(cost, axis=1) + (np.inf if t == here.k else 0)
            for q in range(len(prices)):
                cost = cost - own[:, q : q + 1] * prices[q][where]
            parts.append((xp.astype(where, xp.int32), cost, reach))
        every = (xp.concat(column) for column in zip(*parts, strict=True))
        found = shard.memo["cheapest"] = near.key, *every
    return found[1], found[2], found[3]


def place(
    shard: Shard, where: Where, centers: FloatArray | None, patch: Patch
) -> tuple[FloatArray, IntArray]:
    """Put rows into clusters: sums of the amounts (k, q), and rows (k,).

    With centres the labels with the patch are measured there, for :func:`measured`.
    """
    placed, k = placed_at(shard, where.ask), len(where.ask.offsets)
    if centers is not None:
        shard.memo["measured"] = where.key, centers, measured(shard, where, centers, patch)
    counted: IntArray = added_by(placed.labels, None, k)
    return amounts_by(shard, placed.labels, k), counted


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
            share = _softmax(shard, worth + 0.0)[0]
            number = (doubles(shard, rows) + (part.start + 1)) * GOLDEN
            below = xp.cumsum(share, axis=1) < xp.astype(number % 1.0, share.dtype)[:, None]
            drawn = xp.sum(xp.astype(below, xp.int32), axis=1)
            # A row that rounding draws beyond the last cluster stays in its cheapest.
            label = xp.where(drawn < here.k, xp.astype(drawn, label.dtype), label)
        best = worth[rows, label]
        worth[rows, label] = -np.inf
        second = xp.argmax(worth, axis=1)
        margin = (best - worth[rows, second]) * scale
        kind = xp.int32 if xp is not np else np.min_scalar_type(here.k - 1)
        parts.append((xp.astype(label, kind), xp.astype(second, kind), margin))
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


def margins_of(shard: Shard, ask: Ask) -> FloatArray:
    """What the next best cluster of each row costs more."""
    return to_host(placed_at(shard, ask).margin)


def number_within(shard: Shard, ask: Ask, reach: float) -> int:
    """How many rows have at most this margin."""
    return int(shard.xp.count_nonzero(placed_at(shard, ask).margin <= reach))


def rows_within(shard: Shard, ask: Ask, reach: float) -> IntArray:
    """Rows whose margin is at most this."""
    return to_host(shard.xp.nonzero(placed_at(shard, ask).margin <= reach)[0])


def labels_of(shard: Shard, where: Where, patch: Patch) -> Any:
    """The clusters of a shard's rows, where the rows are; the rows of the patch are elsewhere."""
    known: dict[str, Any] = shard.memo.setdefault("labels", {})
    if where.key not in known:
        rows, moved = patch[0], shard.put(patch[1].astype(np.int32))
        if shard.xp is np:
            moved = moved.astype(np.min_scalar_type(int(moved.max(initial=0))))
        labels = moved if len(rows) == len(shard) else placed_at(shard, where.ask).labels
        if 0 < len(rows) < len(shard):
            labels = labels + 0
            labels[shard.put(rows)] = moved
        known[where.key] = labels
        for old in [*known][:-KEPT]:
            del known[old]
    return known[where.key]


def brought(shard: Shard, where: Where, patch: Patch) -> IntArray:
    """The clusters as a NumPy array."""
    return to_host(labels_of(shard, where, patch))


def labels_at(shard: Shard, where: Where, patch: Patch, rows: IntArray) -> IntArray:
    """The clusters of some rows."""
    return to_host(labels_of(shard, where, patch)[shard.put(rows)])


def measured(
    shard: Shard, where: Where, centers: FloatArray, patch: Patch
) -> tuple[FloatArray, FloatArray, float]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, and the inertia at centres."""
    known = shard.memo.get("measured")
    if known is not None and known[0] == where.key and np.array_equal(known[1], centers):
        result: tuple[FloatArray, FloatArray, float] = known[2]
        return result
    labels = labels_of(shard, where, patch)
    return *sums_by_label(shard, labels, len(centers)), inertia_by(shard, labels, centers)


def amounts_kept(shard: Shard, where: Where, patch: Patch) -> FloatArray:
    """Sums of the amounts of the clusters, (k, q)."""
    return amounts_by(shard, labels_of(shard, where, patch), len(where.ask.offsets))


def amounts_by(shard: Shard, where: Any, k: int) -> FloatArray:
    """Sums of the amounts of the clusters, (k, q), in double precision."""
    amounts = shard.amounts
    if amounts is None:
        counted: FloatArray = added_by(where, None, k).astype(np.float64)
        return counted[:, None]
    return _sums_of(shard, where, k, amounts.shape[1], lambda part: doubles(shard, amounts[part]))


def sums_by_label(shard: Shard, where: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, in double precision."""
    xp, d = shard.xp, shard.example.shape[1]

    def columns(part: slice) -> Any:
        weight = weights(shard, part)[:, None]
        return xp.concat([doubles(shard, shard.points[part]) * weight, weight], axis=1)

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
    return to_host(sums)


def inertia_by(shard: Shard, where: Any, centers: FloatArray) -> float:
    """Weighted sum of the squared distances to centres in the shard's own coordinates."""
    xp, center = shard.xp, shard.double(centers)
    total = xp.zeros((), dtype=xp.float64, device=shard.points.device)
    for part in chunks(shard, 4 * shard.points.shape[1]):
        off = doubles(shard, shard.points[part]) - center[where[part]]
        total += xp.sum(xp.sum(off * off, axis=1) * weights(shard, part))
    return float(total)
