"""What moves find on a few points, for problems too large to try them.

Where clusters of different sizes may change places there are up to k! orders.  The relaxed solver
follows the nearest one, which need not be the best.  Moves that exchange sizes find better ones,
fast with a thousand points and far too slowly with a million; so a small sample is solved with all
of them, and its centres compete with those of the relaxed solver.  The same helps where bounds on
the sizes leave room for two clusters to come to rest in one heap.

Without sums to keep the relaxed solver hurries over its own sample, and that happens more often;
so this sample is polished before its centres meet the other points.
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
from .polish import SMALL, evaluate, first_answer, improve
from .polish.moves import relocate
from .problem import Problem

#: With more entries of x than this a search has too few moves to find the order of the sizes;
MANY = 10_000
#: with so many it still has some.
SOME_MOVES = 24_000
#: Sizes that differ by less than this part of their mean may stand in any order;
UNEQUAL = 0.2
#: bounds that leave more room than this let two clusters share a heap.
LOOSE = 0.5
#: Points that a cluster of the sample has, at least on average.
LEAST_EACH = 30
#: A sample is polished with every move if nothing but costs counts, or if it is this small a part.
SMALL_PART = 0.2
#: So many moves for each cluster are tried then, at least.
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
    sizes, k = problem.sizes, problem.n_clusters
    if sizes is None or problem.linear is not None:
        return False
    few = sample_groups(k) * k
    large = problem.n_groups * k > max(MANY, WORTH * few)
    upper, mean = np.minimum(sizes.upper, problem.count.sum()), problem.count.sum() / k
    unequal = problem.sizes_vary and bool(np.ptp(sizes.lower + upper) > 2.0 * UNEQUAL * mean)
    loose = bool(np.max(upper - sizes.lower) > LOOSE * mean)
    return large and few <= SOME_MOVES and (unequal or loose)


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


def polish_sample(
    problem: Problem,
    geometry: Geometry,
    relaxed: Relaxation,
    random_state: np.random.RandomState,
    n_groups: int,
    deadline: float | None = None,
) -> IntArray:
    """Labels of a sample of ``n_groups`` groups, with clusters where they are needed."""
    centers = geometry.means(relaxed.labels, relaxed.centers)
    try:
        if problem.free or problem.n_groups < SMALL_PART * n_groups:
            answer = first_answer(problem, geometry, centers, deadline)
            least = TRIALS_EACH * problem.n_clusters
            return improve(answer, geometry, random_state, deadline, least).labels
        return _resettled(problem, geometry, relaxed.labels, centers, deadline)
    except (NoAssignment, OutOfTime):
        return relaxed.labels


def _resettled(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    centers: FloatArray,
    deadline: float | None,
) -> IntArray:
    """Labels after clusters have left where two are in one heap, at most k times."""
    answer = evaluate(problem, geometry, labels, centers)
    for _ in range(problem.n_clusters):
        least = WRONG * answer.objective
        proposals = relocate(problem, geometry, answer.labels, answer.centers, least)
        proposal = next(proposals, None)
        if proposal is None:
            break
        answer = first_answer(problem, geometry, proposal[1], deadline)
    return answer.labels
