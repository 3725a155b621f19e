"""From centres to a local optimum that obeys the rules.

It is found by means and exact assignment in turn, or by shifts and chains of groups where the plan
wants these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import (
    AmongCandidates,
    Assignment,
    NearAssignment,
    NoAssignment,
    TiedFirst,
    broken,
)
from ..assign.check import matching_order
from ..deadline import OutOfTime
from ..plan.thresholds import LATER_PATIENCE, MAX_ROUNDS, PATIENCE
from ..presolve import Rules
from ..problem import Problem
from ..rows import MemoryRows
from .chains import obey
from .kempe import ChainAssignment
from .partition import MeansPartition

#: A refinement is given up if this many further drops of the size of the last one would not reach
#: the objective to beat.
LOOK_AHEAD = 2.0
#: First price of a unit of excess, in :attr:`.Partition.unit`, and how often it may grow.  A lower
#: price lets costs decide longer where groups go.
SETTLING_PRICE, SETTLING_PRICES = 0.25, 12


@dataclass(frozen=True)
class Answer:
    """Labels that obey every hard rule."""

    labels: Any  # (m,)
    centers: FloatArray  # means of the clusters, (k, d), relative to the middle of the rows
    objective: float  # inertia over the groups plus the price of the soft rules broken
    rules: Rules  # with the size bounds in the order that these labels obey
    warm: Any = field(default=None, repr=False, compare=False)  # :attr:`.Assignment.warm`

    def beats(self, other: Answer | None) -> bool:
        """Whether the objective is lower by more than rounding."""
        return other is None or self.objective < other.objective * (1.0 - 1e-9)


def refine(
    problem: Problem,
    centers: FloatArray,
    *,
    incumbent: IntArray | None = None,
    warm: Any = None,
    to_beat: float = np.inf,
    max_rounds: int = MAX_ROUNDS,
    rough: bool = False,
) -> Answer | None:
    """Improve centres until the objective stops falling, and give the labels.

    ``incumbent`` are labels that obey the rules, if some are known, and ``warm`` is what the first
    assignment starts from (:attr:`.Assignment.warm`).  None is given when the objective will hardly
    fall below ``to_beat``.  A ``rough`` assignment is one by chains of cannot-links.  NoAssignment
    and OutOfTime are raised as by :func:`alternate`.
    """
    settled = settle(problem, centers) if problem.plan.upheavals else None
    if settled is not None:
        return settled
    return alternate(
        problem,
        centers,
        incumbent=incumbent,
        warm=warm,
        to_beat=to_beat,
        max_rounds=max_rounds,
        rough=rough,
    )


def alternate(
    problem: Problem,
    centers: FloatArray,
    *,
    incumbent: IntArray | None = None,
    warm: Any = None,
    to_beat: float = np.inf,
    max_rounds: int = MAX_ROUNDS,
    rough: bool = False,
) -> Answer | None:
    """Alternate exact assignment and means until the objective stops falling.

    Arguments are those of :func:`refine`.  NoAssignment and OutOfTime come from the first
    assignment; later ones fall back on the labels in hand.  In a large problem centres are
    extrapolated beyond the means, as Nesterov's method does, as long as the objective falls.
    """
    plan = problem.plan
    place = assigner(problem.rules, problem.near, plan.candidates, plan.exact_rounds)
    if rough:
        place = ChainAssignment(problem.rules, problem.near)
    best: Answer | None = None
    patience, deadline = PATIENCE, problem.deadline
    ahead = 0  # rounds since centres were last the means themselves
    for _ in range(max_rounds):
        if best is not None and deadline.passed:
            break
        try:
            step = place(
                centers, incumbent=incumbent, warm=warm, deadline=deadline, patience=patience
            )
        except (OutOfTime, NoAssignment):
            if best is None:
                raise
            break
        if not step.optimal and np.isnan(step.cost) and problem.rules.greedy:
            patience = LATER_PATIENCE
        step = _in_order(problem.rules, step)
        if step.order is not None:
            problem = problem.with_rules(problem.rules.with_sizes_in_order(step.order))
            place = place.with_rules(problem.rules)
        answer = evaluate(problem, step, centers)
        if best is not None:
            drop = best.objective - answer.objective
            if drop <= problem.plan.least_drop * abs(best.objective):
                if not ahead:
                    break
                ahead, centers, warm = 0, best.centers, step.warm
                continue
            if answer.objective - LOOK_AHEAD * drop > to_beat:
                return None
        at_rest = _shift(problem, centers, answer.centers) <= problem.plan.least_shift
        centers, warm = answer.centers, step.warm
        if best is not None and problem.plan.least_shift:
            ahead += 1
            centers = problem.rows.distance.beyond(centers, best.centers, ahead / (ahead + 3.0))
        best, incumbent = answer, answer.labels
        problem.settings.progress.step(problem.objective(best.objective))
        if at_rest:
            break
    return best


def assigner(rules: Rules, rows: MemoryRows, candidates: int = 0, exact: bool = True) -> Any:
    """What assigns these rows to centres, round after round.

    With candidates it looks at so many clusters for each row, and at more where that is not enough
    for an exact assignment; if there are no more, tied groups come first.
    """
    if candidates >= rules.n_clusters:
        return TiedFirst(rules, rows)
    if candidates:
        return AmongCandidates(rules, rows, candidates, exact)
    return NearAssignment(rules, rows)


def _in_order(rules: Rules, step: Assignment) -> Assignment:
    """The step with soft sizes in the order of least price, where their order is free."""
    sizes = rules.sizes
    if sizes is None or sizes.soft is None or not rules.sizes_vary or step.order is not None:
        return step
    counted = rules.sizes_of(step.labels)
    order, cost = matching_order(sizes, counted), sizes.soft.cost(counted)
    here = np.arange(rules.n_clusters)
    if order is None or not cost[here, order].sum() < cost[here, here].sum() * (1.0 - 1e-12):
        return step
    saved = cost[here, here].sum() - cost[here, order].sum()
    return replace(step, order=order, cost=step.cost - saved)


def settle(problem: Problem, centers: FloatArray) -> Answer | None:
    """A local optimum near the centres by shifts and chains alone; None if rules stay broken."""
    part = MeansPartition(problem, problem.rows.nearest(centers), centers)
    every = np.ones(problem.n_clusters, bool)
    if obey(part, SETTLING_PRICE * part.unit, every, SETTLING_PRICES) is None:
        return None
    return answer_of(problem, part)


def answer_of(problem: Problem, part: MeansPartition) -> Answer | None:
    """The labels of a partition with their means, if they break no rule."""
    if broken(problem.rules, part.labels):
        return None
    return evaluate(problem, Assignment(part.labels.copy(), np.nan), part.centers)


def _shift(problem: Problem, before: FloatArray, after: FloatArray) -> float:
    """Sum of the squared shifts of the centres, in mean variances of the features."""
    rows = problem.rows
    variance = rows.spread / max(rows.total_weight * rows.shape[1], np.finfo(float).tiny)
    squares = float(rows.distance.gained(np.ones(len(before)), before, after).sum())
    return squares / variance if variance > 0.0 else 0.0


def evaluate(problem: Problem, step: Assignment, centers: FloatArray) -> Answer:
    """Means and objective of labels; a cluster without weight keeps its centre.

    ``step.cost`` is what the labels cost at the centres given, soft rules included, if it is known:
    from there to the means the objective falls by an amount that the distance tells.
    """
    rules, rows, labels = problem.rules, problem.rows, step.labels
    if np.isfinite(step.cost):
        means = rows.means(labels, rules.n_clusters, centers)
        objective = step.cost - problem.near.fallen(labels, centers, means)
        return Answer(labels, means, max(objective, 0.0), rules, step.warm)
    means, inertia = rows.measured(labels, rules.n_clusters, centers)
    soft = rules.soft_cost(labels) if step.soft is None else step.soft
    return Answer(labels, means, inertia + soft, rules, step.warm)


def exactly(problem: Problem, answer: Answer) -> Answer:
    """The answer refined by exact assignment."""
    own = problem.with_rules(answer.rules)
    try:
        found = refine(own, answer.centers, incumbent=answer.labels)
    except (NoAssignment, OutOfTime):
        return answer
    return found if found is not None and found.beats(answer) else answer
