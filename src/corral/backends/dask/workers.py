"""Shards on the workers of a Dask cluster, one a partition."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..._typing import FloatArray
from ...admm.crew import Crew, Threads
from ...rows import Each, Shard, plus_plus
from .cluster import Partitions, close_client
from .iterations import DaskCrew
from .partition_passes import Call, Shape, call, shape


class DaskShards:
    """Shards on the workers of a Dask cluster; see :class:`corral.rows.Shards`.

    As a context manager it releases everything at the end, and closes the client if ``closes``.
    ``shards`` are futures; ``shapes`` is what :func:`.partition_passes.shape` gives for them, if it
    is known.
    """

    quick = False

    def __init__(
        self,
        client: Any,
        shards: Sequence[Any],
        shapes: Sequence[Shape] | None = None,
        *,
        closes: bool = False,
    ) -> None:
        self._partitions, self._closes = Partitions(client, shards), closes
        self._crew: Callable[[], DaskCrew | None] = lambda: None
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
        client, crew = self._partitions.client, self._crew()
        if crew is not None:
            crew.release()
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

    def crew(self, points: FloatArray | None = None) -> Crew:
        """Workers make ADMM's passes over all rows, threads of this process over a few."""
        if points is not None:
            return Threads(points)
        crew = DaskCrew(self._partitions, self.lengths, self.dtype)
        self._crew = weakref.ref(crew)  # its states go as soon as the run is over
        return crew

    seeds = staticmethod(plus_plus)

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], each: Each) -> list[Any]:
        shards = self._partitions.shards
        own = self._partitions.same(()) if each is None else each
        calls = [Call(function, args, its) for _, its in zip(shards, own, strict=True)]
        name = getattr(function, "__name__", "call").strip("_").replace("_", "-")
        return self._partitions.submit(name, call, shards, calls)
