"""Means and exact assignment in turn, until the objective stops falling."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import (
    Assignment,
    NoAssignment,
    OutOfTime,
    assign,
    feasible,
    matching_order,
    solve_crowded,
    solve_greedily,
)
from ..constraints._checks import sums_by
from ..geometry import Geometry
from ..initialise import match_capacities
from ..problem import Problem

#: An objective that falls by less than this part has stopped falling;
NEGLIGIBLE = 1e-12
#: in a large problem, where a round is dear, by less than this.
NEGLIGIBLE_IF_LARGE = 1e-7
#: Limit on the rounds of a refinement.
MAX_ROUNDS = 300
#: How often the order of the sizes is chosen anew where no simple order fits the other rules.
REMATCHES = 4
#: Seconds after which an exact assignment gives the best answer it has instead of a proof.
PATIENCE = 3.0
#: The same in later rounds, where greed goes on from what it found.
HASTE = 0.3
#: A refinement is given up when so many more drops like the last would not be enough.
LOOK_AHEAD = 2.0


@dataclass(frozen=True)
class Answer:
    """Labels that obey every hard rule.

    Attributes
    ----------
    labels : (m,) array
    centers : (k, d) array
        Means of the clusters, relative to the middle of the points.
    objective : float
        Inertia over the groups plus the price of the soft pairs broken.
    problem : Problem
        With the size bounds in the order that these labels obey.
    """

    labels: IntArray
    centers: FloatArray
    objective: float
    problem: Problem

    def beats(self, other: Answer | None) -> bool:
        """Whether the objective is lower by more than rounding."""
        return other is None or self.objective < other.objective * (1.0 - 1e-9)


def refine(
    problem: Problem,
    geometry: Geometry,
    centers: FloatArray,
    *,
    incumbent: IntArray | None = None,
    to_beat: float = np.inf,
    deadline: float | None = None,
    max_rounds: int = MAX_ROUNDS,
) -> Answer | None:
    """Alternate exact assignment and means until the objective stops falling.

    Parameters
    ----------
    problem, geometry
    centers : (k, d) array
    incumbent : (m,) array, optional
        Labels that obey the rules, if some are known.
    to_beat : float
        Give up (None) when the objective will hardly fall below this.
    deadline : float, optional
    max_rounds : int

    Raises
    ------
    NoAssignment, OutOfTime
        From the first assignment; later ones fall back on the labels in hand.
    """
    best: Answer | None = None
    prices: FloatArray | None = None
    patience = PATIENCE
    least_drop = NEGLIGIBLE_IF_LARGE if problem.large else NEGLIGIBLE
    for _ in range(max_rounds):
        if best is not None and deadline is not None and time.monotonic() > deadline:
            break
        try:
            cost = geometry.costs(centers)
            step = assign_patiently(problem, cost, incumbent, deadline, prices, patience=patience)
        except OutOfTime:
            if best is None:
                raise
            break
        if np.isnan(step.cost) and _greed_knows(problem):
            patience = HASTE
        if step.order is not None:
            problem = problem.with_sizes_in_order(step.order)
        answer = evaluate(problem, geometry, step.labels, centers, step.cost)
        if best is not None:
            drop = best.objective - answer.objective
            if drop <= least_drop * abs(best.objective):
                break
            if answer.objective - LOOK_AHEAD * drop > to_beat:
                return None
        best, incumbent, centers = answer, answer.labels, answer.centers
        prices = step.prices
    return best


def assign_patiently(
    problem: Problem,
    cost: FloatArray,
    incumbent: IntArray | None,
    deadline: float | None,
    prices: FloatArray | None = None,
    *,
    patience: float,
    match_sizes: bool = False,
) -> Assignment:
    """Exact assignment, or a feasible one where the exact search outlasts its patience."""
    soon = time.monotonic() + patience
    own = deadline is not None and deadline <= soon
    try:
        return assign(
            problem,
            cost,
            incumbent=incumbent,
            deadline=deadline if own else soon,
            match_sizes=match_sizes,
            prices=prices,
        )
    except OutOfTime:
        if own:
            raise
        return _any_assignment(problem, cost, incumbent, deadline)


def _any_assignment(
    problem: Problem, cost: FloatArray, incumbent: IntArray | None, deadline: float | None
) -> Assignment:
    """Greedy labels, the incumbent, or any that obey the rules with the sizes in some order."""
    known = [each for each in (_greedy(problem, cost, incumbent), incumbent) if each is not None]
    if known:
        rows = np.arange(len(cost))
        cheapest = min(known, key=lambda each: cost[rows, each].sum())
        return Assignment(cheapest, np.nan, optimal=False)
    labels = feasible(problem, deadline)
    if labels is None:
        raise NoAssignment
    order = None
    if problem.sizes is not None and not problem.sizes.ordered:
        counted = sums_by(labels, problem.count, problem.n_clusters).astype(np.int64)
        order = matching_order(problem.sizes, counted)
    return Assignment(labels, np.nan, optimal=False, order=order)


def _greedy(problem: Problem, cost: FloatArray, start: IntArray | None) -> IntArray | None:
    """Labels by greed, or None where it knows not how or meets a dead end."""
    if not _greed_knows(problem):
        return None
    solve = solve_greedily if problem.sizes is None else solve_crowded
    return solve(problem, cost, start)


def _greed_knows(problem: Problem) -> bool:
    """Whether pins, cannot-links and sizes are the only rules."""
    return replace(problem, pins=problem.pins[:0], apart=problem.apart[:0], sizes=None).free


def evaluate(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    centers: FloatArray,
    cost: float = np.nan,
) -> Answer:
    """Means and objective of labels; a cluster without weight keeps its centre.

    ``cost`` is what the labels cost at the centres given, soft pairs included, if it is known: from
    there to the means it falls by the squares of the way, weighted.
    """
    means = geometry.means(labels, centers)
    if np.isfinite(cost):
        mass = sums_by(labels, geometry.weight, geometry.n_clusters)
        objective = max(cost - float(mass @ ((means - centers) ** 2).sum(axis=1)), 0.0)
    else:
        objective = geometry.inertia(labels, means) + problem.soft.cost(labels)
    return Answer(labels, means, objective, problem)


def first_answer(
    problem: Problem,
    geometry: Geometry,
    centers: FloatArray,
    deadline: float | None = None,
    max_rounds: int = MAX_ROUNDS,
) -> Answer:
    """Refine centres; where the sizes at hand do not fit the other rules, match them anew.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the rules, whatever the order of the sizes.
    OutOfTime
    """
    try:
        answer = refine(problem, geometry, centers, deadline=deadline, max_rounds=max_rounds)
    except NoAssignment:
        return _matched_anew(problem, geometry, centers, deadline)
    if answer is None:
        raise AssertionError("a refinement with nothing to beat always answers")
    return answer


def _by_capacity(
    problem: Problem, geometry: Geometry, centers: FloatArray, deadline: float | None
) -> Answer | None:
    """An answer with the largest sizes where most may be held, if there is one."""
    matched = match_capacities(problem)
    try:
        return None if matched is None else refine(matched, geometry, centers, deadline=deadline)
    except (NoAssignment, OutOfTime):
        return None


def _matched_anew(
    problem: Problem, geometry: Geometry, centers: FloatArray, deadline: float | None
) -> Answer:
    """Let exact assignments choose the order of the sizes too, while that pays."""
    by_capacity = _by_capacity(problem, geometry, centers, deadline)
    best: Answer | None = None
    for _ in range(REMATCHES):
        labels = None if best is None else best.labels
        try:
            cost = geometry.costs(centers)
            step = assign_patiently(
                problem, cost, labels, deadline, patience=PATIENCE, match_sizes=True
            )
        except OutOfTime:
            break
        if step.order is not None:
            problem = problem.with_sizes_in_order(step.order)
        elif best is None:
            raise NoAssignment
        answer = refine(problem, geometry, centers, incumbent=step.labels, deadline=deadline)
        if answer is None or not answer.beats(best):
            break
        best, problem, centers = answer, answer.problem, answer.centers
    found = [answer for answer in (best, by_capacity) if answer is not None]
    if not found:
        raise OutOfTime
    return min(found, key=lambda answer: answer.objective)
