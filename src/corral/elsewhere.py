"""Data that live elsewhere: recognised, held where they are, and answered in kind.

A PyTorch tensor or CuPy array on a GPU is worked on there, and so is any array with
``device="cuda"``; a Dask array or data frame stays with Dask's workers.  A small problem, or one
with rules that only the solvers in memory know, is brought home.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from sklearn import get_config

from ._typing import FloatArray, IntArray
from .assign import NoAssignment, OutOfTime
from .coarse import sample_size
from .constraints import ConstraintSet
from .kinds import brought, is_dask, library, on_gpu
from .number import follow, renumber
from .outcome import find_solution, out_of_time
from .problem import LARGE, Problem
from .report import Report, audit
from .run import Solution
from .settings import Settings
from .shards import Holder, audit_shards, bring_home, grouped, label_means, solve_sharded
from .shards.passes import Ask, labels_of

#: Bringing home more bytes than this is worth a warning.
MANY_BYTES = 1 << 30

DEVICES = re.compile(r"cpu|cuda(:\d+)?")


class Elsewhere(Protocol):
    """Data of one kind."""

    def held(self) -> Any:
        """A context in which a :class:`~corral.shards.Holder` holds the rows."""
        ...

    def give(self, a: Any) -> Any:
        """An array over the rows, in the kind of the data."""
        ...

    def give_small(self, a: Any) -> Any:
        """An array of a few numbers, where the user would look for it."""
        ...

    def by_rows(self, function: Any, *args: Any) -> Any:
        """What ``function(rows, *args)`` makes of NumPy rows, in the kind of the data."""
        ...


def elsewhere(X: Any, device: str | None) -> Elsewhere | None:
    """What holds X, or None if it is an array in this process's memory.

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
        return _WithDask(X)
    dispatched = library(X) == "torch" and get_config()["array_api_dispatch"]
    if on_gpu(X) or dispatched or device not in (None, "cpu"):
        return _OnDevice(X, device)
    return None


@dataclass(frozen=True)
class _OnDevice:
    X: Any
    device: str | None

    @contextmanager
    def held(self) -> Iterator[Holder]:
        from .gpu import hold

        yield hold(self.X, self.device)

    def give(self, a: Any) -> Any:
        from .gpu import give_back

        return give_back(a, like=self.X)

    give_small = give

    def by_rows(self, function: Any, *args: Any) -> Any:
        return self.give(function(brought(self.X), *args))


@dataclass(frozen=True)
class _WithDask:
    X: Any

    @contextmanager
    def held(self) -> Iterator[Holder]:
        from .distributed import hold

        with hold(self.X) as holder:
            yield holder

    def give(self, a: Any) -> Any:
        from .distributed import give_back

        return give_back(a, like=self.X)

    def give_small(self, a: Any) -> Any:
        return a

    def by_rows(self, function: Any, *args: Any) -> Any:
        from .distributed import by_rows

        return by_rows(self.X, function, *args)


def nearest_in_shards(holder: Holder, centers: FloatArray) -> IntArray:
    """Nearest centre of every row."""
    middle = centers.mean(axis=0, dtype=np.float64)
    # About their middle, so that single precision keeps digits for data far from the origin.
    local = centers - middle
    norms = (local * local).sum(axis=1) + 2.0 * (local @ middle)
    ask = Ask(local, norms, np.zeros(len(centers)), key=uuid4().hex)
    none = np.empty(0, np.int64)
    return np.concatenate(holder.map(labels_of, ask, none, none))


def find_solution_in_shards(
    holder: Holder,
    rules: ConstraintSet,
    n_clusters: int,
    weight: FloatArray | None,
    settings: Settings,
    random_state: np.random.RandomState,
) -> tuple[Solution, Report]:
    """Solve and audit where the rows are, or at home.

    Raises
    ------
    ValueError, InfeasibleConstraintsError, SolverTimeoutError
        As for data in memory.
    """
    began = time.monotonic()
    n = int(sum(holder.lengths))
    plain = settings.solver == "projected" and settings.repair and not settings.relaxes
    plain = plain and not settings.record_x  # which may be more than a device can keep
    why = "only sizes, must-links, cannot-links and weights are solved where the data are"
    if plain and n * n_clusters > LARGE:
        groups, problem = grouped(holder, rules, n_clusters, weight)
        if _shardable(problem, settings):
            try:
                solution = solve_sharded(groups, problem.in_any_order(), settings, random_state)
            except OutOfTime as late:
                raise out_of_time(began) from late
            except NoAssignment:  # at home everything is weighed together
                why = "where the data are, rows with links left no room for the others"
            else:
                solution = _numbered(solution, problem, settings, holder)
                return solution, audit_shards(holder, solution.labels, rules, n_clusters, weight)
    points = _home(holder, why)
    solution = find_solution(points, rules, n_clusters, weight, settings, random_state, None)
    return solution, audit(points, solution.labels, rules, n_clusters, weight)


def _shardable(problem: Problem, settings: Settings) -> bool:
    """Whether sizes, must-links and cannot-links are all there is, of more than a sample."""
    others = len(problem.pins) or len(problem.soft.price) or problem.totals
    wanted = settings.max_samples
    few = wanted == "auto" and sample_size(problem, wanted) == problem.n_groups
    return not (others or few) and problem.linear is None


def _home(holder: Holder, why: str) -> FloatArray:
    """All points in this process's memory."""
    size = sum(holder.lengths) * holder.n_features * np.dtype(holder.dtype).itemsize
    if size > MANY_BYTES:
        warnings.warn(
            f"X, {size / 2**30:.1f} GiB, is brought into this process's memory: {why}.",
            stacklevel=4,
        )
    return bring_home(holder)


def _numbered(solution: Solution, problem: Problem, settings: Settings, holder: Holder) -> Solution:
    """Number the clusters, by their sizes where these have an order: no other rule gets here."""
    init = settings.init
    if isinstance(init, str):
        return renumber(solution, problem)
    centers = (
        init if init.ndim == 2 else label_means(holder, init.astype(np.int64), problem.n_clusters)
    )
    return follow(solution, centers.astype(np.float64), problem)
