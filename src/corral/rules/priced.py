"""The user's soft rules in plain arrays, with prices in the solvers' unit of costs.

Rules of weight 0 are left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._scale import DEAREST, Scale
from .._typing import FloatArray, IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    MustLink,
    Pin,
)
from ..constraints._checks import sums_by
from .bounds import SizeBounds, TotalBounds
from .pair_graph import pair_keys
from .pairs import SoftPairs
from .soft import SoftPins, SoftSizes


def soft_pairs(soft: ConstraintSet, group: IntArray, m: int, scale: Scale) -> SoftPairs:
    """Add up the prices of equal pairs; a cannot-link inside a group stays, as (g, g)."""
    together = soft.of_kind(MustLink)
    links = [*together, *soft.of_kind(CannotLink)]
    if not links:
        return SoftPairs.none()
    ends = group[np.concatenate([link.pairs for link in links])]
    price = np.concatenate([link.weight for link in links])
    joins = np.arange(len(ends)) < sum(len(link.pairs) for link in together)
    alive = ~(joins & (ends[:, 0] == ends[:, 1]))  # a must-link inside a group is obeyed
    keys = pair_keys(ends[alive], m) * 2 + joins[alive]
    unique, which = np.unique(keys, return_inverse=True)
    pairs = np.column_stack(np.divmod(unique // 2, m))
    total = scale.prices(sums_by(which, price[alive], len(unique)))
    return SoftPairs(pairs, total, unique % 2 == 1)


def _prices(weight: FloatArray, scale: Scale) -> FloatArray:
    """Prices in the solvers' unit of costs, moderate ones for weights that are nearly infinite."""
    return np.minimum(scale.prices(weight), DEAREST)


def soft_pins(soft: ConstraintSet, group: IntArray, k: int, scale: Scale) -> SoftPins:
    """Add up the prices of equal pins of a group."""
    pins = soft.of_kind(Pin)
    if not pins:
        return SoftPins.none()
    keys = np.concatenate([group[pin.rows] * k + pin.clusters for pin in pins])
    price = np.concatenate([pin.weight for pin in pins])
    unique, which = np.unique(keys[price > 0.0], return_inverse=True)
    total = _prices(sums_by(which, price[price > 0.0], len(unique)), scale)
    return SoftPins(np.column_stack(np.divmod(unique, k)), total)


def soft_sizes(
    soft: ConstraintSet, hard: SizeBounds | None, shape: tuple[int, int], scale: Scale
) -> SizeBounds | None:
    """The hard sizes, or none, with the soft ones; ``shape`` is rows and clusters.

    Raises ``ValueError`` if it is not clear which bounds of two lists belong together.
    """
    n, k = shape
    given = [size for size in soft.of_kind(ClusterSizes) if size.weight > 0.0]
    bounds = [size.bounds(n, k) for size in given]
    kept = [i for i, (low, high) in enumerate(bounds) if low.any() or (high < n).any()]
    if not kept:
        return hard
    lower, upper = (np.array([bounds[i][side] for i in kept]) for side in (0, 1))
    price = _prices(np.array([given[i].weight for i in kept]), scale)
    found = SoftSizes(lower, upper, price)
    listed = [i for i in kept if np.ptp(bounds[i][0]) or np.ptp(bounds[i][1])]
    lists = {(given[i].ordered, *(tuple(side) for side in bounds[i])) for i in listed}
    if hard is None:
        hard = SizeBounds(np.zeros(k, np.int64), np.full(k, n), ordered=False)
    if not hard.interchangeable:
        lists.add((hard.ordered, tuple(hard.lower), tuple(hard.upper)))
    ordered = {each[0] for each in lists}
    if len(ordered) > 1 or (ordered == {False} and len(lists) > 1):
        raise ValueError(
            "soft cluster sizes and other cluster sizes that differ from cluster to cluster cannot "
            "be matched with each other; give all of them with ordered=True, or one list only."
        )
    return replace(hard, ordered=ordered == {True}, soft=found)


def soft_totals(
    soft: ConstraintSet, group: IntArray, k: int, scale: Scale
) -> tuple[TotalBounds, ...]:
    """Totals of the groups, in a unit of each in which the largest value is about 1.

    A power of two changes no digit of the values and bounds.
    """
    found = []
    for total in soft.of_kind(ClusterTotals):
        lower, upper = total.bounds(k)
        bounded = np.isfinite(lower).any() or np.isfinite(upper).any()
        if not total.weight > 0.0 or not bounded or not total.values.any():
            continue
        unit = float(np.ldexp(1.0, int(np.frexp(np.abs(total.values).max())[1]) - 1))
        price = float(_prices(np.array([total.weight]), scale)[0]) * unit
        summed = sums_by(group, total.values / unit, int(group.max()) + 1)
        found.append(TotalBounds(summed, lower / unit, upper / unit, price=price))
    return tuple(found)
