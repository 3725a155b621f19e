"""The points of a file: which columns, which rows, and in which scale; the file of a model."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._text import expanded
from .._typing import FloatArray, IntArray
from ..constraints._checks import plural
from ..constraints.clusters import read_cluster_names
from ..constraints.files import atomic_writer
from ..geo.frames import DEGREES
from .options import Options
from .tables import Table, read_table

#: Columns that a sentence lists.
MOST_LISTED = 12


@dataclass(frozen=True)
class Space:
    """How points are made of columns: ``(values - middle) / width``, with ``fill`` in gaps.

    ``metric`` is what they are compared by.
    """

    columns: tuple[str, ...]
    middle: FloatArray
    width: FloatArray
    fill: FloatArray
    metric: str = "euclidean"

    @classmethod
    def of(
        cls, columns: Sequence[str], values: FloatArray, scale: str, metric: str = "euclidean"
    ) -> Space:
        """Scale these values, which may have gaps, as ``--scale`` says.

        A constant column becomes 0.
        """
        present = np.isfinite(values)
        if not present.any(axis=0).all():
            empty = columns[int(np.argmin(present.any(axis=0)))]
            raise ValueError(f"column {empty!r} has no value, so there is no mean to fill in.")
        fill = values.mean(axis=0, where=present)
        values = np.where(present, values, fill)
        low, high = values.min(axis=0), values.max(axis=0)
        middle, width = np.zeros(len(fill)), np.ones(len(fill))
        if scale == "minmax":
            middle, width = low, high - low
        elif scale == "standard":
            middle, width = values.mean(axis=0), values.std(axis=0)
        return cls(tuple(columns), middle, np.where(high > low, width, 1.0), fill, metric)

    def points(self, values: FloatArray) -> FloatArray:
        """The points of these values."""
        filled = np.where(np.isnan(values), self.fill, values)
        return np.asarray((filled - self.middle) / self.width)

    def values(self, points: FloatArray) -> FloatArray:
        """The values of these points, in the units of the columns."""
        return np.asarray(points * self.width + self.middle)


@dataclass(frozen=True)
class Points:
    """The points to cluster, and the table that they are from.

    ``table``, ``X``, ``ids`` and ``weight`` have the rows that are clustered.  ``kept`` holds
    their positions in the file, and ``all_ids`` the ids of all rows of the file.  ``using`` says
    which columns are used where no option names them one by one.
    """

    X: FloatArray
    ids: list[str] | None
    table: Table
    space: Space
    weight: FloatArray | None
    kept: IntArray
    all_ids: list[str] | None
    n_rows: int
    using: str = ""

    @property
    def complete(self) -> bool:
        """Whether no row of the file was dropped."""
        return len(self.kept) == self.n_rows

    @property
    def names(self) -> Sequence[Any]:
        """The ids, or the numbers of the rows in the file if there are no ids."""
        return self.kept.tolist() if self.ids is None else self.ids

    @property
    def called(self) -> Sequence[Any] | None:
        """Names for messages; None if the positions in X are the numbers of the rows."""
        return None if self.ids is None and self.complete else self.names


def load_points(
    options: Options,
    used_elsewhere: Sequence[str],
    numbers: Sequence[str] = (),
    space: Space | None = None,
    table: Table | None = None,
) -> Points:
    """Read the file and take the columns to cluster by.

    Columns that are used elsewhere are left out unless ``--columns`` names them.  ``numbers`` are
    those of them that must have a number in each row.  ``space`` is that of a fitted model.
    ``table`` is the file if it has been read before.
    """
    table = table or read_table(options.points, options.header, options.decimal)
    n_rows = len(next(iter(table.columns.values())))
    all_ids = None if options.id_column is None else _unique(table, options.id_column)
    columns, using = (space.columns, "") if space else _chosen(options, table, used_elsewhere)
    gaps = options.missing != "error"
    values = np.column_stack([table.numbers(name, gaps=gaps) for name in columns])
    kept = np.arange(n_rows)
    if options.missing == "drop":
        others = [table.numbers(name, gaps=True) for name in numbers]
        kept = np.flatnonzero(~np.isnan(np.column_stack([values, *others])).any(axis=1))
        table, values = _without(table, kept), values[kept]
    elif np.isnan(values).any():
        count = plural(int(np.isnan(values).sum()), "missing value")
        warnings.warn(f"{table.name}: the mean of the column replaces {count}.", stacklevel=2)
    metric = options.metric
    if table.frame is not None and tuple(columns) == DEGREES and metric == "euclidean":
        metric = "haversine"
    if metric == "haversine":
        _check_degrees(options, columns)
    space = space or Space.of(columns, values, options.scale, metric)
    ids = None if all_ids is None else [all_ids[row] for row in kept]
    weight = None if options.weight is None else table.numbers(options.weight)
    made = space.points(values)
    return Points(made, ids, table, space, weight, kept, all_ids, n_rows, using)


def _chosen(
    options: Options, table: Table, used_elsewhere: Sequence[str]
) -> tuple[Sequence[str], str]:
    """The columns to cluster by, and a sentence on them if patterns or texts decide.

    Columns of texts are left out unless ``--columns`` names them.
    """
    wanted = expanded(options.columns, table.columns, f"{table.name}, --columns")
    others = {options.id_column, options.weight, *used_elsewhere}
    free = [name for name in table.places or table.columns if name not in others]
    texts = [] if wanted else [name for name in free if table.is_text(name)]
    words = set(texts)
    chosen = wanted or [name for name in free if name not in words]
    if not chosen and texts:
        raise ValueError(
            f"{table.name} has no column of numbers to cluster by: {_listed(texts)} hold texts. "
            "Add columns of numbers, such as an embedding of the texts (docs/guide/annotation.md "
            "shows how)."
        )
    if not chosen:
        raise ValueError(f"{table.name} has no column left to cluster by; see --columns.")
    twice = next((name for name, count in Counter(chosen).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"--columns names {twice!r} twice; give each column once.")
    pattern = bool(wanted) and not {*",".join(options.columns).split(",")} >= {*wanted}
    return chosen, columns_used(table, chosen) if texts or pattern else ""


def columns_used(table: Table, chosen: Sequence[str]) -> str:
    """Which columns are used, and which are not."""
    used = set(chosen)
    left = [
        f"{name} (text)" if table.is_text(name) else name
        for name in table.columns
        if name not in used
    ]
    out = f"; left out: {_listed(left)}" if left else ""
    return f"using {len(chosen)} of {len(table.columns)} columns: {_listed(chosen)}{out}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _check_degrees(options: Options, columns: Sequence[str]) -> None:
    """Refuse what changes degrees, and columns in the wrong order."""
    from ..rows.metrics import refuse_columns

    if options.scale != "none":
        raise ValueError(f"--scale {options.scale} changes degrees; leave it out with haversine.")
    if options.missing == "mean":
        raise ValueError("--missing mean has no mean of longitudes; give error or drop.")
    refuse_columns(columns)


def _without(table: Table, kept: IntArray) -> Table:
    """The table of the rows that are kept, with a warning about the others."""
    n_rows = len(next(iter(table.columns.values())))
    if len(kept) == n_rows:
        return table
    if not len(kept):
        raise ValueError(f"{table.name}: each row lacks a value, so --missing drop leaves none.")
    first = table.place(int(np.setdiff1d(np.arange(n_rows), kept)[0]))
    dropped = plural(n_rows - len(kept), "row")
    warnings.warn(
        f"{table.name}: dropped {dropped} of {n_rows} without a value; the first is {first}.",
        stacklevel=2,
    )
    return table.take(kept)


def _unique(table: Table, name: str) -> list[str]:
    seen: dict[str, int] = {}
    for row, text in enumerate(table.texts(name)):
        if text in seen:
            raise ValueError(
                f"{table.name}, {table.place(row)}: the id {text!r} is already in "
                f"{table.place(seen[text])}; ids must be unique."
            )
        seen[text] = row
    return list(seen)


#: What the file of a model says it is.
MODEL = {"format": "corral model", "version": 1}


def write_model(
    path: str,
    space: Space,
    centers: FloatArray,
    beside: Callable[[str], object] | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Write what ``corral assign`` needs, completely or not at all; see ``atomic_writer``."""
    arrays = {"middle": space.middle, "width": space.width, "fill": space.fill, "centers": centers}
    values = {name: array.tolist() for name, array in arrays.items()}
    document = {**MODEL, "columns": space.columns, "metric": space.metric, **values}
    if names is not None:
        document["clusters"] = list(names)
    with atomic_writer(path, beside) as file:
        file.write(json.dumps(document, allow_nan=False) + "\n")


def read_model(path: str) -> tuple[Space, FloatArray, tuple[str, ...] | None]:
    """Read the columns, their scale, the centres and the names of clusters of a model's file."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file: {error}.") from error
    if not isinstance(found, dict) or any(found.get(key) != MODEL[key] for key in MODEL):
        raise ValueError(f"{path} is not a model; it must have {json.dumps(MODEL)[1:-1]}.")
    try:
        names = tuple(map(str, found["columns"]))
        middle, width, fill, centers = (
            np.array(found[name], np.float64) for name in ("middle", "width", "fill", "centers")
        )
        every = np.vstack([middle, width, fill, centers])
        metric = found.get("metric", "euclidean")  # files of corral before 0.5 have none
        known = metric in ("euclidean", "cosine", "haversine")
        fits = every.shape == (3 + len(centers), len(names))
        clusters = read_cluster_names(found.get("clusters"), len(centers))
        complete = known and fits and bool((width > 0).all())
    except (KeyError, TypeError, ValueError):
        complete, clusters = False, None
    if not complete or not np.isfinite(every).all():
        raise ValueError(f"{path} is not complete; write it again with corral fit --model.")
    return Space(names, middle, width, fill, metric), centers, clusters
