"""A problem solved: the search where the rows are, and the solution that it gives.

Rows in memory are searched whole.  Where there are many, a sample of them is searched first, and
its centres and prices start all rows.  Rows elsewhere, on a GPU or with Dask's workers, are always
begun by a sample in memory (:mod:`.search.far`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from . import numbers as at
from ._arrays import one_blas_thread
from ._typing import FloatArray
from .admm.algorithm1 import PaperRules, solve_algorithm1
from .admm.history import History, Options, Recorder, Relaxation
from .constraints._checks import sums_by
from .deadline import OutOfTime
from .exact import NoAssignment
from .problem import Problem
from .rows import ShardRows
from .search.budget import Budget
from .search.descent import Answer, Descender, match_sizes
from .search.engine import Maker, search
from .search.events import HOME, Events
from .search.far import FarAnswer, is_small, search_far, why_home
from .search.makers import Makers, relax
from .search.population import Population
from .search.prices import Found
from .search.rescue import any_answer
from .search.shape import MeansShape, size_of
from .search.starts import draw, group_labels, make_start
from .search.vary import Variation
from .solution import Solution, numbered

#: Bytes of X above which bringing it into this process's memory is worth a warning.
MANY_BYTES = 1 << 30

logger = logging.getLogger(__name__)


def solve(
    problem: Problem,
    random_state: np.random.RandomState,
    paper: Problem | None = None,
) -> Solution:
    """Search for labels of least objective that obey the rules.

    Parameters
    ----------
    problem : Problem
    random_state : RandomState
    paper : Problem, optional
        The same without contraction, which Algorithm 1 works on.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any feasible answer.
    """
    if paper is not None:
        PaperRules.of(paper.rules, paper.rows.weight)  # refuses rules that the paper does not have
    events = Events(problem.settings.progress.deadline)
    problem.settings.progress.begin(1, 1)
    why = _why_home(problem) if problem.rows.far else ""
    if why:
        problem = _brought_home(problem, why, events)
    if problem.rows.far:
        try:
            solution = _searched_far(problem, random_state, events)
        except NoAssignment:
            why = "no labels were found that obey the rules where the data are"
            problem = _brought_home(problem, why, events)
    if not problem.rows.far:
        with one_blas_thread():
            if not problem.settings.repair:
                return _rounded(problem, paper, random_state, events)
            solution = _searched(problem, paper, random_state, events)
    if problem.rules.numbered:
        return solution
    return numbered(solution, problem.given, _start_centers(problem))


def _searched(
    problem: Problem,
    paper: Problem | None,
    random_state: np.random.RandomState,
    events: Events,
) -> Solution:
    """The search of all rows in memory, on a sample first if there are many."""
    effort, size = problem.settings.effort, size_of(problem.near)
    budget = Budget.of(size, problem.n_clusters, effort, problem.deadline)
    events.note("groups of rows", problem.rules.n_groups)
    events.note("clusters", problem.n_clusters)
    own = Makers(problem, random_state, budget)
    makers: Iterable[tuple[str, Maker]] = own
    if paper is not None:
        own.relaxed, centers = _algorithm1(problem, paper, random_state)
        makers = [("Algorithm 1", lambda: centers)]
    elif answers := _searched_samples(problem, own, random_state, events):
        makers = _levelled(answers, own)
    making = at.STEP if makers is own else np.inf
    found = _search_level(problem, makers, random_state, budget, events, making)
    events.stopped(budget.deadline, found.ended)
    return _solution(problem, found.top, own.relaxed, events)


def _searched_samples(
    problem: Problem, own: Makers, random_state: np.random.RandomState, events: Events
) -> list[Answer]:
    """Answers of the last of ever larger samples, each of which starts from those before.

    There are none of few rows, or if none of a sample obey the rules.
    """
    answers, size, until = list[Answer](), problem.coarse, problem.deadline.share(at.STEP)
    if problem.rules.adjacency is not None:  # a sample of the groups is not connected
        return answers
    while at.GROWTH * size < problem.rules.n_groups and not until.passed:
        part = problem.part(draw(problem.rules, size, random_state))
        budget = Budget.of(size_of(part.near), problem.n_clusters, problem.settings.effort, until)
        budget.work = min(budget.work, (1.0 - at.STEP) * own.budget.work)
        own.budget.work -= budget.work
        events.note("groups of a sample", part.rules.n_groups)
        of_part = Makers(part, random_state, budget)
        here = [_moved(each, problem, part) for each in answers]
        makers = _levelled(here, of_part) if here else of_part
        with suppress(NoAssignment, OutOfTime):  # then all rows have starts of their own
            found = _search_level(part, makers, random_state, budget, events)
            answers = [_moved(each, part, problem) for each in found.answers]
        own.relaxed = own.relaxed or of_part.relaxed
        size *= at.GROWTH
    return answers


def _levelled(answers: list[Answer], makers: Makers) -> Iterator[tuple[str, Maker]]:
    """Makers from answers of a sample, the best first, and from seeds of all rows here.

    Seeds come first if they are better: a sample may mislead.  So may k-means without rules: the
    best answer is tried whatever that takes.
    """
    if isinstance(makers.problem.settings.init, str):
        yield "seeds", lambda: makers.instead_of(answers[0])
    for i, answer in enumerate(answers):
        if i and makers.budget.part >= at.STEP:
            return
        yield "answer of the sample", partial(lambda each: each, answer)


def _why_home(problem: Problem) -> str:
    """Why far rows are brought into this process's memory, or nothing if they stay."""
    settings = problem.settings
    if settings.solver != "projected" or not settings.repair or settings.record_x:
        return "only the default solver with repair, and without record_x, works where they are"
    if why := why_home(problem.rules):
        return why
    return "the problem is small" if is_small(problem) else ""


