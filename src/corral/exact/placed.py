"""Labels that obey the rules, found by placing one group after another: fast, and no proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from ..rules import Rules
from ..rules.pairs import link_graph
from .check import broken


def can_be_placed(rules: Rules, deadline: Deadline = NEVER) -> bool:
    """Whether groups placed from the largest to the smallest obey all hard rules.

    False says nothing.  Most of the questions in the search for a smaller conflict are answered by
    this in a millisecond.  OutOfTime is raised at the deadline.
    """
    return place_by_room(rules, deadline) is not None


def place_by_room(
    rules: Rules, deadline: Deadline = NEVER, cost: FloatArray | None = None
) -> IntArray | None:
    """Labels that obey all hard rules, or None if this method finds none.

    With costs each group goes to the cheapest cluster with room; sizes then hold in their order.
    OutOfTime is raised at the deadline.
    """
    for labels in _placed(rules, deadline, cost):
        if not broken(rules, labels, any_order=cost is None):
            return labels
    return None


def _placed(rules: Rules, deadline: Deadline, cost: FloatArray | None) -> Iterator[IntArray]:
    """Place the groups, the largest first, each into a cluster with room for it.

    It is the cheapest one if there are costs, then the first one, then that with most room.
    """
    graph, sums = link_graph(rules.n_groups, rules.apart), rules.sums()
    allowed = np.ones((rules.n_groups, rules.n_clusters), bool)
    allowed[rules.pins[:, 0]] = False
    allowed[rules.pins[:, 0], rules.pins[:, 1]] = True
    heavy = (np.abs(sums.values) / sums.unit).sum(axis=0) + np.diff(graph.indptr)
    heavy[rules.pins[:, 0]] = np.inf
    first, unit = -np.arange(rules.n_clusters), sums.unit
    for how in (("cheap",) if cost is not None else ()) + ("first", "spread"):
        labels, room = np.full(rules.n_groups, -1), sums.upper.copy()
        for g in np.argsort(-heavy, kind="stable"):
            deadline.check()
            fits = allowed[g] & (room >= sums.values[:, g, None]).all(axis=0)
            near = labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]
            fits[near[near >= 0]] = False
            if not fits.any():
                break
            if how == "cheap" and cost is not None:
                score = -cost[g]
            else:
                score = first if how == "first" else (room / unit).sum(axis=0)
            labels[g] = np.argmax(np.where(fits, score, -np.inf))
            room[:, labels[g]] -= sums.values[:, g]
        else:
            yield labels
