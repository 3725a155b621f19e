"""What a question shows of two rows: which columns, and where their texts differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher

from .._text import expanded, suggestion

#: Columns called by one word and a number from which they are taken for an embedding: nobody reads
#: them.  Fewer would hide columns such as mark1 to mark5.
LEAST_EMBEDDING = 8
#: Columns that a question shows unless it is said which; more do not fit a screen.
MOST_COLUMNS = 25
#: Words of a text up to which differences are looked for, which takes their product of steps.
MOST_WORDS = 2_000

Parts = list[tuple[str, bool]]
"""Parts of a text, with whether the other text lacks them."""


def embedding_columns(columns: Iterable[str]) -> set[str]:
    """Columns that are called by the same word and a number, if there are many.

    Examples
    --------
    >>> columns = ["text", "year2", *(f"e{number}" for number in range(9))]
    >>> sorted(embedding_columns(columns))[:3]
    ['e0', 'e1', 'e2']
    >>> embedding_columns(["mark1", "mark2"])
    set()
    """
    by_word: dict[str, set[str]] = {}
    for name in columns:
        found = re.fullmatch(r"(.*?)\d+", name)
        if found:
            by_word.setdefault(found[1], set()).add(name)
    many = (names for names in by_word.values() if len(names) >= LEAST_EMBEDDING)
    return set().union(*many)


def shown_columns(
    columns: Sequence[str], wanted: Iterable[str] = (), without: Collection[str | None] = ()
) -> list[str]:
    """The columns that questions show: the wanted ones, or all but embeddings.

    ``without`` are left out unless they are wanted, such as the column of names.

    Raises
    ------
    ValueError
        If there is no such column.

    Examples
    --------
    >>> shown_columns(["id", "text", "place"], without=["id"])
    ['text', 'place']
    >>> shown_columns(["id", "text", "place"], ["p*"])
    ['place']
    """
    chosen = list(dict.fromkeys(expanded(wanted, columns, "--show")))
    for name in chosen:
        if name not in columns:
            raise ValueError(
                f"--show names {name!r}, which is no column{suggestion(name, columns)}; the "
                f"columns are {', '.join(columns[:MOST_COLUMNS])}."
            )
    if chosen:
        return chosen
    hidden = embedding_columns(columns)
    left = [name for name in columns if name not in without]
    return [name for name in left if name not in hidden][:MOST_COLUMNS] or left[:MOST_COLUMNS]


def differences(one: str, other: str) -> tuple[Parts, Parts]:
    """Two texts in parts, with whether the words of a part differ from the other text.

    Examples
    --------
    >>> differences("a red shoe", "a blue shoe")[0]
    [('a ', False), ('red', True), (' shoe', False)]
    """
    first, second = (re.findall(r"\s+|\d+(?:[.,]\d+)*|\w+|[^\w\s]", text) for text in (one, other))
    if max(len(first), len(second)) > MOST_WORDS:
        return [(one, False)], [(other, False)]
    match = SequenceMatcher(None, _folded(first), _folded(second), autojunk=False)
    parts: tuple[Parts, Parts] = ([], [])
    for kind, a, b, c, d in match.get_opcodes():
        for made, words in ((parts[0], first[a:b]), (parts[1], second[c:d])):
            if words:
                made.append(("".join(words), kind != "equal"))
    return parts


def _folded(words: Iterable[str]) -> list[str]:
    return [" " if word.isspace() else word.casefold() for word in words]
