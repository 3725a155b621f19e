"""Where data are, and how they are opened and answered in kind.

A PyTorch tensor or CuPy array on a GPU is worked on there, and so is any array with
``device="cuda"``; a Dask array or data frame stays with Dask's workers; everything else is in this
process's memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator

from ..inputs import brought, check_points, check_weights, is_dask, library, on_gpu
from ..rows import MemoryTable, ShardTable, Table

DEVICES = re.compile(r"cpu|cuda(:\d+)?")


class Backend(Protocol):
    """Data of one kind."""

    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Any:
        """A context in which the rows are a :class:`~corral.rows.Table`."""
        ...

    def give(self, a: Any) -> Any:
        """An array over the rows, in the kind of the data."""
        ...

    def give_small(self, a: Any) -> Any:
        """An array of a few numbers, where the user would look for it."""
        ...

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """What ``function(rows, *args)`` makes of NumPy rows, in the kind of the data."""
        ...


def backend_of(X: Any, device: str | None) -> Backend:
    """The backend for X.

    Raises
    ------
    ValueError, ImportError, RuntimeError
        If ``device`` is unknown, or what it takes is not there.
    """
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


@dataclass(frozen=True)
class InMemory:
    """An array, data frame or CSR in this process's memory."""

    X: Any

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[Table]:
        """Check the values."""
        points = check_points(brought(self.X), estimator)
        yield MemoryTable(points, check_weights(brought(weight), points.shape[0]))

    def give(self, a: Any) -> Any:
        """As it is."""
        return a

    give_small = give

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """At once."""
        return function(brought(self.X), *args)


@dataclass(frozen=True)
class OnDevice:
    """A tensor or array on a GPU, or one that is to go there."""

    X: Any
    device: str | None

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[Table]:
        """Hold the rows on the device."""
        from .gpu import hold

        holder = hold(self.X, self.device)
        n = int(sum(holder.lengths))
        yield ShardTable(holder, check_weights(brought(weight), n), "gpu")

    def give(self, a: Any) -> Any:
        """On the device of X."""
        from .gpu import give_back

        return give_back(a, like=self.X)

    give_small = give

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """In this process, then on the device."""
        return self.give(function(brought(self.X), *args))


@dataclass(frozen=True)
class WithDask:
    """A Dask array or data frame."""

    X: Any

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[Table]:
        """Hold the partitions with Dask's workers."""
        from .dask import hold

        with hold(self.X) as holder:
            n = int(sum(holder.lengths))
            yield ShardTable(holder, check_weights(brought(weight), n), "dask")

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
