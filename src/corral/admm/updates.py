"""The two passes of an iteration of the projected solver, on one block of groups.

Given a few small global arrays, each group is independent of the others, so that a block can be a
core's share, a GPU's whole memory or a partition on another machine.  Arrays are held cluster by
cluster, (k, b): sums and broadcasts then run along the long axis.

The paper's variables follow from the state of a block:

- ``v1 = x + y2 / box``: then ``z1 = clip(v1, 0, 1)`` and ``y2 = box (v1 - z1)``;
- ``v2 = x + y3 / sphere``: then ``z2 = 1/2 + s (v2 - 1/2)`` with one number ``s`` for all blocks,
  and ``y3 = sphere (v2 - z2)``.

All functions come from the namespace of the block's arrays.  NumPy's arrays are worked on in place;
where points are dense, no (k, b) array is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import mul, sub
from typing import Any

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray
from .blocks import Block, square_sum
from .schedule import GRADUATE, Schedule


@dataclass(frozen=True)
class Step:
    """The global numbers of one iteration, the same for every block.

    Up to a constant of each group, the costs are ``offsets - 2 centers @ points'``; the rows make
    offsets and centres.
    """

    centers: Any  # (k, d), in the dtype and on the device of the blocks
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
    xp, x, (cost, other) = block.xp, block.x, room
    before, now = step.before, step.now
    if isinstance(block.points_t, np.ndarray):
        np.matmul(step.centers, block.points_t, out=cost)
    else:  # other libraries, and sparse points
        cost[...] = step.centers @ block.points_t
    cost *= -2.0
    cost += step.offsets
    if block.cost_factor is not None:
        cost *= block.cost_factor
    _write(xp, other, xp.clip, block.v1, 0.0, 1.0)
    other *= now.box + before.box
    other -= cost
    _write(xp, x, mul, block.v1, -before.box)
    x += other
    diagonal = now.box + now.ridge
    if now.phase > GRADUATE:
        # A constant in the sphere's copy changes nothing, because rows are centred below.
        factor = (now.sphere + before.sphere) * step.shrink - before.sphere
        _write(xp, other, mul, block.v2, factor)
        x += other
        diagonal += now.sphere
    block.set_diagonal(diagonal)
    block.add_pull(other)
    x -= xp.sum(x, axis=0) / x.shape[0]
    x *= block.inverse
    x += 1.0 / x.shape[0]
    block.fix()
    return block.totals()


def update_copies(
    block: Block, step: Step, theta: FloatArray | None, room: tuple[Any, Any]
) -> Sums:
    """Add the totals' part to x, project z1 and z2, step in y2 and y3, and sum for the centres."""
    xp, x, v1, (z1, other) = block.xp, block.x, block.v1, room
    before, now = step.before, step.now
    if theta is not None:
        block.add_totals(theta, other)
    _write(xp, other, xp.clip, v1, 0.0, 1.0)
    v1 -= other
    v1 *= before.box / now.box
    v1 += x
    _write(xp, z1, xp.clip, v1, 0.0, 1.0)
    other -= z1
    moved = _absolute_sum(xp, other)
    unbalanced = square_sum(xp, xp.sum(z1, axis=0) - 1.0)
    _write(xp, other, sub, x, z1)
    outside = square_sum(xp, other)
    # Rows of x sum to one, so that the sum of r x is the sum of r.
    undecided = block.metric_total - block.squares(x, other)
    radius = 0.0
    if now.phase > GRADUATE:
        v2, fade = block.v2, before.sphere / now.sphere * (1.0 - step.shrink)
        v2 *= fade
        v2 += x
        v2 -= 0.5 * fade
        _write(xp, other, sub, v2, 0.5)
        radius = block.squares(other, other)
    if block.weight is not None:
        z1 *= block.weight
    mass = to_host(xp.sum(z1, axis=1))
    return Sums(block.point_sums(z1), mass, moved, unbalanced, outside, undecided, radius)


def _write(xp: Any, out: Any, function: Any, *args: Any) -> None:
    """``out = function(*args)``; NumPy writes straight into the array.

    ``mul`` and ``sub`` are operators, because older functions of the standard take no numbers.
    """
    if xp is np:
        {mul: np.multiply, sub: np.subtract}.get(function, function)(*args, out=out)
    else:
        out[...] = function(*args)


def _absolute_sum(xp: Any, a: Any) -> float:
    """``sum |a|``; NumPy's ``a`` is used up."""
    if xp is np:
        return float(np.abs(a, out=a).sum())
    return float(xp.sum(xp.abs(a)))
