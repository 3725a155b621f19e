"""Blocks: runs of groups with their state, and the threads that work on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count

from .._arrays import one_blas_thread
from .._typing import FloatArray, IntArray, Matrix

Result = TypeVar("Result")

#: Bytes of one (k, b) array of a block.  Larger ones leave a core's own cache; smaller ones make
#: threads wait for the interpreter, which halves the speed at a million groups.
BLOCK_BYTES = 1 << 21
#: Blocks below which one thread makes the passes.  A larger number leaves more problems of middle
#: size to one thread; with few blocks, handing them to threads takes as long as working on them.
LEAST_THREADED = 4
#: Groups of a block, at least.  With fewer, the calls of NumPy cost more than their work.
LEAST_BLOCK = 2048


def cut(n_groups: int, n_clusters: int, itemsize: int) -> list[slice]:
    """Slices of the groups, all of about the same length."""
    length = max(BLOCK_BYTES // (n_clusters * itemsize), LEAST_BLOCK)
    pieces = max(1, round(n_groups / length))
    edges = np.linspace(0, n_groups, pieces + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


class Block:
    """A run of groups: their data and their state ``x, v1, v2``, (k, b) each.

    Arrays are worked on in place, in work arrays of the caller.

    ``weight`` and ``metric`` (b,) are the weights in the costs and in the norms, None where all are
    one.  ``values`` (q, b) are those of the totals, None for one total of ones.  ``pins`` (p, 2)
    are pairs (group, cluster), and ``pulled`` (e,) are groups that pairs or linear rows pull; both
    count groups within the block.  The run starts at ``x``.
    """

    def __init__(
        self,
        points: Matrix,
        weight: FloatArray | None,
        metric: FloatArray | None,
        values: FloatArray | None,
        pins: IntArray,
        pulled: IntArray,
        x: FloatArray,
    ) -> None:
        self.points, self.points_t = points, points.T
        self.weight, self.metric = weight, metric
        factor = None if weight is None or metric is None else weight / metric
        self.cost_factor = None if factor is None or bool(np.all(factor == 1.0)) else factor
        self.metric_total = float(x.shape[1] if metric is None else metric.sum())
        self.values = values
        self.pins, self.pulled = pins, pulled
        self.pull: Any = None
        self.stiffening: Any = None
        self.inverse: Any = 1.0
        self.scaled: Any = None
        self.x = x
        self.v1 = x + 0.0
        self.v2: Any = None

    @cached_property
    def movable(self) -> FloatArray:
        """0 for the pinned groups, 1 for the others, (b,)."""
        movable: FloatArray = np.ones(self.x.shape[1], self.x.dtype)
        movable[self.pins[:, 0]] = 0.0
        return movable

    def start_sphere(self) -> None:
        """Begin the sphere's copy at the box copy, with a dual of zero."""
        self.v2 = np.clip(self.v1, 0.0, 1.0)

    def set_diagonal(self, diagonal: float) -> None:
        """Hold ``1 / a`` for the x-system: a number, or a vector where some groups are pulled."""
        if not len(self.pulled):
            self.inverse = 1.0 / diagonal
        else:
            a = np.full(self.x.shape[1], diagonal, dtype=self.x.dtype)
            a[self.pulled] += self.stiffening
            self.inverse = 1.0 / a

    def add_pull(self, room: FloatArray) -> None:
        """Add the pull of pairs and linear rows to the right side, which is in ``x``."""
        if not len(self.pulled):
            return
        part = room.reshape(-1)[: self.pull.size].reshape(self.pull.shape)
        # With the mode "clip" NumPy writes straight into the work array.
        np.take(self.x, self.pulled, axis=1, out=part, mode="clip")
        part += self.pull
        self.x[:, self.pulled] = part

    def pulled_x(self) -> FloatArray:
        """X of the pulled groups, (k, e)."""
        return np.take(self.x, self.pulled, axis=1)

    def fix(self) -> None:
        """Write the pinned groups' known assignment into x."""
        if len(self.pins):
            self.x[:, self.pins[:, 0]] = 0.0
            self.x[self.pins[:, 1], self.pins[:, 0]] = 1.0

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """``t' x`` (q, k) and ``sum_g t_g t_g' / (r_g a_g)`` (q, q), of groups that may move."""
        if self.values is None:
            gram = np.array([[self.x.shape[1] * float(self.inverse)]])
            return _double(self.x.sum(axis=1))[None, :], gram
        if self.scaled is not None:
            np.multiply(self.values, self.inverse, out=self.scaled)
        else:
            self.scaled = self.values * self.inverse
        if self.metric is not None:
            self.scaled /= self.metric
        if len(self.pins):
            self.scaled *= self.movable
        return _double(self.values @ self.x.T), _double(self.scaled @ self.values.T)

    def add_totals(self, theta: FloatArray, room: FloatArray) -> None:
        """Take ``theta' t / (r a)`` off x."""
        multipliers = theta.T.astype(self.x.dtype)
        if self.values is None:
            self.x -= multipliers * self.inverse
        else:
            self.x -= np.matmul(multipliers, self.scaled, out=room)

    def labels(self) -> IntArray:
        """The cluster of the largest entry of each group, the first of several.

        It goes cluster by cluster, because NumPy's argmax is slow across the short axis.
        """
        largest = self.x[0].copy()
        labels: IntArray = np.zeros(self.x.shape[1], np.int64)
        for j in range(1, len(self.x)):
            labels[self.x[j] > largest] = j
            np.maximum(largest, self.x[j], out=largest)
        return labels

    def squares(self, a: FloatArray, room: FloatArray) -> float:
        """``sum_g r_g |a_g|^2``; ``room`` may be written over."""
        if self.metric is None:
            return square_sum(a)
        return float((np.multiply(a, a, out=room) @ self.metric).sum())

    def point_sums(self, z: FloatArray) -> FloatArray:
        """``z @ points`` (k, d)."""
        return _double(z @ self.points)


def square_sum(a: FloatArray) -> float:
    """``sum a^2``."""
    flat = a.reshape(-1)
    return float(flat @ flat)


def _double(a: FloatArray) -> FloatArray:
    return np.asarray(a, np.float64)


class Executor:
    """Runs a function over blocks, one after another or in threads; results stay in order."""

    def __init__(self, n_blocks: int, n_threads: int | None = None) -> None:
        available = cpu_count() if n_threads is None else n_threads
        self.n_threads = max(1, min(available, n_blocks)) if n_blocks >= LEAST_THREADED else 1
        self._pool: ThreadPoolExecutor | None = None
        self._local = threading.local()

    @contextmanager
    def running(self) -> Iterator[Executor]:
        """Hold the threads; BLAS has one thread, because the products of a block are small."""
        with one_blas_thread(), ThreadPoolExecutor(self.n_threads) as pool:
            self._pool = pool if self.n_threads > 1 else None
            try:
                yield self
            finally:
                self._pool = None

    def map(self, function: Callable[[Block], Result], blocks: list[Block]) -> list[Result]:
        """Results of ``function`` for every block."""
        if self._pool is None:
            return [function(block) for block in blocks]
        return list(self._pool.map(function, blocks))

    def room(self, block: Block) -> tuple[Any, Any]:
        """Two work arrays of the block's shape, the calling thread's own."""
        rooms: dict[Any, tuple[Any, Any]] = self._local.__dict__.setdefault("rooms", {})
        key = block.x.shape
        if key not in rooms:
            rooms[key] = np.empty_like(block.x), np.empty_like(block.x)
        return rooms[key]
