"""Medoids under rules: free medoids, exact assignment, then swaps or upheavals.

Swaps without rules (:mod:`.fasterpam`) find where medoids should be.  From there exact assignments
and best medoids alternate.  What follows depends on the rules.  With sizes and pins alone, swaps
of medoids with exact assignment, and medoids that are drawn anew, find better clusters
(:mod:`.medoid_swaps`).  With other rules shifts and chains of groups and upheavals do, the medoids
moving along (:mod:`.medoid_partition`); where exact assignment is an integer program, they also
find the first answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .._typing import IntArray
from ..assign import NoAssignment, assign_patiently, broken
from ..deadline import Deadline, OutOfTime
from ..plan import medoids as plan
from ..plan.medoid_thresholds import RESEEDING_IDLE
from ..plan.shape_thresholds import DESCENT_PATIENCE
from ..presolve import Rules
from ..search.descent import match_sizes
from ..search.starts import seed_order
from .base import Task
from .fasterpam import draw_medoids, swap_medoids
from .medoid_costs import Answer, MedoidCosts
from .medoid_partition import MedoidPartition
from .medoid_swaps import Swaps, reseeded
from .shape import Fitted, descend

#: First price of a unit of excess, in :attr:`.Partition.unit`, and how often it may grow.
SETTLING_PRICE, SETTLING_PRICES = 0.25, 12


def free_medoids(
    task: Task, costs: MedoidCosts, init: IntArray | None, n_init: int | None
) -> list[IntArray]:
    """Local optima of swaps without rules, the best first.

    ``init`` are medoids to start from; without it they are drawn ``n_init`` times, or as often as
    the plan says.
    """
    starts = [init] if init is not None else _draws(task, costs, n_init)
    found = [swap_medoids(costs.cost, start, task.deadline) for start in starts]
    return sorted(found, key=lambda medoids: float(costs.cost[:, medoids].min(axis=1).sum()))


def _draws(task: Task, costs: MedoidCosts, n_init: int | None) -> Iterator[IntArray]:
    """Medoids to start from, one set at least."""
    for number in range(n_init or plan.starts(*costs.cost.shape)):
        if number and task.deadline.passed:
            return
        yield draw_medoids(costs.cost, task.n_clusters, task.random_state)


def best_medoids(task: Task, costs: MedoidCosts, free: list[IntArray]) -> Answer:
    """The best answer under the rules that is found from free medoids.

    Where nothing but costs decides where a row goes, the first of these is the answer.

    Raises
    ------
    NoAssignment, OutOfTime
        As :func:`corral.assign.assign_patiently`.
    """
    search, rules = _Search(task, costs), task.rules
    if rules.free and np.all(rules.count == 1):
        return Answer.at(costs, rules, costs.nearest(free[0]))
    best = search.settled(free[0])
    for medoids in free[1:]:
        if task.deadline.passed:
            break
        with suppress(OutOfTime):
            best = min(best, search.settled(medoids), key=_objective)
    best = search.exactly(best)
    if plan.by_swaps(rules):
        return search.swapped(best)
    return search.exactly(search.upheaved(best))


def _objective(answer: Fitted) -> float:
    return answer.objective


@dataclass(frozen=True)
class _Search:
    """The parts of a search under the rules."""

    task: Task
    costs: MedoidCosts

    def settled(self, medoids: IntArray) -> Answer:
        """An answer that obeys the rules, near the medoids."""
        task, cost = self.task, self.costs.cost
        order = seed_order(
            task.rules,
            lambda groups: cost[np.ix_(groups, medoids)],
            lambda: cost[:, medoids].argmin(axis=1),
        )
        medoids = medoids[order]
        labels = self.costs.nearest(medoids)
        rules = match_sizes(task.rules, task.rules.sizes_of(labels).astype(float))
        if not broken(rules, labels):
            return Answer.at(self.costs, rules, labels)
        if not plan.settles_by_chains(rules):
            return self._assigned(rules, medoids)
        part = self._part(rules, labels, medoids, task.deadline)
        every = np.ones(task.n_clusters, bool)
        price = obey(part, SETTLING_PRICE * part.unit, every, SETTLING_PRICES)
        if price is None or broken(rules, part.labels):
            return self._assigned(rules, medoids)
        return Answer.at(self.costs, rules, part.labels)

    def _assigned(self, rules: Rules, medoids: IntArray) -> Answer:
        """An answer by exact assignment, with sizes in another order where that at hand fails."""
        cost, deadline = self.costs.costs(medoids), self.task.deadline
        try:
            found = assign_patiently(rules, cost, None, deadline, patience=DESCENT_PATIENCE)
        except NoAssignment:
            found = assign_patiently(
                rules, cost, None, deadline, patience=DESCENT_PATIENCE, match_sizes=True
            )
        if found.order is not None:
            rules = rules.with_sizes_in_order(found.order)
        return Answer.at(self.costs, rules, np.asarray(found.labels))

    def upheaved(self, answer: Answer) -> Answer:
        """The best answer after as many upheavals as the plan allows."""
        rules, k = answer.rules, self.task.n_clusters
        if k == 1:
            return answer
        part = self._part(rules, answer.labels, answer.clusters, self.task.deadline)
        most = plan.upheavals(rules)
        for _ in upheave(part, self.task.random_state, most, plan.idle(k)):
            pass
        found = Answer.at(self.costs, rules, part.labels)
        return answer if broken(rules, found.labels) else min(answer, found, key=_objective)

    def swapped(self, best: Answer) -> Answer:
        """The best answer after swaps, from it and from medoids that are drawn anew."""
        task, idle, swaps = self.task, 0, Swaps(self.costs, self.task.deadline)
        best = swaps.descended(best)
        for _ in range(plan.reseedings(task.rules, self.costs.cost.shape[1])):
            if task.deadline.passed or best.objective <= 0.0 or idle >= RESEEDING_IDLE:
                break
            drawn, idle = reseeded(self.costs, best, task.random_state), idle + 1
            with suppress(NoAssignment, OutOfTime):
                found = swaps.descended(self.exactly(self.settled(drawn)))
                if found.objective < best.objective * (1.0 - 1e-9):
                    best, idle = found, 0
        return best

    def exactly(self, answer: Answer) -> Answer:
        """The answer after exact assignments and best medoids in turn."""
        try:
            found = descend(self.costs, answer.rules, answer.labels, self.task.deadline)
        except (NoAssignment, OutOfTime):
            return answer
        if found.objective >= answer.objective:
            return answer
        rules = match_sizes(answer.rules, answer.rules.sizes_of(answer.labels).astype(float))
        return Answer.at(self.costs, rules, found.labels)

    def _part(
        self, rules: Rules, labels: IntArray, medoids: IntArray, deadline: Deadline
    ) -> MedoidPartition:
        return MedoidPartition(self.costs, rules, deadline, labels, medoids)
