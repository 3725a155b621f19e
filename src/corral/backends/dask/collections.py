"""Dask collections to shards on workers, and labels back to Dask arrays."""

from __future__ import annotations

import importlib
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...inputs import library
from ...rows import Shard
from .cluster import Partitions, close_client, connected, find_client
from .workers import DaskShards, Shape, shape

#: Collections whose numbers of rows are remembered; give_back counts those of others again.
_REMEMBERED = 16
#: Numbers of rows in the partitions of the last collections that were opened, by name.
_ROWS: OrderedDict[str, list[int]] = OrderedDict()


def hold(X: Any, device: str | None = None) -> DaskShards:
    """The partitions of a Dask collection as shards, on the present client or a local one.

    With a device their rows are tensors on that device of their worker.

    X must be a table of finite numbers, otherwise ValueError or TypeError is raised.  float32 is
    kept, all else becomes float64.  Columns in several chunks are brought together first, and
    partitions without rows are left out.  Close the shards after use, or let ``with`` do so.
    """
    array = _as_array(X)
    client, new = find_client()
    try:
        partitions = Partitions(client, _shards(client, array, device))
        shapes = _check(partitions, array.chunks)
        _remember(X, [rows for rows, *_ in shapes])
        filled = [i for i, (rows, *_) in enumerate(shapes) if rows]
        shards = [partitions.shards[i] for i in filled]
        return DaskShards(client, shards, [shapes[i] for i in filled], closes=new)
    except BaseException:
        if new:
            close_client(client)
        raise


def give_back(a: Any, like: Any) -> Any:
    """An array over the rows of a collection, (n,), as a Dask array in chunks of the same rows."""
    da = importlib.import_module("dask.array")
    rows, name = _rows(like), f"corral-labels-{uuid.uuid4().hex}"
    pieces = np.split(a, np.cumsum(rows)[:-1])
    graph = {(name, i): piece for i, piece in enumerate(pieces)}
    return da.Array(graph, name, chunks=(tuple(rows),), dtype=a.dtype)


def by_rows(X: Any, function: Callable[..., FloatArray], *args: Any) -> Any:
    """``function(rows, *args)``, one row for each row, as a lazy Dask array."""
    array = _as_array(X)
    example = function(np.ones((1, array.shape[1]), _dtype(array)), *args)
    return array.map_blocks(
        _apply,
        function,
        args,
        chunks=(array.chunks[0], (example.shape[1],)),
        dtype=example.dtype,
        meta=example[:0],
        name=f"corral-{function.__name__.replace('_', '-')}-{uuid.uuid4().hex}",
    )


def _apply(
    chunk: Any, function: Callable[..., FloatArray], args: tuple[Any, ...], block_info: Any = None
) -> FloatArray:
    """The function of the rows of a chunk, which must be as many as the array says."""
    if block_info:
        here, said = block_info[0]["chunk-location"], block_info[None]["chunk-shape"][0]
        _refuse_shape(here[0], (len(chunk),), (said,))
    return function(_make_shard(chunk).points, *args)


def _refuse_shape(number: int, real: tuple[int, ...], said: tuple[float, ...]) -> None:
    """Raise ValueError if a partition has not the shape of its chunk, where that is known."""
    if any(known != has for known, has in zip(said, real, strict=True) if not np.isnan(known)):
        raise ValueError(
            f"partition {number} of X has shape {real}, but the chunks of X say {said}; they must "
            "agree, or be NaN where they are not known."
        )


def _rows(X: Any) -> list[int]:
    """Number of rows in every partition."""
    if hasattr(X, "chunks") and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    if known := _ROWS.get(_name(X)):
        return known
    if hasattr(X, "chunks"):
        return list(X.compute_chunk_sizes().chunks[0])
    return [int(n) for n in X.map_partitions(len).compute()]


def _remember(X: Any, rows: list[int]) -> None:
    """Number of rows in every partition, for :func:`give_back`."""
    _ROWS[_name(X)] = rows
    if len(_ROWS) > _REMEMBERED:
        _ROWS.popitem(last=False)


def _name(X: Any) -> str:
    return str(X.name if hasattr(X, "chunks") else X._name)


