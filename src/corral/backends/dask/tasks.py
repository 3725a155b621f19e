"""What workers do with a partition.

A task's result follows from its arguments alone, so that Dask can run it again elsewhere.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..._typing import FloatArray, IntArray
from ...admm.crew import Setup
from ...rows import Shard
from .passes import Order, Pull, layout_of, second_pass
from .passes import forget as drop_blocks
from .state import State

logger = logging.getLogger(__name__)

#: Rows, features and precision of a shard.
Shape = tuple[int, int, str]


def _size_of_shard(shard: Shard) -> int:
    """Bytes, as Dask counts them against the memory of a worker."""
    return sum(getattr(a, "nbytes", 0) for a in (shard.points, shard.weight))


# On a worker Dask is there before any task.
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
    """Put what a run knows of the partition's groups next to their points."""
    return part


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
    """The state of a checkpoint, without a word about how it came about."""
    known, state = shard.memo.pop("saved", (None, None))
    return state if known == path else State.load(Path(path))


def forget(shard: Shard) -> None:
    """Drop what the passes remembered."""
    drop_blocks(shard)
    shard.memo.pop("saved", None)


def summary(state: State) -> tuple[Any, FloatArray | None, bool]:
    """The small part of a state."""
    return state.sums, state.pulled, state.saved


def labels_of(state: State) -> IntArray:
    """The rounding of x."""
    return state.labels


def x_of(shard: Shard, part: Setup, state: State) -> FloatArray:
    """The relaxed assignment, (k, b)."""
    kept = cast(FloatArray, state.x)  # nobody asks else
    return np.concatenate(layout_of(shard, part).views(kept), axis=1)
