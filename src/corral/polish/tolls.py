"""How moves of single groups change the price of soft pins, sizes and totals."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray
from ..presolve import Rules, Sums
from ..presolve.soft import outside
from .kempe import Chains


class Tolls:
    """What groups pay in clusters, (m, k) or None, and soft sums; labels come with questions."""

    def __init__(self, rules: Rules) -> None:
        self.sums: Sums = rules.soft_sums
        self.paid: FloatArray | None = None
        if len(rules.soft_pins):
            self.paid = rules.soft_pins.added_to(np.zeros((rules.n_groups, rules.n_clusters)))

    @classmethod
    def of(cls, rules: Rules) -> Tolls | None:
        """The tolls of some rules; None if there are none."""
        return cls(rules) if rules.priced_sums or len(rules.soft_pins) else None

    @property
    def uneven(self) -> bool:
        """Whether two groups that change places can change a soft sum."""
        return bool(np.ptp(self.sums.values, axis=1).any()) if len(self.sums) else False

    def moves(self, labels: IntArray) -> FloatArray:
        """Rise of the price when each group moves to each cluster, (m, k)."""
        rise = self.elsewhere(labels)
        reached = self.sums.reached(labels)
        for r, value in enumerate(self.sums.values):
            total = reached[r]
            gone = self._rise(r, labels, total[labels], -value)
            clusters = np.arange(len(total))
            rise += gone[:, None] + self._rise(r, clusters, total, value[:, None])
        return rise

    def elsewhere(self, labels: IntArray) -> FloatArray:
        """Rise of the price of pins alone when each group moves to each cluster, (m, k)."""
        if self.paid is None:
            return np.zeros((len(labels), self.sums.lower.shape[1]))
        return np.asarray(self.paid - self.paid[np.arange(len(labels)), labels][:, None])

    def swaps(
        self, totals: FloatArray, clusters: tuple[int, int], from_a: IntArray, from_b: IntArray
    ) -> FloatArray:
        """Rise of the price when g and h of two clusters change places, (g, h)."""
        a, b = clusters
        rise = np.zeros((len(from_a), len(from_b)))
        if self.paid is not None:
            rise += (self.paid[from_a, b] - self.paid[from_a, a])[:, None]
            rise += self.paid[from_b, a] - self.paid[from_b, b]
        for r, value in enumerate(self.sums.values):
            change = value[from_b] - value[from_a][:, None]
            rise += self._rise(r, a, totals[r, a], change) + self._rise(r, b, totals[r, b], -change)
        return rise

    def chains(self, chains: Chains, labels: IntArray) -> FloatArray:
        """Rise of the price when the two sides of each chain change places."""
        group, to, own = chains.group, chains.to, labels[chains.group]
        rise = np.zeros(len(chains))
        if self.paid is not None:
            rise += chains.total(self.paid[group, to] - self.paid[group, own])
        first = np.zeros((2, len(chains)), np.int64)
        first[:, chains.number] = np.minimum(own, to), np.maximum(own, to)
        reached = self.sums.reached(labels)
        for r, value in enumerate(self.sums.values):
            change = chains.total(np.where(to < own, 1.0, -1.0) * value[group])
            for j, sign in ((first[0], 1.0), (first[1], -1.0)):
                rise += self._rise(r, j, reached[r, j], sign * change)
        return rise

    def _rise(
        self, r: int, cluster: IntArray | int, total: FloatArray, change: FloatArray
    ) -> FloatArray:
        """Rise of the price of sum r of clusters when their totals change."""
        lower, upper = self.sums.lower[r, cluster], self.sums.upper[r, cluster]
        price = float(self.sums.price[r, 0])
        rise = outside(total + change, lower, upper) - outside(total, lower, upper)
        return np.asarray(price * rise)
