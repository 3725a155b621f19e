"""Text for people: numbers as they read them, and keywords that they may have meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import wraps
from inspect import signature
from itertools import islice
from numbers import Integral
from typing import Any, ParamSpec

#: Numbers from here on are written with an exponent.  Up to here floats hold whole numbers exactly.
MANY = 1e15
#: Characters at the beginning and at the end of a long value that messages show.
HALF = 40


def in_digits(value: Any, digits: int = 6, most: float = MANY) -> str:
    """Write a number: whole ones with all digits, in groups of three, others with some digits.

    Parameters
    ----------
    value : number
    digits : int
        Digits of a number that is not whole; those before the point are all written.
    most : float
        Where the exponents begin.

    Examples
    --------
    >>> in_digits(17350100.0), in_digits(680316123.4), in_digits(0.123456789), in_digits(1e20)
    ('17,350,100', '680,316,123', '0.123457', '1e+20')
    """
    if math.isnan(value):
        return "-"
    whole = isinstance(value, Integral) or float(value).is_integer()
    if abs(value) < most and (whole or abs(value) >= 10.0 ** (digits - 1)):
        return f"{round(value):,}"
    return f"{float(value):.{digits}g}" if abs(value) >= most else f"{float(value):,.{digits}g}"


def shown(value: Any) -> str:
    """Write a wrong value for a message; a long one is shortened.

    Examples
    --------
    >>> shown(-1), shown(10**5000), len(shown("x" * 1000))
    ('-1', 'an int of too many digits', 83)
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes integers of up to 4,300 digits
        return f"an {type(value).__name__} of too many digits"
    return text if len(text) <= 2 * HALF else f"{text[:HALF]}...{text[-HALF:]}"


Arguments = ParamSpec("Arguments")

SIZES = "fit(X, constraints=ClusterSizes({}=...))"
PAIRS = "fit(X, constraints={}(pairs))"
RULES = "fit(X, constraints=...)"

#: Keywords of k-means-constrained, COP-KMeans, active-semi-supervised-clustering and the command
#: line, and what to write instead.
OURS = {
    **dict.fromkeys(("size_min", "min_size"), SIZES.format("minimum")),
    **dict.fromkeys(("size_max", "max_size"), SIZES.format("maximum")),
    **dict.fromkeys(("ml", "must_link", "must_links"), PAIRS.format("MustLink")),
    **dict.fromkeys(("cl", "cannot_link", "cannot_links"), PAIRS.format("CannotLink")),
    **dict.fromkeys(("constraint", "constraints", "rules"), RULES),
    "k": "n_clusters",
    "names": "index",
    "w": "MustLink(pairs, weight=...)",
    **dict.fromkeys(("min", "lower"), "minimum"),
    **dict.fromkeys(("max", "upper"), "maximum"),
}

#: Similarity from which a keyword is a misspelling of another.
ALIKE = 0.75
#: Most known names that a misspelt one is compared with; 10,000 take 0.1 s.
MOST_COMPARED = 10_000


def suggestion(word: Any, known: Iterable[Any], least: float = 0.6) -> str:
    """The words ``(did you mean ...?)`` with the most similar known name; empty if none is.

    ``least`` is the similarity that a name must have, from 0 to 1.

    Examples
    --------
    >>> suggestion("Anne", ["ann", "bob", 3]), suggestion(4, ["ann"])
    (" (did you mean 'ann'?)", '')
    """
    texts = (name for name in islice(known, MOST_COMPARED) if isinstance(name, str))
    names = {name.lower(): name for name in texts}
    close = get_close_matches(word.lower(), names, 1, least) if isinstance(word, str) else []
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def expanded(wanted: Iterable[str], known: Iterable[str], where: str) -> list[str]:
    """Names of columns, in which ``*``, ``?`` and ``[...]`` stand for any, as those that they mean.

    Parameters
    ----------
    wanted : iterable of str
        Names with commas between; a name that is known is never a pattern.
    known : iterable of str
        All columns, in whose order a pattern is replaced.
    where : str
        What messages call the option and the file.

    Examples
    --------
    >>> expanded(["text,e*"], ["e0", "e1", "text"], "--columns")
    ['text', 'e0', 'e1']
    """
    names, found = list(known), []
    for word in (part.strip() for given in wanted for part in given.split(",")):
        if word in names or not any(mark in word for mark in "*?["):
            found.append(word)
            continue
        meant = [name for name in names if fnmatchcase(name, word)]
        if not meant:
            few = ", ".join(names[:20])
            raise ValueError(f"{where}: no column matches {word!r}; the columns are {few}.")
        found += meant
    return found


def refuse_keys(where: str, given: Iterable[Any], known: Iterable[str]) -> None:
    """Raise ``ValueError`` for the first key of a file that is not known."""
    keys = list(known)
    wrong = next((key for key in given if key not in keys), None)
    if wrong is not None:
        allowed = ", ".join(map(repr, keys))
        raise ValueError(
            f"{where} has no key {wrong!r}{suggestion(wrong, keys, ALIKE)}; its keys are {allowed}."
        )


def refuse_words(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``TypeError`` for the first keyword that is not known."""
    names = list(known)
    word = next((word for word in given if word not in names), None)
    if word is None:
        return
    close = get_close_matches(word, names, 1, ALIKE)
    ours = OURS.get(word, close[0] if close else None)
    advice = f"write {ours}" if ours else f"it takes {', '.join(names)}"
    raise TypeError(f"{where} has no keyword {word!r}; {advice}.")


def our_words(init: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Decorate a constructor so that :func:`refuse_words` sees its keywords.

    The signature stays as it is, also for scikit-learn's ``get_params``.
    """
    known = list(signature(init).parameters)[1:]

    @wraps(init)
    def checked(*args: Arguments.args, **options: Arguments.kwargs) -> None:
        refuse_words(type(args[0]).__name__, options, known)
        init(*args, **options)

    return checked
