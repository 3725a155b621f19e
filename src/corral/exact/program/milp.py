"""Exact assignment under any mixture of rules, on as few columns as the costs allow.

The linear relaxation gives a bound and, by its dual values y, a reduced cost for every column:
with ``r_gj = cost_gj - (A'y)_gj`` every assignment that puts group g into cluster j costs at
least ``bound + r_gj - min_l r_gl`` (Lagrangian duality; it holds for any y of the right signs,
so neither the relaxation nor the columns it was solved on need be complete).  A column whose gap
exceeds the difference between the best known answer and the bound cannot occur in a better answer.
So the model is solved on the columns of small gap only, and on more of them while a better answer
is still possible.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...deadline import NEVER, Deadline, OutOfTime
from ...rules import Rules
from ..check import broken, cost_of, matching_order
from ..result import Assignment, NoAssignment
from ..sizes import split_prices
from . import cpsat, highs
from .model import Model, build, forbid

#: Columns per group in the first relaxation, and in a program where any feasible answer will do.
#: More make both slower, the relaxation complete in fewer rounds and an answer likelier.
FIRST_COLUMNS, ROUGH_COLUMNS = 1.5, 2.0
#: Columns of x up to which a program has all of them at once.  More save rounds of adding columns
#: and make a program larger: 300 groups in 5 clusters take 0.03 s at 600 and 0.05 s at 5,000.
FEW_COLUMNS = 600

#: Largest price of a soft rule, in typical costs, that a program has.  Costs that are smaller by
#: more than this are rounded; more would be beyond the accuracy of HiGHS.
MOST_TYPICAL = 1e6


def solve_milp(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    match_sizes: bool = False,
) -> Assignment:
    """Cheapest labels under all rules but the pins, which the costs hold as infinities.

    Arguments and errors are those of :func:`corral.exact.assign`.
    """
    match = match_sizes and rules.sizes is not None and not rules.sizes.ordered
    best, optimal = incumbent, True
    try:
        search = _Search(rules, cost, match, deadline)
        if incumbent is not None:
            search.offer(incumbent)
        optimal = search.run()
        best = search.best
    except OutOfTime:
        optimal = False
    if best is None:
        raise OutOfTime
    order = None
    if match and rules.sizes is not None:
        order = matching_order(rules.sizes, rules.sizes_of(best))
    placed = rules if order is None else rules.with_sizes_in_order(order)
    return Assignment(best, cost_of(placed, cost, best), optimal, order)


def solve_roughly(
    rules: Rules, cost: FloatArray, *, deadline: Deadline = NEVER, patience: float = 0.3
) -> IntArray | None:
    """Any labels that obey the rules, sizes in any order, or None if a short search finds none.

    ``patience`` is for the search in whole numbers, after the linear relaxation; NoAssignment is
    raised if that is infeasible.
    """
    match = rules.sizes is not None and not rules.sizes.ordered
    search = _Search(rules, cost, match, deadline)
    search.relax()
    if search.best is None:
        search.deadline = deadline.within(patience)
        with suppress(NoAssignment, OutOfTime):
            search.solve(search.cheapest(ROUGH_COLUMNS))
    return search.best


class _Search:
    """The best labels so far, a bound below every answer, and the gap of each column.

    Row minima are subtracted from the costs, which are then divided by ``unit``, so that the answer
    does not depend on the unit or the origin of the data.
    """

    def __init__(self, rules: Rules, cost: FloatArray, match: bool, deadline: Deadline) -> None:
        deadline.check()
        self.rules, self.deadline, self.match = rules, deadline, match
        self.allowed: BoolArray = np.isfinite(cost)
        if not self.allowed.any(axis=1).all():
            raise NoAssignment
        shifted = cost - cost.min(axis=1, keepdims=True)
        finite = np.where(self.allowed, shifted, 0.0)
        self.model: Model = build(rules, match_sizes=self.match)
        self.unit = _typical(finite, self.model.price) / 1e3
        self.cost = shifted / self.unit
        self.objective = self.model.price / self.unit
        self.objective[: cost.size] = finite.ravel() / self.unit
        self.best: IntArray | None = None
        self.value = np.inf
        self.bound = -np.inf
        self.gap = _size_gaps(rules, self.cost, deadline, any_order=self.match)
        self.fractional = 0.0

    def run(self) -> bool:
        """Relax and close; whether the best labels are proven, or that there are none."""
        try:
            self.relax()
            self.close()
        except OutOfTime:
            return False
        except NoAssignment:
            # If labels are known, this proves that there are no better ones.
            if self.best is None:
                raise
        return True

    def offer(self, labels: IntArray) -> bool:
        """Keep labels that break nothing and cost less than the best; say if they break nothing."""
        if broken(self.rules, labels, any_order=self.match):
            return False
        rules = self.rules
        if self.match and rules.sizes is not None and rules.sizes.soft is not None:
            order = matching_order(rules.sizes, rules.sizes_of(labels))
            rules = rules if order is None else rules.with_sizes_in_order(order)
        chosen = float(self.cost[np.arange(len(labels)), labels].sum())
        value = chosen + rules.soft_cost(labels) / self.unit
        if value < self.value:
            self.best, self.value = labels, value
        return True

    @property
    def room(self) -> float:
        """Largest gap that a column of a better answer can have."""
        return self.value - self.bound

    @property
    def settled(self) -> bool:
        """Whether the best labels are within tolerance of the bound."""
        small = 1e-6 + highs.RELATIVE_GAP * abs(self.value)
        return self.best is not None and self.room <= small

    def relax(self) -> None:
        """Solve the linear relaxation by adding columns until none would improve it."""
        opened = self.cheapest(max(FIRST_COLUMNS, FEW_COLUMNS / len(self.cost)))
        while True:
            try:
                relaxed = self._cut(opened).relax(self.objective, self.deadline)
            except NoAssignment:
                if opened.sum() == self.allowed.sum():
                    raise
                opened = self._reconcile(opened)
                continue
            bound, reduced = highs.price(self.model, self.allowed, relaxed, self.objective)
            if bound > self.bound:
                self.bound, self.gap = bound, reduced - reduced.min(axis=1, keepdims=True)
            wanted = highs.missing(opened, reduced)
            if not wanted.any():
                break
            opened |= wanted
        x = relaxed.x[: self.cost.size].reshape(self.cost.shape)
        self.fractional = float(np.mean(x.max(axis=1) < 1 - 1e-6))
        if self.fractional == 0:
            self.offer(x.argmax(axis=1))

    def _reconcile(self, opened: BoolArray) -> BoolArray:
        """Open the columns that reduce the violation of the rows until there is none.

        If no column reduces it, all are opened.
        """
        nothing = np.zeros(len(self.objective))
        while True:
            relaxed = self._cut(opened).relax(nothing, self.deadline, elastic=True)
            if relaxed.value <= 1e-9:
                return opened
            _, reduced = highs.price(self.model, self.allowed, relaxed, nothing)
            wanted = highs.missing(opened, reduced)
            if not wanted.any():
                # Infeasible up to tolerances; the relaxation on all columns decides.
                return self.allowed
            opened = opened | wanted

    def close(self) -> None:
        """Solve in whole numbers on more and more columns until the answer is proven."""
        per_group = max(FEW_COLUMNS / len(self.cost), 1.1 + 3.0 * self.fractional)
        while not self.settled:
            reach = self._reach(per_group)
            opened = self.allowed & (self.gap <= reach)
            everything = opened.sum() == self.allowed.sum()
            try:
                self.solve(opened)
            except NoAssignment:
                if self.best is None:
                    if everything:
                        raise
                    self._rescue()
            # A better answer than the best would use only columns with a gap below the room.
            if everything or (self.best is not None and self.room <= reach):
                break
            per_group *= 2

    def _rescue(self) -> None:
        """Find any answer, or prove that there is none, without regard to costs."""
        rules = self.rules
        if rules.sizes is not None and not self.match:
            rules = replace(rules, sizes=replace(rules.sizes, ordered=True))
        labels = cpsat.search(rules, self.deadline)
        if labels is None:
            raise NoAssignment
        self.offer(labels)

    def _reach(self, per_group: float) -> float:
        """Gap up to which columns are opened: all that can matter, unless they are too many."""
        guess = self._quantile(per_group)
        few = np.count_nonzero(self.gap <= self.room) <= 1.5 * per_group * len(self.cost)
        return self.room if few else min(self.room, guess)

    def solve(self, opened: BoolArray) -> None:
        """Solve on the open columns; forbid answers that obey the rules only within a tolerance."""
        part = self._cut(opened)
        while True:
            values, optimal = part.solve(self.objective, self.deadline)
            if values is None:
                if self.best is None and not self.deadline.passed:
                    self._rescue()  # the solver failed, which numbers of extreme range can cause
                raise OutOfTime
            x = values[: self.cost.size].reshape(self.cost.shape)
            obeyed = self.offer(x.argmax(axis=1))
            if not optimal:
                raise OutOfTime
            if obeyed:
                return
            model = forbid(part.model, np.rint(values), self.cost.size)
            part = highs.cut(model, part.columns, len(self.cost))

    def _quantile(self, per_group: float) -> float:
        """Gap below which there are about ``per_group`` columns a group."""
        gaps = self.gap[self.allowed]
        place = int(per_group * len(self.cost)) - 1
        return float(np.partition(gaps, place)[place]) if place < len(gaps) else np.inf

    def cheapest(self, per_group: float) -> BoolArray:
        """Columns of small gap, at least two for each group and those of the best labels."""
        second = np.partition(self.gap, min(1, self.gap.shape[1] - 1), axis=1)[:, :2].max(axis=1)
        opened = self.gap <= np.maximum(second[:, None], self._quantile(per_group))
        opened &= self.allowed
        if self.best is not None:
            opened[np.arange(len(self.best)), self.best] = True
        return np.asarray(opened)

    def _cut(self, opened: BoolArray) -> highs.Cut:
        """The model on the open columns of x and all others."""
        columns = np.ones(self.model.A.shape[1], bool)
        columns[: opened.size] = opened.ravel()
        return highs.cut(self.model, columns, len(self.cost))


def _size_gaps(
    rules: Rules, cost: FloatArray, deadline: Deadline, *, any_order: bool
) -> FloatArray:
    """Gaps of the columns at the prices of the sizes alone: an estimate of which matter.

    Raises NoAssignment if the sizes cannot be met even by splitting groups.  With ``any_order``
    that is no proof, and the gaps are those of the costs.
    """
    sizes, count = rules.sizes, rules.count
    if sizes is None:
        return cost
    try:
        priced = cost + count[:, None] * split_prices(cost, count, sizes, deadline)
    except NoAssignment:
        if any_order:
            return cost
        raise
    return np.asarray(priced - priced.min(axis=1, keepdims=True))


def _typical(shifted: FloatArray, price: FloatArray) -> float:
    """A typical difference between costs: the median over groups of the largest difference.

    It is at least a part of the largest price, so that prices stay in the range of the solver.
    """
    largest = shifted.max(axis=1)
    dearest = float(price.max(initial=0.0))
    for candidate in (np.median(largest), largest.max(initial=0.0), dearest):
        if candidate > 0:
            return max(float(candidate), dearest / MOST_TYPICAL)
    return 1.0
