"""The way from rows in shards to labels: seeds, admm, exact sizes, polish.

The steps are those of :mod:`corral.run` for a large problem, each as passes over shards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .._typing import FloatArray, IntArray
from ..admm.blocks import one_blas_thread
from ..admm.crew import Crew
from ..assign import OutOfTime
from ..coarse import draw, relax, sample_size, sampled
from ..constraints import ConstraintSet
from ..constraints._checks import Names, sums_by
from ..geometry import Geometry
from ..initialise import group_labels, initialise, match_sizes, seed_rows
from ..presolve import Contraction, presolve
from ..problem import Problem, first_rows
from ..run import Solution, search_sample
from ..settings import Settings
from .costs import ShardCosts
from .geometry import ShardGeometry, by_shard
from .holder import Holder, shares
from .passes import label_sums, rows_of
from .refine import Placement, refine_shards
from .transforms import contracted, with_weight

logger = logging.getLogger(__name__)


def solve_sharded(
    holder: Holder,
    problem: Problem,
    settings: Settings,
    random_state: np.random.RandomState,
) -> Solution:
    """Run all restarts and keep the best.

    Parameters
    ----------
    holder : Holder
        Of the problem's groups, see :func:`grouped`.
    problem : Problem
        With sizes, cannot-links and weights alone; its points are not looked at.
    settings : Settings
    random_state : RandomState

    Raises
    ------
    NoAssignment
        The exact steps on shards found no room for the groups that pairs tie; a solver that sees
        everything may.
    OutOfTime
    """
    geometry = ShardGeometry(holder, problem)
    seeds = random_state.randint(np.iinfo(np.int32).max, size=settings.runs(problem))
    solutions: list[Solution] = []
    # What is left to this process is small, and faster without waking others for it.
    with one_blas_thread():
        for number, seed in enumerate(seeds, 1):
            if solutions and settings.late:
                break
            try:
                solutions.append(_solve_once(geometry, problem, settings, int(seed)))
            except OutOfTime:
                break
            logger.info("run %d of %d: objective %.8g", number, len(seeds), solutions[-1].objective)
    if not solutions:
        raise OutOfTime
    return min(solutions, key=lambda solution: solution.objective)


def grouped(
    holder: Holder,
    rules: ConstraintSet,
    n_clusters: int,
    weight: FloatArray | None,
    names: Names = None,
) -> tuple[Holder, Problem]:
    """Presolve without the points, and contract them where they are.

    Raises
    ------
    ValueError, InfeasibleConstraintsError
        As :func:`~corral.presolve.presolve`.
    """
    n = int(sum(holder.lengths))
    problem = presolve(np.empty((n, 0)), rules, n_clusters, weight, names=names)
    if problem.n_groups == n:
        if weight is not None:
            holder = holder.transform(with_weight, each=shares(holder, weight))
        return holder, problem
    group = problem.group
    several = problem.count[group] > 1
    joined = np.flatnonzero(several)
    members = np.concatenate(holder.map(rows_of, each=[(r,) for r in by_shard(holder, joined)]))
    groups, local = np.unique(group[joined], return_inverse=True)
    own_weight = None if weight is None else weight[joined]
    means, _, _, scatter = Contraction(local, len(groups)).apply(members, own_weight)
    # Groups are counted in the order of their first rows, so that each shard keeps a run of them.
    firsts = by_shard(holder, first_rows(group))
    edges = np.concatenate([[0], np.cumsum([len(rows) for rows in firsts])])
    each = []
    for rows, (start, stop) in zip(firsts, pairwise(edges), strict=True):
        a, b = np.searchsorted(groups, [start, stop])
        each.append((rows, groups[a:b] - start, means[a:b], problem.weight[start:stop]))
    return holder.transform(contracted, each=each), replace(problem, scatter=scatter)


def _solve_once(
    geometry: ShardGeometry, problem: Problem, settings: Settings, seed: int
) -> Solution:
    """Initialise, relax, repair, polish."""
    random_state = np.random.RandomState(seed)
    view = _view(geometry, problem, settings, random_state)
    start, seeds = _start(view, geometry, problem, settings, random_state)
    relaxed = relax(
        match_sizes(view.problem, view.counts(start)),
        view.geometry,
        start,
        view.crew,
        coarse=view.geometry is not geometry,
        rho=settings.rho,
        rho_growth=settings.growth(view.problem),
        tol=settings.tol,
        max_iter=settings.max_iter,
        deadline=settings.deadline,
        progress=settings.progress,
        hardens=view.geometry is geometry,
    )
    labels = relaxed.labels
    if view.geometry is not geometry:
        labels = search_sample(
            view.problem,
            view.geometry,
            relaxed,
            view.geometry.means(start) if seeds is None else seeds,
            settings,
            random_state,
            problem.n_groups,
        )
    problem = match_sizes(problem, view.counts(labels))
    centers = view.means(labels, relaxed.centers, geometry)
    best = refine_shards(Placement.of(problem, geometry), centers, settings.deadline)
    return Solution(
        labels=problem.invert(best.scan.labels()),
        centers=best.centers + geometry.middle,
        objective=best.objective + problem.scatter,
        sizes=problem.sizes,
        history=relaxed.history,
        n_iter=relaxed.n_iter,
        converged=relaxed.converged,
    )


@dataclass(frozen=True)
class _View:
    """Groups that the relaxed solver sees, all or a sample, and who works on their points."""

    problem: Problem
    geometry: Geometry
    groups: IntArray
    crew: Callable[[Geometry], Crew]

    def counts(self, labels: IntArray) -> FloatArray:
        """Rows in each cluster."""
        return sums_by(labels, self.problem.count, self.problem.n_clusters)

    def means(self, labels: IntArray, fallback: FloatArray, whole: ShardGeometry) -> FloatArray:
        """Means of the labels, relative to the middle of all."""
        if isinstance(self.geometry, ShardGeometry):
            return _means(self.geometry, labels, fallback)
        means: FloatArray = self.geometry.means(labels, fallback)
        means += self.geometry.middle - whole.middle
        return means


def _view(
    geometry: ShardGeometry,
    problem: Problem,
    settings: Settings,
    random_state: np.random.RandomState,
) -> _View:
    """All groups where they are, or enough of them in this process's memory."""
    m = problem.n_groups
    size = sample_size(problem, settings.max_samples)
    if size == m:
        return _View(problem, geometry, np.arange(m), lambda _: geometry.holder)
    groups = draw(problem, size, random_state)
    points = geometry.rows(groups) + (geometry.middle - geometry.local)
    part = replace(sampled(problem, groups), points=points.astype(geometry.holder.dtype))
    return _View(part, Geometry(part), groups, lambda own: geometry.holder.crew(own.points))


