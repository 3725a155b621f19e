"""Labels under cannot-links without a proof, for graphs too tangled to solve in time."""

from __future__ import annotations

import numpy as np

from .._graphs import link_graph
from .._typing import FloatArray, IntArray
from ..problem import Problem
from .nearest import with_pins

#: Passes over the groups in which each takes its cheapest allowed cluster.
SWEEPS = 5


def solve_greedily(
    problem: Problem, cost: FloatArray, start: IntArray | None = None
) -> IntArray | None:
    """Cheap labels that obey pins and cannot-links, or None if greed meets a dead end.

    Without a start the groups are placed one after another, those with most cannot-links first,
    each where it costs least among the clusters its neighbours leave; then, as from a given
    start, each moves to its cheapest allowed cluster in a few sweeps.

    Parameters
    ----------
    problem : Problem
        With pins and cannot-links only.
    cost : (m, k) array
    start : (m,) array, optional
        Labels that obey the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from corral.problem import Problem
    >>> problem = Problem(
    ...     points=np.zeros((3, 1)),
    ...     weight=np.ones(3),
    ...     count=np.ones(3, int),
    ...     scatter=0.0,
    ...     group=np.arange(3),
    ...     n_clusters=2,
    ...     apart=np.array([[0, 1], [1, 2]]),
    ... )
    >>> solve_greedily(problem, np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 1.0]]))
    array([1, 0, 1])
    """
    priced = with_pins(problem, cost)
    graph = link_graph(problem.n_groups, problem.apart)
    degree = np.diff(graph.indptr)
    linked = np.flatnonzero(degree > 0)
    linked = linked[np.argsort(-degree[linked], kind="stable")]
    labels = np.asarray(priced.argmin(axis=1))
    if start is None:
        labels[linked] = -1
    else:
        labels[linked] = start[linked]
    for _ in range(SWEEPS):
        moved = False
        for g in linked:
            taken = labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]
            open_cost = priced[g].copy()
            open_cost[taken[taken >= 0]] = np.inf
            best = int(open_cost.argmin())
            if not np.isfinite(open_cost[best]):
                return None
            moved |= best != labels[g]
            labels[g] = best
        if not moved:
            break
    return labels