def _brought_home(problem: Problem, why: str, events: Events) -> Problem:
    """The problem with all rows in this process's memory; the user is told if they are many."""
    m, d = problem.rows.shape
    size = m * d * np.dtype(problem.rows.dtype).itemsize
    events.note(HOME, why)
    if size > MANY_BYTES:
        warnings.warn(
            f"X, {size / 2**30:.1f} GiB, is brought into this process's memory: {why}.",
            stacklevel=4,
        )
    return problem.home()


def _searched_far(
    problem: Problem, random_state: np.random.RandomState, events: Events
) -> Solution:
    """A sample searched in memory, then all rows where they are."""
    if problem.settings.max_samples is None:
        message = '`max_samples` is None, which means "auto" on a GPU and with Dask: give "auto".'
        warnings.warn(message, FutureWarning, stacklevel=4)
    events.note("groups of rows", problem.rules.n_groups)
    events.note("clusters", problem.n_clusters)
    relaxed: list[Relaxation] = []
    if isinstance(problem.rows, ShardRows) and problem.rows.memory:
        events.note("memory", problem.rows.memory)

    def search_near(
        part: Problem, random_state: np.random.RandomState
    ) -> tuple[FloatArray, Found | None]:
        events.note("groups of a sample", part.rules.n_groups)
        effort, until = part.settings.effort, part.deadline
        budget = Budget.of(size_of(part.near), part.n_clusters, effort, until)
        own = Makers(part, random_state, budget)
        with one_blas_thread():
            found = _search_level(part, own, random_state, budget, events).top
        relaxed.extend([] if own.relaxed is None else [own.relaxed])
        return found.clusters, found.prices

    found = search_far(problem, random_state, search_near)
    events.found("all rows where they are", _shown(problem, found))
    if found.exact:
        events.note("labels", "proven optimal at the last centres")
    events.stopped(problem.deadline, "the end of its rounds")
    answer = Answer(found.labels(), found.centers, found.objective, found.rules, None)
    return _solution(problem, answer, relaxed[0] if relaxed else None, events)


