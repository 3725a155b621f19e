"""One run: from a start to labels that obey every hard rule.

A run is start, relax, assign, polish, with rivals that compete with the relaxed answer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.algorithm1 import PaperRules, solve_algorithm1
from .admm.crew import Threads
from .admm.history import Options, Recorder, Relaxation
from .admm.projected import solve_projected
from .assign import Assignment, Warm
from .constraints._checks import sums_by
from .deadline import OutOfTime
from .many import graduate, split
from .plan import Plan, default_limit
from .plan.thresholds import ADMM_SHARE
from .polish import (
    Answer,
    evaluate,
    exactly,
    exchange,
    first_answer,
    from_seeds,
    improve,
    is_clear,
)
from .presolve import Rules
from .problem import Problem
from .rivals import better_labels
from .solution import Solution
from .start import (
    Start,
    group_labels,
    labelled_means,
    make_start,
    match_sizes,
    sample,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """Solves the problem from one start, given by a seed.

    Attributes
    ----------
    problem : Problem
    paper : Problem or None
        The same without contraction, if Algorithm 1 is to solve it.
    n_threads : int or None
        Threads for the passes of ADMM; None for as many as there are cores.
    first : int or None
        Seed of the run that starts from labelled groups even if these name all clusters; None if
        all runs do.
    """

    problem: Problem
    paper: Problem | None
    n_threads: int | None
    first: int | None = None

    def in_time(self, seed: int) -> Solution | None:
        """The solution, or None if the deadline came before a feasible one."""
        try:
            return self(seed)
        except OutOfTime:
            return None

    def in_one_thread(self) -> Self:
        """The same for a process that has one core for itself."""
        return replace(self, n_threads=1)

    def beginning(self, seed: int) -> Self:
        """The same, told which seed is that of the first run."""
        return replace(self, first=seed)

    def anew(self) -> Self:
        """The same with a default limit that begins now."""
        problem, deadline = self.problem, self.problem.deadline
        later = deadline.limited(deadline.elapsed + default_limit(problem.rules.n_rows))
        return replace(self, problem=problem.until(later))

    def __call__(self, seed: int) -> Solution:
        """Start, relax, assign, polish, with rivals."""
        problem, random_state = self.problem, np.random.RandomState(seed)
        progress = problem.settings.progress
        if problem.plan.centers != "ADMM":
            return self._among_many(seed, random_state)
        view, groups = sample(problem, random_state)
        if groups is not None:
            logger.info("plan of the sample: %s", view.plan)
        start, row_labels = self._start(view, groups, seed, random_state)
        counts = sums_by(start.labels, view.rules.count, view.n_clusters)
        rules = match_sizes(problem.rules, counts)
        if not problem.settings.repair:
            return self._rounded(rules, start, row_labels)
        rival = from_seeds(problem, rules, view.shifted(start.centers, problem), random_state)
        if rival is not None and problem.plan.direct > 1 and problem.settings.coarse:
            rival = exchange(problem, rival)
            if is_clear(problem, rival):
                return _solution(problem, rival, _certain(problem, rival), view.plan)
        view_rules = match_sizes(view.rules, counts)
        soon = view.deadline if rival is not None else view.deadline.share(ADMM_SHARE)
        relaxed = self._relax(view.with_rules(view_rules).until(soon), start, row_labels)
        labels = relaxed.labels
        progress.enter("rivals")
        if self.paper is not None:
            labels = group_labels(problem.rules, labels)
        elif view.plan.rival != "none":
            labels = better_labels(view, relaxed, start.centers, random_state, _solve_small)
        progress.enter("assign")
        answer = self._repaired(view, labels, relaxed, rival)
        progress.enter("polish")
        answer = improve(problem, answer, random_state)
        return _solution(problem, answer, relaxed, view.plan)

    def _among_many(self, seed: int, random_state: np.random.RandomState) -> Solution:
        """Start, relax, assign, polish over the candidates of each group."""
        problem = self.problem
        progress = problem.settings.progress
        soon = problem.until(problem.deadline.share(ADMM_SHARE))
        view = soon
        if problem.plan.centers.startswith("tree"):
            start = split(view, random_state)
        else:
            some, groups = sample(soon, random_state)
            seeds = self._start(some, groups, seed, random_state)[0].centers
            start = some.shifted(seeds, view)
        progress.enter("admm")
        relaxed, prices = graduate(view, start)
        counts = sums_by(relaxed.labels, view.rules.count, problem.n_clusters)
        rules = match_sizes(problem.rules, counts)
        progress.enter("assign")
        warm, centers = Warm(prices, None), view.shifted(relaxed.centers, problem)
        answer = first_answer(problem.with_rules(rules), centers, problem.plan.rounds, warm)
        progress.enter("polish")
        answer = improve(problem, answer, random_state)
        return _solution(problem, answer, relaxed, problem.plan)

    def _start(
        self,
        view: Problem,
        groups: IntArray | None,
        seed: int,
        random_state: np.random.RandomState,
    ) -> tuple[Start, IntArray]:
        """Of the groups in view, and of the rows for Algorithm 1, which knows no groups."""
        init, rules = self.problem.settings.init, self.problem.rules
        if self.paper is not None:
            whole = self.paper
            labels = make_start(whole.rules, whole.rows, init, random_state, view.deadline).labels
            own = group_labels(rules, labels)
            return make_start(rules, self.problem.rows, own, random_state), labels
        if not isinstance(init, str) and init.ndim == 1:
            init = group_labels(rules, init.astype(np.int64))
            init = init if groups is None else init[groups]
        known = None
        if isinstance(init, str):
            others = self.first not in (None, seed)
            known = labelled_means(rules, self.problem.rows, random_state, others=others)
        start = make_start(view.rules, view.rows, init, random_state, view.deadline, known)
        return start, start.labels

    def _relax(self, view: Problem, start: Start, row_labels: IntArray) -> Relaxation:
        """The relaxed assignment by the solver asked for."""
        settings, plan = view.settings, view.plan
        progress = self.problem.settings.progress
        progress.enter("admm")
        options = Options(
            rho=settings.rho,
            rho_growth=plan.growth if self.paper is None else settings.rho_growth,
            rho_every=settings.rho_every,
            tol=settings.tol,
            max_iter=settings.max_iter,
            deadline=view.deadline,
            record_x=settings.record_x,
            progress=lambda *_: progress.step(),
            hardens=plan.hardens,
            count_every=plan.count_every,
        )
        if self.paper is not None:
            rules = PaperRules.of(self.paper.rules, self.paper.rows.weight)
            sizes = None if view.rules.sizes is None else view.rules.sizes.lower
            rules = replace(rules, sizes=sizes)
            points = self.paper.near.points
            return solve_algorithm1(points, row_labels, view.n_clusters, rules, options)
        rows = view.near.single() if plan.single else view.near
        crew = Threads(rows.points, self.n_threads)
        return solve_projected(view.rules, rows, start.labels, options, crew)

    def _rounded(self, rules: Rules, start: Start, row_labels: IntArray) -> Solution:
        """The plain rounding of x, of the rows if that is what x is about."""
        problem = self.problem.with_rules(rules)
        relaxed = self._relax(problem, start, row_labels)
        labels, centers = relaxed.labels, relaxed.centers
        if self.paper is not None:
            problem = self.paper.with_rules(replace(self.paper.rules, sizes=rules.sizes))
            centers = problem.rows.means(labels, problem.n_clusters)
        answer = evaluate(problem, Assignment(labels, np.nan), centers)
        return _solution(problem, answer, relaxed, self.problem.plan)

    def _repaired(
        self,
        view: Problem,
        labels: IntArray,
        relaxed: Relaxation,
        rival: Answer | None,
    ) -> Answer:
        """Exact repair of the relaxed answer, or the rival where that is better."""
        problem, k = self.problem, view.n_clusters
        if rival is not None and not problem.plan.competes:
            return rival
        rules = match_sizes(problem.rules, sums_by(labels, view.rules.count, k))
        # Algorithm 1 holds its centres in the user's coordinates.
        offset = 0.0 if self.paper is None else problem.rows.middle
        means = view.rows.means(labels, k, relaxed.centers - offset)
        try:
            answer = first_answer(problem.with_rules(rules), view.shifted(means, problem))
        except OutOfTime:
            if rival is None:
                raise
            return rival
        if rival is None or not rival.beats(answer):
            return answer
        # A rival of one round is refined until the objective stops falling.
        return rival if problem.plan.direct > 1 else exactly(problem, rival)


def _solution(problem: Problem, answer: Answer, relaxed: Relaxation, seen: Plan) -> Solution:
    """The answer with labels of all rows and centres with the middle; ``seen`` planned ADMM."""
    rows, plan = problem.rows, problem.plan.with_sample(seen)
    if problem.deadline.budget.cut:
        plan = replace(plan, assignment=f"{plan.assignment}, cut short by time")
    return Solution(
        labels=problem.rules.to_rows(rows.labels(answer.labels)),
        centers=answer.centers + rows.middle,
        objective=problem.objective(answer.objective),
        sizes=answer.rules.sizes,
        history=relaxed.history,
        n_iter=relaxed.n_iter,
        converged=relaxed.converged,
        plan=plan,
        may_violate=not problem.settings.repair,
        spent=problem.deadline.budget.spent,
    )


def _certain(problem: Problem, answer: Answer) -> Relaxation:
    """An answer that needs no ADMM, as if one iteration had found it."""
    recorder = Recorder(problem.n_clusters)
    recorder.record(None, answer.objective, problem.settings.rho, {"box": 0.0}, answer.labels)
    history = recorder.history()
    return Relaxation(answer.labels, answer.centers, history, n_iter=1, converged=True)


def _solve_small(problem: Problem, seed: int) -> tuple[IntArray, FloatArray]:
    """Labels and centres of a pilot, which has one core for itself."""
    found = Run(problem, None, n_threads=1)(seed)
    return found.labels, found.centers
