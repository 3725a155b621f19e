"""Small pieces of linear algebra that rows share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, Matrix

#: What is this small, as a part of what it is computed from, has lost half of its digits or more.
HALF_DIGITS = float(np.sqrt(np.finfo(np.float64).eps))


def rounded_off(squares: FloatArray, size: FloatArray, dtype: Any) -> FloatArray:
    """Squared distances, 0 where rounding of terms of this size could have made them."""
    return np.where(squares > 8.0 * np.finfo(dtype).eps * size, squares, 0.0)


def as_dense(rows: Matrix) -> FloatArray:
    """A few rows as an array of float64."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


def row_lengths(points: Matrix) -> FloatArray:
    """Euclidean length of each row, dense or CSR, in double precision."""
    if isinstance(points, np.ndarray):
        squares: FloatArray = np.einsum("id,id->i", points, points, dtype=np.float64)
    else:
        squares = points.astype(np.float64).multiply(points).sum(axis=1).ravel()
    return np.sqrt(squares)
