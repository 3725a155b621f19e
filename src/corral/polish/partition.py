"""Labels and everything that changes with them, kept up to date cluster by cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..deadline import Deadline
from ..plan.thresholds import NEAREST
from ..presolve import Rules
from ..problem import Problem
from ..rows import NOBODY, Side
from .excess import Excess, PairCosts, Steps


class Partition(ABC):
    """Labels, centres, costs and what the rules miss; a change updates the clusters it touches.

    A subclass says what a centre is and how the costs of clusters change when groups come and go.

    Attributes
    ----------
    rules : Rules
    deadline : Deadline
    labels : (m,) array
    centers : array
        One entry a cluster.
    weight : (m,) array
        Weights of the groups.
    squares : (k, m) array
        What a unit of weight of the groups costs at the centres.
    cost : (m,) array
        What the groups cost where they are.
    near : (m, t) array
        The nearest clusters of each group.
    excess : Excess
    soft : Excess or None
        What soft sizes and totals cost.
    pairs : PairCosts or None
    mobile : (m,) array of bool
        Groups without pins.
    """

    squares: FloatArray
    cost: FloatArray

    def __init__(
        self, rules: Rules, deadline: Deadline, labels: IntArray, centers: Any, weight: FloatArray
    ) -> None:
        self.rules, self.deadline, self.weight = rules, deadline, weight
        self.excess, self.soft = Excess.of(rules), Excess.priced(rules)
        graph = rules.pairs.graph  # without the soft pairs inside one group
        self.pairs = PairCosts(graph, rules.n_clusters) if len(graph.a) else None
        self.mobile = np.ones(rules.n_groups, bool)
        self.mobile[rules.pins[:, 0]] = False
        self._pinned: FloatArray | None = None  # what groups pay for soft pins, (m, k)
        if len(rules.soft_pins):
            self._pinned = rules.soft_pins.added_to(np.zeros((rules.n_groups, rules.n_clusters)))
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

    @abstractmethod
    def replaced(
        self, clusters: IntArray, come: IntArray, gone: IntArray, apart: FloatArray | None = None
    ) -> FloatArray:
        """Rise of the costs of clusters when a group comes to each and another leaves it.

        Without what :meth:`apart` tells of the two it is a lower bound.
        """

    @abstractmethod
    def left(self) -> FloatArray:
        """Rise of the costs of its cluster, mostly negative, when each group leaves, (m,)."""

    @abstractmethod
    def joined(self, groups: IntArray, clusters: IntArray) -> FloatArray:
        """Rise of the costs of clusters when a group comes to each."""

    @abstractmethod
    def displaced(
        self, groups: IntArray, clusters: IntArray, heaviest: FloatArray, farthest: FloatArray
    ) -> FloatArray:
        """Lower bound on the rise when a group comes to each cluster and one member leaves.

        What that member cost is not counted as saved.  ``heaviest`` and ``farthest`` are the
        largest weight and entry of ``squares`` of the members of each of the clusters.
        """

    @abstractmethod
    def swap_slack(self, groups: IntArray) -> FloatArray | float:
        """What a swap may save of the cluster of each group beyond :meth:`left`."""

    @abstractmethod
    def apart(self, groups: IntArray, others: IntArray) -> FloatArray | None:
        """What :meth:`replaced` has to know of two groups, if anything."""

    @abstractmethod
    def nearby(self, cluster: int) -> IntArray:
        """All clusters, the nearest to one of them first."""

    @abstractmethod
    def seeded(self, groups: IntArray, seed: int) -> FloatArray:
        """What a unit of weight of the groups would cost if one group were a centre."""

    @abstractmethod
    def split(self, cluster: int) -> tuple[float, Any]:
        """What a cluster would cost less as two, and the centres of these."""

    @abstractmethod
    def second_half(self, groups: IntArray, centers: Any) -> IntArray:
        """Of some groups those that are nearer to the second of two centres."""

    @abstractmethod
    def _follow(self, touched: IntArray) -> None:
        """Make centres, ``squares`` and ``cost`` follow the labels in clusters that changed."""

    def _update(self, touched: IntArray) -> None:
        """Follow the labels in the clusters that changed."""
        self._follow(touched)
        self.excess.look(self.labels)
        if self.soft is not None:
            self.soft.look(self.labels)
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
        return float((self.weight * (two[-1] - two[0])).mean())

    @property
    def objective(self) -> float:
        """Inertia, and the price of the soft rules broken."""
        return float(self.cost.sum()) + self.rules.soft_cost(self.labels)

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

    def paid(self, groups: IntArray, clusters: IntArray, price: float) -> FloatArray | float:
        """What groups pay for their pairs and soft pins in clusters."""
        pinned = 0.0 if self._pinned is None else self._pinned[groups, clusters]
        return pinned + (0.0 if self.pairs is None else self.pairs.at(groups, clusters, price))

    def most_saved(self, steps: Steps, price: float, *, lacking: bool = False) -> FloatArray:
        """The most that changes can save of what sums and linear rows cost at the price.

        ``lacking`` adds the most that any cluster lacks.
        """
        saved = price * self.excess.most_saved(steps, lacking=lacking)
        return saved if self.soft is None else saved + self.soft.most_saved(steps, lacking=lacking)

    def raised(self, steps: Steps, price: float) -> FloatArray:
        """By how much changes raise what sums and linear rows cost at the price."""
        rise = price * self.excess.change(steps)
        return rise if self.soft is None else rise + self.soft.change(steps)

    def leaving(self, price: float) -> FloatArray:
        """Rise of the costs, mostly negative, when each group leaves its cluster."""
        return self.left() - self.paid(self.groups, self.labels, price)

    def arriving(self, groups: IntArray, clusters: IntArray, price: float) -> FloatArray:
        """Rise of the costs when groups arrive at clusters."""
        return self.joined(groups, clusters) + self.paid(groups, clusters, price)

    def elsewhere(self, members: BoolArray, price: float) -> FloatArray:
        """Least rise of the costs when a group arrives at another cluster; infinite for others."""
        rows = np.flatnonzero(members)
        near = self.near[rows]
        rise = self.arriving(np.repeat(rows, near.shape[1]), near.ravel(), price)
        rise = np.where(near == self.labels[rows, None], np.inf, rise.reshape(near.shape))
        least = np.full(len(self.labels), np.inf)
        least[rows] = rise.min(axis=1)
        return least


class MeansPartition(Partition):
    """A partition whose centres are those that the distance of the rows makes of its clusters.

    Attributes
    ----------
    rows : MemoryRows
    mass : (k,) array
        Stiffness of each cluster: its weight, if the distance is Euclidean.
    centers : (k, d) array
    """

    def __init__(self, problem: Problem, labels: IntArray, centers: FloatArray) -> None:
        self.rows = problem.near
        super().__init__(problem.rules, problem.deadline, labels, centers, self.rows.weight)

    def replaced(
        self, clusters: IntArray, come: IntArray, gone: IntArray, apart: FloatArray | None = None
    ) -> FloatArray:
        """As the distance says."""
        sides = self._side(come, clusters), self._side(gone, clusters)
        return self.rows.distance.replaced(self.mass[clusters], *sides, apart)

    def left(self) -> FloatArray:
        """As the distance says."""
        side = self._side(self.groups, self.labels)
        return self.rows.distance.replaced(self.mass[self.labels], NOBODY, side)

    def joined(self, groups: IntArray, clusters: IntArray) -> FloatArray:
        """As the distance says."""
        side = self._side(groups, clusters)
        return self.rows.distance.replaced(self.mass[clusters], side, NOBODY)

    def displaced(
        self, groups: IntArray, clusters: IntArray, heaviest: FloatArray, farthest: FloatArray
    ) -> FloatArray:
        """That of the heaviest and farthest member."""
        most = Side(heaviest, farthest)
        mass = self.mass[clusters]
        rise = self.rows.distance.replaced(mass, self._side(groups, clusters), most)
        return rise + most.weight * most.square

    def swap_slack(self, groups: IntArray) -> FloatArray:
        """The place of the group in its cluster also goes to the other."""
        mass = np.maximum(self.mass[self.labels[groups]], 1e-300)
        return np.asarray(2.0 * self.weight[groups] * self.cost[groups] / mass)

    def apart(self, groups: IntArray, others: IntArray) -> FloatArray:
        """Squared distances."""
        return self.rows.apart(groups, others)

    def nearby(self, cluster: int) -> IntArray:
        """By the distance of the centres."""
        squares = self.rows.distance.between(self.centers[[cluster]], self.centers)[0]
        return np.argsort(squares, kind="stable")

    def seeded(self, groups: IntArray, seed: int) -> FloatArray:
        """Squared distances."""
        return self.rows.apart(groups, np.full(len(groups), seed))

    def split(self, cluster: int) -> tuple[float, FloatArray]:
        """Across the longest axis."""
        members = np.flatnonzero(self.labels == cluster)
        return self.rows.halves(members, self.centers[cluster])

    def second_half(self, groups: IntArray, centers: FloatArray) -> IntArray:
        """By squared distances."""
        squares = self.rows.distances(centers)[groups]
        return groups[squares[:, 1] < squares[:, 0]]

    def _follow(self, touched: IntArray) -> None:
        self.centers = self.rows.means(self.labels, self.rules.n_clusters, self.centers)
        self.mass = self.rows.stiffness(self.labels, self.rules.n_clusters)
        self.squares[touched] = self.rows.distances(self.centers[touched]).T
        self.cost = self.weight * self.squares[self.labels, self.groups]

    def _side(self, groups: IntArray, clusters: IntArray) -> Side:
        """Groups as clusters see them."""
        return Side(self.weight[groups], self.squares[clusters, groups])
