"""A shard: consecutive rows where their arrays are, NumPy's or PyTorch's, and how to change it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import namespace
from .._typing import FloatArray, IntArray


class Shard:
    """Rows, or groups of rows, with a weight each.

    Parameters
    ----------
    points : (b, d) array
    weight : (b,) array or None
        None if all are one.
    free : (b,) array of bool, or None
        Rows that prices assign; None for all.

    Attributes
    ----------
    memo : dict
        What passes remember for the next; never needed, never copied.
    """

    def __init__(self, points: Any, weight: Any = None, free: Any = None) -> None:
        self.points, self.weight, self.free = points, weight, free
        self.memo: dict[str, Any] = {}

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memo behind."""
        return {**self.__dict__, "memo": {}}

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""
        return namespace(self.points)

    def like(self, **changes: Any) -> Shard:
        """The same with other arrays."""
        given = {"points": self.points, "weight": self.weight, "free": self.free}
        return Shard(**{**given, **changes})

    def put(self, a: Any) -> Any:
        """A NumPy array where the shard's arrays are, floats in their precision."""
        if self.xp is np:
            return a.astype(self.points.dtype, copy=False) if a.dtype.kind == "f" else a
        moved = self.xp.asarray(a, device=self.points.device)
        return moved.to(self.points.dtype) if a.dtype.kind == "f" else moved

    def double(self, a: FloatArray) -> Any:
        """The same in double precision."""
        return a if self.xp is np else self.xp.asarray(a, device=self.points.device)


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
