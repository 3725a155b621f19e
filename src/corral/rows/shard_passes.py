"""The work on one shard, for passes over all shards.

Each function takes a :class:`~.shard.Shard` first and gives small NumPy arrays.  The label and
margin of every row that a scan finds stay in the shard's memo; a pass that needs them and does not
find them scans again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from .cheapest import least_of
from .costs import scan
from .shard import Shard

#: Entries of a work array in memory; larger ones do not stay in the cache of a core.
ENTRIES = 1 << 18
#: Entries of a work array on a device; smaller ones do not keep all of a GPU busy.
ENTRIES_ON_DEVICE = 1 << 27


@dataclass(frozen=True)
class Ask:
    """Centres and prices, which say which cluster every row prefers.

    A row costs ``weight (norms - 2 point . center) + price`` in a cluster.
    """

    centers: FloatArray  # (k, d)
    norms: FloatArray  # (k,)
    prices: FloatArray  # (k,)
    key: str  # different for every question; the memo is valid for one key


def chunks(shard: Shard, width: int, length: int | None = None) -> Iterator[slice]:
    """Slices of the first ``length`` rows, by default all, that fit a work array of this width."""
    entries = ENTRIES if shard.xp is np else ENTRIES_ON_DEVICE
    step = max(entries // max(width, 1), 1)
    length = len(shard) if length is None else length
    return (slice(start, start + step) for start in range(0, max(length, 1), step))


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


def moments(shard: Shard, about: FloatArray) -> tuple[float, FloatArray, float, FloatArray, Any]:
    """Weight, ``sum w q``, ``sum w |q|^2``, ``sum w q q'`` and the row of largest ``w |q|^2``.

    ``q`` is the point less ``about``.
    """
    d = shard.points.shape[1]
    total, sums, spread, gram = 0.0, np.zeros(d), 0.0, np.zeros((d, d))
    heaviest: tuple[float, FloatArray] = (-1.0, np.zeros(d))
    for part in chunks(shard, d):
        q = doubles(shard, shard.points[part]) - shard.double(about)
        wq = q if shard.weight is None else q * doubles(shard, shard.weight[part])[:, None]
        far = shard.xp.sum(wq * q, axis=1)
        # A shard has no rows if must-links join all of them to rows of other shards.
        top = int(shard.xp.argmax(far)) if len(shard) else 0
        if len(shard) and float(far[top]) > heaviest[0]:
            heaviest = float(far[top]), to_host(q[top])
        weight = None if shard.weight is None else shard.weight[part]
        total += float(q.shape[0] if weight is None else shard.xp.sum(doubles(shard, weight)))
        sums += to_host(shard.xp.sum(wq, axis=0))
        spread += float(shard.xp.sum(far))
        gram += to_host(wq.T @ q)
    return total, sums, spread, gram, heaviest


def costs_of(shard: Shard, ask: Ask, rows: IntArray) -> FloatArray:
    """Costs of some rows without the prices, (r, k), in double precision."""
    costs: FloatArray = to_host(_costs(shard, ask, shard.put(rows)))
    return costs


@dataclass(frozen=True)
class Here:
    """A question where the shard is, in the precision of its points."""

    centers: Any  # (k, d)
    norms: Any  # (k,)
    prices: Any  # (k,)

    @classmethod
    def of(cls, shard: Shard, ask: Ask) -> Here:
        """Copied once for all rows."""
        return cls(*(shard.put(a) for a in (ask.centers, ask.norms, ask.prices)))


def costs_where(shard: Shard, here: Here, rows: Any, weight: Any) -> Any:
    """Costs of some rows without the prices, where the shard is."""
    costs = shard.points[rows] @ here.centers.T
    costs *= -2.0
    costs += here.norms
    if weight is not None:
        costs *= weight[:, None]
    return costs


def _costs(shard: Shard, ask: Ask, rows: Any) -> Any:
    """Costs of some rows without the prices, in double precision."""
    costs = doubles(shard, shard.points[rows]) @ shard.double(ask.centers).T
    costs *= -2.0
    costs += shard.double(ask.norms)
    if shard.weight is not None:
        costs *= doubles(shard, shard.weight[rows])[:, None]
    return costs


def least(priced: Any, t: int) -> tuple[Any, Any, Any]:
    """Places and values of the ``t`` least entries of each row, and the next one."""
    if not isinstance(priced, np.ndarray):
        most = min(t + 1, priced.shape[1])
        values, order = priced.topk(most, dim=1, largest=False)
        beyond = values[:, t] if most > t else values[:, 0] + float("inf")
        return order[:, :t], values[:, :t], beyond
    return least_of(priced, t)


def scan_rows(shard: Shard, ask: Ask) -> tuple[IntArray, float]:
    """Free rows that prefer each cluster, (k,), and the largest cost in absolute value."""
    found = shard.memo.get("scan")
    if found is None or found[0] != ask.key:
        found = (ask.key, *_scan(shard, ask))
        shard.memo["scan"] = found
    _, labels, _, scale = found
    free = labels if shard.free is None else labels[shard.free]
    return _bincount(free, len(ask.prices)), scale


def _scan(shard: Shard, ask: Ask) -> tuple[Any, Any, float]:
    """Label and margin of every row; the margin of rows that are not free is infinite."""
    xp, k = shard.xp, len(ask.prices)
    here, labels, margins, scale = Here.of(shard, ask), [], [], 0.0
    for part in chunks(shard, 4 * k if xp is np else k):
        weight = None if shard.weight is None else shard.weight[part]
        costs = costs_where(shard, here, part, weight)
        look = scan if xp is np else _scan_there
        label, best, margin = look(costs, here.prices)
        scale = max(scale, float(xp.max(xp.abs(best)))) if len(best) else scale
        labels.append(label)
        margins.append(margin)
    label, margin = xp.concat(labels), xp.concat(margins)
    if shard.free is not None:
        margin[~shard.free] = float("inf")
    return label, margin, scale


def _scan_there(costs: Any, prices: Any) -> tuple[Any, Any, Any]:
    """As :func:`.costs.scan`, on a device; the costs are written over."""
    costs += prices
    label, best = costs.argmin(dim=1), costs.amin(dim=1)
    costs.scatter_(1, label[:, None], float("inf"))
    return label, best, costs.amin(dim=1) - best


def _bincount(labels: Any, k: int) -> IntArray:
    if isinstance(labels, np.ndarray):
        return np.bincount(labels, minlength=k)
    counted: IntArray = to_host(labels.bincount(minlength=k))
    return counted


def _margins(shard: Shard, ask: Ask) -> Any:
    scan_rows(shard, ask)
    return shard.memo["scan"][2]


def count_within(shard: Shard, ask: Ask, reach: float) -> int:
    """Number of rows whose margin is at most ``reach``."""
    return int(shard.xp.sum(_margins(shard, ask) <= reach))


def margin_sample(shard: Shard, ask: Ask, stride: int) -> tuple[FloatArray, IntArray]:
    """Margins and labels of every ``stride``-th row."""
    margins = to_host(_margins(shard, ask)[::stride])
    return margins, to_host(shard.memo["scan"][1][::stride])


def near_rows(
    shard: Shard, ask: Ask, reach: FloatArray, rows: IntArray, labels: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows within reach, their clusters and their gaps; ``rows`` were moved to ``labels``."""
    near, here = _near(shard, ask, reach, rows, labels)
    return to_host(near), to_host(here).astype(np.int64), to_host(_gaps(shard, ask, near))


