"""The projected lp-box ADMM, the default solver: the paper's model, robust to the start.

Against Algorithm 1 (see ``docs/notation.md``), each change exact for the model:

- w is eliminated: the centres are the means of the box copy ``z1``, which is not negative, so
  ``x = Pw . Cx`` holds by construction;
- rows of x sum to one exactly, as the x-update solves for their multiplier;
- must-links are contracted beforehand; a cannot-link is ``x_a + x_b <= 1`` with copies of its
  own instead of one quadratic for all;
- sizes, capacities and quotas are totals per cluster, equal to or between bounds;
- a ridge decays before the sphere's penalty grows (:mod:`.schedule`).

An iteration is two passes over blocks of groups (:mod:`.kernels`) with two small reductions; where
groups are alike the first can be foreseen (:mod:`.unpulled`), which pays where passes are dear.
Group g counts with its weight ``r_g`` in every norm, so that a point of weight two does what two
points do.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from .._typing import FloatArray, IntArray
from ..plan import is_large
from ..presolve import Rules
from ..rows import Rows
from .crew import Crew, Setup, Threads
from .history import Options, Recorder, Relaxation
from .kernels import Step, Sums
from .linear import LinearCopies, rows_groups
from .pairs import Ends, all_pairs
from .schedule import CENTRES_END, GRADUATE, HARDEN, RIDGE_END, Schedule
from .totals import Totals

#: Weights below this part of their mean count as this much in the norms, not in the costs.
LEAST_METRIC = 0.01
#: The costs' scale is a median over so many groups, taken every so many iterations.
SCALE_SAMPLE, SCALE_EVERY = 300, 4
#: Iterations of a large problem between two lines of the log.
TOLD_EVERY = 50

DEFAULTS = Options()

logger = logging.getLogger(__name__)


def solve_projected(
    rules: Rules,
    rows: Rows,
    start_labels: IntArray,
    options: Options = DEFAULTS,
    crew: Crew | None = None,
) -> Relaxation:
    """Relax the assignment, graduate it, and harden it to an almost binary one.

    Parameters
    ----------
    rules : Rules
    rows : Rows
        The groups of the rules.
    start_labels : (m,) array
        Where to start; hardly matters.
    options : Options
        ``rho_growth`` is the growth of the sphere's penalty an iteration, and the decay of the
        ridge.  It converges when all primal residuals fall below ``tol`` (entries of x live in
        [0, 1]).
    crew : Crew, optional
        Who makes the passes; by default as many threads as there are cores.

    Returns
    -------
    Relaxation
        With x per group, (m, k), and centres relative to the middle of the rows.
    """
    crew = Threads(rows.points) if crew is None else crew
    end = RIDGE_END if options.hardens else CENTRES_END
    solver = ProjectedSolver(rules, rows, start_labels, crew, options, end)
    recorder = _recorder(rules, options.record_x)
    converged, large = False, is_large(rules)
    with crew.running():
        while len(recorder) < options.max_iter and not converged:
            objective = solver.step()
            residuals = solver.residuals()
            worst = max(residuals.values())
            x = crew.x() if recorder.wants_x else None
            labels = crew.labels() if len(recorder) % options.count_every == 0 else None
            recorder.record(x, objective, solver.used.box, residuals, labels)
            hardened = solver.used.phase == HARDEN and worst <= options.tol
            converged = hardened if options.hardens else solver.schedule.phase > GRADUATE
            if large and len(recorder) % TOLD_EVERY == 0:
                logger.info("iteration %d: objective %.8g", len(recorder), objective)
            if options.progress is not None:
                options.progress(len(recorder), objective, worst, recorder.broken)
            if options.deadline.passed or solver.schedule.exhausted:
                break
    labels = crew.labels()
    recorder.recount(labels)
    return Relaxation(
        labels=labels,
        centers=solver.centers,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
        x=None if large else crew.x(),
    )


class ProjectedSolver:
    """One run: the state that all groups share, and the step from one iteration to the next."""

    def __init__(
        self,
        rules: Rules,
        rows: Rows,
        start_labels: IntArray,
        crew: Crew,
        options: Options = DEFAULTS,
        ridge_end: float = RIDGE_END,
    ) -> None:
        self.rows, self.crew = rows, crew
        self.n_groups = rules.n_groups
        self.unit = max(rows.total_weight / rules.n_groups, np.finfo(float).tiny)
        weight = rows.weight / self.unit
        metric = np.maximum(weight, LEAST_METRIC)
        self.totals = Totals(rules, metric)
        linear_groups = rows_groups(rules.linear, rules.n_clusters)
        self.pulled = np.unique(np.concatenate([all_pairs(rules).ravel(), linear_groups]))
        points, mass = crew.begin(
            Setup.of(rules, start_labels, weight, metric, self.totals.values, self.pulled)
        )
        self.centers = rows.centres(points, mass, np.zeros_like(points))
        self.pulled_metric = metric[self.pulled]
        self.pairs = crew.pairs(Ends.of(rules, self.pulled, self.pulled_metric, self.unit))
        self.linear = (
            None
            if rules.linear is None
            else LinearCopies(rules.linear, self.pulled, crew.pulled_x())
        )
        self.sample = rows.sample(SCALE_SAMPLE)
        # Without any spread there are no costs, and any unit of them will do.
        variance = rows.leading_variance() or 1.0
        loosens = not rules.summed
        k = rules.n_clusters
        self.schedule = Schedule.start(
            variance, k, options.rho, options.rho_growth, loosens, ridge_end
        )
        self.used = self.schedule
        self.radius = 0.5 * np.sqrt(rules.n_clusters * metric.sum())
        self.sums: Sums | None = None
        self.shrink = 1.0
        self.scale, self.n_steps = 0.0, 0

    def step(self) -> float:
        """One iteration: x, its copies and duals, the centres; gives the objective."""
        norms = self.rows.offsets(self.centers)[:, None]
        if self.n_steps % SCALE_EVERY == 0:
            self.scale = self._scale(norms)
        self.n_steps += 1
        before, now = self.used, self.schedule.at_scale(self.scale)
        if now.phase > GRADUATE and before.phase == GRADUATE:
            self.crew.start_sphere()
            self.shrink = 1.0
        dtype = self.crew.dtype
        step = Step(self.centers.astype(dtype), norms.astype(dtype), before, now, self.shrink)
        self._pull(now.box)
        theta = self.totals.solve(*self.crew.forward(step), now.ridge)
        sums = self.crew.backward(step, theta)
        objective = self._objective(sums, norms)
        self._finish(sums, now)
        return objective

    def residuals(self) -> dict[str, float]:
        """What x lacks to obey each kind of rule.

        ``simplex``: root mean square of what rows of z1 lack to one.  ``box``: root mean square
        of ``x - z1``.  ``sphere``: mean of ``4 (x - x^2)``, 0 for a binary x and 1 for x = 1/2.
        ``totals``, ``pairs``, ``linear``: the largest miss of a rule.
        """
        if self.sums is None:
            raise RuntimeError("residuals are those of a step; take one first")
        k, m = len(self.centers), self.n_groups
        return {
            "simplex": float(np.sqrt(self.sums.unbalanced / m)),
            "box": float(np.sqrt(self.sums.outside / (m * k))),
            "sphere": float(abs(self.sums.undecided) / self.radius**2),
            "totals": self.totals.residual,
            "pairs": self.pairs.residual,
            "linear": 0.0 if self.linear is None else self.linear.residual,
        }

    def _objective(self, sums: Sums, norms: FloatArray) -> float:
        """``sum_g w_g z1_gj |p_g - mu_j|^2``, from the sums alone."""
        cost = sums.mass @ norms[:, 0] - 2.0 * (sums.points * self.centers).sum()
        return self.rows.scatter + self.rows.spread + float(cost) * self.unit

    def _scale(self, norms: FloatArray) -> float:
        """Median over a sample of the groups of the standard deviation of their k costs."""
        inner = np.asarray(self.centers.astype(self.sample.dtype) @ self.sample.T)
        costs = norms - 2.0 * inner
        costs -= costs.sum(axis=0) / len(costs)
        costs *= costs
        squares = costs.sum(axis=0)
        middle = len(squares) // 2
        squares.partition(middle)
        return float(np.sqrt(squares[middle] / len(costs)))

    def _pull(self, rho: float) -> None:
        """Hand out the pull of pairs and linear rows on their groups."""
        if not len(self.pulled):
            return
        pull = self.pairs.pull(rho)
        stiffening = rho * self.pairs.degree
        if self.linear is not None:
            pull = pull + self.linear.pull(self.crew.pulled_x(), rho) / self.pulled_metric
            stiffening = stiffening + rho * self.linear.diagonal / self.pulled_metric
        self.crew.pull(pull, stiffening)

    def _finish(self, sums: Sums, now: Schedule) -> None:
        """Centres, the copies of pairs and rows, the sphere's scale and the next penalties."""
        self.sums, self.used = sums, now
        self.centers = self.rows.centres(sums.points, sums.mass, self.centers)
        if len(self.pulled):
            x = self.crew.pulled_x()
            self.pairs.update(x, now.box)
            if self.linear is not None:
                self.linear.update(x, now.box)
        if now.phase > GRADUATE:
            self.shrink = self.radius / max(np.sqrt(sums.radius), np.finfo(float).tiny)
        self.schedule = now.after(self.scale, sums.moved / self.n_groups)


def _recorder(rules: Rules, record_x: Iterable[int]) -> Recorder:
    """A recorder of the rows' violations, cannot-links counted between groups."""
    sizes = rules.sizes
    return Recorder(
        rules.n_clusters,
        cannot_link=rules.first_rows[rules.apart],
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        ordered=sizes is None or sizes.ordered,
        group=rules.group,
        record_x=record_x,
    )
