"""Labels of rows in shards, kept where the rows are, and what follows from them.

An assignment counts its rows once.  Labels that were computed again could differ from it where
costs are equal up to rounding, because products of matrices are not always rounded alike.  So the
labels of an assignment are kept in the memos of the shards; only a shard that lost them computes
them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from .shard import Shard, Shards
from .shard_passes import chunks, doubles

#: Assignments whose labels a shard keeps: the best, the last and those that compete with them.
KEPT = 4
#: Clusters from which sums on a device are those of sorted rows.  A matrix of all rows and clusters
#: takes longer there: 1.4 times with 256 clusters of 10,000,000 x 64 rows.
SORTED_FROM = 256


@dataclass(frozen=True)
class ShardLabels:
    """The clusters of all rows of some shards."""

    shards: Shards
    n_clusters: int
    key: str
    source: Callable[..., Any]  # gives the labels of a shard, ``source(shard, *given, *own)``
    given: tuple[Any, ...]
    each: Sequence[tuple[Any, ...]]

    @classmethod
    def kept(
        cls,
        shards: Shards,
        n_clusters: int,
        source: Callable[..., Any],
        given: tuple[Any, ...],
        each: Sequence[tuple[Any, ...]],
    ) -> ShardLabels:
        """The labels that ``source`` gives; shards keep them from their first use on."""
        return cls(shards, n_clusters, uuid4().hex, source, given, each)

    def _map(self, function: Any, *args: Any) -> list[Any]:
        each = [(own,) for own in self.each]
        return self.shards.map(function, self.key, self.source, self.given, *args, each=each)

    def __call__(self) -> IntArray:
        """Labels of all rows in this process's memory, (m,)."""
        return np.concatenate(self._map(brought))

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters."""
        parts = self._map(sums_of_kept, self.n_clusters)
        sums, mass = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass

    def sums_and_cost(self, centers: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """What :meth:`sums` gives, and the inertia at centres in the shards' coordinates."""
        parts = self._map(measured_part, centers)
        sums, mass, cost = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass, float(cost)

    def inertia(self, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to centres in the shards' coordinates."""
        return float(sum(self._map(inertia_of_kept, centers)))


def kept_labels(
    shard: Shard, key: str, source: Any, given: tuple[Any, ...], own: tuple[Any, ...]
) -> Any:
    """The labels of a shard's rows, an int32 array where the rows are."""
    known: dict[str, Any] = shard.memo.setdefault("labels", {})
    if key not in known:
        known[key] = shard.xp.astype(source(shard, *given, *own), shard.xp.int32)
        for old in [*known][:-KEPT]:
            del known[old]
    return known[key]


def brought(shard: Shard, key: str, source: Any, given: tuple[Any, ...], own: Any) -> IntArray:
    """The labels as a NumPy array."""
    labels: IntArray = to_host(kept_labels(shard, key, source, given, own))
    return labels


def sums_of_kept(
    shard: Shard, key: str, source: Any, given: tuple[Any, ...], k: int, own: Any
) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, in double precision."""
    return sums_by_label(shard, kept_labels(shard, key, source, given, own), k)


def measured_part(
    shard: Shard, key: str, source: Any, given: tuple[Any, ...], centers: FloatArray, own: Any
) -> tuple[FloatArray, FloatArray, float]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, and the inertia at centres."""
    where = kept_labels(shard, key, source, given, own)
    return *sums_by_label(shard, where, len(centers)), _inertia(shard, where, centers)


def inertia_of_kept(
    shard: Shard, key: str, source: Any, given: tuple[Any, ...], centers: FloatArray, own: Any
) -> float:
    """Weighted sum of the squared distances to centres in the shard's own coordinates."""
    return _inertia(shard, kept_labels(shard, key, source, given, own), centers)


def label_sums(shard: Shard, k: int, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` and ``sum w`` of given labels."""
    return sums_by_label(shard, shard.put(labels), k)


def label_inertia(shard: Shard, centers: FloatArray, labels: IntArray) -> float:
    """Weighted sum of the squared distances of rows to the centres of given labels."""
    return _inertia(shard, shard.put(labels), centers)


def sums_by_label(shard: Shard, where: Any, k: int) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of the clusters, in double precision."""
    xp, d = shard.xp, shard.points.shape[1]
    if xp is np or k >= SORTED_FROM:
        total = no_sums(shard, k)
        for part in chunks(shard, 4 * d):
            rows = xp.arange(part.start, min(part.stop, len(shard)), device=shard.points.device)
            held = None if shard.weight is None else shard.weight[part]
            total += weighted_sums(shard, rows, where[part], held, k)
        return parted(total)
    sums, mass = np.zeros((k, d)), np.zeros(k)
    numbers = xp.arange(k, device=where.device)[:, None]
    for part in chunks(shard, 4 * max(k, d)):
        members = doubles(shard, where[part][None, :] == numbers)
        if shard.weight is not None:
            members = members * doubles(shard, shard.weight[part])
        sums += to_host(members @ doubles(shard, shard.points[part]))
        mass += to_host(xp.sum(members, axis=1))
    return sums, mass


def no_sums(shard: Shard, k: int) -> Any:
    """Where sums of rows and of what clusters hold of them are added, (k, d + 1)."""
    shape = k, shard.points.shape[1] + 1
    return shard.xp.zeros(shape, dtype=shard.xp.float64, device=shard.points.device)


def parted(total: Any) -> tuple[FloatArray, FloatArray]:
    """Sums of rows (k, d), and what the clusters hold (k,), in this process's memory."""
    host: FloatArray = to_host(total)
    return host[:, :-1], host[:, -1]


def weighted_sums(shard: Shard, rows: Any, where: Any, held: Any, k: int) -> Any:
    """Sums of rows times what clusters hold of them, and of that in the last column, (k, d + 1).

    Entry e is ``held[e]`` of row ``rows[e]`` in cluster ``where[e]``; None for one each.
    """
    if shard.xp is np:
        weight = np.ones(len(rows)) if held is None else held.astype(np.float64)
        members = sparse.csr_array((weight, (where, rows)), shape=(k, len(shard)))
        return np.column_stack([members @ shard.points, members.sum(axis=1)])
    order = where.sort(stable=True).indices
    lengths, xp = where.bincount(minlength=k), shard.xp
    points = shard.points[rows[order]].double()
    weight = xp.ones_like(points[:, :1]) if held is None else held[order].double()[:, None]
    both = xp.concat([points * weight, weight], axis=1)
    return xp.segment_reduce(both, "sum", lengths=lengths, axis=0, unsafe=True)


def _inertia(shard: Shard, where: Any, centers: FloatArray) -> float:
    xp, center, total = shard.xp, shard.double(centers), 0.0
    for part in chunks(shard, 4 * shard.points.shape[1]):
        off = doubles(shard, shard.points[part]) - center[where[part]]
        squares = xp.sum(off * off, axis=1)
        weight = None if shard.weight is None else doubles(shard, shard.weight[part])
        total += float(xp.sum(squares if weight is None else squares * weight))
    return total
