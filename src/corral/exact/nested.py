"""Sizes and disjoint cliques of cannot-links together: one min-cost flow, exactly.

A group goes to the *place* of its clique in a cluster, which has room for one; places lead to their
clusters, which have room for their sizes.  The two kinds of bounds are nested, so that a flow of
least cost is whole, and no program is needed.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..rules import Rules, SizeBounds
from .pairs import pair_graph
from .result import NoAssignment
from .sizes.flow import FLOW_SECONDS, LEVELS, fitting


def solve_nested(
    rules: Rules, cost: FloatArray, sizes: SizeBounds, deadline: Deadline = NEVER
) -> IntArray:
    """Cheapest labels of groups of equal count under sizes and disjoint cliques.

    Costs are infinite where a group may not go.

    Raises
    ------
    NoAssignment, OutOfTime

    Examples
    --------
    >>> import numpy as np
    >>> from corral.rules import Pairs
    >>> sizes = SizeBounds(np.array([2, 2]), np.array([2, 2]), ordered=True)
    >>> pairs = Pairs(4, apart=np.array([[0, 1]]))
    >>> rules = Rules(n_clusters=2, count=np.ones(4, int), pairs=pairs, sizes=sizes)
    >>> solve_nested(rules, np.array([[0.0, 9], [0, 8], [0, 5], [3, 0]]), sizes)
    array([0, 1, 0, 1])
    """
    m, k = cost.shape
    each = int(rules.count[0])
    lower, upper = fitting(-(-sizes.lower // each), sizes.upper // each, m)
    least = cost.min(axis=1, keepdims=True)
    if not np.isfinite(least).all():
        raise NoAssignment
    cliques, _ = pair_graph(rules).complete(1)
    deadline.check(2.0 * FLOW_SECONDS * cost.size)
    network = _Network(m, k, cliques.of_member, cliques.members, len(cliques))
    shifted = cost - least
    largest = float(shifted[np.isfinite(shifted)].max(initial=0.0))
    levels = min(LEVELS, 2.0**60 / (network.n_nodes + 2))
    while True:
        scale = levels / largest if largest > 0.0 else 0.0
        labels = network.solve(shifted, scale, lower, upper)
        if labels is not None:
            return labels
        levels /= 2.0**6  # OR-Tools refuses costs that could overflow


class _Network:
    """Nodes: groups, clusters, the sink, then the places (clique, cluster)."""

    def __init__(self, m: int, k: int, clique: IntArray, members: IntArray, n: int) -> None:
        self.m, self.k, self.n_nodes = m, k, m + k + 1 + n * k
        first_place = m + k + 1
        head = np.broadcast_to(m + np.arange(k), (m, k)).copy()
        head[members] = first_place + clique[:, None] * k + np.arange(k)
        self.head = head.astype(np.int32)
        self.places = np.arange(first_place, self.n_nodes, dtype=np.int32)
        self.clusters = np.tile(np.arange(m, m + k, dtype=np.int32), n)

    def solve(
        self, cost: FloatArray, scale: float, lower: IntArray, upper: IntArray
    ) -> IntArray | None:
        """Labels of the cheapest flow, or None if the costs are too large for the solver.

        A cluster takes its lower bound for good; more, up to the upper one, goes on to the sink.
        """
        from ortools.graph.python import min_cost_flow  # 40 ms that most imports never need

        m, k = self.m, self.k
        arcs = np.flatnonzero(np.isfinite(cost))
        whole = np.rint(cost.ravel()[arcs] * scale).astype(np.int64)
        solver = min_cost_flow.SimpleMinCostFlow()
        add = solver.add_arcs_with_capacity_and_unit_cost
        tail = (arcs // k).astype(np.int32)
        links = add(tail, self.head.ravel()[arcs], np.ones(len(arcs), np.int64), whole)
        one, ends = np.ones(len(self.places), np.int64), np.arange(m, m + k, dtype=np.int32)
        add(self.places, self.clusters, one, 0 * one)
        add(ends, np.full(k, m + k, np.int32), upper - lower, np.zeros(k, np.int64))
        supply = np.concatenate([np.ones(m, np.int64), -lower, [lower.sum() - m]])
        solver.set_nodes_supplies(np.arange(m + k + 1, dtype=np.int32), supply)
        status = solver.solve()
        if status == solver.BAD_COST_RANGE:
            return None
        if status != solver.OPTIMAL:
            raise NoAssignment
        flow = np.zeros(m * k, np.int64)
        flow[arcs] = solver.flows(links)
        return np.asarray(flow.reshape(m, k).argmax(axis=1))
