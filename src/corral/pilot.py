"""What moves find on a few points, for problems too large to try them.

Where clusters of different sizes may change places there are up to k! orders.  The relaxed solver
follows the nearest one, which need not be the best.  Moves that exchange sizes find better ones,
fast with a thousand points and far too slowly with a million; so a small sample is solved with all
of them, and its centres compete with those of the relaxed solver.  The same helps where bounds on
the sizes leave room for two clusters to come to rest in one heap.

Without sums to keep the relaxed solver hurries over its own sample, and that happens more often;
so this sample is polished before its centres meet the other points.

Where there are no clear clusters the relaxed solver ends in one of many optima that are about as
good.  The start leads to another, in a small part of the time where sizes are the only rule; the
better one is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.history import Relaxation
from .assign import NoAssignment, OutOfTime
from .coarse import WORTH, draw, sampled
from .constraints._checks import sums_by
from .geometry import Geometry
from .initialise import match_sizes
from .polish import SMALL, Answer, first_answer, improve
from .polish.moves import relocate
from .problem import Problem

#: With more entries of x than this a search has too few moves to find the order of the sizes;
MANY = 10_000
#: with so many it still has some.
SOME_MOVES = 24_000
#: Sizes that differ by less than this part of their mean may stand in any order.
UNEQUAL = 0.2
#: Points that a cluster of the sample has, at least on average.
LEAST_EACH = 30
#: A sample of no more entries than this is polished,
POLISHED = 200_000
#: with moves if nothing but costs counts, or if it is this small a part of the whole;
SMALL_PART = 0.2
#: so many for each cluster are tried then, at least.
TRIALS_EACH = 2
#: Otherwise a cluster is moved to where that saves this part of the objective.
WRONG = 0.05
#: Rounds of assignment and means after which the two starts are compared.
ROUNDS = 10


def sample_groups(n_clusters: int) -> int:
    """Groups that a pilot takes."""
    return max(SMALL // n_clusters, LEAST_EACH * n_clusters)


def needs_pilot(problem: Problem) -> bool:
    """Whether moves would matter where trying them takes too long, but for a sample."""
    k, few = problem.n_clusters, sample_groups(problem.n_clusters) * problem.n_clusters
    large = problem.n_groups * k > max(MANY, WORTH * few)
    # With totals even a sample is too dear to move much, and linear rows do not shrink.
    movable = few <= SOME_MOVES and not problem.totals and problem.linear is None
    return k > 1 and large and movable and (problem.sizes_loose or _unequal(problem))


def _unequal(problem: Problem) -> bool:
    """Whether sizes that may change hands differ by much."""
    sizes, n = problem.sizes, problem.count.sum()
    if sizes is None or not problem.sizes_vary:
        return False
    middle = (sizes.lower + np.minimum(sizes.upper, n)) / 2.0
    return bool(np.ptp(middle) > UNEQUAL * n / problem.n_clusters)


def better_order(
    problem: Problem,
    geometry: Geometry,
    relaxed: Relaxation,
    solve_small: Callable[[Problem], tuple[IntArray, FloatArray]],
    random_state: np.random.RandomState,
    deadline: float | None = None,
) -> IntArray:
    """Labels refined from the relaxed ones, or from a small sample's centres if that is better.

    The relaxed ones are given back as they are where the sample cannot be solved.

    Parameters
    ----------
    problem, geometry
    relaxed : Relaxation
    solve_small : callable
        Labels and centres of a small problem.
    random_state : RandomState
        Draws the sample.
    deadline : float, optional
    """
    k, labels = problem.n_clusters, relaxed.labels
    part = sampled(problem, draw(problem, sample_groups(k), random_state))
    try:
        few_labels, centers = solve_small(part)
        starts = [
            (sums_by(labels, problem.count, k), geometry.means(labels, relaxed.centers)),
            (sums_by(few_labels, part.count, k), centers - geometry.middle),
        ]
        found = [
            first_answer(match_sizes(problem, counts), geometry, start, deadline, ROUNDS)
            for counts, start in starts
        ]
    except (NoAssignment, OutOfTime):
        return labels
    return min(found, key=lambda answer: answer.objective).labels


def better_start(
    problem: Problem,
    geometry: Geometry,
    relaxed: Relaxation,
    start: FloatArray,
    deadline: float | None = None,
) -> IntArray:
    """Labels refined from the relaxed ones, or from the start's centres if that is better.

    For sizes that do not change hands.  The relaxed labels are given back as they are where there
    is no time.
    """
    means = geometry.means(relaxed.labels, relaxed.centers)
    try:
        found = [first_answer(problem, geometry, each, deadline) for each in (means, start)]
    except OutOfTime:
        return relaxed.labels
    return min(found, key=lambda answer: answer.objective).labels


def polish_sample(
    problem: Problem,
    geometry: Geometry,
    relaxed: Relaxation,
    random_state: np.random.RandomState,
    n_groups: int,
    deadline: float | None = None,
) -> IntArray:
    """Labels of a sample of ``n_groups`` groups, with clusters where they are needed."""
    if problem.n_groups * problem.n_clusters > POLISHED:
        return relaxed.labels
    centers = geometry.means(relaxed.labels, relaxed.centers)
    try:
        answer = first_answer(problem, geometry, centers, deadline)
    except (NoAssignment, OutOfTime):
        return relaxed.labels
    if problem.free or problem.n_groups < SMALL_PART * n_groups:
        least = TRIALS_EACH * problem.n_clusters
        return improve(answer, geometry, random_state, deadline, least).labels
    return _resettled(answer, geometry, deadline).labels


def _resettled(answer: Answer, geometry: Geometry, deadline: float | None) -> Answer:
    """Let clusters leave where two are in one heap, as long as that pays."""
    for _ in range(answer.problem.n_clusters):
        least = WRONG * answer.objective
        proposals = relocate(answer.problem, geometry, answer.labels, answer.centers, least)
        part, start = next(proposals, (None, None))
        if part is None or start is None:
            break
        try:
            found = first_answer(part, geometry, start, deadline)
        except OutOfTime:
            break
        if not found.beats(answer):
            break
        answer = found
    return answer
