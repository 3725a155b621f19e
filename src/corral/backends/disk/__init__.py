"""The disk backend: rows of files are shards that are read block by block, again in every pass.

The way of the data: :mod:`.sources` (``.npy`` and Parquet files, and memory maps, to blocks of
rows), :mod:`.blocks` (these as :class:`corral.rows.Shards`, here or on a GPU).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..._typing import FloatArray
from ...inputs import brought, check_weights
from ...rows import ShardTable
from .blocks import BlockShards
from .sources import RowsOnDisk, files_of, of_memmap

__all__ = ["BlockShards", "OnDisk", "RowsOnDisk", "files_of"]


class OnDisk:
    """Paths, :class:`RowsOnDisk` and memory maps; see :class:`..backend.Backend`."""

    def __init__(self, X: Any, device: str | None = None) -> None:
        self.device = device
        self.X = of_memmap(X) if isinstance(X, np.ndarray) else X
        if isinstance(X, str | os.PathLike):
            self.X = RowsOnDisk(X)

    @classmethod
    def takes(cls, X: Any, device: str | None) -> bool:
        """Paths, and maps of matrices of numbers."""
        if isinstance(X, np.memmap):
            mapped = getattr(X, "filename", None) is not None and X.ndim == 2 and X.size > 0
            return bool(mapped and X.dtype.kind in "fiu" and X.dtype.itemsize <= 8)
        return isinstance(X, str | os.PathLike | RowsOnDisk)

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[ShardTable]:
        """Hold the rows as blocks that are read when a pass comes to them."""
        with BlockShards.of(self.X, self.device) as shards:
            weights = check_weights(brought(weight), int(sum(shards.lengths)))
            yield ShardTable(shards, weights, "disk")

    def give(self, a: Any) -> Any:
        """As a NumPy array."""
        return np.asarray(a)

    give_small = give

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """Computed block by block, in this process's memory."""
        with BlockShards.of(self.X, None) as shards:
            return np.concatenate(shards.map(_of_points, function, args))


def _of_points(shard: Any, function: Callable[..., FloatArray], args: tuple[Any, ...]) -> Any:
    """The function of the rows of a block."""
    return function(shard.points, *args)
