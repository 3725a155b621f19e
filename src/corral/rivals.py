"""What competes with ADMM's answer.

*Pilot*: a small sample solved with every move of the polish.  Where clusters of different sizes
may change places there are up to k! orders.  ADMM follows the nearest one, which need not be the
best, and moves over all rows take too long.  Where bounds on the sizes leave much room, two
clusters may come to rest in one dense region; the pilot helps there too.

*Start* and *polish*: on the sample that ADMM saw, exact sizes from the seeds, or moves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.history import Relaxation
from .assign import NoAssignment
from .constraints._checks import sums_by
from .deadline import OutOfTime
from .plan import pilot_groups
from .plan.thresholds import LEAST_RELOCATION, PILOT_ROUNDS, TRIALS_EACH_CLUSTER
from .polish import Answer, first_answer, improve, relocate
from .problem import Problem
from .start import draw, match_sizes

#: Solves a problem from a seed and gives labels of its groups and centres as the user has them.
SolveSmall = Callable[[Problem, int], tuple[IntArray, FloatArray]]


def better_labels(
    view: Problem,
    relaxed: Relaxation,
    start: FloatArray,
    random_state: np.random.RandomState,
    solve_small: SolveSmall,
) -> IntArray:
    """Better labels of the groups that ADMM saw than its own, if a rival finds them.

    Parameters
    ----------
    view : Problem
        What ADMM saw.
    relaxed : Relaxation
    start : (k, d) array
        Centres of the start.
    random_state : RandomState
    solve_small : callable
        Solves a pilot.
    """
    try:
        if view.plan.rival == "pilot":
            return _pilot(view, relaxed, random_state, solve_small)
        if view.plan.rival == "start":
            return _from_start(view, relaxed, start)
        if view.plan.rival in ("polish", "moves"):
            return _polished(view, relaxed, random_state)
    except (NoAssignment, OutOfTime):
        pass
    return relaxed.labels


def _pilot(
    view: Problem,
    relaxed: Relaxation,
    random_state: np.random.RandomState,
    solve_small: SolveSmall,
) -> IntArray:
    """Labels refined from the relaxed ones, or from a pilot's centres if that is better."""
    k, labels = view.n_clusters, relaxed.labels
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    groups = draw(view.rules, pilot_groups(view.rules), random_state)
    pilot = view.part(groups, pilot=True)
    few_labels, centers = solve_small(pilot, seed)
    starts = [
        (sums_by(labels, view.rules.count, k), view.rows.means(labels, k, relaxed.centers)),
        (sums_by(few_labels, pilot.rules.count, k), centers - view.rows.middle),
    ]
    found = [
        first_answer(view.with_rules(match_sizes(view.rules, counts)), start, PILOT_ROUNDS)
        for counts, start in starts
    ]
    return _best(found)


def _from_start(view: Problem, relaxed: Relaxation, start: FloatArray) -> IntArray:
    """Labels refined from the relaxed ones, or from the start's centres if that is better."""
    means = view.rows.means(relaxed.labels, view.n_clusters, relaxed.centers)
    return _best([first_answer(view, centers) for centers in (means, start)])


def _polished(view: Problem, relaxed: Relaxation, random_state: np.random.RandomState) -> IntArray:
    """Labels of a sample, with clusters where they are needed."""
    means = view.rows.means(relaxed.labels, view.n_clusters, relaxed.centers)
    answer = first_answer(view, means)
    if view.plan.rival == "moves":
        least = TRIALS_EACH_CLUSTER * view.n_clusters
        return improve(view, answer, random_state, least).labels  # type: ignore[no-any-return]
    return _resettled(view, answer).labels  # type: ignore[no-any-return]


def _resettled(view: Problem, answer: Answer) -> Answer:
    """Move clusters to where they save much, as long as that pays."""
    for _ in range(view.n_clusters):
        own, least = view.with_rules(answer.rules), LEAST_RELOCATION * answer.objective
        proposal = next(relocate(own, answer.labels, answer.centers, least), None)
        if proposal is None:
            break
        rules, start = proposal
        try:
            found = first_answer(view.with_rules(rules), start)
        except OutOfTime:
            break
        if not found.beats(answer):
            break
        answer = found
    return answer


def _best(found: list[Answer]) -> IntArray:
    labels: IntArray = min(found, key=lambda answer: answer.objective).labels
    return labels
