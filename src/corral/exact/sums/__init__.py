"""Sums and pairs of groups of any count: prices settle most groups, a small program the rest.

Take the prices of :mod:`.duals` and a group whose next best cluster costs more than the difference
between the best known answer and the bound.  Every better answer has that group in its best
cluster. Such groups are fixed: the bounds are reduced by what they take, and their pairs become
costs of their partners.  The other groups are *contested*; they are left as a small problem of the
same kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...constraints._checks import sums_by
from ...deadline import NEVER, Deadline, OutOfTime
from ...rules import Rules, Sums
from ..check import broken, cost_of
from ..pairs import descend, pair_graph, solve_pairs
from ..program.milp import solve_milp
from ..result import Assignment, NoAssignment
from .duals import View, alone, ascend
from .repair import repaired, restricted

#: Most groups in the sample that gives the first prices; more give better prices.
SAMPLE = 2000
#: Most steps towards the prices of the sample, and of all groups, where a step takes longer.
SAMPLE_ROUNDS, ROUNDS = 40, 12

#: Least number of contested groups in the first program; more make it slower and a proof likelier.
FIRST_CONTESTED = 300
#: Contested groups in the first program for each misplaced group.
CONTESTED_EACH = 3
#: Factor by which the number of contested groups grows from one program to the next.
WIDEN = 4
#: Entries of the costs above which a problem is large: programs are as short as they can be, and
#: the first answer that they give is the last.  More take longer and lower the cost a little.
LARGE = 300_000
#: Groups of a 2-core of pairs up to which a program solves it at every look at prices; above, the
#: bound leaves the pairs out.  It is a guard: no difference was measured between 0 and 1,000.
TANGLE_GROUPS = 60
#: Entries of a program above which it is not begun in a large problem if an answer is known.  More
#: lower the cost a little: at 0 it is higher by 9e-6 with a total over 100,000 groups in 5
#: clusters.
PROGRAM_ENTRIES = 100_000
#: Seconds for one program if an answer is known, unless it is the last one of a problem that is not
#: large.  More can only prove or improve a known answer.
PROGRAM_PATIENCE = 2.0

#: Difference between cost and bound up to which an answer counts as proven, as a part of what the
#: rules add to the cost.
PROVEN = 1e-9


def is_large(rules: Rules) -> bool:
    """Whether passes over all costs are expensive."""
    return rules.n_groups * rules.n_clusters > LARGE


class _Tangled(Exception):  # noqa: N818 - an outcome, not a fault
    """A 2-core of the pairs is too large to be solved at every look at prices."""


def solve_contested(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    patience: float = math.inf,
    until: Deadline = NEVER,
    prices: FloatArray | None = None,
) -> Assignment:
    """Cheapest labels under sizes, totals and pairs, in the order of the sizes given.

    Arguments and errors are those of :func:`corral.exact.assign`, but there are no linear rows,
    pins are infinite costs, and ``until`` is the deadline for prices and the first answer.
    """
    sums = rules.sums().and_(rules.soft_sums)
    start = _first_prices(cost, sums, until)
    if prices is not None:
        known = np.atleast_2d(prices)[: len(start)]
        start[: len(known)] = known
    pairs = _Pairs(rules, until)
    view = ascend(cost, sums, start, pairs.place, ROUNDS, until)
    best = _Best(rules, cost)
    best.offer(incumbent)
    best.offer(repaired(rules, cost, rules.sums(), view, until) if rules.summed else view.labels)
    number = max(FIRST_CONTESTED, int(CONTESTED_EACH * view.misplaced(sums)))
    soon = deadline.within(patience)
    optimal = _narrow(best, view, number, soon) and not pairs.rough
    if best.labels is None:
        raise OutOfTime
    return Assignment(best.labels, best.value, optimal, warm=view.prices)


def _first_prices(cost: FloatArray, sums: Sums, until: Deadline) -> FloatArray:
    """Prices of a sample of the groups, with bounds in proportion."""
    rows = np.sort(np.random.default_rng(0).integers(0, len(cost), min(SAMPLE, len(cost))))
    part, nothing = sums.part(rows).scaled(len(rows) / len(cost)), np.zeros_like(sums.lower)
    return ascend(cost[rows], part, nothing, alone, SAMPLE_ROUNDS, until).prices


def _narrow(best: _Best, view: View, number: int, deadline: Deadline) -> bool:
    """Solve for more and more contested groups until the answer is proven; whether it is."""
    slack = view.margin - view.repair
    while True:
        room = best.value - view.bound
        if room <= best.tolerance:
            return True
        if deadline.passed:
            return False
        reach = room
        if number < len(slack):
            reach = min(room, max(float(np.partition(slack, number)[number]), 0.0))
        contested = slack <= max(reach, 0.0)
        last = reach >= room or is_large(best.rules)
        try:
            # Only a program with every group that matters has to be solved to its end.
            hasty = is_large(best.rules) or not last
            solved = _settle(best, view, contested, deadline, hasty=hasty)
        except NoAssignment:
            if contested.all() and best.labels is None:
                raise
            if reach >= room:
                return True  # every group that could be better elsewhere took part
        else:
            if solved and best.value - view.bound <= reach + best.tolerance:
                return True
            if contested.all() or (last and not solved):
                return solved
        number *= WIDEN


def _settle(
    best: _Best, view: View, contested: BoolArray, deadline: Deadline, *, hasty: bool
) -> bool:
    """Offer the best labels that change the contested groups only; whether they are proven."""
    if not contested.any():
        best.offer(view.labels)
        return True
    part, part_cost = restricted(best.rules, best.cost, view.labels, contested)
    known = best.labels
    if known is not None:
        if not np.array_equal(known[~contested], view.labels[~contested]):
            known = None
        if is_large(best.rules) and part_cost.size > PROGRAM_ENTRIES:
            return False
        if hasty:
            deadline = deadline.within(PROGRAM_PATIENCE)
    part_known = None if known is None else known[contested]
    try:
        found = solve_milp(part, part_cost, incumbent=part_known, deadline=deadline)
    except OutOfTime:
        return False
    labels = view.labels.copy()
    labels[contested] = found.labels
    best.offer(labels)
    return found.optimal


class _Best:
    """The rules, the costs and the best labels so far."""

    def __init__(self, rules: Rules, cost: FloatArray) -> None:
        self.rules, self.cost = rules, cost
        self.labels: IntArray | None = None
        self.value = np.inf
        self._least = float(cost.min(axis=1).sum())

    @property
    def tolerance(self) -> float:
        """Difference between the value and the bound up to which the labels count as proven."""
        if self.labels is None:
            return 0.0
        return PROVEN * (self.value - self._least) + 1e-13 * abs(self.value)

    def offer(self, labels: IntArray | None) -> None:
        """Keep labels that break nothing and cost less."""
        if labels is None or broken(self.rules, labels):
            return
        total = cost_of(self.rules, self.cost, labels)
        if total < self.value:
            self.labels, self.value = labels, total


@dataclass
class _Pairs:
    """Best labels under the pairs for many costs.

    ``rough`` is set once a 2-core was too large, or too slow, to be solved.  Labels are then those
    of a descent, and bounds leave out what the pairs cost.
    """

    rules: Rules
    until: Deadline = NEVER
    rough: bool = False

    def place(self, priced: FloatArray, own: IntArray) -> tuple[IntArray, FloatArray, float]:
        """Best labels under the pairs, as :data:`.duals.Placing`."""
        graph = pair_graph(self.rules)
        if not graph.broken(own).any():
            return own, np.zeros(len(own)), 0.0
        if not self.rough:
            try:
                labels = solve_pairs(self.rules, priced, self._small_core, self.until)
            except (_Tangled, OutOfTime):
                self.rough = True
        if self.rough:
            good = descend(graph, priced, self.until)
            return own if good is None else good, np.zeros(len(own)), 0.0
        rows = np.flatnonzero(labels != own)
        rise = priced[rows, labels[rows]] - priced[rows, own[rows]]
        repair = sums_by(graph.component[rows], rise, len(own))
        repair += sums_by(graph.component[graph.a], graph.paid(labels), len(own))
        return labels, repair[graph.component], float(repair.sum())

    def _small_core(self, part: Rules, cost: FloatArray) -> IntArray:
        if part.n_groups > TANGLE_GROUPS:
            raise _Tangled
        found = solve_milp(part, cost, deadline=self.until)
        if not found.optimal:
            raise OutOfTime
        return np.asarray(found.labels)
