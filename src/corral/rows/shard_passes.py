"""What is done on one shard at a time, between the seeds and the labels.

Each function takes a :class:`~.shard.Shard` first and gives small NumPy arrays.  What a scan finds
for every row stays in the shard's memo; a pass that needs it and does not find it scans again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from .shard import Shard

#: Entries of a work array: as much as stays in a core's cache, or fills a GPU.
ENTRIES, ENTRIES_ON_DEVICE = 1 << 18, 1 << 27


@dataclass(frozen=True)
class Ask:
    """Centres and prices, which say where every row prefers to be.

    A row costs ``weight (norms - 2 point . center) + price`` in a cluster.

    Attributes
    ----------
    centers : (k, d) array
    norms, prices : (k,) arrays
    key : str
        Different for every question.
    """

    centers: FloatArray
    norms: FloatArray
    prices: FloatArray
    key: str


def _chunks(shard: Shard, width: int, length: int | None = None) -> Iterator[slice]:
    """Runs of so many rows, or all, whose work array of this width is of a good size."""
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
    for part in _chunks(shard, shard.points.shape[1]):
        bad = ~shard.xp.all(shard.xp.isfinite(shard.points[part]), axis=1)
        if bool(shard.xp.any(bad)):
            return int(part.start) + int(to_host(bad).argmax())
    return -1


def moments(shard: Shard, about: FloatArray) -> tuple[float, FloatArray, float, FloatArray, Any]:
    """Weight, ``sum w q``, ``sum w |q|^2``, ``sum w q q'`` and the heaviest row, q = p - about."""
    d = shard.points.shape[1]
    total, sums, spread, gram = 0.0, np.zeros(d), 0.0, np.zeros((d, d))
    heaviest: tuple[float, FloatArray] = (-1.0, np.zeros(d))
    for part in _chunks(shard, d):
        q = _doubles(shard, shard.points[part]) - shard.double(about)
        wq = q if shard.weight is None else q * _doubles(shard, shard.weight[part])[:, None]
        far = shard.xp.sum(wq * q, axis=1)
        # Must-links may have taken every row of a shard elsewhere.
        top = int(shard.xp.argmax(far)) if len(shard) else 0
        if len(shard) and float(far[top]) > heaviest[0]:
            heaviest = float(far[top]), to_host(q[top])
        weight = None if shard.weight is None else shard.weight[part]
        total += float(q.shape[0] if weight is None else shard.xp.sum(_doubles(shard, weight)))
        sums += to_host(shard.xp.sum(wq, axis=0))
        spread += float(shard.xp.sum(far))
        gram += to_host(wq.T @ q)
    return total, sums, spread, gram, heaviest


def costs_of(shard: Shard, ask: Ask, rows: IntArray) -> FloatArray:
    """Costs of some rows without the prices, (r, k), in double precision."""
    costs: FloatArray = to_host(_costs(shard, ask, shard.put(rows)))
    return costs


def _costs(shard: Shard, ask: Ask, rows: Any) -> Any:
    """The same where the shard is."""
    costs = _doubles(shard, shard.points[rows]) @ shard.double(ask.centers).T
    costs *= -2.0
    costs += shard.double(ask.norms)
    if shard.weight is not None:
        costs *= _doubles(shard, shard.weight[rows])[:, None]
    return costs


def scan_rows(shard: Shard, ask: Ask) -> tuple[IntArray, float]:
    """Put rows where they prefer to be; rows in each cluster, and the largest cost."""
    found = shard.memo.get("scan")
    if found is None or found[0] != ask.key:
        found = (ask.key, *_scan(shard, ask))
        shard.memo["scan"] = found
    _, labels, _, scale = found
    free = labels if shard.free is None else labels[shard.free]
    return _bincount(free, len(ask.prices)), scale


def _scan(shard: Shard, ask: Ask) -> tuple[Any, Any, float]:
    """Label and margin of every row; rows that are not free have no margin."""
    xp, k = shard.xp, len(ask.prices)
    centers, norms, prices = (shard.put(a) for a in (ask.centers, ask.norms, ask.prices))
    labels, margins, scale = [], [], 0.0
    for part in _chunks(shard, k):
        priced = shard.points[part] @ centers.T
        priced *= -2.0
        priced += norms
        if shard.weight is not None:
            priced *= shard.weight[part][:, None]
        priced += prices
        label = xp.argmin(priced, axis=1)
        best = xp.min(priced, axis=1)
        scale = max(scale, float(xp.max(xp.abs(best)))) if len(best) else scale
        priced[xp.arange(len(best), device=label.device), label] = float("inf")
        labels.append(label)
        margins.append(xp.min(priced, axis=1) - best)
    label, margin = xp.concat(labels), xp.concat(margins)
    if shard.free is not None:
        margin[~shard.free] = float("inf")
    return label, margin, scale


def _bincount(labels: Any, k: int) -> IntArray:
    if isinstance(labels, np.ndarray):
        return np.bincount(labels, minlength=k)
    counted: IntArray = to_host(labels.bincount(minlength=k))
    return counted


