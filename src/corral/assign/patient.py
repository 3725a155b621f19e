"""Exact assignment with limited patience: greedy labels where a proof takes too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline, OutOfTime
from ..plan.thresholds import TANGLE_ENTRIES
from ..presolve import Rules
from ..rows import MemoryRows
from .check import cost_of, matching_order
from .exact import assign, feasible
from .greedy import solve_crowded, solve_greedily
from .placed import place_by_room
from .result import Assignment, NoAssignment


@dataclass(frozen=True)
class NearAssignment:
    """Assigns rows in memory to centres; the same rules in every round."""

    rules: Rules
    rows: MemoryRows

    def with_rules(self, rules: Rules) -> NearAssignment:
        """The same rows under rules whose sizes are in another order."""
        return NearAssignment(rules, self.rows)

    def __call__(
        self,
        centers: FloatArray,
        *,
        incumbent: IntArray | None,
        warm: Any,
        deadline: Deadline,
        patience: float,
    ) -> Assignment:
        """Cheapest labels at the centres, or feasible ones where a proof takes too long."""
        until = deadline.first if incumbent is None else deadline
        cost = self.rows.costs(centers, until).dense()
        return assign_patiently(
            self.rules, cost, incumbent, deadline, prices=warm, patience=patience
        )


def assign_patiently(
    rules: Rules,
    cost: FloatArray,
    incumbent: IntArray | None,
    deadline: Deadline,
    *,
    patience: float,
    prices: FloatArray | None = None,
    match_sizes: bool = False,
) -> Assignment:
    """Exact assignment, or a feasible one where integer programs take longer than the patience.

    Arguments and errors are those of :func:`.exact.assign`, but OutOfTime is only raised when the
    deadline itself came first.  An answer without a proof competes with the greedy labels.  Totals
    of many groups, which can take all of the time, begin with greedy labels.
    """
    rules, cost = rules.with_costs(cost)
    totals = rules.totals or rules.soft_totals
    if incumbent is None and totals and cost.size > TANGLE_ENTRIES:
        incumbent = _greedy(rules, cost, None, deadline)
    try:
        found = assign(
            rules,
            cost,
            incumbent=incumbent,
            deadline=deadline,
            patience=patience,
            match_sizes=match_sizes,
            prices=prices,
        )
    except OutOfTime:
        return _any_assignment(rules, cost, incumbent, deadline)
    if found.optimal or found.order is not None or cost.size > TANGLE_ENTRIES or deadline.passed:
        return found
    greedy = _greedy(rules, cost, None, deadline)
    if greedy is None or cost_of(rules, cost, greedy) >= found.cost:
        return found
    return Assignment(greedy, np.nan, optimal=False)


def _any_assignment(
    rules: Rules, cost: FloatArray, incumbent: IntArray | None, deadline: Deadline
) -> Assignment:
    """Greedy labels, the incumbent, or any that obey the rules with the sizes in some order."""
    found = _greedy(rules, cost, incumbent, deadline)
    known = [each for each in (found, incumbent) if each is not None]
    if known:
        cheapest = min(known, key=lambda each: cost_of(rules, cost, each))
        return Assignment(cheapest, np.nan, optimal=False)
    labels = feasible(rules, deadline, cost)
    if labels is None:
        raise NoAssignment
    order = None
    if rules.sizes is not None and not rules.sizes.ordered:
        order = matching_order(rules.sizes, rules.sizes_of(labels))
    return Assignment(labels, np.nan, optimal=False, order=order)


def _greedy(
    rules: Rules, cost: FloatArray, start: IntArray | None, deadline: Deadline
) -> IntArray | None:
    """Greedy labels, or None where the rules do not allow the method or it fails."""
    try:
        if rules.greedy:
            solve = solve_greedily if rules.sizes is None else solve_crowded
            return solve(rules, cost, start, deadline)
        return place_by_room(rules, deadline.first, cost) if rules.linear is None else None
    except OutOfTime:
        return None
