r"""Centres for many clusters, at a cost that grows with the candidates of the rows.

*Split*: the rows are cut into a few parts whose sizes are sums of the sizes asked for, each part
again, until a part is one cluster.  A level of this tree costs as little as a problem with few
clusters, and every region has as many clusters as its rows fill.

*Graduate*: rows belong to several of their candidates, in shares
:math:`\exp(-(c_{ij} + p_j) / T)`; prices p keep the sizes and centres are the means of the shares.
While the temperature T falls the shares become whole.  Clusters of one region share rows as long as
T is high, which forgets where exactly they started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import FloatArray, IntArray
from .admm.history import Relaxation
from .admm.projected import recorder_of
from .assign.sizes import ship_units
from .assign.sizes.shares import sweep
from .deadline import NEVER, Deadline, OutOfTime
from .plan.thresholds import (
    GRADUATION_END,
    GRADUATION_ROUNDS,
    GRADUATION_START,
    SPLIT_BRANCHES,
    SPLIT_ROUNDS,
    SPLIT_ROWS_EACH,
)
from .presolve import SizeBounds
from .problem import Problem
from .rows import MemoryRows

#: Sweeps of the prices in a round of graduation; they start from the prices of the round before.
SWEEPS = 3
#: Least spread of the rows that counts as one.
LEAST_SPREAD = 1e-300


def graduate(problem: Problem, centers: FloatArray) -> tuple[Relaxation, FloatArray]:
    """Centres from shares of the candidates while the temperature falls, and prices of the sizes.

    The highest temperature is that at which a cluster would split: twice the variance of its rows
    along one direction.  At the deadline it ends with what it has.
    """
    rules, deadline = problem.rules, problem.deadline
    rows = problem.rows.single() if problem.plan.single else problem.rows
    sizes, recorder = sizes_of(problem, rules.n_rows), recorder_of(rules)
    # Directions in which the rows differ, about.
    directions = rows.spread / max(rows.total_weight * rows.separation_scale(), LEAST_SPREAD)
    prices: FloatArray = np.zeros(rules.n_clusters)
    labels: IntArray = np.zeros(rules.n_groups, np.int64)
    table: Any = None
    for part in np.geomspace(GRADUATION_START, GRADUATION_END, GRADUATION_ROUNDS):
        try:
            table = rows.candidates(
                centers,
                prices,
                problem.plan.candidates,
                count=rules.count,
                like=table,
                deadline=deadline,
            )
            temperature = 2.0 * part * table.spent() / (directions * rules.n_rows)
            if temperature <= 0.0:
                break
            for _ in range(SWEEPS):
                prices = sweep(table, sizes, prices, temperature)
            centers, cost = rows.soft_means(table, prices, temperature, centers)
        except OutOfTime:
            break
        labels = table.at(prices).brought()
        recorder.record(None, cost, 1.0 / temperature, {}, labels)
        problem.settings.progress.step()
    done = len(recorder) == GRADUATION_ROUNDS
    return Relaxation(labels, centers, recorder.history(), len(recorder), done), prices


def split(problem: Problem, random_state: np.random.RandomState) -> FloatArray:
    """Centres of a tree of parts, relative to the middle of the rows, in the order of the sizes.

    It looks at some of the single rows.
    """
    rules, rows = problem.rules, problem.rows
    single = np.flatnonzero(rules.count == rules.count.min())
    number = min(len(single), SPLIT_ROWS_EACH * rules.n_clusters)
    some = np.sort(random_state.choice(single, number, replace=False))
    part = rows.take(some)
    found = Split(part, random_state, problem.deadline).centers(sizes_of(problem, number))
    centers: FloatArray = found + (part.middle - rows.middle)
    return centers


def sizes_of(problem: Problem, n_rows: int) -> SizeBounds:
    """Sizes for so many of the rows."""
    sizes = problem.rules.sizes
    if sizes is None:
        raise TypeError("candidates settle sizes; there are none")
    return sizes.scaled(n_rows / problem.rules.n_rows, n_rows)


@dataclass(frozen=True)
class Split:
    """Cuts rows into clusters, a few parts at a time."""

    rows: MemoryRows
    random_state: np.random.RandomState
    deadline: Deadline = NEVER

    def centers(self, sizes: SizeBounds) -> FloatArray:
        """Centres (k, d), relative to the middle of the rows, in the order of the sizes."""
        k = len(sizes.lower)
        centers = np.empty((k, self.rows.shape[1]))
        parts = [(np.arange(self.rows.shape[0]), np.arange(k))]
        while parts:
            groups, clusters = parts.pop()
            own = self.rows.take(groups)
            shares = np.array_split(clusters, min(SPLIT_BRANCHES, len(clusters)))
            low, high = (
                np.array([bound[share].sum() for share in shares])
                for bound in (sizes.lower, sizes.upper)
            )
            labels, found = self._cut(own, low, high)
            for j, share in enumerate(shares):
                if len(share) == 1:
                    centers[share[0]] = found[j] + (own.middle - self.rows.middle)
                else:
                    parts.append((groups[labels == j], share))
        return centers

    def _cut(self, rows: MemoryRows, low: IntArray, high: IntArray) -> tuple[IntArray, FloatArray]:
        """Labels and means of the rows in parts of these sizes."""
        everywhere = np.arange(rows.shape[0])
        centers = rows.seeds(len(low), everywhere, self.random_state)
        labels: IntArray = np.zeros(len(everywhere), np.int64)
        prices: FloatArray | None = None
        for _ in range(SPLIT_ROUNDS):
            cost = rows.costs(centers, self.deadline).dense()
            after, prices = ship_units(cost, low, high, prices, self.deadline)
            centers = rows.means(after, len(low), centers)
            if np.array_equal(after, labels):
                break
            labels = after
        return labels, centers
