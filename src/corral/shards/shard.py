"""A run of rows where its arrays live, in NumPy's or PyTorch's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import namespace
from .._typing import FloatArray


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
