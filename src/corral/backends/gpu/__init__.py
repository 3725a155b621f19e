"""The GPU backend: rows as PyTorch tensors on one device.

Importing this package does not import PyTorch.  The way of the data: :mod:`.tensors` (X to a tensor
and back), :mod:`.device` (the tensor as :class:`corral.rows.Shards`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator

from ...inputs import brought, check_weights, library, on_gpu
from ...rows import ShardTable
from .tensors import give_back, hold

__all__ = ["OnDevice", "give_back", "hold"]


class OnDevice:
    """A tensor or array on a GPU, or one that is to go there; see :class:`..backend.Backend`."""

    def __init__(self, X: Any, device: str | None) -> None:
        self.X, self.device = X, device

    @classmethod
    def takes(cls, X: Any, device: str | None) -> bool:
        """Arrays on a GPU, tensors if scikit-learn dispatches them, and all with a CUDA device."""
        dispatched = library(X) == "torch" and get_config()["array_api_dispatch"]
        return on_gpu(X) or dispatched or device not in (None, "cpu")

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[ShardTable]:
        """Hold the rows on the device."""
        shards = hold(self.X, self.device)
        weights = check_weights(brought(weight), int(sum(shards.lengths)))
        yield ShardTable(shards, weights, "gpu")

    def give(self, a: Any) -> Any:
        """As an array of the kind of X, on its device."""
        return give_back(a, like=self.X)

    give_small = give

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """Computed in this process, then given back on the device."""
        return self.give(function(brought(self.X), *args))
