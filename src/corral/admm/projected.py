"""The projected lp-box ADMM, the default solver: the paper's model, robust to the start.

It differs from Algorithm 1 (see ``docs/notation.md``) in these points, each exact for the model:

- w is eliminated: the centres are those of the box copy ``z1``, which is not negative, so that
  ``x = Pw . Cx`` holds by construction;
- rows of x sum to one exactly, because the x-update solves for their multiplier;
- must-links are contracted beforehand; the groups of a clique of cannot-links, of two or more, have
  ``sum_g x_g <= 1`` with copies of its own instead of one quadratic equation for all;
- sizes, capacities and quotas are totals of each cluster, equal to or between bounds;
- a ridge decays before the sphere's penalty grows (:mod:`.schedule`).

An iteration is two passes over blocks of groups (:mod:`.blocks`), each followed by a small
reduction.  Group g counts with its weight ``r_g`` in every norm,
so that a point of weight two does what two points do.

The solver does not know the distance.  Up to a constant of the group, a group costs ``offset_j -
2 p . c_j`` in cluster j; offsets, centres and the scale of the costs come from the rows
(:mod:`corral.rows.distance`).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from .._arrays import one_blas_thread
from .._typing import FloatArray, IntArray
from ..deadline import OutOfTime
from ..numbers import FEW_GROUPS
from ..rows import MemoryRows
from ..rules import Rules
from .blocks import Blocks, Setup, Step, Sums
from .copies import LinearCopies, TieCopies, Ties, Totals, pulled_groups
from .history import Options, Recorder, Relaxation
from .schedule import GRADUATE, HARDEN, Schedule

#: Least weight of a group in the norms, in mean weights: what single precision adds to one.  Zero
#: would divide by zero for a group without weight; its weight in the costs stays as it is.
LEAST_METRIC = float(np.finfo(np.float32).eps)

DEFAULTS = Options()


def solve_projected(
    rules: Rules, rows: MemoryRows, start_labels: IntArray, options: Options = DEFAULTS
) -> Relaxation:
    """Relax the assignment, let the clusters separate, and make x almost binary.

    The start has little influence.  The solver has converged when it hardens x and every residual
    is at most ``tol``; entries of x are in [0, 1].  The answer has x of the groups, (m, k), and
    centres relative to the middle of the rows.
    """
    blocks = Blocks(rows.points)
    recorder = recorder_of(rules, options.record_x)
    converged = False
    try:
        solver = ProjectedSolver(rules, rows, start_labels, blocks, options)
    except OutOfTime:
        centers = rows.means(start_labels, rules.n_clusters)
        return Relaxation(start_labels, centers, recorder.history(), 0, converged)
    # One thread of BLAS, because the products of a block are small.
    with one_blas_thread(), suppress(OutOfTime):
        while len(recorder) < options.max_iter and not converged:
            objective = solver.step()
            residuals = solver.residuals()
            worst = max(residuals.values())
            x = blocks.x() if recorder.wants_x else None
            labels = blocks.labels() if len(recorder) % options.count_every == 0 else None
            recorder.record(x, objective, solver.used.box, residuals, labels)
            hardened = solver.used.phase == HARDEN and worst <= options.tol
            converged = hardened if options.hardens else solver.schedule.phase > GRADUATE
            if options.progress is not None:
                options.progress(len(recorder), objective, worst, recorder.broken)
            if options.deadline.passed or solver.exhausted:
                break
    labels = blocks.labels()
    recorder.recount(labels)
    return Relaxation(
        labels=labels,
        centers=solver.centers,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
        x=blocks.x(),
    )


class ProjectedSolver:
    """One run: the small state that all groups share, and the step to the next iteration.

    x, its box and sphere copies and their duals are with the blocks.  ``schedule`` and ``used`` are
    the penalties of the next iteration and of the last one, ``scale`` is the scale of the costs,
    and ``shrink`` is ``s`` of the sphere's projection.  Centres are relative to the middle of the
    rows.
    """

    def __init__(
        self,
        rules: Rules,
        rows: MemoryRows,
        start_labels: IntArray,
        blocks: Blocks,
        options: Options = DEFAULTS,
    ) -> None:
        self.rows, self.blocks = rows, blocks
        self.n_groups, k = rules.n_groups, rules.n_clusters
        self.unit = max(rows.total_weight / rules.n_groups, np.finfo(float).tiny)
        weight = rows.weight / self.unit
        metric = np.maximum(weight, LEAST_METRIC)
        self.radius = 0.5 * np.sqrt(k * metric.sum())
        self.totals = Totals(rules, metric, self.unit)
        self.pulled = pulled_groups(rules)
        self.pulled_metric = metric[self.pulled]
        self.pinned: FloatArray | None = None  # what pulled groups pay for soft pins, (k, e)
        if len(rules.soft_pins):
            paid = rules.soft_pins.added_to(np.zeros((rules.n_groups, k)))[self.pulled]
            self.pinned = (paid.T / (self.unit * self.pulled_metric)).astype(blocks.dtype)
        setup = Setup.of(rules, start_labels, weight, metric, self.totals.values, self.pulled)
        # If the deadline has passed before the beginning, there is one iteration all the same.
        deadline = options.deadline.first if options.deadline.passed else options.deadline
        point_sums, mass = blocks.begin(replace(setup, deadline=deadline))
        self.centers = rows.centres(point_sums, mass, None)
        ties = Ties.of(rules, self.pulled, self.pulled_metric, self.unit)
        self.ties = TieCopies(ties, blocks.pulled_x())
        self.linear: LinearCopies | None = None
        if rules.linear is not None:
            self.linear = LinearCopies(rules.linear, self.pulled, blocks.pulled_x())
        # Where all points are equal there are no costs, and any unit of them will do.
        separation = rows.separation_scale() or 1.0
        self.schedule = self.used = Schedule.start(separation, k, options.rho, options.rho_growth)
        self.sample = rows.sample(FEW_GROUPS)
        self.scale, self.shrink = 0.0, 1.0
        self.sums: Sums | None = None

    def step(self) -> float:
        """One iteration: x, its copies and duals, then the centres.

        The result is the objective of the box copy z1 at the centres that x was found for.
        """
        offsets = self.rows.offsets(self.centers)
        step = self._next_step(offsets)
        # x0 without totals, then x with them; the copies and duals of box and sphere.
        totals, gram = self._update_x(step)
        theta = self.totals.multipliers(totals, gram, step.now.ridge)
        sums = self.blocks.backward(step, theta)
        # The copies and duals of the other rules.
        self.totals.update(totals - gram @ theta)
        if len(self.pulled):
            x = self.blocks.pulled_x()
            self.ties.update(x, step.now.box)
            if self.linear is not None:
                self.linear.update(x, step.now.box)
        objective = self._objective(sums, offsets)
        self.centers = self.rows.centres(sums.points, sums.mass, self.centers)
        if step.now.phase > GRADUATE:
            # Equal points leave x in the middle of the sphere, where there is no direction.
            least = np.finfo(float).eps * self.radius
            self.shrink = self.radius / max(np.sqrt(sums.radius), least)
        self.sums, self.used = sums, step.now
        self.schedule = step.now.after(self.scale, sums.moved / self.n_groups)
        return objective

    @property
    def exhausted(self) -> bool:
        """Whether hardening cannot change x any more."""
        return self.schedule.exhausted(self.scale)

    def residuals(self) -> dict[str, float]:
        """How far x is from fulfilling each kind of rule.

        ``simplex``: root mean square over the groups of ``sum_j z1_gj - 1``.  ``box``: root mean
        square of ``x - z1``.  ``sphere``: absolute value of the weighted mean of ``4 (x - x^2)``,
        0 for a binary x and 1 for x = 1/2.  ``totals``: the largest miss of a bound, in units of
        the mean total of a cluster.  ``pairs``: the largest difference between x and a copy.
        ``linear``: the largest miss of a bound, of rows of unit norm.
        """
        if self.sums is None:
            raise RuntimeError("residuals are those of a step; take one first")
        k, m = len(self.centers), self.n_groups
        return {
            "simplex": float(np.sqrt(self.sums.unbalanced / m)),
            "box": float(np.sqrt(self.sums.outside / (m * k))),
            "sphere": float(abs(self.sums.undecided) / self.radius**2),
            "totals": self.totals.residual,
            "pairs": self.ties.residual,
            "linear": 0.0 if self.linear is None else self.linear.residual,
        }

    def _next_step(self, offsets: FloatArray) -> Step:
        """Centres and penalties of this iteration; the sphere's copy begins with its phase."""
        self.scale = self._cost_scale(offsets)
        before, now = self.used, self.schedule.at_scale(self.scale)
        if now.phase > GRADUATE and before.phase == GRADUATE:
            self.blocks.start_sphere()
            self.shrink = 1.0
        dtype = self.blocks.dtype
        column = offsets[:, None].astype(dtype)
        return Step(self.centers.astype(dtype), column, before, now, self.shrink)

    def _update_x(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """Solve the x-system without totals; ``t' x0`` (q, k) and ``G`` (q, q) of the totals."""
        rho = step.now.box
        if len(self.pulled):
            pull = self.ties.pull(rho)
            stiffening = rho * self.ties.degree
            if self.pinned is not None:
                pull = pull - self.pinned
            if self.linear is not None:
                pull = pull + self.linear.pull(self.blocks.pulled_x(), rho) / self.pulled_metric
                stiffening = stiffening + rho * self.linear.diagonal / self.pulled_metric
            self.blocks.pull(pull, stiffening)
        return self.blocks.forward(step)

    def _objective(self, sums: Sums, offsets: FloatArray) -> float:
        """``sum_gj w_g z1_gj cost_gj`` from the sums of the pass.

        The cost of g in j is ``offset_j - 2 p_g . c_j`` plus a constant of the group; the
        constants of all groups sum to the spread of the rows and the scatter inside groups.
        """
        cost = sums.mass @ offsets - 2.0 * (sums.points * self.centers).sum()
        return self.rows.scatter + self.rows.spread + float(cost) * self.unit

    def _cost_scale(self, offsets: FloatArray) -> float:
        """Median over a sample of the groups of the standard deviation of their k costs."""
        inner = np.asarray(self.centers.astype(self.sample.dtype) @ self.sample.T)
        costs = offsets[:, None] - 2.0 * inner
        costs -= costs.sum(axis=0) / len(costs)
        costs *= costs
        squares = costs.sum(axis=0)
        middle = len(squares) // 2
        squares.partition(middle)
        return float(np.sqrt(squares[middle] / len(costs)))


def recorder_of(rules: Rules, record_x: Iterable[int] = ()) -> Recorder:
    """A recorder of the rows' violations, links counted between groups."""
    sizes = rules.sizes
    return Recorder(
        rules.n_clusters,
        must_link=rules.first_rows[rules.together],
        cannot_link=rules.first_rows[rules.apart],
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        ordered=sizes is None or sizes.ordered,
        group=rules.group,
        record_x=record_x,
    )
