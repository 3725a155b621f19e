"""The search for medoids under rules: what groups cost at candidates, and where it begins.

Without rules, swaps of medoids and candidates (:mod:`.fasterpam`) are the whole method.  Otherwise
the search of :mod:`corral.search.engine` begins with the clusters of k-means under the same rules,
where rows are points, with medoids after free swaps, and with medoids drawn.

If candidates are rows, the medoid of a cluster is one of its members, and the compiled moves know
how it follows them.  Otherwise no two clusters have the same medoid; moves see what groups cost at
the medoids, which are found anew after each descent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..exceptions import SolverTimeoutError
from ..numbers import FOLLOWED
from ..rules import Rules
from ..search.compiled import compiled
from ..search.descent import Answer
from ..search.engine import Maker
from ..search.model import Priced, medoid_model, table_model
from ..search.prices import DenseCosts
from ..search.starts import TimedDraws, seed_order
from .base import Task, kmeans_labels, searched
from .fasterpam import draw_medoids, swap_medoids

#: The medoid of a cluster that has none.
NO_MEDOID = -1
#: Groups by which candidates that are no rows are compared, at most.  More compare better.
COMPARED = 200


@dataclass(frozen=True, eq=False)
class Medoids:
    """Clusters: the candidate that is the medoid of each, (k,)."""

    at: IntArray


class MedoidShape:
    """Clusters around medoids; a :class:`corral.search.shape.Shape`.

    Attributes
    ----------
    cost : (m, c) array
        Sum over the rows of a group of weight times distance to the candidate.
    home : (c,) array or None
        The group of each candidate; None if candidates are no rows.
    own : (m,) array or None
        The cheapest candidate among the rows of each group; None if they are no rows.
    """

    def __init__(
        self, distance: FloatArray, weight: FloatArray, rules: Rules, inside: bool
    ) -> None:
        """Weigh distances (n, c); ``inside`` says that candidates are the rows themselves."""
        self.distance, self.n_clusters = distance, rules.n_clusters
        self.cost = _summed(distance, weight, rules)
        self.home = rules.row_groups.astype(np.int64) if inside else None
        self.own = None if self.home is None else _own(self.cost, self.home)
        if self.home is not None:
            self._candidates = np.argsort(self.home, kind="stable")
            ends = np.cumsum(np.bincount(self.home, minlength=rules.n_groups))
            self._first = np.concatenate([[0], ends]).astype(np.int64)
        m = rules.n_groups
        self.follows, self.among_groups, self.mixes = inside, True, False
        each = m / self.n_clusters
        self.shape = (m, int(2.0 * each) if inside and each <= FOLLOWED else 4)
        self.making = 2.0 * m * each if inside else float(self.cost.size)

    def priced(self, rules: Rules) -> Priced:
        """Costs at all candidates, or a table that every descent fills."""
        if self.home is None:
            return table_model(rules)
        return medoid_model(rules, self.cost, self.home)

    def costs(self, clusters: Medoids, deadline: Deadline = NEVER) -> DenseCosts:
        """What groups cost at the medoids."""
        return DenseCosts(self.table(clusters))

    def table(self, clusters: Medoids) -> FloatArray:
        """The same as one array."""
        return np.ascontiguousarray(self.cost[:, clusters.at])

    def clusters(self, labels: IntArray, known: Medoids | None = None) -> Medoids:
        """The best medoids; without members the known one, or that of a costly group."""
        k = self.n_clusters
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=k))
        filled = np.diff(ends, prepend=0) > 0
        medoids = np.full(k, NO_MEDOID)
        if self.home is None:
            members = sparse.csr_array((np.ones(len(labels)), order, np.r_[0, ends]))
            sums = np.asarray(members @ self.cost)[filled]
            medoids[filled] = linear_sum_assignment(sums)[1]
        else:
            at = np.zeros(k, np.int64)
            find_medoids(self.cost, order, ends, self._first, self._candidates, at)
            medoids[filled] = at[filled]
        if known is not None:
            free = ~filled & ~np.isin(known.at, medoids)
            medoids[free] = known.at[free]
        return Medoids(self._completed(medoids))

    def _completed(self, medoids: IntArray) -> IntArray:
        """The same with different medoids for clusters without one, each near a costly group."""
        missing = np.flatnonzero(medoids == NO_MEDOID)
        if not len(missing):
            return medoids
        medoids, used = medoids.copy(), np.zeros(self.cost.shape[1], bool)
        used[np.delete(medoids, missing)] = True
        now = self.cost[:, used].min(axis=1, initial=np.inf)
        for j in missing:
            medoids[j] = int(np.where(used, np.inf, self.cost[now.argmax()]).argmin())
            used[medoids[j]] = True
            now = np.minimum(now, self.cost[:, medoids[j]])
        return medoids

    def objective(self, labels: IntArray, clusters: Medoids) -> float:
        """What all groups cost at the medoids of their clusters."""
        return float(self.own_costs(labels, clusters).sum())

    def own_costs(self, labels: IntArray, clusters: Medoids) -> FloatArray:
        """What each group costs at the medoid of its cluster."""
        return self.cost[np.arange(len(labels)), clusters.at[labels]]

    def some_costs(self, groups: IntArray, clusters: Medoids) -> FloatArray:
        """What some groups cost at the medoids."""
        return self.cost[groups[:, None], clusters.at]

    def gaps(self, clusters: Medoids, others: Medoids) -> FloatArray:
        """Distances of medoids, or differences of what groups cost there."""
        if self.home is not None:
            return self.distance[clusters.at[:, None], others.at]
        some = self.cost[:: len(self.cost) // COMPARED + 1]
        gaps: FloatArray = cdist(some[:, clusters.at].T, some[:, others.at].T, "cityblock")
        return gaps

    def some(self, clusters: Medoids, chosen: IntArray) -> Medoids:
        """Some of the medoids."""
        return Medoids(clusters.at[chosen])

    def seeded(
        self, groups: IntArray, number: int, random_state: np.random.RandomState
    ) -> IntArray:
        """By k-medoids++ and costs; the group of a seed goes to it."""
        seeds = draw_medoids(self.cost, number, random_state, groups, self.own)
        labels: IntArray = self.cost[groups[:, None], seeds].argmin(axis=1)
        if self.home is not None:
            place = np.searchsorted(groups, self.home[seeds])
            labels[place] = np.arange(number)
        return labels

    def mixed(self, first: Medoids, second: Medoids, mine: BoolArray) -> Medoids:
        """Medoids of both; of two that are the same one is replaced."""
        at = np.where(mine, first.at, second.at)
        again = np.ones(len(at), bool)
        again[np.unique(at, return_index=True)[1]] = False
        return Medoids(self._completed(np.where(again, NO_MEDOID, at)))

    def moved(self, clusters: Medoids, cluster: int, group: int) -> Medoids:
        """A medoid that is the group's own candidate, or its cheapest, if that is none yet."""
        candidate = self.cost[group].argmin() if self.own is None else self.own[group]
        if candidate in clusters.at:
            return clusters
        at = clusters.at.copy()
        at[cluster] = candidate
        return Medoids(at)

    def part(self, groups: IntArray, n_clusters: int) -> None:
        """No rounds of a part: single moves are enough."""

    def nearest(self, clusters: Medoids) -> IntArray:
        """Cheapest cluster of each group; the group of a medoid is in the cluster of that."""
        labels: IntArray = self.table(clusters).argmin(axis=1)
        if self.home is not None:
            labels[self.home[clusters.at]] = np.arange(self.n_clusters)
        return labels


