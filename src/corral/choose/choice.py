"""Several numbers of clusters beside each other: a table, a picture and a suggestion."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._text import in_digits
from ..estimator import ConstrainedKMeans
from ..plots.choice import plot_choice

HEAD = ("clusters", "feasible", "inertia", "objective", "silhouette", "stability")
#: What the two criteria of the suggestion are called.
CRITERIA = {"silhouette": "silhouette", "stability": "stability over random parts of the rows"}


@dataclass(frozen=True)
class Candidate:
    """One number of clusters.

    Attributes
    ----------
    n_clusters : int
    feasible : bool or None
        Whether the rules can be obeyed; None if time ran out before that was decided.
    why : str
        Why they cannot, or what is not known; empty if nothing is missing.
    inertia, objective : float or None
        Of the fit; the objective has the prices of soft rules.
    silhouette : float or None
        Mean silhouette of the rows, or of some thousands of them; None for one cluster.
    stability : float or None
        Mean adjusted Rand index between this fit and fits of random parts of the rows.
    spread : float
        Standard deviation of the same over the parts.
    model : ConstrainedKMeans or None
    """

    n_clusters: int
    feasible: bool | None
    why: str = ""
    inertia: float | None = None
    objective: float | None = None
    silhouette: float | None = None
    stability: float | None = None
    spread: float = 0.0
    model: ConstrainedKMeans | None = field(default=None, repr=False, compare=False)

    @property
    def score(self) -> float:
        """Mean of silhouette and stability, of those that are known; infinitely low without."""
        known = [value for value in (self.silhouette, self.stability) if value is not None]
        return float(np.mean(known)) if self.feasible and known else -math.inf

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        word = {True: "yes", False: "no", None: "not decided"}[self.feasible]
        numbers = (self.inertia, self.objective, self.silhouette, self.stability)
        shown = ["" if value is None else in_digits(value) for value in numbers[:2]]
        shown += ["" if value is None else f"{value:.3f}" for value in numbers[2:]]
        return (str(self.n_clusters), word, *shown)


@dataclass(frozen=True, repr=False)
class Choice:
    """Several numbers of clusters and what speaks for each; printing it gives a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        In increasing order of ``n_clusters``.
    n_clusters : int or None
        The number that is suggested; None if no number has an answer.
    suggestion : str
        The same in words.

    Examples
    --------
    >>> from corral import ClusterSizes, choose_n_clusters
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> print(choose_n_clusters(X, [1, 2], constraints=ClusterSizes(maximum=3), random_state=0))
    clusters  feasible  inertia  objective  silhouette  stability
           1        no
           2       yes        1          1       0.900      1.000
    <BLANKLINE>
    Suggestion: 2 clusters, the only number tried that has an answer. With 1: with maximum cluster \
size 3 the clusters hold at most 3 in all, but X has 4 samples.
    """

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The candidate that is suggested: the highest score, the smaller number of equals."""
        found = [each for each in self.candidates if each.feasible]
        return max(found, key=lambda each: (each.score, -each.n_clusters)) if found else None

    @property
    def n_clusters(self) -> int | None:
        """The number that is suggested; None if no number has an answer."""
        return None if self.best is None else self.best.n_clusters

    @property
    def suggestion(self) -> str:
        """What is suggested and why, and which numbers cannot obey the rules, in sentences."""
        return " ".join([*_advice(self), *_excluded(self.candidates)])

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers as plain data, ready for JSON."""
        names = ("n_clusters", "feasible", "why", "inertia", "objective", "silhouette", "stability")
        rows = [{name: getattr(each, name) for name in names} for each in self.candidates]
        return {
            "n_clusters": self.n_clusters,
            "suggestion": self.suggestion,
            "candidates": rows,
        }

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw inertia, silhouette and stability over the number of clusters.

        Parameters
        ----------
        path : path, optional
            Where to write the picture: .png, .pdf or .svg.
        ax : three Axes, optional
            Where to draw; a new figure unless given.
        """
        numbers = [each.n_clusters for each in self.candidates]
        curves = {
            name: [getattr(each, name) for each in self.candidates]
            for name in ("inertia", "silhouette", "stability")
        }
        closed = [each.n_clusters for each in self.candidates if each.feasible is False]
        spread = [each.spread for each in self.candidates]
        axes = plot_choice(numbers, curves, spread, closed, self.n_clusters, ax=ax)
        if path is not None:
            axes[0].figure.savefig(path, dpi=150)
        return axes

    def __str__(self) -> str:
        rows = [HEAD, *(each.cells() for each in self.candidates)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True))
            for row in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), "", self.suggestion])

    __repr__ = __str__


def _advice(choice: Choice) -> list[str]:
    """What is suggested, by which criteria, and which criteria say otherwise."""
    best = choice.best
    if best is None:
        open_ones = [each for each in choice.candidates if each.feasible is None]
        if open_ones:
            return ["No number of clusters is suggested: time ran out before there was an answer."]
        return ["No number of clusters is suggested: none of them can obey the rules."]
    noun = "1 cluster" if best.n_clusters == 1 else f"{best.n_clusters} clusters"
    able = [each for each in choice.candidates if each.feasible]
    if len(able) == 1:
        return [f"Suggestion: {noun}, the only number tried that has an answer."]
    leads, others = [], []
    for name, words in CRITERIA.items():
        known = [each for each in able if getattr(each, name) is not None]
        if not known:
            continue
        top = max(known, key=lambda each: (getattr(each, name), -each.n_clusters))
        value = getattr(top, name)
        if top is best:
            leads.append(f"the highest {words} ({value:.3f})")
        else:
            others.append(f"The {words} alone is highest with {top.n_clusters} ({value:.3f}).")
    if not (leads or others):
        return [f"Suggestion: {noun}, the smallest number; neither criterion is known."]
    means = "the highest mean of silhouette and stability"
    reason = " and ".join(leads) if leads and not others else means
    return [f"Suggestion: {noun}, with {reason}.", *others]


def _excluded(candidates: tuple[Candidate, ...]) -> list[str]:
    """Why numbers of clusters are infeasible or not decided, numbers with one reason together."""
    reasons: dict[str, list[int]] = {}
    for each in candidates:
        if each.why:
            reasons.setdefault(each.why, []).append(each.n_clusters)
    return [f"With {_listed(numbers)}: {_sentence(why)}" for why, numbers in reasons.items()]


def _listed(numbers: list[int]) -> str:
    """Numbers in words: ``2``, ``2 and 3``, ``2 to 5``, ``2, 4 and 7``."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
