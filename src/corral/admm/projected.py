"""The projected lp-box ADMM, the default solver: the paper's model, robust to the start.

Against Algorithm 1 (see ``docs/notation.md``), each change exact for the model:

- w is eliminated: the centres are the means of the box copy ``z1``, which is not negative, so
  ``x = Pw . Cx`` holds by construction;
- rows of x sum to one exactly, as the x-update solves for their multiplier;
- must-links are contracted beforehand; a cannot-link is ``x_a + x_b <= 1`` with copies of its
  own instead of one quadratic for all;
- sizes, capacities and quotas are totals per cluster, equal to or between bounds;
- a ridge decays before the sphere's penalty grows (:mod:`.schedule`).

Arrays are cluster-major, (k, m).  Row g counts with its weight ``r_g`` in every norm, so that a
point of weight two does what two points do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..geometry import Geometry
from ..problem import Problem
from .history import Recorder, Relaxation
from .linear import LinearCopies
from .pairs import PairCopies
from .projections import project_box
from .schedule import GRADUATE, HARDEN, Schedule
from .totals import Totals

#: Weights below this part of their mean count as this much in the norms, not in the costs.
LEAST_METRIC = 0.01
#: How much of the start remains; the rest is the uniform assignment.
START_SHARE = 0.5

Progress = Callable[[int, float, float], None]


@dataclass
class State:
    """x, its box copy z1 and sphere copy z2 with their duals, and the centres."""

    x: FloatArray
    z1: FloatArray
    y2: FloatArray
    z2: FloatArray
    y3: FloatArray
    centers: FloatArray


def solve_projected(
    problem: Problem,
    geometry: Geometry,
    start_labels: IntArray,
    *,
    rho: float = 1.0,
    rho_growth: float = 1.03,
    tol: float = 0.01,
    max_iter: int = 1000,
    deadline: float | None = None,
    record_x: Iterable[int] = (),
    progress: Progress | None = None,
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
    progress : callable(iteration, objective, residual), optional

    Returns
    -------
    Relaxation
        With x per group, (m, k), and centres relative to ``geometry.middle``.
    """
    solver = _Solver(problem, geometry, start_labels, rho, rho_growth)
    recorder = _recorder(problem, record_x)
    converged = False
    while len(recorder) < max_iter and not converged:
        objective = solver.step()
        residuals = solver.residuals()
        worst = max(residuals.values())
        recorder.record(solver.state.x.T, objective, solver.used.box, residuals)
        converged = solver.used.phase == HARDEN and worst <= tol
        if progress is not None:
            progress(len(recorder), objective, worst)
        late = deadline is not None and time.monotonic() > deadline
        if late or solver.schedule.exhausted:
            break
    return Relaxation(
        x=solver.state.x.T,
        centers=solver.state.centers,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
    )


