"""The choice of the method: one path from the cheapest labels to the exact ones.

Nearest centres, elimination over pairs, prices and flows take a time that grows moderately with the
size; while no answer is known they go on for a moment after the deadline (:attr:`.Deadline.first`).
Integer programs can take any time and end with the deadline or when ``patience`` is over.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..numbers import PROGRAM_ENTRIES, PROGRAM_SECONDS
from ..rules import Rules
from .check import Assignment, NoAssignment, broken, cost_of, with_pins
from .feasible import peel, place_by_room, search
from .pairs import solve_pairs
from .program import solve_program, valued
from .sizes import Room, solve_nested, solve_units
from .sums import solve_sums


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

    Where integer programs take longer than the patience, the best labels found are given without a
    proof, or any that obey the rules.

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
        The deadline came before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.rules import Pairs, Rules, SizeBounds
    >>> sizes = SizeBounds(np.array([2, 1]), np.array([2, 1]), ordered=True)
    >>> rules = Rules(n_clusters=2, count=np.ones(3, int), pairs=Pairs(3), sizes=sizes)
    >>> assign(rules, np.array([[4.0, 0.0], [3.0, 0.0], [9.0, 0.0]]))
    Assignment(labels=array([0, 0, 1]), cost=7.0, optimal=True, order=None)
    """
    rules, cost = rules.with_costs(cost)
    match = match_sizes and rules.sizes_vary
    if incumbent is not None and broken(rules, incumbent, any_order=match):
        incumbent = None
    until = deadline.first if incumbent is None else deadline
    try:
        return _exact(rules, cost, incumbent, deadline, until, patience, match, prices)
    except OutOfTime:
        if incumbent is not None:
            return replace(valued(rules, cost, incumbent, match), optimal=False)
    return _any(rules, cost, deadline)


def _exact(
    rules: Rules,
    cost: FloatArray,
    incumbent: IntArray | None,
    deadline: Deadline,
    until: Deadline,
    patience: float,
    match: bool,
    prices: FloatArray | None,
) -> Assignment:
    """As :func:`assign`; OutOfTime if there was no time for an answer by these methods."""
    pinned, programs = with_pins(rules, cost), deadline.within(patience)
    order = np.arange(rules.n_clusters) if match else None

    def answer(labels: IntArray, warm: FloatArray | None = None, proven: bool = True) -> Assignment:
        return Assignment(labels, cost_of(rules, cost, labels), proven, order, warm=warm)

    if rules.adjacency is not None:
        labels = pinned.argmin(axis=1)
        if _obeyed(rules, labels):
            return answer(labels)
        return solve_program(
            rules, pinned, incumbent=incumbent, deadline=programs, match_sizes=match
        )
    if not rules.bounded:
        labels, proven = solve_pairs(rules, pinned, until, programs)
        if not proven and incumbent is not None:
            labels = min(labels, incumbent, key=lambda each: cost_of(rules, cost, each))
        return answer(labels, proven=proven)
    sizes = None if match or np.ptp(rules.count) else rules.sizes
    if sizes is not None and (sizes.soft is None or rules.count[0] == 1):
        if len(rules.pairs) and rules.quickly_exact:
            return answer(solve_nested(rules, pinned, sizes, until))
        each = int(rules.count[0])
        start = None if prices is None else each * np.atleast_2d(prices)[0]
        labels, found = solve_units(pinned, Room.of_sizes(sizes, each), start, until)
        # These are best for soft sizes too, whatever their price.
        if _obeyed(replace(rules, sizes=replace(sizes, soft=None)), labels):
            return answer(labels, found / each)
        prices = found / each if prices is None else prices
    else:
        labels = pinned.argmin(axis=1)
        if _obeyed(rules, labels):
            return answer(labels, prices)
    if match:
        known = incumbent if incumbent is not None else _in_order(rules, cost, until, patience)
        if known is not None:  # a proof for many groups would take hours
            programs = programs.within(5.0 * PROGRAM_SECONDS)
        return solve_program(rules, pinned, incumbent=known, deadline=programs, match_sizes=True)
    return solve_sums(
        rules, pinned, incumbent=incumbent, deadline=programs, until=until, prices=prices
    )


def _obeyed(rules: Rules, labels: IntArray) -> bool:
    """Whether the labels break no rule, soft ones included."""
    return not broken(rules, labels) and rules.soft_cost(labels) == 0


def _in_order(rules: Rules, cost: FloatArray, until: Deadline, patience: float) -> IntArray | None:
    """Labels with the largest size bounds for the clusters that most groups are nearest to."""
    sizes = rules.sizes
    if sizes is None:
        return None
    nearest = rules.sizes_of(with_pins(rules, cost).argmin(axis=1))
    order = np.empty(len(nearest), np.int64)
    order[np.argsort(nearest, kind="stable")] = np.argsort(sizes.lower + sizes.upper, kind="stable")
    try:
        ordered = rules.with_sizes_in_order(order)
        return assign(ordered, cost, deadline=until, patience=patience).labels
    except (NoAssignment, OutOfTime):
        return None


def _any(rules: Rules, cost: FloatArray, deadline: Deadline) -> Assignment:
    """Groups placed where there is room, or any labels that obey the rules, sizes in some order."""
    labels, match = None, False
    with suppress(OutOfTime):
        labels = place_by_room(rules, deadline.first, cost) if rules.linear is None else None
    if labels is None:
        labels, match = feasible(rules, deadline, cost), rules.sizes_vary
    if labels is None:
        raise NoAssignment
    return replace(valued(rules, cost, labels, match), optimal=False)


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
        if not rules.bounded and not len(rules.together) and rules.adjacency is None:
            return peel(rules, deadline)
        if rules.quickly_exact and rules.sizes is not None and not rules.sizes_vary:
            return solve_nested(rules, pinned, rules.sizes, deadline)
        labels = place_by_room(rules, deadline)
        if labels is None and cost.size > PROGRAM_ENTRIES and rules.adjacency is None:
            # CP-SAT takes minutes for as many groups.
            soon = deadline.within(20.0 * PROGRAM_SECONDS)
            labels = solve_sums(rules, pinned, deadline=soon, until=deadline, first=True).labels
    except NoAssignment:
        if not rules.sizes_vary:
            return None
        labels = None
    except OutOfTime:
        deadline.check()
        labels = None
    return search(rules, deadline, near) if labels is None else labels
