"""Who holds the rows of a fit in shards, where they are, and works on them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..admm.crew import Crew, Threads
from ..initialise import plus_plus
from .shard import Shard


class Holder(Crew, Protocol):
    """Shards, in order, and passes over them.

    The relaxed solver asks a holder for its passes as it asks any crew.  Everything else is a
    function that is called once a shard, as ``function(shard, *args, *own)``, with a few arguments
    for all (``args``) and, where given, some for each shard (``each``, one tuple a shard).  Such a
    function must not change the shard, but may remember things in ``shard.memo``; it must be
    importable, so that it can be sent to other machines.
    """

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each shard."""
        ...

    @property
    def n_features(self) -> int:
        """Of every row."""
        ...

    def crew(self, points: FloatArray) -> Crew:
        """Who works on a few of the points that were fetched."""
        ...

    def seeds(
        self,
        points: FloatArray,
        weight: FloatArray,
        n_clusters: int,
        random_state: np.random.RandomState,
    ) -> FloatArray:
        """k-means++ centres of a few of the points that were fetched."""
        ...

    def map(
        self,
        function: Callable[..., Any],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Small results of the function for every shard, in order, in this process's memory."""
        ...

    def transform(
        self,
        function: Callable[..., Shard],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> Holder:
        """A holder of the shards that the function makes, which stay where they are."""
        ...


def starts(holder: Holder) -> IntArray:
    """Numbers of the first row of each shard, and of all rows at the end."""
    return np.concatenate([[0], np.cumsum(holder.lengths)]).astype(np.int64)


def shares(holder: Holder, *arrays: Any) -> list[tuple[Any, ...]]:
    """Of arrays over all rows, what belongs to each shard."""
    return [tuple(a[start:stop] for a in arrays) for start, stop in pairwise(starts(holder))]


class Local(Threads):
    """Shards of NumPy arrays in this process.

    Parameters
    ----------
    shards : list of Shard
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        super().__init__(np.concatenate([shard.points for shard in shards]), n_threads=1)
        self.shards = list(shards)

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each shard."""
        return [len(shard) for shard in self.shards]

    @property
    def n_features(self) -> int:
        """Of every row."""
        return int(self.points.shape[1])

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
        """One shard after another."""
        own = [()] * len(self.shards) if each is None else each
        return [function(shard, *args, *its) for shard, its in zip(self.shards, own, strict=True)]

    def transform(
        self,
        function: Callable[..., Shard],
        *args: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> Local:
        """One shard after another."""
        return Local(self.map(function, *args, each=each))