def _start(
    view: _View,
    whole: ShardGeometry,
    problem: Problem,
    settings: Settings,
    random_state: np.random.RandomState,
) -> tuple[IntArray, FloatArray | None]:
    """Labels of the groups in view to start from, and the centres next to them, if any."""
    m, k, init = len(view.groups), problem.n_clusters, settings.init
    if not isinstance(init, str) and init.ndim == 1:
        return group_labels(problem, init.astype(np.int64))[view.groups], None
    if isinstance(init, str) and init == "random":
        return np.asarray(random_state.randint(k, size=m)), None
    if not isinstance(view.geometry, ShardGeometry):
        if isinstance(init, str):
            own = view.problem
            init = whole.holder.seeds(own.points, own.weight, k, random_state)
        start = initialise(view.problem, view.geometry, init, random_state)
        return start.labels, start.centers
    geometry = view.geometry
    if isinstance(init, str):
        rows = seed_rows(problem, random_state)
        points, weight = geometry.rows(rows), problem.weight[rows]
        centers = geometry.holder.seeds(points, weight, k, random_state) - geometry.local
    else:
        centers = init - geometry.middle
    costs = ShardCosts(geometry.holder, geometry, centers, np.arange(m))
    return costs.scan(np.zeros(k)).labels().astype(np.int64), centers


def _means(geometry: ShardGeometry, labels: IntArray, fallback: FloatArray) -> FloatArray:
    """Means of given labels."""
    holder = geometry.holder
    parts = holder.map(label_sums, len(fallback), each=shares(holder, labels))
    sums, mass = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
    return geometry.centres(sums, mass, fallback)
