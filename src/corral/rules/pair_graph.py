"""The graph of pairs: which groups are linked, and what agreeing and differing cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from .cliques import Cliques


def pair_keys(pairs: IntArray, n: int) -> IntArray:
    """Number the unordered pairs among ``n`` groups or rows, each differently."""
    a, b = pairs.T
    keys: IntArray = np.minimum(a, b) * n + np.maximum(a, b)
    return keys


def unique_pairs(pairs: IntArray, n: int) -> IntArray:
    """Give each unordered pair among ``n`` groups or rows once, the smaller end first.

    Where many pairs are among few, such as all pairs of labelled rows, they are marked in a table
    instead of sorted.
    """
    used = np.zeros(n, bool)
    used[pairs] = True
    names = np.flatnonzero(used)
    m = len(names)
    if m * m <= len(pairs):
        place = np.cumsum(used) - 1
        a, b = place[pairs].T
        seen = np.zeros((m, m), bool)
        seen[a, b] = True
        ends: IntArray = names[np.argwhere(np.triu(seen | seen.T))]
        return ends
    return np.column_stack(np.divmod(np.unique(pair_keys(pairs, n)), max(n, 1)))


@dataclass(frozen=True)
class PairGraph:
    """Pairs ``a[p] < b[p]`` of groups, each once, with what agreeing and differing cost.

    ``same`` is infinite for a hard cannot-link and ``differ`` for a hard must-link.  The graph is
    ``impossible`` if a group must be apart from itself.
    """

    n_groups: int
    a: IntArray
    b: IntArray
    same: FloatArray
    differ: FloatArray
    impossible: bool = False
    _complete: dict[int, tuple[Cliques, PairGraph]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of_pairs(
        cls, n_groups: int, pairs: IntArray, same: FloatArray, differ: FloatArray
    ) -> PairGraph:
        """Make it of pairs in any order: parallel ones add up, and loops are left out.

        Examples
        --------
        >>> import numpy as np
        >>> pairs, price = np.array([[1, 0], [0, 1], [2, 2]]), np.array([3.0, 4.0, 5.0])
        >>> graph = PairGraph.of_pairs(3, pairs, price, np.zeros(3))
        >>> graph.a, graph.b, graph.same
        (array([0]), array([1]), array([7.]))
        """
        keys, index = np.unique(pair_keys(pairs, n_groups), return_inverse=True)
        a, b = np.divmod(keys, n_groups)
        same, differ = sums_by(index, same, len(keys)), sums_by(index, differ, len(keys))
        loop = a == b
        impossible = bool(np.isinf(same[loop]).any())
        return cls(n_groups, a, b, same, differ, impossible).of(~loop)

    def of(self, keep: BoolArray | IntArray) -> PairGraph:
        """The same groups with the pairs selected by a mask or by number."""
        pairs = self.a[keep], self.b[keep], self.same[keep], self.differ[keep]
        return PairGraph(self.n_groups, *pairs, self.impossible)

    @cached_property
    def component(self) -> IntArray:
        """The connected component of each group."""
        if not len(self.a):
            return np.arange(self.n_groups)
        ones, shape = np.ones(len(self.a), np.int8), (self.n_groups, self.n_groups)
        links = sparse.coo_array((ones, (self.a, self.b)), shape=shape)
        return np.asarray(connected_components(links, directed=False)[1])

    def complete(self, more_than: int) -> tuple[Cliques, PairGraph]:
        """Components of more than so many groups that are cliques, and the graph of the others.

        All pairs of such a component are hard cannot-links.
        """
        if more_than not in self._complete:
            self._complete[more_than] = self._split(more_than)
        return self._complete[more_than]

    def _split(self, more_than: int) -> tuple[Cliques, PairGraph]:
        component = self.component
        groups = np.unique(np.concatenate([self.a, self.b]))
        size = np.bincount(component[groups], minlength=self.n_groups)
        apart = np.isinf(self.same) & (self.differ == 0.0)
        linked = np.bincount(component[self.a], apart, self.n_groups)
        whole = (size > more_than) & (2 * linked == size * (size - 1))
        members = groups[whole[component[groups]]]
        members = members[np.argsort(component[members], kind="stable")]
        start = np.concatenate([[0], np.cumsum(size[whole])])
        return Cliques(start, members), self.of(~whole[component[self.a]])

    def paid(self, labels: IntArray) -> FloatArray:
        """What each pair costs under these labels."""
        return np.where(labels[self.a] == labels[self.b], self.same, self.differ)

    def broken(self, labels: IntArray) -> BoolArray:
        """Which pairs cost something under these labels."""
        return self.paid(labels) > 0
