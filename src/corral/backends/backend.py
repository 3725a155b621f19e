"""The protocol of a backend, and the names of devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..rows import Table

_DEVICES = re.compile(r"cpu|cuda(:\d+)?")


class Backend(Protocol):
    """X of one kind: where its rows are, and how answers are given in the same kind.

    A backend whose rows are not in memory opens X as a :class:`~corral.rows.ShardTable` of its own
    :class:`~corral.rows.Shards`.  It needs nothing else.
    """

    X: Any  # what was given, with what can be told of it without its rows

    @classmethod
    def takes(cls, X: Any, device: str | None) -> bool:
        """Whether this backend is the one for X; ValueError for a device not allowed for it."""

    def opened(
        self, estimator: BaseEstimator, weight: ArrayLike | None
    ) -> AbstractContextManager[Table]:
        """A context in which the rows, checked, are a :class:`~corral.rows.Table`."""

    def give(self, a: Any) -> Any:
        """An array over the rows, in the kind of X."""

    def give_small(self, a: Any) -> Any:
        """An array that does not grow with the rows, in the kind that suits X."""

    def by_rows(self, function: Callable[..., Any], *args: Any) -> Any:
        """``function(rows, *args)`` of NumPy rows, in the kind of X."""


def check_device(device: Any) -> None:
    """Raise ValueError for what is no name of a device."""
    if device is not None and not (isinstance(device, str) and _DEVICES.fullmatch(device)):
        raise ValueError(f"`device` is {device!r}; it must be None, 'cpu', 'cuda' or 'cuda:N'.")
