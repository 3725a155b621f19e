"""The hard constraints as plain arrays, each entry with the user's constraint it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._typing import FloatArray, IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from ..constraints._checks import Names, name_of, shortened
from ..constraints.links import pairs_in_words
from ..constraints.sizes import merge_sizes
from .pairs import components, link_graph, pair_keys, unique_pairs

Kind = TypeVar("Kind", bound=Constraint)

Found: TypeAlias = tuple[str, ConstraintSet, bool] | None
"""A sentence, the constraints that contradict each other, and whether it is certain that they do
not without any one of their parts; None if there is no contradiction."""
Part: TypeAlias = tuple[int, int]
"""The number of a constraint, and the number of one of its parts."""
Bounds: TypeAlias = tuple[IntArray, IntArray, bool]
"""Smallest and largest sizes, and whether entry j belongs to cluster j."""


def parts_of(items: Sequence[Constraint]) -> list[Part]:
    """List all parts of constraints, such as pairs, pins and sides of bounds."""
    return [(i, part) for i, item in enumerate(items) for part in range(item.n_parts)]


def cut(items: Sequence[Kind], parts: Iterable[Part]) -> list[Kind]:
    """Reduce constraints to some parts; with all of its parts one stays the user's object."""
    chosen: dict[int, list[int]] = {}
    for item, part in sorted(parts):
        chosen.setdefault(item, []).append(part)
    return [
        items[i] if len(which) == items[i].n_parts else items[i].take(which)
        for i, which in chosen.items()
    ]


@dataclass(frozen=True)
class Table:
    """The parts of several constraints of one kind in one (p, 2) array.

    A part is the two rows of a pair, or the row and the cluster of a pin.
    """

    constraints: Sequence[Constraint]
    values: IntArray

    def cut(self, which: Iterable[int] | IntArray) -> list[Constraint]:
        """Return the user's constraints, reduced to the chosen pairs or pins."""
        parts = parts_of(self.constraints)
        return cut(self.constraints, {parts[number] for number in which})


