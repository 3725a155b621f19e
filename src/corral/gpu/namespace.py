"""PyTorch's functions under the names of the array API."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _namespace() -> Any:
    try:
        return import_module("array_api_compat.torch")
    except ImportError:  # scikit-learn carries a copy
        return import_module("sklearn.externals.array_api_compat.torch")


xp = _namespace()
