"""A crew holds the groups of a run in blocks and makes the passes over them.

The solver (:mod:`.projected`) asks for passes over all groups and gets small sums, in float64.
Threads of this process share the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray, Matrix
from ..deadline import NEVER, Deadline
from ..rules import Rules
from .blocks import Block, Executor, Result, cut
from .copies import TieCopies, Ties
from .updates import Step, Sums, update_copies, update_x

#: Part of the first x that the start labels make; the rest is the uniform assignment.  The start is
#: forgotten while the ridge is high, so that a larger part changes little.
START_SHARE = 0.5
#: Numbers in the array of points up to which it is also held transposed, which halves the time for
#: the costs.  A larger limit makes larger problems faster and holds their points twice.
HELD_TWICE = 1 << 24


@dataclass(frozen=True)
class Setup:
    """What a run knows of its m groups beyond their points, in NumPy arrays."""

    n_clusters: int
    labels: IntArray  # where the groups start, (m,)
    weight: FloatArray | None  # in the costs, (m,); None if all are one
    metric: FloatArray | None  # weight in the norms, (m,); None if all are one
    values: FloatArray | None  # of the totals, (q, m); None for a single one of ones
    pins: IntArray  # pinned (group, cluster), (p, 2)
    pulled: IntArray  # groups that pairs or linear rows pull, in order, (e,)
    deadline: Deadline = NEVER  # after which passes over blocks in memory end

    @classmethod
    def of(
        cls,
        rules: Rules,
        labels: IntArray,
        weight: FloatArray,
        metric: FloatArray,
        values: FloatArray | None,
        pulled: IntArray,
    ) -> Setup:
        """Make the setup of a run; arrays that are all ones are left out."""
        ones = bool(np.all(metric == 1.0))
        # A total of ones needs no values only where all groups have the same x-system.
        if values is None and (len(pulled) or len(rules.pins) or not ones):
            values = np.ones((1, rules.n_groups))
        return cls(
            n_clusters=rules.n_clusters,
            labels=labels,
            weight=None if np.all(weight == 1.0) else weight,
            metric=None if ones else metric,
            values=values,
            pins=rules.pins,
            pulled=pulled,
        )

    def part(self, start: int, stop: int) -> Setup:
        """The same about groups ``start`` to ``stop``, counted from 0."""
        here = (self.pins[:, 0] >= start) & (self.pins[:, 0] < stop)
        first, last = np.searchsorted(self.pulled, [start, stop])
        return Setup(
            n_clusters=self.n_clusters,
            labels=self.labels[start:stop],
            weight=None if self.weight is None else self.weight[start:stop],
            metric=None if self.metric is None else self.metric[start:stop],
            values=None if self.values is None else self.values[:, start:stop],
            pins=self.pins[here] - np.array([start, 0]),
            pulled=self.pulled[first:last] - start,
        )

    def block(self, points: Matrix) -> Block:
        """A block of these groups at the start of the run."""

        def here(a: FloatArray | None) -> FloatArray | None:
            return None if a is None else np.ascontiguousarray(a, points.dtype)

        block = Block(
            points=points,
            weight=here(self.weight),
            metric=here(self.metric),
            values=here(self.values),
            pins=self.pins,
            pulled=self.pulled,
            x=start_x(self.labels, self.n_clusters, points.dtype),
        )
        block.fix()
        block.v1[...] = block.x
        return block


class Threads:
    """Threads that share blocks of points in memory, one for each core if blocks are many."""

    def __init__(self, points: Matrix, n_threads: int | None = None) -> None:
        self.points, self._n_threads = points, n_threads
        self.blocks: list[Block] = []
        self.executor, self.deadline = Executor(1, 1), NEVER

    @property
    def dtype(self) -> Any:
        """That of the points."""
        return self.points.dtype

    def running(self) -> AbstractContextManager[Any]:
        """Hold the threads."""
        return self.executor.running()

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Cut the groups into blocks and set them to the start."""
        itemsize = np.dtype(self.dtype).itemsize
        self.deadline, self.blocks = setup.deadline, []
        for part in cut(self.points.shape[0], setup.n_clusters, itemsize):
            self.deadline.check()
            self.blocks.append(setup.part(part.start, part.stop).block(self.points[part]))
        if isinstance(self.points, np.ndarray) and self.points.size <= HELD_TWICE:
            for block in self.blocks:
                block.points_t = np.ascontiguousarray(block.points_t)
        self.executor = Executor(len(self.blocks), self._n_threads)
        sums = self._each(start_sums)
        points, mass = (reduce(add, column) for column in zip(*sums, strict=True))
        return points, mass

    def start_sphere(self) -> None:
        """Begin the sphere's copy in every block."""
        self.executor.map(Block.start_sphere, self.blocks)

    def _each(self, function: Callable[[Block], Result]) -> list[Result]:
        """Results for every block; OutOfTime is raised after the deadline."""

        def in_time(block: Block) -> Result:
            self.deadline.check()
            return function(block)

        return self.executor.map(in_time, self.blocks)

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass, summed over the blocks."""
        room = self.executor.room
        parts = self._each(lambda block: update_x(block, step, room(block)))
        totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
        return totals, gram

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """The second pass, summed over the blocks."""
        room = self.executor.room
        return reduce(add, self._each(lambda block: update_copies(block, step, theta, room(block))))

    def ties(self, ties: Ties) -> TieCopies:
        """Copies of the pairs in this process's memory."""
        return TieCopies(ties, self.pulled_x())

    def pulled_x(self) -> FloatArray:
        """X of the pulled groups, (k, e)."""
        return np.concatenate([block.pulled_x() for block in self.blocks], axis=1)

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Give each block its part."""
        done = 0
        for block in self.blocks:
            part = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull[:, part], stiffening[part]
            done = part.stop

    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        return np.concatenate(self.executor.map(Block.labels, self.blocks))

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        return np.concatenate([block.x for block in self.blocks], axis=1).T


def start_x(labels: IntArray, n_clusters: int, dtype: Any) -> FloatArray:
    """The first x, (k, b): ``START_SHARE`` of a group in its own cluster, the rest over all."""
    x: FloatArray = np.full((n_clusters, len(labels)), (1.0 - START_SHARE) / n_clusters, dtype)
    x[labels, np.arange(len(labels))] += START_SHARE
    return x


def start_sums(block: Block) -> tuple[FloatArray, FloatArray]:
    """``sum w x p`` (k, d) and ``sum w x`` (k,) of a block."""
    weighted = block.x if block.weight is None else block.x * block.weight
    return block.point_sums(weighted), weighted.sum(axis=1).astype(np.float64)
