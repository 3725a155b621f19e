"""A run of rows where its arrays live, in NumPy's or PyTorch's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    xp : module
        Namespace of the arrays.

    Attributes
    ----------
    memo : dict
        What passes remember for the next; never needed, never copied.
    """

    def __init__(self, points: Any, weight: Any = None, free: Any = None, xp: Any = np) -> None:
        self.points, self.weight, self.free, self.xp = points, weight, free, xp
        self.memo: dict[str, Any] = {}

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memo behind, and the namespace, which is NumPy's wherever shards travel."""
        return {**self.__dict__, "memo": {}, "xp": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, xp=np)

    def like(self, **changes: Any) -> Shard:
        """The same with other arrays."""
        given = {"points": self.points, "weight": self.weight, "free": self.free, "xp": self.xp}
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


def to_host(a: Any) -> Any:
    """An array as NumPy's, floats as float64."""
    host = np.asarray(a.cpu() if hasattr(a, "cpu") else a)
    return host.astype(np.float64, copy=False) if host.dtype.kind == "f" else host
