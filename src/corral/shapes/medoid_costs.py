"""What groups of rows cost at each candidate for a medoid, the medoids of labels, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import Rules
from .shape import Fitted

#: The medoid of a cluster that has none.
NO_MEDOID = -1


@dataclass(frozen=True)
class MedoidCosts:
    """Costs of groups at candidates, weights included; a :class:`.shape.Shape`.

    If candidates are rows of X, the medoid of a cluster is one of its own members; otherwise no two
    clusters have the same.  The objective is what all groups cost at the medoids of their clusters.

    Attributes
    ----------
    cost : (m, c) array
        Sum over the rows of a group of weight times distance to the candidate.
    home : (c,) array or None
        The group of each candidate; None if candidates are no rows.
    n_clusters : int
    """

    cost: FloatArray
    home: IntArray | None
    n_clusters: int

    @classmethod
    def of(
        cls, distance: FloatArray, weight: FloatArray, rules: Rules, inside: bool
    ) -> MedoidCosts:
        """Weigh distances (n, c), and sum them over the rows of each group.

        ``inside`` says that candidates are the rows themselves.
        """
        home = rules.row_groups if inside else None
        if rules.group is None or rules.n_groups == len(weight):
            cost = distance if np.all(weight == 1.0) else distance * weight[:, None]
            return cls(cost, home, rules.n_clusters)
        member = sparse.csr_array(
            (weight, (rules.group, np.arange(len(weight)))), shape=(rules.n_groups, len(weight))
        )
        return cls(np.asarray(member @ distance), home, rules.n_clusters)

    def own(self) -> IntArray | None:
        """The cheapest candidate among the rows of each group, (m,); None if they are no rows."""
        if self.home is None:
            return None
        alone = self.cost[self.home, np.arange(len(self.home))]
        order = np.lexsort((alone, self.home))
        return order[np.unique(self.home[order], return_index=True)[1]]

    def nearest(self, medoids: IntArray) -> IntArray:
        """Cheapest cluster of each group; the group of a medoid is in the cluster of that."""
        labels: IntArray = self.cost[:, medoids].argmin(axis=1)
        if self.home is not None:
            labels[self.home[medoids]] = np.arange(len(medoids))
        return labels

    def allowed(self, labels: IntArray, cluster: int, medoids: IntArray) -> BoolArray:
        """Which candidates may be the medoid of a cluster, the others having theirs."""
        if self.home is not None:
            return np.asarray(labels[self.home] == cluster)
        free = np.ones(self.cost.shape[1], bool)
        free[np.delete(medoids, cluster)] = False
        return free

    def clusters(self, labels: IntArray) -> IntArray:
        """The best medoids.  A cluster without members gets the candidate that saves most."""
        k, m = self.n_clusters, len(labels)
        member = sparse.csr_array((np.ones(m), (labels, np.arange(m))), shape=(k, m))
        sums = np.asarray(member @ self.cost)
        filled = np.bincount(labels, minlength=k) > 0
        if self.home is not None:
            sums[labels[self.home] != np.arange(k)[:, None]] = np.inf
            medoids = sums.argmin(axis=1)
        else:
            medoids = np.empty(k, np.int64)
            some = np.flatnonzero(filled)
            medoids[some] = linear_sum_assignment(sums[some])[1]
        medoids[~filled] = NO_MEDOID
        return self.completed(medoids, labels)

    def completed(self, medoids: IntArray, labels: IntArray) -> IntArray:
        """The same with a medoid for each cluster without one: the candidate that saves most."""
        missing = np.flatnonzero(medoids == NO_MEDOID)
        if not len(missing):
            return medoids
        medoids = medoids.copy()
        now = self.cost[np.arange(len(labels)), medoids[labels]]
        for j in missing:
            saved = np.maximum(now[:, None] - self.cost, 0.0).sum(axis=0)
            saved[medoids[medoids != NO_MEDOID]] = -1.0
            medoids[j] = saved.argmax()
            now = np.minimum(now, self.cost[:, medoids[j]])
        return medoids

    def with_homes(self, rules: Rules, medoids: IntArray) -> Rules:
        """The rules with the group of each medoid in its cluster, if candidates are rows."""
        if self.home is None:
            return rules
        own = np.column_stack([self.home[medoids], np.arange(len(medoids))])
        return replace(rules, pins=np.unique(np.concatenate([rules.pins, own]), axis=0))

    def costs(self, clusters: IntArray) -> FloatArray:
        """What each group costs at each of the medoids."""
        return self.cost[:, clusters]

    def penalty(self, clusters: IntArray) -> float:
        """Medoids cost nothing themselves."""
        return 0.0


@dataclass(frozen=True)
class Answer(Fitted):
    """An answer, and the rules with sizes in the order that it obeys."""

    rules: Rules

    @classmethod
    def at(cls, costs: MedoidCosts, rules: Rules, labels: IntArray) -> Answer:
        """Labels of the groups with their medoids."""
        found = Fitted.of(costs, rules, labels.copy())
        return cls(found.labels, found.clusters, found.objective, rules)

    def numbered(self, given: Rules, weight: FloatArray) -> Answer:
        """The same with other numbers of the clusters, which do not depend on the start.

        Sizes stand in the order in which the user wrote them.  Of clusters with equal bounds the
        heaviest comes first.  Numbers stay as they are where rules name clusters.
        """
        if given.numbered:
            return self
        k, rows = given.n_clusters, given.to_rows(self.labels)
        wanted = found = np.zeros((2, k), np.int64)
        if given.sizes is not None and self.rules.sizes is not None:
            wanted = np.stack([given.sizes.upper, given.sizes.lower])
            found = np.stack([self.rules.sizes.upper, self.rules.sizes.lower])
        mass = np.bincount(rows, weight, k)
        number = np.empty(k, np.int64)
        number[np.lexsort([-mass, *found])] = np.lexsort([np.arange(k), *wanted])
        clusters = self.clusters[np.argsort(number)]
        return Answer(number[self.labels], clusters, self.objective, given)
