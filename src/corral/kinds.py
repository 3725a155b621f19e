"""Kinds of arrays that corral knows without importing their libraries."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    if is_dask(a):
        return np.asarray(a.compute())
    if library(a) == "torch":
        half = str(a.dtype) in ("torch.float16", "torch.bfloat16")  # which NumPy cannot hold
        return (a.float() if half else a).detach().cpu().numpy()
    return a.get() if library(a) == "cupy" else a


def outline(X: Any) -> Any:
    """What tells the number and names of the features: a Dask frame's is an empty frame."""
    return X._meta if is_dask(X) and hasattr(X, "columns") else X
