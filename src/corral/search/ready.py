"""Kernels made ready before the clock of a fit begins.

The first fit on a machine compiles them, which takes some seconds; later processes load them from
numba's cache.  Neither counts for the time limit of a fit.
"""

from __future__ import annotations

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
from .moves import restless, state_of
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
    with one_blas_thread():
        descender = Descender(rules, shape, Budget(1e6, NEVER), np.random.RandomState(0))
        descender.from_clusters(np.array([[-1.0], [1.0]]))
        model = descender.whole.priced.at(1.0)
        restless(model, state_of(model, np.zeros(4, np.int64)), np.zeros(2, bool))
