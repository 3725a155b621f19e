"""The work of one task on one partition: functions of shards, and ADMM's passes block by block.

The result of a task depends on its arguments alone, so that Dask can run it again elsewhere.  A
pass makes a new state and leaves the old one as it was; the memo of the worker's shard only saves
time.  Between the two passes of an iteration x stays in the memo; if it is not there, the second
pass begins with the first.  If the first pass need not be summed over all partitions, the second
does the work of both while a block is in the processor's cache.
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
from typing import Any, cast

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.blocks import Block
from ...admm.crew import Setup, start_sums
from ...admm.schedule import GRADUATE
from ...admm.updates import Step, Sums, update_copies, update_x
from ...rows import Shard
from .state import BlockLayout, State, smallest_type

logger = logging.getLogger(__name__)

#: Rows, features and precision of a shard.
Shape = tuple[int, int, str]
#: v1 and v2 of a block; the second is None before the sphere begins.
Copies = tuple[Any, Any]


def _size_of_shard(shard: Shard) -> int:
    """Bytes, as Dask counts them against the memory of a worker."""
    return sum(getattr(a, "nbytes", 0) for a in (shard.points, shard.weight))


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
    """Call it."""
    return call.function(shard, *call.args, *call.own)


def shape(shard: Shard) -> Shape:
    """Rows, features and precision."""
    return len(shard), int(shard.points.shape[1]), str(shard.points.dtype)


def frame(shard: Shard, part: Setup) -> Setup:
    """Put the setup of the partition's groups on the worker that has their points."""
    return part


@dataclass(frozen=True)
class Tag:
    """The run whose blocks are in a memo, and the iteration of their x (0 for none)."""

    run: str
    number: int


@dataclass(frozen=True, eq=False)
class Order:
    """The arguments of a pass over a partition."""

    run: str  # name of the run
    number: int  # of the iteration
    keep_x: bool  # whether x is part of the state
    step: Step
    fresh: bool  # whether the sphere's copy begins in this iteration
    whole: bool = False  # whether there was no first pass
    theta: FloatArray | None = None  # the totals' part of x, (q, k), for the second pass
    path: str | None = None  # where to save the state after the second pass


@dataclass(frozen=True, eq=False)
class Pull:
    """The pull of pairs and linear rows on a partition's groups, (k, e) and (e,)."""

    pull: FloatArray
    stiffening: FloatArray


def start(shard: Shard, part: Setup, run: str, keep_x: bool) -> State:
    """The state at the start of a run, with :func:`corral.admm.crew.start_sums`."""
    blocks, layout = _blocks(shard, part, bare=False), layout_of(shard, part)
    v1, labels = layout.empty(), part.labels.astype(smallest_type(part.n_clusters))
    for block, view in zip(blocks, layout.views(v1), strict=True):
        view[...] = block.x
    sums = [start_sums(block) for block in blocks]
    totals = tuple(reduce(add, column) for column in zip(*sums, strict=True))
    if not part.plain:  # otherwise blocks share the memory of x
        _remember(shard, blocks, Tag(run, 0))
    return State(v1, None, labels, v1 if keep_x else None, totals, _pulled(blocks))


def first_pass(
    shard: Shard, part: Setup, state: State, pull: Pull | None, order: Order
) -> tuple[FloatArray, FloatArray]:
    """:func:`corral.admm.updates.update_x` over the blocks; x stays in the shard's memo."""
    blocks, _ = _recall(shard, part, order)
    sums = _forward(blocks, layout_of(shard, part), state, pull, order)
    _remember(shard, blocks, Tag(order.run, order.number))
    return sums


def second_pass(shard: Shard, part: Setup, state: State, pull: Pull | None, order: Order) -> State:
    """:func:`corral.admm.updates.update_copies` over the blocks, into a new state."""
    blocks, tag = _recall(shard, part, order)
    layout = layout_of(shard, part)
    if not order.whole and tag != Tag(order.run, order.number):
        _forward(blocks, layout, state, pull, order)
    new, sums = _new_state(layout, order), []
    kept = [None] * len(blocks) if new.x is None else layout.views(new.x)
    columns = _copies(layout, state), _copies(layout, new), kept
    for block, rows, room, old, made, x in zip(
        blocks, layout.slices, layout.rooms(), *columns, strict=True
    ):
        _take_over(block, old, made, order.fresh)
        if order.whole:
            # All blocks share the memory of x, so that it stays in the cache.
            block.x = room[2]
            update_x(block, order.step, (room[0], room[1]))
        sums.append(update_copies(block, order.step, order.theta, (room[0], room[1])))
        _round(block.x, new.labels[rows])
        if x is not None:
            x[...] = block.x
    _remember(shard, blocks, Tag(order.run, 0))
    total: Sums = reduce(add, sums)
    return replace(new, sums=total, pulled=_pulled(blocks))


