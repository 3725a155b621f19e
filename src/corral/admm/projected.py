"""The projected lp-box ADMM, the default solver: the paper's model, robust to the start.

Against Algorithm 1 (see ``docs/notation.md``), each change exact for the model:

- w is eliminated: the centres are the means of the box copy ``z1``, which is not negative, so
  ``x = Pw . Cx`` holds by construction;
- rows of x sum to one exactly, as the x-update solves for their multiplier;
- must-links are contracted beforehand; a cannot-link is ``x_a + x_b <= 1`` with copies of its
  own instead of one quadratic for all;
- sizes, capacities and quotas are totals per cluster, equal to or between bounds;
- a ridge decays before the sphere's penalty grows (:mod:`.schedule`).

An iteration is two passes over blocks of groups (:mod:`.kernels`) with two small reductions.
Group g counts with its weight ``r_g`` in every norm, so that a point of weight two does what two
points do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..geometry import Geometry
from ..problem import Problem
from .blocks import Block, Executor, cut
from .history import Recorder, Relaxation
from .kernels import Step, Sums, backward, forward
from .linear import LinearCopies, rows_groups
from .pairs import PairCopies, all_pairs
from .schedule import GRADUATE, HARDEN, Schedule
from .totals import Totals

#: Weights below this part of their mean count as this much in the norms, not in the costs.
LEAST_METRIC = 0.01
#: How much of the start remains; the rest is the uniform assignment.
START_SHARE = 0.5
#: The costs' scale is a median over so many groups.
SCALE_SAMPLE = 500
#: Violations of the rounded labels are counted every iteration up to so many entries of x.
COUNT_EVERY_ITERATION = 20_000

Progress = Callable[[int, float, float, int], None]


def solve_projected(
    problem: Problem,
    geometry: Geometry,
    start_labels: IntArray,
    *,
    rho: float = 1.0,
    rho_growth: float = 1.05,
    tol: float = 0.01,
    max_iter: int = 1000,
    deadline: float | None = None,
    record_x: Iterable[int] = (),
    progress: Progress | None = None,
    n_threads: int | None = None,
) -> Relaxation:
    """Relax the assignment, graduate it, and harden it to an almost binary one.

    Parameters
    ----------
    problem : Problem
    geometry : Geometry
        Of the same problem.
    start_labels : (m,) array
        Where to start; hardly matters.
    rho : float
        Box penalty in units of the costs' scale.
    rho_growth : float
        Growth of the sphere's penalty an iteration, and decay of the ridge.
    tol : float
        All primal residuals must fall below this (entries of x live in [0, 1]).
    max_iter : int
    deadline : float, optional
        Instant of :func:`time.monotonic` after which it stops where it is.
    record_x : iterable of int
        Iterations at which the history keeps x.
    progress : callable(iteration, objective, residual, rules broken), optional
    n_threads : int, optional
        Threads that share the blocks; as many as there are cores by default.

    Returns
    -------
    Relaxation
        With x per group, (m, k), and centres relative to ``geometry.middle``.
    """
    solver = ProjectedSolver(problem, geometry, start_labels, rho, rho_growth, n_threads)
    recorder = _recorder(problem, record_x)
    stride = 1 if problem.n_groups * problem.n_clusters <= COUNT_EVERY_ITERATION else 10
    converged = False
    with solver.executor.running():
        while len(recorder) < max_iter and not converged:
            objective = solver.step()
            residuals = solver.residuals()
            worst = max(residuals.values())
            x = solver.x if recorder.wants_x else None
            labels = solver.labels if len(recorder) % stride == 0 else None
            recorder.record(x, objective, solver.used.box, residuals, labels)
            converged = solver.used.phase == HARDEN and worst <= tol
            if progress is not None:
                progress(len(recorder), objective, worst, recorder.broken)
            late = deadline is not None and time.monotonic() > deadline
            if late or solver.schedule.exhausted:
                break
    return Relaxation(
        x=solver.x,
        centers=solver.centers,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
    )


class ProjectedSolver:
    """One run: the data in blocks, the state, and the step from one iteration to the next."""

    def __init__(
        self,
        problem: Problem,
        geometry: Geometry,
        start_labels: IntArray,
        rho: float,
        growth: float,
        n_threads: int | None = None,
    ) -> None:
        self.geometry, self.scatter = geometry, problem.scatter
        self.unit = max(geometry.total_weight / problem.n_groups, np.finfo(float).tiny)
        weight = geometry.weight / self.unit
        metric = np.maximum(weight, LEAST_METRIC)
        self.totals = Totals(problem, metric)
        linear_groups = rows_groups(problem.linear, problem.n_clusters)
        self.pulled = np.unique(np.concatenate([all_pairs(problem).ravel(), linear_groups]))
        self.blocks = _make_blocks(
            problem, geometry, start_labels, weight, metric, self.totals.values, self.pulled
        )
        self.executor = Executor(len(self.blocks), n_threads)
        start = self._pulled_x()
        self.pulled_metric = metric[self.pulled]
        self.pairs = PairCopies(problem, self.pulled, self.pulled_metric, start, self.unit)
        self.linear = LinearCopies(problem.linear, self.pulled, start)
        self.centers = _start_centers(geometry, self.blocks)
        self.sample = geometry.sample(SCALE_SAMPLE)
        # Without any spread there are no costs, and any unit of them will do.
        variance = geometry.leading_variance() or 1.0
        loosens = problem.sizes is None and not problem.totals
        self.schedule = Schedule.start(variance, problem.n_clusters, rho, growth, loosens)
        self.used = self.schedule
        self.radius = 0.5 * np.sqrt(problem.n_clusters * metric.sum())
        self.sums: Sums | None = None
        self.shrink = 1.0

    @property
    def x(self) -> FloatArray:
        """The relaxed assignment of the groups, (m, k)."""
        return np.concatenate([block.x for block in self.blocks], axis=1).T

    @property
    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        return np.concatenate(self.executor.map(Block.labels, self.blocks))

    def step(self) -> float:
        """One iteration: x, its copies and duals, the centres; gives the objective."""
        scale = self._scale()
        before, now = self.used, self.schedule.at_scale(scale)
        if now.phase > GRADUATE and before.phase == GRADUATE:
            self.executor.map(Block.start_sphere, self.blocks)
            self.shrink = 1.0
        dtype = self.blocks[0].x.dtype
        norms = self.geometry.cost_norms(self.centers)[:, None]
        step = Step(self.centers.astype(dtype), norms.astype(dtype), before, now, self.shrink)
        self._pull(now.box)
        room = self.executor.room
        parts = self.executor.map(lambda block: forward(block, step, room(block)), self.blocks)
        totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
        theta = self.totals.solve(totals, gram, now.ridge)
        sums = reduce(
            add,
            self.executor.map(lambda block: backward(block, step, theta, room(block)), self.blocks),
        )
        objective = self._objective(sums, norms)
        self._finish(sums, now, scale)
        return objective

    def residuals(self) -> dict[str, float]:
        """What x lacks to obey each kind of rule.

        ``simplex``: root mean square of what rows of z1 lack to one.  ``box``: root mean square
        of ``x - z1``.  ``sphere``: mean of ``4 (x - x^2)``, 0 for a binary x and 1 for x = 1/2.
        ``totals``, ``pairs``, ``linear``: the largest miss of a rule.
        """
        if self.sums is None:
            raise RuntimeError("residuals are those of a step; take one first")
        k = len(self.centers)
        m = sum(block.x.shape[1] for block in self.blocks)
        return {
            "simplex": float(np.sqrt(self.sums.unbalanced / m)),
            "box": float(np.sqrt(self.sums.outside / (m * k))),
            "sphere": float(abs(self.sums.undecided) / self.radius**2),
            "totals": self.totals.residual,
            "pairs": self.pairs.residual,
            "linear": self.linear.residual,
        }

    def _objective(self, sums: Sums, norms: FloatArray) -> float:
        """``sum_g w_g z1_gj |p_g - mu_j|^2``, from the sums alone."""
        cost = sums.mass @ norms[:, 0] - 2.0 * (sums.points * self.centers).sum()
        return self.scatter + self.geometry.spread + float(cost) * self.unit

    def _scale(self) -> float:
        """Median over a sample of the groups of the standard deviation of their k costs."""
        inner = np.asarray(self.sample @ self.centers.T.astype(self.sample.dtype))
        costs = self.geometry.cost_norms(self.centers) - 2.0 * inner
        return float(np.median(costs.std(axis=1)))

    def _pulled_x(self) -> FloatArray:
        """X of the groups that pairs and linear rows are about, (k, e)."""
        return np.concatenate([block.x[:, block.pulled] for block in self.blocks], axis=1)

    def _pull(self, rho: float) -> None:
        """Hand every block the pull of pairs and linear rows on its groups."""
        if not len(self.pulled):
            return
        pull = self.pairs.pull(rho)
        stiffening = rho * self.pairs.degree
        if len(self.linear):
            pull = pull + self.linear.pull(self._pulled_x(), rho) / self.pulled_metric
            stiffening = stiffening + rho * self.linear.diagonal / self.pulled_metric
        done = 0
        for block in self.blocks:
            part = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull[:, part], stiffening[part]
            done = part.stop

    def _finish(self, sums: Sums, now: Schedule, scale: float) -> None:
        """Centres, the copies of pairs and rows, the sphere's scale and the next penalties."""
        self.sums, self.used = sums, now
        self.centers = self.geometry.centres(sums.points, sums.mass, self.centers)
        if len(self.pulled):
            x = self._pulled_x()
            self.pairs.update(x, now.box)
            self.linear.update(x, now.box)
        if now.phase > GRADUATE:
            self.shrink = self.radius / max(np.sqrt(sums.radius), np.finfo(float).tiny)
        groups = sum(block.x.shape[1] for block in self.blocks)
        self.schedule = now.after(scale, sums.moved / groups)


