"""``corral fit --labels-out``: a file that is read block by block, and labels without a table."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from .output import Written, say

if TYPE_CHECKING:
    from .. import RowsOnDisk
    from .._typing import IntArray
    from .data import Points
    from .options import Options

#: Options that need all rows in memory, or names of them.
NEEDS_ROWS = (
    *("output", "id_column", "keep_columns", "plot", "prices", "header", "decimal"),
    *("connected", "bases", "previous", "territories"),
)


def refuse_rows(options: Mapping[str, Any]) -> None:
    """Raise ValueError for options that cannot be had with ``--labels-out``."""
    context = click.get_current_context()
    given = [name for name in NEEDS_ROWS if _given(context, name)]
    given += [
        name
        for name, value in (("scale", "none"), ("missing", "error"), ("method", "kmeans"))
        if options[name] != value
    ]
    if given:
        raise ValueError(
            f"--labels-out reads the rows block by block, which --{given[0].replace('_', '-')} "
            "cannot; leave one of them out."
        )


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def open_points(asked: Options, used: Sequence[str]) -> Points:
    """The rows of the file, which are not read, and the columns that the rules use, which are."""
    from .. import RowsOnDisk
    from .data import Points, Space
    from .tables import Table

    wanted = [name.strip() for given in asked.columns for name in given.split(",")]
    columns = wanted or [name for name in names_in(asked.points) if name not in used]
    parquet = names_in(asked.points)
    if used and not parquet:
        raise ValueError(f"{asked.points} has no columns with names, which the rules need.")
    try:
        X = RowsOnDisk(asked.points, columns if parquet else None)
    except TypeError as error:  # of a column
        raise ValueError(f"{error}  Here --columns does.") from error
    table = Table(asked.points, {name: column(X, name) for name in dict.fromkeys(used)})
    n, d = X.shape
    names = columns if parquet else [f"column {j}" for j in range(d)]
    space = Space(tuple(names), np.zeros(d), np.ones(d), np.zeros(d), asked.metric)
    weight = None if asked.weight is None else table.numbers(asked.weight)
    kept: Any = range(n)  # an array would take the memory of the labels
    rows: Any = X
    return Points(rows, None, table, space, weight, kept, None, n)


def names_in(path: str) -> list[str]:
    """Names of the columns of Parquet files; none of a ``.npy`` file."""
    from ..backends.disk.sources import PARQUET, parquet_files

    if not (Path(path).is_dir() or Path(path).suffix.lower() in PARQUET):
        return []
    from pyarrow import parquet

    return list(parquet.read_schema(parquet_files(Path(path))[0]).names)


def column(X: RowsOnDisk, name: str) -> Any:
    """A column of all files: numbers, or a list of texts."""
    from pyarrow import parquet

    found = []
    for file in X.source.files:
        with parquet.ParquetFile(file.path) as opened:
            if name not in opened.schema_arrow.names:
                known = ", ".join(opened.schema_arrow.names[:20])
                raise ValueError(f"{file.path} has no column {name!r}; its columns are {known}.")
            cells = opened.read([name])[name]
        found.append(np.asarray(cells.to_numpy(zero_copy_only=False)))
    return np.concatenate(found)


def write_labels_out(path: str, labels: IntArray, beside: Callable[[str], Any] | None) -> None:
    """Write the labels to a ``.npy`` or Parquet file, completely or not at all.

    Raises
    ------
    ValueError
        They cannot be written there; the message says where they are instead.
    """
    from ..constraints.files import atomic_writer

    try:
        with atomic_writer(path, beside) as file:
            _write(path, labels, file.buffer)
    except OSError as error:
        full = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise ValueError(
            f"the labels cannot be written to {path!r}: {full}.  No part of them is there."
        ) from error


def _write(path: str, labels: IntArray, file: Any) -> None:
    if Path(path).suffix.lower() == ".npy":
        np.save(file, labels)
        file.flush()
        return
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"label": labels}), file)


def finish(
    fitted: Any,
    points: Points,
    labels_out: str,
    written: Written,
    values: dict[str, Any],
    *,
    quiet: bool,
    as_json: bool,
) -> Any:
    """Write the labels and print the report, which it gives."""
    write_labels_out(labels_out, fitted.labels_, written.beside(labels_out))
    report = replace(fitted.report_, features=list(points.space.columns))
    if as_json:
        click.echo(json.dumps({**report.to_dict(), **values}, allow_nan=False))
    elif not quiet:
        say(str(report))
    return report
