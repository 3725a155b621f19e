"""For rules that cannot all hold: the labels that break least of them."""

from __future__ import annotations

import numpy as np

from .._typing import IntArray
from ..admm.history import Recorder
from ..deadline import OutOfTime
from ..exact import assign_relaxed
from ..problem import Problem
from ..rules import Rules
from ..search.starts import make_start
from ..solution import Solution


def solve_violating(problem: Problem, random_state: np.random.RandomState) -> Solution:
    """Alternate means and assignments of least violation until the objective stops falling.

    Every assignment has the least total violation there is, so the objective alone decides.  The
    problem is made without contraction, so that every rule can be broken.  OutOfTime says that the
    deadline came before the first assignment.
    """
    rules, rows, settings = problem.rules, problem.near, problem.settings
    deadline = problem.deadline
    centers = make_start(rules, rows, settings.init, random_state, deadline).centers
    best: IntArray | None = None
    value = np.inf
    recorder, converged = _recorder(rules, settings.record_x), False
    while len(recorder) < settings.max_iter and not converged:
        try:
            step, violation = assign_relaxed(
                rules, rows.costs(centers, deadline).dense(), deadline=deadline
            )
        except OutOfTime:
            if best is None:
                raise
            break
        means, inertia = rows.measured(step.labels, rules.n_clusters, centers)
        objective = inertia + rules.soft_cost(step.labels)
        settings.progress.step()
        memberships = np.eye(rules.n_clusters)[step.labels]
        recorder.record(memberships, objective, 0.0, {"violation": violation})
        converged = best is not None and objective >= value * (1.0 - 1e-9)
        if not converged:
            best, centers, value = step.labels, means, objective
    if best is None:
        raise OutOfTime
    return Solution(
        labels=best,
        centers=centers + rows.middle,
        objective=value,
        sizes=rules.sizes,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
        events=None,
        may_violate=True,
    )


def _recorder(rules: Rules, record_x: tuple[int, ...]) -> Recorder:
    sizes = rules.sizes
    return Recorder(
        rules.n_clusters,
        must_link=rules.together,
        cannot_link=rules.apart,
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        ordered=sizes is None or sizes.ordered,
        record_x=record_x,
    )
