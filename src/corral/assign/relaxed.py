"""The assignment that breaks as little as possible, for rules that cannot all hold."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..problem import Problem, SizeBounds
from . import highs
from .check import matching_order, row_excess, sums_by, total_excess
from .cuts import with_row
from .model import Model, build, mean_size
from .result import Assignment, NoAssignment, OutOfTime


def assign_relaxed(
    problem: Problem, cost: FloatArray, *, deadline: float | None = None
) -> tuple[Assignment, float]:
    """Labels of least total violation and, among those, of least cost.

    Parameters
    ----------
    problem : Problem
        Made without contracting must-links, so that each can be broken on its own.  Sizes in an
        order that is left open are matched to clusters as suits best.
    cost : (m, k) array
    deadline : float, optional
        An instant of :func:`time.monotonic`.

    Returns
    -------
    assignment : Assignment
    violation : float
        As :func:`violation` measures it.

    Raises
    ------
    OutOfTime
        The deadline came before any answer.
    """
    model = build(problem, match_sizes=True, elastic=True)
    breaking = model.violation.copy()
    own = breaking[: cost.size].reshape(cost.shape)
    groups, clusters = problem.pins.T
    np.add.at(own, groups, 1.0)
    np.add.at(own, (groups, clusters), -1.0)
    labels, least, proven = _first_stage(problem, model, breaking, cost.shape, deadline)
    if proven:
        labels, proven = _second_stage(problem, model, breaking, cost, (labels, least), deadline)
    total = float(cost[np.arange(len(labels)), labels].sum()) + problem.soft.cost(labels)
    order = None
    if problem.sizes is not None and not problem.sizes.ordered:
        order = _closest_order(problem.sizes, _sizes_of(problem, labels))
    return Assignment(labels, total, proven, order), violation(problem, labels)


def violation(problem: Problem, labels: IntArray) -> float:
    """How much of the hard rules the labels break, in all.

    A broken must-link, cannot-link or pin counts 1; a size counts 1 for each point too many or
    too few (unordered sizes in their best order); a total counts what it is over or under
    divided by the mean absolute value, so that its unit does not matter; a linear row counts
    the amount by which it is missed.
    """
    amount = float(np.count_nonzero(labels[problem.pins[:, 0]] != problem.pins[:, 1]))
    apart, together = labels[problem.apart], labels[problem.together]
    amount += np.count_nonzero(apart[:, 0] == apart[:, 1])
    amount += np.count_nonzero(together[:, 0] != together[:, 1])
    if problem.sizes is not None:
        sizes, counted = problem.sizes, _sizes_of(problem, labels)
        if not sizes.ordered:
            sizes = sizes.permuted(_closest_order(sizes, counted))
        amount += float(_outside(counted, sizes.lower, sizes.upper).sum())
    for total in problem.totals:
        amount += float(total_excess(total, labels).sum()) / mean_size(total.values)
    if problem.linear is not None:
        amount += float(row_excess(problem.linear, labels).sum())
    return amount


def _first_stage(
    problem: Problem,
    model: Model,
    breaking: FloatArray,
    shape: tuple[int, ...],
    deadline: float | None,
) -> tuple[IntArray, float, bool]:
    """Labels of least violation, that least, and whether it is proven."""
    part = highs.cut(model, np.ones(len(breaking), bool), shape[0])
    values, proven = highs.solve(model, breaking, part, deadline)
    if values is None:
        raise OutOfTime
    labels = values[: shape[0] * shape[1]].reshape(shape).argmax(axis=1)
    return labels, float(breaking @ values), proven


def _second_stage(
    problem: Problem,
    model: Model,
    breaking: FloatArray,
    cost: FloatArray,
    first: tuple[IntArray, float],
    deadline: float | None,
) -> tuple[IntArray, bool]:
    """Labels of least cost that break no more than the first stage's."""
    labels, least = first
    shifted = cost - cost.min(axis=1, keepdims=True)
    unit = (float(np.median(shifted.max(axis=1))) or float(shifted.max()) or 1.0) / 1e3
    objective = model.price / unit
    objective[: cost.size] = shifted.ravel() / unit
    no_more = with_row(model, breaking, least + 1e-6 * max(1.0, abs(least)))
    part = highs.cut(no_more, np.ones(len(breaking), bool), cost.shape[0])
    try:
        values, proven = highs.solve(no_more, objective, part, deadline)
    except (OutOfTime, NoAssignment):
        return labels, False
    if values is None:
        return labels, False
    found = values[: cost.size].reshape(cost.shape).argmax(axis=1)
    if violation(problem, found) > violation(problem, labels) * (1 + 1e-6) + 1e-6:
        return labels, False
    return found, proven


def _sizes_of(problem: Problem, labels: IntArray) -> IntArray:
    return sums_by(labels, problem.count, problem.n_clusters).astype(np.int64)


def _outside(value: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    return np.asarray(np.maximum(lower - value, 0) + np.maximum(value - upper, 0))


def _closest_order(sizes: SizeBounds, counted: IntArray) -> IntArray:
    """Order of the bounds that leaves the counted sizes outside by as little as possible."""
    exact = matching_order(sizes, counted)
    if exact is not None:
        return exact
    from scipy.optimize import linear_sum_assignment

    apart = _outside(counted[:, None], sizes.lower, sizes.upper)
    return np.asarray(linear_sum_assignment(apart)[1])
