"""The rules as the solvers see them, in plain arrays and without points.

Presolve makes :class:`Rules` from the user's constraints.  Search, ADMM and assignment read them
and never look at the constraints again.  A *group* is a set of rows that must-links join; it is
solved as one weighted point.  Without must-links every row is a group of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray, Matrix
from ..constraints._checks import sums_by
from .adjacency import Adjacency
from .pairs import Pairs, SoftPairs, labelled_groups, no_pairs
from .sums import LinearRows, SizeBounds, SoftPins, Sums, TotalBounds


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the labels of ``m`` groups have to obey."""

    n_clusters: int
    count: IntArray  # rows of each group, which is what cluster sizes count, (m,)
    group: IntArray | None = None  # of each row, (n,); None if every group is one row
    pins: IntArray = field(default_factory=no_pairs)  # known (group, cluster), (p, 2)
    pairs: Pairs
    sizes: SizeBounds | None = None  # if all are soft, the hard bounds allow every size
    totals: tuple[TotalBounds, ...] = ()
    linear: LinearRows | None = None
    soft_pins: SoftPins = field(default_factory=SoftPins.none)
    soft_totals: tuple[TotalBounds, ...] = ()  # those with a finite price
    adjacency: Adjacency | None = None  # in which every cluster is connected

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
    def bounded(self) -> bool:
        """Whether sizes, totals or linear rows, hard or soft, tie groups together."""
        summed = self.sizes is not None or bool(self.totals) or bool(self.soft_totals)
        return summed or self.linear is not None

    @property
    def free(self) -> bool:
        """Whether nothing but the costs decides where a group goes."""
        alone = not (len(self.pins) or len(self.soft_pins) or len(self.pairs))
        return alone and not self.bounded and self.adjacency is None

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
        hard = self.unpriced()
        free = replace(hard, sizes=None).free
        return free and (hard.sizes is None or bool(np.all(self.count == 1)))

    @cached_property
    def labelled(self) -> IntArray:
        """Pairs (group, cluster) of groups with pins, and of others that are mutually apart.

        Of soft pins those are taken that are the only ones of their groups.
        """
        soft, first, number = np.unique(
            self.soft_pins.pins[:, 0], return_index=True, return_counts=True
        )
        only = first[(number == 1) & ~np.isin(soft, self.pins[:, 0])]
        pins = np.concatenate([self.pins, self.soft_pins.pins[only]])
        return labelled_groups(self.n_clusters, self.count, pins, self.apart)

    @cached_property
    def in_cliques(self) -> bool:
        """Whether all pairs are hard cannot-links, and each component of them is a clique."""
        plain = not len(self.together) and not len(self.soft.price)
        return plain and not len(self.pairs.graph.complete(1)[1].a)

    @property
    def quickly_exact(self) -> bool:
        """Whether exact labels, with sizes in their order, are one flow or linear assignments.

        Beside pins, the only rules are sizes of groups of equal count, disjoint cliques of
        cannot-links, or both; sizes are soft only of single rows without pairs.
        """
        sizes, paired = self.sizes, len(self.pairs) > 0
        if self.adjacency is not None:
            return False
        if self.totals or self.soft_totals or self.linear is not None or not self.in_cliques:
            return False
        if sizes is None:
            return paired
        counted = sizes.soft is None or (self.count[0] == 1 and not paired)
        return bool(counted and np.ptp(self.count) == 0)

    @property
    def sizes_vary(self) -> bool:
        """Whether clusters may exchange their sizes for different ones."""
        sizes = self.sizes
        return sizes is not None and not (sizes.ordered or sizes.interchangeable)

    def to_rows(self, group_labels: IntArray) -> IntArray:
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

    @property
    def capacity(self) -> FloatArray | None:
        """What each cluster may hold, of the first total or sizes that tell clusters apart."""
        totals = *self.totals, *self.soft_totals
        bounds = [bound for total in totals for bound in (total.upper, total.lower)]
        if self.sizes is not None and self.sizes.ordered:
            bounds.append(np.sum(self.sizes.aimed, axis=0) / 2.0)
        apart = (each for each in bounds if np.isfinite(each).all() and np.any(each != each[0]))
        return next(apart, None)

    def sums(self) -> Sums:
        """Hard sizes, if there are any, and hard totals as one table of bounded sums."""
        bounds = list(self.totals)
        if self.sizes is not None:
            bounds.insert(0, self.sizes.as_total(self.count))
        return Sums.of(bounds, self.n_groups, self.n_clusters)

    @cached_property
    def soft_sums(self) -> Sums:
        """Soft sizes and totals as one table of bounded sums, with their prices."""
        soft = None if self.sizes is None else self.sizes.soft
        count, bounds = self.count.astype(float), list(self.soft_totals)
        if soft is not None:
            sides = zip(soft.lower.astype(float), soft.upper.astype(float), soft.price, strict=True)
            bounds = [TotalBounds(count, low, high, price=p) for low, high, p in sides] + bounds
        return Sums.of(bounds, self.n_groups, self.n_clusters)

    def soft_cost(self, labels: IntArray) -> float:
        """Price of all soft rules that the labels break."""
        cost = self.soft.cost(labels) + self.soft_pins.cost(labels)
        if len(self.soft_sums):
            cost += self.soft_sums.cost(self.soft_sums.reached(labels))
        return cost

    def with_costs(self, cost: FloatArray) -> tuple[Rules, FloatArray]:
        """The same without soft pins, which are prices in the costs (m, k) then."""
        if not len(self.soft_pins):
            return self, cost
        return replace(self, soft_pins=SoftPins.none()), self.soft_pins.added_to(cost)

    def sizes_of(self, labels: IntArray) -> IntArray:
        """Number of rows in each cluster."""
        return sums_by(labels, self.count, self.n_clusters).astype(np.int64)

    def part(self, groups: IntArray) -> Rules:
        """The rules of some groups, given in order; bounds stay as they are.

        Pairs and pins stay where all their groups do.  The graph of neighbours is left out: paths
        may lead through other groups.
        """
        place = np.full(self.n_groups, -1, np.int64)
        place[groups] = np.arange(len(groups))
        pins = np.column_stack([place[self.pins[:, 0]], self.pins[:, 1]])
        linear = None if self.linear is None else self.linear.part(groups, self.n_clusters)
        return replace(
            self,
            count=self.count[groups],
            group=None,
            adjacency=None,
            pins=pins[pins[:, 0] >= 0],
            pairs=self.pairs.part(place, len(groups)),
            totals=tuple(total.part(groups) for total in self.totals),
            linear=linear,
            soft_pins=self.soft_pins.part(place),
            soft_totals=tuple(total.part(groups) for total in self.soft_totals),
        )

    def sample(self, groups: IntArray) -> Rules:
        """The rules of some groups, given in order, with bounds in proportion.

        Values of totals are shifted so that their mean is that of all groups: otherwise the bounds
        might be out of reach for the sample alone.  Linear rows that see other groups are left out.
        """
        part, m = self.part(groups), self.n_groups
        linear = None if self.linear is None else self.linear.inside(groups, self.n_clusters)

        def sampled(total: TotalBounds) -> TotalBounds:
            own = total.values[groups]
            shifted = own + (total.values.sum() / m - own.mean())
            return replace(total, values=shifted).scaled(len(groups) / m)

        return replace(
            part.scaled(part.n_rows / self.n_rows),
            linear=linear,
            totals=tuple(map(sampled, self.totals)),
            soft_totals=tuple(map(sampled, self.soft_totals)),
        )

    def scaled(self, share: float) -> Rules:
        """The same with bounds on sums times a share, for a sample of the groups."""
        sizes = None if self.sizes is None else self.sizes.scaled(share, self.n_rows)
        totals, soft = (
            tuple(total.scaled(share) for total in each) for each in (self.totals, self.soft_totals)
        )
        return replace(self, sizes=sizes, totals=totals, soft_totals=soft)

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
        totals, soft = (
            tuple(each.less(sums_by(fixed, each.values[rest], k)) for each in of_kind)
            for of_kind in (self.totals, self.soft_totals)
        )
        left = replace(self, pins=no_pairs(), sizes=sizes, totals=totals, linear=linear)
        return replace(left, soft_totals=soft).part(np.flatnonzero(chosen))

    def unpriced(self) -> Rules:
        """The same without soft pins, sizes and totals."""
        if not (len(self.soft_sums) or len(self.soft_pins)):
            return self
        sizes = self.sizes
        if sizes is not None:
            sizes = replace(sizes, soft=None) if sizes.binds(self.n_rows) else None
        return replace(self, sizes=sizes, soft_totals=(), soft_pins=SoftPins.none())

    def with_sums(self) -> Rules:
        """The same with linear rows as totals that have one cluster and many groups.

        Rows of the same coefficients are one total.
        """
        if self.linear is None:
            return self
        totals, rest = self.linear.as_totals(self.n_clusters)
        return replace(self, totals=(*self.totals, *totals), linear=rest)

    def pairs_only(self) -> Rules:
        """The same without sizes, totals and linear rows."""
        return replace(self, sizes=None, totals=(), linear=None, soft_totals=())

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
            rules += list(self.sizes.columns.astype(float))
        for total in (*self.totals, *self.soft_totals):
            rules += [total.lower, total.upper]
        if self.linear is not None:
            rules.append(np.arange(k, dtype=float))
        pins = np.concatenate([self.pins[:, 1], self.soft_pins.pins[:, 1]])
        pinned = np.bincount(pins, minlength=k) > 0
        rules.append(np.where(pinned, np.arange(1.0, k + 1.0), 0.0))
        return np.array(rules)

    @property
    def numbered(self) -> bool:
        """Whether some rule holds for clusters by their number."""
        rules = self.cluster_rules()
        return bool(np.any(rules != rules[:, :1]))


