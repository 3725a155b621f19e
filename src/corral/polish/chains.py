"""Shifts, swaps and short ejection chains of groups, the centres moving along.

A *shift* takes a group g from its cluster a to a near one b.  A *chain* also takes a group h out of
b, to make room, into a cluster c near to it; if c is a, the two groups change places.  A change is
worth

    (rise of the costs, centres moved) + price * (rise of what sums, linear rows and pairs miss),

with a price at which breaking rules does not pay.  Descents start from labels that break rules as
well as from those that do not: this one mechanism repairs and improves.

There are some t m shifts and t^2 m^2 / k chains, t the number of near clusters.  Chains are left
out as soon as a lower bound on their rise is positive: first for g and b, then for g, b and h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .excess import Steps
from .partition import Partition

#: Most first legs of chains that one scan looks at, those of least bound first.
FIRST_LEGS = 3_000
#: Groups of a cluster that may be ejected: those that cost least elsewhere.
EJECTED = 40
#: Factor by which the price of a unit of excess grows while rules are broken.
DEARER = 3.0
#: Prices in a row that may leave the rules as broken as they were.  More find answers to a few
#: tight problems, and take longer before an integer program looks for one.
IN_VAIN = 2
#: Falls below this part of the objective are rounding.
NEGLIGIBLE = 1e-10


def obey(
    part: Partition, price: float, dirty: BoolArray, prices: int, to_beat: float = np.inf
) -> float | None:
    """Descend at higher and higher prices until no rule is broken; the last price, or None.

    It is given up once the objective is above ``to_beat``, because obeying more raises it further,
    and when higher prices have not changed what the rules miss.
    """
    missed, in_vain = np.inf, 0
    for _ in range(prices):
        descend(part, price, dirty)
        if part.feasible:
            return price
        in_vain = in_vain + 1 if part.missed >= missed else 0
        missed = part.missed
        if part.objective > to_beat or in_vain == IN_VAIN or part.deadline.passed:
            return None
        price, dirty = DEARER * price, np.ones_like(dirty)
    return None


def descend(part: Partition, price: float, dirty: BoolArray) -> None:
    """Make changes that pay until there is none that touches a dirty cluster.

    Clusters that a change touched become dirty.  Changes that pay by no more than rounding end it.
    """
    value = part.valued(price)
    least = NEGLIGIBLE * value
    shifting, chaining = dirty.copy(), dirty.copy()
    while not part.deadline.passed:
        if shifting.any():
            steps, rise = shifts(part, shifting, price, least)
            shifting &= len(steps) > 0
        elif chaining.any():
            steps, rise = chains(part, chaining, price, least)
            chaining &= len(steps) > 0
        else:
            return
        if len(steps):
            before = part.labels.copy()
            touched = part.put(*_disjoint(part, steps, rise).moved())
            known, value = value, part.valued(price)
            if value >= known:
                part.restore(before)
                return
            shifting[touched] = chaining[touched] = True


def shifts(
    part: Partition, dirty: BoolArray, price: float, least: float
) -> tuple[Steps, FloatArray]:
    """Shifts that pay, and their rises."""
    g, b = part.legs(dirty)
    rise = part.leaving(price)[g] + part.arriving(g, b, price)
    return _paying(part, Steps(g, part.labels[g], b), rise, price, least)


def chains(
    part: Partition, dirty: BoolArray, price: float, least: float
) -> tuple[Steps, FloatArray]:
    """Chains and swaps that pay, and their rises."""
    pairs = _ejections(part, dirty, price)
    pairs = pairs.take(np.flatnonzero(pairs.bound(part, price) < pairs.relief))
    apart = part.apart(pairs.g, pairs.h)
    (through, rise), (swaps, swap_rise) = (
        kind(part, apart, price) for kind in (pairs.through, pairs.swaps)
    )
    return _paying(part, through.and_(swaps), np.concatenate([rise, swap_rise]), price, least)


def _paying(
    part: Partition, steps: Steps, rise: FloatArray, price: float, least: float
) -> tuple[Steps, FloatArray]:
    """The changes that pay, with what they break or mend; hopeless ones are left out first."""
    hopeful = np.flatnonzero(rise < part.most_saved(steps, price) - least)
    steps = steps.take(hopeful)
    rise = rise[hopeful] + part.raised(steps, price)
    paying = np.flatnonzero(rise < -least)
    return steps.take(paying), rise[paying]


@dataclass(frozen=True)
class Ejections:
    """Pairs of groups: g comes from a to b, and h leaves b.

    ``leaving`` is the rise of the costs when g leaves a, ``elsewhere`` the least rise when h
    arrives at another cluster, and ``relief`` the most that mended rules can save.
    """

    g: IntArray
    a: IntArray
    b: IntArray
    h: IntArray
    leaving: FloatArray
    elsewhere: FloatArray
    relief: FloatArray

    def take(self, which: IntArray) -> Ejections:
        """Some of the pairs."""
        return Ejections(*(each[which] for each in vars(self).values()))

    def bound(self, part: Partition, price: float) -> FloatArray:
        """Lower bound on the rise."""
        away = self.leaving + self.elsewhere
        swap = part.replaced(self.a, self.h, self.g) + self._paid(part, self.a, -1, price)
        at_b = part.replaced(self.b, self.g, self.h) + self._paid(part, self.b, 1, price)
        return np.asarray(at_b + np.minimum(away, swap))

    def swaps(
        self, part: Partition, apart: FloatArray | None, price: float
    ) -> tuple[Steps, FloatArray]:
        """Changes in which g and h change places."""
        at_a = part.replaced(self.a, self.h, self.g, apart) + self._paid(part, self.a, -1, price)
        at_b = part.replaced(self.b, self.g, self.h, apart) + self._paid(part, self.b, 1, price)
        return Steps(self.g, self.a, self.b, self.h, self.a), at_a + at_b

    def through(
        self, part: Partition, apart: FloatArray | None, price: float
    ) -> tuple[Steps, FloatArray]:
        """Changes in which h goes on to a third cluster."""
        at_b = part.replaced(self.b, self.g, self.h, apart) + self._paid(part, self.b, 1, price)
        rise = self.leaving + at_b
        hopeful = np.flatnonzero(rise + self.elsewhere < self.relief)
        near = part.near[self.h[hopeful]]
        third = (near != self.a[hopeful, None]) & (near != self.b[hopeful, None])
        row, place = np.nonzero(third)
        i, c = hopeful[row], near[row, place]
        rise = rise[i] + part.arriving(self.h[i], c, price)
        return Steps(self.g[i], self.a[i], self.b[i], self.h[i], c), rise

    def _paid(
        self, part: Partition, cluster: IntArray, sign: int, price: float
    ) -> FloatArray | float:
        """What pairs and pins cost more when g (sign 1) or h (-1) replaces the other there."""
        more = part.paid(self.g, cluster, price) - part.paid(self.h, cluster, price)
        if part.pairs is None:
            return sign * more
        return sign * more - part.pairs.between(self.g, self.h, price)


def _ejections(part: Partition, dirty: BoolArray, price: float) -> Ejections:
    """Groups that come with groups that may leave for them."""
    g, b = part.legs(dirty)
    a = part.labels[g]
    entered = np.zeros(part.rules.n_clusters, bool)
    entered[b] = True
    leaving = part.leaving(price)
    elsewhere = part.elsewhere(part.mobile & entered[part.labels], price)
    members = _Members.of(part, elsewhere, leaving)
    # Of a swap, a may lack what h brings; of a chain, the third cluster may.
    relief = part.most_saved(Steps(g, a, b), price, lacking=True)
    bound = leaving[g] + members.bound(part, g, b, price) - relief
    # In a swap g's place in a also goes to h, which g's leaving alone does not know.
    bound -= part.swap_slack(g)
    legs = np.flatnonzero(bound < 0.0)
    if len(legs) > FIRST_LEGS:
        legs = legs[np.argpartition(bound[legs], FIRST_LEGS)[:FIRST_LEGS]]
    leg, h = members.of_each(b[legs])
    i = legs[leg]
    return Ejections(g[i], a[i], b[i], h, leaving[g[i]], elsewhere[h], relief[i])


@dataclass(frozen=True)
class _Members:
    """Groups that may be ejected, by cluster, those first that cost least elsewhere.

    Of each cluster: ``least`` is the smallest difference between what a member costs elsewhere and
    here; ``heaviest`` and ``farthest`` are the largest weight and entry of ``squares``.
    """

    order: IntArray
    start: IntArray
    count: IntArray
    least: FloatArray
    heaviest: FloatArray
    farthest: FloatArray

    @classmethod
    def of(cls, part: Partition, elsewhere: FloatArray, leaving: FloatArray) -> _Members:
        k = part.rules.n_clusters
        able = np.flatnonzero(np.isfinite(elsewhere))
        order = able[np.lexsort(((elsewhere + leaving)[able], part.labels[able]))]
        own = part.labels[order]
        count = np.bincount(own, minlength=k)
        least, heaviest, farthest = np.full(k, np.inf), np.zeros(k), np.zeros(k)
        np.minimum.at(least, own, (elsewhere - part.cost)[order])
        np.maximum.at(heaviest, own, part.weight[order])
        np.maximum.at(farthest, own, part.squares[own, order])
        return cls(order, np.cumsum(count) - count, count, least, heaviest, farthest)

    def bound(self, part: Partition, g: IntArray, b: IntArray, price: float) -> FloatArray:
        """Lower bound on the rise when g comes to b and some member leaves it for elsewhere."""
        rise = part.displaced(g, b, self.heaviest[b], self.farthest[b]) + self.least[b]
        rise += part.paid(g, b, price) - (0.0 if part.pairs is None else part.pairs.most(price)[g])
        return rise

    def of_each(self, clusters: IntArray) -> tuple[IntArray, IntArray]:
        """The members of each of the clusters: position in ``clusters``, and group."""
        number = np.minimum(self.count[clusters], EJECTED)
        row = np.repeat(np.arange(len(clusters)), number)
        place = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
        return row, self.order[self.start[clusters[row]] + place]


def _disjoint(part: Partition, steps: Steps, rise: FloatArray) -> Steps:
    """Of the changes those that are best for each cluster they touch, so that rises add up.

    Linear rows may tie any clusters together: then it is the best change alone.
    """
    if part.rules.linear is not None:
        return steps.take(np.array([rise.argmin()]))
    rank = np.empty(len(rise), np.int64)
    rank[np.argsort(rise, kind="stable")] = np.arange(len(rise))
    first = np.full(part.rules.n_clusters, len(rise))
    for clusters in steps.clusters:
        np.minimum.at(first, clusters, rank)
    best = [first[clusters] == rank for clusters in steps.clusters]
    return steps.take(np.flatnonzero(np.logical_and.reduce(best)))
