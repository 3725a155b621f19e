"""Read the points and the other columns of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import FloatArray
from .options import Options

#: Cells without a value, in lower case.
BLANK = ("", "nan", "na", "null", "none")
#: Delimiters to try, by the ending of the file; the most frequent in the first line is used.
DELIMITERS = {".csv": ",;\t", ".txt": ",;\t", ".tsv": "\t", ".tab": "\t"}
FORMATS = "CSV, TSV, Parquet and npy"


@dataclass(frozen=True)
class Table:
    """Named columns of a file, which are texts in CSV and TSV.

    ``lines`` holds the line number of each row in a text file, for messages.
    """

    path: str
    columns: dict[str, Sequence[Any]]
    lines: Sequence[int] | None = None

    def column(self, name: str) -> Sequence[Any]:
        """Give a column by its name."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:20])
            raise ValueError(f"{self.path} has no column {name!r}; its columns are {known}.")
        return self.columns[name]

    def texts(self, name: str) -> list[str]:
        """Give a column as texts."""
        return ["" if cell is None else str(cell).strip() for cell in self.column(name)]

    def numbers(self, name: str) -> FloatArray:
        """Give a column as finite numbers."""
        cells = self.column(name)
        try:
            values = np.asarray(cells, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array([_number(cell) for cell in cells])
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"{self.path}, {self.place(row)}, column {name!r}: {str(cells[row])!r} is not a "
                "finite number; choose columns with --columns, or name ids with --id-column."
            )
        return values

    def place(self, row: int) -> str:
        """Say where a row is in the file."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"


@dataclass(frozen=True)
class Points:
    """The points to cluster, scaled as ``--scale`` says, and the table that they are from."""

    X: FloatArray
    ids: list[str] | None
    table: Table

    @property
    def names(self) -> Sequence[Any]:
        """The ids, or the row numbers if there are no ids."""
        return range(len(self.X)) if self.ids is None else self.ids


def load_points(options: Options, used_elsewhere: Sequence[str]) -> Points:
    """Read the file and take the columns to cluster by.

    Columns that are used elsewhere are left out unless ``--columns`` names them.
    """
    table = read_table(options.points, options.header)
    ids = None if options.id_column is None else _unique(table, options.id_column)
    wanted = [name.strip() for given in options.columns for name in given.split(",")]
    others = {options.id_column, *used_elsewhere}
    chosen = wanted or [name for name in table.columns if name not in others]
    if not chosen:
        raise ValueError(f"{table.path} has no column left to cluster by; see --columns.")
    X = np.column_stack([table.numbers(name) for name in chosen])
    return Points(_scaled(X, options.scale), ids, table)


def read_table(path: str, header: bool | None = None) -> Table:
    """Read a file by its ending.

    ``header`` says whether the first line of a text file names the columns.  By default it does
    if none of its cells is a number.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        return _read_npy(path)
    if suffix in (".parquet", ".pq"):
        return _read_parquet(path)
    if suffix in DELIMITERS:
        return _read_text(path, DELIMITERS[suffix], header)
    raise ValueError(f"{path}: files of kind {suffix or path!r} cannot be read; {FORMATS} can.")


def _read_text(path: str, delimiters: str, header: bool | None) -> Table:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from error
    first = text.lstrip().partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(delimiters, key=first.count))
    try:
        rows = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}.") from error
    if header is None:
        header = bool(rows) and not any(np.isfinite(_number(cell)) for cell in rows[0][1])
    names = [cell.strip() for cell in rows[0][1]] if header and rows else []
    body = rows[1:] if header else rows
    if not body:
        raise ValueError(f"{path} has no rows.")
    names = names or [str(number) for number in range(len(body[0][1]))]
    _check_unique_names(path, names)
    for line, row in body:
        if len(row) != len(names):
            raise ValueError(
                f"{path}, line {line}: {len(row)} cells, but there are {len(names)} columns."
            )
    cells = zip(*(row for _, row in body), strict=True)
    return Table(path, dict(zip(names, cells, strict=True)), [line for line, _ in body])


def _check_unique_names(path: str, names: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"{path} has two columns {twice!r}; names of columns must be unique.")


def _read_npy(path: str) -> Table:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not an npy file of numbers: {error}.") from error
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iuf":
        raise ValueError(
            f"{path} holds {array.dtype} of shape {array.shape}; it must be a table of numbers."
        )
    return Table(path, {str(number): column for number, column in enumerate(array.T)})


def _read_parquet(path: str) -> Table:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{path}: Parquet needs pyarrow, which is not installed: pip install 'corral[parquet]'",
            name="pyarrow",
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file: {error}.") from error
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{path} has no rows.")
    _check_unique_names(path, table.column_names)
    return Table(path, {name: table[name].to_pylist() for name in table.column_names})


def _unique(table: Table, name: str) -> list[str]:
    seen: dict[str, int] = {}
    for row, text in enumerate(table.texts(name)):
        if text in seen:
            raise ValueError(
                f"{table.path}, {table.place(row)}: the id {text!r} is already in "
                f"{table.place(seen[text])}; ids must be unique."
            )
        seen[text] = row
    return list(seen)


def _scaled(X: FloatArray, how: str) -> FloatArray:
    """Scale the columns; a constant column becomes 0."""
    if how == "none":
        return X
    low, high = X.min(axis=0), X.max(axis=0)
    middle = low if how == "minmax" else X.mean(axis=0)
    width = high - low if how == "minmax" else X.std(axis=0)
    return np.asarray((X - middle) / np.where(high > low, width, 1.0))


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