@compiled
def find_medoids(
    cost: FloatArray,
    order: IntArray,
    ends: IntArray,
    first: IntArray,
    candidate: IntArray,
    medoids: IntArray,
) -> None:
    """Write the best medoid of each cluster among its members.

    The members of cluster j are ``order`` up to ``ends[j]``, and the candidates of group g
    ``candidate`` from ``first[g]`` to ``first[g + 1]``.
    """
    start = 0
    for j in range(len(ends)):
        best = np.inf
        for y in range(start, ends[j]):
            g = order[y]
            for z in range(first[g], first[g + 1]):
                c, total = candidate[z], 0.0
                for x in range(start, ends[j]):
                    total += cost[order[x], c]
                    if total >= best:
                        break
                if total < best:
                    best, medoids[j] = total, c
        start = ends[j]


def _summed(distance: FloatArray, weight: FloatArray, rules: Rules) -> FloatArray:
    """Distances times weights, summed over the rows of each group, (m, c)."""
    if rules.group is None or rules.n_groups == len(weight):
        cost = distance if np.all(weight == 1.0) else distance * weight[:, None]
    else:
        member = sparse.csr_array(
            (weight, (rules.group, np.arange(len(weight)))), shape=(rules.n_groups, len(weight))
        )
        cost = np.asarray(member @ distance)
    # The kernels are compiled for arrays that can be written to.
    return np.require(cost, np.float64, ["C", "W"])


