"""Which columns of a model matter, by prices and reduced costs."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray
from ...presolve import Rules
from ..result import NoAssignment
from ..sizes.flow import flow_prices, transport
from .highs import Relaxed
from .model import Model


def size_gaps(rules: Rules, cost: FloatArray, *, any_order: bool) -> FloatArray:
    """Gaps of the columns by the prices of the sizes alone: a guess at which matter.

    Raises
    ------
    NoAssignment
        When the sizes cannot be met even by splitting groups; with ``any_order`` that proves
        nothing, and the gaps are those of the costs.
    """
    sizes, count = rules.sizes, rules.count
    if sizes is None:
        return cost
    unit_cost = cost / count[:, None]
    try:
        shipped = transport(unit_cost, count, sizes.lower, sizes.upper)
    except NoAssignment:
        if any_order:
            return cost
        raise
    lambdas = flow_prices(shipped > 0, unit_cost, shipped.sum(axis=0), sizes)
    priced = cost + count[:, None] * lambdas
    return np.asarray(priced - priced.min(axis=1, keepdims=True))


def price(
    model: Model, allowed: BoolArray, relaxed: Relaxed, cost: FloatArray
) -> tuple[float, FloatArray]:
    """Lagrangian bound, and the reduced costs of x, at the dual values of a relaxation."""
    m, size = len(allowed), allowed.size
    dual = relaxed.at_lower + relaxed.at_upper
    dual[:m] = 0.0  # one cluster a group: kept by the minimum below
    reduced = cost - model.A.T @ dual
    x_part = np.where(allowed, reduced[:size].reshape(allowed.shape), np.inf)
    low, high = relaxed.at_lower != 0, relaxed.at_upper != 0
    low[:m] = high[:m] = False
    bound = (
        x_part.min(axis=1).sum()
        + np.minimum(reduced[size:], 0.0) @ model.ceiling[size:]
        + relaxed.at_lower[low] @ model.lower[low]
        + relaxed.at_upper[high] @ model.upper[high]
    )
    return float(bound), x_part


def missing(opened: BoolArray, reduced: FloatArray) -> BoolArray:
    """Closed columns that would improve the relaxation."""
    least = np.where(opened, reduced, np.inf).min(axis=1, keepdims=True)
    return np.asarray(~opened & (reduced < least - 1e-7))
