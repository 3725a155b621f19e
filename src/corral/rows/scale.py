"""Powers of two that bring points and weights of extreme magnitude into a safe range.

Solvers square distances and multiply the squares.  Points of 1e80, or weights of 1e-300, would
leave the range of floats there.  So they are divided by a power of two, which is exact, and the
answer is multiplied by it.  Points and weights of ordinary magnitude stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import times
from .._typing import FloatArray

#: Largest binary exponent, of either sign, that points and weights keep.  Fourth powers of such
#: points times weights are still in the range of their type.
SAFE = {np.dtype(np.float32): 30, np.dtype(np.float64): 64}
#: Largest price of a soft pair where costs are scaled: more than any costs, and no overflow.
DEAREST = 2.0**100


@dataclass(frozen=True)
class Scale:
    """Binary exponents of the units in which solvers see points and weights."""

    points: int = 0
    weight: int = 0

    @classmethod
    def of(cls, largest: float, weight: FloatArray | None, dtype: Any) -> Scale:
        """The scale of points up to this magnitude, and of their weights."""
        heaviest = 1.0 if weight is None else float(weight.max(initial=0.0))
        return cls(exponent(largest, dtype), exponent(heaviest, dtype))

    @property
    def cost(self) -> int:
        """Exponent of the unit of costs, weight times squared distance."""
        return 2 * self.points + self.weight

    def prices(self, price: FloatArray) -> FloatArray:
        """Prices of soft pairs in the solvers' unit."""
        if self.cost == 0:
            return price
        with np.errstate(over="ignore"):
            return np.minimum(times(price, -self.cost), DEAREST)


def exponent(largest: float, dtype: Any) -> int:
    """Binary exponent of a magnitude, 0 if it is safe as it is."""
    power = int(np.frexp(largest)[1])
    return power if abs(power) > SAFE[np.dtype(dtype)] and largest > 0.0 else 0
