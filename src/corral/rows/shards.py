"""Rows in shards, on a GPU or with Dask's workers, as the solvers see them.

Every method is one pass over all shards, made of the functions in :mod:`.shard_passes`.  A backend
keeps the shards and runs the passes where these are (:class:`.shard.Shards`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..deadline import NEVER, Deadline
from ..presolve.contraction import Contraction
from .algebra import largest_eigenvalue
from .candidate_passes import Asked, Family
from .distance import EUCLIDEAN, Distance, stiffness_of_all
from .memory import FAR, MemoryRows
from .shard import (
    Patch,
    Shards,
    by_shard,
    chosen,
    contracted,
    patches_of,
    shares,
    shifted,
    with_free,
    with_weight,
)
from .shard_candidates import ShardCandidates
from .shard_costs import ShardCosts
from .shard_labels import ShardLabels, label_inertia, label_sums
from .shard_passes import Ask, moments, rows_of


class ShardRows:
    """Contracted points in shards, with their weights; see :class:`.protocol.Rows`."""

    far = True
    fits_single = False  # ADMM keeps the precision that the points have where they are

    def __init__(
        self,
        shards: Shards,
        weight: FloatArray,
        scatter: float = 0.0,
        distance: Distance = EUCLIDEAN,
    ) -> None:
        self._given, self._given_distance = shards, distance
        self.weight, self.scatter = weight, scatter
        self.shape, self.dtype = (len(weight), shards.n_features), shards.dtype
        self.quick = shards.quick
        self.free: IntArray | None = None  # groups that prices assign; None for all

    @cached_property
    def _moments(self) -> tuple[float, FloatArray, float, FloatArray, FloatArray]:
        """Total weight, middle, spread, gram matrix, and the row farthest from the middle."""
        total, sums, *_ = _added(self._given, np.zeros(self._given.n_features))
        middle = sums / total
        _, _, spread, gram, heaviest = _added(self._given, middle)
        return total, middle, spread, gram, heaviest

    @property
    def total_weight(self) -> float:
        """Sum of all weights."""
        return self._moments[0]

    @property
    def middle(self) -> FloatArray:
        """Weighted mean of all points."""
        return self._moments[1]

    @property
    def spread(self) -> float:
        """Weighted sum of the squared distances to the middle."""
        return self._moments[2]

    @cached_property
    def distance(self) -> Distance:
        """How costs and centres are made, in coordinates about the middle."""
        return self._given_distance.about(self.middle)

    @cached_property
    def shards(self) -> Shards:
        """The points, less their middle where that is far from the origin."""
        return self._given.transform(shifted, self.middle) if self._centred else self._given

    @property
    def _centred(self) -> bool:
        return bool(self.middle @ self.middle * self.total_weight > FAR * self.spread)

    @cached_property
    def local(self) -> FloatArray:
        """The middle in the coordinates of the shards."""
        return np.zeros_like(self.middle) if self._centred else self.middle

    def single(self) -> ShardRows:
        """The same rows: far rows keep their precision."""
        return self

    def take(self, groups: IntArray) -> MemoryRows:
        """Some of the groups, given by sorted numbers, in this process's memory."""
        points = (fetch(self.shards, groups) + (self.middle - self.local)).astype(self.dtype)
        return MemoryRows(points, self.weight[groups], 0.0, self._given, self._given_distance)

    def part(self, groups: IntArray) -> ShardRows:
        """Some of the groups, given by sorted numbers, where they are."""
        each = [(rows,) for rows in by_shard(self._given, groups)]
        own = self._given.transform(chosen, each=each)
        return ShardRows(own, self.weight[groups], 0.0, self._given_distance)

    def home(self) -> MemoryRows:
        """All groups in this process's memory."""
        points = fetch(self._given, np.arange(self.shape[0])).astype(self.dtype, copy=False)
        return MemoryRows(points, self.weight, self.scatter, distance=self._given_distance)

    def crew(self) -> Any:
        """Who makes ADMM's passes where the rows are."""
        return self.shards.crew()

    def seeds(
        self, n_clusters: int, rows: IntArray, random_state: np.random.RandomState
    ) -> FloatArray:
        """k-means++ centres drawn from some of the rows, relative to the middle."""
        points, weight = fetch(self.shards, rows), self.weight[rows]
        return self.shards.seeds(points, weight, n_clusters, random_state) - self.local

    def marked(self, free: IntArray) -> ShardRows:
        """The same rows, of which prices assign only those given by number."""
        alone = np.zeros(self.shape[0], bool)
        alone[free] = True
        same = copy(self)
        same.shards = self.shards.transform(with_free, each=shares(self.shards, alone))
        same.free = free
        return same

    def patches(self, groups: IntArray, labels: IntArray) -> list[Patch]:
        """Labels of some groups, given by sorted numbers, by shard."""
        return patches_of(self.shards, groups, labels)

    def costs(self, centers: FloatArray, deadline: Deadline = NEVER) -> ShardCosts:
        """Costs of the free rows; searches raise OutOfTime after the deadline."""
        return ShardCosts(self.shards, centers, self.offsets(centers), self.free, deadline)

    def candidates(
        self,
        centers: FloatArray,
        prices: FloatArray,
        number: int,
        *,
        groups: IntArray | None = None,
        count: IntArray | None = None,
        like: Any = None,
        fresh: bool = True,
        deadline: Deadline = NEVER,
    ) -> ShardCandidates:
        """Chosen where the rows are; those that are not free have their places.

        Candidates that are not fresh are those of ``like``, at other costs; no bound tells then
        what other clusters cost.
        """
        if groups is not None:
            raise TypeError("rows in shards have candidates all together")
        every = [(None,)] * len(self.shards.lengths)
        counts = every if count is None else shares(self.shards, count)
        asked = self._asked(centers, prices, number)
        if not fresh and like is not None:
            asked = replace(asked, like=like.asked)
        free = self.shape[0] if self.free is None else len(self.free)
        return ShardCandidates(self.shards, asked, counts, free, deadline)

    def _asked(self, centers: FloatArray, prices: FloatArray, number: int) -> Asked:
        """What candidates at these centres and prices follow from."""
        ask = Ask(centers, self.offsets(centers), prices, uuid4().hex)
        return Asked(ask, self.local, number, float(np.finfo(self.dtype).eps))

    def family(self, children: IntArray, parts: ShardLabels | None) -> Family:
        """Candidates that are the children of the parts where rows are; None for one part."""
        return Family(children, None if parts is None else (parts.key, parts.source, parts.given))

    def relatives(
        self, centers: FloatArray, prices: FloatArray, family: Family, deadline: Deadline = NEVER
    ) -> ShardCandidates:
        """Candidates that are the children of the parts where rows are."""
        number = family.children.shape[1]
        asked = replace(self._asked(centers, prices, number), family=family)
        every = [(None,)] * len(self.shards.lengths)
        return ShardCandidates(self.shards, asked, every, self.shape[0], deadline)

    def soft_means(
        self, table: ShardCandidates, prices: FloatArray, temperature: float, fallback: FloatArray
    ) -> tuple[FloatArray, float]:
        """By one pass over the shards."""
        sums, mass, cost = table.soft_sums(prices, temperature)
        return self.centres(sums, mass, fallback), cost

    def nearest(self, centers: FloatArray, deadline: Deadline = NEVER) -> IntArray:
        """The nearest centre of each group."""
        scan = self.costs(centers, deadline).scan(np.zeros(len(centers)))
        return scan.kept()().astype(np.int64)

    def offsets(self, centers: FloatArray) -> FloatArray:
        """The clusters' part of the costs, (k,)."""
        return self.distance.offsets(centers, self.local)

    def centres(self, sums: Any, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """Centres relative to the middle from sums of points and of weights."""
        return self.distance.centres(sums, mass, self.local, fallback)

    def means(self, where: Any, n_clusters: int, fallback: FloatArray | None = None) -> FloatArray:
        """Centres of the clusters of labels, or of an assignment."""
        return self.centres(*self._sums(where, n_clusters), fallback)

    def measured(
        self, where: Any, n_clusters: int, centers: FloatArray
    ) -> tuple[FloatArray, float]:
        """By one pass over the shards: the inertia at the centres given, less what it falls."""
        if not isinstance(where, ShardLabels):
            means = self.means(where, n_clusters, centers)
            return means, self.inertia(where, means)
        sums, mass, cost = where.sums_and_cost(centers + self.local)
        means = self.centres(sums, mass, centers)
        held = self.distance.stiffness(lambda: sums, mass, self.local)
        fallen = float(self.distance.gained(held, centers, means).sum())
        return means, max(cost - fallen, 0.0)

    def _sums(self, where: Any, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """Sums of the points and of the weights of the clusters."""
        if isinstance(where, ShardLabels):
            return where.sums()
        parts = self.shards.map(label_sums, n_clusters, each=shares(self.shards, where))
        sums, mass = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return sums, mass

    def stiffness(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """What a cluster costs more when its centre is off, by the squared distance."""
        mass = sums_by(labels, self.weight, n_clusters)
        return self.distance.stiffness(lambda: self._sums(labels, n_clusters)[0], mass, self.local)

    def inertia(self, where: Any, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to the centre of the own cluster."""
        own = centers + self.local
        if isinstance(where, ShardLabels):
            return where.inertia(own)
        return float(sum(self.shards.map(label_inertia, own, each=shares(self.shards, where))))

    def labels(self, where: Any) -> IntArray:
        """Labels of all groups."""
        labels: IntArray = where() if isinstance(where, ShardLabels) else where
        return labels

    def sample(self, size: int) -> FloatArray:
        """About so many of the points, evenly spaced."""
        m = self.shape[0]
        return fetch(self.shards, np.arange(0, m, max(1, m // size)))

    def separation_scale(self, n_steps: int = 20) -> float:
        """The largest eigenvalue of the weighted covariance, by power iteration."""
        if self.spread <= 0.0:
            return 0.0
        gram, heaviest = self._moments[3], self._moments[4]
        value = largest_eigenvalue(lambda direction: gram @ direction, heaviest, n_steps)
        return value / stiffness_of_all(self.distance, self.total_weight, self.local)


def contracted_shards(
    shards: Shards,
    weight: FloatArray | None,
    group: IntArray | None,
    distance: Distance = EUCLIDEAN,
) -> ShardRows:
    """Contract rows where they are; only rows of groups of several rows come to this process."""
    n = int(sum(shards.lengths))
    n_groups = n if group is None else int(group.max(initial=-1)) + 1
    if group is None or n_groups == n:
        if weight is None:
            return ShardRows(shards, np.ones(n), distance=distance)
        weighted = shards.transform(with_weight, each=shares(shards, weight))
        return ShardRows(weighted, weight, distance=distance)
    count = np.bincount(group, minlength=n_groups)
    total: FloatArray = sums_by(group, np.ones(n) if weight is None else weight, n_groups)
    joined = np.flatnonzero(count[group] > 1)
    groups, local = np.unique(group[joined], return_inverse=True)
    own_weight = None if weight is None else weight[joined]
    part = Contraction(local)
    means, held, _, scatter = part.apply(fetch(shards, joined), own_weight)
    means, total[groups], constant = distance.joined(means, held, count[groups])
    # Groups are numbered in the order of their first rows, so each shard keeps consecutive groups.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(group), prepend=-1) > 0)
    firsts = by_shard(shards, first)
    edges = np.concatenate([[0], np.cumsum([len(rows) for rows in firsts])])
    each = []
    for rows, (start, stop) in zip(firsts, pairwise(edges), strict=True):
        a, b = np.searchsorted(groups, [start, stop])
        each.append((rows, groups[a:b] - start, means[a:b], total[start:stop]))
    made = shards.transform(contracted, each=each)
    return ShardRows(made, total, scatter + constant, distance)


def fetch(shards: Shards, rows: IntArray) -> FloatArray:
    """Some of the points, given by sorted numbers, in double precision."""
    return np.concatenate(shards.map(rows_of, each=[(own,) for own in by_shard(shards, rows)]))


def _added(
    shards: Shards, about: FloatArray
) -> tuple[float, FloatArray, float, FloatArray, FloatArray]:
    """Moments of all shards, and the row with the largest weighted square of all."""
    parts: list[Any] = shards.map(moments, about)
    total, sums, spread, gram, heaviest = zip(*parts, strict=True)
    top = max(heaviest, key=lambda found: found[0])[1]
    return sum(total), reduce(add, sums), sum(spread), reduce(add, gram), top
