"""A problem with some of its groups fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..problem import Problem, SizeBounds, SoftPairs, TotalBounds
from .check import sums_by


def restricted(
    problem: Problem, cost: FloatArray, labels: IntArray, chosen: BoolArray
) -> tuple[Problem, FloatArray]:
    """The problem of some groups, the others being where the labels have them; and its costs."""
    number, soft = np.cumsum(chosen) - 1, problem.soft
    left = cost[chosen]
    for pairs, together in ((problem.apart, False), (problem.together, True)):
        hard = np.full(len(pairs), np.inf)
        _charge(left, pairs, hard, np.full(len(pairs), together), labels, chosen)
    _charge(left, soft.pairs, soft.price, soft.together, labels, chosen)
    inside = chosen[soft.pairs].all(axis=1)
    size = int(chosen.sum())
    sizes, totals = _remaining(problem, labels, chosen)
    part = replace(
        problem,
        points=np.zeros((size, 1)),
        weight=problem.weight[chosen],
        count=problem.count[chosen],
        group=np.arange(size),
        pins=np.empty((0, 2), np.int64),
        apart=number[problem.apart[chosen[problem.apart].all(axis=1)]],
        together=number[problem.together[chosen[problem.together].all(axis=1)]],
        soft=SoftPairs(number[soft.pairs[inside]], soft.price[inside], soft.together[inside]),
        sizes=sizes,
        totals=totals,
    )
    return part, left


def _charge(
    left: FloatArray,
    pairs: IntArray,
    price: FloatArray,
    together: BoolArray,
    labels: IntArray,
    chosen: BoolArray,
) -> None:
    """Add to the costs of the chosen groups what their pairs with the others cost."""
    number = np.cumsum(chosen) - 1
    for a, b in (pairs.T, pairs.T[::-1]):
        half = chosen[a] & ~chosen[b]
        rows, clusters = number[a[half]], labels[b[half]]
        same = np.where(together[half], 0.0, price[half])
        differ = np.where(together[half], price[half], 0.0)
        extra = np.repeat(differ[:, None], left.shape[1], axis=1)
        extra[np.arange(len(rows)), clusters] = same
        np.add.at(left, rows, extra)


def _remaining(
    problem: Problem, labels: IntArray, chosen: BoolArray
) -> tuple[SizeBounds | None, tuple[TotalBounds, ...]]:
    """Bounds less what the groups take that are not chosen."""
    rest, k = ~chosen, problem.n_clusters
    sizes, totals = problem.sizes, []
    if sizes is not None:
        taken = sums_by(labels[rest], problem.count[rest], k).astype(np.int64)
        lower = np.maximum(sizes.lower - taken, 0)
        sizes = SizeBounds(lower, sizes.upper - taken, ordered=True)
    for total in problem.totals:
        by_rest = sums_by(labels[rest], total.values[rest], k)
        totals.append(
            TotalBounds(total.values[chosen], total.lower - by_rest, total.upper - by_rest)
        )
    return sizes, tuple(totals)
