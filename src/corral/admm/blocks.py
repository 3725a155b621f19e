"""Blocks of groups: their state, and the two passes of an iteration of the projected solver.

Given a few small global arrays, each group is independent of the others, so that an iteration goes
through blocks that stay in a cache.  Arrays are held cluster by cluster, (k, b): sums and
broadcasts then run along the long axis.

The variables of the paper follow from the state of a block:

- ``v1 = x + y2 / box``: then ``z1 = clip(v1, 0, 1)`` and ``y2 = box (v1 - z1)``;
- ``v2 = x + y3 / sphere``: then ``z2 = 1/2 + s (v2 - 1/2)`` with one number ``s`` for all blocks,
  and ``y3 = sphere (v2 - z2)``.

Arrays are worked on in place; where points are dense, no (k, b) array is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray, Matrix
from ..deadline import NEVER, Deadline
from ..numbers import BLOCK_ENTRIES
from ..rules import Rules
from .schedule import GRADUATE, Schedule


def cut(n_groups: int, n_clusters: int) -> list[slice]:
    """Slices of the groups, all of about the same length."""
    length = max(BLOCK_ENTRIES // n_clusters, 1)
    pieces = max(1, round(n_groups / length))
    edges = np.linspace(0, n_groups, pieces + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


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
    deadline: Deadline = NEVER  # after which passes end

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
        return replace(
            self,
            labels=self.labels[start:stop],
            weight=None if self.weight is None else self.weight[start:stop],
            metric=None if self.metric is None else self.metric[start:stop],
            values=None if self.values is None else self.values[:, start:stop],
            pins=self.pins[here] - np.array([start, 0]),
            pulled=self.pulled[first:last] - start,
        )


class Block:
    """A run of groups: their data and their state ``x, v1, v2``, (k, b) each.

    Arrays are worked on in place, in work arrays of the caller.  The data are those of a
    :class:`Setup`, in the precision of the points.
    """

    def __init__(self, points: Matrix, setup: Setup) -> None:
        def here(a: FloatArray | None) -> FloatArray | None:
            return None if a is None else np.ascontiguousarray(a, points.dtype)

        # A transposed copy halves the time for the costs.
        dense = isinstance(points, np.ndarray)
        self.points, self.points_t = points, np.ascontiguousarray(points.T) if dense else points.T
        self.weight, self.metric = weight, metric = here(setup.weight), here(setup.metric)
        factor = None if weight is None or metric is None else weight / metric
        self.cost_factor = None if factor is None or bool(np.all(factor == 1.0)) else factor
        length = len(setup.labels)
        self.metric_total = float(length if metric is None else metric.sum())
        self.values, self.pins, self.pulled = here(setup.values), setup.pins, setup.pulled
        self.pull: Any = None
        self.stiffening: Any = None
        self.inverse: Any = 1.0
        self.scaled: Any = None
        # Half of a group in its own cluster, half over all: the start is forgotten while the ridge
        # is high.
        k = setup.n_clusters
        self.x: FloatArray = np.full((k, length), 0.5 / k, points.dtype)
        self.x[setup.labels, np.arange(length)] += 0.5
        self.fix()
        self.v1 = self.x + 0.0
        self.v2: Any = None

    @cached_property
    def movable(self) -> FloatArray:
        """0 for the pinned groups, 1 for the others, (b,)."""
        movable: FloatArray = np.ones(self.x.shape[1], self.x.dtype)
        movable[self.pins[:, 0]] = 0.0
        return movable

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


@dataclass(frozen=True)
class Step:
    """The global numbers of one iteration, the same for every block.

    Up to a constant of each group, the costs are ``offsets - 2 centers @ points'``; the rows make
    offsets and centres.
    """

    centers: Any  # (k, d), in the dtype of the blocks
    offsets: Any  # (k, 1), like the centres
    before: Schedule  # the penalties with which v1 and v2 were made
    now: Schedule  # those of this iteration
    shrink: float  # s of the sphere's projection


@dataclass(frozen=True)
class Sums:
    """What a backward pass adds up over its groups."""

    points: FloatArray  # sum_g w_g z1_g p_g, (k, d)
    mass: FloatArray  # sum_g w_g z1_g, (k,)
    moved: float  # sum |z1 - previous z1|
    unbalanced: float  # sum_g (sum_j z1_gj - 1)^2
    outside: float  # sum |x - z1|^2
    undecided: float  # sum_g r_g (x - x^2): zero for a binary x
    radius: float  # sum_g r_g |v2 - 1/2|^2

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(add, vars(self).values(), vars(other).values()))


def update_x(block: Block, step: Step, room: tuple[Any, Any]) -> tuple[FloatArray, FloatArray]:
    """Solve the x-system without totals into ``block.x``, and sum what the totals need.

    The part of the totals, sizes among them, is known when all blocks are summed; then
    :func:`update_copies` adds it.

    ``a x = box z1 - y2 + sphere z2 - y3 - cost`` with rows that sum to one and ``a = box + sphere +
    ridge``.  Groups that pairs and linear rows pull have more terms on both sides.
    """
    x, (cost, other) = block.x, room
    before, now = step.before, step.now
    if isinstance(block.points_t, np.ndarray):
        np.matmul(step.centers, block.points_t, out=cost)
    else:  # sparse points
        cost[...] = step.centers @ block.points_t
    cost *= -2.0
    cost += step.offsets
    if block.cost_factor is not None:
        cost *= block.cost_factor
    np.clip(block.v1, 0.0, 1.0, out=other)
    other *= now.box + before.box
    other -= cost
    np.multiply(block.v1, -before.box, out=x)
    x += other
    diagonal = now.box + now.ridge
    if now.phase > GRADUATE:
        # A constant in the sphere's copy changes nothing, because rows are centred below.
        factor = (now.sphere + before.sphere) * step.shrink - before.sphere
        np.multiply(block.v2, factor, out=other)
        x += other
        diagonal += now.sphere
    block.set_diagonal(diagonal)
    block.add_pull(other)
    x -= x.sum(axis=0) / x.shape[0]
    x *= block.inverse
    x += 1.0 / x.shape[0]
    block.fix()
    return block.totals()


def update_copies(
    block: Block, step: Step, theta: FloatArray | None, room: tuple[Any, Any]
) -> Sums:
    """Add the totals' part to x, project z1 and z2, step in y2 and y3, and sum for the centres."""
    x, v1, (z1, other) = block.x, block.v1, room
    before, now = step.before, step.now
    if theta is not None:
        block.add_totals(theta, other)
    np.clip(v1, 0.0, 1.0, out=other)
    v1 -= other
    v1 *= before.box / now.box
    v1 += x
    np.clip(v1, 0.0, 1.0, out=z1)
    other -= z1
    moved = float(np.abs(other, out=other).sum())
    unbalanced = square_sum(z1.sum(axis=0) - 1.0)
    np.subtract(x, z1, out=other)
    outside = square_sum(other)
    # Rows of x sum to one, so that the sum of r x is the sum of r.
    undecided = block.metric_total - block.squares(x, other)
    radius = 0.0
    if now.phase > GRADUATE:
        v2, fade = block.v2, before.sphere / now.sphere * (1.0 - step.shrink)
        v2 *= fade
        v2 += x
        v2 -= 0.5 * fade
        np.subtract(v2, 0.5, out=other)
        radius = block.squares(other, other)
    if block.weight is not None:
        z1 *= block.weight
    mass = z1.sum(axis=1).astype(np.float64)
    return Sums(block.point_sums(z1), mass, moved, unbalanced, outside, undecided, radius)


