"""Places all groups of one clique anew, centres moving along.

Take the groups of a clique out of their clusters.  No two of them go into one cluster, so that what
each adds to the objective where it is put back does not depend on the others: the best places of
the whole clique are a linear assignment, exact although the centres follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from ..problem import Problem

#: Most sweeps over all cliques; few are needed, because a sweep takes up what the last one changed.
SWEEPS = 50


@dataclass
class Tally:
    """Labels, and what they sum to in each cluster."""

    labels: IntArray
    points: FloatArray  # weighted sums, (k, d)
    mass: FloatArray
    count: FloatArray  # rows


class CliqueExchange:
    """Looks for better places of single cliques; of sizes, groups of equal count are needed."""

    def __init__(self, problem: Problem) -> None:
        rules = problem.rules
        self.rows, self.rules, self.deadline = problem.near, rules, problem.deadline
        self.batches: list[IntArray] = []
        if (rules.bounded and not rules.nested) or len(rules.soft_pins):
            return
        self.open = np.ones((rules.n_groups, rules.n_clusters), bool)
        self.open[rules.pins[:, 0]] = False
        self.open[rules.pins[:, 0], rules.pins[:, 1]] = True
        cliques, _ = rules.pairs.graph.complete(2)
        for size in np.unique(cliques.size):
            same = cliques.select(np.flatnonzero(cliques.size == size))
            self.batches.append(same.members.reshape(-1, size))

    def improve(self, labels: IntArray, least: float) -> IntArray | None:
        """Labels after sweeps that gain more than ``least`` with each change, or None."""
        tally, k, changed = self._tally(labels.copy()), self.rules.n_clusters, False
        for _ in range(SWEEPS):
            better = False
            for batch in self.batches:
                gain, _ = self._placed(tally, batch)
                for c in np.flatnonzero(gain > least):
                    if self.deadline.passed:
                        break
                    clique = batch[c : c + 1]
                    (now,), (new,) = self._placed(tally, clique)
                    if now > least:
                        self._move(tally, clique[0], new, k)
                        better = changed = True
            if not better or self.deadline.passed:
                break
        return tally.labels if changed else None

    def _tally(self, labels: IntArray) -> Tally:
        k = self.rules.n_clusters
        return Tally(
            labels,
            self.rows.sums(labels, k),
            self.rows.mass(labels, k),
            sums_by(labels, self.rules.count, k),
        )

    def _move(self, tally: Tally, groups: IntArray, new: IntArray, k: int) -> None:
        """Put the groups elsewhere, in place."""
        old, weight = tally.labels[groups], self.rows.weight[groups]
        points, count = self.rows.weighted(groups), self.rules.count[groups]
        # The groups of a clique are in different clusters, before and after.
        tally.points[old] -= points
        tally.points[new] += points
        for sums, part in ((tally.mass, weight), (tally.count, count)):
            sums[old] -= part
            sums[new] += part
        tally.labels[groups] = new

    def _placed(self, tally: Tally, cliques: IntArray) -> tuple[FloatArray, IntArray]:
        """What the best places of each clique gain, (c,), and these places, (c, s)."""
        c, s = cliques.shape
        flat = cliques.ravel()
        own, at = tally.labels[cliques], np.arange(c)[:, None]
        points = np.repeat(tally.points[None], c, axis=0)
        points[at, own] -= self.rows.weighted(flat).reshape(c, s, -1)
        mass = np.repeat(tally.mass[None], c, axis=0)
        mass[at, own] -= self.rows.weight[cliques]
        mass = np.maximum(mass, 0.0)
        cost = self.rows.arrivals(cliques, points, mass)
        now = np.take_along_axis(cost, own[:, :, None], axis=2).sum(axis=(1, 2))
        wanted = np.where(self.open[cliques], cost, np.inf) + self._tolls(tally, cliques, cost)
        places = np.array([linear_sum_assignment(each)[1] for each in wanted])
        then = np.take_along_axis(cost, places[:, :, None], axis=2).sum(axis=(1, 2))
        return now - then, places

    def _tolls(self, tally: Tally, cliques: IntArray, cost: FloatArray) -> FloatArray:
        """What keeps the sizes, (c, 1, k): infinite for a full cluster, a bonus for one in need."""
        c, sizes, k = len(cliques), self.rules.sizes, self.rules.n_clusters
        tolls = np.zeros((c, 1, k))
        if sizes is None:
            return tolls
        each = self.rules.count[cliques]
        count = np.repeat(tally.count[None], c, axis=0)
        count[np.arange(c)[:, None], tally.labels[cliques]] -= each
        tolls[:, 0][count < sizes.lower] = -2.0 * cliques.shape[1] * float(cost.max())
        tolls[:, 0][count + each[:, :1] > sizes.upper] = np.inf
        return tolls
