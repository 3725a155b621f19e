"""What workers do with a partition: functions of it, without other effects.

A task's result follows from its arguments alone, so that Dask can run it again elsewhere.  Between
the two passes of an iteration the partition's x stays in the memo of the worker's own shard; where
it is not, the second pass begins with the first.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..admm.blocks import Block
from ..admm.crew import Setup, start_sums
from ..admm.kernels import Step, Sums, backward, forward
from ..admm.schedule import GRADUATE
from ..shards.shard import Shard
from .state import Layout, State, smallest_type

logger = logging.getLogger(__name__)

#: Rows, features and precision of a shard.
Shape = tuple[int, int, str]


def _size_of_shard(shard: Shard) -> int:
    """Bytes, as Dask counts them against the memory of a worker."""
    return sum(getattr(a, "nbytes", 0) for a in (shard.points, shard.weight))


# On a worker Dask is there before any task.
if "dask" in sys.modules:
    importlib.import_module("dask.sizeof").sizeof.register(Shard, _size_of_shard)


@dataclass(frozen=True)
class Tag:
    """Which x the blocks in a memo hold: of the first pass of an iteration, or when it is done."""

    run: str
    number: int
    done: bool


@dataclass(frozen=True, eq=False)
class Call:
    """A function of a shard with its other arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    own: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Order:
    """What a partition must know for a pass.

    Attributes
    ----------
    run : str
        Names the run among all.
    number : int
        Of the iteration.
    keep_x : bool
        Whether somebody may ask for x.
    step : Step
    fresh : bool
        Whether the sphere's copy begins in this iteration.
    theta : (q, k) array
        The totals' part of x, for the second pass.
    path : str or None
        Where to save the state after the second pass.
    """

    run: str
    number: int
    keep_x: bool
    step: Step
    fresh: bool
    theta: FloatArray | None = None
    path: str | None = None


@dataclass(frozen=True, eq=False)
class Pull:
    """The pull of pairs and linear rows on a partition's groups, (k, e) and (e,)."""

    pull: FloatArray
    stiffening: FloatArray


def call(shard: Shard, call: Call) -> Any:
    """Call it."""
    return call.function(shard, *call.args, *call.own)


def shape(shard: Shard) -> Shape:
    """Rows, features and precision."""
    return len(shard), int(shard.points.shape[1]), str(shard.points.dtype)


def frame(shard: Shard, part: Setup) -> Setup:
    """Put what a run knows of the partition's groups next to their points."""
    return part


def start(shard: Shard, part: Setup, run: str, keep_x: bool) -> State:
    """The state at the start of a run, with :func:`corral.admm.crew.start_sums`."""
    blocks, layout = _blocks(shard, part), _layout(shard, part)
    v1, labels = layout.empty(), part.labels.astype(smallest_type(part.n_clusters))
    for block, view in zip(blocks, layout.views(v1), strict=True):
        view[...] = block.x
    sums = [start_sums(block) for block in blocks]
    totals = tuple(reduce(add, column) for column in zip(*sums, strict=True))
    _remember(shard, blocks, Tag(run, 0, done=True))
    return State(v1, None, labels, v1 if keep_x else None, totals, _pulled(blocks))


def first_pass(
    shard: Shard, part: Setup, state: State, pull: Pull | None, order: Order
) -> tuple[FloatArray, FloatArray]:
    """:func:`corral.admm.kernels.forward` over the blocks; x stays in the shard's memo."""
    blocks, _ = _recall(shard, part, order.run)
    sums = _forward(blocks, _layout(shard, part), state, pull, order)
    _remember(shard, blocks, Tag(order.run, order.number, done=False))
    return sums


def second_pass(shard: Shard, part: Setup, state: State, pull: Pull | None, order: Order) -> State:
    """:func:`corral.admm.kernels.backward` over the blocks, into a new state."""
    shard.memo.pop("saved", None)
    blocks, tag = _recall(shard, part, order.run)
    layout = _layout(shard, part)
    if tag != Tag(order.run, order.number, done=False):
        _forward(blocks, layout, state, pull, order)
    following = _backward(blocks, layout, state, order)
    _remember(shard, blocks, Tag(order.run, order.number, done=True))
    return following if order.path is None else _save(shard, following, order.path)


def _save(shard: Shard, state: State, path: str) -> State:
    """Write the state to its checkpoint; the shard remembers it for :func:`restore`."""
    try:
        state.save(Path(path))
    except OSError as error:
        logger.warning("no checkpoint at %s: %s", path, error)
        return state
    saved = replace(state, saved=True)
    shard.memo["saved"] = path, replace(saved, sums=None, pulled=None)
    return saved