class Blocks:
    """Points in memory, cut into blocks, and the passes over them.

    Passes give small sums over all groups, in float64.
    """

    def __init__(self, points: Matrix) -> None:
        self.points, self.deadline = points, NEVER
        self._blocks: list[Block] = []
        self._rooms: dict[tuple[int, ...], tuple[FloatArray, FloatArray]] = {}

    def __iter__(self) -> Iterator[Block]:
        """Every block; OutOfTime is raised after the deadline."""
        for block in self._blocks:
            self.deadline.check()
            yield block

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def dtype(self) -> Any:
        """That of the points."""
        return self.points.dtype

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Cut the groups into blocks and set them to the start."""
        self.deadline, self._blocks, sums = setup.deadline, [], []
        for part in cut(self.points.shape[0], setup.n_clusters):
            self.deadline.check()
            block = Block(self.points[part], setup.part(part.start, part.stop))
            self._blocks.append(block)
            weighted = block.x if block.weight is None else block.x * block.weight
            sums.append((block.point_sums(weighted), _double(weighted.sum(axis=1))))
        points, mass = _added(sums)
        return points, mass

    def start_sphere(self) -> None:
        """Begin the sphere's copy in every block at the box copy, with a dual of zero."""
        for block in self._blocks:
            block.v2 = np.clip(block.v1, 0.0, 1.0)

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass, summed over the blocks."""
        totals, gram = _added([update_x(block, step, self._room(block)) for block in self])
        return totals, gram

    def backward(self, step: Step, theta: FloatArray) -> Sums:
        """The second pass, summed over the blocks."""
        sums = [update_copies(block, step, theta, self._room(block)) for block in self]
        return reduce(add, sums)

    def _room(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Two work arrays of the block's shape."""
        shape = block.x.shape
        if shape not in self._rooms:
            self._rooms[shape] = np.empty_like(block.x), np.empty_like(block.x)
        return self._rooms[shape]

    def pulled_x(self) -> FloatArray:
        """X of the pulled groups, (k, e)."""
        parts = [np.take(block.x, block.pulled, axis=1) for block in self._blocks]
        return np.concatenate(parts, axis=1)

    def pull(self, pull: FloatArray, stiffening: FloatArray) -> None:
        """Give each block its part."""
        done = 0
        for block in self._blocks:
            part = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull[:, part], stiffening[part]
            done = part.stop

    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        return np.concatenate([block.labels() for block in self._blocks])

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        return np.concatenate([block.x for block in self._blocks], axis=1).T


def _added(parts: list[tuple[FloatArray, FloatArray]]) -> list[FloatArray]:
    """The sums of the first entries and of the second entries."""
    return [reduce(add, column) for column in zip(*parts, strict=True)]
