"""Shards on the workers of a Dask cluster, one a partition."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...rows import Each, Shard
from .cluster import Partitions, close_client

#: Rows, features and precision of a shard.
Shape = tuple[int, int, str]


def _size_of_shard(shard: Shard) -> int:
    """Bytes, as Dask counts them against the memory of a worker."""
    arrays = shard.points, shard.weight, shard.amounts
    return sum(getattr(a, "nbytes", 0) for a in arrays)


# On a worker Dask is imported before any task.
if "dask" in sys.modules:
    importlib.import_module("dask.sizeof").sizeof.register(Shard, _size_of_shard)


@dataclass(frozen=True, eq=False)
class Call:
    """A function of a shard with its other arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    own: tuple[Any, ...] = ()


def call(shard: Shard, call: Call) -> Any:
    """Call it.

    The result depends on the arguments alone, so that Dask can run the task again elsewhere.
    """
    if shard.xp is np:
        return call.function(shard, *call.args, *call.own)
    device = importlib.import_module("corral.backends.gpu.device")
    with device.full_products():
        return device.in_memory(call.function, shard, *call.args, *call.own)


def shape(shard: Shard) -> Shape:
    """Rows, features and precision."""
    return len(shard), int(shard.points.shape[1]), str(shard.points.dtype).removeprefix("torch.")


class DaskShards:
    """Shards on the workers of a Dask cluster; see :class:`corral.rows.Shards`.

    As a context manager it releases everything at the end, and closes the client if ``closes``.
    ``shards`` are futures; ``shapes`` is what :func:`shape` gives for them, if it is known.
    """

    held: int | None = None
    memory = ""

    def __init__(
        self,
        client: Any,
        shards: Sequence[Any],
        shapes: Sequence[Shape] | None = None,
        *,
        closes: bool = False,
    ) -> None:
        self._partitions, self._closes = Partitions(client, shards), closes
        shapes = self.map(shape) if shapes is None else shapes
        self._partitions.locate(self._partitions.shards)
        self.lengths: Sequence[int] = [length for length, _, _ in shapes]
        self.n_features, self.dtype = shapes[0][1], np.dtype(shapes[0][2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release everything, and close the client if it was made for these shards."""
        client = self._partitions.client
        self._partitions.release()
        if self._closes:
            self._closes = False
            close_client(client)

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """Tasks on the workers."""
        return self._partitions.gather(self._call(function, args, each))

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> DaskShards:
        """New shards on the same workers."""
        return DaskShards(self._partitions.client, self._call(function, args, each))

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], each: Each) -> list[Any]:
        shards = self._partitions.shards
        own = self._partitions.same(()) if each is None else each
        calls = [Call(function, args, its) for _, its in zip(shards, own, strict=True)]
        name = getattr(function, "__name__", "call").strip("_").replace("_", "-")
        return self._partitions.submit(name, call, shards, calls)
