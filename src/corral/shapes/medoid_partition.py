"""A partition whose centres are medoids, for shifts, swaps and chains of groups.

When groups come and go, the medoid of a cluster follows.  Of each cluster the *pool* holds the
candidates of least cost.  Changes are valued with the best medoid of the pool for one group that
comes or leaves, and of these two for both together.  So a rise is never below the true one, and a
change that pays does.  After a change the medoids of the clusters it touched are found anew, among
all candidates.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..plan.medoid_thresholds import POOL
from ..polish.partition import Partition
from ..presolve import Rules
from .medoid_costs import MedoidCosts


class MedoidPartition(Partition):
    """Labels and medoids; weights are in the costs.

    Attributes
    ----------
    costs : MedoidCosts
    centers : (k,) array
        The candidates that are medoids.  An empty cluster keeps the one it had.
    sums : (k, c) array
        What each cluster would cost at each candidate.
    """

    def __init__(
        self,
        costs: MedoidCosts,
        rules: Rules,
        deadline: Deadline,
        labels: IntArray,
        medoids: IntArray,
    ) -> None:
        k, (m, c) = rules.n_clusters, costs.cost.shape
        self.costs, self._own = costs, costs.own()
        self.sums = np.zeros((k, c))
        # Cost of each cluster, that with one more group or one less, and the medoids of these.
        self._now = np.zeros(k)
        self._more, self._more_at = np.empty((k, m)), np.empty((k, m), np.int64)
        self._less, self._less_at = np.empty(m), np.empty(m, np.int64)
        # Cost of each cluster with one more group and without that of its medoid.
        self._instead = np.empty((k, m))
        super().__init__(rules, deadline, labels, medoids, np.ones(m))

    def replaced(
        self, clusters: IntArray, come: IntArray, gone: IntArray, apart: FloatArray | None = None
    ) -> FloatArray:
        """At the best of three medoids: the present, and those for one of the two groups."""
        cost, home = self.costs.cost, self.costs.home
        best = np.full(len(come), np.inf)
        for at in (self.centers[clusters], self._more_at[clusters, come], self._less_at[gone]):
            value = self.sums[clusters, at] + cost[come, at] - cost[gone, at]
            if home is not None:
                value[home[at] == gone] = np.inf
            np.minimum(best, value, out=best)
        if home is not None:
            heads = np.flatnonzero(home[self.centers[clusters]] == gone)
            best[heads] = self._instead[clusters[heads], come[heads]]
        rise: FloatArray = best - self._now[clusters]
        return rise

    def left(self) -> FloatArray:
        """At the best medoid of the pool."""
        return self._less

    def joined(self, groups: IntArray, clusters: IntArray) -> FloatArray:
        """At the best medoid of the pool."""
        return self._more[clusters, groups] - self._now[clusters]

    def displaced(
        self, groups: IntArray, clusters: IntArray, heaviest: FloatArray, farthest: FloatArray
    ) -> FloatArray:
        """At the best medoid of the pool."""
        return self.joined(groups, clusters)

    def swap_slack(self, groups: IntArray) -> float:
        """None."""
        return 0.0

    def apart(self, groups: IntArray, others: IntArray) -> None:
        """Nothing has to be known."""

    def nearby(self, cluster: int) -> IntArray:
        """By what the members of the cluster would cost at the medoids of others."""
        return np.argsort(self.sums[cluster, self.centers], kind="stable")

    def seeded(self, groups: IntArray, seed: int) -> FloatArray:
        """At the seed's own candidate, or at the cheapest for it."""
        at = self.costs.cost[seed].argmin() if self._own is None else self._own[seed]
        return np.asarray(self.costs.cost[groups, at])

    def split(self, cluster: int) -> tuple[float, IntArray]:
        """With the second medoid that saves most, the first staying."""
        medoid = self.centers[cluster]
        members = np.flatnonzero(self.labels == cluster)
        able = np.flatnonzero(self.costs.allowed(self.labels, cluster, self.centers))
        if not len(members) or not len(able):
            return 0.0, np.array([medoid, medoid])
        saved = self.cost[members, None] - self.costs.cost[np.ix_(members, able)]
        gains = np.maximum(saved, 0.0).sum(axis=0)
        return float(gains.max()), np.array([medoid, able[gains.argmax()]])

    def second_half(self, groups: IntArray, centers: IntArray) -> IntArray:
        """By costs."""
        at = self.costs.cost[np.ix_(groups, centers)]
        return np.asarray(groups[at[:, 1] < at[:, 0]])

    def _follow(self, touched: IntArray) -> None:
        for j in touched:
            self._follow_cluster(int(j), np.flatnonzero(self.labels == j))
        self.squares[touched] = self.costs.cost[:, self.centers[touched]].T
        self.cost = self.squares[self.labels, self.groups]

    def _follow_cluster(self, j: int, members: IntArray) -> None:
        """Sums, medoid and pool of one cluster, and what changes of it are worth."""
        cost, home = self.costs.cost, self.costs.home
        sums = self.sums[j] = cost[members].sum(axis=0)
        able = np.flatnonzero(self.costs.allowed(self.labels, j, self.centers))
        if not len(members):
            self._now[j] = 0.0
            self._follow_empty(j, able)
            return
        if len(able) > POOL:
            able = able[np.argpartition(sums[able], POOL - 1)[:POOL]]
        pool = able[np.argsort(sums[able], kind="stable")]
        self.centers[j], self._now[j] = pool[0], sums[pool[0]]
        at_pool = cost[:, pool]
        self._more[j], self._more_at[j] = self._least(sums[pool] + at_pool, pool)
        less = sums[pool] - at_pool[members]
        if home is not None:
            less[home[pool] == members[:, None]] = np.inf
        place = less.argmin(axis=1)
        self._less_at[members] = pool[place]
        self._less[members] = less[np.arange(len(members)), place] - self._now[j]
        if len(members) == 1:
            self._less[members] = -self._now[j]
        if home is not None:
            self._follow_own(j, home[pool[0]], pool[home[pool] != home[pool[0]]])

    def _follow_own(self, j: int, head: int, others: IntArray) -> None:
        """Let groups that come bring their own candidate, also where the medoid's group leaves."""
        cost, sums, own = self.costs.cost, self.sums[j], self._own
        assert own is not None
        brought = sums[own] + cost[self.groups, own]
        better = np.flatnonzero(brought < self._more[j])
        self._more[j, better], self._more_at[j, better] = brought[better], own[better]
        self._instead[j] = brought - cost[head, own]
        if len(others):
            left = sums[others] - cost[head, others]
            instead = (left + cost[:, others]).min(axis=1)
            self._instead[j] = np.minimum(self._instead[j], instead)

    def _follow_empty(self, j: int, able: IntArray) -> None:
        """What groups would cost alone."""
        if self._own is not None:
            self._more_at[j] = self._own
        else:
            self._more_at[j] = able[self.costs.cost[:, able].argmin(axis=1)]
        self._more[j] = self.costs.cost[self.groups, self._more_at[j]]

    def _least(self, values: FloatArray, pool: IntArray) -> tuple[FloatArray, IntArray]:
        place = values.argmin(axis=1)
        return values[self.groups, place], pool[place]