class Facts:
    """The hard constraints as plain arrays, with the queries that several checks need.

    Shares are given as such, everything else in the kinds that the solver understands.
    """

    def __init__(self, rules: ConstraintSet, n: int, k: int, names: Names) -> None:
        hard = rules.hard
        must, cannot = hard.of_kind(MustLink), hard.of_kind(CannotLink)
        pins = hard.of_kind(Pin)
        none = np.empty((0, 2), np.int64)
        self.must = Table(must, np.concatenate([none, *(link.pairs for link in must)]))
        self.cannot = Table(cannot, np.concatenate([none, *(link.pairs for link in cannot)]))
        pinned = (np.column_stack([pin.rows, pin.clusters]) for pin in pins)
        self.pins = Table(pins, np.concatenate([none, *pinned]))
        self.sizes = hard.of_kind(ClusterSizes)
        self.totals, self.shares = hard.of_kind(ClusterTotals), hard.of_kind(GroupShares)
        self.linear = hard.of_kind(LinearConstraint)
        self.connected = hard.of_kind(Connected)
        self.group, self.n, self.k, self.names = components(n, self.must.values), n, k, names

    @cached_property
    def count(self) -> IntArray:
        """Rows of each group."""
        if not len(self.must.values):
            return np.broadcast_to(np.int64(1), self.n)
        return np.bincount(self.group)

    @cached_property
    def apart(self) -> IntArray:
        """Pairs of groups with a cannot-link between them, each once, the smaller number first.

        A group with a cannot-link inside is paired with itself.
        """
        return unique_pairs(self.group[self.cannot.values], len(self.count))

    @cached_property
    def _graph(self) -> sparse.csr_array:
        return link_graph(self.n, self.must.values)

    def _near(self, start: int) -> tuple[IntArray, IntArray]:
        """Rows joined with a row, the nearest first, and the row from which each was reached."""
        order, met_from = csgraph.breadth_first_order(self._graph, start, directed=False)
        return order, met_from

    @cached_property
    def _must_order(self) -> tuple[IntArray, IntArray]:
        keys = pair_keys(self.must.values, self.n)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def links_of(self, steps: IntArray) -> IntArray:
        """Find the number of the user's must-link for each step of a chain."""
        keys, order = self._must_order
        # Graph routines give 32-bit rows, in which keys would overflow.
        return order[np.searchsorted(keys, pair_keys(steps.astype(np.int64), self.n))]

    def chain(self, start: int, ends: IntArray) -> list[int]:
        """Return the shortest chain of must-links from a row to the nearest row of ``ends``."""
        order, met_from = self._near(start)
        return chain_to(met_from, start, int(order[np.isin(order, ends)][0]))

    def tree(self, rows: IntArray) -> IntArray:
        """Return must-links that connect rows of one group: chains from the first to the others."""
        _, met_from = self._near(int(rows[0]))
        steps = [steps_of(chain_to(met_from, int(rows[0]), int(row))) for row in rows[1:]]
        return np.unique(self.links_of(np.concatenate(steps))) if steps else np.empty(0, np.int64)

    def forest(self, groups: IntArray) -> list[Constraint]:
        """Return must-links that connect the rows of each of these groups, and no more."""
        spanning = sparse.coo_array(csgraph.minimum_spanning_tree(self._graph))
        steps = np.column_stack(spanning.coords)
        return self.must.cut(self.links_of(steps[np.isin(self.group[steps[:, 0]], groups)]))

    def around(self, start: int, size: int) -> IntArray:
        """Return must-links that connect ``size`` rows: ``start`` and the rows nearest to it."""
        order, met_from = self._near(start)
        near = order[1:size]
        return self.links_of(np.column_stack([met_from[near], near]))

    def call(self, rows: Iterable[int] | IntArray, limit: int = 10) -> str:
        """List the names of rows: ``3, 5, 7``."""
        listed = [int(row) for row in rows]
        return shortened((name_of(row, self.names) for row in listed), len(listed), limit)

    def merged(self, sizes: Sequence[ClusterSizes]) -> Bounds:
        """Combine size constraints into one."""
        return merge_sizes(sizes, self.n, self.k)

    def most(self, bounds: Bounds) -> IntArray:
        """Return the largest size of each cluster; unordered, any entry may be a cluster's."""
        _, upper, ordered = bounds
        return upper if ordered else np.full(self.k, upper.max())

    def capacities(self) -> Iterator[tuple[FloatArray, ClusterTotals, FloatArray]]:
        """Values that are not negative, with the largest totals of the clusters as a rule."""
        for total in self.totals:
            if total.maximum is not None and total.values.min() >= 0:
                rule = total.take([total.n_parts - 1])
                yield total.values, rule, rule.bounds(self.k)[1]

    def fewest_sizes(self, clash: Callable[[Bounds], bool]) -> list[ClusterSizes]:
        """Return sides of size bounds that clash, as few as possible; empty if they do not."""
        kept = parts_of(self.sizes)
        if not kept or not clash(self.merged(self.sizes)):
            return []
        for part in (*kept, *kept):
            fewer = [other for other in kept if other != part]
            # ValueError: they cannot be merged without the part that is left out.  That may change
            # when others are left out, so each part is tried twice.
            with suppress(ValueError):
                kept = fewer if fewer and clash(self.merged(cut(self.sizes, fewer))) else kept
        return cut(self.sizes, kept)

    def call_sizes(self, sizes: Sequence[ClusterSizes]) -> str:
        """Describe size constraints: ``minimum cluster size 3 and maximum cluster size 5``."""
        return " and ".join(size.phrase(self.names) for size in sizes)


def chain_to(met_from: IntArray, start: int, end: int) -> list[int]:
    """Follow the predecessors from ``end`` and return the rows from ``start`` to ``end``."""
    chain = [end]
    while chain[-1] != start:
        chain.append(int(met_from[chain[-1]]))
    return chain[::-1]


def steps_of(chain: Sequence[int]) -> IntArray:
    """Return the pairs of neighbours in a chain."""
    return np.column_stack([chain[:-1], chain[1:]]).astype(np.int64).reshape(-1, 2)


def links_in_words(steps: IntArray, names: Names) -> str:
    """Write steps with a verb: ``must-link 3-5 joins``, ``must-links 3-5, 5-7 join``."""
    words = pairs_in_words(steps, names)
    return f"must-links {words} join" if len(steps) > 1 else f"must-link {words} joins"
