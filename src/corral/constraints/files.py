"""Pairs in CSV files, and files that are either written whole or not at all."""

from __future__ import annotations

import csv
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np
from numpy.typing import ArrayLike

from .._typing import BoolArray, FloatArray, IntArray

Rows = list[list[str]]


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` only when all is written."""
    target = Path(path)
    # Not tempfile: its files are private, and the mode would survive the replacement.
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("x", encoding="utf-8", newline="") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def read_pairs(path: str | os.PathLike[str], index: Iterable[Any] | None = None) -> IntArray:
    """Read pairs of rows from a CSV file.

    Parameters
    ----------
    path : path
        Two columns, or three of which the last is a weight (checked, but not returned); a header
        is optional, blank lines are skipped.
    index : sequence, optional
        Names of the rows; the file then holds names instead of positions.

    Returns
    -------
    (p, 2) int array

    Raises
    ------
    ValueError
        With the file, the line and the value at fault.
    """
    return read_weighted_pairs(path, index)[0]


def read_weighted_pairs(
    path: str | os.PathLike[str], index: Iterable[Any] | None = None
) -> tuple[IntArray, FloatArray | None]:
    """Read pairs as :func:`read_pairs` does, and their weights if there is a third column."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file))
    table = None if index is None else _text_table(index)
    numbers = 1 + np.flatnonzero(np.fromiter(map(len, lines), np.int64, len(lines)))
    rows = list(filter(None, lines))
    if rows and _is_header(rows[0], table):
        rows, numbers = rows[1:], numbers[1:]
    source = _Source(path, numbers)
    width = len(rows[0]) if rows else 2
    if width not in (2, 3):
        source.fail(0, f"{width} columns, but a pair has two, or three with its weight")
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    source.refuse(lengths != width, lengths, f"columns, but the lines before have {width}")
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    ends = [_positions(column, table, source) for column in columns[:2]]
    pairs = np.column_stack(ends)
    source.refuse(pairs[:, 0] == pairs[:, 1], columns[0], "is paired with itself")
    return pairs, _weights(columns[2], source) if width == 3 else None


def write_pairs(
    path: str | os.PathLike[str],
    pairs: ArrayLike,
    weight: ArrayLike | None = None,
    index: Sequence[Any] | None = None,
) -> None:
    """Write pairs, and weights if given, to a CSV file with a header; all or nothing.

    Parameters
    ----------
    path : path
    pairs : (p, 2) int array
    weight : (p,) array, optional
    index : sequence, optional
        Names to write instead of positions.
    """
    columns = list(np.asarray(pairs).reshape(-1, 2).T.tolist())
    header = ["first", "second"]
    if index is not None:
        columns = [[index[row] for row in column] for column in columns]
    if weight is not None:
        columns.append(np.asarray(weight).tolist())
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


def _text_table(index: Iterable[Any]) -> dict[str, int]:
    names = [str(name) for name in index]
    table = dict(zip(names, range(len(names)), strict=True))
    if len(table) < len(names):
        double = next(name for i, name in enumerate(names) if table[name] != i)
        raise ValueError(f"index holds {double!r} more than once; names of rows must be unique.")
    return table


def _is_header(cells: list[str], table: dict[str, int] | None) -> bool:
    if table is not None:
        return not any(cell in table for cell in cells[:2])
    return not any(cell.strip().lstrip("+-").replace(".", "").isdigit() for cell in cells[:2])


def _positions(cells: Sequence[str], table: dict[str, int] | None, source: _Source) -> IntArray:
    if table is not None:
        found = np.fromiter(map(table.get, cells, repeat(-1)), np.int64, len(cells))
        source.refuse(found < 0, cells, "is not in index")
        return found
    try:
        found = np.fromiter(map(int, cells), np.int64, len(cells))
    except (ValueError, OverflowError):
        row = next(row for row, cell in enumerate(cells) if not _fits(cell))
        source.fail(row, f"{cells[row]!r} is not an integer that could be a row")
    source.refuse(found < 0, found, "is negative; rows count from 0")
    return found


def _fits(cell: str) -> bool:
    try:
        return abs(int(cell)) < 2**63
    except ValueError:
        return False


def _weights(cells: Sequence[str], source: _Source) -> FloatArray:
    try:
        weights = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
        source.fail(row, f"weight {cells[row]!r} is not a number")
    source.refuse(~(weights > 0), weights, "is no weight; it must be above 0, inf for hard")
    return weights


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
