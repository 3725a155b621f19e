"""Rules that mixed groups have by default: even sizes, and categories spread evenly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..constraints import ClusterSizes, ClusterTotals, Constraint, ConstraintSet
from .columns import Category, Columns


def default_rules(
    given: ConstraintSet, columns: Columns, n_rows: int, n_clusters: int, price: float
) -> list[Constraint]:
    """Sizes as equal as possible unless lists of sizes are given, and categories spread evenly.

    They are soft, at a price above what any row is worth, so that they yield to the user's rules
    and to nothing else.
    """
    found: list[Constraint] = []
    sizes = sizes_of(given, n_rows, n_clusters)
    if sizes is None:
        least, rest = divmod(n_rows, n_clusters)
        sizes = np.array([least, least + (rest > 0)])
        found.append(ClusterSizes(minimum=sizes[0], maximum=sizes[1], weight=price))
    return [*found, *category_rules(columns.categories, sizes, price)]


def category_rules(
    categories: Iterable[Category], sizes: IntArray, price: float
) -> list[ClusterTotals]:
    """Bounds on the counts of each category that has several rows, for groups of some sizes."""
    found = []
    for category in categories:
        number = np.bincount(category.codes, minlength=len(category.levels))
        for level in np.flatnonzero(number > 1):
            name = f"{category.name} {category.levels[level]}"
            found.append(spread_rule(category.codes == level, sizes, name, price))
    return found


def spread_rule(rows: BoolArray, sizes: IntArray, name: str, price: float) -> ClusterTotals:
    """Bounds on how many of some rows a group has: its share, rounded down and up.

    Where sizes differ so that one pair of bounds does not fit all, ``n c - N s`` is bounded, of a
    group of s rows that has c of the N out of n: a share rounded either way is less than n away.
    """
    n, number = len(rows), int(rows.sum())
    low, high = number * int(sizes.min()) // n, -(-number * int(sizes.max()) // n)
    if high - low <= 1:
        return ClusterTotals(rows, minimum=low, maximum=high, name=name, weight=price)
    values = n * rows.astype(float) - number
    bounds = {"minimum": 1 - n, "maximum": n - 1}
    return ClusterTotals(values, **bounds, name=f"{name}, beyond its share", weight=price / n)


def sizes_of(given: ConstraintSet, n_rows: int, n_clusters: int) -> IntArray | None:
    """The smallest and the largest size that the user's rules allow; None if sizes are open.

    They are where all groups have the same bounds.
    """
    bounds = [rule.bounds(n_rows, n_clusters) for rule in given.of_kind(ClusterSizes)]
    least, rest = divmod(n_rows, n_clusters)
    open_ = all(np.ptp(lower) == 0 and np.ptp(upper) == 0 for lower, upper in bounds)
    low = max((int(lower.min()) for lower, _ in bounds), default=0)
    high = min((int(upper.max()) for _, upper in bounds), default=n_rows)
    if open_ and low < high and low <= least and least + (rest > 0) <= high:
        return None
    return np.array([low, max(low, high)])


def room_of(given: ConstraintSet, n_rows: int, n_clusters: int) -> IntArray:
    """Sizes to deal to, which add up to the rows: equal ones inside the user's bounds."""
    low, high = np.zeros(n_clusters, np.int64), np.full(n_clusters, n_rows)
    for rule in given.of_kind(ClusterSizes):
        lower, upper = rule.bounds(n_rows, n_clusters)
        low, high = np.maximum(low, lower), np.minimum(high, upper)
    room: IntArray = np.clip(n_rows // n_clusters, low, np.maximum(low, high))
    step = 1 if room.sum() < n_rows else -1
    while room.sum() != n_rows:
        free = np.flatnonzero(room < high) if step > 0 else np.flatnonzero(room > low)
        free = free if len(free) else np.arange(n_clusters)
        left = abs(n_rows - int(room.sum()))
        chosen = free if left >= len(free) else free[np.argsort(step * room[free], kind="stable")]
        room[chosen[:left]] += step
    return np.maximum(room, 0)


def price_of(points: FloatArray, weight: FloatArray) -> float:
    """A price of a row too many above what the place of any row is worth."""
    return 4.0 * float(np.max(weight * np.einsum("id,id->i", points, points), initial=0.0)) or 1.0
