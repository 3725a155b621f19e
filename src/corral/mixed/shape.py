"""Mixed groups as the search sees them: a cluster costs what its mean is away from that of all."""

from __future__ import annotations

from functools import cache

import numpy as np

from .._typing import FloatArray, IntArray
from ..deal import deal
from ..rows import MemoryRows
from ..rules import Rules
from ..search.model import Priced, diverse_model, mixed_model
from ..search.shape import MeansShape

#: How far the order of a child's rows is from that of their distances to the mean: the standard
#: deviation of the logarithm.  With 0 all children of two groups are the same.
NOISE = 1.0
#: Groups of rows of two clusters up to which all ways to split them are tried, in a millisecond.
EXHAUSTED = 14


class MixedShape(MeansShape):
    """Groups whose means are alike: the sum of ``|S|^2 / W``, S and W of sums and weights.

    The total sum of squares about the mean is the inertia of the groups and this sum, so it is
    smallest where the inertia is largest.

    Attributes
    ----------
    dealt : (m, e) array
        What is dealt: points and categories, times weights.
    strata : (m,) array
        Number of the combination of categories of each group of rows.
    """

    def __init__(
        self,
        rows: MemoryRows,
        rules: Rules,
        dealt: FloatArray,
        strata: IntArray,
    ) -> None:
        super().__init__(rows, rules.n_clusters)
        self.mixes = True
        self.count, self.dealt, self.strata = rules.count, dealt, strata
        self.rules = rules
        sums = rules.sums().and_(rules.soft_sums)
        self._alike = not rules.numbered and not np.ptp([sums.lower, sums.upper], axis=2).any()
        self._sums = sums

    def priced(self, rules: Rules) -> Priced:
        """Points about the mean."""
        return mixed_model(rules, self.rows)

    def objective(self, labels: IntArray, clusters: FloatArray) -> float:
        """What the means are away from that of all, by weight."""
        mass = self.rows.mass(labels, self.n_clusters)
        return float(mass @ np.einsum("kd,kd->k", clusters, clusters))

    def some_costs(self, groups: IntArray, clusters: FloatArray) -> FloatArray:
        """Rise of the costs where the others stay, but for a part of each group of rows."""
        part = self.rows.take(groups)
        points = np.asarray(part.points) - self.rows.middle
        return np.asarray(2.0 * part.weight[:, None] * (points @ clusters.T))

    def gaps(self, clusters: FloatArray, others: FloatArray) -> FloatArray:
        """Clusters whose means differ most come first: their exchanges gain most."""
        return -super().gaps(clusters, others)

    def seeded(
        self, groups: IntArray, number: int, random_state: np.random.RandomState
    ) -> IntArray:
        """Some groups of rows dealt anew; into two the best way, if they are few."""
        if number == 2 and 2 < len(groups) <= EXHAUSTED and self._alike:
            return self._halved(groups)
        points, count = self.dealt[groups], self.count[groups]
        room = even_room(int(count.sum()), number, random_state)
        strata = self.strata[groups] if random_state.randint(2) else None
        return deal(points, count, room, random_state, strata, noise=NOISE)

    def _halved(self, groups: IntArray) -> IntArray:
        """The best of all ways to split some groups of rows in two, by costs and prices."""
        side, sums = halves_of(len(groups)), self._sums
        paid = self._costs_of(groups, side)
        dearest = 1e3 * (1.0 + np.abs(paid).max() + sums.price[np.isfinite(sums.price)].sum())
        price = np.where(np.isfinite(sums.price), sums.price, dearest)[:, 0]
        amount = sums.values[:, groups].T
        lower, upper = sums.lower[:, 0], sums.upper[:, 0]
        load = side @ amount
        for reached in (load, amount.sum(axis=0) - load):
            paid += (np.maximum(reached - upper, 0.0) + np.maximum(lower - reached, 0.0)) @ price
        place = np.full(len(self.count), -1)
        place[groups] = np.arange(len(groups))
        pairs, soft = self.rules.pairs, self.rules.soft
        for ends, cost, joins in (
            (pairs.apart, dearest, False),
            (soft.pairs[soft.together], soft.price[soft.together], True),
            (soft.pairs[~soft.together], soft.price[~soft.together], False),
        ):
            at = place[ends]
            inside = (at >= 0).all(axis=1)
            differ = side[:, at[inside, 0]] != side[:, at[inside, 1]]
            paid += (differ == joins) @ np.broadcast_to(cost, len(ends))[inside]
        return np.asarray(side[int(paid.argmin())].astype(np.int64))

    def _costs_of(self, groups: IntArray, side: FloatArray) -> FloatArray:
        """What both halves cost for each way to split, (ways,)."""
        weight = self.rows.weight[groups]
        points = weight[:, None] * (np.asarray(self.rows.given[0])[groups] - self.rows.middle)
        paid = np.zeros(len(side))
        for half in (side, 1.0 - side):
            sums, mass = half @ points, half @ weight
            paid += (sums * sums).sum(axis=1) / np.where(mass > 0.0, mass, 1.0)
        return paid


class DiverseShape(MixedShape):
    """Groups whose members are far apart: minus the sum of the distances inside groups."""

    def __init__(
        self,
        rows: MemoryRows,
        rules: Rules,
        dealt: FloatArray,
        strata: IntArray,
        distance: FloatArray,
    ) -> None:
        super().__init__(rows, rules, dealt, strata)
        self.distance = distance
        self.making = float(distance.size)

    def priced(self, rules: Rules) -> Priced:
        """Distances between groups of rows."""
        return diverse_model(rules, self.distance)

    def _costs_of(self, groups: IntArray, side: FloatArray) -> FloatArray:
        inside = self.distance[np.ix_(groups, groups)]
        other = 1.0 - side
        twice = ((side @ inside) * side + (other @ inside) * other).sum(axis=1)
        return np.asarray(-0.5 * twice)

    def objective(self, labels: IntArray, clusters: FloatArray) -> float:
        """Minus the sum of the distances."""
        return -diversity(self.distance, labels, self.n_clusters)


@cache
def halves_of(number: int) -> FloatArray:
    """All ways to split so many groups of rows in two, 0 or 1 for each, the first always 0.

    Examples
    --------
    >>> halves_of(3).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    ways = np.arange(2 ** (number - 1))[:, None]
    rest = (ways >> np.arange(number - 1)) & 1
    return np.hstack([np.zeros((len(ways), 1)), rest]).astype(np.float64)


def diversity(distance: FloatArray, labels: IntArray, n_clusters: int) -> float:
    """Sum of the distances between members of the same group, each pair once.

    Examples
    --------
    >>> diversity(
    ...     np.array([[0.0, 2.0, 5.0], [2.0, 0.0, 3.0], [5.0, 3.0, 0.0]]), np.array([0, 1, 0]), 2
    ... )
    5.0
    """
    total = 0.0
    for j in range(n_clusters):
        own = np.flatnonzero(labels == j)
        total += float(distance[np.ix_(own, own)].sum()) / 2.0
    return total


def even_room(n_rows: int, n_groups: int, random_state: np.random.RandomState) -> IntArray:
    """Sizes as equal as possible, the larger ones drawn."""
    room = np.full(n_groups, n_rows // n_groups)
    room[random_state.permutation(n_groups)[: n_rows % n_groups]] += 1
    return room
