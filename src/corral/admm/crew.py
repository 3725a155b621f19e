"""Who holds the groups of a run in blocks, and works on them: here, threads of this process.

The solver (:mod:`.projected`) asks for passes over all groups and gets back small sums.  Where the
blocks are, and how many, is the crew's affair: another crew may hold one block on a GPU or a block
on each of many machines.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np

from .._arrays import namespace, to_host
from .._typing import FloatArray, IntArray, Matrix
from ..presolve import Rules
from .blocks import Block, Executor, cut
from .kernels import Step, Sums, backward, forward
from .pairs import Ends, PairCopies

#: How much of the start remains; the rest is the uniform assignment.
START_SHARE = 0.5
#: Up to so many numbers, points are also held feature by feature: half the time for the costs.
HELD_TWICE = 1 << 24


@dataclass(frozen=True)
class Setup:
    """What a run knows of its groups beyond their points, in NumPy arrays.

    Attributes
    ----------
    n_clusters : int
    labels : (m,) array
        Where the groups start.
    weight, metric : (m,) arrays or None
        What a group counts in the costs and in the norms; None if all are one.
    values : (q, m) array or None
        Of the totals; None for a single one whose values are all one.
    pins : (p, 2) array
        Pinned (group, cluster).
    pulled : (e,) array
        Groups that pairs or linear rows pull, in order.
    """

    n_clusters: int
    labels: IntArray
    weight: FloatArray | None
    metric: FloatArray | None
    values: FloatArray | None
    pins: IntArray
    pulled: IntArray

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
        """Leave out arrays that are all ones."""
        ones = bool(np.all(metric == 1.0))
        # A total of ones has a closed form only where every group may move alike.
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

    @property
    def plain(self) -> bool:
        """Whether all groups are alike: no weights, pins or pulls, and their number the total."""
        bare = self.weight is None and self.metric is None and self.values is None
        return bare and not len(self.pins) and not len(self.pulled)

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

    def block(self, points: Any) -> Block:
        """A block of these groups where their points are, half at their start, half everywhere."""
        xp = namespace(points)
        where = {} if xp is np else {"device": points.device}

        def here(a: Any) -> Any:
            if a is None:
                return None
            return xp.asarray(np.ascontiguousarray(a), dtype=points.dtype, **where)

        uniform = (1.0 - START_SHARE) / self.n_clusters
        shape = self.n_clusters, len(self.labels)
        x = xp.full(shape, uniform, dtype=points.dtype, **where)
        numbers = xp.arange(len(self.labels), **where)
        x[xp.asarray(self.labels, dtype=xp.int64, **where), numbers] += START_SHARE
        block = Block(
            points=points,
            weight=here(self.weight),
            metric=here(self.metric),
            values=here(self.values),
            pins=self.pins,
            pulled=self.pulled,
            x=x,
        )
        block.fix()
        block.v1[...] = block.x
        return block


class Crew(Protocol):
    """What the projected solver asks of those who hold the groups.

    Arrays of a few numbers for each cluster come back as NumPy arrays of float64, summed over all
    groups.
    """

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the points."""
        ...

    def running(self) -> AbstractContextManager[Any]:
        """Hold what the passes need while they run."""
        ...

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Set up the state at the start; give ``sum w x p`` (k, d) and ``sum w x`` (k,)."""
        ...

    def start_sphere(self) -> None:
        """Begin the sphere's copy, :meth:`.blocks.Block.start_sphere`."""
        ...

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass, :func:`.kernels.forward`."""
        ...

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """The second pass, :func:`.kernels.backward`."""
        ...

    def pairs(self, ends: Ends) -> Any:
        """Copies of the pairs, as :class:`.pairs.PairCopies`, where :meth:`pulled_x` is."""
        ...

    def pulled_x(self) -> Any:
        """X of the groups that pairs and linear rows pull, (k, e)."""
        ...

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hand out the pull on those groups, (k, e), and what it adds to their diagonal, (e,)."""
        ...

    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        ...

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        ...


class Threads:
    """A crew of threads that share blocks of points in memory.

    Parameters
    ----------
    points : (m, d) array or CSR
    n_threads : int, optional
        As many as there are cores by default.
    """

    def __init__(self, points: Matrix, n_threads: int | None = None) -> None:
        self.points, self._n_threads = points, n_threads
        self.blocks: list[Block] = []
        self.executor = Executor(1, 1)

    @property
    def dtype(self) -> Any:
        """Of the points."""
        return self.points.dtype

    def running(self) -> AbstractContextManager[Any]:
        """Hold the threads."""
        return self.executor.running()

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Cut the groups into blocks at their start."""
        itemsize = np.dtype(self.dtype).itemsize
        self.blocks = [
            setup.part(part.start, part.stop).block(self.points[part])
            for part in cut(self.points.shape[0], setup.n_clusters, itemsize)
        ]
        if isinstance(self.points, np.ndarray) and self.points.size <= HELD_TWICE:
            for block in self.blocks:
                block.points_t = np.ascontiguousarray(block.points_t)
        self.executor = Executor(len(self.blocks), self._n_threads)
        sums = [start_sums(block) for block in self.blocks]
        points, mass = (reduce(add, column) for column in zip(*sums, strict=True))
        return points, mass

    def start_sphere(self) -> None:
        """In every block."""
        self.executor.map(Block.start_sphere, self.blocks)

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """Sum over the blocks."""
        room = self.executor.room
        parts = self.executor.map(lambda block: forward(block, step, room(block)), self.blocks)
        totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
        return totals, gram

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """Sum over the blocks."""
        room = self.executor.room
        return reduce(
            add,
            self.executor.map(lambda block: backward(block, step, theta, room(block)), self.blocks),
        )

    def pairs(self, ends: Ends) -> PairCopies:
        """In memory too."""
        return PairCopies(ends, self.pulled_x())

    def pulled_x(self) -> FloatArray:
        """From every block."""
        return np.concatenate([block.pulled_x() for block in self.blocks], axis=1)

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Each block its part."""
        done = 0
        for block in self.blocks:
            part = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull[:, part], stiffening[part]
            done = part.stop

    def labels(self) -> IntArray:
        """From every block."""
        return np.concatenate(self.executor.map(Block.labels, self.blocks))

    def x(self) -> FloatArray:
        """From every block."""
        return np.concatenate([block.x for block in self.blocks], axis=1).T


def start_sums(block: Block) -> tuple[FloatArray, FloatArray]:
    """``sum w x p`` (k, d) and ``sum w x`` (k,) of a block."""
    weighted = block.x if block.weight is None else block.x * block.weight
    return block.point_sums(weighted), to_host(block.xp.sum(weighted, axis=1))
