"""A run of rows where its arrays live, with the passes that the way from seeds to labels needs.

The arrays are NumPy's or PyTorch's; ``xp`` is their namespace.  A pass takes and gives small NumPy
arrays; what has the length of the shard stays in it, in ``memo``, where a later pass finds it or
makes it again.
"""

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
    xp : module
        Namespace of the arrays.

    Attributes
    ----------
    memo : dict
        What passes remember for the next; never needed, never copied.
    """

    def __init__(self, points: Any, weight: Any = None, xp: Any = np) -> None:
        self.points, self.weight, self.xp = points, weight, xp
        self.memo: dict[str, Any] = {}

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memo behind."""
        return {**self.__dict__, "memo": {}}

    def put(self, a: Any) -> Any:
        """A NumPy array where the shard's arrays are, floats in their precision."""
        if self.xp is np:
            return a.astype(self.points.dtype) if a.dtype.kind == "f" else a
        moved = self.xp.asarray(a, device=self.points.device)
        return moved.to(self.points.dtype) if a.dtype.kind == "f" else moved


def to_host(a: Any) -> FloatArray:
    """An array as NumPy's, floats as float64."""
    host = np.asarray(a.cpu() if hasattr(a, "cpu") else a)
    return host.astype(np.float64) if host.dtype.kind == "f" else host
