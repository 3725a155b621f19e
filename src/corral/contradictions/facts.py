"""The hard rules in plain arrays, each with the user's constraint that it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from .._graphs import chain_to, link_graph, nearest_first
from .._typing import IntArray
from ..constraints import CannotLink, ClusterSizes, Constraint, ConstraintSet, MustLink, Pin
from ..constraints._checks import Names, name_of, shortened
from ..constraints.links import pairs_in_words

Found: TypeAlias = tuple[str, ConstraintSet] | None
"""A sentence and the constraints that clash, or None if there is no contradiction."""
Rules: TypeAlias = tuple[MustLink | CannotLink | Pin, ...]


@dataclass(frozen=True)
class Table:
    """Pairs or pins of several constraints in one array, and where each came from."""

    constraints: Rules
    values: IntArray
    source: IntArray
    position: IntArray

    @classmethod
    def of(cls, constraints: Rules) -> Table:
        """Stack the pairs or pins of constraints of one kind."""
        parts = [
            np.column_stack([rule.rows, rule.clusters]) if isinstance(rule, Pin) else rule.pairs
            for rule in constraints
        ]
        lengths = [len(part) for part in parts]
        empty = np.empty(0, np.int64)
        return cls(
            constraints,
            np.concatenate([empty.reshape(0, 2), *parts]),
            np.repeat(np.arange(len(parts)), lengths),
            np.concatenate([empty, *map(np.arange, lengths)]),
        )

    def cut(self, which: Iterable[int] | IntArray) -> list[Constraint]:
        """Give the user's constraints, only with the chosen pairs or pins."""
        chosen = np.unique(np.fromiter(which, np.int64))
        return [
            rule.take(self.position[chosen][self.source[chosen] == number])
            for number, rule in enumerate(self.constraints)
            if (self.source[chosen] == number).any()
        ]


class Facts:
    """The hard rules in plain arrays, with what the finders ask of them."""

    def __init__(self, rules: ConstraintSet, group: IntArray, k: int, names: Names) -> None:
        hard = rules.hard
        self.must = Table.of(hard.of_kind(MustLink))
        self.cannot = Table.of(hard.of_kind(CannotLink))
        self.pins = Table.of(hard.of_kind(Pin))
        self.sizes = hard.of_kind(ClusterSizes)
        self.group, self.n, self.k, self.names = group, len(group), k, names

    @cached_property
    def graph(self) -> sparse.csr_array:
        """The must-links as a graph."""
        return link_graph(self.n, self.must.values)

    @cached_property
    def _must_order(self) -> tuple[IntArray, IntArray]:
        keys = pair_keys(self.must.values, self.n)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def links_of(self, steps: IntArray) -> IntArray:
        """Find the user's must-link for each step of a chain."""
        keys, order = self._must_order
        return order[np.searchsorted(keys, pair_keys(steps, self.n))]

    def chain(self, start: int, ends: IntArray) -> list[int]:
        """Give the shortest chain of must-links from a row to the nearest of some rows."""
        order, met_from = nearest_first(self.graph, start)
        return chain_to(met_from, start, int(order[np.isin(order, ends)][0]))

    def tree(self, rows: IntArray) -> IntArray:
        """Give must-links that join the rows of a group: chains from the first to the others."""
        _, met_from = nearest_first(self.graph, int(rows[0]))
        steps = [steps_of(chain_to(met_from, int(rows[0]), int(row))) for row in rows[1:]]
        return np.unique(self.links_of(np.concatenate(steps))) if steps else np.empty(0, np.int64)

    def around(self, start: int, size: int) -> IntArray:
        """Give must-links that join ``size`` rows, the nearest to a row, with each other."""
        order, met_from = nearest_first(self.graph, start)
        near = order[1:size]
        return self.links_of(np.column_stack([met_from[near], near]))

    def call(self, rows: Iterable[int] | IntArray, limit: int = 10) -> str:
        """Name rows: ``3, 5, 7``."""
        listed = [int(row) for row in rows]
        return shortened((name_of(row, self.names) for row in listed), len(listed), limit)


def pair_keys(pairs: IntArray, n: int) -> IntArray:
    """Give each unordered pair among ``n`` a number of its own."""
    keys: IntArray = pairs.min(axis=1) * n + pairs.max(axis=1)
    return keys


def steps_of(chain: Sequence[int]) -> IntArray:
    """Give the pairs of neighbours in a chain."""
    return np.column_stack([chain[:-1], chain[1:]]).astype(np.int64).reshape(-1, 2)


def links_in_words(steps: IntArray, names: Names) -> str:
    """Write steps as ``must-links 3-5, 5-7``."""
    return f"must-link{'s' if len(steps) > 1 else ''} {pairs_in_words(steps, names)}"


def verb(steps: IntArray) -> str:
    """Say ``joins`` of one must-link, ``join`` of more."""
    return "join" if len(steps) > 1 else "joins"
