"""Two rows side by side in a terminal: wrapped to its width, with their differences."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..active.cards import Parts, differences

#: Least width of each of the two columns of values; in a narrower terminal they are one below the
#: other.
LEAST_WIDTH = 18
#: Most characters of the name of a column, and of a cell; what a cell has more is counted.
MOST_NAME, MOST_CHARACTERS = 20, 2_000
#: What stands before values that are the same in both rows.
EQUAL = "="


def side_by_side(
    names: Sequence[Any],
    lines: Sequence[tuple[str, Any, Any]],
    width: int,
    *,
    styled: bool = False,
) -> str:
    """The names of two rows, and a line for each column with the values of both.

    Parameters
    ----------
    names : pair
    lines : sequence of (name of the column, value, other value)
    width : int
        Of the terminal, in characters.
    styled : bool
        Whether the words that differ are bold.

    Examples
    --------
    >>> print(side_by_side(("a", "b"), [("text", "one two", "one"), ("n", "1", "1")], 60))
             a        b
      text   one two  one
      n    = 1        1
    """
    cells = [("", printable(names[0]), printable(names[1]))]
    cells += [(printable(name), printable(one), printable(other)) for name, one, other in lines]
    label = min(max(len(name) for name, _, _ in cells), MOST_NAME)
    room = (width - label - 9) // 2
    if room < LEAST_WIDTH:
        return "\n".join(_stacked(cells, width, styled))
    wide = min(max(len(cell) for row in cells for cell in row[1:]), room)
    return "\n".join(_beside(cells, label, wide, styled))


def _beside(
    cells: Sequence[tuple[str, str, str]], label: int, wide: int, styled: bool
) -> Iterator[str]:
    for number, (name, one, other) in enumerate(cells):
        parts = differences(one, other) if number else ([(one, False)], [(other, False)])
        left, right = (wrapped(part, wide) for part in parts)
        called = textwrap.wrap(name, label) or [""]
        for row in range(max(len(left), len(right), len(called))):
            mark = EQUAL if number and not row and one == other else " "
            start = called[row] if row < len(called) else ""
            first, second = (column[row] if row < len(column) else [] for column in (left, right))
            blank = " " * (wide - sum(len(text) for text, _ in first))
            line = f"  {start:<{label}} {mark} {_spelt(first, styled)}{blank}  "
            yield (line + _spelt(second, styled)).rstrip()


def _stacked(cells: Sequence[tuple[str, str, str]], width: int, styled: bool) -> Iterator[str]:
    (_, first, second), *others = cells
    room = max(width - 6, 1)
    yield f"  {first} (1), {second} (2)"
    for name, one, other in others:
        yield f"  {name}{' (the same)' * (one == other)}"
        for number, part in enumerate(differences(one, other), start=1):
            if number == 1 or one != other:
                for row, line in enumerate(wrapped(part, room)):
                    yield f"  {' ' if row else number}   {_spelt(line, styled)}".rstrip()


def wrapped(parts: Parts, width: int) -> list[Parts]:
    """Parts of a text as lines of at most so many characters, broken between words."""
    marks = "".join(("1" if differs else "0") * len(text) for text, differs in parts)
    text, place, lines = "".join(text for text, _ in parts), 0, []
    for line in textwrap.wrap(text, width, break_on_hyphens=False) or [""]:
        place = text.index(line, place)
        lines.append(_runs(line, marks[place : place + len(line)]))
        place += len(line)
    return lines


def _runs(line: str, marks: str) -> Parts:
    made: Parts = []
    for letter, mark in zip(line, marks, strict=True):
        if made and made[-1][1] == (mark == "1"):
            made[-1] = (made[-1][0] + letter, made[-1][1])
        else:
            made.append((letter, mark == "1"))
    return made


def _spelt(parts: Parts, styled: bool) -> str:
    return "".join(click.style(t, bold=True) if styled and bold else t for t, bold in parts)


def printable(value: Any) -> str:
    """A cell on one line, without characters that steer a terminal."""
    text = " ".join(str("" if value is None else value).split())
    text = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)
    more = len(text) - MOST_CHARACTERS
    if more <= 0:
        return text
    return f"{text[:MOST_CHARACTERS]}\N{HORIZONTAL ELLIPSIS} ({more:,} more characters)"