class _Solver:
    """One run: the fixed data, the state, and the step from one to the next."""

    def __init__(
        self,
        problem: Problem,
        geometry: Geometry,
        start_labels: IntArray,
        rho: float,
        growth: float,
    ) -> None:
        k = problem.n_clusters
        weight = geometry.weight
        mean = max(geometry.total_weight / len(weight), np.finfo(float).tiny)
        self.metric = np.maximum(weight / mean, LEAST_METRIC)
        self.cost_factor = weight / mean / self.metric
        self.geometry = geometry
        self.fixed = problem.pins
        self.fitted = problem.sizes is not None and bool(
            np.all(problem.sizes.lower == problem.sizes.upper)
        )
        x = np.full((k, problem.n_groups), (1.0 - START_SHARE) / k)
        x[start_labels, np.arange(problem.n_groups)] += START_SHARE
        self._fix(x)
        self.pairs = PairCopies(problem, self.metric, x)
        self.linear = LinearCopies(problem.linear, x)
        self.totals = Totals(problem, self.metric, balance=not self.fitted)
        centers = geometry.soft_means(x, np.zeros((k, len(geometry.middle))))
        self.state = State(x, x, np.zeros_like(x), x, np.zeros_like(x), centers)
        # Without any spread there are no costs, and any unit of them will do.
        variance = geometry.leading_variance() or 1.0
        loosens = problem.sizes is None and not problem.totals
        self.schedule = Schedule.start(variance, k, rho, growth, loosens)
        self.used = self.schedule

    def step(self) -> float:
        """One iteration: x, then its copies, the centres, the duals; gives the objective."""
        cost = self._costs()
        scale = self._scale(cost)
        self.used = self.schedule.at_scale(scale)
        before = self.state.z1
        x = self._update_x(cost)
        self._update_copies(x)
        self.state.centers = self.geometry.soft_means(self.state.z1, self.state.centers)
        drift = float(np.abs(self.state.z1 - before).sum() / before.shape[1])
        self.schedule = self.used.after(scale, drift)
        unit = self.metric * (self.geometry.total_weight / max(len(self.metric), 1))
        return self.geometry.spread + float(((x * cost) @ unit).sum())

    def residuals(self) -> dict[str, float]:
        """Largest entry of what x lacks to obey each kind of rule."""
        state = self.state
        return {
            "simplex": float(np.abs(state.x.sum(axis=0) - 1.0).max()),
            "box": float(np.abs(state.x - state.z1).max()),
            "sphere": float(np.abs(state.x - state.z2).max()),
            "totals": self.totals.residual,
            "pairs": self.pairs.residual,
            "linear": self.linear.residual,
        }

    def _costs(self) -> FloatArray:
        """``|p_g - mu_j|^2`` less what does not depend on j, (k, m)."""
        centers = self.state.centers
        inner = self.geometry.inner(centers)
        cost = (centers * centers).sum(axis=1)[:, None] - 2.0 * inner.T
        cost *= self.cost_factor
        return np.ascontiguousarray(cost)

    @staticmethod
    def _scale(cost: FloatArray) -> float:
        """Median over the groups of the standard deviation of their k costs."""
        return float(np.median(cost.std(axis=0)))

    def _update_x(self, cost: FloatArray) -> FloatArray:
        """Solve ``(a_g) x_g = R_g`` with rows that sum to one, then the totals."""
        state, used = self.state, self.used
        right = used.box * state.z1 - state.y2 - cost
        diagonal = np.full(cost.shape[1], used.box + used.ridge)
        if used.phase > GRADUATE:
            right += used.sphere * state.z2 - state.y3
            diagonal += used.sphere
        if len(self.pairs):
            right += self.pairs.pull(used.box)
            diagonal += used.box * self.pairs.degree
        if len(self.linear):
            right += self.linear.pull(state.x, used.box) / self.metric
            diagonal += used.box * self.linear.diagonal / self.metric
        right -= right.mean(axis=0)
        right /= diagonal
        right += 1.0 / len(right)
        self._fix(right)
        if len(self.totals):
            stiffness = self.metric * diagonal
            stiffness[self.fixed[:, 0]] = np.inf
            right = self.totals.solve(right, stiffness, used.ridge)
        return right

    def _update_copies(self, x: FloatArray) -> None:
        """Project the copies of x, each onto its set, and take the dual steps."""
        state, used = self.state, self.used
        z1 = project_box(x + state.y2 / used.box)
        y2 = state.y2 + used.box * (x - z1)
        z2, y3 = state.z2, state.y3
        if used.phase > GRADUATE:
            z2 = self._project_sphere(x + y3 / used.sphere)
            y3 = y3 + used.sphere * (x - z2)
        if len(self.pairs):
            self.pairs.update(x, used.box)
        if len(self.linear):
            self.linear.update(x, used.box)
        if len(self.totals):
            self.totals.update(x)
        self.state = State(x, z1, y2, z2, y3, state.centers)

    def _project_sphere(self, a: FloatArray) -> FloatArray:
        """Onto ``sum_g r_g |a_g - 1/2|^2 = sum_g r_g k / 4``, which every binary x obeys."""
        shifted = a - 0.5
        norm = np.sqrt(((shifted * shifted) @ self.metric).sum())
        radius = 0.5 * np.sqrt(len(a) * self.metric.sum())
        return shifted * (radius / max(norm, np.finfo(float).tiny)) + 0.5

    def _fix(self, x: FloatArray) -> None:
        """Write the pinned groups' known assignment into x."""
        x[:, self.fixed[:, 0]] = 0.0
        x[self.fixed[:, 1], self.fixed[:, 0]] = 1.0


def _recorder(problem: Problem, record_x: Iterable[int]) -> Recorder:
    """A recorder of the rows' violations, cannot-links counted between groups."""
    sizes = problem.sizes
    representative = np.unique(problem.group, return_index=True)[1]
    return Recorder(
        problem.n_clusters,
        cannot_link=representative[problem.apart],
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        group=problem.group,
        record_x=record_x,
    )
