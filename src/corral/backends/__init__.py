"""Where X is, and how it is opened and answered in kind.

A PyTorch tensor or CuPy array on a GPU stays there, and any array goes there with
``device="cuda"``; a Dask array or data frame stays with Dask's workers; files and memory maps are
read block by block; everything else is in this process's memory.  A new backend is one class that
implements :class:`Backend` and one entry of ``BACKENDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..inputs import brought, check_points, check_weights
from ..rows import MemoryTable
from .backend import Backend, check_device
from .dask import WithDask
from .disk import OnDisk, RowsOnDisk
from .gpu import OnDevice

__all__ = ["BACKENDS", "Backend", "InMemory", "RowsOnDisk", "backend_of"]


class InMemory:
    """An array, data frame or CSR in this process's memory; see :class:`.backend.Backend`."""

    def __init__(self, X: Any, device: str | None = None) -> None:
        self.X = X

    @classmethod
    def takes(cls, X: Any, device: str | None) -> bool:
        """Everything that no other backend takes."""
        return True

    @contextmanager
    def opened(self, estimator: BaseEstimator, weight: ArrayLike | None) -> Iterator[MemoryTable]:
        """Check the values."""
        points = check_points(brought(self.X), estimator)
        yield MemoryTable(points, check_weights(brought(weight), points.shape[0]))

    def give(self, a: Any) -> Any:
        """As it is."""
        return a

    give_small = give

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """Computed at once."""
        return function(brought(self.X), *args)


#: All backends; the first that takes X is used.
BACKENDS = (WithDask, OnDisk, OnDevice, InMemory)


def backend_of(X: Any, device: str | None) -> Backend:
    """The backend for X; ValueError if ``device`` is unknown, or not allowed for X."""
    check_device(device)
    kind = next(kind for kind in BACKENDS if kind.takes(X, device))
    return kind(X, device)
