"""Cheapest cluster for each group on its own."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..presolve import Rules
from .result import NoAssignment


def with_pins(rules: Rules, cost: FloatArray) -> FloatArray:
    """Costs with infinity wherever a pin forbids the cluster.

    Raises
    ------
    NoAssignment
        When one group is pinned to two clusters.
    """
    if not len(rules.pins):
        return cost
    groups, clusters = rules.pins.T
    pinned = cost.copy()
    pinned[groups] = np.inf
    pinned[groups, clusters] = cost[groups, clusters]
    if np.count_nonzero(np.isfinite(pinned[groups]).sum(1) > 1):
        raise NoAssignment
    return pinned


def nearest(cost: FloatArray) -> IntArray:
    """Cluster of least cost for each group; the first of equals."""
    return np.asarray(cost.argmin(axis=1))
