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
from scipy import sparse

from .._arrays import one_blas_thread
from ..constraints import (
    CannotLink,
    ClusterSizes,
    Connected,
    Constraint,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..deadline import NEVER
from ..exact.sizes import Room, solve_units
from ..rows import MemoryRows, Table
from ..rules import presolve
from .budget import Budget
from .descent import Descender
from .far import sampled_near
from .shape import MeansShape


def ready_for(table: Table, rules: ConstraintSet, n_clusters: int) -> None:
    """Make the kernels ready, unless rows and their sample are searched elsewhere, without them."""
    if table.place == "memory" or sampled_near(sum(table.lengths), n_clusters):
        rare = table.metric.bounded or sparse.issparse(getattr(table, "points", None))
        sized = any(isinstance(rule, ClusterSizes) for rule in rules)
        make_ready(rare or any(_is_rare(rule) for rule in rules), sized)


def _is_rare(rule: Constraint) -> bool:
    """Whether the rule makes a model rare (:class:`.Model`)."""
    if isinstance(rule, MustLink | Pin):
        return bool(np.isfinite(rule.weight).any())
    return isinstance(rule, CannotLink | LinearConstraint | Connected)


@cache
def make_ready(rare: bool = True, sized: bool = True) -> None:
    """Compile or load the kernels, once in a process: for rare models or others, and for sizes."""
    given = [ClusterSizes(minimum=1, maximum=2), *([CannotLink([(0, 1)])] if rare else [])]
    rules = presolve(given, 4, 2)
    # Three rows are alike, so that the cluster that takes two of them has a price.
    shape = MeansShape(MemoryRows(np.eye(4)[:, :1]), 2)
    with one_blas_thread(), no_garbage_collection():
        descender = Descender(rules, shape, Budget(1e6, NEVER), np.random.RandomState(0))
        descender.from_clusters(np.array([[-1.0], [1.0]]))
        descender.placed()
        if sized:
            one = np.ones(2, np.int64)
            solve_units(np.array([[0.0, 1.0], [0.0, 1.0]]), Room.of(one, one))


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
