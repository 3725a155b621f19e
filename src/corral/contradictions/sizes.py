"""Sizes against the number of rows, against must-link groups and against pins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from .._typing import IntArray
from ..constraints import ClusterSizes, ConstraintSet
from ..constraints.sizes import merge_sizes
from .facts import Facts, Found

Bounds: TypeAlias = tuple[IntArray, IntArray, bool]
Clash: TypeAlias = Callable[[Bounds], bool]


def sizes_do_not_add_up(facts: Facts) -> Found:
    """Find sizes that contradict each other or the number of rows."""
    if not facts.sizes or not _hopeless(facts, _merged(facts, facts.sizes)):
        return None
    kept = _fewest(facts, lambda bounds: _hopeless(facts, bounds))
    return _sentence(facts, kept), ConstraintSet(kept)


def _hopeless(facts: Facts, bounds: Bounds) -> bool:
    lower, upper, _ = bounds
    return bool((lower > upper).any() or not lower.sum() <= facts.n <= upper.sum())


def group_too_large(facts: Facts) -> Found:
    """Find a must-link group that is larger than every cluster may be."""
    if not facts.sizes:
        return None
    count = np.bincount(facts.group)
    largest = int(np.argmax(count))

    def clash(bounds: Bounds) -> bool:
        return bool(count[largest] > bounds[1].max())

    if not clash(_merged(facts, facts.sizes)):
        return None
    kept = _fewest(facts, clash)
    most = int(_merged(facts, kept)[1].max())
    rows = np.flatnonzero(facts.group == largest)
    sentence = (
        f"must-links join {len(rows)} samples ({facts.call(rows)}), but no cluster may have "
        f"more than {most} ({_phrase(kept)})."
    )
    # so many of its rows are too many already
    links = facts.must.cut(facts.around(int(rows[0]), most + 1))
    return sentence, ConstraintSet([*links, *kept])


def pinned_too_many(facts: Facts) -> Found:
    """Find rows pinned to a cluster, with all that must-links join to them, beyond its maximum."""
    if not facts.sizes or not len(facts.pins.values):
        return None
    count = np.bincount(facts.group)
    rows, clusters = facts.pins.values.T
    groups, first = np.unique(facts.group[rows], return_index=True)
    pinned = np.bincount(clusters[first], weights=count[groups], minlength=facts.k)
    over = np.flatnonzero(pinned > _most(_merged(facts, facts.sizes), facts.k))
    if not len(over):
        return None
    cluster = int(over[0])
    kept = _fewest(facts, lambda bounds: bool(pinned[cluster] > _most(bounds, facts.k)[cluster]))
    most = int(_most(_merged(facts, kept), facts.k)[cluster])
    pins = first[clusters[first] == cluster]
    inside = np.flatnonzero(np.isin(facts.group, facts.group[rows[pins]]))
    linked = " and must-links" if len(inside) > len(pins) else ""
    sentence = (
        f"pins{linked} put {len(inside)} samples ({facts.call(inside)}) into cluster {cluster}, "
        f"which may have at most {most} ({_phrase(kept)})."
    )
    return sentence, ConstraintSet([*_enough(facts, pins, most + 1), *kept])


def _enough(facts: Facts, pins: IntArray, needed: int) -> Iterator[ConstraintSet]:
    """Give pins, the largest groups first, and must-links that bring so many rows."""
    rows = facts.pins.values[pins, 0]
    count = np.bincount(facts.group)[facts.group[rows]]
    for number in np.argsort(-count, kind="stable"):
        if needed <= 0:
            return
        taken = min(int(count[number]), needed)
        yield ConstraintSet(facts.must.cut(facts.around(int(rows[number]), taken)))
        yield ConstraintSet(facts.pins.cut(pins[[number]]))
        needed -= taken


def _merged(facts: Facts, sizes: Sequence[ClusterSizes]) -> Bounds:
    return merge_sizes(sizes, facts.n, facts.k)


def _most(bounds: Bounds, k: int) -> IntArray:
    """Give the largest size of each cluster; any entry may be a cluster's if unordered."""
    _, upper, ordered = bounds
    return upper if ordered else np.full(k, upper.max())


def _fewest(facts: Facts, clash: Clash) -> tuple[ClusterSizes, ...]:
    """Leave out size constraints one by one while the rest still clashes."""
    kept = facts.sizes
    for size in facts.sizes:
        fewer = tuple(other for other in kept if other is not size)
        if fewer and _still(facts, fewer, clash):
            kept = fewer
    return kept


def _still(facts: Facts, sizes: Sequence[ClusterSizes], clash: Clash) -> bool:
    try:
        return clash(_merged(facts, sizes))
    except ValueError:  # these need one that was left out to be merged
        return False


def _phrase(sizes: Sequence[ClusterSizes]) -> str:
    return " and ".join(size.phrase() for size in sizes)


def _sentence(facts: Facts, sizes: tuple[ClusterSizes, ...]) -> str:
    lower, upper, _ = _merged(facts, sizes)
    none = np.flatnonzero(lower > upper)
    if len(none):
        return (
            f"{_phrase(sizes)} contradict each other: the size of a cluster would have to be at "
            f"least {lower[none[0]]} and at most {upper[none[0]]}."
        )
    if len(sizes) == 1 and sizes[0].sizes is not None:
        return f"{_phrase(sizes)} add up to {lower.sum()}, but X has {facts.n} samples."
    side, total = ("least", lower.sum()) if lower.sum() > facts.n else ("most", upper.sum())
    return (
        f"with {_phrase(sizes)} the clusters hold at {side} {total} in all, "
        f"but X has {facts.n} samples."
    )
