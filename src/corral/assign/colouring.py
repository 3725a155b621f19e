"""Hard cannot-links and pins alone: colour the graph with what can be coloured last set aside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from .._typing import IntArray
from ..problem import Problem, SoftPairs


def peel(problem: Problem, solve_core: Callable[[Problem], IntArray | None]) -> IntArray | None:
    """Labels that keep hard cannot-links and pins, or None if there are none.

    A group with fewer neighbours than clusters open to it can always be placed last, so such
    groups are taken off in sweeps and only what is left is given to ``solve_core``.

    Parameters
    ----------
    problem : Problem
        Only its cannot-links and pins are looked at; no group has two pins.
    solve_core : callable
        Labels of a smaller problem, or None.
    """
    a, b = problem.apart.T
    if np.any(a == b):
        return None
    options = np.full(problem.n_groups, problem.n_clusters)
    options[problem.pins[:, 0]] = 1
    alive, sweeps = np.ones(problem.n_groups, bool), []
    while True:
        inside = alive[a] & alive[b]
        ends = np.concatenate([a[inside], b[inside]])
        out = alive & (np.bincount(ends, minlength=problem.n_groups) < options)
        if not out.any():
            break
        sweeps.append(np.flatnonzero(out))
        alive &= ~out
    labels = np.full(problem.n_groups, -1)
    left = np.flatnonzero(alive)
    if len(left):
        found = solve_core(_restricted(problem, left))
        if found is None:
            return None
        labels[left] = found
    last = np.concatenate([*sweeps[::-1], np.empty(0, np.int64)])
    _place(problem, labels, last)
    return labels


def _restricted(problem: Problem, left: IntArray) -> Problem:
    """The problem of some groups, their cannot-links and pins."""
    new = np.full(problem.n_groups, -1)
    new[left] = np.arange(len(left))
    apart, pins = new[problem.apart], problem.pins[new[problem.pins[:, 0]] >= 0]
    return replace(
        problem,
        points=problem.points[left],
        weight=problem.weight[left],
        count=problem.count[left],
        group=np.arange(len(left)),
        apart=apart[(apart >= 0).all(axis=1)],
        pins=np.column_stack([new[pins[:, 0]], pins[:, 1]]),
        soft=SoftPairs.none(),
    )


def _place(problem: Problem, labels: IntArray, last: IntArray) -> None:
    """Place groups one by one, each where no neighbour placed before it is."""
    a, b = problem.apart.T
    m, k = problem.n_groups, problem.n_clusters
    links = np.concatenate([a, b]), np.concatenate([b, a])
    graph = sparse.csr_array((np.ones(2 * len(a)), links), shape=(m, m))
    pin = np.full(m, -1)
    pin[problem.pins[:, 0]] = problem.pins[:, 1]
    clusters = range(k)
    for g in last:
        taken = set(labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]].tolist())
        labels[g] = pin[g] if pin[g] >= 0 else next(j for j in clusters if j not in taken)
