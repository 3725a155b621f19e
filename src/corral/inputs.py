"""What comes in: arrays of every kind, checked once, known without importing their libraries."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ._arrays import sound
from ._scale import exponent_of, largest
from ._text import refuse_words, shown
from ._typing import FloatArray, Matrix
from .constraints import Constraint, ConstraintSet
from .constraints._checks import index_of
from .settings import as_floats


def library(a: Any) -> str:
    """The package that made an array, as "numpy", "torch", "cupy" or "dask"."""
    return type(a).__module__.partition(".")[0]


def is_dask(a: Any) -> bool:
    """Whether it is a Dask array or data frame."""
    return library(a) in ("dask", "dask_expr") and hasattr(a, "compute")


def on_gpu(a: Any) -> bool:
    """Whether it is a PyTorch tensor or CuPy array in a GPU's memory."""
    return library(a) == "cupy" or (library(a) == "torch" and bool(getattr(a, "is_cuda", False)))


def brought(a: Any) -> Any:
    """An array of any kind in this process's memory; what is there already stays as it is."""
    if isinstance(a, str | os.PathLike) or (library(a) == "corral" and hasattr(a, "outline")):
        raise TypeError(
            f"{shown(a)} is given where rows are needed; only ConstrainedKMeans and MixedGroups "
            "read files.  Load the rows into an array first."
        )
    if is_dask(a):
        return np.asarray(a.compute())
    if library(a) == "torch":
        half = str(a.dtype) in ("torch.float16", "torch.bfloat16")  # which NumPy cannot hold
        return (a.float() if half else a).detach().cpu().numpy()
    return a.get() if library(a) == "cupy" else a


def outline(X: Any) -> Any:
    """What tells the number and names of the features: an empty frame of a Dask frame or files."""
    if library(X) == "corral":  # rows of files have one
        return getattr(X, "outline", X)
    return X._meta if is_dask(X) and hasattr(X, "columns") else X


def check_points(X: Any, estimator: BaseEstimator) -> Matrix:
    """A finite float array or CSR array; float32 is kept.  The errors are scikit-learn's.

    A sparse array with few zeros becomes a dense one, which takes about as much memory.
    """
    dtypes = [np.float64, np.float32]
    options = {"accept_sparse": "csr", "dtype": dtypes, "estimator": estimator}
    points = check_array(sound(X), input_name="X", **options)
    if sparse.issparse(points) and 2 * points.nnz > np.prod(points.shape):
        return points.toarray()
    return sparse.csr_array(points) if sparse.issparse(points) else points


def check_magnitude(points: Matrix, method: str, what: str = "X") -> None:
    """ValueError for magnitudes whose squares would leave the range of floats in a method."""
    size = largest(points)
    if exponent_of(size, points.dtype):
        raise ValueError(
            f"{what} has magnitudes up to {size:.3g}, which {method} cannot square safely; the "
            "largest must lie in [1e-19, 1e19].  Divide X by a constant."
        )


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """One weight a sample, finite and not negative, or None."""
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
    index = index_of(X)
    return None if index is None or np.array_equal(index, np.arange(len(index))) else list(index)


def column_names(X: Any) -> Any:
    """Names of the columns of a data frame, None for other arrays."""
    table = outline(X)
    columns = getattr(table, "column_names", getattr(table, "columns", None))
    return None if columns is None else list(columns)


def refuse_others(y: Any, unknown: Iterable[str] = (), known: Iterable[str] = ()) -> None:
    """Raise ``TypeError`` for constraints in place of y, which is ignored, and unknown keywords."""
    refuse_words("fit", unknown, known)
    try:
        rules = _holds_rules(y)
    except RecursionError:  # a list that contains itself
        rules = False
    if rules:
        raise TypeError(
            "constraints were given as y, which is ignored; give them by keyword: constraints=..."
        )


def _holds_rules(y: Any) -> bool:
    if isinstance(y, (Constraint, ConstraintSet)):
        return True
    if isinstance(y, Mapping):
        y = list(y.values())
    objects = isinstance(y, np.ndarray) and y.dtype == object
    listed = isinstance(y, (list, tuple, set, frozenset, Iterator))
    return (listed or objects) and any(map(_holds_rules, y))


@contextmanager
def talking(verbose: bool | int) -> Iterator[None]:
    """Let the package's log be seen meanwhile, on the terminal unless logging is set up."""
    if not isinstance(verbose, (bool, np.bool_, Integral)):
        raise ValueError(f"`verbose` is {verbose!r}; it must be True, False or an integer.")
    if not verbose:
        yield
        return
    log = logging.getLogger("corral")
    level, handler = log.level, None if log.hasHandlers() else logging.StreamHandler()
    log.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    if handler is not None:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.setLevel(level)
        if handler is not None:
            log.removeHandler(handler)
