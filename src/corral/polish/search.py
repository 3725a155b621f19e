"""Out of local optima: exchanges of single groups, and moves of whole clusters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ..assign import NoAssignment, OutOfTime
from ..geometry import Geometry
from ..problem import Problem
from .exchange import Exchange
from .moves import Proposal, kick, relocate, swap_clusters, swap_sizes
from .refinement import MAX_ROUNDS, NEGLIGIBLE, Answer, evaluate, refine

#: Work that the moves of one search may cost, in entries of cost matrices looked at.
MOVE_BUDGET = 4.0e7
#: Up to so many entries of x a problem is small, and moves get their full share.
SMALL = 6_000
#: With sums to keep and more entries than this the relaxed solver takes its time and leaves nothing
#: to find, unless clusters have different rules or much room: who has which is not for it to find.
SETTLED = 8_000
#: Rounds of assignment that a proposal takes, about.
ROUNDS_A_TRIAL = 6
#: Unless a problem is small, so many rounds of exchanges, and none after one that gained a trifle:
#: where points lie without order each finds another.
MOST_EXCHANGES, TRIFLE = 25, 2e-5
#: No kind of move is tried more often than this on one answer.
MOST_TRIALS = 60


def improve(
    answer: Answer,
    geometry: Geometry,
    random_state: np.random.RandomState,
    deadline: float | None = None,
    least_trials: int = 0,
) -> Answer:
    """Leave local optima by exchanges and moves until none pays or the budget is spent."""
    answer = exchange(answer, geometry, deadline)
    budget = max(_trials(answer.problem), least_trials)
    moves: list[Callable[[Answer], Iterator[Proposal]]] = [
        lambda a: swap_sizes(a.problem, geometry, a.labels, a.centers),
        lambda a: swap_clusters(a.problem, geometry, a.labels, a.centers),
        lambda a: relocate(a.problem, geometry, a.labels, a.centers),
        lambda a: kick(a.problem, geometry, a.labels, a.centers, random_state),
    ]
    kind = 0
    while kind < len(moves) and budget > 0 and not _late(deadline):
        proposals = islice(moves[kind](answer), min(budget, _each(answer.problem)))
        better, spent = _first_better(answer, proposals, geometry, deadline)
        budget -= spent
        if better is None:
            kind += 1
        else:
            answer, kind = exchange(better, geometry, deadline), 0
    return answer


def exchange(answer: Answer, geometry: Geometry, deadline: float | None = None) -> Answer:
    """Move and swap groups while that pays, refining after every round."""
    if answer.problem.large:
        return answer
    search = Exchange(answer.problem, geometry)
    small = answer.problem.n_groups * answer.problem.n_clusters <= SMALL
    most, trifle = (MAX_ROUNDS, 0.0) if small else (MOST_EXCHANGES, TRIFLE)
    for _ in range(most):
        if _late(deadline):
            break
        before = answer.objective
        labels = search.improve(answer.labels, answer.centers, answer.objective)
        if labels is None:
            return answer
        moved = evaluate(answer.problem, geometry, labels, answer.centers)
        if not moved.objective < answer.objective * (1.0 - NEGLIGIBLE):
            return answer
        answer = moved
        refined = (
            refine(answer.problem, geometry, answer.centers, incumbent=labels, deadline=deadline)
            if not _late(deadline)
            else None
        )
        if refined is not None and refined.objective < answer.objective:
            answer = refined
        if before - answer.objective < trifle * before:
            break
    return answer


def _first_better(
    answer: Answer, proposals: Iterator[Proposal], geometry: Geometry, deadline: float | None
) -> tuple[Answer | None, int]:
    """Refine proposals until one beats the answer; also how many were tried."""
    tried = 0
    for problem, centers in proposals:
        tried += 1
        try:
            trial = refine(
                problem,
                geometry,
                centers,
                incumbent=answer.labels if problem is answer.problem else None,
                to_beat=answer.objective,
                deadline=deadline,
            )
        except NoAssignment:
            continue
        except OutOfTime:
            break
        if trial is not None and trial.beats(answer):
            return trial, tried
    return None, tried


def _each(problem: Problem) -> int:
    """Trials of one kind of move on one answer: more where sizes make more ways to go wrong.

    One for every two clusters if sizes are free, two if they are given, three if they may also
    change hands.
    """
    twos = problem.n_clusters * (problem.n_clusters - 1) // 2
    if problem.sizes is None:
        return min(twos, MOST_TRIALS)
    return min(3 * twos if problem.sizes_vary else 2 * twos, MOST_TRIALS)


def _trials(problem: Problem) -> int:
    """How many proposals to try in all: fewer where an exact assignment is dear.

    The more points there are, the less the relaxed solver leaves to find.
    """
    entries = problem.n_groups * problem.n_clusters
    different = problem.sizes_vary or problem.numbered or problem.sizes_loose
    if problem.summed and not different and entries > SETTLED:
        return 0
    work = _price(problem) * ROUNDS_A_TRIAL * entries * max(1.0, (entries / SMALL) ** 1.5)
    return int(min(MOVE_BUDGET / work, 6 * MOST_TRIALS))


def _price(problem: Problem) -> float:
    """What an exact assignment costs, about, against looking at every entry of x once."""
    if problem.totals or problem.linear is not None:
        return 3000.0
    paired = bool(len(problem.apart) or len(problem.soft.price))
    if problem.sizes is None:
        return 20.0 if paired else 1.0
    return 300.0 if paired or np.ptp(problem.count) > 0 else 10.0


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline
