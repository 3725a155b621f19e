"""An answer, or the reason why there is none."""

from __future__ import annotations

import time
import warnings
from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._typing import FloatArray, IntArray, Matrix
from .admm.algorithm1_rules import PaperRules
from .assign import NoAssignment, OutOfTime, assign
from .conflict import explain
from .constraints import ConstraintSet
from .exceptions import BrokenAnswerError, InfeasibleConstraintsError, SolverTimeoutError
from .geometry import Geometry
from .initialise import initialise
from .number import follow, renumber
from .presolve import presolve
from .problem import Problem
from .run import Solution
from .settings import Settings
from .solve import solve
from .violate import solve_violating

#: Seconds that shrinking a conflict may take when the user set no limit.
EXPLAIN_SECONDS = 20.0


def find_solution(
    X: Matrix,
    rules: ConstraintSet,
    n_clusters: int,
    weight: FloatArray | None,
    settings: Settings,
    random_state: np.random.RandomState,
    names: Any,
) -> Solution:
    """Presolve and solve; relax the rules if they clash and the user asked for it.

    Raises
    ------
    InfeasibleConstraintsError
        With the user's own constraints that clash.
    SolverTimeoutError
        When the time limit ran out without an answer or a proof.
    """
    began = time.monotonic()
    try:
        problem = presolve(X, rules, n_clusters, weight, names=names)
        plain = settings.solver == "algorithm1"
        rows = presolve(X, rules, n_clusters, weight, contract=False) if plain else None
        if rows is not None:
            PaperRules.of(rows)  # refuses rules that the paper's model does not have
        loose = problem.in_any_order() if settings.repair and not plain else problem
        solution = solve(loose, settings, random_state, rows)
        return solution if loose.numbered else _numbered(solution, problem, settings)
    except (InfeasibleConstraintsError, NoAssignment) as clash:
        if settings.relaxes:
            loose = presolve(X, rules, n_clusters, weight, contract=False)
            return _violating(loose, settings, random_state, began)
        if isinstance(clash, NoAssignment):
            _raise_conflict(X.shape[0], n_clusters, rules, settings.deadline, names)
        raise
    except OutOfTime as late:
        raise out_of_time(began) from late


def _numbered(solution: Solution, problem: Problem, settings: Settings) -> Solution:
    """Number clusters that no rule ties to a number."""
    init = settings.init
    if isinstance(init, str):
        return renumber(solution, problem)
    if init.ndim == 2:
        return follow(solution, np.asarray(init, np.float64), problem)
    geometry = Geometry(problem)
    start = initialise(problem, geometry, init, np.random.RandomState(0))
    return follow(solution, start.centers + geometry.middle, problem)


def place(
    X: Matrix,
    rules: ConstraintSet,
    centers: FloatArray,
    weight: FloatArray | None,
    time_limit: float | None,
    names: Any,
) -> IntArray:
    """Exact assignment of rows to given centres.

    Raises
    ------
    InfeasibleConstraintsError, SolverTimeoutError
    """
    began = time.monotonic()
    deadline = None if time_limit is None else began + time_limit
    problem = presolve(X, rules, len(centers), weight, names=names)
    geometry = Geometry(problem)
    try:
        step = assign(
            problem, geometry.costs(centers - geometry.middle), deadline=deadline, match_sizes=True
        )
    except NoAssignment:
        _raise_conflict(X.shape[0], len(centers), rules, deadline, names)
    except OutOfTime as late:
        raise out_of_time(began) from late
    if not step.optimal:
        warnings.warn(
            "the assignment obeys the rules, but time ran out before it was proven the cheapest",
            ConvergenceWarning,
            stacklevel=3,
        )
    return problem.invert(step.labels)


def _violating(
    problem: Problem, settings: Settings, random_state: np.random.RandomState, began: float
) -> Solution:
    try:
        return solve_violating(problem, settings, random_state)
    except OutOfTime as late:
        raise out_of_time(began, "no least violation was found") from late


def _raise_conflict(
    n_samples: int, n_clusters: int, rules: ConstraintSet, deadline: float | None, names: Any
) -> NoReturn:
    """Raise the clash that the exact solver proved, shrunk as far as time allows."""
    limit = time.monotonic() + EXPLAIN_SECONDS if deadline is None else deadline
    try:
        error = explain(n_samples, n_clusters, rules, deadline=limit, names=names)
    except OutOfTime:
        message = "No assignment obeys these together, which there was no time to narrow down: "
        error = InfeasibleConstraintsError(message + rules.hard.phrase(names), rules.hard)
    if error is None:
        raise BrokenAnswerError(
            "one exact solver found the constraints contradictory and another did not, which is a "
            "fault of corral; please report it with your data"
        )
    raise error


def out_of_time(
    began: float, progress: str = "no feasible assignment was found"
) -> SolverTimeoutError:
    """The error that says how long it took and how far it got."""
    seconds = time.monotonic() - began
    return SolverTimeoutError(
        f"time ran out after {seconds:.3g} s: {progress}, and none was proven impossible; raise "
        "time_limit or loosen the constraints",
        seconds,
        progress,
    )
