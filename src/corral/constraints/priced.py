"""Bounds that may be soft: what sizes, totals and shares have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ._checks import Names, as_numbers, refuse
from .base import Constraint, Violations


class Priced(Constraint, kind=False):
    """A constraint whose bounds are soft if ``weight``, the price of a unit outside, is finite."""

    weight: float = math.inf

    @property
    def hard(self) -> bool:
        """Whether the bounds must be obeyed."""
        return math.isinf(self.weight)

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``weight`` is there only if it is finite."""
        values = super().to_dict()
        if self.hard:
            del values["weight"]
        return values

    def _outside(
        self, excess: FloatArray | IntArray, describe: Callable[[int, Names], str]
    ) -> Violations:
        """The violations, given by how much each rule is outside its bounds."""
        where, units = np.flatnonzero(excess), float(excess.sum())
        if self.hard:
            return Violations(len(where), units, where, describe)
        return Violations(len(where), self.weight * units, where, describe, units)

    @property
    def _price(self) -> str:
        """The weight as an argument of the constructor, for ``repr``; nothing if it is infinite."""
        return "" if self.hard else f", weight={self.weight:.10g}"

    def _in_words(self, bounds: str) -> str:
        """A phrase about the bounds, with the price of a unit outside if they are soft."""
        return bounds if self.hard else f"{bounds} (soft, {self.weight:.10g} a unit)"


def as_price(weight: Any, what: str) -> float:
    """Read the price of a unit: one number of at least 0, infinite for hard bounds."""
    price = as_numbers(weight, what)
    if price.ndim:
        raise ValueError(f"{what} has shape {price.shape}; it must be one number.")
    refuse(price < 0, price, what, "it must be at least 0, inf for hard bounds")
    return float(price)
