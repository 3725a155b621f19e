"""Arrays of the user's kind to tensors on a device, and back.

PyTorch is imported when it is needed.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from ..._arrays import sound
from ...inputs import library
from ...rows import Shard
from ...rows.passes import finite
from ..backend import check_device


def hold(X: Any, device: str | None = None) -> Any:
    """The rows of X as :class:`.device.DeviceShards`, by default where X is.

    A tensor or CuPy array of float32 or float64 that is on the device already is not copied.
    ImportError says that PyTorch is missing, RuntimeError that the device is, and ValueError that X
    is no matrix of finite numbers.
    """
    if find_spec("torch") is None:
        asked = "X is a CuPy array, which" if device is None else f"device={device!r}"
        raise ImportError(f"{asked} needs PyTorch: pip install 'corral-clustering[gpu]'")
    import torch

    from .device import DeviceShards, out_of_memory

    try:
        points = tensor_of(X, device_of(device))
    except torch.cuda.OutOfMemoryError as error:
        raise out_of_memory(torch.empty(0, device=device)) from error
    _check_shape(points)
    shards = DeviceShards(Shard(points))
    (row,) = shards.map(finite)
    if row >= 0:
        raise ValueError(f"Input X contains NaN or infinity in row {row}; all must be finite.")
    return shards


def give_back(a: Any, like: Any) -> Any:
    """A NumPy array or tensor as the same kind of array as ``like``, on its device."""
    if library(like) == "torch":
        import torch

        return torch.as_tensor(a, device=like.device)
    host = a.cpu().numpy() if hasattr(a, "cpu") else np.asarray(a)
    if library(like) == "cupy":
        import cupy

        with like.device:
            return cupy.asarray(host)
    return host


def device_of(device: str | None) -> Any:
    """PyTorch's device of that name, if it is there."""
    import torch

    check_device(device)
    if device is None:
        return None
    kind, _, number = device.partition(":")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not count:
            raise RuntimeError(
                f"device={device!r} needs an NVIDIA GPU that PyTorch can use, and there is none."
            )
        if number and int(number) >= count:
            raise RuntimeError(f"device={device!r}, but GPUs are numbered from 0 to {count - 1}.")
    return torch.device(device)


def tensor_of(X: Any, device: Any) -> Any:
    """X as a contiguous tensor of float32 or float64, shared with X where it can be."""
    import torch

    if sparse.issparse(X):
        raise ValueError(
            "Sparse X is solved in memory alone: leave out `device`, or make it dense."
        )
    if library(X) == "cupy":
        tensor = torch.from_dlpack(X)
    elif library(X) == "torch":
        tensor = X.detach()
    else:
        tensor = _from_numpy(np.asarray(sound(X)))
    if tensor.is_complex():
        raise ValueError("Complex data not supported: X must hold real numbers.")
    if tensor.dtype not in (torch.float32, torch.float64):
        # As in memory, integers become float64.  Half precision has too few bits for sums.
        tensor = tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)
    return tensor.to(device).contiguous()


def _from_numpy(X: Any) -> Any:
    import torch

    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    if X.dtype.kind not in "fiub" or X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    elif not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of arrays that are read-only
        return torch.as_tensor(np.ascontiguousarray(X))


def _check_shape(points: Any) -> None:
    if points.ndim != 2:
        raise ValueError(f"Expected 2D array, got {points.ndim}D array instead.")
    shape = tuple(points.shape)
    for number, what in zip(shape, ("sample", "feature"), strict=True):
        if not number:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )
