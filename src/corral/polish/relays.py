"""Relays of cannot-links: groups that take the places of others, over three clusters or four.

Chains of two clusters (:mod:`.kempe`) send a group that is pushed out back to where the first one
came from.  In a relay it goes on to a third cluster, where it is in nobody's way or pushes out one
more group; that one goes to a free place, or to the cluster that the first one left.

The clusters of a relay are different and each of them gains one group or loses one, or both.  What
it costs is therefore a sum over its clusters, exact although the centres follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import Pairs
from ..rows import NOBODY, MemoryRows, Side
from .kempe import Change


@dataclass(frozen=True)
class Steps:
    """Groups that take the place of their only neighbour in a cluster.

    ``mover[s]`` goes to the cluster of ``pushed[s]``, whose inertia rises by ``rise[s]``.
    """

    mover: IntArray
    pushed: IntArray
    rise: FloatArray

    def of(self, which: IntArray | BoolArray) -> Steps:
        """Some of them."""
        return Steps(self.mover[which], self.pushed[which], self.rise[which])


class Relays:
    """Relays between groups that may move, for labels that break no cannot-link."""

    def __init__(self, rows: MemoryRows, pairs: Pairs, mobile: BoolArray) -> None:
        self.rows, self.mobile, self.links = rows, mobile, pairs.links
        self.ends = np.repeat(np.arange(len(mobile)), np.diff(self.links.indptr))

    def paying(
        self, labels: IntArray, mass: FloatArray, squares: FloatArray, least: float
    ) -> list[Change]:
        """Relays that gain more than the least; of the short ones with one first step, the best.

        ``mass`` is the stiffness of the clusters and ``squares`` has the squared distances of all
        groups to their centres.
        """
        self.labels, self.mass, self.squares = labels, mass, squares
        k = len(mass)
        to = self.ends * k + labels[self.links.indices]
        near = np.bincount(to, minlength=squares.size).reshape(squares.shape)
        steps = self._steps(near)
        if not len(steps.mover):
            return []
        everyone = np.arange(len(labels))
        left = self._rise(labels, NOBODY, everyone)  # where a group leaves
        free = self.rows.distance.arrivals(self.rows.weight[:, None], mass, squares)
        free[(near > 0) | (np.arange(k) == labels[:, None])] = np.inf
        return [*self._short(steps, left, free, least), *self._long(steps, left, free, near, least)]

    def _side(self, groups: IntArray, clusters: IntArray) -> Side:
        return Side(self.rows.weight[groups], self.squares[groups, clusters])

    def _rise(self, clusters: IntArray, arriving: IntArray | Side, leaving: IntArray) -> FloatArray:
        """How far the inertia of clusters rises when groups arrive and others leave."""
        out, mass = self._side(leaving, clusters), self.mass[clusters]
        if isinstance(arriving, Side):
            return self.rows.distance.replaced(mass, arriving, out)
        into, apart = self._side(arriving, clusters), self.rows.apart(arriving, leaving)
        return self.rows.distance.replaced(mass, into, out, apart)

    def _steps(self, near: IntArray) -> Steps:
        mover, pushed = self.ends, self.links.indices.astype(np.int64)
        valid = self.mobile[mover] & self.mobile[pushed]
        valid &= near[mover, self.labels[pushed]] == 1
        mover, pushed = mover[valid], pushed[valid]
        return Steps(mover, pushed, self._rise(self.labels[pushed], mover, pushed))

    def _short(
        self, steps: Steps, left: FloatArray, free: FloatArray, least: float
    ) -> list[Change]:
        """The pushed group goes to a free place in a third cluster."""
        open_ = free[steps.pushed]
        open_[np.arange(len(open_)), self.labels[steps.mover]] = np.inf
        to = open_.argmin(axis=1)
        gain = -(left[steps.mover] + steps.rise + open_[np.arange(len(to)), to])
        groups = np.stack([steps.mover, steps.pushed], axis=1)
        return _changes(gain, groups, np.stack([self.labels[steps.pushed], to], axis=1), least)

    def _long(
        self, steps: Steps, left: FloatArray, free: FloatArray, near: IntArray, least: float
    ) -> list[Change]:
        """The pushed group pushes out another, which goes to a free place or to the first one."""
        first, second = self._pairs(steps)
        a, b, c = (self.labels[each] for each in (first.mover, first.pushed, second.pushed))
        apart = (a != c) & (b != c)
        first, second, a, b, c = first.of(apart), second.of(apart), a[apart], b[apart], c[apart]
        number, last = np.arange(len(a)), second.pushed
        open_ = free[last]
        open_[number, a] = open_[number, b] = np.inf
        to = open_.argmin(axis=1)
        rise = left[first.mover] + open_[number, to]
        # Nobody but the first group may be in the way where it was.
        linked = np.isin(first.mover * len(left) + last, self.ends * len(left) + self.links.indices)
        back = near[last, a] == linked
        around = np.where(back, self._rise(a, last, first.mover), np.inf)
        to = np.where(around < rise, a, to)
        gain = -(first.rise + second.rise + np.minimum(rise, around))
        groups = np.stack([first.mover, first.pushed, last], axis=1)
        return _changes(gain, groups, np.stack([b, c, to], axis=1), least)

    def _pairs(self, steps: Steps) -> tuple[Steps, Steps]:
        """All first and second steps of which the second moves the group that the first pushed."""
        order = np.argsort(steps.mover, kind="stable")
        sorted_ = steps.of(order)
        start = np.searchsorted(sorted_.mover, steps.pushed)
        count = np.searchsorted(sorted_.mover, steps.pushed, side="right") - start
        first = np.repeat(np.arange(len(start)), count)
        within = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
        return steps.of(first), sorted_.of(start[first] + within)


def _changes(gain: FloatArray, groups: IntArray, to: IntArray, least: float) -> list[Change]:
    """Those that gain more than the least, as changes."""
    return [Change(float(gain[c]), groups[c], to[c]) for c in np.flatnonzero(gain > least)]