def _search_level(
    problem: Problem,
    makers: Iterable[tuple[str, Maker]],
    random_state: np.random.RandomState,
    budget: Budget,
    events: Events,
    making: float = at.STEP,
) -> Population:
    """Search one level; where no maker's answer obeys the rules, an exact solver finds one."""
    rules, rows = problem.rules, problem.near
    shape = MeansShape(rows, rules.n_clusters)
    descender = Descender(rules, shape, budget, random_state)
    variation = Variation(rules, shape, random_state)
    progress, told = problem.settings.progress, list[str]()

    def tell(name: str, answer: Answer | None) -> None:
        objective = None if answer is None else _shown(problem, answer)
        events.found(name, objective)
        if "ADMM" not in told:  # the progress of ADMM ends with its answer
            progress.step(objective)
        told.append(name)
        logger.info(
            "%s: %s", name, "no answer" if objective is None else f"objective {objective:.8g}"
        )

    found = search(
        descender,
        variation,
        makers,
        tell,
        lambda: any_answer(descender, problem.deadline),
        lambda: progress.enter("search"),
        making,
        repeats=problem.settings.n_init != "auto",
    )
    events.searched(_shown(problem, found.top), (found.tried, found.kept), descender.exact)
    return found


def _shown(problem: Problem, answer: Answer | FarAnswer) -> float:
    """The objective for people, whom rounding below 0 would puzzle."""
    return max(problem.objective(answer.objective), 0.0)


def _moved(answer: Answer, of: Problem, to: Problem) -> Answer:
    """An answer of one problem with its clusters about the middle of another's rows."""
    return replace(answer, clusters=of.shifted(answer.clusters, to))


def _algorithm1(
    problem: Problem, paper: Problem, random_state: np.random.RandomState
) -> tuple[Relaxation, FloatArray]:
    """The paper's algorithm on all rows, and its centres relative to the middle."""
    settings = problem.settings
    start = make_start(paper.rules, paper.rows, settings.init, random_state, problem.deadline)
    rules = PaperRules.of(
        match_sizes(paper.rules, sums_by(start.labels, paper.rules.count, paper.n_clusters)),
        paper.rows.weight,
    )
    settings.progress.enter("admm")
    options = Options(
        rho=settings.rho,
        rho_growth=settings.rho_growth,
        rho_every=settings.rho_every,
        tol=settings.tol,
        max_iter=settings.max_iter,
        deadline=problem.deadline,
        record_x=settings.record_x,
        progress=lambda *_: settings.progress.step(),
    )
    relaxed = solve_algorithm1(paper.near.points, start.labels, paper.n_clusters, rules, options)
    labels = group_labels(problem.rules, relaxed.labels)
    return relaxed, problem.rows.means(labels, problem.n_clusters)


def _rounded(
    problem: Problem, paper: Problem | None, random_state: np.random.RandomState, events: Events
) -> Solution:
    """The plain rounding of x, of the rows if that is what x is about."""
    if paper is not None:
        relaxed, _ = _algorithm1(problem, paper, random_state)
        seen = paper
    else:
        seen, settings = problem, problem.settings
        start = make_start(seen.rules, seen.rows, settings.init, random_state, seen.deadline)
        counts = sums_by(start.labels, seen.rules.count, seen.n_clusters)
        seen = seen.with_rules(match_sizes(seen.rules, counts))
        relaxed = relax(seen, start)
    means, inertia = seen.rows.measured(relaxed.labels, seen.n_clusters, relaxed.centers)
    objective = inertia + seen.rules.soft_cost(relaxed.labels)
    answer = Answer(relaxed.labels, means, objective, seen.rules, None)
    events.note("labels", f"rounded from ADMM's x of iteration {relaxed.n_iter}, not repaired")
    limit = seen.settings.max_iter
    over = f"max_iter={limit}" if relaxed.n_iter >= limit else "ADMM, which gave up"
    events.stopped(seen.deadline, "ADMM's convergence" if relaxed.converged else over)
    solution = _solution(seen, answer, relaxed, events)
    return replace(solution, may_violate=True)


def _solution(
    problem: Problem, answer: Answer, relaxed: Relaxation | None, events: Events
) -> Solution:
    """The answer with labels of all rows and centres with the middle."""
    rows = problem.rows
    return Solution(
        labels=problem.rules.to_rows(answer.labels),
        centers=answer.clusters + rows.middle,
        objective=problem.objective(answer.objective),
        sizes=answer.rules.sizes,
        history=_no_history(problem) if relaxed is None else relaxed.history,
        n_iter=0 if relaxed is None else relaxed.n_iter,
        converged=relaxed is None or relaxed.converged,
        events=events,
    )


def _no_history(problem: Problem) -> History:
    return Recorder(problem.n_clusters).history()


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
