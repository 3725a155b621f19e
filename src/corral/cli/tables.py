"""Read and write tables: CSV and TSV, also compressed, Excel, Parquet and npy."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .._text import suggestion
from .._typing import FloatArray, IntArray
from ..constraints.files import atomic_writer, safe_text, text_of
from ..sheets import write_sheets

#: Cells without a value, in lower case.
BLANK = ("", "nan", "na", "null", "none")
#: Delimiters to try, by the ending of the file; the most frequent in the first line is used.
DELIMITERS = {".csv": ",;\t", ".txt": ",;\t", ".tsv": "\t", ".tab": "\t"}
#: Texts that are the same as a number: integers, and numbers with a point or an exponent.
WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+([eE][-+]?\d+)?|[eE][-+]?\d+)", re.ASCII)
#: Endings of formats in which a cell has a type.
TYPED = (".xlsx", ".parquet", ".pq", ".npy")
#: Endings of files of shapes.
SHAPES = (".geojson", ".gpkg", ".shp", ".fgb")
#: Endings of other programs' sheets, and of old ones.
SHEETS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")
FORMATS = "CSV, TSV, Excel, Parquet, npy, GeoJSON, GeoPackage and shapefiles"
#: Part of the cells up to which numbers are an accident in a column of texts, such as codes.  In a
#: column with more numbers, a cell that is none is taken for a mistake.
MOST_NUMBERS = 0.5
#: Cells, spread over a column, from which that is judged; more take longer.
MOST_JUDGED = 1_000
#: Longest text that can be the name of a row, in characters; longer ones are what it is about.
LONGEST_NAME = 100
#: Bytes of a text file that are read for the names of its columns only.
HEAD_BYTES = 65_536

#: Names and cells of columns: sequences or arrays.
Columns = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Named columns of a file, which are texts in CSV and TSV.

    ``lines`` holds the line number of each row in a text file or of a sheet, for messages.
    ``frame`` has the shapes of a file of shapes, and ``places`` the columns of their middles.
    """

    path: str
    columns: Columns
    lines: Sequence[int] | None = None
    decimal: str = "."
    frame: Any = None
    places: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What messages call the file."""
        return "standard input" if self.path == "-" else self.path

    def column(self, name: str) -> Sequence[Any]:
        """Give a column by its name."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:20])
            hint = suggestion(name, self.columns)
            raise ValueError(f"{self.name} has no column {name!r}{hint}; its columns are {known}.")
        cells: Sequence[Any] = self.columns[name]
        return cells

    def texts(self, name: str) -> list[str]:
        """Give a column as texts."""
        return ["" if cell is None else str(cell).strip() for cell in self.column(name)]

    def numbers(self, name: str, *, gaps: bool = False) -> FloatArray:
        """Give a column as finite numbers; with ``gaps``, cells without a value are NaN."""
        cells = self.column(name)
        values = as_numbers(cells, self.decimal)
        wrong = np.flatnonzero(~np.isfinite(values)).tolist()
        row = next((row for row in wrong if not (gaps and _is_blank(cells[row]))), None)
        if row is not None:
            hint = "choose columns with --columns, or name ids with --id-column"
            if self.is_text(name):
                hint = "the column holds texts; leave it out of --columns, --total and --weight"
            if _is_blank(cells[row]):
                hint = "--missing says what to do with rows without a value"
            elif np.isfinite(_number(cells[row], ",")):
                hint = "give --decimal , if it has a decimal comma"
            raise ValueError(
                f"{self.name}, {self.place(row)}, column {name!r}: {str(cells[row])!r} is not a "
                f"finite number; {hint}."
            )
        return values

    def is_text(self, name: str) -> bool:
        """Whether most cells of a column that have a value are no numbers."""
        every = self.column(name)
        some = every[:: max(len(every) // MOST_JUDGED, 1)]
        cells = [cell for cell in some if not _is_blank(cell)]
        # Numbers with another decimal mark are no texts, but a mistake.
        shares = (float(np.isfinite(as_numbers(cells, mark)).mean()) for mark in ".,")
        return bool(cells) and all(share < MOST_NUMBERS for share in shares)

    def take(self, rows: IntArray) -> Table:
        """The table of some of the rows."""
        columns = {name: [column[row] for row in rows] for name, column in self.columns.items()}
        lines = None if self.lines is None else [self.lines[row] for row in rows]
        frame = None if self.frame is None else self.frame.iloc[rows]
        return replace(self, columns=columns, lines=lines, frame=frame)

    def place(self, row: int) -> str:
        """Say where a row is in the file."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"


def ending_of(path: str) -> str:
    """The ending that says the format, such as ``.csv`` or ``.csv.gz``, in lower case."""
    *_, inner, last = ["", "", *(part.lower() for part in Path(path).suffixes)]
    return inner + last if last == ".gz" else last


def read_table(
    path: str, header: bool | None = None, decimal: str = ".", *, head: bool = False
) -> Table:
    """Read a file by its ending; ``-`` is text from the standard input.

    ``header`` says whether the first line of a text file or sheet names the columns.  By default
    it does if none of its cells is a number.  With ``head`` only the first rows are read.
    """
    ending = ".csv" if path == "-" else ending_of(path)
    if Path(path).is_dir():
        raise ValueError(
            f"{path} is a directory; only corral fit --labels-out reads one, of Parquet files."
        )
    if ending in SHAPES:
        return _read_shapes(path)
    if ending == ".npy":
        return _read_npy(path, head)
    if ending in (".parquet", ".pq"):
        return _read_parquet(path, head)
    if ending == ".xlsx":
        return _tabulated(Table(path, {}, decimal=decimal), _sheet_rows(path, head), header)
    if ending.removesuffix(".gz") in DELIMITERS:
        delimiters = DELIMITERS[ending.removesuffix(".gz")].replace(decimal, "")
        rows = _text_rows(path, delimiters, head)
        return _tabulated(Table(path, {}, decimal=decimal), rows, header)
    remedy = " Save it as .xlsx or as CSV UTF-8." if ending in SHEETS else ""
    raise ValueError(
        f"{path}: files of kind {ending or path!r} cannot be read; {FORMATS} can.{remedy}"
    )


def _text_rows(path: str, delimiters: str, head: bool) -> list[tuple[int, list[str]]]:
    name = "standard input" if path == "-" else path
    text = text_of(_bytes(path, head), name)
    first = text.lstrip().partition("\n")[0]
    delimiter = max(delimiters, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}.") from error


def _bytes(path: str, head: bool) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise ValueError("POINTS is the standard input, which is closed; give a file.")
        return sys.stdin.buffer.read()
    if not head:
        return Path(path).read_bytes()
    with gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as file:
        data = file.read(HEAD_BYTES)
    return data[: data.rfind(b"\n") + 1] if len(data) == HEAD_BYTES else data


def _tabulated(
    empty: Table, rows: Sequence[tuple[int, Sequence[Any]]], header: bool | None
) -> Table:
    """Make a table of rows with their line numbers; the first row may name the columns."""
    if header is None:
        cells = rows[0][1] if rows else ()
        header = bool(rows) and not any(np.isfinite(_number(c, empty.decimal)) for c in cells)
    names = [str(cell).strip() for cell in rows[0][1]] if header and rows else []
    body = rows[1:] if header else rows
    if not body:
        raise ValueError(f"{empty.name} has no rows.")
    names = names or [str(number) for number in range(len(body[0][1]))]
    _check_unique_names(empty.name, names)
    for line, row in body:
        if len(row) != len(names):
            raise ValueError(
                f"{empty.name}, line {line}: {len(row)} cells, but there are {len(names)} columns."
            )
    columns = dict(zip(names, zip(*(row for _, row in body), strict=True), strict=True))
    return replace(empty, columns=columns, lines=[line for line, _ in body])


def _check_unique_names(path: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{path} has two columns {name!r}; names of columns must be unique.")
        seen.add(name)


def _read_npy(path: str, head: bool) -> Table:
    with Path(path).open("rb") as file:
        if file.read(4) in (b"PK\x03\x04", b"PK\x05\x06"):  # numpy would read a zip file too
            raise ValueError(f"{path} is an npz file, of several arrays; it must be an npy file.")
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r" if head else None)
    except (ValueError, EOFError, MemoryError) as error:
        raise ValueError(f"{path} is not an npy file of numbers: {error}.") from error
    if array.dtype.names and array.ndim == 1 and array.size:  # labels that corral wrote
        return Table(path, {name: array[name].tolist() for name in array.dtype.names})
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iuf":
        raise ValueError(
            f"{path} holds {array.dtype} of shape {array.shape}; it must be a table of numbers."
        )
    return Table(path, {str(number): column for number, column in enumerate(array.T)})


def _read_shapes(path: str) -> Table:
    """The columns of a file of shapes, and the coordinates of their middles."""
    from ..geo.frames import coordinates
    from ..geo.territories import read

    require("geopandas", "geo", path)
    frame = read(path)
    try:
        middles = coordinates(frame)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    columns = {
        str(name): frame[name].tolist() for name in frame.columns if name != frame.geometry.name
    }
    clash = [name for name in middles.columns if name in columns]
    if clash:
        warnings.warn(
            f"{path}: the middles of the shapes take the place of the column {clash[0]!r}.",
            stacklevel=2,
        )
    columns |= {name: middles[name].to_numpy() for name in middles.columns}
    return Table(path, columns, frame=frame, places=tuple(middles.columns))


def _read_parquet(path: str, head: bool) -> Table:
    require("pyarrow", "parquet", path)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            table = pa.Table.from_batches(file.iter_batches(1)) if head else file.read()
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file: {error}.") from error
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{path} has no rows.")
    _check_unique_names(path, table.column_names)
    return Table(path, {name: table[name].to_pylist() for name in table.column_names})


def _sheet_rows(path: str, head: bool) -> list[tuple[int, list[Any]]]:
    """The rows of the first sheet that have cells, with their numbers in the sheet."""
    require("openpyxl", "xlsx", path)
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [*book.worksheets[0].iter_rows(max_row=2 if head else None, values_only=True)]
        book.close()
    except Exception as error:  # the library raises errors of many kinds
        raise ValueError(f"{path} cannot be read as an Excel file: {error}.") from error
    # Sheets may have empty cells at the right and empty rows below.
    widths = [max((i for i, c in enumerate(row, 1) if c is not None), default=0) for row in rows]
    most = max(widths, default=0)
    padded = ([*row[:most], *[None] * (most - len(row))] for row in rows)
    numbered = enumerate(zip(padded, widths, strict=True), start=1)
    return [(line, ["" if c is None else c for c in row]) for line, (row, wide) in numbered if wide]


def read_pair_cells(path: str, decimal: str) -> list[list[str]]:
    """The cells of the first sheet of an Excel file as a CSV file of pairs would have them."""
    lines: list[list[str]] = []
    for line, cells in _sheet_rows(path, head=False):
        lines += [[] for _ in range(line - len(lines) - 1)]
        lines.append([_of_pair(cell, decimal) for cell in cells])
    return lines


def _of_pair(cell: Any, decimal: str) -> str:
    """A cell as a text; a number of a row has no decimal point."""
    whole = isinstance(cell, float) and cell.is_integer()
    text = str(int(cell) if whole else cell).strip()
    return text.replace(".", decimal) if isinstance(cell, float) else text


def names_column(table: Table) -> str | None:
    """The first column of short texts in which none is twice or missing; None if there is none."""
    for name in table.columns:
        texts = table.texts(name) if table.is_text(name) else []
        short = texts and max(map(len, texts)) <= LONGEST_NAME
        if short and all(texts) and len(set(texts)) == len(texts):
            return name
    return None


def require(module: str, extra: str, what: str) -> None:
    """Raise an error if a module that only some formats need is not installed."""
    if find_spec(module) is None:
        raise ModuleNotFoundError(
            f"{what} needs {module}, which is not installed: "
            f"pip install 'corral-clustering[{extra}]'",
            name=module,
        )


def _is_blank(cell: Any) -> bool:
    return cell is None or cell != cell or str(cell).strip().lower() in BLANK


def as_numbers(cells: Sequence[Any], decimal: str) -> FloatArray:
    """All cells as numbers, NaN where they are none."""
    if decimal == ".":
        try:
            values = np.asarray(cells, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty((0, 0))
        if values.ndim == 1:  # not lists in cells
            return values
    return np.array([_number(cell, decimal) for cell in cells])


def _number(cell: Any, decimal: str) -> float:
    try:
        if decimal == "," and isinstance(cell, str):
            # A point would separate thousands.
            return float(cell.replace(".", "?").replace(",", "."))
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def write_table(
    path: str,
    columns: Columns,
    decimal: str = ".",
    ids: str | None = None,
    by: str | None = None,
    **how: Any,
) -> None:
    """Write a table in the format of the file's ending, completely or not at all.

    ``ids`` names the column whose cells are names and not quantities.  ``by`` names one of labels:
    an Excel file has a sheet more for each of these, with the rows that have it.  ``how`` is for
    :func:`~corral.constraints.files.atomic_writer`.
    """
    ending = ending_of(path)
    if ending in TYPED:
        found = {name: typed(cells, decimal, name == ids) for name, cells in columns.items()}
        # A column of an array has one type, so numbers with gaps stay the texts that they are.
        one_type = ending == ".npy"
        columns = {
            name: columns[name] if one_type and any(isinstance(c, str) for c in cells) else cells
            for name, cells in found.items()
        }
    with atomic_writer(path, **how) as file:
        if by is not None and ending == ".xlsx":
            _write_sheet(file, columns, decimal, by)
        else:
            WRITERS[ending](file, columns, decimal)


def typed(cells: Sequence[Any], decimal: str, ids: bool) -> Sequence[Any]:
    """The numbers of a column of texts that are all numbers or blank; others as they are.

    A text that would not be the same as a number stays a text, with its column: one with leading
    zeros or a plus sign, and an integer of more than 15 digits, which spreadsheets round.  Ids are
    names, and become numbers only if they are integers.

    Examples
    --------
    >>> typed(("1", "", "2.50"), ".", False), typed(("01", "2"), ".", False)
    ([1, '', 2.5], ('01', '2'))
    """
    if isinstance(cells, np.ndarray) or not all(isinstance(cell, str) for cell in cells):
        return cells
    form = WHOLE if ids else NUMBER
    found: list[Any] = []
    for cell in cells:
        text = cell.strip()
        plain = text if decimal == "." else text.replace(".", "?").replace(decimal, ".")
        if text.lower() in BLANK:
            found.append(cell)
        elif WHOLE.fullmatch(plain):
            found.append(int(plain))
        elif form.fullmatch(plain) and np.isfinite(float(plain)):
            found.append(float(plain))
        else:
            return cells
    return found


def write_csv(
    file: TextIO, columns: Columns, decimal: str = ".", delimiter: str | None = None
) -> None:
    """Write a header and the rows to an open file; with decimal commas the delimiter is ``;``.

    Arrays are numbers that corral computed, and have 10 digits.  Other columns are the user's
    cells, in which formulas are made safe.
    """

    def cells(column: Sequence[Any]) -> list[str]:
        if isinstance(column, np.ndarray):
            return [f"{value:.10g}".replace(".", decimal) for value in column.tolist()]
        return ["" if cell is None else safe_text(cell) for cell in column]

    delimiter = delimiter or (";" if decimal == "," else ",")
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(safe_text, columns))
    writer.writerows(zip(*map(cells, columns.values()), strict=True))


def _write_tsv(file: TextIO, columns: Columns, decimal: str) -> None:
    write_csv(file, columns, decimal, delimiter="\t")


def _packed(write: Writer) -> Writer:
    """The same format, compressed by gzip; without a time, so that equal tables are equal files."""

    def write_packed(file: TextIO, columns: Columns, decimal: str) -> None:
        with (
            gzip.GzipFile("", "wb", fileobj=file.buffer, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            write(text, columns, decimal)

    return write_packed


def _write_npy(file: TextIO, columns: Columns, decimal: str) -> None:
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    arrays = {name: a.astype(str) if a.dtype.kind == "O" else a for name, a in arrays.items()}
    kinds = [(name, array.dtype) for name, array in arrays.items()]
    rows = np.empty(len(next(iter(arrays.values()))), dtype=kinds)
    for name, array in arrays.items():
        rows[name] = array
    np.save(file.buffer, rows, allow_pickle=False)


def _write_parquet(file: TextIO, columns: Columns, decimal: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({n: _nulls(c) for n, c in columns.items()}), file.buffer)


def _nulls(cells: Sequence[Any]) -> Sequence[Any]:
    """Nothing instead of the blank texts of a column of numbers."""
    if isinstance(cells, np.ndarray) or all(isinstance(cell, str) for cell in cells):
        return cells
    return [None if isinstance(cell, str) and _is_blank(cell) else cell for cell in cells]


def _write_sheet(file: TextIO, columns: Columns, decimal: str, by: str | None = None) -> None:
    write_sheets(file.buffer, columns, by)


Writer = Callable[[TextIO, Columns, str], None]

WRITERS: dict[str, Writer] = {
    ".csv": write_csv,
    ".txt": write_csv,
    ".tsv": _write_tsv,
    ".tab": _write_tsv,
    ".csv.gz": _packed(write_csv),
    ".tsv.gz": _packed(_write_tsv),
    ".xlsx": _write_sheet,
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}
