"""Variations of answers: labels or clusters from which a descent may end lower.

*Relocate*: one cluster is given up and another is split.  *Reseed*: some neighbouring clusters are
seeded anew from their own groups.  *Shuffle*: some groups of mixed clusters change places.
*Replace*: a cluster is put around another group near it, where centres are groups.  *Exchange
bounds*: two clusters change sizes, where the order of the sizes is free.  *Rename*: two clusters
that have rules of their own exchange their groups; at the end all pairs of near ones exchange their
centres (`exchanges`).  *Cross*: the clusters of two parents are matched, and one of each pair is
taken (HG-means, Gribel and Vidal 2019).  All but the last change few clusters, and only these are
searched again.

Clusters that are connected in a graph have variations that stay so.  *Recut*: two adjacent clusters
are merged, and a random spanning tree is cut.  *Relocate*: two are merged and another is cut.
*Reseed* and *cross* mend what is not connected (:mod:`.territory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import numbers as at
from .._typing import BoolArray, FloatArray, IntArray
from ..rules import Rules, SizeBounds
from .descent import Answer, Varied
from .model import Model, Priced
from .shape import Shape
from .territory import Merged, adjacent_pairs, mended


class Variation:
    """Makes variations of answers, of clusters of any shape."""

    def __init__(self, rules: Rules, shape: Shape, random_state: np.random.RandomState) -> None:
        self.rules, self.shape, self.random_state = rules, shape, random_state
        soft = np.concatenate([rules.soft_sums.lower, rules.soft_sums.upper])
        self._unlike = rules.numbered or bool(np.any(soft != soft[:, :1]))
        self._own: WeakKeyDictionary[Answer, FloatArray] = WeakKeyDictionary()
        self._amount = np.ascontiguousarray(rules.sums().and_(rules.soft_sums).values.T)
        self._priced = None if rules.adjacency is None else shape.priced(rules)

    @property
    def crosses(self) -> bool:
        """Whether clusters have centres that make sense in another answer, or split in two."""
        return not self.shape.mixes

    @property
    def tells_apart(self) -> bool:
        """Whether clusters have centres that may change places, and bounds of their own."""
        sums = self.rules.sums()
        bounds = np.concatenate([sums.lower, sums.upper])
        own = bool(np.any(bounds != bounds[:, :1]))
        return self.crosses and self.rules.numbered and own

    def local(self, answer: Answer, fills: bool = False) -> Varied:
        """A variation of few clusters, each kind that there is with the same chance.

        Half of those of an answer with an empty cluster fill it, or all of them.
        """
        if self._priced is not None:
            return self._ranked(self._connected(answer, self._priced))
        k, kinds = self.rules.n_clusters, [self._reseeded]
        empty = np.flatnonzero(np.bincount(answer.labels, minlength=k) == 0)
        if len(empty) and (fills or self.random_state.randint(2)) and self.crosses:
            return self._relocated(answer, empty)
        if k > 1 and not self.crosses:
            kinds.append(self._shuffled)
        if k > 2 and self.crosses:
            kinds.append(self._relocated)
        if self.rules.sizes_vary:
            kinds.append(self._exchanged)
        if k > 1 and self._unlike:
            kinds.append(self._renamed)
        if k > 1 and self.shape.among_groups:
            kinds.append(self._replaced)
        varied = kinds[self.random_state.randint(len(kinds))](answer)
        return self._ranked(varied) if varied.rules is answer.rules else varied

    def _connected(self, answer: Answer, priced: Priced) -> Varied:
        """A variation whose clusters are connected."""
        draw, k, labels = self.random_state, self.rules.n_clusters, answer.labels.copy()
        if k == 1:
            return Varied(labels, np.zeros(k, bool), answer.rules, answer.prices)
        least = 0.0
        if answer.prices is not None:
            least = np.abs(answer.prices.prices).max(axis=0, initial=0.0)
        priced = priced.with_bounds(answer.rules) if self.rules.sizes_vary else priced
        model = priced.at(1.0, least)
        if not self.shape.follows:
            table = np.ascontiguousarray(self.shape.table(answer.clusters))
            model = model._replace(points=table)
        pairs, awake = adjacent_pairs(model, labels), np.zeros(k, bool)
        empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
        kind = draw.randint(
            3 + (self.rules.sizes_vary or (self._unlike and not len(self.rules.pins)))
        )
        if kind == 3:
            return self._exchanged(answer) if self.rules.sizes_vary else self._renamed(answer)
        if len(empty) or (kind == 0 and len(pairs) > 1):
            self._relocate(model, answer, labels, pairs, empty, awake)
        elif kind == 1 or not len(pairs):
            near = self._around(pairs, self._few())
            inside = np.flatnonzero(_within(labels, near, k))
            if len(inside) > len(near) > 1:
                labels[inside] = near[self.shape.seeded(inside, len(near), draw)]
            awake[near] = True
            costs = self.shape.table(self.shape.clusters(labels, answer.clusters))
            made = mended(self.rules, labels, costs, draw)
            labels = answer.labels.copy() if made is None else made
            moved = labels != answer.labels
            awake[labels[moved]] = awake[answer.labels[moved]] = True
        else:
            a, b = pairs[draw.randint(len(pairs))].tolist()
            self._cut(model, labels, a, b, np.isin(labels, (a, b)), awake)
        return Varied(labels, awake, answer.rules, answer.prices)

    def _relocate(
        self,
        model: Model,
        answer: Answer,
        labels: IntArray,
        pairs: IntArray,
        empty: IntArray,
        awake: BoolArray,
    ) -> None:
        """Merge two adjacent clusters, unless one is empty, and cut a costly one; in place."""
        draw, k = self.random_state, self.rules.n_clusters
        if len(empty):
            gone = int(empty[draw.randint(len(empty))])
        else:
            some = pairs[draw.randint(len(pairs), size=min(len(pairs), at.WIDTH))]
            gaps = self.shape.gaps(answer.clusters, answer.clusters)
            kept, gone = some[gaps[some[:, 0], some[:, 1]].argmin()].tolist()
            free = self.rules.pins[:, 1]
            if gone in free:
                kept, gone = gone, kept
            if gone in free:
                return
            labels[labels == gone] = kept
            awake[[kept, gone]] = True
        own = np.maximum(np.bincount(labels, self._own_costs(answer), minlength=k), 0.0)
        own = own + own.sum() * np.bincount(labels, minlength=k) / len(labels) + 1e-12
        split = int(draw.choice(k, p=own / own.sum()))
        self._cut(model, labels, split, gone, labels == split, awake)

    def _cut(
        self, model: Model, labels: IntArray, a: int, b: int, inside: BoolArray, awake: BoolArray
    ) -> None:
        """Cut some groups into two clusters; in place."""
        groups = np.flatnonzero(inside)
        found = Merged(model, groups, (a, b)).cut(self.random_state)
        if found is not None:
            labels[groups] = found[0]
        awake[[a, b]] = True

    def _around(self, pairs: IntArray, number: int) -> IntArray:
        """So many clusters, or fewer, each of them adjacent to one before."""
        draw = self.random_state
        chosen = [int(draw.randint(self.rules.n_clusters))]
        while len(chosen) < number:
            near = pairs[np.isin(pairs, chosen).sum(axis=1) == 1]
            others = np.setdiff1d(near, chosen)
            if not len(others):
                break
            chosen.append(int(others[draw.randint(len(others))]))
        return np.array(chosen)

    def _ranked(self, varied: Varied) -> Varied:
        """The same with the bounds on sizes of the clusters that changed by their new sizes.

        Where their order is free, the largest bounds go to the largest clusters.
        """
        rules, some = varied.rules, np.flatnonzero(varied.awake)
        if not rules.sizes_vary or rules.sizes is None:
            return varied
        lower, upper = (bound[some] for bound in rules.sizes.aimed)
        counts = np.bincount(varied.labels, rules.count, minlength=rules.n_clusters)[some]
        order = np.arange(rules.n_clusters)
        order[some[np.argsort(counts, kind="stable")]] = some[np.lexsort((upper, lower))]
        if np.array_equal(rules.sizes.columns[:, order], rules.sizes.columns):
            return varied
        return replace(varied, rules=rules.with_sizes_in_order(order))

    def _exchanged(self, answer: Answer) -> Varied:
        """The bounds of two clusters exchanged, the nearer the likelier."""
        sizes, k, draw = answer.rules.sizes, self.rules.n_clusters, self.random_state
        if sizes is None:
            raise AssertionError("only sizes have an order")
        a, b = self._pair_by_prices(answer, sizes) or (int(draw.randint(k)), -1)
        if b < 0:
            b = self._near(answer, a, np.any(sizes.columns != sizes.columns[:, [a]], axis=0))
        order = np.arange(k)
        order[[a, b]] = b, a
        awake = np.zeros(k, bool)
        awake[[a, b]] = True
        rules = answer.rules.with_sizes_in_order(order)
        return Varied(answer.labels.copy(), awake, rules, answer.prices)

    def _renamed(self, answer: Answer) -> Varied:
        """Two clusters that have rules of their own exchange all groups that are not pinned."""
        labels, k, draw = answer.labels.copy(), self.rules.n_clusters, self.random_state
        a, awake = int(draw.randint(k)), np.zeros(k, bool)
        b = self._near(answer, a, np.arange(k) != a)
        order = np.arange(k)
        order[[a, b]] = b, a
        labels = order[labels]
        labels[self.rules.pins[:, 0]] = self.rules.pins[:, 1]
        awake[[a, b]] = True
        return Varied(labels, awake, answer.rules, answer.prices)

    def exchanges(self, answer: Answer) -> Iterator[Any]:
        """Clusters of an answer of which two that rules tell apart have changed places.

        Each pair of near clusters once, the nearest first.
        """
        k, rules = self.rules.n_clusters, self.rules.cluster_rules()
        gaps = self.shape.gaps(answer.clusters, answer.clusters)
        near = np.argsort(np.argsort(gaps, axis=1, kind="stable"), axis=1) <= at.WIDTH
        unlike = np.any(rules[:, :, None] != rules[:, None], axis=0)
        first, second = np.nonzero(np.triu(unlike & (near | near.T), 1))
        for place in np.argsort(gaps[first, second], kind="stable").tolist():
            order = np.arange(k)
            order[[first[place], second[place]]] = second[place], first[place]
            yield self.shape.some(answer.clusters, order)

    def _near(self, answer: Answer, a: int, others: BoolArray) -> int:
        """One of some other clusters, the nearer to a cluster the likelier."""
        other = np.flatnonzero(others)
        near = other[np.argsort(self._gaps(answer.clusters, a)[other], kind="stable")]
        return int(near[min(int(self.random_state.geometric(0.5)) - 1, len(near) - 1)])

    def _pair_by_prices(self, answer: Answer, sizes: SizeBounds) -> tuple[int, int] | None:
        """Two clusters whose sizes should be exchanged by their prices, in half of the cases.

        Exchanging sizes u changes the cost by about ``(u_a - u_b) (p_a - p_b)``, p the prices.
        """
        draw, k = self.random_state, self.rules.n_clusters
        if answer.prices is None or draw.uniform() < 0.5:
            return None
        price, wanted = answer.prices.prices[:, 0], np.sum(sizes.aimed, axis=0) / 2.0
        change = (wanted[:, None] - wanted) * (price[:, None] - price)
        gain = np.maximum(-change, 0.0).ravel()
        if gain.sum() <= 0.0:
            return None
        a, b = divmod(int(draw.choice(k * k, p=gain / gain.sum())), k)
        return a, b

    def _relocated(self, answer: Answer, among: IntArray | None = None) -> Varied:
        """A cluster whose groups cost little elsewhere is given up, and a costly one is split.

        The first is one of some clusters, drawn if they are not given.
        """
        labels, k, draw = answer.labels.copy(), self.rules.n_clusters, self.random_state
        own = self._own_costs(answer)
        cost = np.bincount(labels, own, minlength=k)
        if cost.sum() <= 0.0:
            return self._reseeded(answer)
        share = cost / cost.sum()
        if among is not None:  # a costly cluster that has no half of its own is not drawn for ever
            share = (share + np.bincount(labels, minlength=k) / len(labels)) / 2.0
        split = int(draw.choice(k, p=share))
        some = draw.choice(k, min(at.WIDTH, k), replace=False) if among is None else among
        some = some[some != split]
        if not len(some) or np.count_nonzero(labels == split) < 2:
            return self._reseeded(answer)
        members = np.flatnonzero(_within(labels, some, k))
        costs: FloatArray = np.empty((0, k))
        if len(members):
            costs = self.shape.some_costs(members, answer.clusters)
        costs[np.arange(len(members)), labels[members]] = np.inf
        rise = costs.min(axis=1) - own[members]
        loss = np.bincount(labels[members], rise, minlength=k)[some]
        gone = int(some[loss.argmin()])
        awake = np.zeros(k, bool)
        inside = labels[members] == gone
        labels[members[inside]] = costs[inside].argmin(axis=1)
        awake[labels[members[inside]]] = True
        halves = np.flatnonzero(labels == split)
        labels[halves] = np.where(self.shape.seeded(halves, 2, draw) == 0, split, gone)
        awake[[gone, split]] = True
        prices = answer.prices
        if prices is not None:
            sources = np.arange(k)
            sources[gone] = split
            prices = replace(prices, prices=prices.prices[sources])
        return Varied(labels, awake, answer.rules, prices)

    def _own_costs(self, answer: Answer) -> FloatArray:
        """What each group of an answer costs; it is kept for the answer's next child."""
        if answer not in self._own:
            self._own[answer] = self.shape.own_costs(answer.labels, answer.clusters)
        return self._own[answer]

    def _reseeded(self, answer: Answer) -> Varied:
        """Some neighbouring clusters seeded anew."""
        labels, k, draw = answer.labels.copy(), self.rules.n_clusters, self.random_state
        number = self._few()
        if self.crosses:
            gaps = self._gaps(answer.clusters, int(draw.randint(k)))
            near: IntArray = np.argsort(gaps, kind="stable")[:number]
        else:
            number = number if draw.randint(2) else min(2, k)
            near = self._uneven(answer, number)
        inside = np.flatnonzero(_within(labels, near, k))
        if len(inside) > number > 1:
            labels[inside] = near[self.shape.seeded(inside, number, draw)]
        awake = np.zeros(k, bool)
        awake[near] = True
        return Varied(labels, awake, answer.rules, answer.prices)

    def _uneven(self, answer: Answer, number: int) -> IntArray:
        """Some clusters, in half of the cases with one that pays for soft sums, if any does."""
        k, draw, soft = self.rules.n_clusters, self.random_state, answer.rules.soft_sums
        some = draw.choice(k, number, replace=False)
        if len(soft) and draw.randint(2):
            paid = (soft.price * soft.outside(soft.reached(answer.labels))).sum(axis=0)
            if paid.any():
                first = int(draw.choice(k, p=paid / paid.sum()))
                some = np.append(first, some[some != first][: number - 1])
        return np.asarray(some)

    def _shuffled(self, answer: Answer) -> Varied:
        """Some groups of some clusters change places in a ring."""
        labels, k, draw = answer.labels.copy(), self.rules.n_clusters, self.random_state
        some, awake = self._uneven(answer, self._few()), np.zeros(k, bool)
        inside = np.flatnonzero(_within(labels, some, k))
        number = int(2.0 * max(len(inside) / 4.0, 1.0) ** draw.uniform())
        chosen = draw.permutation(inside)[:number]
        labels[chosen] = labels[np.roll(chosen, 1)]
        awake[some] = True
        return Varied(labels, awake, answer.rules, answer.prices)

    def _few(self) -> int:
        """A number of clusters that change together, from two on; small ones are likelier.

        Its logarithm is uniform: few clusters succeed more often and take less work.
        """
        most = min(self.rules.n_clusters, at.WIDTH)
        return int(2.0 * ((most + 1) / 2.0) ** self.random_state.uniform()) if most > 1 else 1

    def _replaced(self, answer: Answer) -> Varied:
        """A cluster around another group near it; near clusters are assigned anew at the prices."""
        labels, k, draw = answer.labels.copy(), self.rules.n_clusters, self.random_state
        gaps = self._gaps(answer.clusters, int(draw.randint(k)))
        near = np.argsort(gaps, kind="stable")[: self._few()]
        inside = np.flatnonzero(_within(labels, near[:2], k))
        if len(inside):
            clusters = self.shape.moved(answer.clusters, near[0], int(draw.choice(inside)))
            inside = np.flatnonzero(_within(labels, near, k))
            costs = self.shape.some_costs(inside, self.shape.some(clusters, near))
            if answer.prices is not None:
                costs = costs + self._amount[inside] @ answer.prices.prices[near].T
            labels[inside] = near[costs.argmin(axis=1)]
        awake = np.zeros(k, bool)
        awake[near] = True
        return Varied(labels, awake, answer.rules, answer.prices)

    def _gaps(self, clusters: Any, j: int) -> FloatArray:
        """How far all clusters are from one."""
        return self.shape.gaps(clusters, self.shape.some(clusters, np.array([j])))[:, 0]

    def crossed(self, first: Answer, second: Answer) -> Any:
        """Clusters of which each is one of two that match, one of them moved."""
        draw, k, shape = self.random_state, self.rules.n_clusters, self.shape
        gaps = shape.gaps(first.clusters, second.clusters)
        rules = self.rules.cluster_rules()
        other = np.any(rules[:, :, None] != rules[:, None], axis=0)
        gaps = np.where(other, gaps.max() * k + 1.0, gaps)
        match = linear_sum_assignment(gaps)[1]
        mine = draw.uniform(size=k) < 0.5
        if self._priced is not None:
            return self._crossed_labels(first, second, match, mine)
        clusters = shape.mixed(first.clusters, shape.some(second.clusters, match), mine)
        # One cluster goes to a group that is far from all of them.
        m = self.rules.n_groups
        group = int(draw.randint(m))
        sample = np.unique(draw.randint(m, size=min(1 + 2 * k, m)))
        far = shape.some_costs(sample, clusters).min(axis=1)
        far -= min(far.min(), 0.0)
        if far.sum() > 0.0:
            group = int(sample[draw.choice(len(far), p=far / far.sum())])
        return shape.moved(clusters, int(draw.randint(k)), group)

    def _crossed_labels(
        self, first: Answer, second: Answer, match: IntArray, mine: BoolArray
    ) -> IntArray:
        """Some clusters of the first, and the groups left of those that match others."""
        place = np.empty(len(match), np.int64)
        place[match] = np.arange(len(match))
        theirs = place[second.labels]
        other = np.where(mine[theirs], first.labels, theirs)
        labels: IntArray = np.where(mine[first.labels], first.labels, other)
        return labels


def _within(labels: IntArray, some: IntArray, k: int) -> BoolArray:
    """Whether groups are in some of the clusters."""
    inside = np.zeros(k, bool)
    inside[some] = True
    return inside[labels]
