"""Hard cannot-links and pins alone: colour the graph with what can be coloured last set aside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..._typing import IntArray
from ...presolve import Rules


def peel(rules: Rules, solve_core: Callable[[Rules], IntArray | None]) -> IntArray | None:
    """Labels that keep hard cannot-links and pins, or None if there are none.

    A group with fewer neighbours than clusters open to it can always be placed last, so such
    groups are taken off in sweeps and only what is left is given to ``solve_core``.

    Parameters
    ----------
    rules : Rules
        Only its cannot-links and pins are looked at; no group has two pins.
    solve_core : callable
        Labels of a smaller rules, or None.
    """
    a, b = rules.apart.T
    if np.any(a == b):
        return None
    options = np.full(rules.n_groups, rules.n_clusters)
    options[rules.pins[:, 0]] = 1
    alive, sweeps = np.ones(rules.n_groups, bool), []
    while True:
        inside = alive[a] & alive[b]
        ends = np.concatenate([a[inside], b[inside]])
        out = alive & (np.bincount(ends, minlength=rules.n_groups) < options)
        if not out.any():
            break
        sweeps.append(np.flatnonzero(out))
        alive &= ~out
    labels = np.full(rules.n_groups, -1)
    left = np.flatnonzero(alive)
    if len(left):
        found = solve_core(rules.part(left))
        if found is None:
            return None
        labels[left] = found
    last = np.concatenate([*sweeps[::-1], np.empty(0, np.int64)])
    _place(rules, labels, last)
    return labels


def _place(rules: Rules, labels: IntArray, last: IntArray) -> None:
    """Place groups one by one, each where no neighbour placed before it is."""
    a, b = rules.apart.T
    m, k = rules.n_groups, rules.n_clusters
    links = np.concatenate([a, b]), np.concatenate([b, a])
    graph = sparse.csr_array((np.ones(2 * len(a)), links), shape=(m, m))
    pin = np.full(m, -1)
    pin[rules.pins[:, 0]] = rules.pins[:, 1]
    clusters = range(k)
    for g in last:
        taken = set(labels[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]].tolist())
        labels[g] = pin[g] if pin[g] >= 0 else next(j for j in clusters if j not in taken)
