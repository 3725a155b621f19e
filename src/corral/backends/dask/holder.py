"""Shards that live on the workers of a Dask cluster, one a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.copies import PairCopies
from ...admm.crew import Crew, Setup, Threads
from ...admm.kernels import Step, Sums
from ...presolve import Rules
from ...rows import Shard
from ...rows.seeding import plus_plus
from . import tasks
from .client import close_client
from .partitions import Partitions
from .run import Run

#: x is kept with the states up to so many entries.
KEEP_X = 1 << 20


class DaskHolder:
    """Shards on the workers of a Dask cluster, and passes over them.

    As a context manager it lets everything go at the end.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Future
        Of shards.
    shapes : list of tuples, optional
        What :func:`.tasks.shape` says of them, if it is known.
    closes : bool
        Whether the client is closed with the holder.
    """

    def __init__(
        self,
        client: Any,
        shards: Sequence[Any],
        shapes: Sequence[tasks.Shape] | None = None,
        *,
        closes: bool = False,
    ) -> None:
        self._partitions, self._closes = Partitions(client, shards), closes
        self._run: Run | None = None
        shapes = self.map(tasks.shape) if shapes is None else shapes
        self._partitions.locate(self._partitions.shards)
        self._lengths = [length for length, _, _ in shapes]
        self._n_features, self._dtype = shapes[0][1], np.dtype(shapes[0][2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let everything go, and the client if it was made for this holder."""
        client = self._partitions.client
        self._partitions, self._run = Partitions(client, []), None
        if self._closes:
            self._closes = False
            close_client(client)

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each shard."""
        return self._lengths

    @property
    def n_features(self) -> int:
        """Of every row."""
        return self._n_features

    @property
    def dtype(self) -> Any:
        """Of the points."""
        return self._dtype

    def crew(self, points: FloatArray) -> Crew:
        """Threads of this process."""
        return Threads(points)

    seeds = staticmethod(plus_plus)

    def map(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Small results of the function for every shard, in order, in this process's memory."""
        return self._partitions.gather(self._call(function, args, each))

    def transform(
        self,
        function: Callable[..., Shard],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> DaskHolder:
        """A holder of the shards that the function makes, which stay where they are."""
        return DaskHolder(self._partitions.client, self._call(function, args, each))

    def _call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        each: Iterable[tuple[Any, ...]] | None,
    ) -> list[Any]:
        shards = self._partitions.shards
        own = self._partitions.same(()) if each is None else each
        calls = [tasks.Call(function, args, its) for _, its in zip(shards, own, strict=True)]
        name = getattr(function, "__name__", "call").strip("_").replace("_", "-")
        return self._partitions.submit(name, tasks.call, shards, calls)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Workers remember blocks from pass to pass, and forget them at the end."""
        yield self
        self.map(tasks.forget)

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Start a run in every partition."""
        keep_x = sum(self._lengths) * setup.n_clusters <= KEEP_X
        self._groups, self._run = setup.pulled, None
        self._run = Run(self._partitions, self._lengths, self._dtype, setup, keep_x)
        return self._run.start_sums(setup)

    def start_sphere(self) -> None:
        """In the next iteration."""
        self._begun.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """Sum over the partitions."""
        return self._begun.forward(step)

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """Sum over the partitions; the step is that of the forward pass."""
        return self._begun.backward(theta)

    def pairs(self, rules: Rules, metric: FloatArray, unit: float) -> PairCopies:
        """In this process's memory."""
        return PairCopies(rules, self._groups, metric, self.pulled_x(), unit)

    def pulled_x(self) -> FloatArray:
        """As the last pass left it."""
        return np.concatenate(self._begun.pulled, axis=1)

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Each partition its part, with the next pass."""
        self._begun.pull(pull, stiffening)

    def labels(self) -> IntArray:
        """From every partition."""
        return self._begun.labels()

    def x(self) -> FloatArray:
        """From every partition."""
        return self._begun.x()

    @property
    def _begun(self) -> Run:
        if self._run is None:
            raise RuntimeError("no run has begun; call `begin` first")
        return self._run
