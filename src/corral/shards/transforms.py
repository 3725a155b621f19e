"""What makes new shards of shards, for :meth:`~.holder.Holder.transform`."""

from __future__ import annotations

from typing import Any

from .._typing import FloatArray, IntArray
from .shard import Shard


def shifted(shard: Shard, middle: FloatArray) -> Shard:
    """The same rows about the middle."""
    moved = shard.xp.astype(shard.points, shard.xp.float64) - shard.double(middle)
    return shard.like(points=shard.xp.astype(moved, shard.points.dtype))


def with_free(shard: Shard, free: Any) -> Shard:
    """The same rows, of which only some are free to be assigned by prices."""
    return shard.like(free=shard.put(free))


def with_weight(shard: Shard, weight: FloatArray | None) -> Shard:
    """The same rows, weighted."""
    return shard.like(weight=None if weight is None else shard.put(weight))


def contracted(
    shard: Shard, first: IntArray, where: IntArray, means: FloatArray, weight: FloatArray | None
) -> Shard:
    """Groups: their first rows, but ``means`` for those that have several, and their weights."""
    points = shard.points[shard.put(first)]
    if len(where):
        points[shard.put(where)] = shard.put(means)
    return shard.like(points=points, weight=None if weight is None else shard.put(weight))
