"""Cells: the smallest pieces of work, each of which can be run, kept and found again."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .. import ClusterSizes, ConstraintSet, audit
from .._typing import FloatArray, IntArray
from ..baselines import DeadEndError
from ..metrics import hubert_index, mirkin_index, violations
from .methods import METHODS
from .sources import points, rules_for, seed_of

#: What a cell comes to: numbers, words, and lists of them, ready for JSON.
Record: TypeAlias = dict[str, Any]


class Cell(Protocol):
    """Work with a name."""

    @property
    def key(self) -> str:
        """A name that no other cell of the experiment has."""

    def run(self) -> Record:
        """Do it."""


@dataclass(frozen=True)
class Fit:
    """One fit of one method on one data set under one draw of the rules.

    Attributes
    ----------
    data, method : str
        Names of :mod:`.sources` and :mod:`.methods`.
    variant : {"free", "car", "pair", "mix"}
        Which rules: none, sizes, links, both.
    must, cannot : int
        Number of links of each kind.
    draw : int
        Number of the repetition: it decides the links and the start.
    seed : int
        Of the whole run.
    """

    data: str
    method: str
    variant: str = "free"
    must: int = 0
    cannot: int = 0
    draw: int = 0
    seed: int = 0

    @property
    def key(self) -> str:
        """Everything but the seed, which names the store."""
        links = f"{self.must}+{self.cannot}"
        return "/".join([self.data, self.variant, links, self.method, str(self.draw)])

    def run(self) -> Record:
        """Fit and measure; a method that finds no answer gives a record that says so."""
        X, y, k = points(self.data)
        rules = rules_for(self.data, self.variant, self.must, self.cannot, self.draw, self.seed)
        seed = seed_of(self.seed, "start", self.data, self.draw)
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                labels = METHODS[self.method](X, k, seed).fit(X, constraints=rules).labels_
        except DeadEndError:
            return {"dead_end": True, "seconds": time.perf_counter() - began}
        seconds = time.perf_counter() - began
        return {"seconds": seconds, **measure(X, y, labels, rules, k)}


def measure(X: FloatArray, y: IntArray, labels: IntArray, rules: Any, n_clusters: int) -> Record:
    """How labels agree with the classes, what they cost and which rules they break.

    ``truth`` is the cost of the classes themselves: an answer that costs less is better by the
    model's own measure, however little it agrees with them.
    """
    broken = violations(labels, rules, n_clusters)
    return {
        "ari": 100.0 * float(adjusted_rand_score(y, labels)),
        "mi": mirkin_index(y, labels),
        "hi": 100.0 * hubert_index(y, labels),
        "objective": audit(X, labels, None, n_clusters).inertia,
        "truth": audit(X, y, None, n_clusters).inertia,
        "mlv": broken.get("MustLink", 0),
        "clv": broken.get("CannotLink", 0),
        "cardv": _misplaced(labels, rules, n_clusters),
    }


def _misplaced(labels: IntArray, rules: Any, n_clusters: int) -> int:
    """The paper's CardV: fewest points that have to move for the sizes to fit."""
    sizes = ConstraintSet(rules).of_kind(ClusterSizes)
    if not sizes:
        return 0
    wanted, _ = sizes[0].bounds(len(labels), n_clusters)
    have = np.bincount(labels, minlength=n_clusters)
    return int(np.abs(np.sort(have) - np.sort(wanted)).sum()) // 2
