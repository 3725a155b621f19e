"""Rows in shards, on a GPU or with Dask's workers, as the solvers see them.

Every method is one pass over all shards, made of the functions in :mod:`.passes`.  A backend keeps
the shards and runs the passes where these are (:class:`.shard.Shards`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints._checks import pieces, sums_by
from ..deadline import NEVER, Deadline
from ..numbers import CURVED, FAR, UNDECIDED
from ..rules import Contraction, SoftPins, smallest
from . import passes
from .distance import EUCLIDEAN, Distance, plus_plus
from .memory import MemoryRows
from .passes import Ask, Curvature, Look, Where
from .shard import (
    LocalShards,
    Patch,
    Shard,
    Shards,
    by_shard,
    chosen,
    contracted,
    patches_of,
    shares,
    shifted,
    starts,
    with_amounts,
    with_pins,
    with_weight,
)


class ShardRows:
    """Contracted points in shards, with their weights; see :class:`.protocol.Rows`."""

    far = True

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
        self.unit = np.ones(1)  # of the amounts, (q,)

    @classmethod
    def of(cls, rows: MemoryRows) -> ShardRows:
        """Dense rows of this process's memory as one shard."""
        points, distance = rows.given
        weight = None if np.all(rows.weight == 1.0) else rows.weight.astype(rows.dtype)
        return cls(LocalShards([Shard(points, weight)]), rows.weight, rows.scatter, distance)

    @cached_property
    def _moments(self) -> tuple[float, FloatArray, float]:
        """Total weight, middle and spread."""
        total, sums, _ = self._added(np.zeros(self._given.n_features))
        middle = sums / total if total > 0.0 else sums
        return total, middle, self._added(middle)[2]

    def _added(self, about: FloatArray) -> tuple[float, FloatArray, float]:
        """Moments of all shards."""
        parts = self._given.map(passes.moments, about)
        total, sums, spread = (reduce(add, column) for column in zip(*parts, strict=True))
        return total, sums, spread

    @property
    def memory(self) -> str:
        """What bounds the memory that the rows take in this process, in words, or nothing."""
        return self._given.memory

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
        return bool(self.middle @ self.middle * self._moments[0] > FAR * self.spread)

    @cached_property
    def local(self) -> FloatArray:
        """The middle in the coordinates of the shards."""
        return np.zeros_like(self.middle) if self._centred else self.middle

    def take(self, groups: IntArray) -> MemoryRows:
        """Some of the groups, given by sorted numbers, in this process's memory."""
        points = (fetch(self.shards, groups) + (self.middle - self.local)).astype(self.dtype)
        return MemoryRows(points, self.weight[groups], distance=self._given_distance)

    def part(self, groups: IntArray) -> ShardRows:
        """Some of the groups, given by sorted numbers, where they are."""
        each = [(rows,) for rows in by_shard(self._given, groups)]
        own = self._given.transform(chosen, each=each)
        return ShardRows(own, self.weight[groups], 0.0, self._given_distance)

    def home(self) -> MemoryRows:
        """All groups in this process's memory."""
        points = fetch(self._given, np.arange(self.shape[0])).astype(self.dtype, copy=False)
        return MemoryRows(points, self.weight, self.scatter, distance=self._given_distance)

    def seeds(
        self, n_clusters: int, rows: IntArray, random_state: np.random.RandomState
    ) -> FloatArray:
        """k-means++ centres drawn from some of the rows, which come to this process's memory."""
        points = fetch(self.shards, rows)
        return plus_plus(points, self.weight[rows], n_clusters, random_state) - self.local

    def with_amounts(self, values: FloatArray) -> ShardRows:
        """The same rows, each with what it adds to bounded sums, (q, m).

        One sum to which every group adds one needs no array.
        """
        if not len(values):
            return self
        same = copy(self)
        mean = np.array([mean_size(each) for each in values])
        same.unit = np.where(mean > 0.0, mean, 1.0)
        alike = values.strides[-1] == 0 and values[0, 0] == 1.0
        if len(values) == 1 and (alike or np.all(values == 1.0)):
            same.shards = self.shards.transform(with_amounts, None)
        else:
            columns = smallest(values).T
            same.shards = self.shards.transform(with_amounts, each=shares(self.shards, columns))
        return same

    def with_pins(self, pins: SoftPins) -> ShardRows:
        """The same rows with prices for some of them in other clusters than their own.

        Costs leave out what a row pays in every cluster.
        """
        if not len(pins):
            return self
        same, order = copy(self), np.lexsort(pins.pins.T[::-1])
        (rows, clusters), price = pins.pins[order].T, pins.price[order]
        cuts = np.cumsum([len(its) for its in by_shard(self.shards, rows)])[:-1]
        each = zip(
            by_shard(self.shards, rows),
            np.split(clusters, cuts),
            np.split(price, cuts),
            strict=False,
        )
        same.shards = self.shards.transform(with_pins, each=[*each])
        return same

    @cached_property
    def glance(self) -> tuple[IntArray, ShardRows] | None:
        """Some rows, one of each stretch of equal length, kept in memory; None if all are at hand.

        Where passes have to read the rows, most of the passes of prices see these alone.
        """
        (m, _), held = self.shape, self._given.held
        if held is None or m <= held:
            return None
        within = np.random.default_rng(0).random(held)
        groups = ((np.arange(held) + within) * (m / held)).astype(np.int64)
        return groups, self.part(groups)

    def at(self, centers: FloatArray, deadline: Deadline = NEVER) -> Passes:
        """Passes over all rows at centres; they raise OutOfTime after the deadline."""
        return Passes(self, centers, deadline)

    def nearest(self, centers: FloatArray, deadline: Deadline = NEVER) -> IntArray:
        """The nearest centre of each group."""
        return self.at(centers, deadline).place(np.zeros((len(centers), 0))).labels()

    def centres(self, sums: Any, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """Centres relative to the middle from sums of points and of weights."""
        return self.distance.centres(sums, mass, self.local, fallback)

    def means(self, where: Any, n_clusters: int, fallback: FloatArray | None = None) -> FloatArray:
        """Centres of the clusters of labels, an array or those of a pass."""
        sums, mass, _ = self._kept(where).measured(np.zeros((n_clusters, self.shape[1])))
        return self.centres(sums, mass, fallback)

    def measured(
        self, where: Any, n_clusters: int, centers: FloatArray
    ) -> tuple[FloatArray, float]:
        """By one pass over the shards: the inertia at the centres given, less what it falls."""
        sums, mass, cost = self._kept(where).measured(centers + self.local)
        means = self.centres(sums, mass, centers)
        held = self.distance.stiffness(lambda: sums, mass, self.local)
        fallen = float(self.distance.gained(held, centers, means).sum())
        return means, max(cost - fallen, 0.0)

    def inertia(self, where: Any, centers: FloatArray) -> float:
        """Weighted sum of the squared distances to the centre of the own cluster."""
        return self._kept(where).measured(centers + self.local)[2]

    def _kept(self, where: Any) -> ShardLabels:
        """Labels that stay with the rows, also of an array of labels."""
        if isinstance(where, ShardLabels):
            return where
        ask = self.at(np.zeros((0, self.shape[1])))._ask(np.zeros((0, 0)))
        patches = patches_of(self.shards, np.arange(len(where)), where)
        return ShardLabels(self.shards, Where(ask, ask.key), patches)


class Passes:
    """Passes over all rows at some centres and at any prices of the amounts, (k, q)."""

    def __init__(self, rows: ShardRows, centers: FloatArray, deadline: Deadline = NEVER) -> None:
        self.rows, self.centers, self.deadline = rows, centers, deadline
        self._near: Ask | None = None  # the question whose cheapest clusters have shares

    def _ask(self, prices: FloatArray, temperature: float = 0.0) -> Ask:
        unit = self.rows.unit[: prices.shape[1]]
        offsets = self.rows.distance.offsets(self.centers, self.rows.local)
        return Ask(self.centers, offsets, (prices * unit).T, unit, uuid4().hex, temperature)

    def soft_loads(self, prices: FloatArray, temperature: float) -> Look:
        """The soft assignment of all rows at the prices and the temperature.

        With many prices the cheapest clusters of each row are those at prices before, unless many
        rows may miss a cheaper one now.
        """
        ask = self._ask(prices)
        if prices.size <= CURVED:
            return self._looked(ask, temperature)
        if self._near is not None:
            look = self._looked(replace(ask, near=self._near), temperature)
            if look.blind <= UNDECIDED * self.rows.shape[0]:
                return look
        self._near = ask
        return self._looked(replace(ask, near=ask), temperature)

    def _looked(self, ask: Ask, temperature: float) -> Look:
        """One pass; amounts are no longer in their units."""
        self.deadline.check()
        look: Look = reduce(add, self.rows.shards.map(passes.soft_loads, ask, temperature))
        look = replace(look, load=look.load * ask.unit)
        if isinstance(look.curvature, Curvature):
            return look
        each = np.tile(ask.unit, len(look.load))
        return replace(look, curvature=look.curvature * (each * each[:, None]))

    def place(
        self, prices: FloatArray, temperature: float = 0.0, pins: IntArray | None = None
    ) -> Placement:
        """Put all rows into their cheapest clusters, or where shares at a temperature draw them.

        With ``pins``, rows in order and clusters, these rows are put there, and the same pass
        measures the labels: for :meth:`ShardRows.measured` at these centres.
        """
        self.deadline.check()
        ask, shards = self._ask(prices, temperature), self.rows.shards
        at = None if pins is None else self.centers + self.rows.local
        none: IntArray = np.empty((0, 2), np.int64)
        patches = patches_of(shards, *(none if pins is None else pins).T)
        key = ask.key if pins is None or not len(pins) else uuid4().hex
        labels = ShardLabels(shards, Where(ask, key), patches)
        own = [(patch,) for patch in patches]
        sums, counted = zip(*shards.map(passes.place, labels.where, at, each=own), strict=True)
        return Placement(labels, reduce(add, sums)[:, : prices.shape[1]], reduce(add, counted))


@dataclass(frozen=True)
class ShardLabels:
    """The clusters of all rows of some shards, kept where the rows are."""

    shards: Shards
    where: Where
    patches: list[Patch]

    def _map(self, function: Any, *args: Any) -> list[Any]:
        return self.shards.map(function, self.where, *args, each=[(own,) for own in self.patches])

    def __call__(self) -> IntArray:
        """Labels of all rows in this process's memory, (m,)."""
        labels: IntArray = np.concatenate(self._map(passes.brought)).astype(np.int64)
        return labels

    def of(self, rows: IntArray) -> IntArray:
        """Labels of some rows, given by sorted numbers."""
        if not len(rows):
            return np.empty(0, np.int64)
        each = [*zip(self.patches, by_shard(self.shards, rows), strict=True)]
        found = self.shards.map(passes.labels_at, self.where, each=each)
        return np.concatenate(found).astype(np.int64)

    def measured(self, centers: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """``sum w p`` (k, d), ``sum w`` (k,), and the inertia at centres in shards' coordinates."""
        parts = self._map(passes.measured, centers)
        sums, mass, cost = (reduce(add, column) for column in zip(*parts, strict=True))
        return sums, mass, float(cost)

    def amounts(self) -> FloatArray:
        """Sums of the amounts of the clusters, (k, q)."""
        sums: FloatArray = reduce(add, self._map(passes.amounts_kept))
        return sums

    def patched(self, rows: IntArray, labels: IntArray) -> ShardLabels:
        """The same with some rows, given by sorted numbers, elsewhere."""
        if not len(rows):
            return self
        first = starts(self.shards)
        known = [own + start for (own, _), start in zip(self.patches, first, strict=False)]
        before = np.concatenate(known)
        stays = ~np.isin(before, rows)
        every = np.concatenate([before[stays], rows])
        where = np.concatenate([*(own for _, own in self.patches)])[stays]
        order = np.argsort(every, kind="stable")
        values = np.concatenate([where, labels])[order]
        patches = patches_of(self.shards, every[order], values)
        return replace(self, where=replace(self.where, key=uuid4().hex), patches=patches)


@dataclass(frozen=True)
class Placement:
    """All rows in clusters at some prices, and how clearly they are there."""

    labels: ShardLabels
    sums: FloatArray  # of the amounts, (k, q)
    counts: IntArray  # rows in each cluster, (k,)

    def least(self, number: float, own: FloatArray, to: FloatArray) -> IntArray:
        """Rows of the smallest margins, in order.

        About ``number`` in all, ``own[j]`` of each cluster j, and ``to[j]`` whose next best cluster
        is j; each shard gives its part of them.
        """
        counted = np.maximum(self.counts, 1)
        given = number / max(int(self.counts.sum()), 1), own / counted, to / counted
        return self._rows(passes.least_margins, *given)

    def margins(self) -> FloatArray:
        """What the next best cluster costs more, of all rows."""
        found = self.labels.shards.map(passes.margins_of, self.labels.where.ask)
        margins: FloatArray = np.concatenate(found)
        return margins

    def within(self, reach: float, most: int) -> IntArray | None:
        """Rows whose margin is at most this, in order; None if they are more than ``most``."""
        if sum(self.labels.shards.map(passes.number_within, self.labels.where.ask, reach)) > most:
            return None
        return self._rows(passes.rows_within, reach)

    def _rows(self, function: Any, *args: Any) -> IntArray:
        shards, ask = self.labels.shards, self.labels.where.ask
        found = shards.map(function, ask, *args)
        first = starts(shards)[:-1]
        rows = [own + start for own, start in zip(found, first, strict=True)]
        return np.concatenate(rows).astype(np.int64)


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
            return ShardRows(shards, np.broadcast_to(1.0, n), distance=distance)
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


def mean_size(values: FloatArray) -> float:
    """Mean magnitude."""
    total = sum(float(np.abs(values[part]).sum()) for part in pieces(len(values)))
    return total / max(len(values), 1)


def fetch(shards: Shards, rows: IntArray) -> FloatArray:
    """Some of the points, given by sorted numbers, in double precision."""
    own = [(its,) for its in by_shard(shards, rows)]
    return np.concatenate(shards.map(passes.rows_of, each=own))
