"""Objectives of labels, in units of the data so that no scale overflows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .instances import Instance
from .rules import Pair, Term


class Costs:
    """Objectives of an instance, divided by ``unit * unit * heaviest``.

    Parameters
    ----------
    instance : Instance
    items : list of Term
        Its rules; the prices of soft pairs count.
    """

    def __init__(self, instance: Instance, items: list[Term]) -> None:
        X = np.asarray(instance.X, dtype=np.float64)
        if instance.form == "float32":
            X = X.astype(np.float32).astype(np.float64)
        self.X = X
        moved = X - X[0]
        self.unit = float(np.abs(moved).max()) or 1.0
        weights = np.ones(len(X)) if instance.weights is None else np.array(instance.weights)
        self.weights = weights
        self.heaviest = float(weights.max()) or 1.0
        self.share = weights / self.heaviest
        moved = moved / self.unit
        whole = self.share.sum() or 1.0
        self.points = moved - (self.share[:, None] * moved).sum(axis=0) / whole
        self.k = instance.k
        self.soft = [item for item in items if isinstance(item, Pair) and item.price is not None]

    @property
    def total(self) -> float:
        """The objective of one cluster."""
        return float((self.share[:, None] * self.points**2).sum())

    def scaled(self, price: Fraction) -> float:
        """A price in these units."""
        return float(price / Fraction(self.unit) ** 2 / Fraction(self.heaviest))

    def inertia(self, labels: Any) -> Any:
        """Weighted sums of squared distances to the means, of one or many labellings."""
        labels = np.atleast_2d(labels)
        result = np.zeros(len(labels))
        for j in range(self.k):
            own = (labels == j) * self.share
            mass = own.sum(axis=1)
            mean = own @ self.points / np.where(mass > 0, mass, 1.0)[:, None]
            for feature in range(self.points.shape[1]):
                away = self.points[:, feature] - mean[:, feature, None]
                result += (own * away**2).sum(axis=1)
        return result

    def prices(self, labels: Any) -> Any:
        """Prices of the broken soft pairs, of one or many labellings."""
        labels = np.atleast_2d(labels)
        result = np.zeros(len(labels))
        for pair in self.soft:
            assert pair.price is not None
            wrong = (labels[:, pair.i] == labels[:, pair.j]) != pair.together
            result += self.scaled(pair.price) * wrong
        return result

    def objective(self, labels: Any) -> Any:
        """Inertia and prices."""
        return self.inertia(labels) + self.prices(labels)

    def assigned(self, labels: Any, centres: Any) -> Any:
        """Costs of labels for given centres, with prices."""
        labels = np.atleast_2d(labels)
        away = (self.X[:, None] - centres) / self.unit
        costs = self.share[:, None] * (away**2).sum(axis=2)
        return costs[np.arange(len(self.X)), labels].sum(axis=1) + self.prices(labels)
