"""Large problems with sums and pairs: prices settle most groups, a small program the rest.

At the prices of :mod:`.duals` a group whose next best cluster costs more than what separates the
best known answer from the bound is where every better answer has it.  Those groups are fixed;
what they take is taken off the bounds, their pairs become costs of their partners, and the
contested groups are left as a small problem of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline, OutOfTime
from ...plan import is_large
from ...plan.thresholds import PROGRAM_ENTRIES, PROGRAM_PATIENCE, TANGLE_GROUPS
from ...presolve import Rules
from ..check import broken, sums_by
from ..pairs.components import pair_graph, solve_pairs
from ..pairs.descent import descend
from ..program.milp import solve_milp
from ..result import Assignment, NoAssignment
from .duals import Sums, View, alone, ascend
from .repair import repaired
from .restrict import restricted

#: Groups in the sample that gives the first prices, and steps towards them.
SAMPLE = 2000
SAMPLE_ROUNDS = 40
ROUNDS = 12

#: Contested groups in the first program; so many times more in the next, if need be.
FIRST_CONTESTED = 300
CONTESTED_EACH = 3
WIDEN = 4

#: Part of the cost, over what it would be without rules, that may be missing in a proof.
PROVEN = 1e-9

#: Solves a problem exactly, given its costs, labels to beat and a deadline.
Exact = Callable[[Rules, FloatArray, IntArray | None, Deadline], Assignment]


class _Tangled(Exception):  # noqa: N818 - an outcome, not a fault
    """The pairs are too entangled to be solved at every look at prices."""


def solve_contested(
    rules: Rules,
    cost: FloatArray,
    exact: Exact,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    prices: FloatArray | None = None,
) -> Assignment:
    """Cheapest labels under sizes, totals and pairs, in the order of the sizes given.

    Parameters
    ----------
    rules : Rules
        Without linear rows; its pins are not looked at.
    cost : (m, k) array
        Infinite where a group may not go.
    exact : callable
        For the contested groups.
    incumbent, deadline, prices
        As for :func:`corral.assign.assign`.

    Raises
    ------
    NoAssignment, OutOfTime
    """
    sums = Sums.of(rules)
    start = _first_prices(cost, sums)
    if prices is not None:
        known = np.atleast_2d(prices)[: len(start)]
        start[: len(known)] = known
    pairs = _Pairs(rules)
    view = ascend(cost, sums, start, pairs.place, ROUNDS)
    case = _Case(rules, cost, _Best(rules, cost))
    case.best.offer(incumbent)
    case.best.offer(repaired(rules, cost, sums, view))
    number = max(FIRST_CONTESTED, int(CONTESTED_EACH * view.misplaced(sums)))
    optimal = _narrow(case, exact, view, number, deadline) and not pairs.rough
    if case.best.labels is None:
        raise OutOfTime
    return Assignment(case.best.labels, case.best.cost, optimal, warm=view.prices)


def _first_prices(cost: FloatArray, sums: Sums) -> FloatArray:
    rows = np.sort(np.random.default_rng(0).integers(0, len(cost), min(SAMPLE, len(cost))))
    nothing = np.zeros_like(sums.lower)
    return ascend(cost[rows], sums.sample(rows), nothing, alone, SAMPLE_ROUNDS).prices


def _narrow(case: _Case, exact: Exact, view: View, number: int, deadline: Deadline) -> bool:
    """Solve for more and more contested groups until the answer proves itself."""
    best = case.best
    slack = view.margin - view.repair
    while True:
        room = best.cost - view.bound
        if room <= best.tolerance:
            return True
        if deadline.passed:
            return False
        reach = room
        if number < len(slack):
            reach = min(room, max(float(np.partition(slack, number)[number]), 0.0))
        contested = slack <= max(reach, 0.0)
        last = reach >= room or is_large(case.rules)
        try:
            # Only a program with all that matters has to be solved to its end.
            hasty = is_large(case.rules) or not last
            solved = _settle(case, exact, view, contested, deadline, hasty=hasty)
        except NoAssignment:
            if contested.all() and best.labels is None:
                raise
            if reach >= room:
                return True  # all that could be better took part, and nothing is
        else:
            if solved and best.cost - view.bound <= reach + best.tolerance:
                return True
            if contested.all() or (last and not solved):
                return solved
        number *= WIDEN


def _settle(
    case: _Case,
    exact: Exact,
    view: View,
    contested: BoolArray,
    deadline: Deadline,
    *,
    hasty: bool,
) -> bool:
    """Offer the best labels that keep all but the contested groups; whether they are proven."""
    if not contested.any():
        case.best.offer(view.labels)
        return True
    part, part_cost = restricted(case.rules, case.cost, view.labels, contested)
    known = case.best.labels
    if known is not None:
        if not np.array_equal(known[~contested], view.labels[~contested]):
            known = None
        if is_large(case.rules) and part_cost.size > PROGRAM_ENTRIES:
            return False
        if hasty:
            deadline = deadline.within(PROGRAM_PATIENCE)
    try:
        found = exact(part, part_cost, None if known is None else known[contested], deadline)
    except OutOfTime:
        return False
    labels = view.labels.copy()
    labels[contested] = found.labels
    case.best.offer(labels)
    return found.optimal


@dataclass(frozen=True)
class _Case:
    """What is to be solved, and the best labels so far."""

    rules: Rules
    cost: FloatArray
    best: _Best


class _Best:
    """The best labels so far."""

    def __init__(self, rules: Rules, cost: FloatArray) -> None:
        self.rules, self._cost = rules, cost
        self.labels: IntArray | None = None
        self.cost = np.inf
        self._least = float(cost.min(axis=1).sum())

    @property
    def tolerance(self) -> float:
        """What the cost may exceed the bound by and count as proven."""
        if self.labels is None:
            return 0.0
        return PROVEN * (self.cost - self._least) + 1e-13 * abs(self.cost)

    def offer(self, labels: IntArray | None) -> None:
        """Keep labels that break nothing and cost less."""
        if labels is None or broken(self.rules, labels):
            return
        total = float(self._cost[np.arange(len(labels)), labels].sum())
        total += self.rules.soft.cost(labels)
        if total < self.cost:
            self.labels, self.cost = labels, total


@dataclass
class _Pairs:
    """The pairs of a rules, to find best labels for many costs.

    Labels are ``rough`` once a tangle has been too large to be solved; a bound then counts
    nothing for the pairs.
    """

    rules: Rules
    rough: bool = False

    def place(self, priced: FloatArray, own: IntArray) -> tuple[IntArray, FloatArray, float]:
        """Best labels under the pairs, as :data:`.duals.Placing`."""
        graph = pair_graph(self.rules)
        if not graph.broken(own).any():
            return own, np.zeros(len(own)), 0.0
        if not self.rough:
            try:
                labels = solve_pairs(self.rules, priced, _small_core)
            except _Tangled:
                self.rough = True
        if self.rough:
            good = descend(graph, priced)
            return own if good is None else good, np.zeros(len(own)), 0.0
        rows = np.flatnonzero(labels != own)
        dearer = priced[rows, labels[rows]] - priced[rows, own[rows]]
        repair = sums_by(graph.component[rows], dearer, len(own))
        repair += sums_by(graph.component[graph.a], graph.paid(labels), len(own))
        return labels, repair[graph.component], float(repair.sum())


def _small_core(part: Rules, cost: FloatArray) -> IntArray:
    if part.n_groups > TANGLE_GROUPS:
        raise _Tangled
    return solve_milp(part, cost).labels
