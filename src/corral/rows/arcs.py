"""Rows on the earth, in memory: costs are squared great-circle distances, in square kilometres.

Rows are points in space, in kilometres from the centre of the earth.  ADMM and the starts see them
so, with squared chords as costs, which differ from squared arcs by less than one percent up to
2,000 km.  Assignments, centres and the objective are those of the arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray, Matrix
from ..constraints._checks import sums_by
from ..deadline import Deadline
from ..rules import Contraction
from .algebra import HALF_DIGITS
from .distance import Distance
from .memory import MemoryRows
from .sphere import OnSphere

#: Mean radius of the earth in kilometres (IUGG).
EARTH_RADIUS = 6371.0088


def to_space(degrees: FloatArray) -> FloatArray:
    """Points in space from latitudes and longitudes in degrees."""
    lat, lon = np.radians(np.asarray(degrees, np.float64)).T
    return EARTH_RADIUS * np.stack(
        [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1
    )


def to_degrees(points: FloatArray) -> FloatArray:
    """Latitudes and longitudes in degrees of points in space; poles have the longitude 0."""
    x, y, z = points.T
    axis = np.hypot(x, y)
    lon = np.where(axis > HALF_DIGITS * EARTH_RADIUS, np.arctan2(y, x), 0.0)
    degrees: FloatArray = np.degrees(np.stack([np.arctan2(z, axis), lon], axis=1))
    return degrees


def arcs_of(squares: FloatArray) -> FloatArray:
    """Arcs from squared chords, which are written over."""
    arcs = np.sqrt(squares, out=squares)
    arcs /= 2.0 * EARTH_RADIUS
    np.minimum(arcs, 1.0, out=arcs)
    np.arcsin(arcs, out=arcs)
    arcs *= 2.0 * EARTH_RADIUS
    return arcs


def squared_arcs(squares: FloatArray) -> FloatArray:
    """Squared arcs from squared chords, which are written over."""
    arcs = arcs_of(squares)
    return np.square(arcs, out=arcs)


@dataclass(frozen=True)
class Members:
    """The rows that groups are made of, in the order of the groups."""

    points: FloatArray  # in space, (n, 3)
    weight: FloatArray  # (n,)
    share: FloatArray  # part of the row in the weight of its group, (n,)
    group: IntArray  # (n,)
    start: IntArray  # where the rows of each group begin, (m + 1,)

    @classmethod
    def of(cls, points: FloatArray, weight: FloatArray, group: IntArray) -> Members:
        """Put the rows in the order of their groups."""
        order = np.argsort(group, kind="stable")
        points, weight, group = points[order], weight[order], group[order]
        start = np.flatnonzero(np.diff(group, prepend=-1, append=group[-1] + 1))
        total = np.add.reduceat(weight, start[:-1])
        some = np.where(total[group] > 0.0, weight, 1.0)
        share = some / np.add.reduceat(some, start[:-1])[group]
        return cls(points, weight, share, group, start)

    def rows_of(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """The rows of some groups, and where those of each begin among them."""
        count = self.start[groups + 1] - self.start[groups]
        first = np.cumsum(count) - count
        rows = np.arange(count.sum()) + np.repeat(self.start[groups] - first, count)
        return rows, first

    def take(self, groups: IntArray) -> Members:
        """The rows of some groups, which are numbered anew."""
        rows, first = self.rows_of(groups)
        group = np.repeat(np.arange(len(groups)), np.diff(first, append=len(rows)))
        return Members.of(self.points[rows], self.weight[rows], group)

    def squares(self, groups: IntArray, centers: FloatArray) -> FloatArray:
        """Mean squared arcs of the rows of groups to centres in space, (g, k)."""
        rows, first = self.rows_of(groups)
        chords = np.zeros((len(rows), len(centers)))
        for axis in range(3):
            chords += np.square(self.points[rows, axis, None] - centers[:, axis])
        arcs = squared_arcs(chords)
        if len(rows) == len(groups):
            return arcs
        means: FloatArray = np.add.reduceat(arcs * self.share[rows, None], first, axis=0)
        return means


class ArcRows(MemoryRows):
    """Rows on the earth; see :class:`.protocol.Rows`.

    The point of a group has the direction of the sum of its rows.
    """

    def __init__(self, points: FloatArray, weight: FloatArray, members: Members) -> None:
        super().__init__(points, weight, distance=OnSphere(EARTH_RADIUS))
        self.members = members

    @classmethod
    def of(
        cls, points: Matrix, weight: FloatArray | None, group: IntArray | None, distance: Distance
    ) -> ArcRows:
        """Join the rows of each group; the distance is that on the earth."""
        n = len(points)
        weight = np.ones(n) if weight is None else weight
        group = np.arange(n) if group is None else group
        means, total, count, _ = Contraction(group).apply(points, weight)
        means, _, _ = distance.joined(means, total, count)
        return ArcRows(means, total, Members.of(points, weight, group))

    def take(self, groups: IntArray) -> ArcRows:
        """Some of the groups."""
        return ArcRows(self._given[groups], self.weight[groups], self.members.take(groups))

    def _blocks(self, centers: FloatArray, deadline: Deadline) -> Iterator[FloatArray]:
        """Squared arcs of some groups at a time."""
        for part in self._parts(len(centers), deadline):
            groups = np.arange(part.start, part.stop)
            yield self.members.squares(groups, centers + self.middle)

    def means(
        self, labels: IntArray, n_clusters: int, fallback: FloatArray | None = None
    ) -> FloatArray:
        """Points of least weighted sum of squared arcs, from the direction of the sum."""
        first = super().means(labels, n_clusters, fallback) + self.middle
        own = labels[self.members.group]
        return karcher_means(self.members, own, first) - self.middle

    def own_costs(self, labels: IntArray, centers: FloatArray) -> FloatArray:
        """Weighted sums of the squared arcs to the centre of the own cluster, (m,)."""
        own = (centers + self.middle)[labels[self.members.group]]
        chords = np.square(self.members.points - own).sum(axis=1)
        costs = self.members.weight * squared_arcs(chords)
        return sums_by(self.members.group, costs, self.shape[0])


def karcher_means(members: Members, labels: IntArray, centers: FloatArray) -> FloatArray:
    """Points of least weighted sum of squared arcs to the members, found from the centres.

    A step goes to the mean of the members on the plane that touches the earth at the centre, with
    their distances and directions as seen from there.  Each step lowers the sum, because squared
    arcs are at most as curved as squares in the plane; when no digit of it falls any more, the
    centres are found.  Clusters inside a hemisphere need some ten.  One without weight stays.
    """
    k = len(centers)
    units, here = members.points / EARTH_RADIUS, centers / EARTH_RADIUS
    mass, value = sums_by(labels, members.weight, k), np.inf
    while True:
        own = here[labels]
        chords = np.square(units - own).sum(axis=1)
        along = units - own + own * (0.5 * chords)[:, None]  # at right angles to the centre
        sine = np.sqrt(np.maximum(chords * (1.0 - chords / 4.0), 0.0))
        arc = 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(chords), 1.0))
        before, value = value, float(members.weight @ np.square(arc))
        if not value < before:
            return EARTH_RADIUS * here
        # Near the centre both are the chord; the opposite point has no direction.
        factor = np.divide(arc, sine, out=np.ones_like(arc), where=sine > HALF_DIGITS)
        factor[(sine <= HALF_DIGITS) & (chords > 1.0)] = 0.0
        pull = along * (members.weight * factor)[:, None]
        shift = np.stack([sums_by(labels, column, k) for column in pull.T], axis=1)
        shift /= np.where(mass > 0.0, mass, 1.0)[:, None]
        length = np.sqrt(np.square(shift).sum(axis=1, keepdims=True))
        here = here * np.cos(length) + shift * np.sinc(length / np.pi)
        here /= np.sqrt(np.square(here).sum(axis=1, keepdims=True))
