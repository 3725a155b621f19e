"""The rules as the solvers see them, in plain arrays and without points.

Presolve makes :class:`Rules` from the user's constraints.  Plan, start, admm, assign and polish
read them and never look at the constraints again.  A *group* is a set of rows that must-links
join; it is solved as one weighted point.  Without must-links every row is a group of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from .bounds import LinearRows, SizeBounds, Sums, TotalBounds
from .cliques import Cliques, clique_cover
from .labelled import labelled_groups
from .pair_graph import PairGraph


def _no_pairs() -> IntArray:
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
        return cls(_no_pairs(), np.empty(0), np.empty(0, bool))

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
    apart: IntArray = field(default_factory=_no_pairs)
    together: IntArray = field(default_factory=_no_pairs)
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


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the labels of ``m`` groups have to obey.

    Attributes
    ----------
    n_clusters : int
    count : (m,) array
        Number of rows of each group, which is what cluster sizes count.
    group : (n,) array or None
        The group of each row; None if every group is one row.
    pins : (p, 2) array
        Pairs (group, cluster) of known assignments.
    pairs : Pairs
    sizes : SizeBounds or None
    totals : tuple of TotalBounds
    linear : LinearRows or None
    """

    n_clusters: int
    count: IntArray
    group: IntArray | None = None
    pins: IntArray = field(default_factory=_no_pairs)
    pairs: Pairs
    sizes: SizeBounds | None = None
    totals: tuple[TotalBounds, ...] = ()
    linear: LinearRows | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups, m."""
        return len(self.count)

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.count.sum())

    @property
    def apart(self) -> IntArray:
        """Hard cannot-links, (e, 2)."""
        return self.pairs.apart

    @property
    def together(self) -> IntArray:
        """Hard must-links that were not contracted, (f, 2)."""
        return self.pairs.together

    @property
    def soft(self) -> SoftPairs:
        """Pairs with a price."""
        return self.pairs.soft

    @property
    def paired(self) -> bool:
        """Whether there are pairs of any kind."""
        return len(self.pairs) > 0

    @property
    def summed(self) -> bool:
        """Whether sizes or totals bound sums over the clusters."""
        return self.sizes is not None or bool(self.totals)

    @property
    def bounded(self) -> bool:
        """Whether sizes, totals or linear rows tie groups together."""
        return self.summed or self.linear is not None

    @property
    def free(self) -> bool:
        """Whether nothing but the costs decides where a group goes."""
        return not (len(self.pins) or self.paired or self.bounded)

    @cached_property
    def tied(self) -> BoolArray:
        """Groups that have several rows, a pin or a pair, hard or soft, (m,)."""
        tied = self.count > 1
        pairs = self.apart.ravel(), self.together.ravel(), self.soft.pairs.ravel()
        tied[np.concatenate([self.pins[:, 0], *pairs]).astype(np.int64)] = True
        return tied

    @property
    def surely_feasible(self) -> bool:
        """Whether no labels can be ruled out after presolve: single rows fit any valid sizes."""
        free = replace(self, sizes=None).free
        return free and (self.sizes is None or bool(np.all(self.count == 1)))

    @property
    def only_sized(self) -> bool:
        """Whether sizes of single rows are the only rule, and their order is no question."""
        return self.sizes is not None and not self.sizes_vary and self.surely_feasible

    @property
    def greedy(self) -> bool:
        """Whether pins, cannot-links and sizes are the only rules, which greedy labels can obey."""
        others = len(self.together) or len(self.soft.price) or self.totals
        return not others and self.linear is None

    @cached_property
    def labelled(self) -> IntArray:
        """Pairs (group, cluster) of pinned groups, and of others that are mutually apart."""
        return labelled_groups(self.n_clusters, self.count, self.pins, self.apart)

    @cached_property
    def in_cliques(self) -> bool:
        """Whether all pairs are hard cannot-links, and each component of them is a clique."""
        plain = not len(self.together) and not len(self.soft.price)
        return plain and not len(self.pairs.graph.complete(1)[1].a)

    @property
    def nested(self) -> bool:
        """Whether sizes of groups of equal count and disjoint cliques are the only rules."""
        alone = not self.totals and self.linear is None and np.ptp(self.count) == 0
        return self.sizes is not None and alone and self.in_cliques

    @property
    def sizes_vary(self) -> bool:
        """Whether clusters may exchange their sizes for different ones."""
        sizes = self.sizes
        return sizes is not None and not (sizes.ordered or sizes.interchangeable)

    def invert(self, group_labels: IntArray) -> IntArray:
        """Labels of the rows from labels of the groups."""
        return group_labels if self.group is None else group_labels[self.group]

    @property
    def row_groups(self) -> IntArray:
        """The group of each row, (n,)."""
        return np.arange(self.n_groups) if self.group is None else self.group

    @property
    def first_rows(self) -> IntArray:
        """The first row of each group; groups are counted in that order."""
        if self.group is None:
            return np.arange(self.n_groups)
        return np.flatnonzero(np.diff(np.maximum.accumulate(self.group), prepend=-1) > 0)

    def sums(self) -> Sums:
        """Sizes, if there are any, and totals as one table of bounded sums."""
        bounds = list(self.totals)
        if self.sizes is not None:
            bounds.insert(0, self.sizes.as_total(self.count))
        return Sums.of(bounds, self.n_groups, self.n_clusters)

    def sizes_of(self, labels: IntArray) -> IntArray:
        """Number of rows in each cluster."""
        return sums_by(labels, self.count, self.n_clusters).astype(np.int64)

    def part(self, groups: IntArray) -> Rules:
        """The rules of some groups, given in order; bounds stay as they are.

        Pairs and pins stay where all their groups do.
        """
        place = np.full(self.n_groups, -1, np.int64)
        place[groups] = np.arange(len(groups))
        pins = np.column_stack([place[self.pins[:, 0]], self.pins[:, 1]])
        linear = None if self.linear is None else self.linear.part(groups, self.n_clusters)
        return replace(
            self,
            count=self.count[groups],
            group=None,
            pins=pins[pins[:, 0] >= 0],
            pairs=self.pairs.part(place, len(groups)),
            totals=tuple(total.part(groups) for total in self.totals),
            linear=linear,
        )

    def scaled(self, share: float) -> Rules:
        """The same with bounds on sums times a share, for a sample of the groups."""
        sizes = None if self.sizes is None else self.sizes.scaled(share, self.n_rows)
        return replace(
            self, sizes=sizes, totals=tuple(total.scaled(share) for total in self.totals)
        )

    def less(self, labels: IntArray, chosen: BoolArray) -> Rules:
        """The rules of the chosen groups, the others being where the labels have them.

        Bounds are reduced by what the others take.  Pins of the chosen groups are left out, and so
        are pairs between chosen and other groups: the caller puts both into the costs.
        """
        rest, k = np.flatnonzero(~chosen), self.n_clusters
        fixed, sizes, linear = labels[rest], self.sizes, self.linear
        if sizes is not None:
            sizes = sizes.less(sums_by(fixed, self.count[rest], k).astype(np.int64))
        if linear is not None:
            linear = linear.less(rest * k + fixed)
        totals = tuple(each.less(sums_by(fixed, each.values[rest], k)) for each in self.totals)
        left = replace(self, pins=_no_pairs(), sizes=sizes, totals=totals, linear=linear)
        return left.part(np.flatnonzero(chosen))

    def pairs_only(self) -> Rules:
        """The same without sizes, totals and linear rows."""
        return replace(self, sizes=None, totals=(), linear=None)

    def with_sizes_in_order(self, order: IntArray) -> Rules:
        """The same with the size bounds handed to the clusters in another order."""
        return self if self.sizes is None else replace(self, sizes=self.sizes.permuted(order))

    def in_any_order(self) -> Rules:
        """The same with the sizes in any order, where nothing else ties clusters to numbers.

        Which cluster has which size is then a matter of numbering at the end.
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
