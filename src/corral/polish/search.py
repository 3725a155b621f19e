"""Out of local optima: exchanges of single groups, and moves of whole clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from .._typing import FloatArray
from ..assign import AmongCandidates, Assignment, NoAssignment
from ..deadline import OutOfTime
from ..plan.anneal_thresholds import COOLER, EXCHANGED, FIRST_STEPS, HOTTER, IDLE
from ..plan.thresholds import CLEAR, LEAST_DROP
from ..problem import Problem
from .anneal import Bath
from .exchange import Exchange
from .moves import Proposal, kick, relocate, relocations, swap_clusters, swap_sizes
from .refine import Answer, alternate, evaluate, exactly, refine
from .upheavals import explore


def improve(
    problem: Problem, answer: Answer, random_state: np.random.RandomState, least_trials: int = 0
) -> Answer:
    """Leave local optima by exchanges and moves until none pays or the budget is spent.

    Moves are trials of exact assignment: they end too when integer programs have had their time.
    """
    if problem.plan.upheavals and not is_clear(problem, answer):
        answer = _finished(problem, explore(problem, answer, random_state))
    answer = exchange(problem, answer)
    budget = max(problem.plan.trials, least_trials)
    moves: list[Callable[[Problem, Answer], Iterator[Proposal]]] = [
        lambda own, a: swap_sizes(own, a.labels, a.centers),
        lambda own, a: swap_clusters(own, a.labels, a.centers),
        lambda own, a: relocate(own, a.labels, a.centers),
    ]
    if not problem.plan.children:  # which are kicks too
        moves.append(lambda own, a: kick(own, a.labels, a.centers, random_state))
    kind = 0
    while kind < len(moves) and budget > 0 and not problem.deadline.spent:
        own = problem.with_rules(answer.rules)
        proposals = islice(moves[kind](own, answer), min(budget, problem.plan.trials_each))
        better, spent = _first_better(own, answer, proposals)
        budget -= spent
        if better is None:
            kind += 1
        else:
            answer, kind = exchange(problem, better), 0
    alone = problem.plan.rough and not problem.plan.children
    return settled(problem, answer) if alone else answer


def annealed(
    problem: Problem, centers: FloatArray, random_state: np.random.RandomState
) -> Answer | None:
    """The best answer after rounds of annealing, or None if all of them break links.

    The first round starts from the centres, after Lloyd's method without links, and every further
    one from the best answer.  Rounds become hotter and links dearer until half of the copies break
    none.
    """
    random = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    bath = Bath.from_centers(problem, centers, random)
    if bath is None:
        return None
    labels, scale, idle = bath.free, 1.0, 0
    best: Answer | None = None
    for number in range(problem.plan.anneals):
        if problem.deadline.passed or idle == IDLE:
            break
        copies = bath.cooled(labels, scale, FIRST_STEPS * 2**number)
        scale *= COOLER if 2 * len(copies) >= problem.plan.copies else HOTTER
        idle += len(copies) > 0
        found = [
            evaluate(problem, Assignment(each, np.nan), bath.centers)
            for each in np.unique(copies, axis=0)
        ]
        for each in sorted(found, key=lambda answer: answer.objective)[:EXCHANGED]:
            grown = exchange(problem, each)
            if grown.beats(best):
                labels, best, idle = grown.labels, grown, 0
    return best


def settled(problem: Problem, answer: Answer) -> Answer:
    """The answer after exchanges, refined exactly where these were rough."""
    while True:
        answer = exchange(problem, answer)
        exact = exactly(problem, answer) if problem.plan.rough else answer
        if exact is answer:
            return answer
        answer = exact


def _finished(problem: Problem, answer: Answer) -> Answer:
    """The answer after exact assignments, where the plan allows programs for it."""
    if not problem.plan.finishes or problem.deadline.spent:
        return answer
    own = problem.with_rules(answer.rules)
    found = alternate(own, answer.centers, incumbent=answer.labels)
    return found if found is not None and found.beats(answer) else answer


def exchange(problem: Problem, answer: Answer) -> Answer:
    """Move and swap groups while that pays, refining when the plan says."""
    if not problem.plan.exchanges:
        return answer
    problem = problem.with_rules(answer.rules)
    if problem.plan.candidates:
        return _exchange_together(problem, answer)
    search, plan, pending = Exchange(problem), problem.plan, False
    for _ in range(plan.exchanges):
        if problem.deadline.passed:
            break
        before = answer.objective
        moved = _moved(problem, search, answer)
        if moved is not None:
            answer, pending = moved, True
        elif not pending:
            break
        if plan.refines or moved is None:
            answer, pending = _refined(problem, answer), False
        if before - answer.objective < plan.least_exchange * before:
            break
    return _refined(problem, answer) if pending else answer


def _moved(problem: Problem, search: Exchange, answer: Answer) -> Answer | None:
    """The answer after one round of exchanges, if it is better."""
    labels = search.improve(answer.labels, answer.centers, answer.objective)
    if labels is None:
        return None
    moved = evaluate(problem, Assignment(labels, np.nan), answer.centers)
    return moved if moved.objective < answer.objective * (1.0 - LEAST_DROP) else None


def _refined(problem: Problem, answer: Answer) -> Answer:
    """The answer after exact assignments and means, if there is time for them."""
    if problem.deadline.passed:
        return answer
    refined = refine(problem, answer.centers, incumbent=answer.labels, rough=problem.plan.rough)
    return refined if refined is not None and refined.objective < answer.objective else answer


def is_clear(problem: Problem, answer: Answer) -> bool:
    """Whether the clusters are so far apart that none would be better elsewhere.

    That is so if the least that giving up a cluster loses is far more than the most that splitting
    one saves.  Hard rules can only make the loss larger, and where centres follow they make up for
    less than half of it.  Soft rules that are broken might be obeyed elsewhere.
    """
    rules = problem.rules
    if problem.rows.far or problem.deadline.passed:
        return False
    if rules.n_clusters < 2 or rules.sizes_vary or rules.numbered:
        return False
    if rules.soft_cost(answer.labels) > 0.0:
        return False
    loss, saved, _ = relocations(problem, answer.labels, answer.centers)
    return bool(loss.min() > CLEAR * saved.max())


def _exchange_together(problem: Problem, answer: Answer) -> Answer:
    """Move groups between neighbouring clusters, many at a time, while that pays; then refine."""
    plan = problem.plan
    # Whether a move pays is decided afterwards, on the rows as they are.
    rows = problem.near.single() if plan.single else problem.near
    place = AmongCandidates(problem.rules, rows, plan.candidates)
    for _ in range(plan.exchanges):
        try:
            step = place.exchange(answer.labels, answer.centers, answer.warm, problem.deadline)
        except (NoAssignment, OutOfTime):
            return answer
        moved = evaluate(problem, step, answer.centers)
        drop = answer.objective - moved.objective
        if drop <= 0.0:
            break
        answer = moved
        if drop <= plan.least_exchange * answer.objective:
            break
    try:
        refined = refine(
            problem,
            answer.centers,
            incumbent=answer.labels,
            warm=answer.warm,
            max_rounds=plan.rounds,
        )
    except (NoAssignment, OutOfTime):
        return answer
    return refined if refined is not None and refined.beats(answer) else answer


def _first_better(
    problem: Problem, answer: Answer, proposals: Iterator[Proposal]
) -> tuple[Answer | None, int]:
    """Refine proposals until one beats the answer; also how many were tried."""
    tried = 0
    for rules, centers in proposals:
        if problem.deadline.spent:
            break
        tried += 1
        known = answer.labels if rules is problem.rules else None
        try:
            trial = refine(
                problem.with_rules(rules),
                centers,
                incumbent=known,
                to_beat=answer.objective,
                rough=problem.plan.rough,
            )
        except NoAssignment:
            continue
        except OutOfTime:
            break
        if trial is not None and trial.beats(answer):
            return trial, tried
    return None, tried
