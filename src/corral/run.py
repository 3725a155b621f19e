"""One run, from its start to an answer: initialise, admm, assign, polish."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.algorithm1 import solve_algorithm1
from .admm.algorithm1_rules import PaperRules
from .admm.crew import Threads
from .admm.history import History, Relaxation
from .assign import OutOfTime
from .coarse import draw, relax, sample_size, sampled
from .constraints._checks import sums_by
from .geometry import Geometry
from .initialise import Start, group_labels, initialise, match_sizes
from .pilot import better_order, better_start, needs_pilot, polish_sample
from .polish import MAX_ROUNDS, SMALL, Answer, evaluate, first_answer, improve
from .problem import Problem, SizeBounds
from .settings import Settings

#: Part of the time that ADMM's rival may take before it.
DIRECT_SHARE = 0.3


@dataclass(frozen=True)
class Solution:
    """Labels of the rows, and how they were found.

    Attributes
    ----------
    labels : (n,) array
    centers : (k, d) array
    objective : float
        Inertia plus the price of the soft pairs broken.
    sizes : SizeBounds or None
        In the order that the clusters obey.
    history : History
    n_iter : int
    converged : bool
        Whether the relaxed solver stopped by its own rule.
    may_violate : bool
        Whether hard rules may be broken, as the user asked for.
    """

    labels: IntArray
    centers: FloatArray
    objective: float
    sizes: SizeBounds | None
    history: History
    n_iter: int
    converged: bool
    may_violate: bool = False


@dataclass(frozen=True)
class _View:
    """Groups that the relaxed solver sees, with their problem and geometry."""

    problem: Problem
    geometry: Geometry
    groups: IntArray

    def counts(self, labels: IntArray) -> FloatArray:
        """Rows in each cluster."""
        return sums_by(labels, self.problem.count, self.problem.n_clusters)

    def with_sizes(self, counts: FloatArray) -> _View:
        """The same with free size bounds handed out by rank."""
        return replace(self, problem=match_sizes(self.problem, counts))

    def shifted(self, centers: FloatArray, geometry: Geometry) -> FloatArray:
        """Centres relative to the middle of another geometry."""
        if geometry is self.geometry:
            return centers
        moved: FloatArray = centers + (self.geometry.middle - geometry.middle)
        return moved


@dataclass(frozen=True)
class Run:
    """Solves the problem from one start, given by a seed.

    Attributes
    ----------
    problem, geometry
    settings : Settings
    rows : Problem or None
        The same without contraction, if Algorithm 1 is to solve it.
    beside_others : bool
        Whether other runs have the other cores.
    """

    problem: Problem
    geometry: Geometry
    settings: Settings
    rows: Problem | None
    beside_others: bool

    def in_time(self, seed: int) -> Solution | None:
        """The solution, or None if the deadline came before a feasible one."""
        try:
            return self(seed)
        except OutOfTime:
            return None

    def __call__(self, seed: int) -> Solution:
        """Initialise, relax, repair, polish."""
        random_state = np.random.RandomState(seed)
        view = self._view(random_state)
        start, row_labels = self._start(view, random_state)
        counts = view.counts(start.labels)
        problem = match_sizes(self.problem, counts)
        if not self.settings.repair:
            return self._rounded(problem, start, row_labels)
        direct = self._direct(problem, view, start)
        relaxed, labels = self._relax(view.with_sizes(counts), start, row_labels)
        if self.rows is None:
            labels = search_sample(
                view.problem,
                view.geometry,
                relaxed,
                start.centers,
                self.settings,
                random_state,
                self.problem.n_groups,
            )
        answer = self._repaired(view, labels, relaxed, direct)
        answer = improve(answer, self.geometry, random_state, self.settings.deadline)
        return self._solution(answer, problem.invert(answer.labels), relaxed)

    def _view(self, random_state: np.random.RandomState) -> _View:
        """What the relaxed solver sees: all groups, or enough of them where repair follows."""
        chosen, m = self.settings, self.problem.n_groups
        whole = self.rows is not None or not chosen.coarse
        size = m if whole else sample_size(self.problem, chosen.max_samples)
        if size == m:
            return _View(self.problem, self.geometry, np.arange(m))
        groups = draw(self.problem, size, random_state)
        part = sampled(self.problem, groups)
        return _View(part, Geometry(part), groups)

    def _start(self, view: _View, random_state: np.random.RandomState) -> tuple[Start, IntArray]:
        """Of the groups in view, and of the rows for Algorithm 1, which knows no groups."""
        init = self.settings.init
        if self.rows is not None:
            rows = initialise(self.rows, Geometry(self.rows), init, random_state).labels
            return initialise(self.problem, self.geometry, rows, random_state), rows
        if not isinstance(init, str) and init.ndim == 1:
            labels = group_labels(self.problem, init.astype(np.int64))[view.groups]
            init = view.problem.invert(labels)
        start = initialise(view.problem, view.geometry, init, random_state)
        return start, start.labels

    def _direct(self, problem: Problem, view: _View, start: Start) -> Answer | None:
        """Repair and polish straight from the start: a feasible answer, or a proof, before ADMM.

        Where rounds are dear there is but one, and none if the problem cannot be infeasible.
        Where they are cheap, and ADMM sees all points, this is a rival that ADMM has to beat.
        """
        small = problem.n_groups * problem.n_clusters <= SMALL
        alike = self.rows is None and view.geometry is self.geometry
        rival = not small and self.settings.coarse and alike and problem.only_sized
        if not small and not rival and problem.surely_feasible:
            return None
        centers = view.shifted(start.centers, self.geometry)
        rounds = MAX_ROUNDS if small or rival else 1
        deadline = self.settings.sooner(DIRECT_SHARE) if rival else self.settings.deadline
        return first_answer(problem, self.geometry, centers, deadline, rounds)

    def _rounded(self, problem: Problem, start: Start, row_labels: IntArray) -> Solution:
        """The plain rounding of x, of the rows if that is what x is about."""
        whole = _View(problem, self.geometry, np.arange(problem.n_groups))
        relaxed, labels = self._relax(whole, start, row_labels)
        if self.rows is None:
            answer = evaluate(problem, self.geometry, labels, relaxed.centers)
            return self._solution(answer, problem.invert(labels), relaxed)
        rows = replace(self.rows, sizes=problem.sizes)
        geometry = Geometry(rows)
        answer = evaluate(rows, geometry, relaxed.labels, geometry.means(relaxed.labels))
        return self._solution(answer, relaxed.labels, relaxed)

    def _relax(
        self, view: _View, start: Start, row_labels: IntArray
    ) -> tuple[Relaxation, IntArray]:
        """The relaxed assignment by the solver asked for, and labels of the groups in view."""
        chosen, problem = self.settings, view.problem
        if self.rows is None:
            relaxed = relax(
                problem,
                view.geometry,
                start.labels,
                lambda geometry: Threads(geometry.points, 1 if self.beside_others else None),
                coarse=chosen.coarse,
                rho=chosen.rho,
                rho_growth=chosen.growth(problem),
                tol=chosen.tol,
                max_iter=chosen.max_iter,
                deadline=chosen.deadline,
                record_x=chosen.record_x,
                progress=chosen.progress,
                hardens=view.geometry is self.geometry and not chosen.ends_early(problem),
            )
            return relaxed, relaxed.labels
        rules = PaperRules.of(self.rows)
        relaxed = solve_algorithm1(
            self.rows.points,
            row_labels,
            problem.n_clusters,
            must_link=rules.must_link,
            cannot_link=rules.cannot_link,
            sizes=None if problem.sizes is None else problem.sizes.lower,
            linear=rules.linear,
            rho=chosen.rho,
            rho_growth=chosen.rho_growth,
            rho_every=chosen.rho_every,
            tol=chosen.tol,
            max_iter=chosen.max_iter,
            deadline=chosen.deadline,
            record_x=chosen.record_x,
            progress=chosen.progress,
        )
        return relaxed, group_labels(problem, relaxed.labels)

    def _repaired(
        self, view: _View, labels: IntArray, relaxed: Relaxation, direct: Answer | None
    ) -> Answer:
        """Exact repair of the relaxed answer, or the direct one where that is better."""
        problem = match_sizes(self.problem, view.counts(labels))
        # Algorithm 1 holds its centres in the user's coordinates.
        offset = 0.0 if self.rows is None else self.geometry.middle
        means = view.geometry.means(labels, relaxed.centers - offset)
        centers = view.shifted(means, self.geometry)
        try:
            answer = first_answer(problem, self.geometry, centers, self.settings.deadline)
        except OutOfTime:
            if direct is None:
                raise
            return direct
        return direct if direct is not None and direct.beats(answer) else answer

    def _solution(self, answer: Answer, labels: IntArray, relaxed: Relaxation) -> Solution:
        return Solution(
            labels=labels,
            centers=answer.centers + self.geometry.middle,
            objective=answer.objective + answer.problem.scatter,
            sizes=answer.problem.sizes,
            history=relaxed.history,
            n_iter=relaxed.n_iter,
            converged=relaxed.converged,
            may_violate=not self.settings.repair,
        )


def search_sample(
    problem: Problem,
    geometry: Geometry,
    relaxed: Relaxation,
    start: FloatArray,
    settings: Settings,
    random_state: np.random.RandomState,
    n_groups: int,
) -> IntArray:
    """Better labels for some of ``n_groups`` groups than the relaxed ones, if they can be found.

    By moves, or from the start's centres.  ``max_samples=None`` wants no samples, so none is
    searched either.
    """
    deadline, part = settings.deadline, problem.n_groups < n_groups
    if settings.max_samples is None:
        return relaxed.labels
    if needs_pilot(problem):
        seed, alone = int(random_state.randint(np.iinfo(np.int32).max)), settings.for_pilot()

        def solve_small(part: Problem) -> tuple[IntArray, FloatArray]:
            small = Run(part, Geometry(part), alone, None, beside_others=True)(seed)
            return small.labels, small.centers

        return better_order(problem, geometry, relaxed, solve_small, random_state, deadline)
    if part and problem.only_sized:
        return better_start(problem, geometry, relaxed, start, deadline)
    if part and not problem.summed:
        return polish_sample(problem, geometry, relaxed, random_state, n_groups, deadline)
    return relaxed.labels
