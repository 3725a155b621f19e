"""The Dask backend: a partition is a shard on a worker, and only small sums travel.

Importing this package does not import Dask.  The way of the data: :mod:`.collections` (X to shards
on workers, and labels back), :mod:`.workers` (these as :class:`corral.rows.Shards`),
:mod:`.cluster` (the client, and one task for each partition).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ...inputs import brought, check_weights, is_dask
from ...rows import ShardTable
from .collections import by_rows, give_back, hold
from .workers import DaskShards

__all__ = ["DaskShards", "WithDask", "by_rows", "give_back", "hold"]


class WithDask:
    """A Dask array or data frame; see :class:`..backend.Backend`."""

    def __init__(self, X: Any, device: str | None = None) -> None:
        self.X, self.device = X, None if device == "cpu" else device

    @classmethod
    def takes(cls, X: Any, device: str | None) -> bool:
        """Dask collections; a device is that of each worker."""
        return is_dask(X)

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[ShardTable]:
        """Hold the partitions with Dask's workers."""
        with hold(self.X, self.device) as shards:
            weights = check_weights(brought(weight), int(sum(shards.lengths)))
            yield ShardTable(shards, weights, "dask")

    def give(self, a: Any) -> Any:
        """As a Dask array in chunks of the same rows."""
        return give_back(a, like=self.X)

    def give_small(self, a: Any) -> Any:
        """In this process's memory."""
        return np.asarray(a)

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """Computed lazily, chunk by chunk."""
        return by_rows(self.X, function, *args)