def restore(shard: Shard, path: str) -> State:
    """The state of a checkpoint, without a word about how it came about."""
    known, state = shard.memo.pop("saved", (None, None))
    return state if known == path else State.load(Path(path))


def forget(shard: Shard) -> None:
    """Drop what the passes remembered."""
    for name in ("blocks", "saved"):
        shard.memo.pop(name, None)


def summary(state: State) -> tuple[Any, FloatArray | None, bool]:
    """The small part of a state."""
    return state.sums, state.pulled, state.saved


def labels_of(state: State) -> IntArray:
    """The rounding of x."""
    return state.labels


def x_of(shard: Shard, part: Setup, state: State, tag: Tag) -> FloatArray:
    """The relaxed assignment, (k, b)."""
    if state.x is not None:
        return np.concatenate(_layout(shard, part).views(state.x), axis=1)
    known, blocks = shard.memo.get("blocks", (None, []))
    if known != tag:
        raise RuntimeError("a worker has lost x; make the partitions smaller, or ask more often")
    return np.concatenate([block.x for block in blocks], axis=1)


def _layout(shard: Shard, part: Setup) -> Layout:
    return Layout(len(shard), part.n_clusters, shard.points.dtype)


def _blocks(shard: Shard, part: Setup) -> list[Block]:
    """New blocks at the start of a run."""
    return [
        part.part(rows.start, rows.stop).block(shard.points[rows])
        for rows in _layout(shard, part).slices
    ]


def _recall(shard: Shard, part: Setup, run: str) -> tuple[list[Block], Tag | None]:
    """Blocks of the run, and which x they hold; the memo forgets them meanwhile."""
    tag, blocks = shard.memo.pop("blocks", (None, []))
    return (blocks, tag) if tag is not None and tag.run == run else (_blocks(shard, part), None)


def _remember(shard: Shard, blocks: list[Block], tag: Tag) -> None:
    """Keep the blocks for the next pass, but not the state that Dask holds."""
    for block in blocks:
        block.v1, block.v2 = block.x, None
    shard.memo["blocks"] = tag, blocks


def _forward(
    blocks: list[Block], layout: Layout, state: State, pull: Pull | None, order: Order
) -> tuple[FloatArray, FloatArray]:
    done, parts = 0, []
    for block, room, v1, v2 in zip(blocks, layout.rooms(), *_views(layout, state), strict=True):
        block.v1, block.v2 = v1, v2
        if order.fresh:
            block.start_sphere()
        if pull is not None:
            its = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull.pull[:, its], pull.stiffening[its]
            done = its.stop
        parts.append(forward(block, order.step, room))
    totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
    return totals, gram


def _backward(blocks: list[Block], layout: Layout, state: State, order: Order) -> State:
    spherical = order.step.now.phase > GRADUATE
    new = State(
        v1=layout.empty(),
        v2=layout.empty() if spherical else None,
        labels=np.zeros(layout.n_rows, smallest_type(layout.n_clusters)),
        x=layout.empty() if order.keep_x else None,
    )
    sums: list[Sums] = []
    old, made = (zip(*_views(layout, s), strict=True) for s in (state, new))
    for block, rows, room, (v1, v2), (new_v1, new_v2) in zip(
        blocks, layout.slices, layout.rooms(), old, made, strict=True
    ):
        if spherical:
            np.copyto(new_v2, np.clip(v1, 0.0, 1.0) if order.fresh else v2)
        np.copyto(new_v1, v1)
        block.v1, block.v2 = new_v1, new_v2
        sums.append(backward(block, order.step, order.theta, room))
        _round(block.x, new.labels[rows])
    if new.x is not None:
        for block, view in zip(blocks, layout.views(new.x), strict=True):
            view[...] = block.x
    return replace(new, sums=reduce(add, sums), pulled=_pulled(blocks))


def _views(layout: Layout, state: State) -> tuple[list[Any], list[Any]]:
    """Views of v1 and v2 for every block."""
    none = [None] * len(layout.slices)
    return layout.views(state.v1), none if state.v2 is None else layout.views(state.v2)


def _pulled(blocks: list[Block]) -> FloatArray:
    return np.concatenate([block.x[:, block.pulled] for block in blocks], axis=1)


def _round(x: FloatArray, labels: IntArray) -> None:
    """Write the largest entry of each column, the first of several, into ``labels``.

    The last cluster that beats all before it is the one with the highest number, so that products
    and maxima will do, which are ten times as fast as masks.
    """
    largest, number = x[0].copy(), np.empty_like(labels)
    for j in range(1, len(x)):
        np.multiply(x[j] > largest, labels.dtype.type(j), out=number)
        np.maximum(labels, number, out=labels)
        np.maximum(largest, x[j], out=largest)
