"""First answers: labels that obey the rules, refined from given centres.

*From the seeds*, before ADMM: for a small problem, and where sizes are the only rule, it is a whole
answer that ADMM has to beat.  On data without clear clusters ADMM ends in one of many optima that
are about as good.  For other problems it is one round that gives a feasible answer, or a proof that
there is none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..assign import NoAssignment, assign_patiently
from ..deadline import OutOfTime
from ..plan.anneal_thresholds import ANNEAL_SHARE
from ..plan.thresholds import MAX_ROUNDS, PATIENCE
from ..presolve import Rules
from ..problem import Problem
from ..start import match_capacities
from .refine import Answer, refine
from .search import annealed

#: How often the order of the sizes is chosen anew where no simple order fits the other rules.
REMATCHES = 4


def from_seeds(
    problem: Problem, rules: Rules, centers: FloatArray, random_state: np.random.RandomState
) -> Answer | None:
    """Annealing or exact assignment straight from the start, as far as the plan wants it."""
    plan = problem.plan
    if not plan.direct:
        return None
    if plan.anneals:
        soon = problem.with_rules(rules).until(problem.deadline.share(ANNEAL_SHARE))
        found = annealed(soon, centers, random_state)
        if found is not None:
            return found
    sooner = problem.deadline.share(plan.direct_share)
    return first_answer(problem.with_rules(rules).until(sooner), centers, plan.direct)


def first_answer(
    problem: Problem, centers: FloatArray, max_rounds: int = MAX_ROUNDS, warm: Any = None
) -> Answer:
    """Refine centres; where the sizes at hand do not fit the other rules, match them anew.

    NoAssignment proves that no labels obey the rules, whatever the order of the sizes.
    """
    try:
        rough = problem.plan.rough
        answer = refine(problem, centers, warm=warm, max_rounds=max_rounds, rough=rough)
    except NoAssignment:
        if problem.plan.candidates:  # tied groups left no room; no proof that there is none
            plan = replace(problem.plan, candidates=0, exact_rounds=True)
            every = replace(problem, plan=plan)
            return first_answer(every, centers, max_rounds)
        return _matched_anew(problem, centers)
    if answer is None:
        raise AssertionError("a refinement with nothing to beat always answers")
    return answer


def _by_capacity(problem: Problem, centers: FloatArray) -> Answer | None:
    """An answer with the largest sizes where most may be held, if there is one."""
    matched = match_capacities(problem.rules)
    try:
        return None if matched is None else refine(problem.with_rules(matched), centers)
    except (NoAssignment, OutOfTime):
        return None


def _matched_anew(problem: Problem, centers: FloatArray) -> Answer:
    """Let exact assignments choose the order of the sizes too, while that pays."""
    by_capacity = _by_capacity(problem, centers)
    best: Answer | None = None
    for _ in range(REMATCHES):
        labels = None if best is None else best.labels
        try:
            cost = problem.near.costs(centers, problem.deadline.first).dense()
            step = assign_patiently(
                problem.rules, cost, labels, problem.deadline, patience=PATIENCE, match_sizes=True
            )
        except OutOfTime:
            break
        if step.order is not None:
            problem = problem.with_rules(problem.rules.with_sizes_in_order(step.order))
        elif best is None:
            raise NoAssignment
        answer = refine(problem, centers, incumbent=step.labels)
        if answer is None or not answer.beats(best):
            break
        best, centers = answer, answer.centers
        problem = problem.with_rules(answer.rules)
    found = [answer for answer in (best, by_capacity) if answer is not None]
    if not found:
        raise OutOfTime
    return min(found, key=lambda answer: answer.objective)
