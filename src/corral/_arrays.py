"""Arrays of any library: whose functions they know, how they come back to NumPy, and threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController


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


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; finding them takes longer than a small fit."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread: starting more takes longer than a product of small matrices."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited
