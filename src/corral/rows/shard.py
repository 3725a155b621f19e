"""Shards: consecutive rows where their arrays are, and the protocol of a backend that keeps them.

A backend keeps all rows of X as one or more shards, on a GPU or with Dask's workers.  It implements
:class:`Shards` and nothing else; :class:`.shards.ShardRows` makes of it the rows that the solvers
see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from .._arrays import namespace
from .._typing import FloatArray, IntArray

#: Rows of a shard that are elsewhere than the others, and where.
Patch = tuple[IntArray, IntArray]
#: Rows, clusters and prices of soft pins.
Pinned = tuple[IntArray, IntArray, FloatArray]
#: Arguments of a function that differ from shard to shard, one tuple a shard.
Each = Iterable[tuple[Any, ...]] | None


class Shard:
    """Rows, or groups of rows, with a weight each, as arrays of NumPy or PyTorch.

    ``weight`` is None if all are one.  ``amounts``, (m, q) in double precision or as whole numbers,
    are what each group adds to q bounded sums of its cluster; None for one sum to which each adds
    one.  ``pins`` are rows, in order, clusters and prices, in NumPy: they cost so much less there.
    ``memo`` has results that a pass keeps for the next one.  They only save time: a pass that does
    not find them computes them again, and they are never copied.
    """

    def __init__(
        self, points: Any, weight: Any = None, amounts: Any = None, pins: Pinned | None = None
    ) -> None:
        self.points, self.weight, self.amounts, self.pins = points, weight, amounts, pins
        self.memo: dict[str, Any] = {}

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.points.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Pickle everything but the memo."""
        return {**self.__dict__, "memo": {}}

    @property
    def example(self) -> Any:
        """What tells the kind of the points, where they are and the number of features."""
        return self.points

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""
        return namespace(self.example)

    def like(self, **changes: Any) -> Shard:
        """The same with other arrays."""
        names = ("points", "weight", "amounts", "pins")
        return Shard(**{**{name: getattr(self, name) for name in names}, **changes})

    def remade(self, function: Callable[..., Any], *args: Any, length: int | None = None) -> Shard:
        """The same with the points ``function(points, *args)``.

        With a ``length`` these are other rows, without weights and amounts.
        """
        points = function(self.points, *args)
        return self.like(points=points) if length is None else Shard(points)

    def put(self, a: Any) -> Any:
        """Copy a NumPy array to where the shard is, floats in the precision of the points."""
        kind, xp = self.example, self.xp
        if xp is np:
            return a.astype(kind.dtype, copy=False) if a.dtype.kind == "f" else a
        moved = xp.asarray(a, device=kind.device)
        return moved.to(kind.dtype) if a.dtype.kind == "f" else moved

    def double(self, a: FloatArray) -> Any:
        """Copy a NumPy array to where the shard is, in double precision."""
        return a if self.xp is np else self.xp.asarray(a, device=self.example.device)


class Shards(Protocol):
    """All rows of X as shards, in order: what a backend implements.

    All work is a function that :meth:`map` or :meth:`transform` calls once for each shard, as
    ``function(shard, *args, *own)``, with arguments for all shards (``args``) and, where given, one
    tuple of arguments for each shard (``each``).  Such a function must not change the shard, except
    ``shard.memo``.  It must be importable, so that it can be sent to other machines.
    """

    dtype: Any  # NumPy's dtype of the points
    lengths: Sequence[int]  # number of rows in each shard
    n_features: int

    @property
    def held(self) -> int | None:
        """Rows that may be kept in memory to be looked at again; None where all are at hand."""

    @property
    def memory(self) -> str:
        """What bounds the memory that rows elsewhere take here, in words, or nothing."""

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """Small results of the function for every shard, in order, in this process's memory."""

    def transform(self, function: Callable[..., Shard], *args: Any, each: Each = None) -> Shards:
        """The shards that the function makes; they stay where they are."""


class LocalShards:
    """Shards of NumPy arrays in this process's memory; see :class:`Shards`."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self.shards = list(shards)
        self.dtype = np.dtype(str(self.shards[0].example.dtype).removeprefix("torch."))
        self.lengths: Sequence[int] = [len(shard) for shard in self.shards]
        self.n_features = int(self.shards[0].example.shape[1])

    held: int | None = None
    memory = ""

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """One shard after another."""
        own = [()] * len(self.shards) if each is None else each
        return [function(shard, *args, *its) for shard, its in zip(self.shards, own, strict=True)]

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> LocalShards:
        """One shard after another."""
        return LocalShards(self.map(function, *args, each=each))


def starts(shards: Shards) -> IntArray:
    """Numbers of the first row of each shard, then the number of all rows."""
    return np.concatenate([[0], np.cumsum(shards.lengths)]).astype(np.int64)


def shares(shards: Shards, *arrays: Any) -> list[tuple[Any, ...]]:
    """The part of each array over all rows that belongs to each shard."""
    return [tuple(a[start:stop] for a in arrays) for start, stop in pairwise(starts(shards))]


def by_shard(shards: Shards, rows: IntArray) -> list[IntArray]:
    """Sorted numbers of rows, cut by shard and counted from its first row."""
    first = starts(shards)
    cuts = np.searchsorted(rows, first)
    return [rows[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], first[:-1], strict=True)]


def patches_of(shards: Shards, rows: IntArray, values: IntArray) -> list[Patch]:
    """Sorted numbers of rows with a value each, cut by shard and counted from its first row."""
    own = by_shard(shards, rows)
    cuts = np.cumsum([len(part) for part in own])[:-1]
    return [*zip(own, np.split(values, cuts), strict=True)]


def shifted(shard: Shard, middle: FloatArray) -> Shard:
    """The same rows less the middle."""
    return shard.remade(_less, shard.double(middle))


def _less(points: Any, middle: Any) -> Any:
    xp = namespace(points)
    return xp.astype(xp.astype(points, xp.float64) - middle, points.dtype)


def moved(shard: Shard, function: Callable[..., Any], *args: Any) -> Shard:
    """The same rows with the points ``function(points, *args)``."""
    return shard.remade(function, *args)


def with_amounts(shard: Shard, amounts: FloatArray | None) -> Shard:
    """The same rows with what each adds to the bounded sums, (m, q); None for one each."""
    if amounts is None or shard.xp is np:
        return shard.like(amounts=amounts)
    return shard.like(amounts=shard.xp.asarray(amounts, device=shard.example.device))


def with_pins(shard: Shard, rows: IntArray, clusters: IntArray, price: FloatArray) -> Shard:
    """The same rows, of which some cost so much less in a cluster."""
    return shard.like(pins=(rows, clusters, price))


def chosen(shard: Shard, rows: IntArray) -> Shard:
    """Some of the rows, without amounts."""
    own, weight = shard.put(rows), shard.weight
    return Shard(shard.points[own], None if weight is None else weight[own])


def with_weight(shard: Shard, weight: FloatArray | None) -> Shard:
    """The same rows with these weights."""
    return shard.like(weight=None if weight is None else shard.put(weight))


def contracted(
    shard: Shard, first: IntArray, where: IntArray, means: FloatArray, weight: FloatArray | None
) -> Shard:
    """One point for each group: its first row, or for groups of several rows their means.

    ``first`` has the first row of each group; ``where`` are the groups of several rows.
    """
    own = shard.put(first), shard.put(where), shard.put(means)
    joined = shard.remade(_joined, *own, length=len(first))
    return with_weight(joined, weight)


def _joined(points: Any, first: Any, where: Any, means: Any) -> Any:
    points = points[first]
    if len(where):
        points[where] = means
    return points
