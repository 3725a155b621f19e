"""Keywords that a call does not know: say what corral calls the same thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import ParamSpec

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


def refuse_words(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``TypeError`` for the first keyword that is not known."""
    names = list(known)
    word = next((word for word in given if word not in names), None)
    if word is None:
        return
    close = get_close_matches(word, names, 1, 0.75)
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
