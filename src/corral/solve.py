"""A problem solved: runs from several starts, the best of them, and what they give together.

The plan says how many runs there are (``restarts`` of :class:`.plan.Plan`).  With ``n_init="auto"``
they end sooner when the best answer has been found twice.  Otherwise, and as a test of that answer,
the answers found are recombined (:mod:`.polish.recombine`) within the budget of moves that further
runs would have had.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import TimeoutError as NoResult

import numpy as np
from joblib import Parallel, delayed

from ._arrays import one_blas_thread
from ._typing import FloatArray, IntArray
from .admm.algorithm1 import PaperRules
from .admm.history import Recorder
from .assign import NoAssignment
from .deadline import Deadline, OutOfTime
from .plan import is_large
from .plan.thresholds import START_SECONDS
from .polish import Answer, is_clear, recombine
from .problem import Problem
from .run import Run
from .search.far import is_small, search_far, why_home
from .solution import Solution, numbered
from .start import group_labels

#: Bytes of X above which bringing it into this process's memory is worth a warning.
MANY_BYTES = 1 << 30
#: Relative difference up to which two objectives are equal.
EQUAL = 1e-9

#: Whether an answer with this objective needs no rival; it may take so many seconds to find out.
Enough = Callable[[float, float], bool]

logger = logging.getLogger(__name__)


def solve(
    problem: Problem,
    random_state: np.random.RandomState,
    paper: Problem | None = None,
    enough: Enough | None = None,
) -> Solution:
    """Run all restarts and keep the best.

    Parameters
    ----------
    problem : Problem
    random_state : RandomState
    paper : Problem, optional
        The same without contraction, which Algorithm 1 works on.
    enough : callable, optional
        Asked between restarts; its answer True ends them.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any feasible answer.
    """
    if paper is not None:
        PaperRules.of(paper.rules, paper.rows.weight)  # refuses rules that the paper does not have
    why = _why_home(problem) if problem.rows.far else ""
    if why:
        problem = _brought_home(problem, why)
    logger.info("plan: %s", problem.plan)
    if problem.rows.far:
        try:
            solution = _solve_far(problem, random_state)
        except NoAssignment:
            why = "no labels were found that obey the rules where the data are"
            problem = _brought_home(problem, why)
    if not problem.rows.far:
        solution = best_of_runs(_run(problem, paper), random_state, enough)
    if problem.rules.numbered:
        return solution
    return numbered(solution, problem.given, _start_centers(problem))


def _why_home(problem: Problem) -> str:
    """Why far rows are brought into this process's memory, or nothing if they stay."""
    settings = problem.settings
    if settings.solver != "projected" or not settings.repair or settings.record_x:
        return "only the default solver with repair, and without record_x, works where they are"
    if why := why_home(problem.rules):
        return why
    return "the problem is small" if is_small(problem) else ""


def _solve_far(problem: Problem, random_state: np.random.RandomState) -> Solution:
    """A sample in memory by the runs of its own plan, then all rows where they are."""
    problem = problem.until(problem.deadline.with_budget(problem.plan.programs))
    problem.settings.progress.begin(1, 1)
    seen: list[Solution] = []

    def search_near(
        part: Problem, random_state: np.random.RandomState
    ) -> tuple[FloatArray, FloatArray | None]:
        seen.append(best_of_runs(_run(part, None), random_state))
        return seen[0].centers - part.rows.middle, None

    found = search_far(problem, random_state, search_near)
    history = seen[0].history if seen else Recorder(problem.n_clusters).history()
    return Solution(
        labels=problem.rules.to_rows(found.labels()),
        centers=found.centers + problem.rows.middle,
        objective=problem.objective(found.objective),
        sizes=found.rules.sizes,
        history=history,
        n_iter=seen[0].n_iter if seen else 0,
        converged=not seen or seen[0].converged,
        plan=problem.plan,
        spent=problem.deadline.budget.spent,
    )


def _start_centers(problem: Problem) -> FloatArray | None:
    """The centres of a start that the user gave, in the user's coordinates."""
    init, rules, rows = problem.settings.init, problem.rules, problem.rows
    if isinstance(init, str):
        return None
    if init.ndim == 2:
        return np.asarray(init, np.float64)
    labels = group_labels(rules, init.astype(np.int64))
    centers: FloatArray = rows.means(labels, rules.n_clusters) + rows.middle
    return centers


def _brought_home(problem: Problem, why: str) -> Problem:
    """The problem with all rows in this process's memory; the user is told if they are many."""
    m, d = problem.rows.shape
    size = m * d * np.dtype(problem.rows.dtype).itemsize
    if size > MANY_BYTES:
        warnings.warn(
            f"X, {size / 2**30:.1f} GiB, is brought into this process's memory: {why}.",
            stacklevel=4,
        )
    return problem.home(why)


def _run(problem: Problem, paper: Problem | None) -> Run:
    """What makes one run; integer programs of all runs share one budget."""
    problem = problem.until(problem.deadline.with_budget(problem.plan.programs))
    return Run(problem, paper, n_threads=None)


