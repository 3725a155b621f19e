"""The choice of the method: the cheapest exact one that the rules allow.

Where a proof takes longer than the patience, greedy labels take its place.
Methods of two kinds take part.  Nearest centre, elimination over pairs, prices and flows take a
time that grows moderately with the size; while no answer is known they go on for a moment after the
deadline (:attr:`.Deadline.first`).  Integer programs can take any time and end with the deadline or
when ``patience`` is over.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..rules import Rules
from .check import broken, cost_of, matching_order, with_pins
from .greedy import solve_crowded, solve_greedily
from .nested import solve_nested
from .pairs import descend, pair_graph, solve_pairs
from .placed import place_by_room
from .program.cpsat import peel, search
from .program.milp import solve_milp, solve_roughly
from .result import Assignment, NoAssignment
from .sizes import solve_sizes
from .sums import solve_contested

#: Entries of the costs of a 2-core of pairs above which a descent solves it, not a program.  More
#: give a proof to larger ones and take longer.  1,000 groups in 5 clusters with 3 cannot-links each
#: take 1.7 s to solve exactly; a descent takes 0.02 s and costs 3.5 % more.
TANGLE_ENTRIES = 20_000
#: Entries of the costs up to which sizes and disjoint cliques are one flow; above, prices find the
#: groups that need a program.  1,500 groups in 10 clusters with cliques of 9 take 0.02 s as a flow
#: and 0.2 s with prices and programs.
NESTED_ENTRIES = 300_000
#: Entries of the costs above which prices first find the groups that need a program.  More give
#: the program all groups at once.  With sizes and pairs, 5,000 groups in 5 clusters take 0.06 s
#: with prices and 2.2 s without; 400 groups take 0.02 s and 0.01 s.
CONTESTED_ENTRIES = 10_000
#: Part of the groups in cliques of cannot-links above which a problem is crowded.  Less lets one
#: flow settle more problems, which take longer where prices alone would settle nearly all groups.
CROWDED = 0.5


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

    Arguments and errors are those of :func:`assign`, but OutOfTime is only raised when the deadline
    itself came first.  An answer without a proof competes with the greedy labels.  Totals
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


def assign(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
    patience: float = math.inf,
    match_sizes: bool = False,
    prices: FloatArray | None = None,
) -> Assignment:
    """Assign every group to a cluster at least cost under all hard rules, exactly.

    Parameters
    ----------
    rules : Rules
    cost : (m, k) array
        Finite; what group g costs in cluster j, its weight included.
    incumbent : (m,) array, optional
        Labels that obey the rules, from an earlier round; they speed up the search and do not
        change the least cost.
    deadline : Deadline, optional
    patience : float
        Seconds for integer programs in this call.
    match_sizes : bool
        Choose also which cluster gets which size bounds, where the rules leave it open;
        otherwise they stay in the order of ``rules.sizes``.
    prices : array, optional
        :attr:`Assignment.warm` of an earlier round; they speed up the search and do not change
        the least cost.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the rules.
    OutOfTime
        The deadline or the patience ended before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.rules import Pairs, Rules, SizeBounds
    >>> sizes = SizeBounds(np.array([2, 1]), np.array([2, 1]), ordered=True)
    >>> rules = Rules(n_clusters=2, count=np.ones(3, int), pairs=Pairs(3), sizes=sizes)
    >>> assign(rules, np.array([[4.0, 0.0], [3.0, 0.0], [9.0, 0.0]]))
    Assignment(labels=array([0, 0, 1]), cost=7.0, optimal=True, order=None)
    """
    until = deadline.first if incumbent is None else deadline
    rules, cost = rules.with_costs(cost)
    pinned = with_pins(rules, cost)
    try:
        if not rules.bounded:
            labels, proven = _pairs(rules, pinned, deadline, until, patience)
            if not proven:
                labels = _cheapest(
                    rules, pinned, [labels, *_nearby(rules, pinned, incumbent, until)]
                )
            return replace(_answer(rules, cost, labels, match=False), optimal=proven)
        match = match_sizes and rules.sizes_vary
        found, prices = _settled(rules, cost, pinned, prices, match, until)
    except OutOfTime:
        if incumbent is None or not until.passed:
            raise
        return replace(_answer(rules, cost, incumbent, match=False), optimal=False)
    if found is not None:
        return found
    if prices_first(rules) and not match:
        return solve_contested(
            rules,
            pinned,
            incumbent=incumbent,
            deadline=deadline,
            patience=patience,
            until=until,
            prices=prices,
        )
    soon = deadline.within(patience)
    return solve_milp(rules, pinned, incumbent=incumbent, deadline=soon, match_sizes=match)


def feasible(
    rules: Rules, deadline: Deadline = NEVER, cost: FloatArray | None = None
) -> IntArray | None:
    """Labels that obey all hard rules, or None if it is proven that there are none.

    Size bounds that are not tied to clusters may be given to clusters in any order.  With costs,
    labels are near the cheapest if that is easy.  Raises OutOfTime if the deadline comes before an
    answer or a proof.
    """
    deadline.check()
    rules = rules.unpriced()
    near = None if cost is None else cost.argmin(axis=1)
    if cost is None:
        # With random costs the linear relaxation has one best vertex, which is often a whole one.
        cost = np.random.default_rng(0).random((rules.n_groups, rules.n_clusters))
    try:
        pinned = with_pins(rules, cost)
        if not rules.bounded and not len(rules.together):
            return peel(rules, deadline)
        labels = solve_roughly(rules, pinned, deadline=deadline)
    except NoAssignment:
        return None
    return search(rules, deadline, near) if labels is None else labels


def prices_first(rules: Rules) -> bool:
    """Whether prices tell which groups need a program, instead of one program for all."""
    return rules.n_groups * rules.n_clusters > CONTESTED_ENTRIES and rules.linear is None


def crowded(rules: Rules) -> bool:
    """Whether the pairs are disjoint cliques, some of more than two groups, of most groups."""
    cliques, _ = rules.pairs.graph.complete(2)
    return rules.in_cliques and len(cliques.members) > CROWDED * rules.n_groups


def is_nested(rules: Rules) -> bool:
    """Whether one flow assigns under sizes and disjoint cliques, the only rules.

    Where few groups are in cliques, prices settle nearly all of a larger problem.
    """
    most = NESTED_ENTRIES if crowded(rules) else CONTESTED_ENTRIES
    return rules.nested and rules.n_groups * rules.n_clusters <= most


def _settled(
    rules: Rules,
    cost: FloatArray,
    pinned: FloatArray,
    prices: FloatArray | None,
    match: bool,
    until: Deadline,
) -> tuple[Assignment | None, FloatArray | None]:
    """The answer where nearest centres, prices for sizes or a flow give one, and the prices.

    Where most groups are in cliques, sizes alone would leave many broken: the flow comes first.
    """
    sizes = None if match or np.ptp(rules.count) else rules.sizes
    if sizes is not None and sizes.soft is not None and rules.count[0] > 1:
        sizes = None
    if sizes is not None and is_nested(rules) and crowded(rules):
        labels = solve_nested(rules, pinned, sizes, until)
        return _answer(rules, cost, labels, match), None
    if prices is None or sizes is None:
        labels = pinned.argmin(axis=1)
        if _obeyed(rules, labels):
            return _answer(rules, cost, labels, match), prices
    if sizes is not None:
        start = None if prices is None else np.atleast_2d(prices)[0]
        labels, found = solve_sizes(pinned, rules.count, sizes, start, until)
        # These are best for soft sizes too, whatever their price.
        hard = rules if sizes.soft is None else replace(rules, sizes=replace(sizes, soft=None))
        if _obeyed(hard, labels):
            return replace(_answer(rules, cost, labels, match), warm=found), found
        prices = found if prices is None else prices
        if is_nested(rules):
            labels = solve_nested(rules, pinned, sizes, until)
            return replace(_answer(rules, cost, labels, match), warm=prices), prices
    return None, prices


def _obeyed(rules: Rules, labels: IntArray) -> bool:
    """Whether the labels break no rule, soft ones included."""
    return not broken(rules, labels) and rules.soft_cost(labels) == 0


def _answer(rules: Rules, cost: FloatArray, labels: IntArray, match: bool) -> Assignment:
    order = np.arange(rules.n_clusters) if match else None
    return Assignment(labels, cost_of(rules, cost, labels), order=order)


def _pairs(
    rules: Rules, cost: FloatArray, deadline: Deadline, until: Deadline, patience: float
) -> tuple[IntArray, bool]:
    """Best labels under pairs, and whether they are proven to be."""
    proven = True

    def core(part: Rules, part_cost: FloatArray) -> IntArray:
        nonlocal proven
        known = _cheap(part, part_cost, until)
        if known is not None and part_cost.size > TANGLE_ENTRIES:
            proven = False
            return known
        soon = deadline.within(patience)
        found = solve_milp(part, part_cost, incumbent=known, deadline=soon)
        proven = proven and found.optimal
        return np.asarray(found.labels)

    return solve_pairs(rules, cost, core, until), proven


def _cheap(rules: Rules, cost: FloatArray, until: Deadline) -> IntArray | None:
    """The cheaper of the labels of a descent and of greedy ones; None if both fail."""
    descended = descend(pair_graph(rules), cost, until)
    found = [] if descended is None else [descended]
    if rules.greedy:
        placed = solve_greedily(rules, cost, descended, until)
        found += [] if placed is None else [placed]
    return _cheapest(rules, cost, found) if found else None


def _nearby(
    rules: Rules, cost: FloatArray, incumbent: IntArray | None, until: Deadline
) -> list[IntArray]:
    """The incumbent and, where that is possible, what greedy sweeps make of it."""
    if incumbent is None:
        return []
    swept = solve_greedily(rules, cost, incumbent, until) if rules.greedy else None
    return [incumbent] if swept is None else [incumbent, swept]


def _cheapest(rules: Rules, cost: FloatArray, found: list[IntArray]) -> IntArray:
    """The cheapest of labels that obey the rules."""
    return min(found, key=lambda labels: cost_of(rules, cost, labels))


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
