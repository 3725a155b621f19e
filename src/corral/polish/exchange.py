"""Single moves and swaps of groups that lower the objective, centres moving along.

An exact assignment to fixed centres cannot see that a centre follows the points it gains.  The
distance knows how far the objective falls when a group moves, when two groups change places, and
when centres follow (:class:`.rows.Distance`).  Groups with cannot-links move if no neighbour is in
the way, and otherwise together with it (:mod:`.kempe`, :mod:`.relays`) or with their clique
(:mod:`.cliques`).
Groups with soft pairs move by themselves, their prices counted.  Groups with hard pins or linear
rows stay; hard sizes and totals are kept in bounds, and what changes in the price of soft ones and
of soft pins counts (:mod:`.tolls`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..presolve import Sums
from ..problem import Problem
from ..rows import SwapSide
from .cliques import CliqueExchange
from .excess import PairCosts
from .kempe import Chains, Change, paying
from .relays import Relays
from .tolls import Tolls

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
    weight: FloatArray  # their stiffness
    distances: FloatArray


class Exchange:
    """Looks for moves and swaps that pay in answers to one problem."""

    def __init__(self, problem: Problem) -> None:
        rules = problem.rules
        self.rows, self.n_clusters = problem.near, rules.n_clusters
        self.deadline = problem.deadline
        self.apart = rules.apart
        self.mobile = np.full(rules.n_groups, rules.linear is None)
        self.mobile[rules.pins[:, 0]] = False
        self.mobile[rules.together.ravel()] = False
        self.single = self.mobile.copy()  # without soft pairs, so that they may move with others
        self.single[rules.soft.pairs.ravel()] = False
        self.prices = (
            PairCosts(rules.pairs.graph, rules.n_clusters) if len(rules.soft.pairs) else None
        )
        self.sums = rules.sums()  # of sizes and totals
        self.tolls = Tolls.of(rules)
        self.cliques = CliqueExchange(problem)
        # Cliques are placed as a whole, which leaves nothing to relays.
        relayed = len(self.apart) > 0 and not len(self.sums) and not rules.in_cliques
        relayed = relayed and self.tolls is None
        self.relays = Relays(self.rows, rules.pairs, self.single) if relayed else None

    def improve(self, labels: IntArray, centers: FloatArray, objective: float) -> IntArray | None:
        """Labels after one round of changes that pay, or None if there is none."""
        if not self.mobile.any():
            return None
        held = self.rows.stiffness(labels, self.n_clusters)
        clusters = Clusters(labels, centers, held, self.rows.distances(centers))
        chains = Chains.of(self.apart, labels, self.n_clusters)
        changes = self._moves(clusters, chains, NEGLIGIBLE * objective)
        if not changes:
            placed = self.cliques.improve(labels, NEGLIGIBLE * objective)
            if placed is not None:
                return placed
        changes += self._chains(clusters, chains, NEGLIGIBLE * objective)
        if not changes and self.relays is not None:
            held, squares = clusters.weight, clusters.distances
            changes = self.relays.paying(labels, held, squares, NEGLIGIBLE * objective)
        if not changes and (len(self.sums) or self.tolls is not None):
            changes = self._swaps(clusters, chains, NEGLIGIBLE * objective)
        return _apply(labels, changes) if changes else None

    def _moves(self, clusters: Clusters, chains: Chains, least: float) -> list[Change]:
        """Best move of each group to another cluster where no neighbour is in the way."""
        own, rows = clusters.labels, np.arange(len(clusters.labels))
        gain = self.rows.distance.move_gains(
            self.rows.weight, clusters.weight, own, clusters.distances
        )
        if self.prices is not None:
            self.prices.look(own)
            paid = self.prices.soft
            gain += paid[rows, own][:, None] - paid
        if self.tolls is not None:
            gain -= self.tolls.moves(own)
        gain[rows, own] = -np.inf
        gain[~self.mobile] = -np.inf
        gain[chains.group, chains.to] = -np.inf
        gain[~_allowed_moves(self.sums, own)] = -np.inf
        to = gain.argmax(axis=1)
        best = gain[rows, to]
        gaining = np.flatnonzero(best > least)
        return [Change(float(best[g]), np.array([g]), to[[g]]) for g in gaining]

    def _chains(self, clusters: Clusters, chains: Chains, least: float) -> list[Change]:
        """Chains that pay; one of two clusters a and b changes the masses and means of both."""
        if not len(chains):
            return []
        own, weight = clusters.labels[chains.group], self.rows.weight[chains.group]
        squares = clusters.distances
        saved = weight * (squares[chains.group, own] - squares[chains.group, chains.to])
        gain = chains.total(saved)
        if self.tolls is not None:
            gain -= self.tolls.chains(chains, clusters.labels)
        allowed = chains.total((~self.single[chains.group]).astype(float)) == 0
        ends = np.zeros((2, len(chains)), np.int64)  # the clusters of each chain
        ends[:, chains.number] = np.minimum(own, chains.to), np.maximum(own, chains.to)
        arrives = np.where(chains.to < own, 1.0, -1.0) * [[1.0], [-1.0]]  # or leaves, at either end
        place = np.stack([chains.number, chains.number + len(chains)]), np.stack([chains.group] * 2)
        change = sparse.csr_array(
            ((arrives * weight).ravel(), (place[0].ravel(), place[1].ravel())),
            shape=(2 * len(chains), len(clusters.labels)),
        )
        j = ends.ravel()
        follow = self.rows.follow_gains(change, clusters.centers[j], clusters.weight[j])
        gain += follow.reshape(2, -1).sum(axis=0)
        totals = self.sums.reached(clusters.labels)
        for value, lower, upper, total in zip(
            self.sums.values, self.sums.lower, self.sums.upper, totals, strict=True
        ):
            for j, sign in zip(ends, arrives, strict=True):
                then = total[j] + chains.total(sign * value[chains.group])
                allowed &= (then >= lower[j]) & (then <= upper[j])
        return paying(chains, np.where(allowed, gain, -np.inf), least)

    def _swaps(self, clusters: Clusters, chains: Chains, least: float) -> list[Change]:
        """Best swap between each two clusters of groups without neighbours there."""
        rows = np.arange(len(clusters.labels))
        loss = self.rows.weight[:, None] * (
            clusters.distances - clusters.distances[rows, clusters.labels][:, None]
        )
        if self.tolls is not None:
            loss += self.tolls.elsewhere(clusters.labels)
        loss[chains.group, chains.to] = np.inf
        members = [
            np.flatnonzero((clusters.labels == j) & self.single) for j in range(self.n_clusters)
        ]
        totals = self.sums.reached(clusters.labels)
        soft = None if self.tolls is None else self.tolls.sums.reached(clusters.labels)
        found = []
        for a, b in self._promising(clusters, members, loss, least):
            from_a = _cheapest(members[a], loss[members[a], b])
            from_b = _cheapest(members[b], loss[members[b], a])
            if self.deadline.passed:
                break
            if not (len(from_a) and len(from_b)):
                continue
            gain = self._swap_gains(clusters, a, b, from_a, from_b)
            if self.tolls is not None and soft is not None:
                gain -= self.tolls.swaps(soft, (a, b), from_a, from_b)
            gain[~_allowed_swaps(self.sums, totals, (a, b), from_a, from_b)] = -np.inf
            g, h = np.unravel_index(gain.argmax(), gain.shape)
            if gain[g, h] > least:
                groups = np.array([from_a[g], from_b[h]])
                found.append(Change(float(gain[g, h]), groups, np.array([b, a])))
        return found

    def _promising(
        self, clusters: Clusters, members: Sequence[IntArray], loss: FloatArray, least: float
    ) -> list[tuple[int, int]]:
        """Pairs of clusters in which a swap may gain more than it loses at fixed centres."""
        k, weight = self.n_clusters, self.rows.weight[:, None]
        lost, reach, rest = np.full((k, k), np.inf), np.zeros((k, k)), clusters.weight.copy()
        away = weight * np.sqrt(clusters.distances)
        for a, own in enumerate(members):
            if len(own):
                lost[a], reach[a] = loss[own].min(axis=0), away[own].max(axis=0)
                rest[a] -= weight[own].max()
        may = self.rows.distance.swap_limits(reach, rest) > lost + lost.T + least
        if self.tolls is not None and self.tolls.uneven:
            may[:] = True  # a swap may also bring soft sums nearer to their bounds
        return [(a, b) for a, b in combinations(range(k), 2) if may[a, b]]

    def _swap_gains(
        self, clusters: Clusters, a: int, b: int, from_a: IntArray, from_b: IntArray
    ) -> FloatArray:
        """How far the objective falls when g and h change places, (g, h)."""
        weight, mass, d = self.rows.weight, clusters.weight, clusters.distances
        first = SwapSide(weight[from_a], mass[a], d[from_a, a], d[from_a, b])
        second = SwapSide(weight[from_b], mass[b], d[from_b, b], d[from_b, a])
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
    sums: Sums, totals: FloatArray, clusters: tuple[int, int], from_a: IntArray, from_b: IntArray
) -> BoolArray:
    """Whether g and h of two clusters may change places, (g, h), given the totals of the sums."""
    allowed, (a, b) = np.ones((len(from_a), len(from_b)), bool), clusters
    columns = sums.values, sums.lower, sums.upper, totals
    for value, lower, upper, total in zip(*columns, strict=True):
        change = value[from_b][None, :] - value[from_a][:, None]
        if not change.any():
            continue
        for j, signed in ((a, change), (b, -change)):
            then = total[j] + signed
            allowed &= (change == 0) | ((then >= lower[j]) & (then <= upper[j]))
    return allowed


def _cheapest(members: IntArray, loss: FloatArray) -> IntArray:
    """The members that lose least, without those that may not go."""
    members, loss = members[np.isfinite(loss)], loss[np.isfinite(loss)]
    if len(members) <= CANDIDATES:
        return members
    return members[np.argpartition(loss, CANDIDATES)[:CANDIDATES]]


def _apply(labels: IntArray, changes: list[Change]) -> IntArray:
    """Carry out the best changes, each cluster taking part once so that gains stay exact."""
    changed = labels.copy()
    touched: set[int] = set()
    for change in sorted(changes, key=lambda change: -change.gain):
        involved = {*labels[change.groups].tolist(), *change.to.tolist()}
        if touched.isdisjoint(involved):
            changed[change.groups] = change.to
            touched |= involved
    return changed
