"""Medoids under sizes and pins: swaps of a medoid and a candidate, and new seeds.

The clusters of an answer have prices p, at which every group is where it costs least (none without
sizes).  By weak duality, with candidate c in the place of medoid i the exact assignment costs more
by at least

    sum_o min(b_o, d_oc + p_i) - sum_o (d_o + p_o),    b_o = min_{j != i} d_oj + p_j,

where d_o and p_o are cost and price of group o in its present cluster.  So one look at a column
bounds a swap, as in :mod:`.fasterpam`.  Where clusters have different sizes or pins, two clusters i
and j also exchange their medoids.  With prices that go along with the medoids, that costs more by
at least

    h_i(p_i) + h_j(p_j) - h_j(p_i) - h_i(p_j) + (rise of the groups pinned to i and j),

where h_j(p) = max(p l_j, p u_j) with the bounds l_j and u_j on the size of cluster j.  What soft
pins cost more is estimated from the labels.  Changes are tried by exact assignment, the lowest
bound first, while a bound is below zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, IntArray
from ..assign import NoAssignment, assign_patiently, prices
from ..assign.check import with_pins
from ..deadline import Deadline, OutOfTime
from ..plan.medoid_thresholds import BLOCK_ENTRIES, MOST_RESEEDED, SWAPS_TRIED
from ..plan.shape_thresholds import DESCENT_PATIENCE
from .fasterpam import draw_medoids
from .medoid_costs import Answer, MedoidCosts
from .shape import alternate

#: Falls below this part of the objective are rounding.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Swaps:
    """Swaps of medoids by exact assignment."""

    costs: MedoidCosts
    deadline: Deadline

    def descended(self, best: Answer) -> Answer:
        """The answer after all swaps that pay, each followed by a descent."""
        with suppress(OutOfTime):
            while (better := self._better(best)) is not None:
                best = better
                found = alternate(self.costs, best.rules, best.labels, self.deadline)
                best = Answer.at(self.costs, best.rules, found.labels)
        return best

    def _better(self, best: Answer) -> Answer | None:
        """The answer after the first change of the medoids that pays, or None."""
        for medoids in self._promising(best):
            if self.deadline.passed:
                return None
            cost, patience = self.costs.costs(medoids), DESCENT_PATIENCE
            with suppress(NoAssignment):
                rules = self.costs.with_homes(best.rules, medoids)
                found = assign_patiently(rules, cost, None, self.deadline, patience=patience)
                answer = Answer.at(self.costs, best.rules, np.asarray(found.labels))
                if answer.objective < best.objective * (1.0 - NEGLIGIBLE):
                    return answer
        return None

    def _promising(self, best: Answer) -> Iterator[IntArray]:
        """Medoids after changes whose bound is below zero."""
        if self.deadline.passed:
            return
        below = -NEGLIGIBLE * best.objective
        at, besides, price = self._priced(best)
        for i, c in _lowest(self._rises(best, at, besides), below):
            medoids = best.clusters.copy()
            medoids[i] = c
            yield medoids
        if best.rules.numbered or best.rules.sizes_vary:
            for i, j in _lowest(np.triu(self._exchanges(best, price), 1), below):
                medoids = best.clusters.copy()
                medoids[[i, j]] = medoids[[j, i]]
                yield medoids

    def _exchanges(self, best: Answer, price: FloatArray) -> FloatArray:
        """Rise of the objective when two clusters exchange their medoids, about, (k, k)."""
        rules, k = best.rules, best.rules.n_clusters
        moved: FloatArray = np.zeros((k, k))  # what clusters cost more at the medoids of others
        group, cluster = rules.pins.T
        priced = self.costs.cost[np.ix_(group, best.clusters)] + rules.count[group, None] * price
        np.add.at(moved, cluster, priced)
        soft = rules.with_costs(np.zeros((rules.n_groups, k)))[1]
        np.add.at(moved, best.labels, soft)
        if rules.sizes is not None:
            low, high = np.outer(price, rules.sizes.lower), np.outer(price, rules.sizes.upper)
            moved -= np.maximum(low, high).T
        own = np.diag(moved)
        return np.asarray(moved + moved.T - own[:, None] - own)

    def _priced(self, best: Answer) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What groups cost at the medoids with all prices, these prices, and those of sizes."""
        rules = best.rules
        besides = with_pins(*rules.with_costs(np.zeros((rules.n_groups, rules.n_clusters))))
        at: FloatArray = self.costs.costs(best.clusters) + besides
        price: FloatArray = np.zeros(rules.n_clusters)
        if rules.sizes is not None:
            price = prices(best.labels, at, rules.sizes, rules.count, self.deadline.first)
            each = rules.count[:, None] * price
            at, besides = at + each, besides + each
        return at, besides, price

    def _rises(self, best: Answer, at: FloatArray, besides: FloatArray) -> FloatArray:
        """Lower bound on the rise of the objective for each medoid and candidate, (k, c)."""
        cost, (m, k) = self.costs.cost, at.shape
        others = np.stack([np.delete(at, i, 1).min(axis=1, initial=np.inf) for i in range(k)], 1)
        # min(others, d + besides) = besides + min(others - besides, d), but for groups that pins
        # keep from a cluster.
        able = np.isfinite(besides)
        fixed = np.where(able, besides, others).sum(axis=0) - at[np.arange(m), best.labels].sum()
        most = np.where(able, others, 0.0) - np.where(able, besides, 0.0)
        rise = np.repeat(fixed[:, None], cost.shape[1], axis=1)
        step = max(BLOCK_ENTRIES // cost.shape[1], 1)
        least, ones = np.empty((step, cost.shape[1])), np.ones(step)
        for first in range(0, m, step):
            self.deadline.check()
            own = cost[first : first + step]
            for i in range(k):
                np.minimum(own, most[first : first + step, i, None], out=least[: len(own)])
                rise[i] += ones[: len(own)] @ least[: len(own)]
        rise[:, best.clusters] = np.inf
        return rise


def _lowest(rise: FloatArray, below: float) -> Iterator[tuple[int, int]]:
    """The places of the least entries that are low enough, the lowest first."""
    few = np.argsort(rise, axis=None, kind="stable")[:SWAPS_TRIED]
    for place in few[rise.flat[few] < below]:
        i, j = np.unravel_index(place, rise.shape)
        yield int(i), int(j)


def reseeded(costs: MedoidCosts, best: Answer, random_state: np.random.RandomState) -> IntArray:
    """The medoids, those of some neighbouring clusters drawn anew among their groups."""
    k = costs.n_clusters
    first = random_state.randint(k)
    near = np.argsort(costs.cost[best.labels == first].sum(axis=0)[best.clusters], kind="stable")
    some = near[: random_state.randint(2, min(k, MOST_RESEEDED) + 1)]
    members = np.isin(best.labels, some)
    if costs.home is not None:
        able = np.flatnonzero(members[costs.home])
    else:
        able = np.setdiff1d(np.arange(costs.cost.shape[1]), np.delete(best.clusters, some))
    medoids: IntArray = best.clusters.copy()
    if len(able) >= len(some) and members.any():
        drawn = draw_medoids(costs.cost[np.ix_(members, able)], len(some), random_state)
        medoids[some] = able[drawn]
    return medoids
