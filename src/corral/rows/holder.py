"""Who holds the rows of a fit in shards, where they are, and works on them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from .shard import Shard


class Holder(Protocol):
    """Shards, in order, and passes over them.

    A holder also makes ADMM's passes (:class:`corral.admm.crew.Crew`).  Everything else is a
    function that is called once a shard, as ``function(shard, *args, *own)``, with a few arguments
    for all (``args``) and, where given, some for each shard (``each``, one tuple a shard).  Such a
    function must not change the shard, but may remember things in ``shard.memo``; it must be
    importable, so that it can be sent to other machines.
    """

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the points."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """Number of rows in each shard."""
        ...

    @property
    def n_features(self) -> int:
        """Of every row."""
        ...

    def crew(self, points: FloatArray) -> Any:
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


def by_shard(holder: Holder, rows: IntArray) -> list[IntArray]:
    """Sorted numbers of rows, cut by shard and counted from its first row."""
    first = starts(holder)
    cuts = np.searchsorted(rows, first)
    return [rows[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], first[:-1], strict=True)]
