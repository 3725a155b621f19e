"""One problem, from all its starts to the best answer found."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
from joblib import Parallel, delayed

from ._typing import IntArray
from .admm.blocks import one_blas_thread
from .assign import OutOfTime
from .geometry import Geometry
from .problem import Problem
from .run import Run, Solution
from .settings import Settings

logger = logging.getLogger(__name__)


def solve(
    problem: Problem,
    settings: Settings,
    random_state: np.random.RandomState,
    rows: Problem | None = None,
) -> Solution:
    """Run all restarts and keep the best.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    random_state : RandomState
    rows : Problem, optional
        The same without contraction, which Algorithm 1 works on.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any feasible answer.
    """
    seeds = random_state.randint(np.iinfo(np.int32).max, size=settings.runs(problem))
    parallel = len(seeds) > 1 and settings.n_jobs not in (None, 1)
    run = Run(problem, Geometry(problem), settings, rows, beside_others=parallel)
    if not parallel:
        with nullcontext() if problem.large else one_blas_thread():
            solutions = list(_in_turn(run, seeds))
    else:
        found = Parallel(n_jobs=settings.n_jobs)(delayed(run.in_time)(seed) for seed in seeds)
        solutions = [solution for solution in found if solution is not None]
    if not solutions:
        raise OutOfTime
    return min(solutions, key=lambda solution: solution.objective)


def _in_turn(run: Run, seeds: IntArray) -> Iterator[Solution]:
    """One after another; a passed deadline ends them, but not before the first."""
    for number, seed in enumerate(seeds, 1):
        if number > 1 and run.settings.late:
            return
        solution = run.in_time(int(seed))
        if solution is None:
            return
        logger.info("run %d of %d: objective %.8g", number, len(seeds), solution.objective)
        yield solution
