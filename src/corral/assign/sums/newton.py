"""One step of Newton's method for prices with signs."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray


def newton_step(
    system: FloatArray,
    excess: FloatArray,
    prices: FloatArray,
    signed: BoolArray,
    fixed: BoolArray,
) -> FloatArray:
    """Changes of the prices that drive the excess away, ``system @ change = excess``.

    Parameters
    ----------
    system : (s, s) array
        Positive semidefinite: what leaves, for a unit of change.
    excess, prices : (s,) arrays
    signed : (s,) array of bool
        Prices that end at 0 rather than change their sign.
    fixed : (s,) array of bool
        Prices that stay.

    Examples
    --------
    >>> import numpy as np
    >>> system, none = np.diag([2.0, 4.0]), np.zeros(2, bool)
    >>> newton_step(system, np.array([2.0, -4.0]), np.array([0.0, 0.5]), ~none, none)
    array([ 1. , -0.5])
    """
    step = np.zeros(len(system))
    scale = np.diag(system)
    # A price that moves nothing in sight is taken to move as much as the others.
    idle = float(scale[scale > 0].mean()) if np.any(scale > 0) else 1.0
    regular = system + np.diag(np.where(scale > 0, 1e-9 * scale, idle))
    for _ in range(len(system)):
        free = np.flatnonzero(~fixed)
        right = excess[free] - regular[np.ix_(free, np.flatnonzero(fixed))] @ step[fixed]
        step[free] = np.linalg.solve(regular[np.ix_(free, free)], right)
        crossed = ~fixed & signed & (prices != 0) & ((prices + step) * prices < 0)
        if not crossed.any():
            break
        step[crossed] = -prices[crossed]
        fixed = fixed | crossed
    return step


def signed_prices(
    before: FloatArray, after: FloatArray, excess: FloatArray, signed: BoolArray
) -> FloatArray:
    """Prices after a step, with 0 for those whose sign would be wrong.

    A price stops at 0 on its way to the other sign, and leaves it only upwards where there is
    too much and downwards where there is too little.
    """
    wrong = np.where(before != 0, after * before, after * excess)
    return np.where(signed & (wrong <= 1e-12 * before**2), 0.0, after)
