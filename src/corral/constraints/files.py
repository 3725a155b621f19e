"""Pairs in CSV files, texts of cells, and atomic writing of files."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, repeat
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._text import suggestion
from .._typing import BoolArray, FloatArray, IntArray
from ._checks import as_numbers, as_pairs, shortened, table_of

Rows = list[list[str]]

#: First characters of a cell that make spreadsheets read it as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\n")


@contextmanager
def atomic_writer(
    path: str | os.PathLike[str], beside: Callable[[str], object] | None = None
) -> Iterator[TextIO]:
    """Open a temporary text file that replaces ``path`` after everything has been written.

    If the block raises, ``path`` is unchanged.  A file that is replaced keeps its permissions, and
    a link stays a link: the file it points to is replaced.  Pipes and devices are written to.
    With ``beside`` nothing is replaced: if ``path`` exists at the end, the file gets a free name
    beside it, and ``beside`` is called with that name.
    """
    target = Path(os.path.realpath(path) if Path(path).is_symlink() else path)
    mode = _mode(Path(path))
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    # A file made by tempfile would be readable by its owner only, also after the replacement.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    # Nobody may read the draft of a file that is not for everybody.
    first = 0o666 if mode is None else 0o600
    try:
        with open(
            draft,
            "x",
            encoding="utf-8",
            newline="",
            opener=lambda name, flags: os.open(name, flags, first),
        ) as file:
            yield file
        if mode is not None:
            draft.chmod(mode & 0o777)
        if beside is None:
            draft.replace(target)
        else:
            _place_beside(draft, target, beside)
    finally:
        draft.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """Kind and permissions of a file, after links; None if there is none."""
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _place_beside(draft: Path, target: Path, beside: Callable[[str], object]) -> None:
    """Give a draft the name of the target, or a free name like it; never replace a file."""
    ending = "".join(target.suffixes[-2:] if target.suffix == ".gz" else target.suffixes[-1:])
    stem = target.name.removesuffix(ending)
    for number in count():
        name = target.with_name(f"{stem}-{number}{ending}") if number else target
        if _place(draft, name):
            if number:
                beside(str(name))
            return


def _place(draft: Path, name: Path) -> bool:
    """Move a draft to a name that is free; False if it is not."""
    try:
        os.link(draft, name)  # fails if the name exists, other than a replacement
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(name):
            return False
        draft.replace(name)
    return True


def text_of(data: bytes, name: str) -> str:
    """Decode the content of a UTF-8 text file, which may be compressed by gzip."""
    try:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {_not_utf8(data, error.start)}.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is not a complete gzip file: {error}.") from error


def _not_utf8(data: bytes, place: int) -> str:
    """What a file seems to be instead, and what to do."""
    if data.startswith(b"PK\x03\x04"):
        return "it seems to be an Excel file; give it the ending .xlsx, or save it as CSV UTF-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16; save it as CSV UTF-8, or convert it with iconv -f utf-16 -t utf-8"
    line = data.count(b"\n", 0, place) + 1
    first = data.rfind(b"\n", 0, place) + 1
    word = re.split(rb"[\s,;]", data[first:place])[-1] + re.split(rb"[\s,;]", data[place:])[0]
    return (
        f"line {line} has {word[:40].decode('latin-1')!r} in Latin-1 or another encoding; save it "
        "as CSV UTF-8, or convert it with iconv -f latin1 -t utf-8"
    )


def safe_text(value: Any) -> str:
    """The text of a cell of a CSV file, with an apostrophe before what would be a formula.

    Spreadsheets compute a cell that begins with =, +, -, @, a tab or a line break, and some
    formulas run programs.  Numbers stay as they are, with a decimal point or a decimal comma.
    A carriage return becomes a line feed, because the module csv puts no quotes around it.

    Examples
    --------
    >>> [safe_text(cell) for cell in ("=1+1", "-1,5", "ann")]
    ["'=1+1", '-1,5', 'ann']
    """
    text = str(value).replace("\r\n", "\n").replace("\r", "\n")
    formula = text.startswith(FORMULA) and not _reads(float, text.replace(",", "."))
    return f"'{text}" if formula else text


def read_pairs(path: str | os.PathLike[str], index: Iterable[Any] | None = None) -> IntArray:
    """Read pairs of rows from a CSV file.

    Parameters
    ----------
    path : path
        Two columns, or three columns of which the last is a weight (checked, but not returned).
        The separator is a comma, a semicolon or a tab.  Blank lines are skipped.  The file may be
        compressed by gzip.
    index : sequence, optional
        Names of the rows, if the file holds names instead of positions.

    Returns
    -------
    (p, 2) int array

    Raises
    ------
    ValueError
        The message names the file, the line and the wrong value.

    Notes
    -----
    A header is optional.  In a file of row numbers, a first line without numbers is a header if
    other lines follow it.  In a file of names, such a line could be a pair with typing errors.
    So in a file of names, and in a file of one line, the first line is a header only if none of
    its cells is the name of a row and it has a usual form: "first, second", "a, b", "i, j",
    "from, to", "source, target" or "left, right", also after a word such as "id" or "name"
    ("id_1, id_2"), or "weight" in the third column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.csv"
    ...     write_pairs(path, [(0, 2)], index=["ann", "bob", "eve"])
    ...     text, pairs = path.read_text(), read_pairs(path, index=["ann", "bob", "eve"])
    >>> text.split()
    ['first,second', 'ann,eve']
    >>> pairs
    array([[0, 2]])
    """
    return read_weighted_pairs(path, index)[0]


def read_weighted_pairs(
    path: str | os.PathLike[str], index: Iterable[Any] | None = None, *, decimal: str = "."
) -> tuple[IntArray, FloatArray | None]:
    """Read pairs like :func:`read_pairs`, and their weights if there is a third column.

    If ``decimal`` is a comma, the weights have decimal commas and the separator is no comma.
    """
    return pairs_of_cells(_cells(path, ",;\t".replace(decimal, "")), path, index, decimal=decimal)


def pairs_of_cells(
    lines: Rows,
    path: str | os.PathLike[str],
    index: Iterable[Any] | None = None,
    *,
    decimal: str = ".",
) -> tuple[IntArray, FloatArray | None]:
    """The pairs in the cells of all lines of a file, of which empty ones are blank lines."""
    table = None if index is None else table_of(index, as_text=True)
    numbers = 1 + np.flatnonzero(np.fromiter(map(len, lines), np.int64, len(lines)))
    rows = list(filter(None, lines))
    if rows and _is_header(rows, table):
        rows, numbers = rows[1:], numbers[1:]
    source = _Source(path, numbers)
    width = len(rows[0]) if rows else 2
    if width not in (2, 3):
        source.fail(0, f"{width} columns, but a pair has two, or three with its weight")
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    source.refuse(lengths != width, lengths, f"columns, but the lines before have {width}")
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    ends = [_positions(column, table, source, columns[:2]) for column in columns[:2]]
    pairs = np.column_stack(ends)
    source.refuse(pairs[:, 0] == pairs[:, 1], columns[0], "is paired with itself")
    if width == 2:
        return pairs, None
    written = [cell.replace(decimal, ".") for cell in columns[2]]
    weights = _numbers(np.float64, written, source, "weight {!r} is not a number")
    fault = "is not a valid weight; it must be above 0, or inf for a hard pair"
    source.refuse(~(weights > 0), weights, fault)
    return pairs, weights


def write_pairs(
    path: str | os.PathLike[str],
    pairs: ArrayLike,
    weight: ArrayLike | None = None,
    index: Sequence[Any] | None = None,
) -> None:
    """Write pairs, and weights if given, to a CSV file with a header.

    After an error the old file is unchanged.

    Parameters
    ----------
    path : path
    pairs : (p, 2) int array
    weight : (p,) array, optional
    index : sequence, optional
        Names to write instead of positions.

    Raises
    ------
    ValueError
        If ``pairs`` has a wrong shape, a row has no name, or a pair has no weight.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_pairs(Path(folder) / "pairs.csv", [(0, 5), (5, 7)], weight=[1.0, 2.5])
    ...     print((Path(folder) / "pairs.csv").read_text(), end="")
    first,second,weight
    0,5,1.0
    5,7,2.5
    """
    rows = as_pairs(pairs, "pairs")
    columns = [column.tolist() for column in rows.T]
    header = ["first", "second"]
    if index is not None:
        if rows.size and not 0 <= rows.min() <= rows.max() < len(index):
            raise ValueError(f"pairs name row {rows.max()}, but index has {len(index)} names.")
        columns = [[safe_text(index[row]) for row in column] for column in columns]
    if weight is not None:
        values = as_numbers(weight, "weight")
        if values.shape != rows.shape[:1]:
            fault = f"it must be one per pair, {len(rows)}"
            raise ValueError(f"weight has shape {values.shape}; {fault}.")
        columns.append(values.tolist())
        header.append("weight")
    with atomic_writer(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))


class _Source:
    """The file and the line numbers of its rows, for error messages."""

    def __init__(self, path: str | os.PathLike[str], numbers: IntArray) -> None:
        self.path, self.numbers = path, numbers

    def fail(self, row: int, fault: str) -> NoReturn:
        raise ValueError(f"{os.fspath(self.path)}, line {self.numbers[row]}: {fault}.")

    def refuse(self, wrong: BoolArray, values: Any, fault: str) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            self.fail(row, f"{values[row]} {fault}")


def _cells(path: str | os.PathLike[str], separators: str) -> Rows:
    """Split all lines at the first of the separators that is in the first line."""
    if Path(path).suffix.lower() == ".xlsx":
        raise ValueError(
            f"{os.fspath(path)} is an Excel file, which corral fit reads; in Python give "
            "MustLink(pandas.read_excel(path).to_numpy(), index=names), or save it as CSV UTF-8."
        )
    text = text_of(Path(path).read_bytes(), os.fspath(path))
    first = text.lstrip().partition("\n")[0]
    delimiter = next((mark for mark in separators if mark in first), separators[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(reader)
    except csv.Error as error:
        raise ValueError(f"{os.fspath(path)}, line {reader.line_num}: {error}.") from error


#: Usual column names for the two ends of a pair.
END = re.compile(
    r"(first|second|from|to|source|target|left|right|[abij]"
    r"|(id|name|row|sample|point|item|node|index|key)[ _.-]?([abij12]|first|second))",
    re.IGNORECASE,
)


def _is_header(rows: Rows, table: dict[str, int] | None) -> bool:
    """Whether the first line is a header; see the notes of :func:`read_pairs`."""
    cells = [cell.strip() for cell in rows[0]]
    if table is not None and any(cell in table for cell in cells[:2]):
        return False
    if all(END.fullmatch(cell) for cell in cells[:2]) or cells[2:3] in (["weight"], ["Weight"]):
        return True
    return table is None and len(rows) > 1 and not any(_reads(np.float64, c) for c in cells[:2])


def _positions(
    cells: Sequence[str],
    table: dict[str, int] | None,
    source: _Source,
    both: Sequence[Sequence[str]],
) -> IntArray:
    if table is not None:
        found = np.fromiter(map(table.get, cells, repeat(-1)), np.int64, len(cells))
        if (found < 0).any():  # names may have blanks around them, or be written by safe_text
            plain = {safe_text(name): row for name, row in table.items()}
            found = np.array([table.get(c, plain.get(safe_text(c.strip()), -1)) for c in cells])
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            known = shortened(map(repr, table), len(table), 5)
            hint = suggestion(cells[row].strip(), table)
            strange = all(column[0].strip() not in table for column in both)
            head = (
                "; if the line is a header, call its columns first and second, or delete it"
                if row == 0 and source.numbers[0] == 1 and strange and len(cells) > 1
                else ""
            )
            source.fail(row, f"{cells[row]!r} names no row{hint}; the rows are {known}{head}")
        return found
    fault = "{!r} is not the number of a row; to use names, pass index= (or --id-column)"
    found = _numbers(np.int64, cells, source, fault)
    source.refuse(found < 0, found, "is negative; rows count from 0")
    return found


def _numbers(kind: type, cells: Sequence[str], source: _Source, fault: str) -> NDArray[Any]:
    try:
        return np.array(cells, kind)
    except (ValueError, OverflowError):
        row = next(row for row, cell in enumerate(cells) if not _reads(kind, cell))
        source.fail(row, fault.format(cells[row]))


def _reads(kind: type, cell: str) -> bool:
    try:
        kind(cell)
    except (ValueError, OverflowError):
        return False
    return True
