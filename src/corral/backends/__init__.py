"""Where data are, and how they are opened and answered in kind.

A PyTorch tensor or CuPy array on a GPU is worked on there, and so is any array with
``device="cuda"``; a Dask array or data frame stays with Dask's workers; everything else is in this
process's memory.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator

from ..inputs import brought, check_points, check_weights, is_dask, library, on_gpu
from ..rows import MemoryTable, ShardTable

DEVICES = re.compile(r"cpu|cuda(:\d+)?")


@dataclass(frozen=True)
class Backend(ABC):
    """Data of one kind, and how results over its rows are given back."""

    X: Any

    @abstractmethod
    def opened(
        self, estimator: BaseEstimator, weight: ArrayLike | None
    ) -> AbstractContextManager[MemoryTable | ShardTable]:
        """A context in which the rows are a :class:`~corral.rows.Table`."""

    def give(self, a: Any) -> Any:
        """An array over the rows, in the kind of the data."""
        return a

    def give_small(self, a: Any) -> Any:
        """An array of a few numbers, where the user would look for it."""
        return self.give(a)

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """What ``function(rows, *args)`` makes of NumPy rows, in the kind of the data."""
        return self.give(function(brought(self.X), *args))


def backend_of(X: Any, device: str | None) -> Backend:
    """The backend for X; an error if ``device`` is unknown or does not fit X."""
    if device is not None and not (isinstance(device, str) and DEVICES.fullmatch(device)):
        raise ValueError(f"`device` is {device!r}; it must be None, 'cpu', 'cuda' or 'cuda:N'.")
    if is_dask(X):
        if device not in (None, "cpu"):
            raise ValueError(
                f"`device` is {device!r}, but X is a Dask collection, which stays with Dask's "
                "workers; it must be None."
            )
        return WithDask(X)
    dispatched = library(X) == "torch" and get_config()["array_api_dispatch"]
    if on_gpu(X) or dispatched or device not in (None, "cpu"):
        return OnDevice(X, device)
    return InMemory(X)


class InMemory(Backend):
    """An array, data frame or CSR in this process's memory."""

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[MemoryTable]:
        """Check the values."""
        points = check_points(brought(self.X), estimator)
        yield MemoryTable(points, check_weights(brought(weight), points.shape[0]))


@dataclass(frozen=True)
class OnDevice(Backend):
    """A tensor or array on a GPU, or one that is to go there."""

    device: str | None

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[ShardTable]:
        """Hold the rows on the device."""
        from .gpu import hold

        holder = hold(self.X, self.device)
        yield ShardTable(holder, check_weights(brought(weight), sum(holder.lengths)), "gpu")

    def give(self, a: Any) -> Any:
        """On the device of X."""
        from .gpu import give_back

        return give_back(a, like=self.X)


class WithDask(Backend):
    """A Dask array or data frame."""

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[ShardTable]:
        """Hold the partitions with Dask's workers."""
        from .dask import hold

        with hold(self.X) as holder:
            yield ShardTable(holder, check_weights(brought(weight), sum(holder.lengths)), "dask")

    def give(self, a: Any) -> Any:
        """In chunks of the same rows."""
        from .dask import give_back

        return give_back(a, like=self.X)

    def give_small(self, a: Any) -> Any:
        """In this process's memory."""
        return np.asarray(a)

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """Lazily, chunk by chunk."""
        from .dask import by_rows

        return by_rows(self.X, function, *args)