def _own(cost: FloatArray, home: IntArray) -> IntArray:
    """The cheapest candidate among the rows of each group."""
    alone = cost[home, np.arange(len(home))]
    order = np.lexsort((alone, home))
    return order[np.unique(home[order], return_index=True)[1]]


#: Entries of the costs in all starts of swaps without rules, and the most starts.  More find better
#: medoids; one start of 1,800 rows takes about 0.1 s.
START_ENTRIES, MOST_STARTS = 3e7, 10
#: Part of the time left that k-means may take for the first clusters.  It only matters where the
#: time limit ends a fit; a larger part leaves less for the medoids.
KMEANS_SHARE = 0.4
#: Seconds below which k-means is left out.
KMEANS_LEAST = 0.3
#: Time limit in seconds up to which the labels of random medoids come first: moves repair them
#: sooner than prices or k-means give an answer.
SHORT_LIMIT = 5.0
#: Metrics whose clusters k-means finds, and the metric that it takes for them.
LIKE_MEANS = {
    **dict.fromkeys(("euclidean", "l2", "sqeuclidean"), "euclidean"),
    **dict.fromkeys(("manhattan", "l1", "cityblock", "chebyshev", "minkowski"), "euclidean"),
    "haversine": "haversine",
}


def best_medoids(
    task: Task, shape: MedoidShape, metric: Any, init: IntArray | None, n_init: int | None
) -> Answer:
    """The best answer under the rules.

    ``init`` are medoids to start from; without it they are drawn, ``n_init`` times if that is
    given.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before any answer.
    """
    rules = task.rules
    if rules.free and np.all(rules.count == 1):
        return _free(task, shape, init, n_init)
    makers = _makers(task, shape, metric, init, n_init)
    return searched(task, rules, shape, makers)


def _free(task: Task, shape: MedoidShape, init: IntArray | None, n_init: int | None) -> Answer:
    """The best of the local optima of swaps, where nothing but costs decides where a row goes."""
    m, c = shape.cost.shape
    most = MOST_STARTS * task.effort
    starts = n_init or int(max(min(task.effort * START_ENTRIES / (m * c), most), 1.0))
    best: Answer | None = None
    for _ in range(1 if init is not None else starts):
        if best is not None and task.deadline.passed:
            break
        try:
            drawn = init if init is not None else _drawn(task, shape)
        except OutOfTime:
            if best is not None:
                break
            drawn = _rows(task, shape)
        at = swap_medoids(shape.cost, drawn, task.deadline)
        labels = shape.nearest(Medoids(at))
        clusters = shape.clusters(labels, Medoids(at))
        objective = shape.objective(labels, clusters)
        answer = Answer(labels, clusters, objective, task.rules, None)
        task.events.found("swaps of medoids", objective)
        task.tally.answers += 1
        best = answer if answer.beats(best) else best
    if best is None:
        raise OutOfTime
    task.events.stopped(task.deadline, "the end of its starts")
    return best


