"""Single moves and swaps of groups that lower the objective, centres moving along.

An exact assignment to fixed centres cannot see that a centre follows the points it gains.  Moving
group g from cluster a to b changes the objective by

    - w W_a / (W_a - w) |p - mu_a|^2 + w W_b / (W_b + w) |p - mu_b|^2

(Hartigan), and swapping g and h between them by what the sums ``S_a, S_b`` and weights say.
Only groups without pins, pairs or linear rows are moved; sizes and totals are kept in bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..geometry import Geometry
from ..problem import Problem

#: Of two clusters so many groups, those that lose least by changing sides, are paired up.
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


class Exchange:
    """Looks for moves and swaps that pay in answers to one problem."""

    def __init__(self, problem: Problem, geometry: Geometry) -> None:
        self.problem = problem
        self.geometry = geometry
        bound = np.concatenate(
            [
                problem.pins[:, 0],
                problem.apart.ravel(),
                problem.together.ravel(),
                problem.soft.pairs.ravel(),
            ]
        )
        self.mobile = np.full(problem.n_groups, problem.linear is None)
        self.mobile[bound.astype(np.int64)] = False
        self.rules = _Bounds(problem)

    def improve(self, labels: IntArray, centers: FloatArray, objective: float) -> IntArray | None:
        """Labels after one round of changes that pay, or None if there is none."""
        if not self.mobile.any():
            return None
        clusters = Clusters(
            labels,
            centers,
            sums_by(labels, self.geometry.weight, self.problem.n_clusters),
            self.geometry.distances(centers),
        )
        changes = self._moves(clusters, NEGLIGIBLE * objective)
        if not changes and len(self.rules):
            changes = self._swaps(clusters, NEGLIGIBLE * objective)
        return _apply(labels, changes) if changes else None

    def _moves(self, clusters: Clusters, least: float) -> list[tuple[float, IntArray, IntArray]]:
        """Best move of each group to another cluster, as (gain, groups, new labels)."""
        w, own = self.geometry.weight, clusters.labels
        rest = clusters.weight[own] - w
        # A group alone in its cluster gains nothing by leaving it.
        leave = np.where(rest > 0, w * clusters.weight[own] / np.where(rest > 0, rest, 1.0), 0.0)
        rows = np.arange(len(own))
        gain = (leave * clusters.distances[rows, own])[:, None] - (
            w[:, None] * clusters.weight / (clusters.weight + w[:, None] + 1e-300)
        ) * clusters.distances
        gain[rows, own] = -np.inf
        gain[~self.mobile] = -np.inf
        gain[~self.rules.allows_moves(own)] = -np.inf
        to = gain.argmax(axis=1)
        best = gain[rows, to]
        paying = np.flatnonzero(best > least)
        return [(best[g], np.array([g]), np.array([to[g]])) for g in paying]

    def _swaps(self, clusters: Clusters, least: float) -> list[tuple[float, IntArray, IntArray]]:
        """Best swap between each two clusters, as (gain, groups, new labels)."""
        rows = np.arange(len(clusters.labels))
        loss = self.geometry.weight[:, None] * (
            clusters.distances - clusters.distances[rows, clusters.labels][:, None]
        )
        members = [
            np.flatnonzero((clusters.labels == j) & self.mobile)
            for j in range(self.problem.n_clusters)
        ]
        totals = self.rules.sums(clusters.labels)
        found = []
        for a, b in zip(*np.triu_indices(self.problem.n_clusters, 1), strict=True):
            from_a = _cheapest(members[a], loss[members[a], b])
            from_b = _cheapest(members[b], loss[members[b], a])
            if not (len(from_a) and len(from_b)):
                continue
            gain = self._swap_gains(clusters, int(a), int(b), from_a, from_b)
            allowed = self.rules.allows_swaps(totals, int(a), int(b), from_a, from_b)
            gain[~allowed] = -np.inf
            g, h = np.unravel_index(gain.argmax(), gain.shape)
            if gain[g, h] > least:
                found.append((gain[g, h], np.array([from_a[g], from_b[h]]), np.array([b, a])))
        return found

    def _swap_gains(
        self, clusters: Clusters, a: int, b: int, from_a: IntArray, from_b: IntArray
    ) -> FloatArray:
        """``|S_a'|^2/W_a' + |S_b'|^2/W_b' - |S_a|^2/W_a - |S_b|^2/W_b`` for all pairs (g, h).

        Written about ``mu_a`` and ``mu_b``, where ``S_a`` and ``S_b`` vanish: then
        ``S_j' = +-(w_h (p_h - mu_j) - w_g (p_g - mu_j))``.
        """
        w_g = self.geometry.weight[from_a][:, None]
        w_h = self.geometry.weight[from_b][None, :]
        d = clusters.distances
        ga, gb, ha, hb = d[from_a, a][:, None], d[from_a, b][:, None], d[from_b, a], d[from_b, b]
        gain: FloatArray = (ga - gb) * w_g + (hb - ha) * w_h
        # (p_g - mu) . (p_h - mu) about mu_a; about mu_b it follows from the distances.
        inner = self.geometry.gram(from_a, from_b, clusters.centers[a])
        shift = w_g**2 * ga + w_h**2 * ha - 2.0 * w_g * w_h * inner
        gain += _quotient(shift, clusters.weight[a] + (w_h - w_g))
        inner += 0.5 * ((gb - ga) + (hb - ha))
        shift = w_g**2 * gb + w_h**2 * hb - 2.0 * w_g * w_h * inner
        gain += _quotient(shift, clusters.weight[b] - (w_h - w_g))
        return gain


class _Bounds:
    """Sizes and totals of a problem, to ask whether a change keeps them."""

    def __init__(self, problem: Problem) -> None:
        self.n_clusters = problem.n_clusters
        rows: list[FloatArray] = []
        lower: list[FloatArray | IntArray] = []
        upper: list[FloatArray | IntArray] = []
        if problem.sizes is not None:
            rows.append(problem.count.astype(float))
            lower.append(problem.sizes.lower)
            upper.append(problem.sizes.upper)
        for total in problem.totals:
            rows.append(total.values)
            lower.append(total.lower)
            upper.append(total.upper)
        self.values = np.array(rows, float).reshape(len(rows), problem.n_groups)
        self.lower = np.array(lower, float).reshape(len(rows), problem.n_clusters)
        self.upper = np.array(upper, float).reshape(len(rows), problem.n_clusters)

    def __len__(self) -> int:
        return len(self.values)

    def sums(self, labels: IntArray) -> FloatArray:
        """Of every cluster, (rules, k)."""
        sums = [sums_by(labels, value, self.n_clusters) for value in self.values]
        return np.array(sums).reshape(len(sums), self.n_clusters)

    def allows_moves(self, labels: IntArray) -> BoolArray:
        """Whether group g may move to cluster j, (m, k)."""
        allowed = np.ones((self.values.shape[1], self.n_clusters), bool)
        for value, lower, upper, total in zip(
            self.values, self.lower, self.upper, self.sums(labels), strict=True
        ):
            left = total[labels] - value
            allowed &= ((left >= lower[labels]) & (left <= upper[labels]))[:, None]
            arrived = total + value[:, None]
            allowed &= (arrived >= lower) & (arrived <= upper)
        return allowed

    def allows_swaps(
        self, totals: FloatArray, a: int, b: int, from_a: IntArray, from_b: IntArray
    ) -> BoolArray:
        """Whether g of cluster a and h of cluster b may change places, (g, h), given the sums."""
        allowed = np.ones((len(from_a), len(from_b)), bool)
        for value, lower, upper, total in zip(
            self.values, self.lower, self.upper, totals, strict=True
        ):
            change = value[from_b][None, :] - value[from_a][:, None]
            if not change.any():
                continue
            for j, signed in ((a, change), (b, -change)):
                then = total[j] + signed
                allowed &= (change == 0) | ((then >= lower[j]) & (then <= upper[j]))
        return allowed


def _quotient(shift: FloatArray, rest: FloatArray) -> FloatArray:
    """``shift / rest``, nothing where no weight is left."""
    return np.divide(shift, rest, out=np.zeros_like(shift), where=rest > 0)


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
