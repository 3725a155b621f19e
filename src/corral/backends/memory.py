"""The backend for X in this process's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..inputs import brought, check_points, check_weights
from ..rows import MemoryTable


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