def layout_of(shard: Shard, part: Setup) -> BlockLayout:
    """Where the blocks of the partition are."""
    return BlockLayout(len(shard), part.n_clusters, shard.points.dtype)


def _blocks(shard: Shard, part: Setup, bare: bool) -> list[Block]:
    """New blocks, at the start of a run or if the memo is lost; bare ones without x."""
    blocks = []
    for rows in layout_of(shard, part).slices:
        block = part.part(rows.start, rows.stop).block(shard.points[rows])
        block.x = block.x[:, :0].copy() if bare else block.x
        block.v1 = block.x
        blocks.append(block)
    return blocks


def _recall(shard: Shard, part: Setup, order: Order) -> tuple[list[Block], Tag | None]:
    """Blocks of the run, taken out of the memo, and which x they hold."""
    tag, blocks = shard.memo.pop("blocks", (None, []))
    known = tag is not None and tag.run == order.run
    return (blocks, tag) if known else (_blocks(shard, part, bare=order.whole), None)


def _remember(shard: Shard, blocks: list[Block], tag: Tag) -> None:
    """Put the blocks into the memo without the state, which Dask holds."""
    for block in blocks:
        block.v1, block.v2 = block.x, None
    shard.memo["blocks"] = tag, blocks


def _forward(
    blocks: list[Block], layout: BlockLayout, state: State, pull: Pull | None, order: Order
) -> tuple[FloatArray, FloatArray]:
    done, parts = 0, []
    for block, room, copies in zip(blocks, layout.rooms(), _copies(layout, state), strict=True):
        block.v1, block.v2 = copies
        if order.fresh:
            block.start_sphere()
        if pull is not None:
            its = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull.pull[:, its], pull.stiffening[its]
            done = its.stop
        parts.append(update_x(block, order.step, (room[0], room[1])))
    totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
    return totals, gram


def _new_state(layout: BlockLayout, order: Order) -> State:
    """Memory for the next state."""
    return State(
        v1=layout.empty(),
        v2=layout.empty() if order.step.now.phase > GRADUATE else None,
        labels=np.zeros(layout.n_rows, smallest_type(layout.n_clusters)),
        x=layout.empty() if order.keep_x else None,
    )


def _copies(layout: BlockLayout, state: State) -> list[Copies]:
    """Views of v1 and v2 for every block."""
    none = [None] * len(layout.slices)
    v2 = none if state.v2 is None else layout.views(state.v2)
    return list(zip(layout.views(state.v1), v2, strict=True))


def _take_over(block: Block, old: Copies, new: Copies, fresh: bool) -> None:
    """Give the block a copy of the state, which it may change."""
    np.copyto(new[0], old[0])
    if fresh:
        np.clip(old[0], 0.0, 1.0, out=new[1])
    elif new[1] is not None:
        np.copyto(new[1], old[1])
    block.v1, block.v2 = new


def _pulled(blocks: list[Block]) -> FloatArray:
    return np.concatenate([block.x[:, block.pulled] for block in blocks], axis=1)


def _round(x: FloatArray, labels: IntArray) -> None:
    """Write the largest entry of each column, the first of several, into ``labels``.

    The label is the highest number of a cluster whose entry is larger than all entries before it.
    Products and maxima compute it ten times as fast as masks.
    """
    largest, number = x[0].copy(), np.empty_like(labels)
    for j in range(1, len(x)):
        np.multiply(x[j] > largest, labels.dtype.type(j), out=number)
        np.maximum(labels, number, out=labels)
        np.maximum(largest, x[j], out=largest)


def advance(shard: Shard, part: Setup, state: State, pull: Pull | None, order: Order) -> State:
    """The state after the second pass, which is saved if the order says where."""
    shard.memo.pop("saved", None)
    following = second_pass(shard, part, state, pull, order)
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
    """The state of a checkpoint; Dask does not remember how it was computed."""
    known, state = shard.memo.pop("saved", (None, None))
    return state if known == path else State.load(Path(path))


def forget(shard: Shard) -> None:
    """Clear the memo."""
    shard.memo.pop("blocks", None)
    shard.memo.pop("saved", None)


def summary(state: State) -> tuple[Any, FloatArray | None, bool]:
    """The small part of a state."""
    return state.sums, state.pulled, state.saved


def labels_of(state: State) -> IntArray:
    """The rounding of x."""
    return state.labels


def x_of(shard: Shard, part: Setup, state: State) -> FloatArray:
    """The relaxed assignment, (k, b)."""
    kept = cast(FloatArray, state.x)  # only asked for if it was kept
    return np.concatenate(layout_of(shard, part).views(kept), axis=1)
