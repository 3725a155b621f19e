"""First clusters of a search: what the user gave, labelled groups, seeds, ADMM's graduation.

ADMM (the paper's method, :mod:`corral.admm`) forgets its start and finds where the clusters are on
some thousands of groups; the descent that follows sees all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from .. import numbers as at
from .._typing import FloatArray, IntArray
from ..admm.history import Options, Relaxation
from ..admm.projected import solve_projected
from ..constraints._checks import sums_by
from ..problem import Problem
from .budget import Budget
from .descent import Answer, match_sizes
from .starts import Start, draw, labelled_means, make_start, ward_labels


class Makers:
    """Makers of one problem in memory, and what ADMM did."""

    def __init__(
        self, problem: Problem, random_state: np.random.RandomState, budget: Budget
    ) -> None:
        self.problem, self.random_state, self.budget = problem, random_state, budget
        self.relaxed: Relaxation | None = None

    def __iter__(self) -> Iterator[tuple[str, Callable[[], FloatArray | IntArray | None]]]:
        """Names and makers: what is known of the clusters comes first, then ADMM, then seeds."""
        init = self.problem.settings.init
        given = not isinstance(init, str)
        if not isinstance(init, str) and init.ndim == 1:
            yield "labels that were given", lambda: self._start(0).labels
        seeds = "centres that were given" if given else "seeds", lambda: self._start(0).centers
        connected = self.problem.rules.adjacency is not None
        # The tree does not see sums, which then are hard to mend.
        tree = [("tree", self.ward)] if connected and not given else []
        first, last = ([], tree) if self.problem.rules.bounded else (tree, [])
        yield from first
        # ADMM does not see the graph.
        admm = [("ADMM", self.admm)] if self.problem.sample and not connected else []
        yield from [seeds, *admm] if given or len(self.problem.rules.labelled) else [*admm, seeds]
        number = self.problem.settings.n_init
        number = at.PARENTS if isinstance(number, str) else number
        for i in range(1, 1 if given else number):
            yield "seeds", partial(self._seeds, i)
        yield from last

    def _seeds(self, number: int) -> FloatArray:
        """Centres of a start."""
        return self._start(number).centers

    def ward(self) -> IntArray | None:
        """Labels from a tree of clusters that are merged along edges, by Ward's method."""
        return ward_labels(self.problem.rules, self.problem.near)

    def _start(self, number: int) -> Start:
        """Seeds; only the first are of groups that name all clusters."""
        problem, draws = self.problem, self.random_state
        rules, rows, init = problem.rules, problem.rows, problem.settings.init
        m, d = rows.shape
        self.budget.spend(problem.n_clusters * (at.PASS_WORK + min(m, at.EXACT // d) * (d + 4.0)))
        labelled = None
        if isinstance(init, str) and init == "k-means++":
            labelled = labelled_means(rules, rows, draws, others=number > 0)
        return make_start(rules, rows, init, draws, problem.deadline, labelled)

    def instead_of(self, answer: Answer) -> Answer | None:
        """The answer with seeds of all rows, if k-means without rules costs less from these.

        A sample may miss small clusters that are far from all others.
        """
        rows, k = self.problem.near, self.problem.n_clusters
        ends: list[tuple[float, FloatArray]] = []
        for start in (answer.clusters, self._start(1).centers):
            centers = start
            for _ in range(2):
                labels = rows.nearest(centers, self.problem.deadline)
                centers = rows.means(labels, k, centers)
            ends.append((rows.inertia(labels, centers), centers))
        self.budget.spend(3.0 * k * float(np.prod(rows.shape)))
        (now, _), (then, seeds) = ends
        return replace(answer, clusters=seeds, prices=None) if then < now else None

    def admm(self) -> FloatArray | None:
        """Centres of ADMM, on a sample of the groups if there are many; None if it diverges."""
        problem, whole = self.problem, self.problem
        if problem.rules.n_groups > problem.sample:
            problem = problem.part(draw(problem.rules, problem.sample, self.random_state))
        start = Makers(problem, self.random_state, self.budget)._start(1)
        counts = sums_by(start.labels, problem.rules.count, problem.n_clusters)
        rules = match_sizes(problem.rules, counts)
        try:
            with np.errstate(all="ignore"):
                self.relaxed = relax(problem.with_rules(rules), start)
        except FloatingPointError:  # scales that differ too much; seeds start the search
            return None
        entries = problem.rules.n_groups * problem.n_clusters
        self.budget.spend((2.0 * at.PASS_WORK + at.ADMM_WORK * entries) * self.relaxed.n_iter)
        centers: FloatArray = self.relaxed.centers + (problem.rows.middle - whole.rows.middle)
        return centers


def relax(problem: Problem, start: Start) -> Relaxation:
    """Run ADMM; x becomes binary only if it is wanted as it is."""
    settings, rows = problem.settings, problem.near
    wanted = not settings.repair or bool(settings.record_x)
    progress = settings.progress
    progress.enter("admm")
    options = Options(
        rho=settings.rho,
        rho_growth=settings.rho_growth ** (1.0 / settings.rho_every),
        tol=settings.tol,
        max_iter=settings.max_iter,
        deadline=problem.deadline if wanted else problem.deadline.share(at.STEP),
        record_x=settings.record_x,
        progress=lambda *_: progress.step(),
        hardens=wanted,
        count_every=1 if problem.rules.n_groups * problem.n_clusters <= at.ADMM_ENTRIES else 10,
    )
    rows = rows if wanted else rows.single()
    return solve_projected(problem.rules, rows, start.labels, options)
