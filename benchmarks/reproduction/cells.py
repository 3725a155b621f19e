"""Cells: the smallest pieces of work.  Each can be run, stored and found again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.metrics import adjusted_rand_score

from corral import (
    ClusterSizes,
    ConstrainedGaussianMixture,
    ConstrainedKMeans,
    ConstraintSet,
    audit,
    deadline,
)
from corral.baselines import DeadEndError
from corral.metrics import hubert_index, mirkin_index, violations
from corral.rules import presolve
from corral.shapes.gaussian import GaussianShape, target_of

from .inputs import METHODS, SMALL_RHO, FloatArray, IntArray, points, rules_for, seed_of

#: Result of a cell: numbers, texts and lists of them, which JSON can hold.
Record: TypeAlias = dict[str, Any]


@contextmanager
def processor_clock() -> Iterator[None]:
    """Let time limits count the processor seconds of this process.

    A fit then searches as long as on a machine that has nothing else to do, so that the figures do
    not depend on the load.
    """
    before = deadline.time
    clock = SimpleNamespace(monotonic=time.process_time, process_time=time.process_time)
    setattr(deadline, "time", clock)  # noqa: B010 - mypy knows a module there
    try:
        yield
    finally:
        deadline.time = before


class Cell(Protocol):
    """A piece of work with a name."""

    @property
    def key(self) -> str:
        """Name of the cell, unique in its experiment."""

    def run(self) -> Record:
        """Do the work."""


@dataclass(frozen=True)
class Fit:
    """One fit of one method on one data set under one draw of the rules.

    Attributes
    ----------
    data, method : str
        Names of :mod:`.inputs`.
    variant : {"free", "car", "pair", "mix"}
        The rules: none, sizes, links, or both.
    must, cannot : int
        Number of links of each kind.
    draw : int
        Number of the repetition, which determines the links and the start.
    seed : int
        Seed of the whole run.
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
        """All attributes but the seed, which is in the name of the store."""
        links = f"{self.must}+{self.cannot}"
        return "/".join([self.data, self.variant, links, self.method, str(self.draw)])

    def run(self) -> Record:
        """Fit and measure; if the method finds no answer, the record says so."""
        X, y, k = points(self.data)
        rules = rules_for(self.data, self.variant, self.must, self.cannot, self.draw, self.seed)
        seed = seed_of(self.seed, "start", self.data, self.draw)
        began = time.process_time()
        try:
            with warnings.catch_warnings(), processor_clock():
                warnings.simplefilter("ignore")
                model = METHODS[self.method](X, k, seed).fit(X, constraints=rules)
        except DeadEndError:
            return {"dead_end": True, "seconds": time.process_time() - began}
        seconds = time.process_time() - began
        record = {"seconds": seconds, **measure(X, y, model.labels_, rules, k)}
        if isinstance(model, ConstrainedGaussianMixture):
            labels = model.labels_.astype(np.int64)
            record["cost"] = gaussian_cost(X, labels, k, model.covariance_)
            record["cost_truth"] = gaussian_cost(X, y, k, model.covariance_)
        return record


def measure(X: FloatArray, y: IntArray, labels: IntArray, rules: Any, n_clusters: int) -> Record:
    """Agreement of the labels with the classes, their objective, and the rules they break.

    ``truth`` is the objective of the classes themselves.  Labels with a lower objective are
    better for the model, even if they agree less with the classes.
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


def gaussian_cost(X: FloatArray, labels: IntArray, n_clusters: int, kind: str) -> float:
    """Objective of Gaussian clusters with these labels: minus twice the log density, and priors."""
    weight = np.ones(len(X))
    rules = presolve([], len(X), n_clusters)
    target = target_of(X, weight, labels, n_clusters)
    shape = GaussianShape(X, weight, rules, kind, target)
    return shape.objective(labels, shape.clusters(labels))


def _misplaced(labels: IntArray, rules: Any, n_clusters: int) -> int:
    """CardV of the paper: the smallest number of points to move until the sizes are right."""
    sizes = ConstraintSet(rules).of_kind(ClusterSizes)
    if not sizes:
        return 0
    wanted, _ = sizes[0].bounds(len(labels), n_clusters)
    have = np.bincount(labels, minlength=n_clusters)
    return int(np.abs(np.sort(have) - np.sort(wanted)).sum()) // 2


#: Parameters of the solvers whose iterations are drawn.
SOLVERS: dict[str, dict[str, Any]] = {
    "projected": {},
    "algorithm1": {"solver": "algorithm1"},
    "algorithm1, small rho": {"solver": "algorithm1", **SMALL_RHO},
}


@dataclass(frozen=True)
class Trace:
    """One run from a random start: its objective, and x at some iterations.

    Attributes
    ----------
    data : str
    solver : str
        A name of ``SOLVERS``.
    variant : {"free", "mix"}
    links : int
        Number of must-links and of cannot-links.
    record : tuple of int
        Iterations whose x is kept; the last iteration stands for all later ones.
    seed : int
    """

    data: str
    solver: str
    variant: str
    links: int
    record: tuple[int, ...]
    seed: int

    @property
    def key(self) -> str:
        """All attributes but the seed, which is in the name of the store."""
        return f"{self.data}/{self.variant}/{self.links}/{self.solver}/trace"

    def run(self) -> Record:
        """Fit twice: the first fit gives the number of iterations, the second keeps x."""
        length = len(self._history(()))
        kept = sorted({min(iteration, length) for iteration in self.record})
        history = self._history(tuple(kept))
        return {
            "objective": _short(history.objective, 6),
            "card": history.card_violations.tolist(),
            "must": history.must_link_violations.tolist(),
            "cannot": history.cannot_link_violations.tolist(),
            "x": {str(iteration): _short(history.x[iteration], 3) for iteration in kept},
        }

    def _history(self, record: tuple[int, ...]) -> Any:
        X, _, k = points(self.data)
        rules = rules_for(self.data, self.variant, self.links, self.links, 0, self.seed)
        model = ConstrainedKMeans(
            k,
            init=self._start(),
            repair=False,
            max_iter=5000,
            random_state=0,
            record_x=record,
            **SOLVERS[self.solver],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, constraints=rules).history_

    def _start(self) -> IntArray:
        """A random assignment with the sizes of the classes, as in the paper."""
        _, y, _ = points(self.data)
        return np.random.RandomState(seed_of(self.seed, "trace")).permutation(y)


def _short(values: FloatArray, digits: int) -> Any:
    return np.round(values, digits).tolist()
