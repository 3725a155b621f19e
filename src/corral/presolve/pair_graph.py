"""The graph of pairs: which groups are linked, and what agreeing and differing cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by


@dataclass(frozen=True)
class PairGraph:
    """Pairs ``a[p] < b[p]`` of groups, each once, with what agreeing and differing cost.

    ``same`` is infinite for a hard cannot-link and ``differ`` for a hard must-link.  ``impossible``
    says that a group must be apart from itself, which no labels can do.
    """

    n_groups: int
    a: IntArray
    b: IntArray
    same: FloatArray
    differ: FloatArray
    impossible: bool = False

    @classmethod
    def of_pairs(
        cls, n_groups: int, pairs: IntArray, same: FloatArray, differ: FloatArray
    ) -> PairGraph:
        """Make it of pairs in any order: parallel ones add up, and loops are left out."""
        keys = pairs.min(axis=1) * n_groups + pairs.max(axis=1)
        keys, index = np.unique(keys, return_inverse=True)
        a, b = np.divmod(keys, n_groups)
        same, differ = sums_by(index, same, len(keys)), sums_by(index, differ, len(keys))
        loop = a == b
        impossible = bool(np.isinf(same[loop]).any())
        return cls(n_groups, a, b, same, differ, impossible).of(~loop)

    def of(self, keep: BoolArray | IntArray) -> PairGraph:
        """The same groups with the pairs selected by a mask or by number."""
        a, b, same, differ = self.a[keep], self.b[keep], self.same[keep], self.differ[keep]
        return PairGraph(self.n_groups, a, b, same, differ, self.impossible)

    @cached_property
    def component(self) -> IntArray:
        """The connected component of each group."""
        ones, shape = np.ones(len(self.a), np.int8), (self.n_groups, self.n_groups)
        links = sparse.coo_array((ones, (self.a, self.b)), shape=shape)
        return np.asarray(connected_components(links, directed=False)[1])

    def paid(self, labels: IntArray) -> FloatArray:
        """What each pair costs under these labels."""
        return np.where(labels[self.a] == labels[self.b], self.same, self.differ)

    def broken(self, labels: IntArray) -> BoolArray:
        """Which pairs cost something under these labels."""
        return self.paid(labels) > 0
