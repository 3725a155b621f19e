"""Single moves and swaps of groups that lower the objective, centres moving along.

An exact assignment to fixed centres cannot see that a centre follows the points it gains.  The
distance knows how far the objective falls when a group moves, and when two groups change places
(:meth:`.rows.Distance.move_gains`, :meth:`.rows.Distance.swap_gains`).  Only groups without pins,
must-links, soft pairs or linear rows are moved.  Sizes and totals are kept in bounds.  A group with
cannot-links goes only where it has no neighbour, or changes places with its only neighbour there,
which is how the groups of a clique move.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import Sums
from ..problem import Problem
from ..rows import SwapSide
from .cliques import CliqueExchange

#: Groups of each of two clusters that are paired up for a swap: those that lose least by changing
#: sides.  More of them find more swaps at quadratic cost.
CANDIDATES = 40
#: Gains below this part of the objective are rounding.
NEGLIGIBLE = 1e-10


@dataclass
class Clusters:
    """Labels and what they imply for every cluster; refreshed after each round of changes."""

    labels: IntArray
    centers: FloatArray
    weight: FloatArray
    distances: FloatArray
    neighbours: IntArray  # cannot-links of each group with members of each cluster


class Exchange:
    """Looks for moves and swaps that pay in answers to one problem."""

    def __init__(self, problem: Problem) -> None:
        rules = problem.rules
        self.rows, self.n_clusters = problem.near, rules.n_clusters
        self.deadline = problem.deadline
        pairs = (rules.together.ravel(), rules.soft.pairs.ravel())
        bound = np.concatenate([rules.pins[:, 0], *pairs])
        self.mobile = np.full(rules.n_groups, rules.linear is None)
        self.mobile[bound.astype(np.int64)] = False
        self.cliques = CliqueExchange(problem)
        self.apart = rules.apart
        self.swapped = self.apart[self.mobile[self.apart].all(axis=1)]
        self.sums = rules.sums()  # of sizes and totals

    def improve(self, labels: IntArray, centers: FloatArray, objective: float) -> IntArray | None:
        """Labels after one round of changes that pay, or None if there is none."""
        if not self.mobile.any():
            return None
        mass = self.rows.mass(labels, self.n_clusters)
        neighbours = self._neighbours(labels)
        clusters = Clusters(labels, centers, mass, self.rows.distances(centers), neighbours)
        changes = self._moves(clusters, NEGLIGIBLE * objective)
        if not changes:
            placed = self.cliques.improve(labels, NEGLIGIBLE * objective)
            if placed is not None:
                return placed
            changes = self._linked_swaps(clusters, NEGLIGIBLE * objective)
        if not changes and len(self.sums):
            changes = self._swaps(clusters, NEGLIGIBLE * objective)
        return _apply(labels, changes) if changes else None

    def _neighbours(self, labels: IntArray) -> IntArray:
        """Cannot-links of each group with members of each cluster, (m, k)."""
        m, k = len(labels), self.n_clusters
        ends, others = self.apart.ravel(), self.apart[:, ::-1].ravel()
        return np.bincount(ends * k + labels[others], minlength=m * k).reshape(m, k)

    def _moves(self, clusters: Clusters, least: float) -> list[tuple[float, IntArray, IntArray]]:
        """Best move of each group to another cluster, as (gain, groups, new labels)."""
        own, rows = clusters.labels, np.arange(len(clusters.labels))
        gain = self.rows.distance.move_gains(
            self.rows.weight, clusters.weight, own, clusters.distances
        )
        gain[rows, own] = -np.inf
        gain[~self.mobile] = -np.inf
        gain[~_allowed_moves(self.sums, own) | (clusters.neighbours > 0)] = -np.inf
        to = gain.argmax(axis=1)
        best = gain[rows, to]
        paying = np.flatnonzero(best > least)
        return [(best[g], np.array([g]), np.array([to[g]])) for g in paying]

    def _linked_swaps(
        self, clusters: Clusters, least: float
    ) -> list[tuple[float, IntArray, IntArray]]:
        """Swaps of two groups with a cannot-link that pay, as (gain, groups, new labels)."""
        g, h = self.swapped.T
        a, b = clusters.labels[g], clusters.labels[h]
        alone = (clusters.neighbours[g, b] == 1) & (clusters.neighbours[h, a] == 1)
        alone &= _allowed_swaps(self.sums, self.sums.reached(clusters.labels), (a, b), g, h)
        g, h, a, b = g[alone], h[alone], a[alone], b[alone]
        weight, mass, d = self.rows.weight, clusters.weight, clusters.distances
        gain = self.rows.distance.swap_gains(
            SwapSide(weight[g], mass[a], d[g, a], d[g, b]),
            SwapSide(weight[h], mass[b], d[h, b], d[h, a]),
            self.rows.inner(g, h, clusters.centers[a]),
        )
        paying = np.flatnonzero(gain > least)
        return [(gain[i], np.array([g[i], h[i]]), np.array([b[i], a[i]])) for i in paying.tolist()]

    def _swaps(self, clusters: Clusters, least: float) -> list[tuple[float, IntArray, IntArray]]:
        """Best swap between each two clusters, as (gain, groups, new labels)."""
        rows = np.arange(len(clusters.labels))
        loss = self.rows.weight[:, None] * (
            clusters.distances - clusters.distances[rows, clusters.labels][:, None]
        )
        members = [
            np.flatnonzero((clusters.labels == j) & self.mobile) for j in range(self.n_clusters)
        ]
        totals = self.sums.reached(clusters.labels)
        found = []
        for a, b in combinations(range(self.n_clusters), 2):
            of_a, of_b = (
                members[j][clusters.neighbours[members[j], other] == 0]
                for j, other in ((a, b), (b, a))
            )
            from_a, from_b = _cheapest(of_a, loss[of_a, b]), _cheapest(of_b, loss[of_b, a])
            if self.deadline.passed:
                break
            if not (len(from_a) and len(from_b)):
                continue
            gain = self._swap_gains(clusters, a, b, from_a, from_b)
            allowed = _allowed_swaps(self.sums, totals, (a, b), from_a[:, None], from_b)
            gain[~allowed] = -np.inf
            g, h = np.unravel_index(gain.argmax(), gain.shape)
            if gain[g, h] > least:
                found.append((gain[g, h], np.array([from_a[g], from_b[h]]), np.array([b, a])))
        return found

    def _swap_gains(
        self, clusters: Clusters, a: int, b: int, from_a: IntArray, from_b: IntArray
    ) -> FloatArray:
        """How far the objective falls when g and h change places, (g, h)."""
        weight, mass, d = self.rows.weight, clusters.weight, clusters.distances
        g, h = from_a[:, None], from_b[None, :]
        first = SwapSide(weight[g], mass[a], d[g, a], d[g, b])
        second = SwapSide(weight[h], mass[b], d[h, b], d[h, a])
        inner = self.rows.gram(from_a, from_b, clusters.centers[a])
        return self.rows.distance.swap_gains(first, second, inner)


def _allowed_moves(sums: Sums, labels: IntArray) -> BoolArray:
    """Whether group g may move to cluster j, (m, k), by sizes and totals."""
    allowed = np.ones((len(labels), sums.lower.shape[1]), bool)
    columns = sums.values, sums.lower, sums.upper, sums.reached(labels)
    for value, lower, upper, total in zip(*columns, strict=True):
        left = total[labels] - value
        allowed &= ((left >= lower[labels]) & (left <= upper[labels]))[:, None]
        arrived = total + value[:, None]
        allowed &= (arrived >= lower) & (arrived <= upper)
    return allowed


def _allowed_swaps(
    sums: Sums,
    totals: FloatArray,
    clusters: tuple[IntArray | int, IntArray | int],
    g: IntArray,
    h: IntArray,
) -> BoolArray:
    """Whether g and h of two clusters may change places, given the totals of the sums.

    Groups and clusters are broadcast against each other.
    """
    allowed, (a, b) = np.ones(np.broadcast_shapes(g.shape, h.shape), bool), clusters
    columns = sums.values, sums.lower, sums.upper, totals
    for value, lower, upper, total in zip(*columns, strict=True):
        change = value[h] - value[g]
        if not change.any():
            continue
        for j, signed in ((a, change), (b, -change)):
            then = total[j] + signed
            allowed &= (change == 0) | ((then >= lower[j]) & (then <= upper[j]))
    return allowed


def _cheapest(members: IntArray, loss: FloatArray) -> IntArray:
    """The members that lose least."""
    if len(members) <= CANDIDATES:
        return members
    return members[np.argpartition(loss, CANDIDATES)[:CANDIDATES]]


def _apply(labels: IntArray, changes: list[tuple[float, IntArray, IntArray]]) -> IntArray:
    """Carry out the best changes, each cluster taking part once so that gains stay exact."""
    changed = labels.copy()
    touched: set[int] = set()
    for _, groups, new in sorted(changes, key=lambda change: -change[0]):
        involved = {*labels[groups].tolist(), *new.tolist()}
        if touched.isdisjoint(involved):
            changed[groups] = new
            touched |= involved
    return changed