def _margins(shard: Shard, ask: Ask) -> Any:
    scan_rows(shard, ask)
    return shard.memo["scan"][2]


def count_within(shard: Shard, ask: Ask, reach: float) -> int:
    """Number of rows of such a margin."""
    return int(shard.xp.sum(_margins(shard, ask) <= reach))


def margin_sample(shard: Shard, ask: Ask, stride: int) -> tuple[FloatArray, IntArray]:
    """Margins and labels of every ``stride``-th row."""
    margins = to_host(_margins(shard, ask)[::stride])
    return margins, to_host(shard.memo["scan"][1][::stride])


def near_rows(
    shard: Shard, ask: Ask, reach: FloatArray, rows: IntArray, labels: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows within reach, where they are, and their gaps; ``rows`` were moved to ``labels``."""
    near, here = _near(shard, ask, reach, rows, labels)
    return to_host(near), to_host(here).astype(np.int64), to_host(_gaps(shard, ask, near))


def _near(
    shard: Shard, ask: Ask, reach: FloatArray, rows: IntArray, labels: IntArray
) -> tuple[Any, Any]:
    """Rows within reach, and where they are."""
    margins = _margins(shard, ask)
    near = shard.xp.nonzero(margins <= shard.put(reach)[shard.memo["scan"][1]])[0]
    return near, settled(shard, ask, rows, labels)[near]


def _gaps(shard: Shard, ask: Ask, rows: Any) -> Any:
    """What each cluster costs rows more than the cheapest, at the prices."""
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
    for part in _chunks(shard, 4 * k, len(near)):
        own = here[part]
        row, to = shard.xp.nonzero(_gaps(shard, ask, near[part]) <= longest[own][:, None])
        counted += _bincount(own[row] * k + to, k * k)
    return counted.reshape(k, k)


def settled(shard: Shard, ask: Ask, rows: IntArray, labels: IntArray) -> Any:
    """Labels of all rows, of which some were moved."""
    scan_rows(shard, ask)
    found = shard.memo["scan"][1]
    if len(rows):
        found = found + 0
        found[shard.put(rows)] = shard.put(labels)
    return found


def labels_of(shard: Shard, ask: Ask, rows: IntArray, labels: IntArray) -> IntArray:
    """The same, in this process's memory."""
    host: IntArray = to_host(settled(shard, ask, rows, labels)).astype(np.int32)
    return host


def cluster_sums(
    shard: Shard, ask: Ask, rows: IntArray, labels: IntArray
) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, in double precision."""
    return _sums(shard, settled(shard, ask, rows, labels), len(ask.prices))


def _sums(shard: Shard, where: Any, k: int) -> tuple[FloatArray, FloatArray]:
    xp, d = shard.xp, shard.points.shape[1]
    sums, mass = np.zeros((k, d)), np.zeros(k)
    numbers = xp.arange(k, device=where.device)[:, None]
    for part in _chunks(shard, 4 * max(k, d)):
        members = _doubles(shard, where[part][None, :] == numbers)
        if shard.weight is not None:
            members = members * _doubles(shard, shard.weight[part])
        sums += to_host(members @ _doubles(shard, shard.points[part]))
        mass += to_host(xp.sum(members, axis=1))
    return sums, mass


def label_sums(shard: Shard, k: int, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` and ``sum w`` of given labels."""
    return _sums(shard, shard.put(labels), k)


def label_inertia(shard: Shard, centers: FloatArray, labels: IntArray) -> float:
    """Weighted sum of the squared distances of rows to the centres of given labels."""
    return _inertia(shard, shard.put(labels), centers)


def placed_at(shard: Shard, ask: Ask, rows: IntArray, counts: IntArray) -> IntArray:
    """Cheapest clusters of some rows that count several points each."""
    found, prices = [np.empty(0, np.int64)], shard.double(ask.prices)
    for part in _chunks(shard, 4 * len(prices), len(rows)):
        costs = _costs(shard, ask, shard.put(rows[part]))
        costs += shard.put(counts[part])[:, None] * prices
        found.append(to_host(shard.xp.argmin(costs, axis=1)))
    return np.concatenate(found)


def inertia_rows(
    shard: Shard, ask: Ask, rows: IntArray, labels: IntArray, centers: FloatArray
) -> float:
    """Weighted sum of the squared distances to centres in the shard's own coordinates."""
    return _inertia(shard, settled(shard, ask, rows, labels), centers)


def _inertia(shard: Shard, where: Any, centers: FloatArray) -> float:
    xp, center, total = shard.xp, shard.double(centers), 0.0
    for part in _chunks(shard, 4 * shard.points.shape[1]):
        off = _doubles(shard, shard.points[part]) - center[where[part]]
        squares = xp.sum(off * off, axis=1)
        weight = None if shard.weight is None else _doubles(shard, shard.weight[part])
        total += float(xp.sum(squares if weight is None else squares * weight))
    return total


def _doubles(shard: Shard, a: Any) -> Any:
    return shard.xp.astype(a, shard.xp.float64)


def on_points(shard: Shard, function: Any, *args: Any) -> Any:
    """What a function makes of the points of a shard."""
    return function(shard.points, *args)
