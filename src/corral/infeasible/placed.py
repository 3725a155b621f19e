"""Labels that obey the rules, found by placing one group after another: fast, and no proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import IntArray
from ..assign.check import broken
from ..deadline import NEVER, Deadline
from ..presolve import Rules
from ..presolve.graphs import link_graph


def can_be_placed(rules: Rules, deadline: Deadline = NEVER) -> bool:
    """Whether groups placed from the largest to the smallest obey all hard rules.

    False says nothing.  Most of the questions in the search for a smaller conflict are answered by
    this in a millisecond.  OutOfTime is raised at the deadline.
    """
    return any(not broken(rules, labels, any_order=True) for labels in _placed(rules, deadline))


def _placed(rules: Rules, deadline: Deadline) -> Iterator[IntArray]:
    """Place each group into the first cluster with room for it, then into that with most room."""
    graph, sums = link_graph(rules.n_groups, rules.apart), rules.sums()
    allowed = np.ones((rules.n_groups, rules.n_clusters), bool)
    allowed[rules.pins[:, 0]] = False
    allowed[rules.pins[:, 0], rules.pins[:, 1]] = True
    heavy = (np.abs(sums.values) / sums.unit).sum(axis=0) + np.diff(graph.indptr)
    heavy[rules.pins[:, 0]] = np.inf
    for spread in (False, True):
        labels, room = np.full(rules.n_groups, -1), sums.upper.copy()
        for g in np.argsort(-heavy, kind="stable"):
            deadline.check()
            fits = allowed[g] & (room >= sums.values[:, g, None]).all(axis=0)
            near = labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]
            fits[near[near >= 0]] = False
            if not fits.any():
                break
            score = (room / sums.unit).sum(axis=0) if spread else -np.arange(rules.n_clusters)
            labels[g] = np.argmax(np.where(fits, score, -np.inf))
            room[:, labels[g]] -= sums.values[:, g]
        else:
            yield labels