def _near(
    shard: Shard, ask: Ask, reach: FloatArray, rows: IntArray, labels: IntArray
) -> tuple[Any, Any]:
    """Rows within reach, and their clusters."""
    margins = _margins(shard, ask)
    near = shard.xp.nonzero(margins <= shard.put(reach)[shard.memo["scan"][1]])[0]
    return near, settled(shard, ask, rows, labels)[near]


def _gaps(shard: Shard, ask: Ask, rows: Any) -> Any:
    """Cost of rows in each cluster less that in the cheapest one, at the prices."""
    gap = _costs(shard, ask, rows)
    gap += shard.double(ask.prices)
    gap -= shard.xp.min(gap, axis=1, keepdims=True)
    return gap


def border_rows(
    shard: Shard, ask: Ask, reach: FloatArray, rows: IntArray, labels: IntArray
) -> FloatArray:
    """Rows of each cluster for which another is within reach, (k, k)."""
    k, (near, here) = len(ask.prices), _near(shard, ask, reach, rows, labels)
    longest, counted = shard.double(reach), np.zeros(k * k)
    for part in chunks(shard, 4 * k, len(near)):
        own = here[part]
        row, to = shard.xp.nonzero(_gaps(shard, ask, near[part]) <= longest[own][:, None])
        counted += _bincount(own[row] * k + to, k * k)
    return counted.reshape(k, k)


def settled(shard: Shard, ask: Ask, rows: IntArray, labels: IntArray) -> Any:
    """Labels of all rows, of which ``rows`` were moved to ``labels``."""
    scan_rows(shard, ask)
    found = shard.memo["scan"][1]
    if len(rows):
        found = found + 0
        found[shard.put(rows)] = shard.put(labels)
    return found


def labels_of(shard: Shard, ask: Ask, rows: IntArray, labels: IntArray) -> IntArray:
    """Labels of all rows as a NumPy array."""
    host: IntArray = to_host(settled(shard, ask, rows, labels)).astype(np.int32)
    return host


def placed_at(shard: Shard, ask: Ask, rows: IntArray, counts: IntArray) -> IntArray:
    """Cheapest clusters of some rows that count several points each."""
    found, prices = [np.empty(0, np.int64)], shard.double(ask.prices)
    for part in chunks(shard, 4 * len(prices), len(rows)):
        costs = _costs(shard, ask, shard.put(rows[part]))
        costs += shard.put(counts[part])[:, None] * prices
        found.append(to_host(shard.xp.argmin(costs, axis=1)))
    return np.concatenate(found)


def doubles(shard: Shard, a: Any) -> Any:
    """The array in double precision."""
    return shard.xp.astype(a, shard.xp.float64)


def on_points(shard: Shard, function: Any, *args: Any) -> Any:
    """``function(points, *args)`` of the points of a shard."""
    return function(shard.points, *args)
