"""Groups that stand for clusters: pins, and must-link groups that are mutually apart.

Such groups tell where clusters are (the neighbourhoods of Basu, Banerjee and Mooney, 2002).
"""

from __future__ import annotations

import numpy as np

from .._typing import IntArray
from .graphs import link_graph

#: Groups with must-links that are looked at, the largest first, for each cluster.  More find more
#: labelled clusters where links are scattered, and take 5 microseconds each.
LOOKED_AT = 100


def labelled_groups(n_clusters: int, count: IntArray, pins: IntArray, apart: IntArray) -> IntArray:
    """Pairs (group, cluster), (p, 2); groups of different clusters here are never together.

    All pins are among them.  Then groups of several rows are taken, the largest first, if
    cannot-links keep them apart from one group at least of every cluster that is taken already.
    These clusters have no pins, and are numbered in the order of their groups.

    Examples
    --------
    >>> import numpy as np
    >>> pins, apart = np.array([[3, 1]]), np.array([[0, 3], [0, 1], [1, 3]])
    >>> labelled_groups(3, np.array([2, 5, 4, 1]), pins, apart)
    array([[3, 1],
           [1, 0],
           [0, 2]])
    """
    graph = link_graph(len(count), apart)
    label = np.full(len(count), -1)
    label[pins[:, 0]] = pins[:, 1]
    free = np.setdiff1d(np.arange(n_clusters), pins[:, 1]).tolist()
    taken = n_clusters - len(free)
    found: list[tuple[int, int]] = []
    joined = np.flatnonzero((count > 1) & (label < 0))
    joined = joined[np.argsort(-count[joined], kind="stable")][: LOOKED_AT * n_clusters]
    for g in joined.tolist() if free else ():
        near = label[graph.indices[graph.indptr[g] : graph.indptr[g + 1]]]
        if len(np.unique(near[near >= 0])) < taken:
            continue
        label[g] = free[len(found)]
        found.append((g, free[len(found)]))
        taken += 1
        if len(found) == len(free):
            break
    return np.concatenate([pins, np.array(found, np.int64).reshape(-1, 2)])
