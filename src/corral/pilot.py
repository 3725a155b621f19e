"""Which cluster gets which of unequal sizes, found on a few points.

Where clusters of different sizes may change places there are up to k! orders.  The relaxed solver
follows the nearest one, which need not be the best.  Moves that exchange sizes find better ones,
fast with a thousand points and far too slowly with a million; so a small sample is solved with all
of them, and its centres compete with those of the relaxed solver.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import FloatArray, IntArray
from .assign import NoAssignment, OutOfTime
from .coarse import WORTH, draw, sampled
from .constraints._checks import sums_by
from .geometry import Geometry
from .initialise import match_sizes
from .polish import SMALL, first_answer
from .problem import Problem

#: With more entries of x than this a search has too few moves to find the order of the sizes;
MANY = 10_000
#: with so many it still has some.
SOME_MOVES = 24_000
#: Sizes that differ by less than this part of their mean may stand in any order.
UNEQUAL = 0.2
#: Points that a cluster of the sample has, at least on average.
LEAST_EACH = 30
#: Rounds of assignment and means after which the two starts are compared.
ROUNDS = 10


def sample_rows(n_clusters: int) -> int:
    """Groups that a pilot takes."""
    return max(SMALL // n_clusters, LEAST_EACH * n_clusters)


def needs_pilot(problem: Problem) -> bool:
    """Whether unequal sizes may change hands where trying that takes too long, but for a sample."""
    sizes, k = problem.sizes, problem.n_clusters
    if sizes is None or not problem.sizes_vary:
        return False
    middle = sizes.lower + np.minimum(sizes.upper, problem.count.sum())
    few = sample_rows(k) * k
    large = problem.n_groups * k > max(MANY, WORTH * few)
    return large and few <= SOME_MOVES and bool(np.ptp(middle) > UNEQUAL * middle.mean())


def better_order(
    problem: Problem,
    geometry: Geometry,
    labels: IntArray,
    solve_small: Callable[[Problem], tuple[IntArray, FloatArray]],
    random_state: np.random.RandomState,
    deadline: float | None = None,
) -> IntArray:
    """Labels refined from those given, or from a small sample's centres where that is better.

    They are given back as they are where the sample cannot be solved.

    Parameters
    ----------
    problem, geometry
    labels : (m,) array
    solve_small : callable
        Labels and centres of a small problem.
    random_state : RandomState
        Draws the sample.
    deadline : float, optional
    """
    k = problem.n_clusters
    part = sampled(problem, draw(problem, sample_rows(k), random_state))
    try:
        few_labels, centers = solve_small(part)
        starts = [
            (sums_by(labels, problem.count, k), geometry.means(labels)),
            (sums_by(few_labels, part.count, k), centers - geometry.middle),
        ]
        found = [
            first_answer(match_sizes(problem, counts), geometry, start, deadline, ROUNDS)
            for counts, start in starts
        ]
    except (NoAssignment, OutOfTime):
        return labels
    return min(found, key=lambda answer: answer.objective).labels
