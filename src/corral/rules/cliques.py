"""Cliques of cannot-links: sets of groups of which no two may share a cluster.

All pairs of a labelled subset make one.  A clique says more than its pairs one by one: each cluster
has at most one of its groups, so that its assignment alone is a linear assignment, and in a program
one row for each cluster replaces one for each pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from .._typing import IntArray
from .graphs import MAX_WORK, link_graph

#: Most links from which a clique is grown.  More find more cliques where they overlap much, and
#: take about 20 microseconds each.
MOST_GROWN = 20_000


@dataclass(frozen=True)
class Cliques:
    """Sets of groups that are pairwise apart, one after another.

    Clique c has ``members[start[c]:start[c + 1]]``, in order.
    """

    start: IntArray
    members: IntArray

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def size(self) -> IntArray:
        """Number of groups of each clique."""
        return np.diff(self.start)

    @property
    def of_member(self) -> IntArray:
        """The clique of each entry of ``members``."""
        return np.repeat(np.arange(len(self)), self.size)

    def and_also(self, others: Cliques) -> Cliques:
        """These cliques, then the others."""
        start = np.concatenate([self.start, self.start[-1] + others.start[1:]])
        return Cliques(start, np.concatenate([self.members, others.members]))


def clique_cover(n_groups: int, pairs: IntArray) -> Cliques:
    """Cliques that contain every pair, found greedily.

    The links in most triangles are grown first.  A link in no triangle is a clique of two, and so
    is a group that is linked with itself, which has no cluster.

    Examples
    --------
    >>> import numpy as np
    >>> found = clique_cover(5, np.array([[0, 1], [0, 2], [1, 2], [2, 3]]))
    >>> found.start, found.members
    (array([0, 3, 5]), array([0, 1, 2, 2, 3]))
    """
    pairs = np.sort(pairs, axis=1)
    grown = _grown(*_in_triangles(n_groups, pairs[pairs[:, 0] < pairs[:, 1]]))
    start = np.cumsum([0, *map(len, grown)])
    members = np.array([g for clique in grown for g in clique], np.int64)
    if grown:
        inside = np.concatenate([np.array(list(combinations(clique, 2))) for clique in grown])
        keys = inside[:, 0] * n_groups + inside[:, 1]
        pairs = pairs[~np.isin(pairs[:, 0] * n_groups + pairs[:, 1], keys)]
    more = start[-1] + 2 * np.arange(1, len(pairs) + 1)
    return Cliques(np.concatenate([start, more]), np.concatenate([members, pairs.ravel()]))


def _in_triangles(n_groups: int, pairs: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """The graph of the pairs that may be in triangles, and these, those in most triangles first."""
    graph = link_graph(n_groups, pairs)
    degree = np.diff(graph.indptr)
    if np.square(degree.astype(float)).sum() > MAX_WORK:
        return graph, pairs[(degree[pairs] > 1).all(axis=1)]
    common = sparse.csr_array((graph @ graph) * graph)
    upper = sparse.coo_array(sparse.triu(common, 1))
    order = np.argsort(-upper.data, kind="stable")
    graph = sparse.csr_array((np.ones(common.nnz), common.indices, common.indptr), graph.shape)
    return graph, np.stack(upper.coords, axis=1)[order].astype(np.int64)


def _grown(graph: sparse.csr_array, pairs: IntArray) -> list[list[int]]:
    """Cliques of at least three groups, each grown from a pair that is in none yet."""
    near = {
        g: set(graph.indices[graph.indptr[g] : graph.indptr[g + 1]].tolist())
        for g in np.unique(pairs).tolist()
    }
    covered: set[tuple[int, int]] = set()
    found: list[list[int]] = []
    tried = 0
    for a, b in pairs.tolist():
        if (a, b) in covered:
            continue
        tried += 1
        if tried > MOST_GROWN:
            break
        clique, common = [a, b], near[a] & near[b]
        while common:
            clique.append(min(common))
            common &= near[clique[-1]]
        if len(clique) > 2:
            found.append(sorted(clique))
            covered.update(combinations(found[-1], 2))
    return found
