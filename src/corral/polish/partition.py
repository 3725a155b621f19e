"""Labels and everything that changes with them, kept up to date cluster by cluster."""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..plan.thresholds import NEAREST
from ..problem import Problem
from ..rows import NOBODY, Side
from .excess import Excess, PairCosts


class Partition:
    """Labels, centres, distances and what the rules miss; a change updates the clusters it touches.

    Attributes
    ----------
    labels : (m,) array
    mass : (k,) array
        Weight of each cluster.
    centers : (k, d) array
    squares : (k, m) array
        Squared distances of the groups to the centres.
    near : (m, t) array
        The nearest clusters of each group.
    excess : Excess
    pairs : PairCosts or None
    mobile : (m,) array of bool
        Groups without pins.
    """

    def __init__(self, problem: Problem, labels: IntArray, centers: FloatArray) -> None:
        rules = problem.rules
        self.rules, self.rows, self.deadline = rules, problem.near, problem.deadline
        self.excess = Excess(rules)
        self.pairs = PairCosts(rules.pairs.graph, rules.n_clusters) if rules.paired else None
        self.mobile = np.ones(rules.n_groups, bool)
        self.mobile[rules.pins[:, 0]] = False
        self.labels, self.centers = labels.copy(), centers.copy()
        self.labels[rules.pins[:, 0]] = rules.pins[:, 1]
        self.groups = np.arange(rules.n_groups)
        self.squares = np.empty((rules.n_clusters, rules.n_groups))
        self._update(np.arange(rules.n_clusters))
        self.near: IntArray = np.tile(np.arange(rules.n_clusters), (rules.n_groups, 1))
        if rules.n_clusters > NEAREST:
            self.near = self._nearest(self.groups)

    def put(self, groups: IntArray, clusters: IntArray) -> IntArray:
        """Move groups to clusters; gives the clusters that changed."""
        touched = np.unique(np.concatenate([self.labels[groups], clusters]))
        if not len(touched):
            return touched
        self.labels[groups] = clusters
        self._update(touched)
        if self.rules.n_clusters > NEAREST:
            late = self._late(touched)
            self.near[late] = self._nearest(late)
        return touched

    def restore(self, labels: IntArray) -> None:
        """Go back to earlier labels."""
        moved = np.flatnonzero(labels != self.labels)
        if len(moved):
            self.put(moved, labels[moved])

    def _update(self, touched: IntArray) -> None:
        """Follow the labels in the clusters that changed."""
        self.centers = self.rows.means(self.labels, self.rules.n_clusters, self.centers)
        self.mass = self.rows.mass(self.labels, self.rules.n_clusters)
        self.squares[touched] = self.rows.distances(self.centers[touched]).T
        self.cost = self.rows.weight * self.squares[self.labels, self.groups]
        self.excess.look(self.labels)
        if self.pairs is not None:
            self.pairs.look(self.labels)

    def _nearest(self, groups: IntArray) -> IntArray:
        """The nearest clusters of some groups, (g, t)."""
        order = np.argpartition(self.squares[:, groups], NEAREST - 1, axis=0)
        return order[:NEAREST].T

    def _late(self, touched: IntArray) -> IntArray:
        """Groups that clusters have come near to which are not among their nearest yet."""
        farthest = self.squares[self.near, self.groups[:, None]].max(axis=1)
        cluster, group = np.nonzero(self.squares[touched] < farthest)
        known = (self.near[group] == touched[cluster][:, None]).any(axis=1)
        return np.unique(group[~known])

    @property
    def unit(self) -> float:
        """Mean difference between the costs of the two nearest clusters of a group."""
        two = np.partition(self.squares, 1, axis=0)[:2] if len(self.squares) > 1 else self.squares
        return float((self.rows.weight * (two[-1] - two[0])).mean())

    @property
    def objective(self) -> float:
        """Inertia, and the price of the soft pairs broken."""
        return float(self.cost.sum()) + self.rules.soft.cost(self.labels)

    def valued(self, price: float) -> float:
        """The objective with a price on what the rules miss."""
        return self.objective + price * self.missed

    @property
    def missed(self) -> float:
        """What all hard rules miss together."""
        return self.excess.total + (0.0 if self.pairs is None else self.pairs.broken)

    @property
    def feasible(self) -> bool:
        """Whether no hard rule is broken."""
        return self.missed == 0.0

    def legs(self, wanted: BoolArray) -> tuple[IntArray, IntArray]:
        """Groups and near clusters they may go to; one of the two clusters is wanted."""
        own = self.labels[:, None]
        ways = (wanted[self.near] | wanted[own]) & (self.near != own) & self.mobile[:, None]
        group, place = np.nonzero(ways)
        return group, self.near[group, place]

    def side(self, groups: IntArray, clusters: IntArray) -> Side:
        """Groups as clusters see them."""
        return Side(self.rows.weight[groups], self.squares[clusters, groups])

    def replaced(
        self, clusters: IntArray, come: IntArray, gone: IntArray, apart: FloatArray | None = None
    ) -> FloatArray:
        """Rise of the inertia of clusters when a group comes to each and another leaves it."""
        sides = self.side(come, clusters), self.side(gone, clusters)
        return self.rows.distance.replaced(self.mass[clusters], *sides, apart)

    def paid(self, groups: IntArray, clusters: IntArray, price: float) -> FloatArray | float:
        """What groups pay for their pairs in clusters."""
        return 0.0 if self.pairs is None else self.pairs.at(groups, clusters, price)

    def leaving(self, price: float) -> FloatArray:
        """Rise of the costs, mostly negative, when each group leaves its cluster."""
        side = self.side(self.groups, self.labels)
        rise = self.rows.distance.replaced(self.mass[self.labels], NOBODY, side)
        return rise - self.paid(self.groups, self.labels, price)

    def arriving(self, groups: IntArray, clusters: IntArray, price: float) -> FloatArray:
        """Rise of the costs when groups arrive at clusters."""
        side = self.side(groups, clusters)
        rise = self.rows.distance.replaced(self.mass[clusters], side, NOBODY)
        return rise + self.paid(groups, clusters, price)

    def elsewhere(self, members: BoolArray, price: float) -> FloatArray:
        """Least rise of the costs when a group arrives at another cluster; infinite for others."""
        rows = np.flatnonzero(members)
        near = self.near[rows]
        rise = self.arriving(np.repeat(rows, near.shape[1]), near.ravel(), price)
        rise = np.where(near == self.labels[rows, None], np.inf, rise.reshape(near.shape))
        least = np.full(len(self.labels), np.inf)
        least[rows] = rise.min(axis=1)
        return least
