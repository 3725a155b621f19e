"""The file of the clusters: their names, bounds and bases; and the labels of an earlier fit."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints import ClusterSizes, ClusterTotals, Constraint
from ..constraints._checks import plural
from ..constraints.clusters import read_cluster_names
from ..constraints.files import safe_text
from ..constraints.previous import NO_NAME, Previous
from .tables import Table, read_table

if TYPE_CHECKING:
    from .data import Points
    from .options import Options

#: Headings of the columns, and other words for them.
HEADINGS = {
    "name": ("name", "cluster", "territory"),
    "minimum": ("minimum", "min"),
    "maximum": ("maximum", "max"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng"),
}
#: The heading of a bound on the total of a column, such as ``maximum minutes``.
OF_COLUMN = re.compile(r"(minimum|min|maximum|max)[ _:](.+)", re.IGNORECASE)
#: Similarity from which a heading is a misspelling of a known one.
ALIKE = 0.8

Bounds = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Clusters:
    """What a file says of the clusters.

    Attributes
    ----------
    table : Table
    names : tuple of str
    bounds : {"minimum" or "maximum": {name: bound}}
        Of the number of rows, or of the only total without bounds of its own.
    totals : {column: bounds}
        Bounds of the totals of columns.
    """

    table: Table
    names: tuple[str, ...]
    bounds: Bounds = field(default_factory=dict)
    totals: Mapping[str, Bounds] = field(default_factory=dict)

    def rules(
        self, options: Options, points: Points, prices: tuple[float, float]
    ) -> Iterator[Constraint]:
        """Sizes and totals by name; ``prices`` are those of a row and of a unit of a total."""
        totals = dict(self.totals)
        bare = bare_total(options)
        if bare is not None:
            totals[bare] = self.bounds
        elif any(self.bounds.values()):
            _refuse_rows(self, points)
            yield ClusterSizes(**_whole(self), weight=prices[0])
        for column, bounds in totals.items():
            values = points.table.numbers(column)
            own: dict[str, Any] = {side: bound for side, bound in bounds.items() if bound}
            yield ClusterTotals(values, **own, name=column, weight=prices[1])

    def bases(self, columns: Sequence[str], *, degrees: bool = False) -> FloatArray | None:
        """Where the clusters are to begin, in these columns; None if the file does not say.

        Columns called lat or lon are latitude and longitude.  Of columns of ``degrees``, the first
        is latitude, whatever it is called.
        """
        sides = ("latitude", "longitude")
        wanted = []
        for place, name in enumerate(columns):
            word = next((side for side in sides if name.strip().lower() in HEADINGS[side]), None)
            word = sides[place] if degrees else word
            found = _heading(self.table, word) if word is not None else None
            wanted.append(name if name in self.table.columns else found)
        known = [name for name in wanted if name is not None]
        if len(known) < len(wanted):
            return None
        return np.column_stack([self.table.numbers(name) for name in known])

    def number(self, texts: Sequence[str], table: Table, column: str) -> IntArray:
        """The numbers of named clusters, from a column of a file."""
        from .._text import suggestion

        place = {safe_text(name): number for number, name in enumerate(self.names)}
        found = np.array([place.get(safe_text(text), -1) for text in texts], np.int64)
        if (found < 0).any():
            row = int(np.argmin(found))
            known = ", ".join(map(repr, self.names[:10]))
            raise ValueError(
                f"{table.name}, {table.place(row)}, column {column!r}: {texts[row]!r} is no cluster"
                f"{suggestion(texts[row], self.names)}; those of {self.table.name} are {known}."
            )
        return found


def _heading(table: Table, word: str) -> str | None:
    """The column with a heading, in whatever case it is written."""
    return next((name for name in table.columns if name.strip().lower() in HEADINGS[word]), None)


def read_clusters(path: str, decimal: str = ".") -> Clusters:
    """Read the file of the clusters.

    Raises
    ------
    ValueError
        With the file, the line and what is wrong there.
    """
    table = read_table(path, True, decimal)
    column = _heading(table, "name")
    if column is None:
        known = ", ".join(map(repr, table.columns))
        raise ValueError(f"{path} has no column 'name'; its columns are {known}.")
    names = table.texts(column)
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name or name in seen:
            fault = f"{name!r} is already in {table.place(seen[name])}" if name else "no name"
            raise ValueError(f"{path}, {table.place(row)}: {fault}; each cluster needs its own.")
        seen[name] = row
    _refuse_misspelt(table)
    bounds: Bounds = {}
    totals: dict[str, Bounds] = {}
    for side in ("minimum", "maximum"):
        if (heading := _heading(table, side)) is not None:
            bounds[side] = _bounds(table, heading, names)
    for heading in table.columns:
        if of := OF_COLUMN.fullmatch(heading.strip()):
            side = "minimum" if of[1].lower().startswith("min") else "maximum"
            totals.setdefault(of[2].strip(), {})[side] = _bounds(table, heading, names)
    for own in (bounds, *totals.values()):
        _refuse_crossed(path, own)
    read = read_cluster_names(names)
    return Clusters(table, read or (), bounds, totals)


def clusters_of(options: Options) -> Clusters | None:
    """What the file of ``--clusters`` says; None if there is none."""
    if options.clusters is None:
        return None
    state = Path(options.clusters).stat()
    stamp = (os.path.realpath(options.clusters), state.st_mtime_ns, state.st_size)
    return _read_once(options.clusters, options.decimal, stamp)


@lru_cache(maxsize=1)
def _read_once(path: str, decimal: str, stamp: Hashable) -> Clusters:
    """The file as it was at a time; several steps of a command need it."""
    return read_clusters(path, decimal)


def names_of(options: Options) -> tuple[str, ...] | None:
    """Names of the clusters; None if they have none."""
    found = clusters_of(options)
    return None if found is None else found.names


def _refuse_misspelt(table: Table) -> None:
    """Refuse a heading that is nearly a known one, which would have no effect."""
    known = [word for words in HEADINGS.values() for word in words if len(word) > 3]
    for heading in table.columns:
        text = heading.strip().lower()
        first = re.split(r"[ _:]", text)[0]
        if text in sum(HEADINGS.values(), ()) or OF_COLUMN.fullmatch(text):
            continue
        close = get_close_matches(first, known, 1, ALIKE)
        if close and first not in known:
            raise ValueError(
                f"{table.name}: the column {heading!r} has no effect; write {close[0]!r} if that "
                "is meant, or give it another name."
            )


def _bounds(table: Table, heading: str, names: Sequence[str]) -> dict[str, float]:
    """The bounds of a column; empty cells are none."""
    values = table.numbers(heading, gaps=True)
    return {
        name: float(value) for name, value in zip(names, values, strict=True) if not np.isnan(value)
    }


def _refuse_crossed(path: str, bounds: Bounds) -> None:
    """Refuse a minimum above the maximum of the same cluster."""
    for name, least in bounds.get("minimum", {}).items():
        most = bounds.get("maximum", {}).get(name, np.inf)
        if least > most:
            raise ValueError(
                f"{path}: the minimum of {name!r} is {least:g}, above its maximum, {most:g}; "
                "change one of them, or leave its cell empty."
            )


def _refuse_rows(clusters: Clusters, points: Points) -> None:
    """Refuse a least number of rows above that of all, which is meant for a total."""
    for name, least in clusters.bounds.get("minimum", {}).items():
        if least > len(points.X):
            raise ValueError(
                f"{clusters.table.name}: the minimum of {name!r} is {least:g}, but "
                f"{points.table.name} has {plural(len(points.X), 'row')}; if it bounds the total "
                "of a column, name that by --total COLUMN."
            )


def _whole(clusters: Clusters) -> dict[str, Any]:
    """Bounds of sizes, which are whole numbers."""
    for side, bound in clusters.bounds.items():
        for name, value in bound.items():
            if value != int(value) or value < 0:
                raise ValueError(
                    f"{clusters.table.name}: {side} of {name!r} is {value:g}; it bounds the number "
                    "of rows and must be a whole number of at least 0. Give --total COLUMN if it "
                    f"bounds a total, or call the column '{side} COLUMN'."
                )
    return {side: bound for side, bound in clusters.bounds.items() if bound}


def bare_total(options: Options) -> str | None:
    """The column of a ``--total`` without bounds, which has those of the file of clusters."""
    found = [text for text in options.total if ":" not in text]
    if not found:
        return None
    if options.clusters is None:
        raise ValueError(
            f"--total is {found[0]!r}; it must be COLUMN:MIN:MAX, or a column alone with bounds by "
            "name in --clusters."
        )
    if len(found) > 1:
        raise ValueError(
            f"--total is given for {found[0]!r} and {found[1]!r} without bounds; the file of "
            "--clusters has one pair of them. Call its columns 'maximum COLUMN'."
        )
    clusters = clusters_of(options)
    if clusters is not None and not any(clusters.bounds.values()):
        raise ValueError(
            f"--total is {found[0]!r}, but {clusters.table.name} has no column 'minimum' or "
            "'maximum' with its bounds."
        )
    return found[0]


def read_previous_labels(
    path: str,
    column: str,
    points: Points,
    id_column: str | None,
    clusters: Clusters | None,
    stay: float | None,
) -> Previous:
    """The labels of an earlier fit, in the order of the points.

    Rows of the file that are no points are counted; points that are not in it are free.  Names of
    clusters that are gone are counted in a warning, and their rows are free.
    """
    table = read_table(path, decimal=points.table.decimal)
    if column not in table.columns:
        others = ", ".join(list(table.columns)[:20])
        raise ValueError(
            f"{path} has no column {column!r}; --previous takes the labels that -o wrote, and "
            f"--previous-column names another of its columns: {others}."
        )
    texts, place = table.texts(column), _places(table, points, id_column)
    known = {} if clusters is None else {safe_text(n): j for j, n in enumerate(clusters.names)}
    labels, lost = np.full(len(points.X), -1), Counter[str]()
    for row, point in enumerate(place):
        text = safe_text(texts[row])
        if point < 0 or text.lower() in NO_NAME:
            continue
        if text in known:
            labels[point] = known[text]
        elif clusters is not None:
            lost[texts[row]] += 1
        elif text.isdecimal():
            labels[point] = int(text)
        else:
            raise ValueError(
                f"{table.name}, {table.place(row)}, column {column!r}: {text!r} is not the number "
                "of a cluster; give the names of the clusters by --clusters."
            )
    if lost and clusters is not None:
        said = ", ".join(f"{name!r} ({plural(n, 'row')})" for name, n in lost.most_common(5))
        warnings.warn(
            f"{table.name} names {plural(len(lost), 'cluster')} that {clusters.table.name} does "
            f"not have: {said}; their rows are free.",
            stacklevel=2,
        )
    return Previous(labels, stay, sum(point < 0 for point in place))


def _places(table: Table, points: Points, id_column: str | None) -> list[int]:
    """The point of each row of a file of labels, by its id; -1 for rows that are no points."""
    column = next((name for name in (id_column, "id") if name in table.columns), None)
    n_labels, n = len(next(iter(table.columns.values()))), len(points.X)
    if column is None:
        if n_labels != n:
            raise ValueError(
                f"{table.name} has {plural(n_labels, 'label')} and no column of ids, but "
                f"{points.table.name} has {plural(n, 'row')}; give both files a column of ids, and "
                "its name by --id-column."
            )
        return list(range(n))
    wanted = {safe_text(name): row for row, name in enumerate(points.names)}
    place, seen = [], set[str]()
    for row, text in enumerate(map(safe_text, table.texts(column))):
        if text in seen:
            raise ValueError(
                f"{table.name}, {table.place(row)}: the id {text!r} is there twice; ids must be "
                "unique."
            )
        seen.add(text)
        place.append(wanted.get(text, -1))
    if n_labels and max(place) < 0:
        raise ValueError(
            f"no id in the column {column!r} of {table.name} is that of a row of "
            f"{points.table.name}; {next(iter(seen))!r} is one there, and {points.names[0]!r} is "
            "one here. Name the column of ids by --id-column."
        )
    return place
