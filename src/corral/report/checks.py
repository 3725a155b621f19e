"""The arguments of :func:`corral.audit`, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..constraints._checks import as_numbers, refuse


def checked_labels(labels: ArrayLike, n_samples: int, n_clusters: int) -> IntArray:
    """One integer for each row, from 0 to ``n_clusters - 1``."""
    try:
        label = np.asarray(labels)
    except ValueError:
        raise ValueError("`labels` is ragged; it must be one integer per sample.") from None
    _one_per_row(label, n_samples, "labels")
    if not np.issubdtype(label.dtype, np.integer):
        raise ValueError(f"`labels` has dtype {label.dtype}; labels must be integers.")
    outside = np.flatnonzero((label < 0) | (label >= n_clusters))
    if outside.size:
        row = outside[0]
        raise ValueError(
            f"`labels` of sample {row} is {label[row]}; labels must lie in [0, {n_clusters - 1}]."
        )
    return label


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """One weight for each row, finite and not negative, or None."""
    if sample_weight is None:
        return None
    weight = as_numbers(sample_weight, "`sample_weight`")
    if weight.ndim:
        _one_per_row(weight, n_samples, "sample_weight")
    wrong = ~np.isfinite(weight) | (weight < 0)
    refuse(wrong, weight, "`sample_weight`", "weights must be finite and not negative")
    return np.broadcast_to(weight, (n_samples,))


def _one_per_row(array: NDArray[Any], n_samples: int, name: str) -> None:
    if array.shape != (n_samples,):
        raise ValueError(
            f"`{name}` has shape {array.shape}, but X has {n_samples} samples; "
            f"the shape must be ({n_samples},)."
        )


def checked_centers(centers: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """One finite centre for each cluster."""
    mean = as_numbers(centers, "`centers`")
    if mean.shape != shape:
        raise ValueError(f"`centers` has shape {mean.shape}; its shape must be {shape}.")
    refuse(~np.isfinite(mean), mean, "`centers`", "each must be finite")
    return mean