def _make_blocks(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    weight: FloatArray,
    metric: FloatArray,
    values: FloatArray | None,
    pulled: IntArray,
) -> list[Block]:
    """Cut the problem; arrays that are all ones are left out."""
    k, dtype = problem.n_clusters, geometry.points.dtype
    own_weight = None if np.all(weight == 1.0) else weight.astype(dtype)
    own_metric = None if np.all(metric == 1.0) else metric.astype(dtype)
    own_values = values if values is None else values.astype(dtype)
    # A total of ones has a closed form only where every group may move alike.
    if values is None and (len(pulled) or len(problem.pins) or own_metric is not None):
        own_values = np.ones((1, problem.n_groups), dtype)
    blocks = []
    for part in cut(problem.n_groups, k, np.dtype(dtype).itemsize):
        here = (problem.pins[:, 0] >= part.start) & (problem.pins[:, 0] < part.stop)
        first, last = np.searchsorted(pulled, [part.start, part.stop])
        block = Block(
            points=geometry.points[part],
            weight=None if own_weight is None else own_weight[part],
            metric=None if own_metric is None else own_metric[part],
            values=None if own_values is None else np.ascontiguousarray(own_values[:, part]),
            pins=problem.pins[here] - [part.start, 0],
            pulled=pulled[first:last] - part.start,
            x=_start_x(labels[part], k, dtype),
        )
        block.fix()
        block.v1[...] = block.x
        blocks.append(block)
    return blocks


def _start_x(labels: IntArray, n_clusters: int, dtype: Any) -> FloatArray:
    """Half the start, half the uniform assignment."""
    x = np.full((n_clusters, len(labels)), (1.0 - START_SHARE) / n_clusters, dtype)
    x[labels, np.arange(len(labels))] += START_SHARE
    return x


def _start_centers(geometry: Geometry, blocks: list[Block]) -> FloatArray:
    """Means of the start."""
    weighted = [block.x if block.weight is None else block.x * block.weight for block in blocks]
    points = reduce(add, map(Block.point_sums, blocks, weighted))
    mass = reduce(add, (z.sum(axis=1, dtype=np.float64) for z in weighted))
    return geometry.centres(points, mass, np.zeros_like(points))


def _recorder(problem: Problem, record_x: Iterable[int]) -> Recorder:
    """A recorder of the rows' violations, cannot-links counted between groups."""
    sizes = problem.sizes
    representative = np.unique(problem.group, return_index=True)[1]
    return Recorder(
        problem.n_clusters,
        cannot_link=representative[problem.apart],
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        ordered=sizes is None or sizes.ordered,
        group=problem.group,
        record_x=record_x,
    )
