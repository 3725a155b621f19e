"""Make the rules from the options and their files."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from .._text import suggestion
from .._typing import FloatArray, IntArray
from ..constraints._checks import plural
from ..constraints.files import pairs_of_cells, read_weighted_pairs
from .clusters import Clusters, bare_total, clusters_of, names_of
from .data import Points
from .maps import graph_of
from .options import Options
from .pairs import pairs_of_columns
from .tables import BLANK, ending_of, names_column, read_pair_cells

BOUNDS = "COLUMN:MIN:MAX"


def number_columns(options: Options) -> list[str]:
    """Names of the columns whose numbers the rules and the weights use."""
    bare = bare_total(options)
    named = [_split(text, 1, "--capacity", "COLUMN:MAX")[0] for text in options.capacity]
    named += [_split(text, 2, "--total", BOUNDS)[0] for text in options.total if text != bare]
    named += [] if bare is None else [bare]
    clusters = clusters_of(options)
    named += [] if clusters is None else list(clusters.totals)
    return named if options.weight is None else [*named, options.weight]


def columns_of_rules(options: Options) -> list[str]:
    """Names of the columns that the rules and the weights use."""
    shares = [_split(text, 2, "--share", BOUNDS)[0] for text in options.share]
    named = [*shares, *(name.split("=")[0] for name in shares)]
    named += [*number_columns(options), *options.together_column, *options.apart_column]
    return [*named, *options.pin]


def count_clusters(options: Options) -> int:
    """Number of clusters, from ``-k`` or from the sizes."""
    names = names_of(options)
    if names is not None:
        return _count_named(options, len(names))
    if not isinstance(options.n_clusters, int):
        if options.sizes is None:
            raise ValueError("the number of clusters is missing; give -k or --sizes.")
        return len(options.sizes)
    if options.sizes is not None and len(options.sizes) != options.n_clusters:
        raise ValueError(
            f"--sizes has {len(options.sizes)} sizes, but -k is {options.n_clusters}; give one "
            "size per cluster."
        )
    return options.n_clusters


def _count_named(options: Options, count: int) -> int:
    """Number of clusters of the file; other options must not say another one."""
    sizes = None if options.sizes is None else len(options.sizes)
    for option, other in (("-k is", options.n_clusters), ("--sizes has", sizes)):
        if other not in (None, count):
            raise ValueError(
                f"{option} {other}, but {options.clusters} has {plural(count, 'cluster')}; leave "
                "the option out, or give as many."
            )
    return count


def make_rules(
    options: Options, points: Points, n_clusters: int, any_number: bool = False
) -> ConstraintSet:
    """All rules that the options name, checked against the points.

    ``any_number`` allows rules that are for another number of clusters.
    """
    given = ConstraintSet(_rules_on_rows(options, points))
    of_file = given.resolve(_names_of(points, given.named))
    if not points.complete:
        k = None if any_number else n_clusters
        of_file = _without_dropped(of_file, points, k, names_of(options))
    rules = ConstraintSet([of_file, *_rules_of_columns(options, points, n_clusters)])
    rules = rules.resolve_clusters(names_of(options))
    if not any_number:
        rules.check(len(points.X), n_clusters)
    return rules


def _names_of(points: Points, named: bool) -> Sequence[Any]:
    """The names of all rows of the file, or their numbers; rules may need names.

    Without ``--id-column`` they are in the first column of short texts that all differ, as in
    ``corral ask`` and in the studio.
    """
    if points.all_ids is not None:
        return points.all_ids
    column = names_column(points.table) if named and points.complete else None
    if column is not None:
        return points.table.texts(column)
    if named:
        raise ValueError(
            "the rules name rows by their names; --id-column says which column of "
            f"{points.table.name} has them."
        )
    return range(points.n_rows)


def _without_dropped(
    rules: ConstraintSet,
    points: Points,
    n_clusters: int | None,
    names: tuple[str, ...] | None,
) -> ConstraintSet:
    """The same rules on the rows that are left, with a warning about the parts that are not."""
    if n_clusters is not None:
        rules.resolve_clusters(names).check(points.n_rows, n_clusters)
    for rule in rules:
        if isinstance(rule, LinearConstraint) and rule.n_clusters is not None:
            rule.check(points.n_rows, rule.n_clusters)
    left = rules.subset(points.kept)
    lost = sum(rule.n_parts for rule in rules) - sum(rule.n_parts for rule in left)
    if lost:
        count = plural(lost, "pair or pin", "pairs or pins")
        warnings.warn(f"left out {count} of dropped rows.", stacklevel=2)
    return left


def _rules_on_rows(options: Options, points: Points) -> Iterator[Constraint | ConstraintSet]:
    """Rules from files, which name rows of the file of points."""
    some = options.together_column or options.apart_column
    if options.soft is not None and not (options.must_link or options.cannot_link or some):
        raise ValueError(
            "--soft is the weight of pairs, but neither --must-link nor --cannot-link is given."
        )
    every: tuple[tuple[type[MustLink | CannotLink], tuple[str, ...]], ...]
    every = (MustLink, options.must_link), (CannotLink, options.cannot_link)
    for kind, paths in every:
        for path in paths:
            pairs, weight = _pairs_of(path, points, options.decimal)
            price = math.inf if options.soft is None else options.soft
            yield kind(pairs, price if weight is None else weight)
    price = math.inf if options.soft is None else options.soft
    columns = (MustLink, options.together_column), (CannotLink, options.apart_column)
    for kind, names in columns:
        for name in names:
            yield kind(pairs_of_columns(name, points), price)
    for path in options.constraints:
        yield ConstraintSet.from_json(path)


def _pairs_of(path: str, points: Points, decimal: str) -> tuple[IntArray, FloatArray | None]:
    """The pairs in a CSV or Excel file, and their weights."""
    if ending_of(path) == ".xlsx":
        cells = read_pair_cells(path, decimal)
        return pairs_of_cells(cells, path, points.all_ids, decimal=decimal)
    return read_weighted_pairs(path, points.all_ids, decimal=decimal)


def _rules_of_columns(options: Options, points: Points, n_clusters: int) -> Iterator[Constraint]:
    """Sizes, and rules whose values are columns of the points."""
    _refuse_idle_weights(options)
    price = _price(options.soft_sizes)
    clusters = clusters_of(options)
    if clusters is not None:
        yield from clusters.rules(options, points, (price, _price(options.soft_totals)))
    if options.sizes is not None:
        yield ClusterSizes(options.sizes, weight=price)
    if options.min_size is not None or options.max_size is not None:
        yield ClusterSizes(minimum=options.min_size, maximum=options.max_size, weight=price)
    price = _price(options.soft_totals)
    for text in options.capacity:
        column, most = _split(text, 1, "--capacity", "COLUMN:MAX")
        values, limit = points.table.numbers(column), _number(most, text, "--capacity")
        yield ClusterTotals(values, maximum=limit, name=column, weight=price)
    for text in options.total:
        if text == bare_total(options):
            continue
        column, low, high = _bounds(text, "--total")
        values = points.table.numbers(column)
        yield ClusterTotals(values, minimum=low, maximum=high, name=column, weight=price)
    for text in options.share:
        yield _shares(text, points, _price(options.soft_shares))
    if (graph := graph_of(options, points)) is not None:
        yield graph
    for pin in _pins(points, options.pin, n_clusters, clusters):
        yield Pin(pin, _price(options.soft_pins), n_samples=len(points.X))


def _price(weight: float | None) -> float:
    """The weight of an option; without the option rules are hard."""
    return math.inf if weight is None else weight


def _refuse_idle_weights(options: Options) -> None:
    """Refuse weights of rules that are not given."""
    named = clusters_of(options)
    by_name = named is not None and any(named.bounds.values())
    bare = bare_total(options) is not None
    sized = options.sizes is not None or options.min_size is not None or (by_name and not bare)
    summed = bool(options.total or options.capacity or (named is not None and named.totals))
    given = {
        "--sizes, --min-size or --max-size": (
            ("--soft-sizes", options.soft_sizes, sized or options.max_size is not None)
        ),
        "--total or --capacity": (("--soft-totals", options.soft_totals, summed)),
        "--share": ("--soft-shares", options.soft_shares, bool(options.share)),
        "--pin": ("--soft-pins", options.soft_pins, bool(options.pin)),
    }
    for rules, (name, weight, there) in given.items():
        if weight is not None and not there:
            raise ValueError(f"{name} is {weight:g}, but {rules} is not given; give both.")


def _shares(text: str, points: Points, weight: float) -> GroupShares:
    column, low, high = _bounds(text, "--share")
    group = None
    if column not in points.table.columns and "=" in column:
        column, group = column.split("=", 1)
    groups = points.table.texts(column)
    blank = next((row for row, group in enumerate(groups) if not group), None)
    if blank is not None:
        raise ValueError(
            f"{points.table.name}, {points.table.place(blank)}, column {column!r}: no group; "
            "--share needs one for every row."
        )
    if group is None:
        return GroupShares(groups, minimum=low, maximum=high, weight=weight)
    if group not in groups:
        known = list(dict.fromkeys(groups))
        listed = ", ".join(map(repr, known[:20]))
        raise ValueError(
            f"--share is {text!r}, but column {column!r} of {points.table.name} has no group "
            f"{group!r}{suggestion(group, known)}; its groups are {listed}."
        )
    sides = [None if bound is None else {group: bound} for bound in (low, high)]
    return GroupShares(groups, minimum=sides[0], maximum=sides[1], weight=weight)


def _pins(
    points: Points, columns: Sequence[str], n_clusters: int, clusters: Clusters | None
) -> Iterator[dict[int, int]]:
    """The pins of each column: numbers are clusters, and names count in sorted order.

    The columns of names share their names, so that a name is the same cluster in all of them.  If
    the clusters have names, these are meant.
    """
    every = [points.table.texts(column) for column in columns]
    known = [
        {row: text for row, text in enumerate(texts) if text.lower() not in (*BLANK, "-1")}
        for texts in every
    ]
    if clusters is not None:
        for column, own in zip(columns, known, strict=True):
            rows = points.table.take(np.array(list(own), np.int64))
            yield dict(zip(own, clusters.number(list(own.values()), rows, column), strict=True))
        return
    # Many tools write a column of integers with missing values as floats.
    numbers = [all(re.fullmatch(r"\d+(\.0*)?", text) for text in own.values()) for own in known]
    named = [own for own, number in zip(known, numbers, strict=True) if not number]
    names = sorted({text for own in named for text in own.values()})
    if len(names) > n_clusters:
        which = [repr(name) for name, number in zip(columns, numbers, strict=True) if not number]
        noun = "column" if len(which) == 1 else "columns"
        raise ValueError(
            f"{points.table.name}, {noun} {', '.join(which)}: --pin finds {len(names)} names, but "
            f"there are {n_clusters} clusters; give at most {n_clusters} names, or cluster numbers "
            "from 0."
        )
    place = {name: cluster for cluster, name in enumerate(names)}
    for own, number in zip(known, numbers, strict=True):
        yield {row: int(float(text)) if number else place[text] for row, text in own.items()}


def _split(text: str, colons: int, option: str, form: str) -> list[str]:
    """Split at the last colons, because names of columns may contain colons."""
    parts = text.rsplit(":", colons)
    if len(parts) != colons + 1 or not parts[0]:
        raise ValueError(f"{option} is {text!r}; it must be {form}.")
    return parts


def _bounds(text: str, option: str) -> tuple[str, float | None, float | None]:
    """The column and its two bounds, of which one may be empty."""
    column, least, most = _split(text, 2, option, BOUNDS)
    if not least and not most:
        raise ValueError(f"{option} is {text!r}, without a bound; give MIN, MAX or both.")
    low = _number(least, text, option) if least else None
    return column, low, _number(most, text, option) if most else None


def _number(part: str, text: str, option: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"{option} is {text!r}, but {part!r} is not a number.")
    return number


def pairs_not_known(paths: Sequence[str], n_rows: int) -> Iterator[tuple[int, int]]:
    """The pairs of rows that nobody could judge, from files of rules."""
    from ..constraints.collection import unknown_of

    for path in paths:
        for pair in unknown_of(Path(path).read_text(encoding="utf-8")):
            if max(pair) >= n_rows:
                raise ValueError(
                    f'{path}: the pair {pair} of "unknown" is not of these points; rows must lie '
                    f"in [0, {n_rows - 1}]."
                )
            yield pair
