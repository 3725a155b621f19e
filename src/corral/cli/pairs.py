"""Pairs from a column of the table itself: each cell names the rows that its row is paired with."""

from __future__ import annotations

import re

import numpy as np

from .._text import suggestion
from .._typing import IntArray
from .data import Points
from .tables import BLANK

#: What stands between several names in a cell; the first of them that it has is used.
BETWEEN = (";", "|", "\n", ",")


def pairs_of_columns(column: str, points: Points) -> IntArray:
    """The pairs of rows of the file that the cells of a column name, each once.

    Raises
    ------
    ValueError
        A cell names no row, or its own.
    """
    texts = points.table.texts(column)
    rows = points.kept.tolist()
    names = points.all_ids or [str(row) for row in range(points.n_rows)]
    place = {name: row for row, name in enumerate(names)}
    folded: dict[str, list[int]] = {}
    for name, row in place.items():
        folded.setdefault(name.casefold(), []).append(row)
    pairs: dict[frozenset[int], tuple[int, int]] = {}
    for number, text in enumerate(texts):
        for name in _names_in(text, place):
            alike = folded.get(name.casefold(), [])
            other = place.get(name, alike[0] if len(alike) == 1 else None)
            where = f"{points.table.name}, {points.table.place(number)}, column {column!r}"
            if other is None:
                raise ValueError(f"{where}: {name!r} names no row{_remedy(name, points)}.")
            if other == rows[number]:
                raise ValueError(f"{where}: {name!r} is the row itself; name another one.")
            pairs.setdefault(frozenset((rows[number], other)), (rows[number], other))
    return np.array(list(pairs.values()), np.int64).reshape(-1, 2)


def _names_in(text: str, known: dict[str, int]) -> list[str]:
    """The names in a cell; a name may hold what stands between others."""
    if text.lower() in BLANK or text in known:
        return [] if text.lower() in BLANK else [text]
    mark = next((mark for mark in BETWEEN if mark in text), None)
    parts = [text] if mark is None else re.split(re.escape(mark), text)
    return [part.strip() for part in parts if part.strip()]


def _remedy(name: str, points: Points) -> str:
    if points.all_ids is None:
        return "; --id-column says which column has the names"
    several = "; several names in a cell have ; between" if " " in name else ""
    return f"{suggestion(name, points.all_ids)}{several}"
