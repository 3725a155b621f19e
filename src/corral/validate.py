"""Input of the estimator: points, weights, and the names of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ._typing import FloatArray, Matrix
from .parameters import as_floats


def check_points(X: Any, estimator: BaseEstimator) -> Matrix:
    """A finite float array or CSR array; float32 is kept.

    Raises
    ------
    ValueError, TypeError
        scikit-learn's, for NaN, infinity, wrong shapes and the like.
    """
    points = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        input_name="X",
        estimator=estimator,
    )
    return sparse.csr_array(points) if sparse.issparse(points) else points


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """One weight a sample, finite and not negative, or None.

    Raises
    ------
    ValueError
        With the first weight that is not so.
    """
    if sample_weight is None:
        return None
    weight = as_floats(sample_weight, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(
            f"`sample_weight` has shape {weight.shape}, but X has {n_samples} samples; the shape "
            f"must be ({n_samples},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise ValueError(
            f"`sample_weight` of sample {bad[0]} is {weight[bad[0]]}; weights must be finite and "
            "not negative."
        )
    if not weight.any():
        raise ValueError("`sample_weight` is zero for every sample; one must be positive.")
    return weight


def row_names(X: Any) -> Any:
    """The index labels of a pandas frame, for messages; None where rows have only numbers."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or not hasattr(X, "iloc"):
        return None
    return None if np.array_equal(index, np.arange(len(index))) else list(index)
