"""Make the rules from the options and their files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from .. import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    MustLink,
    Pin,
    from_labels,
)
from .data import BLANK, Points
from .options import Options

Link = TypeVar("Link", MustLink, CannotLink)


def columns_of_rules(options: Options) -> list[str]:
    """Names of the columns that the rules use."""
    named = [_split(text, 1, "--capacity", "COLUMN:MAX")[0] for text in options.capacity]
    named += [_split(text, 2, "--share", "COLUMN:MIN:MAX")[0] for text in options.share]
    return named if options.pin is None else [*named, options.pin]


def count_clusters(options: Options) -> int:
    """Number of clusters, from ``-k`` or from the sizes."""
    if options.n_clusters is None:
        if options.sizes is None:
            raise ValueError("the number of clusters is missing; give -k or --sizes.")
        return len(options.sizes)
    if options.sizes is not None and len(options.sizes) != options.n_clusters:
        raise ValueError(
            f"--sizes has {len(options.sizes)} sizes, but -k is {options.n_clusters}; give one "
            "size per cluster."
        )
    return options.n_clusters


def make_rules(options: Options, points: Points, n_clusters: int) -> ConstraintSet:
    """All rules that the options name, checked against the points."""
    rules = ConstraintSet(_rules(options, points, n_clusters)).resolve(points.names)
    rules.check(len(points.X), n_clusters)
    return rules


def _rules(
    options: Options, points: Points, n_clusters: int
) -> Iterator[Constraint | ConstraintSet]:
    if options.soft is not None and not (options.must_link or options.cannot_link):
        raise ValueError(
            "--soft is the weight of pairs, but neither --must-link nor --cannot-link is given."
        )
    for path in options.must_link:
        yield _weighted(MustLink.from_csv(path, index=points.ids), options.soft)
    for path in options.cannot_link:
        yield _weighted(CannotLink.from_csv(path, index=points.ids), options.soft)
    if options.sizes is not None:
        yield ClusterSizes(options.sizes)
    if options.min_size is not None or options.max_size is not None:
        yield ClusterSizes(minimum=options.min_size, maximum=options.max_size)
    for text in options.capacity:
        column, most = _split(text, 1, "--capacity", "COLUMN:MAX")
        values = points.table.numbers(column)
        yield ClusterTotals(values, maximum=_number(most, text, "--capacity"))
    for text in options.share:
        yield _shares(text, points)
    if options.pin is not None:
        yield _pins(points, options.pin, n_clusters)
    for path in options.constraints:
        yield ConstraintSet.from_json(path)


def _weighted(link: Link, weight: float | None) -> Link:
    """The link with this weight, unless it has weights of its own."""
    if weight is None or not np.isinf(link.weight).all():
        return link
    return type(link)(link.pairs, weight)


def _shares(text: str, points: Points) -> GroupShares:
    column, least, most = _split(text, 2, "--share", "COLUMN:MIN:MAX")
    groups = points.table.texts(column)
    blank = next((row for row, group in enumerate(groups) if not group), None)
    if blank is not None:
        raise ValueError(
            f"{points.table.path}, {points.table.place(blank)}, column {column!r}: no group; "
            "--share needs one for every row."
        )
    low = _number(least, text, "--share") if least else None
    high = _number(most, text, "--share") if most else None
    return GroupShares(groups, minimum=low, maximum=high)


def _pins(points: Points, column: str, n_clusters: int) -> Constraint:
    """Pins from a column: numbers are clusters, other texts are classes in sorted order."""
    texts = points.table.texts(column)
    known = {row: text for row, text in enumerate(texts) if text.lower() not in (*BLANK, "-1")}
    # Many tools write a column of integers with missing values as floats.
    if all(re.fullmatch(r"\d+(\.0*)?", text) for text in known.values()):
        return Pin({row: int(float(text)) for row, text in known.items()})
    n_classes = len(set(known.values()))
    if n_classes > n_clusters:
        raise ValueError(
            f"{points.table.path}, column {column!r}: --pin finds {n_classes} names, but there "
            f"are {n_clusters} clusters; give at most {n_clusters} names, or cluster numbers "
            "from 0."
        )
    return from_labels(np.array([known.get(row) for row in range(len(texts))], dtype=object))


def _split(text: str, colons: int, option: str, form: str) -> list[str]:
    """Split at the last colons, because names of columns may contain colons."""
    parts = text.rsplit(":", colons)
    if len(parts) != colons + 1 or not parts[0]:
        raise ValueError(f"{option} is {text!r}; it must be {form}.")
    return parts


def _number(part: str, text: str, option: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{option} is {text!r}, but {part!r} is not a number.")
    return number
