"""Rows that are indifferent between clusters, moved in bulk to where they are wanted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..._typing import BoolArray, IntArray


def spread_ties(tied: BoolArray, labels: IntArray, over: IntArray, under: IntArray) -> IntArray:
    """Move rows from clusters with too many to clusters with too few, along ties.

    Parameters
    ----------
    tied : (t, k) array
        Clusters that are equally good for each row, its own among them.
    labels : (t,) array
    over, under : (k,) arrays of int
        How many rows each cluster has too many, and too few.

    Returns
    -------
    (t,) array
        New labels, each tied with the old one.

    Examples
    --------
    >>> import numpy as np
    >>> tied = np.array([[True, True, False], [False, True, True], [False, True, True]])
    >>> spread_ties(tied, np.array([0, 1, 1]), np.array([1, 0, 0]), np.array([0, 0, 1]))
    array([1, 2, 1])
    """
    labels, over, under = labels.copy(), over.copy(), under.copy()
    k = tied.shape[1]
    counts = np.array([np.count_nonzero(tied[labels == a], axis=0) for a in range(k)])
    np.fill_diagonal(counts, 0)
    while True:
        path = _path(counts > 0, over > 0, under > 0)
        if not path:
            return labels
        edges = list(pairwise(path))
        number = min(over[path[0]], under[path[-1]], *(counts[edge] for edge in edges))
        # From the end, so that no row moves twice.
        for a, b in reversed(edges):
            rows = np.flatnonzero((labels == a) & tied[:, b])[:number]
            labels[rows] = b
            gone = np.count_nonzero(tied[rows], axis=0)
            counts[a] -= gone
            counts[b] += gone
            counts[[a, b], [a, b]] = 0
        over[path[0]] -= number
        under[path[-1]] -= number


def _path(edges: BoolArray, sources: BoolArray, targets: BoolArray) -> list[int]:
    """A path of fewest edges from a source to a target, empty if there is none."""
    came_from = np.full(len(edges), -1)
    seen, front = sources.copy(), list(np.flatnonzero(sources))
    for a in front:
        if targets[a]:
            path = [int(a)]
            while came_from[path[0]] >= 0:
                path.insert(0, int(came_from[path[0]]))
            return path
        new = np.flatnonzero(edges[a] & ~seen)
        seen[new], came_from[new] = True, a
        front.extend(new)
    return []
