"""Kernels made ready before the clock of a fit begins.

The first fit on a machine compiles them, which takes some seconds; later processes load them from
numba's cache.  Neither counts for the time limit of a fit.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from .._arrays import one_blas_thread
from ..constraints import ClusterSizes
from ..deadline import NEVER
from ..rows import MemoryRows
from ..rules import presolve
from .budget import Budget
from .descent import Descender
from .far import sampled_near
from .shape import MeansShape


def ready_for(place: str, n_rows: int, n_clusters: int) -> None:
    """Make the kernels ready, unless rows and their sample are searched elsewhere, without them."""
    if place == "memory" or sampled_near(n_rows, n_clusters):
        make_ready()


@cache
def make_ready() -> None:
    """Compile or load all kernels, once in a process."""
    rules = presolve(ClusterSizes(minimum=1, maximum=2), 4, 2)
    shape = MeansShape(MemoryRows(np.arange(4.0)[:, None]), 2)
    with one_blas_thread(), no_garbage_collection():
        descender = Descender(rules, shape, Budget(1e6, NEVER), np.random.RandomState(0))
        descender.from_clusters(np.array([[-1.0], [1.0]]))
        descender.placed()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the search for garbage: the compiler makes many objects, and few of them are garbage.

    That saves about a tenth of the time of compilation.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
