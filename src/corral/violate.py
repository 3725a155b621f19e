"""For rules that cannot all hold: the labels that break least of them."""

from __future__ import annotations

import numpy as np

from .admm.history import Recorder
from .assign import OutOfTime, assign_relaxed
from .geometry import Geometry
from .initialise import initialise
from .polish import Answer, evaluate
from .problem import Problem
from .run import Solution
from .settings import Settings


def solve_violating(
    problem: Problem, settings: Settings, random_state: np.random.RandomState
) -> Solution:
    """Alternate means and assignments of least violation until the objective stops falling.

    Every assignment has the least total violation there is, so the objective alone decides.

    Parameters
    ----------
    problem : Problem
        Made without contraction, so that every rule can be broken.
    settings : Settings
    random_state : RandomState

    Raises
    ------
    OutOfTime
        The deadline came before the first assignment.
    """
    geometry = Geometry(problem)
    centers = initialise(problem, geometry, settings.init, random_state).centers
    best: Answer | None = None
    sizes = problem.sizes
    recorder = Recorder(
        problem.n_clusters,
        must_link=problem.together,
        cannot_link=problem.apart,
        sizes=None if sizes is None else (sizes.lower, sizes.upper),
        ordered=sizes is None or sizes.ordered,
        record_x=settings.record_x,
    )
    converged = False
    while len(recorder) < settings.max_iter and not converged:
        try:
            step, violation = assign_relaxed(
                problem, geometry.costs(centers), deadline=settings.deadline
            )
        except OutOfTime:
            if best is None:
                raise
            break
        answer = evaluate(problem, geometry, step.labels, centers)
        recorder.record(
            np.eye(problem.n_clusters)[step.labels],
            answer.objective,
            0.0,
            {"violation": violation},
        )
        converged = not answer.beats(best)
        if not converged:
            best, centers = answer, answer.centers
    if best is None:
        raise OutOfTime
    return Solution(
        labels=best.labels,
        centers=best.centers + geometry.middle,
        objective=best.objective,
        sizes=problem.sizes,
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
        may_violate=True,
    )