def _as_array(X: Any) -> Any:
    """A Dask array of two dimensions, real numbers, and all features in one chunk."""
    array = _of_frame(X) if hasattr(X, "dtypes") else X
    if array.ndim != 2:
        raise ValueError(
            f"X is a Dask collection of {array.ndim} dimension(s); it must have two, samples and "
            "features."
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {array.dtype}; a Dask collection must hold real numbers.")
    if not isinstance(array._meta, np.ndarray) and library(array._meta) != "cupy":
        raise TypeError(
            f"X is a Dask array of {type(array._meta).__name__}; its chunks must be NumPy or CuPy "
            "arrays."
        )
    return array if array.numblocks[1] == 1 else array.rechunk({1: -1})


def _of_frame(X: Any) -> Any:
    """A data frame as an array, if all its columns are real numbers."""
    types = importlib.import_module("pandas.api.types")
    for name, dtype in X.dtypes.items() if X.ndim == 2 else ():
        if not types.is_numeric_dtype(dtype) or types.is_complex_dtype(dtype):
            raise TypeError(
                f"column {name!r} of X has dtype {dtype}; all columns must be real numbers."
            )
    array = X.to_dask_array()
    # Columns of several kinds, or those that know missing values, make an array of objects.
    return array if array.dtype.kind in "fiub" else X.astype(float).to_dask_array()


def _shards(client: Any, array: Any, device: str | None) -> list[Any]:
    """Futures of shards, one for every chunk of rows."""
    make = importlib.import_module("dask").delayed(_make_shard, pure=False)
    chunks, name = array.to_delayed().ravel(), f"corral-shard-{uuid.uuid4().hex}"
    shards = [make(chunk, device, dask_key_name=f"{name}-{i}") for i, chunk in enumerate(chunks)]
    with connected(client, f"opened the {len(shards)} partitions of X"):
        futures: list[Any] = client.compute(shards)
    return futures


def _make_shard(chunk: Any, device: str | None = None) -> Shard:
    """A chunk as a shard, without a copy where it is as it should be.

    An array that came over the network may not be aligned, which makes arithmetic slow.
    """
    if np.ma.is_masked(chunk):
        chunk = np.ma.filled(chunk.astype(np.float64), np.nan)  # which is refused by its row
    if device is not None or library(chunk) == "cupy":
        tensors = importlib.import_module("corral.backends.gpu.tensors")
        return Shard(tensors.tensor_of(chunk, tensors.device_of(device)))
    points = np.asarray(chunk)
    return Shard(np.require(points, _dtype(points), ["C", "A"]))


def _dtype(a: Any) -> Any:
    """Single precision stays, all else becomes double."""
    return np.float32 if a.dtype == np.float32 else np.float64


def _check(partitions: Partitions, chunks: Any) -> list[Shape]:
    """Shapes of the partitions, if all values are finite and there are some at all.

    They must be as the chunks of the array say, where these are known.
    """
    found = partitions.map("check", _inspect, partitions.shards)
    rows = [length for (length, *_), _ in found]
    for i, ((length, width, _), _) in enumerate(found):
        _refuse_shape(i, (length, width), (chunks[0][i], chunks[1][0]))
    if not sum(rows):
        raise ValueError("X has 0 samples; there must be at least one.")
    for i, (_, bad) in enumerate(found):
        if bad is not None:
            row, column, value = bad
            kind = "NaN" if np.isnan(value) else "infinity"
            raise ValueError(
                f"X contains {kind}, at row {sum(rows[:i]) + row}, column {column} (row {row} of "
                f"partition {i}); all values must be finite."
            )
    return [known for known, _ in found]


def _inspect(shard: Shard) -> tuple[Shape, tuple[int, int, float] | None]:
    """The shape, and the first place whose value is not finite."""
    xp, points = shard.xp, shard.points
    # A finite sum has only finite terms; a sum that is not may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(xp.isfinite(xp.sum(points)))
    bad: Any = ([],) if finite else xp.nonzero(~xp.isfinite(points))
    if not len(bad[0]):
        return shape(shard), None
    row, column = (int(each[0]) for each in bad)
    return shape(shard), (row, column, float(points[row, column]))
