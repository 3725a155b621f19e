"""Pairs of groups, hard and soft."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from .cliques import Cliques, clique_cover
from .graphs import link_graph
from .pair_graph import PairGraph


def no_pairs() -> IntArray:
    """An array of pairs without any."""
    return np.empty((0, 2), np.int64)


@dataclass(frozen=True)
class SoftPairs:
    """Pairs of groups with a price for breaking them.

    ``together[p]`` is True for a must-link (broken when the labels differ) and False for a
    cannot-link (broken when they agree).
    """

    pairs: IntArray
    price: FloatArray
    together: BoolArray

    @classmethod
    def none(cls) -> SoftPairs:
        """No soft pair at all."""
        return cls(no_pairs(), np.empty(0), np.empty(0, bool))

    def cost(self, labels: IntArray) -> float:
        """Sum of the prices of the pairs that the labels break."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return float(self.price[same != self.together].sum())

    def part(self, place: IntArray) -> SoftPairs:
        """The pairs between groups whose place is not negative, by place."""
        pairs = place[self.pairs]
        kept = (pairs >= 0).all(axis=1)
        return SoftPairs(pairs[kept], self.price[kept], self.together[kept])


@dataclass(frozen=True)
class Pairs:
    """All pairs of the groups; its graph is made once and shared by rules that share the pairs.

    ``apart`` holds hard cannot-links, each once, and ``together`` the hard must-links that were not
    contracted.
    """

    n_groups: int
    apart: IntArray = field(default_factory=no_pairs)
    together: IntArray = field(default_factory=no_pairs)
    soft: SoftPairs = field(default_factory=SoftPairs.none)

    def __len__(self) -> int:
        """Number of pairs of every kind."""
        return len(self.apart) + len(self.together) + len(self.soft.price)

    @cached_property
    def graph(self) -> PairGraph:
        """What agreeing and differing cost for each pair; infinite for hard pairs."""
        soft = self.soft
        apart, together = np.zeros((2, len(self.apart))), np.zeros((2, len(self.together)))
        apart[0] = together[1] = np.inf
        prices = np.where(soft.together == [[False], [True]], soft.price, 0.0)
        pairs = np.concatenate([self.apart, self.together, soft.pairs])
        costs = np.concatenate([apart, together, prices], axis=1)
        return PairGraph.of_pairs(self.n_groups, pairs, same=costs[0], differ=costs[1])

    @cached_property
    def links(self) -> sparse.csr_array:
        """The symmetric 0/1 adjacency matrix of the hard cannot-links."""
        return link_graph(self.n_groups, self.apart)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The groups that each group is linked with by hard cannot-links."""
        near = np.split(self.links.indices, self.links.indptr[1:-1])
        return [each.tolist() for each in near]

    @cached_property
    def cliques(self) -> Cliques:
        """Cliques that contain every hard cannot-link: whole components, and a cover of others."""
        whole, others = self.graph.complete(2)
        apart = np.stack([others.a, others.b], axis=1)[np.isinf(others.same)]
        loops = self.apart[self.apart[:, 0] == self.apart[:, 1]]
        return whole.and_also(clique_cover(self.n_groups, np.concatenate([apart, loops])))

    def part(self, place: IntArray, n_groups: int) -> Pairs:
        """The pairs between groups whose place is not negative, by place."""
        return Pairs(
            n_groups,
            _inside(place[self.apart]),
            _inside(place[self.together]),
            self.soft.part(place),
        )


def _inside(pairs: IntArray) -> IntArray:
    return pairs[(pairs >= 0).all(axis=1)]
