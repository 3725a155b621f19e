"""The question that a page shows: two rows side by side, as texts, numbers and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._text import in_digits
from ..active.cards import differences, shown_columns
from ..active.judgements import Judgement, agreement_words
from ..constraints import ConstraintSet
from .data import MOST_COLUMNS, Data
from .images import is_image_column

#: Cells from which it is judged whether a column names images; each card looks at them.
MOST_JUDGED = 200
#: Characters of a text that a card shows.
MOST_CHARACTERS = 5_000


@dataclass(frozen=True)
class Annotation:
    """What is known when questions begin.

    Attributes
    ----------
    log : tuple of Judgement
        Answers of earlier sessions, by row numbers.
    by : str
        Name of the person.
    show : tuple of str
        Columns that questions show; by default all but those of an embedding.
    goal : int or None
        Answers after which the page says that it is enough.
    minutes : float or None
        Minutes after which it does.
    begins : bool
        Whether the page begins with the questions.
    others : ConstraintSet
        Rules that are not from the file of answers and do not go there.
    """

    log: tuple[Judgement, ...] = ()
    by: str = ""
    show: tuple[str, ...] = ()
    goal: int | None = None
    minutes: float | None = None
    begins: bool = False
    others: ConstraintSet | tuple[()] = ()


def columns_of(data: Data, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns that questions show."""
    return tuple(shown_columns(list(data.columns)[:MOST_COLUMNS], wanted))


def rows_judged(log: Sequence[Judgement], data: Data) -> tuple[Judgement, ...]:
    """Judgements with row numbers in place of names; those of other rows are left out."""
    place = {name: row for row, name in enumerate(data.names or ())}
    made = []
    for said in log:
        one, other = (place.get(end, end) for end in said.pair)
        if all(isinstance(row, int) and row < len(data) for row in (one, other)):
            made.append(replace(said, pair=(one, other)))
    return tuple(made)


def questions(session: Any) -> dict[str, Any]:
    """The question that a session asks now, and how far it is."""
    judged, data, settings = session.document.judged, session.data, session.annotation
    return {
        "words": " ".join(filter(None, [session.interview.words, agreement_words(judged)])),
        "card": _card(session),
        "busy": session.job is not None,
        "ended": session.interview.ended,
        "number": len(judged) + 1,
        "now": max(len(judged) - len(settings.log), 0),
        "goal": settings.goal,
        "minutes": settings.minutes,
        "begins": settings.begins,
        "undo": bool(judged),
        "by": session.by,
        "columns": list(data.columns)[:MOST_COLUMNS],
        "shown": session.shown,
    }


def _card(session: Any) -> dict[str, Any] | None:
    """The pair that is asked about, with a line for each column that is shown."""
    asked, data = session.asked, session.data
    if asked is None:
        return None
    (row, other), _ = asked
    lines = [_line(data, name, row, other) for name in session.shown]
    return {
        "pair": [row, other],
        "names": [data.name_of(row), data.name_of(other)],
        "rows": [(line["name"], *line["texts"]) for line in lines],
        "lines": lines,
    }


def _line(data: Data, name: str, row: int, other: int) -> dict[str, Any]:
    """A column of two rows: texts with their differences, or where the images are."""
    one, two = (cell_of(data, name, r) for r in (row, other))
    line: dict[str, Any] = {"name": name, "texts": [one, two], "same": one == two}
    if data.images is not None and names_images(data, name):
        place = list(data.columns).index(name)
        faults = [data.images.fault(cell) if cell.strip() else "no image" for cell in (one, two)]
        sources = [f"image/{r}/{place}" for r in (row, other)]
        return {**line, "images": sources, "faults": faults}
    parts = differences(one[:MOST_CHARACTERS], two[:MOST_CHARACTERS])
    cut = [max(len(text) - MOST_CHARACTERS, 0) for text in (one, two)]
    return {**line, "parts": parts, "cut": cut}


def cell_of(data: Data, name: str, row: int) -> str:
    """A cell as a text, in the user's units."""
    values = data.columns[name]
    return in_digits(values[row]) if values.dtype.kind == "f" else str(values[row])


def names_images(data: Data, name: str) -> bool:
    """Whether the cells of a column name images, judged by a part of them."""
    values = data.columns[name]
    some = values[:: max(len(values) // MOST_JUDGED, 1)]
    return values.dtype.kind != "f" and is_image_column(map(str, some))


def image_of(data: Data, row: int, place: int) -> tuple[str, bytes] | None:
    """The image that a cell names; None if there is none, or the page has no business with it."""
    names = list(data.columns)
    if data.images is None or not (row < len(data) and place < len(names)):
        return None
    if not names_images(data, names[place]):
        return None
    return data.images.read(str(data.columns[names[place]][row]))
