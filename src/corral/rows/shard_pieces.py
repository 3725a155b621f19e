"""Candidates of rows in shards: chosen, kept and added up where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline
from . import pieces
from .algebra import sums_by_cluster
from .candidates import Candidates, cheapest, least_there
from .costs import LinearCosts
from .pieces import Patch, Piece, Request
from .shard import Each, Shard, Shards, by_shard, cut_like
from .shard_passes import chunks, inertia_of, sums_of


@dataclass(frozen=True)
class Centres:
    """Centres that rows in shards are assigned to.

    A row costs ``weight / each (norms - 2 point . center)``, and the same of its square about
    ``local``, in a cluster.
    """

    centers: FloatArray  # (k, d)
    norms: FloatArray  # (k,)
    local: FloatArray  # what centres are relative to, (d,)
    each: int  # rows that each group counts


def on_piece(
    shard: Shard, at: Centres, request: Request, function: Callable[..., Any], *args: Any
) -> Any:
    """``function(piece, *args)`` of the piece of a shard."""
    return function(_piece(shard, at, request), *args)


def _piece(shard: Shard, at: Centres, request: Request) -> Piece:
    return pieces.piece_of(shard.memo, partial(_choose, shard, at), request)


def _choose(shard: Shard, at: Centres, prices: FloatArray, number: int, some: Any) -> Candidates:
    """Candidates of the free rows of a shard, or of some of these."""
    rows = None if shard.free is None else shard.xp.nonzero(shard.free)[0]
    if some is not None:
        rows = some if rows is None else rows[some]
    if shard.xp is np:
        groups = np.arange(len(shard)) if rows is None else rows
        before = shard.memo.get("piece") if some is None else None
        like = None if before is None else before[1].table
        squares = np.square(shard.points - at.local).sum(axis=1)
        weight = np.ones(len(shard)) if shard.weight is None else shard.weight
        costs = LinearCosts(shard.points, squares, at.centers, at.norms, weight / at.each)
        return cheapest(costs, groups, prices, number, like, threads=1)
    return _choose_there(shard, at, prices, number, rows)


def _choose_there(
    shard: Shard, at: Centres, prices: FloatArray, number: int, rows: Any
) -> Candidates:
    """Candidates of rows on a device, all if none are given, by products of blocks."""
    xp, k = shard.xp, len(prices)
    t, m = min(number, k), len(shard) if rows is None else len(rows)
    twice, norms, priced = (shard.put(a) for a in (-2.0 * at.centers.T, at.norms, prices))
    local, price = shard.double(at.local), shard.double(prices)
    dtype, device = shard.points.dtype, shard.points.device
    cluster = xp.empty((m, t), dtype=xp.int32, device=device)
    cost, beyond = (xp.empty(shape, dtype=dtype, device=device) for shape in ((m, t), m))
    for part in chunks(shard, k, m):
        own = part if rows is None else rows[part]
        points = shard.points[own]
        block = xp.addmm(norms, points, twice)
        constant = xp.sum((points.double() - local) ** 2, axis=1)
        if shard.weight is not None or at.each != 1:
            weight = xp.ones_like(constant) if shard.weight is None else shard.weight[own].double()
            constant *= weight / at.each
            block *= (weight / at.each).to(dtype)[:, None]
        block += priced
        order, least, further = least_there(block, t)
        cluster[part] = order
        cost[part] = (least - price[order] + constant[:, None]).clamp_(min=0.0)
        beyond[part] = further + constant
    return Candidates(cluster, cost, beyond, prices, float(xp.finfo(dtype).eps))


def soft_sums(
    shard: Shard, at: Centres, request: Request, prices: FloatArray, temperature: float
) -> tuple[FloatArray, FloatArray]:
    """``sum w p`` (k, d) and ``sum w`` (k,) of clusters that hold shares of their candidates."""
    table, k = _piece(shard, at, request).table, len(prices)
    rows = None if shard.free is None else shard.xp.nonzero(shard.free)[0]
    sums, mass = np.zeros((k, shard.points.shape[1])), np.zeros(k)
    for part in chunks(shard, max(table.shape[1] * shard.points.shape[1] // 4, 1), table.shape[0]):
        own = part if rows is None else rows[part]
        few = table.part(part)
        share = few.soft(prices, temperature)
        if shard.weight is not None:
            share = share * shard.weight[own][:, None]
        more, heavier = sums_by_cluster(shard.points[own], few.cluster, share, k)
        sums += more
        mass += heavier
    return sums, mass


def placed_labels(
    shard: Shard, at: Centres, spec: Placing, rows: IntArray, labels: IntArray
) -> Any:
    """Labels of all rows of a shard, where it is; see :class:`Placing`.

    ``rows`` were moved to ``labels``, as :data:`.pieces.Patch`.
    """
    found = shard.memo.get("placed")
    if found is None or found[0] != spec.key:
        own = pieces.settled(_piece(shard, at, spec.request), spec.prices, rows, labels)
        if shard.free is not None:
            every = shard.xp.zeros(len(shard), dtype=own.dtype, device=own.device)
            every[shard.free] = own
            own = every
        shard.memo["placed"] = found = spec.key, own
    return found[1]


@dataclass(frozen=True)
class Placing:
    """Where free rows of shards are: cheapest at prices, but for patches that come with it."""

    request: Request
    prices: FloatArray
    key: str = field(default_factory=lambda: uuid4().hex)


def _kept(shard: Shard, at: Centres, spec: Placing, rows: IntArray, labels: IntArray) -> None:
    """Find the labels while the candidates are at hand, for later passes."""
    placed_labels(shard, at, spec, rows, labels)


def _labels(shard: Shard, at: Centres, spec: Placing, *patches: IntArray) -> Any:
    """Labels of all rows, tied rows at the places that the last two arrays give."""
    *own, rows, labels = patches
    found = placed_labels(shard, at, spec, *own)
    if len(rows):
        found = found + 0
        found[shard.put(rows)] = shard.put(labels)
    return found


def _labels_here(shard: Shard, at: Centres, spec: Placing, *patches: IntArray) -> IntArray:
    host: IntArray = to_host(_labels(shard, at, spec, *patches)).astype(np.int32)
    return host


def _placed_sums(
    shard: Shard, at: Centres, spec: Placing, *patches: IntArray
) -> tuple[FloatArray, FloatArray]:
    return sums_of(shard, _labels(shard, at, spec, *patches), len(spec.prices))


def _placed_inertia(
    shard: Shard, at: Centres, spec: Placing, centers: FloatArray, *patches: IntArray
) -> float:
    return inertia_of(shard, _labels(shard, at, spec, *patches), centers)


@dataclass(frozen=True)
class There:
    """Pieces with the shards; see :class:`.choices.Source`."""

    shards: Shards
    at: Centres
    deadline: Deadline = NEVER
    far = True

    @property
    def n_pieces(self) -> int:
        """Number of shards."""
        return len(self.shards.lengths)

    def map(
        self, function: Callable[..., Any], request: Request, *args: Any, each: Each = None
    ) -> list[Any]:
        """As :class:`.choices.Source`."""
        self.deadline.check()
        return self.shards.map(on_piece, self.at, request, function, *args, each=each)

    def placed(self, request: Request, prices: FloatArray, patches: Sequence[Patch]) -> ShardPlaced:
        """Labels that stay with the shards."""
        spec, none = Placing(request, prices), np.empty(0, np.int64)
        self.shards.map(_kept, self.at, spec, each=patches)
        return ShardPlaced(self.shards, self.at, spec, patches, [(none, none)] * self.n_pieces)


@dataclass(frozen=True)
class ShardPlaced:
    """An assignment of rows in shards among candidates; see :class:`.protocol.Elsewhere`."""

    shards: Shards
    at: Centres
    spec: Placing
    patches: Sequence[Patch]  # free rows that a flow moved
    tied: Sequence[Patch]  # rows that are not free

    def with_tied(self, rows: IntArray, labels: IntArray) -> ShardPlaced:
        """The same with rows that are not free, given by sorted numbers."""
        own = by_shard(self.shards, rows)
        return replace(self, tied=list(zip(own, cut_like(own, labels), strict=True)))

    def _map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        each = [(*free, *tied) for free, tied in zip(self.patches, self.tied, strict=True)]
        return self.shards.map(function, self.at, self.spec, *args, each=each)

    def labels(self) -> IntArray:
        """As :class:`.protocol.Elsewhere`."""
        return np.concatenate(self._map(_labels_here))

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """As :class:`.protocol.Elsewhere`."""
        sums, mass = (reduce(add, column) for column in zip(*self._map(_placed_sums), strict=True))
        return sums, mass

    def inertia(self, centers: FloatArray) -> float:
        """As :class:`.protocol.Elsewhere`."""
        return float(sum(self._map(_placed_inertia, centers)))
