"""Projections onto the simple sets of the splitting: each moves its argument to the nearest point.

They are pure functions of arrays of any shape and leave their arguments alone.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def project_interval(
    a: FloatArray, lower: FloatArray | float, upper: FloatArray | float
) -> FloatArray:
    """Nearest point of ``lower <= a <= upper``, elementwise; the bounds broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> project_interval(np.array([1.0, 5.0, 9.0]), 2.0, 7.0)
    array([2., 5., 7.])
    """
    return np.minimum(np.maximum(a, lower), upper)


def project_box(a: FloatArray) -> FloatArray:
    """Nearest point of the box ``S_b = {a : 0 <= a <= 1}``.

    Examples
    --------
    >>> import numpy as np
    >>> project_box(np.array([-0.5, 0.25, 3.0]))
    array([0.  , 0.25, 1.  ])
    """
    return project_interval(a, 0.0, 1.0)


def project_sphere(a: FloatArray, radius: float | None = None) -> FloatArray:
    """Nearest point of the sphere ``S_2 = {a : |a - 1/2| = radius}``.

    Parameters
    ----------
    a : array
    radius : float, optional
        By default half the square root of the number of entries, so that the sphere passes
        through every binary vector.

    Returns
    -------
    array
        The centre itself has every point of the sphere for nearest point; it moves along the
        vector of ones.

    Examples
    --------
    >>> import numpy as np
    >>> project_sphere(np.array([0.5, 0.9]))
    array([0.5       , 1.20710678])
    """
    if radius is None:
        radius = 0.5 * np.sqrt(a.size)
    shifted = a - 0.5
    # The largest entry comes out first: the squares of entries near 1e-200 would vanish.
    largest = np.max(np.abs(shifted), initial=0.0)
    if largest == 0.0:
        shifted, largest = np.ones_like(shifted), 1.0
    scaled = shifted / largest
    nearest: FloatArray = scaled * (radius / np.linalg.norm(scaled)) + 0.5
    return nearest


def project_apart(
    a: FloatArray,
    b: FloatArray,
    weight_a: FloatArray | float = 1.0,
    weight_b: FloatArray | float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Nearest pair of ``a + b <= 1``, elementwise, where ``a`` and ``b`` weigh differently.

    Minimises ``weight_a |a - a0|^2 + weight_b |b - b0|^2``: each side moves in proportion to
    the weight of the other, so that the heavier one moves less.

    Examples
    --------
    >>> import numpy as np
    >>> project_apart(np.array([0.9, 0.2]), np.array([0.5, 0.3]), 3.0, 1.0)
    (array([0.8, 0.2]), array([0.2, 0.3]))
    """
    share = np.maximum(a + b - 1.0, 0.0) / (weight_a + weight_b)
    return a - share * weight_b, b - share * weight_a
