"""The choice of the method: the cheapest exact one that the rules allow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..plan.thresholds import CONTESTED_ENTRIES, TANGLE_ENTRIES
from ..presolve import Rules
from .check import broken
from .nearest import nearest, with_pins
from .pairs.components import pair_graph, solve_pairs
from .pairs.descent import descend
from .program.milp import solve_milp
from .result import Assignment
from .sizes import solve_sizes
from .sums.contested import solve_contested


def assign(
    rules: Rules,
    cost: FloatArray,
    *,
    incumbent: IntArray | None = None,
    deadline: Deadline = NEVER,
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
    match_sizes : bool
        Choose also which cluster gets which size bounds, where the problem leaves it open;
        otherwise they stay in the order of ``rules.sizes``.
    prices : array, optional
        :attr:`Assignment.prices` of an earlier round; they speed up the search and do not
        change the least cost.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the rules.
    OutOfTime
        The deadline came before an answer or a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.presolve import Pairs, Rules, SizeBounds
    >>> sizes = SizeBounds(np.array([2, 1]), np.array([2, 1]), ordered=True)
    >>> rules = Rules(n_clusters=2, count=np.ones(3, int), pairs=Pairs(3), sizes=sizes)
    >>> assign(rules, np.array([[4.0, 0.0], [3.0, 0.0], [9.0, 0.0]]))
    Assignment(labels=array([0, 0, 1]), cost=7.0, optimal=True, order=None)
    """
    pinned = with_pins(rules, cost)
    if not rules.bounded:
        labels, proven = _pairs(rules, pinned, deadline)
        return replace(_answer(rules, cost, labels, match=False), optimal=proven)
    match = match_sizes and rules.sizes_vary
    priced = rules.sizes is not None and not match and np.ptp(rules.count) == 0
    if prices is None or not priced:
        labels = nearest(pinned)
        if not broken(rules, labels) and rules.soft.cost(labels) == 0:
            return _answer(rules, cost, labels, match)
    if priced and rules.sizes is not None:
        start = None if prices is None else np.atleast_2d(prices)[0]
        labels, found = solve_sizes(pinned, rules.count, rules.sizes, start)
        if not broken(rules, labels) and rules.soft.cost(labels) == 0:
            return replace(_answer(rules, cost, labels, match), warm=found)
        prices = found if prices is None else prices
    if cost.size > CONTESTED_ENTRIES and not match and rules.linear is None:
        return _contested(rules, pinned, incumbent, deadline, prices)
    return solve_milp(rules, pinned, incumbent=incumbent, deadline=deadline, match_sizes=match)


def _contested(
    rules: Rules,
    cost: FloatArray,
    incumbent: IntArray | None,
    deadline: Deadline,
    prices: FloatArray | None,
) -> Assignment:
    def exact(
        part: Rules, part_cost: FloatArray, known: IntArray | None, until: Deadline
    ) -> Assignment:
        return solve_milp(part, part_cost, incumbent=known, deadline=until)

    return solve_contested(
        rules, cost, exact, incumbent=incumbent, deadline=deadline, prices=prices
    )


def _answer(rules: Rules, cost: FloatArray, labels: IntArray, match: bool) -> Assignment:
    total = float(cost[np.arange(len(labels)), labels].sum()) + rules.soft.cost(labels)
    return Assignment(labels, total, order=np.arange(rules.n_clusters) if match else None)


def _pairs(rules: Rules, cost: FloatArray, deadline: Deadline) -> tuple[IntArray, bool]:
    """Best labels under pairs, and whether they are proven to be."""
    proven = True

    def core(part: Rules, part_cost: FloatArray) -> IntArray:
        nonlocal proven
        known = descend(pair_graph(part), part_cost) if part_cost.size > TANGLE_ENTRIES else None
        if known is not None:
            proven = False
            return known
        found = solve_milp(part, part_cost, deadline=deadline)
        proven = proven and found.optimal
        return found.labels

    return solve_pairs(rules, cost, core), proven
