"""Where X is, and how it is opened and answered in kind.

A PyTorch tensor or CuPy array on a GPU stays there, and any array goes there with
``device="cuda"``; a Dask array or data frame stays with Dask's workers; everything else is in this
process's memory.  A new backend is one class that implements :class:`Backend` and one entry of
``BACKENDS``.
"""

from __future__ import annotations

from typing import Any

from .backend import Backend, check_device
from .dask import WithDask
from .gpu import OnDevice
from .memory import InMemory

__all__ = ["BACKENDS", "Backend", "InMemory", "backend_of"]

#: All backends; the first that takes X is used.
BACKENDS = (WithDask, OnDevice, InMemory)


def backend_of(X: Any, device: str | None) -> Backend:
    """The backend for X; ValueError if ``device`` is unknown, or not allowed for X."""
    check_device(device)
    kind = next(kind for kind in BACKENDS if kind.takes(X, device))
    return kind(X, device)
