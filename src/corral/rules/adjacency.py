"""The graph in which clusters are connected, as the solvers see it.

A group of rows that must-links join may lie in several *pieces*, sets of rows that are connected by
edges inside the group.  Pieces are the nodes of the graph.  A cluster is connected if all pieces of
its groups are: a group is not connected by being a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import BoolArray, IntArray
from .pairs import components


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A graph whose p nodes are pieces of m groups.

    Attributes
    ----------
    group : (p,) array
        The group of each node; groups are in order.
    first : (m + 1,) array
        The first node of each group.
    ptr, near : arrays
        The neighbours of node v are ``near[ptr[v]:ptr[v + 1]]``.
    """

    group: IntArray
    first: IntArray
    ptr: IntArray
    near: IntArray

    @classmethod
    def of(cls, pairs: IntArray, group: IntArray) -> Adjacency:
        """Make it of pairs of rows, given the number of each row's group.

        Examples
        --------
        >>> import numpy as np
        >>> joined = Adjacency.of(np.array([[0, 1], [1, 2], [2, 3]]), np.array([0, 0, 1, 0]))
        >>> joined.group, joined.near
        (array([0, 0, 1]), array([2, 2, 0, 1]))
        """
        n, m = len(group), int(group.max(initial=-1)) + 1
        inside = group[pairs[:, 0]] == group[pairs[:, 1]]
        piece = components(n, pairs[inside])
        first_row = np.unique(piece, return_index=True)[1]
        order = np.argsort(group[first_row], kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        owner = group[first_row][order]
        ends = rank[piece[pairs[~inside]]]
        p = len(owner)
        both = np.concatenate([ends, ends[:, ::-1]])
        keys = np.unique(both[:, 0] * p + both[:, 1])
        here, near = np.divmod(keys, max(p, 1))
        return cls(owner, _starts(owner, m), _starts(here, p), near)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, p."""
        return len(self.group)

    @cached_property
    def here(self) -> IntArray:
        """The node that each entry of ``near`` is a neighbour of."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.ptr))

    @cached_property
    def scattered(self) -> BoolArray:
        """Groups in several pieces, (m,)."""
        return np.diff(self.first) > 1

    @cached_property
    def component(self) -> IntArray:
        """The connected component of each node."""
        return self.parts(np.zeros(len(self.first) - 1, np.int64))

    def parts(self, labels: IntArray) -> IntArray:
        """The connected part of its cluster that each node is in, given labels of the groups.

        Groups with a negative label are apart from all others.
        """
        own = labels[self.group]
        inside = (own[self.here] == own[self.near]) & (own[self.here] >= 0)
        ends = self.here[inside].astype(np.int32), self.near[inside].astype(np.int32)
        p = self.n_nodes
        graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(p, p))
        found: IntArray = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
        return found

    def excess(self, labels: IntArray) -> int:
        """Number of parts that clusters have beyond one each."""
        return len(np.unique(self.parts(labels))) - len(np.unique(labels))

    def holds(self, labels: IntArray) -> bool:
        """Whether every cluster is connected."""
        return self.excess(labels) == 0

    def clusters_near(self, labels: IntArray, some: BoolArray) -> BoolArray:
        """Some clusters, and those that have neighbours in them, (k,)."""
        own = labels[self.group]
        found = some.copy()
        found[own[self.near[some[own[self.here]]]]] = True
        return found


def _starts(owner: IntArray, number: int) -> IntArray:
    """Where the entries of each owner begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=number))]).astype(np.int64)
