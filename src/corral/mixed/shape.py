"""Mixed groups as the search sees them: a cluster costs what its mean is away from that of all."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..rows import MemoryRows
from ..rules import Rules
from ..search.model import Priced, diverse_model, mixed_model
from ..search.shape import MeansShape
from .deal import deal

#: How far the order of a child's rows is from that of their distances to the mean: the standard
#: deviation of the logarithm.  With 0 all children of two groups are the same.
NOISE = 1.0


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
        """Some groups of rows dealt anew."""
        points, count = self.dealt[groups], self.count[groups]
        room = even_room(int(count.sum()), number, random_state)
        strata = self.strata[groups] if random_state.randint(2) else None
        return deal(points, count, room, random_state, strata, noise=NOISE)


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

    def objective(self, labels: IntArray, clusters: FloatArray) -> float:
        """Minus the sum of the distances."""
        return -diversity(self.distance, labels, self.n_clusters)


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
