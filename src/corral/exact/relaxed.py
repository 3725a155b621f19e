"""The assignment of least violation, for rules that cannot all hold."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline, OutOfTime
from ..rules import Rules, SizeBounds
from ..rules.soft import outside
from .check import Assignment, NoAssignment, cost_of, matching_order
from .model import Model, build, mean_size, row_sizes
from .program import solve_model


def assign_relaxed(
    rules: Rules, cost: FloatArray, *, deadline: Deadline = NEVER
) -> tuple[Assignment, float]:
    """Labels of least total :func:`violation` and, among those, of least cost; and that violation.

    The rules are made without contracting must-links, so that each can be broken on its own.
    Sizes whose order is free are matched to clusters in the best order.  Raises OutOfTime if the
    deadline comes before any answer.
    """
    rules, cost = rules.with_costs(cost)
    model = build(rules, match_sizes=True, elastic=True)
    breaking = model.violation.copy()
    own = breaking[: cost.size].reshape(cost.shape)
    groups, clusters = rules.pins.T
    np.add.at(own, groups, 1.0)
    np.add.at(own, (groups, clusters), -1.0)
    values, proven = _solve(model, breaking, cost, deadline)
    if values is None:
        raise OutOfTime
    labels = _labels(values, cost)
    if proven:
        least = float(breaking @ values)
        most = np.array([least + 1e-6 * max(1.0, abs(least))])
        no_more = model.with_rows(sparse.csr_array(breaking[None, :]), np.array([-np.inf]), most)
        labels, proven = _cheapest(rules, no_more, cost, labels, deadline)
    order = None
    if rules.sizes is not None and not rules.sizes.ordered:
        order = _closest_order(rules.sizes, rules.sizes_of(labels))
    placed = rules if order is None else rules.with_sizes_in_order(order)
    total = cost_of(placed, cost, labels)
    return Assignment(labels, total, proven, order), violation(rules, labels)


def violation(rules: Rules, labels: IntArray) -> float:
    """Total violation of the hard rules by the labels.

    A broken must-link, cannot-link or pin counts 1; a size counts 1 for each point too many or
    too few (unordered sizes in their best order); a total counts the amount by which it misses its
    bound divided by the mean absolute value, so that its unit does not matter; a linear row counts
    the amount by which it misses its bound divided by the mean absolute coefficient.
    """
    amount = float(np.count_nonzero(labels[rules.pins[:, 0]] != rules.pins[:, 1]))
    apart, together = labels[rules.apart], labels[rules.together]
    amount += np.count_nonzero(apart[:, 0] == apart[:, 1])
    amount += np.count_nonzero(together[:, 0] != together[:, 1])
    if rules.sizes is not None:
        sizes, counted = rules.sizes, rules.sizes_of(labels)
        if not sizes.ordered:
            sizes = sizes.permuted(_closest_order(sizes, counted))
        amount += float(outside(counted, sizes.lower, sizes.upper).sum())
    for total in rules.totals:
        amount += float(total.excess(labels).sum()) / mean_size(total.values)
    if rules.linear is not None:
        amount += float((rules.linear.excess(labels) / row_sizes(rules.linear)).sum())
    return amount


def _solve(
    model: Model, objective: FloatArray, cost: FloatArray, deadline: Deadline
) -> tuple[FloatArray | None, bool]:
    return solve_model(model, np.ones(len(objective), bool), objective, len(cost), deadline)


def _labels(values: FloatArray, cost: FloatArray) -> IntArray:
    return np.asarray(values[: cost.size].reshape(cost.shape).argmax(axis=1))


def _cheapest(
    rules: Rules, model: Model, cost: FloatArray, labels: IntArray, deadline: Deadline
) -> tuple[IntArray, bool]:
    """Labels of least cost that break no more than the given ones, and whether it is proven."""
    shifted = cost - cost.min(axis=1, keepdims=True)
    unit = (float(np.median(shifted.max(axis=1))) or float(shifted.max()) or 1.0) / 1e3
    objective = model.price / unit
    objective[: cost.size] = shifted.ravel() / unit
    try:
        values, proven = _solve(model, objective, cost, deadline)
    except (OutOfTime, NoAssignment):
        return labels, False
    if values is None:
        return labels, False
    found = _labels(values, cost)
    if violation(rules, found) > violation(rules, labels) * (1 + 1e-6) + 1e-6:
        return labels, False
    return found, proven


def _closest_order(sizes: SizeBounds, counted: IntArray) -> IntArray:
    """Order of the bounds that leaves the counted sizes outside by as little as possible."""
    exact = matching_order(sizes, counted)
    if exact is not None:
        return exact
    apart = outside(counted[:, None], sizes.lower, sizes.upper)
    return np.asarray(linear_sum_assignment(apart)[1])