@dataclass(frozen=True)
class Contraction:
    """Rows joined into groups, given the number of each row's group.

    Each group becomes one weighted point, which changes the k-means objective by a constant.

    Examples
    --------
    >>> import numpy as np
    >>> joined = Contraction(np.array([0, 1, 0]))
    >>> points, weight, count, scatter = joined.apply(np.array([[0.0], [5.0], [2.0]]))
    >>> points.ravel(), count, scatter
    (array([1., 5.]), array([2, 1]), 2.0)
    """

    group: IntArray

    @cached_property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max(initial=-1)) + 1

    def apply(
        self, X: Matrix, weight: ArrayLike | None = None
    ) -> tuple[Matrix, FloatArray, IntArray, float]:
        """Contract the rows of ``X``, dense or CSR, with weights that are 1 by default.

        Returns the weighted mean of each group (the plain mean where all weights are 0, ``X``
        itself if no rows are joined), the sum of its weights, the number of its rows, and the
        scatter ``sum_i w_i |x_i - mean of its group|^2``.
        """
        n = X.shape[0]
        w = np.ones(n) if weight is None else np.asarray(weight, np.float64)
        count = np.bincount(self.group, minlength=self.n_groups)
        if self.n_groups == n:
            return X, w, count, 0.0
        total = sums_by(self.group, w, self.n_groups)
        share = np.where(total[self.group] > 0, w, 1.0)
        share /= sums_by(self.group, share, self.n_groups)[self.group]
        means = self._sparse_means if sparse.issparse(X) else self._dense_means
        points, scatter = means(X, w, share)
        return points, total, count, scatter

    def _dense_means(self, X: Matrix, w: FloatArray, share: FloatArray) -> tuple[Matrix, float]:
        points = np.empty((self.n_groups, X.shape[1]), X.dtype)
        shared = np.bincount(self.group)[self.group] > 1
        joined, alone = np.flatnonzero(shared), np.flatnonzero(~shared)
        points[self.group[alone]] = X[alone]
        # Only rows of larger groups are widened to float64.
        members, of = X[joined].astype(np.float64), self.group[joined]
        groups, local = np.unique(of, return_inverse=True)
        shape = (len(groups), len(joined))
        mix = sparse.csr_array((share[joined], (local, np.arange(len(joined)))), shape=shape)
        means = mix @ members
        points[groups] = means
        members -= means[local]
        return points, float(w[joined] @ np.einsum("ij,ij->i", members, members))

    def _sparse_means(self, X: Matrix, w: FloatArray, share: FloatArray) -> tuple[Matrix, float]:
        n = X.shape[0]
        mix = sparse.csr_array((share, (self.group, np.arange(n))), shape=(self.n_groups, n))
        means = sparse.csr_array(mix @ X)
        # Differences would fill in, so the scatter is a difference of squared norms here.
        total = sums_by(self.group, w, self.n_groups)
        scatter = float(w @ _squared_norms(X) - total @ _squared_norms(means))
        means.sort_indices()
        return means.astype(X.dtype), max(scatter, 0.0)


def _squared_norms(X: sparse.csr_array) -> FloatArray:
    return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