def best_of_runs(
    run: Run, random_state: np.random.RandomState, enough: Enough | None = None
) -> Solution:
    """The best of all runs and of their recombinations, or one that is proven to be enough.

    Raises
    ------
    OutOfTime
        The deadline came before any feasible answer.
    """
    problem = run.problem
    seeds = random_state.randint(np.iinfo(np.int32).max, size=problem.plan.restarts)
    run, jobs = run.beginning(int(seeds[0])), problem.settings.n_jobs
    parallel = len(seeds) > 1 and jobs not in (None, 1) and not problem.rows.far
    parallel = parallel and problem.deadline.left > START_SECONDS
    # What is left to this process is small, and faster without waking others for it.
    small = problem.rows.far or not is_large(problem.rules)
    with one_blas_thread() if small else nullcontext():
        if parallel:
            runs = _side_by_side(run.in_one_thread(), seeds, jobs)
        else:
            runs = _in_turn(run, seeds, enough)
        solutions = list(_until_equal(runs, problem.plan.agree))
        if parallel and not solutions and not problem.settings.limited:
            # The user set no limit: other processes that begin late are no reason to fail.
            solutions = list(_in_turn(run.anew(), seeds[:1], enough))
        if not solutions:
            raise OutOfTime
        best: Solution = min(solutions, key=lambda solution: solution.objective)
        proven = enough is not None and enough(best.objective, 0.0)
        if problem.plan.children and not proven:
            best = _recombined(problem, solutions, random_state)
    made = _made(problem, solutions, proven)
    plan = None if best.plan is None else replace(best.plan, made=made)
    spent = any(solution.spent for solution in solutions) or problem.deadline.budget.spent
    return replace(best, plan=plan, spent=spent)


def _until_equal(runs: Iterator[Solution], agree: int) -> Iterator[Solution]:
    """Solutions until the best has been found so often; 0 for all of them."""
    solutions: list[Solution] = []
    for solution in runs:
        solutions.append(solution)
        yield solution
        if agree and _equal(solutions) >= agree:
            return


def _equal(solutions: list[Solution]) -> int:
    """How many of the solutions have the least objective, but for rounding."""
    objective = np.array([solution.objective for solution in solutions])
    return int(np.sum(objective <= objective.min() * (1.0 + EQUAL)))


def _made(problem: Problem, solutions: list[Solution], proven: bool) -> str:
    """How many runs there were, and why not more."""
    made, planned = len(solutions), problem.plan.restarts
    if made == planned:
        return f"{made}"
    if _equal(solutions) >= problem.plan.agree > 0:
        return f"{made}, {problem.plan.agree} of them equal"
    if proven:
        return f"{made}, the best of them proven optimal"
    limit = "the time limit" if problem.deadline.passed else "the budget of integer programs"
    return f"{made} of {planned}, ended by {limit}"


def _recombined(
    problem: Problem, solutions: list[Solution], random_state: np.random.RandomState
) -> Solution:
    """The best of the solutions and of what recombining them gives."""
    best = min(solutions, key=lambda solution: solution.objective)
    answers = [_answer(problem, solution) for solution in solutions]
    first = min(answers, key=lambda answer: answer.objective)
    if not problem.rules.paired and is_clear(problem, first):
        return best
    found = recombine(problem, answers, random_state)
    logger.info("recombined: objective %.8g", problem.objective(found.objective))
    if not found.beats(first):
        return best
    return replace(
        best,
        labels=problem.rules.to_rows(found.labels),
        centers=found.centers + problem.rows.middle,
        objective=problem.objective(found.objective),
        sizes=found.rules.sizes,
    )


def _answer(problem: Problem, solution: Solution) -> Answer:
    """The answer that a solution was made of."""
    labels = solution.labels[problem.rules.first_rows]
    rules = replace(problem.rules, sizes=solution.sizes)
    objective = solution.objective - problem.objective(0.0)
    return Answer(labels, solution.centers - problem.rows.middle, objective, rules)


def _side_by_side(run: Run, seeds: IntArray, jobs: int | None) -> Iterator[Solution]:
    """In other processes, which tell nobody of their progress; a callback may end them.

    A process that does not answer in time is not waited for.
    """
    deadline, progress = run.problem.deadline, run.problem.settings.progress
    progress.begin(0, len(seeds))
    left = deadline.first.left
    limit = left if left < math.inf else None
    parallel = Parallel(n_jobs=jobs, return_as="generator", timeout=limit)
    found = parallel(delayed(run.in_time)(seed) for seed in seeds)
    try:
        for number, solution in enumerate(found, 1):
            progress.end(number, None if solution is None else solution.objective)
            if solution is not None:
                yield solution
            if deadline.stopped:
                return
    except NoResult:
        return
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that tasks are cancelled
            found.close()


def _in_turn(run: Run, seeds: IntArray, enough: Enough | None) -> Iterator[Solution]:
    """One after another until time or the budget of the programs is over; at least one.

    Between two of them, as long as the last one took is for the proof that no more are needed, if
    the others have time all the same.
    """
    best = math.inf
    for number, seed in enumerate(seeds, 1):
        clock = Deadline()
        if number > 1 and run.problem.deadline.spent:
            return
        run.problem.settings.progress.begin(number, len(seeds))
        solution = run.in_time(int(seed))
        if solution is None:
            return
        logger.info("run %d of %d: objective %.8g", number, len(seeds), solution.objective)
        yield solution
        best, took = min(best, solution.objective), clock.elapsed
        spare = min(took, run.problem.deadline.left - (len(seeds) - number) * took)
        if enough is not None and number < len(seeds) and spare > 0.0 and enough(best, spare):
            logger.info("%d of %d runs were enough: proven optimal", number, len(seeds))
            return
