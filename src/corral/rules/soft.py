"""Pins and sizes of the groups that may be broken at a price."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import BoolArray, FloatArray, IntArray


def outside(value: Any, lower: Any, upper: Any) -> Any:
    """By how much each value misses its bounds."""
    return np.maximum(np.maximum(lower - value, value - upper), 0)


@dataclass(frozen=True)
class SoftPins:
    """Pairs (group, cluster), (p, 2), with a price for being in another cluster, (p,)."""

    pins: IntArray
    price: FloatArray

    @classmethod
    def none(cls) -> SoftPins:
        """No soft pin at all."""
        return cls(np.empty((0, 2), np.int64), np.empty(0))

    def __len__(self) -> int:
        """Number of soft pins."""
        return len(self.price)

    def cost(self, labels: IntArray) -> float:
        """Sum of the prices of the pins that the labels break."""
        return float(self.price[labels[self.pins[:, 0]] != self.pins[:, 1]].sum())

    def part(self, place: IntArray) -> SoftPins:
        """The pins of groups whose place is not negative, by place."""
        pins = np.column_stack([place[self.pins[:, 0]], self.pins[:, 1]])
        kept = pins[:, 0] >= 0
        return SoftPins(pins[kept], self.price[kept])

    def of_groups(self, n_clusters: int) -> tuple[IntArray, FloatArray]:
        """The groups with pins, (u,), and what they pay in each cluster, (u, k)."""
        groups, place = np.unique(self.pins[:, 0], return_inverse=True)
        paid = np.zeros((len(groups), n_clusters))
        np.add.at(paid, place, self.price[:, None])
        np.add.at(paid, (place, self.pins[:, 1]), -self.price)
        return groups, np.maximum(paid, 0.0)

    def added_to(self, cost: FloatArray) -> FloatArray:
        """Costs (m, k) with what groups pay for their pins."""
        if not len(self):
            return cost
        groups, paid = self.of_groups(cost.shape[1])
        priced = cost.copy()
        priced[groups] += paid
        return priced


@dataclass(frozen=True)
class SoftSizes:
    """Several bounds on the sizes of all clusters, (s, k), each with a price of a row, (s,)."""

    lower: IntArray
    upper: IntArray
    price: FloatArray

    def permuted(self, order: IntArray) -> SoftSizes:
        """Give cluster ``j`` the bounds that now stand at ``order[j]``."""
        return replace(self, lower=self.lower[:, order], upper=self.upper[:, order])

    def less(self, taken: IntArray) -> SoftSizes:
        """Bounds for the rows that are left when each cluster has taken some."""
        return replace(self, lower=self.lower - taken, upper=self.upper - taken)

    def cost(self, counted: IntArray) -> FloatArray:
        """What each size, (k,), costs at each of the bounds: entry (j, b) is size j at bounds b."""
        missed = outside(counted[None, :, None], self.lower[:, None], self.upper[:, None])
        return np.asarray(np.tensordot(self.price, missed, axes=1))

    @property
    def alike(self) -> bool:
        """Whether every cluster has the same bounds."""
        return not (np.ptp(self.lower, axis=1).any() or np.ptp(self.upper, axis=1).any())

    def best_order(self, counted: IntArray, allowed: BoolArray) -> IntArray:
        """The order of the bounds that costs the counted sizes least; ``allowed`` is (k, k)."""
        cost = self.cost(counted)
        return np.asarray(linear_sum_assignment(np.where(allowed, cost, 1.0 + 2.0 * cost.sum()))[1])
