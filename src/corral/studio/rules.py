"""Edits of a set of rules: what each action of the studio adds, replaces or drops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from .._typing import IntArray
from ..constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    MustLink,
    Pin,
)
from .data import Data, texts_of

#: Rows that can be kept apart at once; every two of them make a pair.
MOST_APART = 50


def together(rows: Sequence[int], weight: float = math.inf) -> MustLink:
    """Pairs that put all rows into one cluster: each row with the next."""
    chosen = _at_least_two(rows)
    return MustLink(np.column_stack([chosen[:-1], chosen[1:]]), weight)


def apart(rows: Sequence[int], weight: float = math.inf) -> CannotLink:
    """Pairs that put every two rows into different clusters."""
    chosen = _at_least_two(rows)
    if len(chosen) > MOST_APART:
        raise ValueError(
            f"{len(chosen)} rows are selected; at most {MOST_APART} can be kept apart at once, "
            "because every two of them make a pair."
        )
    return CannotLink(list(combinations(chosen.tolist(), 2)), weight)


def _at_least_two(rows: Sequence[int]) -> IntArray:
    chosen = np.unique(np.asarray(rows, np.int64))
    if len(chosen) < 2:
        raise ValueError(f"{len(chosen)} rows are selected; select at least two.")
    return chosen


def pinned(
    rules: ConstraintSet, rows: Sequence[int], cluster: int, weight: float = math.inf
) -> ConstraintSet:
    """Rules with these rows in a cluster; earlier pins of the rows are dropped."""
    chosen = np.unique(np.asarray(rows, np.int64))
    if not len(chosen):
        raise ValueError("no rows are selected; select the rows to pin.")
    left = []
    for rule in rules:
        if isinstance(rule, Pin):
            kept = np.flatnonzero(~np.isin(rule.rows, chosen))
            if not len(kept):
                continue
            rule = rule if len(kept) == len(rule.rows) else rule.take(kept)
        left.append(rule)
    return ConstraintSet([*left, Pin([(row, cluster) for row in chosen.tolist()], weight)])


def sized(
    rules: ConstraintSet,
    sizes: Sequence[int] | None,
    bounds: tuple[int | None, int | None],
    weight: float = math.inf,
) -> ConstraintSet:
    """Rules with these sizes in place of all others; without any bound sizes are free."""
    least, most = bounds
    others = [rule for rule in rules if not isinstance(rule, ClusterSizes)]
    if sizes is None and least is None and most is None:
        return ConstraintSet(others)
    made = ClusterSizes(sizes, minimum=least, maximum=most, weight=weight)
    return ConstraintSet([*others, made])


def totalled(
    rules: ConstraintSet,
    data: Data,
    column: str,
    bounds: tuple[float | None, float | None],
    weight: float = math.inf,
) -> ConstraintSet:
    """Rules with these bounds on the total of a column in place of others on it."""
    if column not in data.number_columns:
        raise ValueError(f"there is no column of numbers {column!r}.")
    least, most = bounds
    others = [
        rule for rule in rules if not (isinstance(rule, ClusterTotals) and rule.name == column)
    ]
    if least is None and most is None:
        return ConstraintSet(others)
    values = data.columns[column]
    made = ClusterTotals(values, minimum=least, maximum=most, name=column, weight=weight)
    return ConstraintSet([*others, made])


def shared(
    rules: ConstraintSet,
    data: Data,
    column: str,
    group: str | None,
    bounds: tuple[float | None, float | None],
    weight: float = math.inf,
) -> ConstraintSet:
    """Rules with these shares of a group of a column, or of each group, in place of others."""
    if column not in data.group_columns:
        raise ValueError(f"there is no column of groups {column!r}.")
    groups = np.array(texts_of(data.columns[column]))
    named = data.group_columns[column] if group is None else [group]
    sides: list[dict[str, float]] = [{}, {}]
    left = []
    for rule in rules:
        if isinstance(rule, GroupShares) and np.array_equal(rule.groups.astype(str), groups):
            sides = [dict(rule.minimum), dict(rule.maximum)]
        else:
            left.append(rule)
    for side, bound in zip(sides, bounds, strict=True):
        for name in named:
            side.pop(name, None)
            if bound is not None:
                side[name] = bound
    if not any(sides):
        return ConstraintSet(left)
    made = GroupShares(groups, minimum=sides[0], maximum=sides[1], weight=weight)
    return ConstraintSet([*left, made])


def parts(rules: ConstraintSet) -> Iterator[Constraint]:
    """Each part of the rules that can be dropped: a pair, a pin, a side of a bound."""
    for rule in rules:
        for number in range(rule.n_parts):
            yield rule.take([number])


def without(rules: ConstraintSet, part: Constraint) -> ConstraintSet:
    """Rules without this part, wherever it stands."""
    left: list[Constraint] = []
    for rule in rules:
        kept = [
            number
            for number in range(rule.n_parts)
            if type(rule) is not type(part) or not _same(rule.take([number]), part)
        ]
        if len(kept) == rule.n_parts:
            left.append(rule)
        elif kept:
            left.append(rule.take(kept))
    return ConstraintSet(left)


def _same(one: Constraint, other: Constraint) -> bool:
    """Whether two parts say the same, also if only one knows the number of rows."""
    first, second = one.to_dict(), other.to_dict()
    first.pop("n_samples", None), second.pop("n_samples", None)
    return first == second
