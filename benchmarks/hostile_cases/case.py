"""A case, what it may expect, and checks of answers that share no code with corral."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzzing.model import broken
from fuzzing.rules import Rule, build, terms

#: Errors that a user of the library may get for bad input.
CLEAR = (ValueError, TypeError)

#: Rows, features and clusters of the data of most cases.
N, D, K = 12, 2, 3


class WrongError(Exception):
    """A silent wrong answer: a rule is broken, or bad input was accepted."""


class UnclearError(Exception):
    """An error whose message does not say what is wrong."""


class SkippedError(Exception):
    """What the case needs is not installed."""


@dataclass(frozen=True)
class Case:
    """``run`` raises if corral fails; it has a process and an empty working folder of its own."""

    group: str
    what: str
    run: Callable[[], None]

    @property
    def name(self) -> str:
        """The name for ``--only``."""
        return f"{self.group}/{self.what}"


def points(n: int = N, d: int = D, seed: int = 0) -> Any:
    """Points of three blobs in turn."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 6.0 * (np.arange(n) % K)[:, None]


def link(kind: str, *pairs: tuple[int, int]) -> Rule:
    """Hard must-links or cannot-links."""
    return {"kind": kind, "pairs": [list(pair) for pair in pairs], "weight": float("inf")}


def sizes(exact: list[int] | None = None, low: Any = None, high: Any = None) -> Rule:
    """Exact sizes in any order, or bounds."""
    rule = {"kind": "ClusterSizes", "sizes": exact, "minimum": low, "maximum": high}
    return rule | {"ordered": False}


def totals(values: list[Any], low: Any = None, high: Any = None) -> Rule:
    """Bounds on totals."""
    return {"kind": "ClusterTotals", "values": values, "minimum": low, "maximum": high}


def shares(groups: list[Any], low: Any = None, high: Any = None) -> Rule:
    """Bounds on shares, by group."""
    return {"kind": "GroupShares", "groups": groups, "minimum": low, "maximum": high}


#: Rules that no nearest centre obeys: rows 0 and 1 are of different blobs, 2 and 5 of the same.
RULES = [link("MustLink", (0, 1)), link("CannotLink", (2, 5)), sizes([5, 4, 3])]


def made(rules: Iterable[Rule]) -> list[Any]:
    """The rules as corral's constraints."""
    return [build(rule) for rule in rules]


def obeys(labels: Any, rules: list[Rule], n: int = N, k: int = K) -> None:
    """Raise WrongError unless there is a label for each row and each hard rule is obeyed."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise WrongError(f"labels have shape {labels.shape}, not ({n},)")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise WrongError(f"labels {labels.tolist()} are not numbers of {k} clusters")
    if bad := broken(terms(rules, n, k), labels.tolist(), k):
        raise WrongError(f"labels {labels.tolist()} break {bad[0]}")


def same(one: Any, two: Any, what: str) -> None:
    """Raise WrongError unless two arrays are equal."""
    if not np.array_equal(one, two):
        raise WrongError(f"{what}: {np.asarray(one).tolist()} and {np.asarray(two).tolist()}")


def refused(act: Callable[[], Any], *words: str, kind: Any = CLEAR) -> None:
    """Raise unless ``act`` raises an error of that kind whose message has the words."""
    try:
        given = act()
    except kind as error:
        text = str(error)
        if missing := [word for word in words if word.lower() not in text.lower()] or not text:
            raise UnclearError(f"{type(error).__name__} {text!r} lacks {missing}") from None
        return
    raise WrongError(f"no error, but {given!r:.200}")


def refused_or(act: Callable[[], Any], check: Callable[[Any], None], kind: Any = CLEAR) -> None:
    """Either a clear error, or an answer that the check accepts."""
    try:
        given = act()
    except kind as error:
        if not str(error):
            raise UnclearError(f"{type(error).__name__} without a message") from None
        return
    check(given)


def needs(name: str) -> Any:
    """A package, or SkippedError."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise SkippedError(f"{name} is not installed") from None
