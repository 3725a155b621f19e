"""Powers of two that bring numbers of extreme magnitude into a safe range.

Distances are squared, and solvers multiply the squares.  Points of 1e80, or weights of 1e-300,
would leave the range of floats there.  So they are divided by a power of two, which is exact, and
the answer is multiplied by it.  Numbers of ordinary magnitude stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import namespace
from ._typing import FloatArray

#: Largest binary exponent, of either sign, that points and weights keep in single and in double
#: precision: squares of costs are still in range.
SAFE_SINGLE, SAFE = 30, 64
#: Largest price of a soft pair where costs are scaled: more than any costs, and no overflow.
DEAREST = 2.0**100


def times(a: Any, exponent: int) -> Any:
    """An array times a power of two, of any exponent; itself for the exponent 0."""
    if not exponent:
        return a
    if isinstance(a, np.ndarray | np.floating):
        with np.errstate(over="ignore"):
            return np.ldexp(a, exponent)
    half = exponent // 2  # the power itself may be out of range
    return a * 2.0**half * 2.0 ** (exponent - half)


def largest(points: Any) -> float:
    """The largest magnitude in an array, dense or sparse, 0 if it is empty."""
    values = points.data if sparse.issparse(points) else points
    if 0 in values.shape:
        return 0.0
    xp = namespace(values)
    return max(float(xp.max(values)), -float(xp.min(values)), 0.0)


def exponent_of(magnitude: float, dtype: Any = np.float64) -> int:
    """Binary exponent of a magnitude, 0 if it is safe as it is."""
    power, safe = int(np.frexp(magnitude)[1]), SAFE_SINGLE if np.dtype(dtype).itemsize < 8 else SAFE
    return power if abs(power) > safe and magnitude > 0.0 else 0


def restored(total: float, exponent: int) -> float:
    """An inertia times a power of two; ValueError if no float is as large."""
    inertia = float(times(np.float64(total), exponent))
    if not math.isfinite(inertia):
        raise ValueError(
            "the inertia is more than a float can hold (1.8e308); divide X or sample_weight by a "
            "constant."
        )
    return inertia


def sum_of_squares(distances: FloatArray, weight: FloatArray | None) -> float:
    """Weighted sum of the squares of distances, (n,), of any magnitude."""
    scale = Scale.of(largest(distances), weight, np.float64)
    squares = times(distances.astype(np.float64), -scale.points) ** 2
    total = squares.sum() if weight is None else squares @ times(weight, -scale.weight)
    return restored(float(total), scale.cost)


@dataclass(frozen=True)
class Scale:
    """Binary exponents of the units in which solvers see points and weights."""

    points: int = 0
    weight: int = 0

    @classmethod
    def of(cls, magnitude: float, weight: FloatArray | None, dtype: Any) -> Scale:
        """The scale of points up to this magnitude, and of their weights."""
        heaviest = 1.0 if weight is None else largest(weight)
        return cls(exponent_of(magnitude, dtype), exponent_of(heaviest, dtype))

    @property
    def cost(self) -> int:
        """Exponent of the unit of costs, weight times squared distance."""
        return 2 * self.points + self.weight

    def prices(self, price: FloatArray) -> FloatArray:
        """Prices of soft pairs in the solvers' unit of costs."""
        return np.minimum(times(price, -self.cost), DEAREST) if self.cost else price


#: The units of the user.
NO_SCALE = Scale()
