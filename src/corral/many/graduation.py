r"""Graduation: centres from shares of the candidates while a temperature falls.

Rows belong to several of their candidates, in shares :math:`\exp(-(c_{ij} + p_j) / T)`; prices p
keep the sizes and centres are the means of the shares.  While the temperature T falls the shares
become whole.  Clusters of one region share rows as long as T is high, which forgets where exactly
they started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..admm.history import Relaxation
from ..admm.projected import recorder_of
from ..assign.sizes.shares import sweep
from ..deadline import OutOfTime
from ..plan.many_thresholds import (
    GRADUATION_END,
    GRADUATION_ROUNDS,
    GRADUATION_START,
    RENEWED_EVERY,
)
from ..presolve import SizeBounds
from ..problem import Problem
from ..rows import MemoryRows

#: Sweeps of the prices in a round; they start from the prices of the round before.
SWEEPS = 3
#: Least spread of the rows that counts as one.
LEAST_SPREAD = 1e-300

#: Candidates at centres and prices, given those of the round before and the number of the round.
Look = Callable[[FloatArray, FloatArray, Any, int], Any]


@dataclass(frozen=True)
class Cooled:
    """What a round of graduation gives."""

    centers: FloatArray  # (k, d), relative to the middle of the rows
    prices: FloatArray  # (k,)
    table: Any  # the candidates, :class:`.rows.choices.Choices`
    temperature: float
    cost: float  # of the shares


def cooled(
    rows: MemoryRows, look: Look, sizes: SizeBounds, centers: FloatArray, n_rows: int, rounds: int
) -> Iterator[Cooled]:
    """Rounds at falling temperatures; at the deadline they end.

    The highest temperature is that at which a cluster would split: twice the variance of its rows
    along one direction.
    """
    if rows.spread <= 0.0:  # all rows are alike, and no centre is better than another
        return
    prices: FloatArray = np.zeros(len(centers))
    table: Any = None
    for number, part in enumerate(np.geomspace(GRADUATION_START, GRADUATION_END, rounds)):
        try:
            table = look(centers, prices, table, number)
            if not number:  # directions in which the rows differ, about
                scale = rows.total_weight * rows.separation_scale()
                directions = rows.spread / max(scale, LEAST_SPREAD)
            temperature = 2.0 * float(part) * table.spent() / (directions * n_rows)
            if temperature <= 0.0:
                return
            for _ in range(SWEEPS):
                prices = sweep(table, sizes, prices, temperature)
            centers, cost = rows.soft_means(table, prices, temperature, centers)
        except OutOfTime:
            return
        yield Cooled(centers, prices, table, temperature, cost)


def graduate(problem: Problem, centers: FloatArray) -> tuple[Relaxation, FloatArray]:
    """Centres by graduation, and prices of the sizes; at the deadline it ends with what it has."""
    rules, recorder = problem.rules, recorder_of(problem.rules)
    rows = problem.near.single() if problem.plan.single else problem.near
    count = None if rules.count.max() == 1 else rules.count

    def look(at: FloatArray, prices: FloatArray, table: Any, number: int) -> Any:
        return rows.candidates(
            at,
            prices,
            problem.plan.candidates,
            count=count,
            like=table,
            fresh=number % RENEWED_EVERY == 0,
            deadline=problem.deadline,
        )

    prices: FloatArray = np.zeros(rules.n_clusters)
    labels: IntArray = np.zeros(rules.n_groups, np.int64)
    sizes, rounds = sizes_of(problem, rules.n_rows), GRADUATION_ROUNDS
    for step in cooled(rows, look, sizes, centers, rules.n_rows, rounds):
        centers, prices = step.centers, step.prices
        try:
            labels = step.table.at(prices).brought()
        except OutOfTime:
            break
        recorder.record(None, step.cost, 1.0 / step.temperature, {}, labels)
        problem.settings.progress.step()
    done = len(recorder) == rounds
    return Relaxation(labels, centers, recorder.history(), len(recorder), done), prices


def sizes_of(problem: Problem, n_rows: int) -> SizeBounds:
    """Sizes for so many of the rows."""
    sizes = problem.rules.sizes
    if sizes is None:
        raise TypeError("candidates settle sizes; there are none")
    return sizes.scaled(n_rows / problem.rules.n_rows, n_rows)
