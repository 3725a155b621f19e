"""Annealing of labels under cannot-links, the centres moving along.

Labels of least cost that break no cannot-link are a colouring of least cost of the graph of links.
Where its links tangle, moves and chains end in one of many local optima.  Here links may be broken
at a price, and labels are drawn at random: at the temperature T a group g goes to cluster j with a
chance in proportion to

    exp( -(c_g(j) + price * (neighbours of g in cluster j)) / T ).

T falls until the labels freeze.  Many groups are drawn at once: the groups are divided into classes
without links inside.  Several copies of the labels are annealed side by side.  When T falls to T',
copies are drawn anew with chances in proportion to ``exp(-energy * (1 / T' - 1 / T))``, so that bad
ones die out (population annealing: Hukushima and Iba, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign.check import with_pins
from ..plan.anneal_thresholds import (
    COOLEST,
    FREE_ROUNDS,
    HOTTEST,
    PRICE,
    PRICE_GROWTH,
    SWEEPS_A_STEP,
)
from ..presolve.graphs import link_graph
from ..problem import Problem

#: Smallest random number; its logarithm is finite.
TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Class:
    """Groups without links among themselves, and their links with others.

    The groups stand at places ``start`` to ``end`` of an order of all groups.  Link e goes from
    place ``start + here[e]`` to place ``there[e]``.
    """

    start: int
    end: int
    here: IntArray
    there: IntArray


def classes_of(n_groups: int, apart: IntArray) -> tuple[IntArray, list[Class]]:
    """An order of the groups, and the classes in it: a greedy colouring, highest degree first.

    Examples
    --------
    >>> import numpy as np
    >>> order, classes = classes_of(3, np.array([[0, 1], [1, 2]]))
    >>> [order[each.start : each.end].tolist() for each in classes]
    [[1], [0, 2]]
    """
    graph = link_graph(n_groups, apart)
    degree = np.diff(graph.indptr)
    neighbours = np.split(graph.indices, graph.indptr[1:-1])
    number = np.full(n_groups, -1)
    for g in np.argsort(-degree, kind="stable"):
        taken = set(number[neighbours[g]].tolist())
        number[g] = next(c for c in range(degree[g] + 1) if c not in taken)
    order = np.argsort(number, kind="stable")
    place = np.empty(n_groups, np.int64)
    place[order] = np.arange(n_groups)
    ends = np.concatenate([[0], np.cumsum(np.bincount(number))])
    found = []
    for start, end in pairwise(ends.tolist()):
        members = order[start:end]
        here = np.repeat(np.arange(end - start), degree[members])
        there = place[np.concatenate([neighbours[g] for g in members])].astype(np.int64)
        found.append(Class(start, end, here, there))
    return order, found


class Bath:
    """Copies of labels at a temperature; groups are in the order of their classes.

    Labels of the copies are an (m, r) array.

    Attributes
    ----------
    unit : float
        Mean difference between the costs of the two nearest centres of a group.
    free : (m,) array
        The nearest centres.
    """

    def __init__(
        self, problem: Problem, centers: FloatArray, copies: int, random: np.random.Generator
    ) -> None:
        rules = problem.rules
        self.rules, self.rows, self.deadline = rules, problem.near, problem.deadline
        self.copies, self.random, self.centers = copies, random, centers
        self.order, self.classes = classes_of(rules.n_groups, rules.apart)
        self.place = np.argsort(self.order)
        self.links = self.place[rules.apart]
        k, copy = rules.n_clusters, np.arange(copies)
        self.counted = [(each.here[:, None] * copies + copy) * k for each in self.classes]
        cost = self.rows.costs(centers).dense()
        two = np.partition(cost, 1, axis=1)[:, :2]
        self.unit, self.free = float((two[:, 1] - two[:, 0]).mean()), cost.argmin(axis=1)

    @classmethod
    def from_centers(
        cls, problem: Problem, centers: FloatArray, random: np.random.Generator
    ) -> Bath | None:
        """After Lloyd's method without rules; None if there is nothing to choose."""
        rows = problem.near
        for _ in range(FREE_ROUNDS):
            centers = rows.means(rows.nearest(centers), problem.n_clusters, centers)
        bath = cls(problem, centers, problem.plan.copies, random)
        return bath if bath.unit > 0.0 else None

    def cooled(self, labels: IntArray, scale: float, steps: int) -> IntArray:
        """Labels of the copies that break no link after annealing from some labels, (r, m).

        ``scale`` is a factor of the price and of the first temperature.
        """
        drawn = np.repeat(labels[self.order, None], self.copies, axis=1)
        middles = np.repeat(self.centers[None], self.copies, axis=0)
        cost = self._costs(drawn, middles)
        heat = self.unit * np.geomspace(scale * HOTTEST, COOLEST, steps)
        prices = self.unit * scale * PRICE * np.geomspace(1.0, PRICE_GROWTH, steps)
        for (now, then), toll in zip(pairwise([*heat, 0.0]), prices, strict=True):
            if self.deadline.passed:
                break
            for _ in range(SWEEPS_A_STEP):
                self.sweep(drawn, cost, now, toll)
            cost = self._costs(drawn, middles)
            if then > 0.0:
                chosen = self._survivors(self._energy(drawn, cost, toll), now, then)
                drawn, cost, middles = drawn[:, chosen], cost[:, chosen], middles[chosen]
        first, second = drawn[self.links.T]
        return drawn[self.place][:, ~(first == second).any(axis=0)].T

    def sweep(self, labels: IntArray, cost: FloatArray, heat: float, price: float) -> None:
        """Draw every label of every copy once, in place; ``cost`` is (m, r, k)."""
        for each, counted in zip(self.classes, self.counted, strict=True):
            shape = (each.end - each.start, *cost.shape[1:])
            place = (counted + labels[each.there]).ravel()
            neighbours = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape)
            energy = cost[each.start : each.end] + price * neighbours
            # The least of the energies plus Gumbel noise is a draw by the chances.
            noise = self.random.standard_exponential(shape, np.float32)
            energy += heat * np.log(np.maximum(noise, TINY, out=noise), out=noise)
            labels[each.start : each.end] = energy.argmin(axis=2)

    def _costs(self, labels: IntArray, centers: FloatArray) -> FloatArray:
        """Costs of the groups at the means of every copy, (m, r, k); centres are updated."""
        m, k = labels.shape[0], self.rules.n_clusters
        given = np.empty_like(labels)
        given[self.order] = labels
        for copy, own in enumerate(given.T):
            centers[copy] = self.rows.means(own, k, centers[copy])
        cost = self.rows.costs(centers.reshape(-1, centers.shape[2])).dense()
        cost = cost.reshape(m, self.copies, k)
        if len(self.rules.pins):
            for copy in range(self.copies):
                cost[:, copy] = with_pins(self.rules, cost[:, copy])
        return np.asarray(cost[self.order])

    def _energy(self, labels: IntArray, cost: FloatArray, price: float) -> FloatArray:
        """Costs and prices of broken links of every copy."""
        own = np.take_along_axis(cost, labels[:, :, None], axis=2).sum(axis=(0, 2))
        first, second = labels[self.links.T]
        return np.asarray(own + price * (first == second).sum(axis=0))

    def _survivors(self, energy: FloatArray, now: float, then: float) -> IntArray:
        """Copies that are drawn anew for the next temperature, each about as often as it counts."""
        chance = np.exp((energy.min() - energy) * (1.0 / then - 1.0 / now))
        at = (self.random.random() + np.arange(self.copies)) / self.copies
        found = np.searchsorted(np.cumsum(chance / chance.sum()), at)
        return np.minimum(found, self.copies - 1)
