"""Arrays of any library: whose functions they know, and how they come back to NumPy."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse


def namespace(a: Any) -> Any:
    """The module whose functions know the array, by the names of the array API standard.

    NumPy's for its arrays and SciPy's sparse ones; otherwise array-api-compat finds it.
    """
    if isinstance(a, np.ndarray) or sparse.issparse(a):
        return np
    return _compat().array_namespace(a)


@cache
def _compat() -> Any:
    try:
        return import_module("array_api_compat")
    except ImportError:  # scikit-learn carries a copy
        return import_module("sklearn.externals.array_api_compat")


def to_host(a: Any) -> Any:
    """An array as NumPy's, floats as float64; on a GPU only PyTorch's are known."""
    host = np.asarray(a.cpu() if hasattr(a, "cpu") else a)
    return host.astype(np.float64, copy=False) if host.dtype.kind == "f" else host