def _makers(
    task: Task, shape: MedoidShape, metric: Any, init: IntArray | None, n_init: int | None
) -> Iterator[tuple[str, Maker]]:
    """Names and makers of labels or medoids."""
    rules = task.rules
    if init is not None:
        yield "medoids that were given", lambda: Medoids(init)
        return
    if task.deadline.limit <= SHORT_LIMIT:
        # Labels need no prices, which take long where clusters are many.
        yield "rows drawn", lambda: shape.nearest(_matched(rules, shape, _rows(task, shape)))
        yield "swaps", lambda: shape.nearest(_matched(rules, shape, _swapped(task, shape)))
    like = LIKE_MEANS.get(metric) if isinstance(metric, str) else None
    short = KMEANS_SHARE * task.deadline.left < KMEANS_LEAST
    if like is not None and task.weight.any() and not short:
        # k-means takes the time that it needs here, so that a failure is no maker at all.
        with suppress(SolverTimeoutError, OutOfTime):
            labels = kmeans_labels(task, task.points, KMEANS_SHARE, metric=like)
            yield "k-means", lambda: labels
    yield "swaps without rules", lambda: _matched(rules, shape, _swapped(task, shape))
    for _ in range(1, n_init or 1):
        yield "k-medoids++", lambda: _matched(rules, shape, _drawn(task, shape))


def _rows(task: Task, shape: MedoidShape) -> IntArray:
    """Random candidates; if they are rows, those of different groups, as far as possible."""
    k, (m, c) = task.n_clusters, shape.cost.shape
    if shape.own is None or m < k:
        return task.random_state.choice(c, k, replace=False)
    return shape.own[task.random_state.choice(m, k, replace=False)]


def _drawn(task: Task, shape: MedoidShape) -> IntArray:
    """Medoids by k-medoids++."""
    late = task.deadline if task.deadline.limit <= SHORT_LIMIT else task.deadline.first
    draws = TimedDraws(task.random_state, late)
    return draw_medoids(shape.cost, task.n_clusters, draws, own=shape.own)


def _swapped(task: Task, shape: MedoidShape) -> IntArray:
    """Medoids drawn, after swaps without rules."""
    return swap_medoids(shape.cost, _drawn(task, shape), task.deadline)


def _matched(rules: Rules, shape: MedoidShape, medoids: IntArray) -> Medoids:
    """The medoids in the order that suits the pins and the ordered rules."""
    order = seed_order(
        rules,
        lambda groups: shape.some_costs(groups, Medoids(medoids)),
        lambda: shape.table(Medoids(medoids)).argmin(axis=1),
    )
    return Medoids(medoids[order])


def numbered(answer: Answer, given: Rules, weight: FloatArray) -> Answer:
    """The answer with other numbers of the clusters, which do not depend on the start.

    Sizes stand in the order in which the user wrote them.  Of clusters with equal bounds the
    heaviest comes first, and of equally heavy ones that with the earliest row.  Numbers stay as
    they are where rules name clusters.
    """
    if given.numbered:
        return answer
    k, rows = given.n_clusters, given.to_rows(answer.labels)
    wanted = found = np.zeros((2, k), np.int64)
    if given.sizes is not None and answer.rules.sizes is not None:
        wanted = np.stack([given.sizes.upper, given.sizes.lower])
        found = np.stack([answer.rules.sizes.upper, answer.rules.sizes.lower])
    mass = np.bincount(rows, weight, k)
    first, number = np.full(k, len(rows)), np.empty(k, np.int64)
    np.minimum.at(first, rows, np.arange(len(rows)))
    number[np.lexsort([first, -mass, *found])] = np.lexsort([np.arange(k), *wanted])
    clusters = Medoids(answer.clusters.at[np.argsort(number)])
    return Answer(number[answer.labels], clusters, answer.objective, given, answer.prices)
