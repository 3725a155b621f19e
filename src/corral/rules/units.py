"""Bounded sums in units that suit the solvers: whole numbers where the user's numbers allow it.

Decimal fractions and numbers of any magnitude, such as 0.1, 0.2 and 0.3 or 1e15 and 2e15, become
small whole numbers.  Sums of these are exact, also after rows were joined.  Other numbers are
divided by a power of two, so that the largest of a sum is about 1.
"""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints._checks import sums_by
from ..constraints._rounding import allowances

#: Largest sum of magnitudes of whole numbers.  More digits would be too large for integer solvers.
MOST = 2.0**40
#: Relative difference between a float and a whole number times its unit that rounding can make.
ROUNDING = 4.0 * np.finfo(np.float64).eps


def in_units(
    values: FloatArray, rule: IntArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Values and bounds, (r, c), of r sums in a unit of each, and how far each may miss its bounds.

    ``rule`` is the sum that each value belongs to.  A sum of floats may miss its bounds by half of
    what the audit allows, which leaves the other half for sums in another order.  Of whole numbers
    the bounds are rounded inwards, and no sum may miss them.

    Examples
    --------
    >>> low, high = np.array([[-0.4]]), np.array([[0.0]])
    >>> in_units(np.array([0.1, 0.2, -0.3]), np.zeros(3, int), low, high)
    (array([ 1.,  2., -3.]), array([[-4.]]), array([[0.]]), array([0.]))
    """
    unit, whole = _units(values, rule, len(lower))
    scaled = values / unit[rule]
    scaled = np.where(whole[rule], np.rint(scaled), scaled)
    give = allowances(values, rule, len(lower))[:, None] / 2.0
    unit, exact = unit[:, None], whole[:, None]
    reach = sums_by(rule, np.abs(scaled), len(lower))[:, None] + 1.0
    added = np.where(exact, give, 0.0)
    low, high = _divided(lower - added, unit, reach), _divided(upper + added, unit, reach)
    inner = np.ceil(low), np.floor(high)
    rounded = exact & (inner[0] <= inner[1])  # not where no whole number is between the bounds
    return (
        scaled,
        np.where(rounded, inner[0], low),
        np.where(rounded, inner[1], high),
        np.where(exact, 0.0, give / unit)[:, 0],
    )


def _divided(bound: FloatArray, unit: FloatArray, reach: FloatArray) -> FloatArray:
    """Bounds in other units; finite ones that no sum reaches become moderate."""
    with np.errstate(over="ignore"):
        return np.where(np.isinf(bound), bound, np.clip(bound / unit, -reach, reach))


def _units(values: FloatArray, rule: IntArray, n_rules: int) -> tuple[FloatArray, BoolArray]:
    """The unit of each sum, and whether its values are whole numbers in that unit.

    The smallest power of ten is tried that leaves the sum below :data:`MOST`.  If that makes all
    values whole, the unit is their greatest common divisor.
    """
    size = np.abs(values)
    total, largest = sums_by(rule, size, n_rules), np.zeros(n_rules)
    np.maximum.at(largest, rule, size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ten = 10.0 ** np.ceil(np.log10(np.where(total > 0.0, total, MOST)) - np.log10(MOST))
        counts = size / ten[rule]
        fits = np.abs(counts - np.rint(counts)) <= ROUNDING * counts
    whole = np.asarray(sums_by(rule, (~fits).astype(float), n_rules) == 0)
    divisor = np.zeros(n_rules, np.int64)
    np.gcd.at(divisor, rule, np.rint(np.where(whole[rule], counts, 0.0)).astype(np.int64))
    two = np.ldexp(1.0, np.frexp(largest)[1] - 1)
    return np.where(whole, ten * np.maximum(divisor, 1), two), whole
