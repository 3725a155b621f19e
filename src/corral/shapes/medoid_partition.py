"""A partition whose centres are medoids, for shifts, swaps and chains of groups.

When groups come and go, the medoid of a cluster follows.  Of each cluster the *pool* holds the
candidates of least cost.  Changes are valued with the best medoid of the pool for one group that
comes or leaves, and of these two for both together.  So a rise is never below the true one, and a
change that pays does.  After a change the medoids of the clusters it touched are found anew, among
all candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline
from ..plan.medoid_thresholds import CACHE_ENTRIES, POOL
from ..presolve import Rules
from .medoid_costs import MedoidCosts


class MedoidPartition:
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
        self.costs, self._changes = costs, _Changes(costs)
        # Cost of each cluster, that with one more group or one less, and the medoids of these.
        self.sums, self._now = np.zeros((k, c)), np.zeros(k)
        self._more, self._more_at = np.empty((k, m)), np.empty((k, m), np.int64)
        self._less, self._less_at = np.empty(m), np.empty(m, np.int64)
        # Cost of each cluster with one more group and without that of its medoid.
        self._instead = np.empty((k, m))
        # What was found of clusters, by their members; without homes it depends on the others too.
        self._known: dict[bytes, _Cluster] = {}
        self._room = CACHE_ENTRIES // (c + 4 * m)
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
        return np.asarray(self.costs.cost[groups, self._changes.candidate(seed)])

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
            members = np.flatnonzero(self.labels == j)
            found = self._cluster(int(j), members)
            self.sums[j], self._now[j] = found.sums, found.now
            self._more[j], self._more_at[j] = found.more, found.more_at
            self._less[members], self._less_at[members] = found.less, found.less_at
            if found.instead is not None:
                self._instead[j] = found.instead
            if len(members):
                self.centers[j] = found.medoid
        self.squares[touched] = self.costs.cost[:, self.centers[touched]].T
        self.cost = self.squares[self.labels, self.groups]

    def _cluster(self, j: int, members: IntArray) -> _Cluster:
        """What changes of a cluster are worth."""
        key = members.tobytes()
        known = self._known.get(key) if self.costs.home is not None else None
        if known is None:
            able = np.flatnonzero(self.costs.allowed(self.labels, j, self.centers))
            known = self._changes.of(members, able)
            if len(self._known) >= self._room:
                self._known.clear()
            self._known[key] = known
        return known


@dataclass(frozen=True)
class _Cluster:
    """What a cluster costs, and would cost with one group more or less, at the best medoids."""

    sums: FloatArray  # at every candidate, (c,)
    medoid: int
    now: float
    more: FloatArray  # with each group more, (m,)
    more_at: IntArray
    less: FloatArray  # rise with each member less
    less_at: IntArray
    instead: FloatArray | None  # with each group more and without that of the medoid, (m,)


class _Changes:
    """Values changes of clusters of given members."""

    def __init__(self, costs: MedoidCosts) -> None:
        self._cost, self._home, self._own = costs.cost, costs.home, costs.own()
        self._groups = np.arange(len(costs.cost))
        if self._own is None:
            self._alone = np.full(len(costs.cost), np.inf)
        else:
            self._alone = self._cost[self._groups, self._own]

    def candidate(self, group: int) -> int:
        """The cheapest of a group's own candidates, or of all."""
        return int(self._cost[group].argmin() if self._own is None else self._own[group])

    def of(self, members: IntArray, able: IntArray) -> _Cluster:
        """Look at some members and the candidates that may be their medoid."""
        if not len(members):
            return self._empty(able)
        cost, home = self._cost, self._home
        sums = cost[members].sum(axis=0)
        if len(able) > POOL:
            able = able[np.argpartition(sums[able], POOL - 1)[:POOL]]
        pool = able[np.argsort(sums[able], kind="stable")]
        now = float(sums[pool[0]])
        at_pool = cost[:, pool]
        less = sums[pool] - at_pool[members]
        if home is not None:
            less[home[pool] == members[:, None]] = np.inf
        fewer, fewer_at = _least(less, pool)
        if len(members) == 1:
            fewer = np.zeros(1)
        more, more_at = _least(sums[pool] + at_pool, pool)
        instead = None
        if self._own is not None:  # groups that come bring their own candidate
            brought = sums[self._own] + self._alone
            more, more_at = np.minimum(more, brought), np.where(brought < more, self._own, more_at)
            instead = self._instead(sums, pool, brought)
        return _Cluster(sums, int(pool[0]), now, more, more_at, fewer - now, fewer_at, instead)

    def _instead(self, sums: FloatArray, pool: IntArray, brought: FloatArray) -> FloatArray:
        """Costs with each group in the place of that of the medoid."""
        cost, home, own = self._cost, self._home, self._own
        assert home is not None
        assert own is not None
        head = home[pool[0]]
        others = pool[home[pool] != head]
        instead: FloatArray = brought - cost[head, own]
        if len(others):
            left = sums[others] - cost[head, others]
            instead = np.minimum(instead, (left + cost[:, others]).min(axis=1))
        return instead

    def _empty(self, able: IntArray) -> _Cluster:
        """A cluster without members: what groups would cost alone."""
        more, more_at = self._alone, self._own
        if more_at is None:
            more, more_at = _least(self._cost[:, able], able)
        sums = np.zeros(self._cost.shape[1])
        return _Cluster(sums, -1, 0.0, more, more_at, np.empty(0), np.empty(0, np.int64), more)


def _least(values: FloatArray, pool: IntArray) -> tuple[FloatArray, IntArray]:
    """The least value of each row, and the candidate of its column."""
    place = values.argmin(axis=1)
    return values[np.arange(len(values)), place], pool[place]
