"""The problem as the solvers see it: weighted points and rules in plain arrays.

Presolve makes a :class:`Problem` from the user's constraints; initialise, admm, assign and
polish read it and never look at the constraints again.  A *group* is a set of rows joined by
must-links, contracted into one weighted point; without must-links every row is its own group.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ._typing import FloatArray, IntArray, Matrix
from .pair_graph import PairGraph

#: More entries of x than this make a problem large.
LARGE = 300_000
#: Bounds on sizes that leave more room than this part of the mean are loose.
LOOSE = 0.5


@dataclass(frozen=True)
class SizeBounds:
    """Bounds on the number of rows of each cluster, ``lower[j] <= size_j <= upper[j]``.

    With ``ordered=False`` the pairs ``(lower[j], upper[j])`` are a multiset: which cluster gets
    which pair is part of the problem, and the order held here is the present guess.
    """

    lower: IntArray
    upper: IntArray
    ordered: bool

    @property
    def interchangeable(self) -> bool:
        """Whether every cluster has the same bounds, so that their order means nothing."""
        return bool(np.ptp(self.lower) == 0 and np.ptp(self.upper) == 0)

    def permuted(self, order: IntArray) -> SizeBounds:
        """Give cluster ``j`` the bounds that now stand at ``order[j]``."""
        return replace(self, lower=self.lower[order], upper=self.upper[order])


@dataclass(frozen=True)
class TotalBounds:
    """Bounds on per-cluster sums, ``lower[j] <= sum_g values[g] x_gj <= upper[j]``."""

    values: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class SoftPairs:
    """Pairs of groups with a price for breaking them.

    ``together[p]`` is True for a must-link (broken when the labels differ) and False for a
    cannot-link (broken when they agree).
    """

    pairs: IntArray
    price: FloatArray
    together: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def none(cls) -> SoftPairs:
        """No soft pair at all."""
        return cls(np.empty((0, 2), np.int64), np.empty(0), np.empty(0, bool))

    def cost(self, labels: IntArray) -> float:
        """Sum of the prices of the pairs that the labels break."""
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return float(self.price[same != self.together].sum())


@dataclass(frozen=True)
class LinearRows:
    """Rows ``lower <= A vec(x) <= upper``; column ``g * k + j`` of ``A`` belongs to ``x_gj``."""

    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A constrained k-means problem over ``m`` groups of the ``n`` rows.

    Attributes
    ----------
    points : (m, d) array or CSR
        Weighted mean of each group.
    weight : (m,) array
        Sum of the members' sample weights.
    count : (m,) array
        Number of members, what cluster sizes count.
    scatter : float
        Inertia inside the groups, the same for every assignment.
    group : (n,) array
        The group of each row.
    n_clusters : int
    pins : (p, 2) array
        Pairs (group, cluster) of known assignments.
    apart : (e, 2) array
        Hard cannot-links between groups, each once.
    together : (f, 2) array
        Hard must-links that were not contracted: empty unless presolve was told so.
    soft : SoftPairs
    sizes : SizeBounds or None
    totals : tuple of TotalBounds
    linear : LinearRows or None
    """

    points: Matrix
    weight: FloatArray
    count: IntArray
    scatter: float
    group: IntArray
    n_clusters: int
    pins: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    apart: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    together: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    soft: SoftPairs = field(default_factory=SoftPairs.none)
    sizes: SizeBounds | None = None
    totals: tuple[TotalBounds, ...] = ()
    linear: LinearRows | None = None

    @property
    def n_groups(self) -> int:
        """Number of contracted points."""
        return len(self.count)

    @property
    def free(self) -> bool:
        """Whether nothing but the costs decides where a group goes."""
        return not (
            len(self.pins)
            or len(self.apart)
            or len(self.together)
            or len(self.soft.price)
            or self.totals
            or self.sizes is not None
            or self.linear is not None
        )

    @cached_property
    def pair_graph(self) -> PairGraph:
        """All pairs in one graph, made when first asked for and kept for all restarts."""
        soft = self.soft
        apart, together = np.zeros((2, len(self.apart))), np.zeros((2, len(self.together)))
        apart[0] = together[1] = np.inf
        prices = np.where(soft.together == [[False], [True]], soft.price, 0.0)
        pairs = np.concatenate([self.apart, self.together, soft.pairs])
        costs = np.concatenate([apart, together, prices], axis=1)
        return PairGraph.of_pairs(self.n_groups, pairs, same=costs[0], differ=costs[1])

    @property
    def large(self) -> bool:
        """Whether x has so many entries that passes over it must be counted."""
        return self.n_groups * self.n_clusters > LARGE

    @property
    def surely_feasible(self) -> bool:
        """Whether nothing is left that could clash once presolve has let it pass.

        Rows one by one fit any sizes that add up.
        """
        sized = replace(self, sizes=None)
        return sized.free and (self.sizes is None or bool(np.all(self.count == 1)))

    @property
    def only_sized(self) -> bool:
        """Whether sizes are the only rule, and which cluster has which is no question.

        Then exact assignment is cheap, and follows from where the centres are.
        """
        return self.sizes is not None and not self.sizes_vary and self.surely_feasible

    @property
    def summed(self) -> bool:
        """Whether sizes or totals bound sums over the clusters."""
        return self.sizes is not None or bool(self.totals)

    @property
    def sizes_vary(self) -> bool:
        """Whether clusters may exchange their sizes for different ones."""
        sizes = self.sizes
        return sizes is not None and not (sizes.ordered or sizes.interchangeable)

    @property
    def sizes_loose(self) -> bool:
        """Whether bounds on the sizes leave room for two clusters to share a heap."""
        if self.sizes is None:
            return False
        n = self.count.sum()
        room = np.minimum(self.sizes.upper, n) - self.sizes.lower
        return bool(np.max(room) > LOOSE * n / self.n_clusters)

    def invert(self, group_labels: IntArray) -> IntArray:
        """Labels of the rows from labels of the groups."""
        return group_labels[self.group]

    def with_sizes_in_order(self, order: IntArray) -> Problem:
        """The same problem with the size bounds handed to the clusters in another order."""
        if self.sizes is None:
            return self
        ordered = replace(self, sizes=self.sizes.permuted(order))
        # The pairs stay, and so does their graph, which would be made anew in every order.
        vars(ordered)["pair_graph"] = self.pair_graph
        return ordered

    def in_any_order(self) -> Problem:
        """The same with the sizes in any order, where nothing else ties clusters to numbers.

        Which cluster has which size is then a matter of names.
        """
        if self.sizes is None or not self.sizes.ordered:
            return self
        free = replace(self, sizes=replace(self.sizes, ordered=False))
        return self if free.numbered else free

    def cluster_rules(self) -> FloatArray:
        """Numbers, (rules, k), that are equal for clusters which may change places.

        Size bounds whose order is free do not tell clusters apart.
        """
        k = self.n_clusters
        rules: list[FloatArray] = [np.zeros(k)]
        if self.sizes is not None and self.sizes.ordered:
            rules += [self.sizes.lower.astype(float), self.sizes.upper.astype(float)]
        for total in self.totals:
            rules += [total.lower, total.upper]
        if self.linear is not None:
            rules.append(np.arange(k, dtype=float))
        pinned = np.bincount(self.pins[:, 1], minlength=k) > 0
        rules.append(np.where(pinned, np.arange(1.0, k + 1.0), 0.0))
        return np.array(rules)

    @property
    def numbered(self) -> bool:
        """Whether some rule holds for clusters by their number."""
        rules = self.cluster_rules()
        return bool(np.any(rules != rules[:, :1]))


def first_rows(group: IntArray) -> IntArray:
    """The first row of each group; groups are counted in that order."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(group), prepend=-1) > 0)
