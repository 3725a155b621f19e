"""The two passes of an iteration of the projected solver, on one block of groups.

Given a few small global arrays, each group is independent of the others, so that a block can be a
core's share.  Arrays are held cluster by cluster, (k, b): sums and broadcasts then run along the
long axis.

The paper's variables follow from the state of a block:

- ``v1 = x + y2 / box``: then ``z1 = clip(v1, 0, 1)`` and ``y2 = box (v1 - z1)``;
- ``v2 = x + y3 / sphere``: then ``z2 = 1/2 + s (v2 - 1/2)`` with one number ``s`` for all blocks,
  and ``y3 = sphere (v2 - z2)``.

Arrays are worked on in place; where points are dense, no (k, b) array is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._typing import FloatArray
from .blocks import Block, square_sum
from .schedule import GRADUATE, Schedule


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
        names = (field.name for field in fields(self))
        return Sums(*(getattr(self, name) + getattr(other, name) for name in names))


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
