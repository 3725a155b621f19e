"""What counts as rounding in bounded sums: one allowance for audit, presolve and solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ._checks import sums_by

RELATIVE_TOLERANCE = 1e-9
"""Excess over a bound that counts as rounding, as a part of the sum of all magnitudes."""
WHOLE_TOLERANCE = 0.25
"""Most that counts as rounding in a sum of whole numbers, which itself is exact."""
LARGEST_WHOLE = 2.0**53
"""Sums of whole numbers below this one are exact in double precision."""
MOST_COUNTED = 2.0**40
"""Largest sum of magnitudes of whole numbers; larger ones are too large for integer solvers."""


def allowances(values: FloatArray, rule: IntArray, n_rules: int) -> FloatArray:
    """Return how far the sum of each rule may miss its bounds because of rounding.

    ``rule`` is the rule of each value.  The allowance depends on the user's numbers and not on
    labels, so that audit, presolve and solvers agree.

    Examples
    --------
    >>> allowances(np.array([0.5, -2.5, 4e9]), np.array([0, 0, 1]), 2)
    array([3.0e-09, 2.5e-01])
    """
    total = sums_by(rule, np.abs(values), n_rules)
    broken = sums_by(rule, (values != np.rint(values)).astype(float), n_rules)
    most = np.where((broken == 0) & (total < LARGEST_WHOLE), WHOLE_TOLERANCE, np.inf)
    allowed: FloatArray = np.minimum(RELATIVE_TOLERANCE * total, most)
    return allowed


def excess_of(value: Any, allowed: Any, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return by how much values miss their bounds; up to ``allowed`` is rounding and counts 0."""
    with np.errstate(over="ignore"):
        excess = np.maximum(np.maximum(lower - value, value - upper), 0.0)
    return np.where(excess > allowed, excess, 0.0)


def refuse_overflow(values: FloatArray, what: str) -> None:
    """Raise ``ValueError`` if the magnitudes of the values add up to more than a float holds."""
    with np.errstate(over="ignore"):
        total = np.abs(values).sum()
    if np.isinf(total):
        raise ValueError(
            f"{what} has magnitudes up to {np.abs(values).max():.10g}, whose sum is more than a "
            "float can hold; use a larger unit."
        )
