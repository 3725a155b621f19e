"""What the numbers of clusters of other shapes do (at the top of their modules).

``python benchmarks/shapes.py kernel`` compares kernel k-means on feature vectors, by the whole
solver, with descents by the kernel's own distances; and exact with Nystroem features.
``python benchmarks/shapes.py gaussian`` fits Gaussian clusters with other values of the thresholds
that matter.  ``--quick`` takes fewer data.  Seconds are processor seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from reproduction.cells import processor_clock
from reproduction.contest import CONTEST_LINKS
from reproduction.inputs import points, rules_for
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from corral import ClusterSizes, ConstrainedGaussianMixture, ConstrainedKernelKMeans
from corral.deadline import NEVER
from corral.rules import Rules, presolve
from corral.search.budget import Budget
from corral.search.descent import Descender
from corral.search.model import table_model
from corral.search.prices import DenseCosts
from corral.shapes import gaussian, mixture
from corral.shapes.features import scale_gamma


@dataclass(frozen=True)
class KernelShape:
    """Kernel k-means without feature vectors; what descents ask of a shape.

    A row costs ``K_ii - 2 (K a_j)_i + a_j' K a_j`` in cluster j, with the shares a_j of its rows.
    """

    kernel: Any
    rules: Rules
    follows = False

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, and numbers that a cost depends on."""
        return self.rules.n_groups, 1

    def priced(self, rules: Rules) -> Any:
        """A table that every descent fills."""
        return table_model(rules)

    def costs(self, clusters: Any, deadline: Any = NEVER) -> DenseCosts:
        """The table in one block."""
        return DenseCosts(self.table(clusters))

    def objective(self, labels: Any, clusters: Any) -> float:
        """What the labels cost."""
        return float(self.table(clusters)[np.arange(len(labels)), labels].sum())

    def clusters(self, labels: Any, known: Any = None) -> Any:
        """Shares of the rows of each cluster, (n, k)."""
        members = np.eye(self.rules.n_clusters)[self.rules.to_rows(labels)]
        return members / np.maximum(members.sum(axis=0), 1.0)

    def table(self, clusters: Any) -> Any:
        """Squared distances, summed over the rows of each group."""
        projected = self.kernel @ clusters
        cost = np.diag(self.kernel)[:, None] - 2.0 * projected + (clusters * projected).sum(axis=0)
        summed = np.zeros((self.rules.n_groups, cost.shape[1]))
        np.add.at(summed, self.rules.row_groups, cost)
        return summed


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result and its processor seconds."""
    began = time.process_time()
    with warnings.catch_warnings(), processor_clock():
        warnings.simplefilter("ignore")
        found = work()
    return found, time.process_time() - began


def kernel(quick: bool) -> None:
    """Objectives and seconds of the two ways, and of exact and Nystroem features."""
    print("| data | rules | solver on features | s | best of 20 descents | s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for data in ("iris", "wine") if quick else ("iris", "wine", "glass", "ionosphere"):
        for variant in ("pair", "mix"):
            X, _, k = points(data)
            links = CONTEST_LINKS[data]
            given = rules_for(data, variant, links, links, 0, 0)
            model = ConstrainedKernelKMeans(k, random_state=0)
            _, seconds = timed(lambda m=model, X=X, g=given: m.fit(X, constraints=g))
            least, longer = timed(lambda X=X, g=given, k=k: _descents(X, g, k))
            print(f"| {data} | {variant} | {model.inertia_:.4f} | {seconds:.1f} |", end="")
            print(f" {least:.4f} | {longer:.1f} |", flush=True)
    print("\n| rows | features | objective | s |\n| ---: | --- | ---: | ---: |")
    for n in (500, 1_000) if quick else (1_000, 2_000, 3_000):
        X = make_moons(n, noise=0.1, random_state=0)[0]
        sizes = ClusterSizes([n // 4] * 4)
        K = rbf_kernel(X, gamma=10.0)
        for size in (100, 500, None):
            model = ConstrainedKernelKMeans(4, gamma=10.0, n_components=size, random_state=0)
            _, seconds = timed(lambda m=model, X=X, g=sizes: m.fit(X, constraints=g))
            shape = KernelShape(K, presolve([], n, 4))
            labels = model.labels_.astype(np.int64)
            own = shape.objective(labels, shape.clusters(labels))
            kind = "exact" if size is None else f"{size} rows"
            print(f"| {n} | {kind} | {own:.3f} | {seconds:.1f} |", flush=True)


def _descents(X: Any, given: Any, k: int) -> float:
    """The best objective of descents from random labels."""
    rules = presolve(given, len(X), k)
    shape = KernelShape(rbf_kernel(X, gamma=scale_gamma(X, np.ones(len(X)))), rules)
    rng = np.random.default_rng(0)
    draws = np.random.RandomState(0)
    found = []
    for _ in range(20):
        budget = Budget.of(shape.shape, k, 1.0, NEVER)
        descender = Descender(rules, shape, budget, draws)
        found.append(descender.from_labels(rng.integers(0, k, rules.n_groups)))
    return min(each.objective for each in found if each is not None)


@contextmanager
def threshold(name: str, value: float) -> Iterator[None]:
    """Another value of a number of Gaussian clusters."""
    place = gaussian if hasattr(gaussian, name) else mixture
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


#: Thresholds of Gaussian clusters and other values of them.
OTHERS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("CORRELATION_SHRINKAGE", (0.02, 0.5)),
    ("LEAST_VARIANCE", (1e-5, 1e-2)),
    ("HELD_BACK_PARTS", (3, 10)),
    ("TARGET_ROUNDS", (1, 6)),
)


def gaussians(quick: bool) -> None:
    """Mean ARI and seconds with other values of the thresholds."""
    names = ("iris", "Hepatitis1") if quick else ("wine", "iris", "ionosphere", "Hepatitis")
    print("| threshold | value | " + " | ".join(f"{name} | s" for name in names) + " |")
    print("| --- | ---: |" + " ---: |" * 2 * len(names))
    settings = [("as it is", float("nan"))]
    settings += [(name, value) for name, values in OTHERS for value in values]
    for name, value in settings:
        known = not np.isnan(value)
        cells = []
        for data in names:
            with threshold(*((name, value) if known else ("TARGET_ROUNDS", 3))):
                cells.append(_gaussian(data, 1 if quick else 2))
        shown = f"{value:g}" if known else ""
        print(f"| {name} | {shown} | " + " | ".join(cells) + " |", flush=True)


def _gaussian(data: str, draws: int) -> str:
    X, y, k = points(data)
    links, scores, total = CONTEST_LINKS[data], [], 0.0
    # Other draws than those of the contest.
    for draw in range(100, 100 + draws):
        given = rules_for(data, "pair", links, links, draw, 0)
        model = ConstrainedGaussianMixture(k, random_state=draw)
        _, seconds = timed(lambda m=model, X=X, g=given: m.fit(X, constraints=g))
        scores.append(100.0 * adjusted_rand_score(y, model.labels_))
        total += seconds
    return f"{np.mean(scores):.1f} | {total / draws:.1f}"


def main() -> int:
    """Run the part that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("kernel", "gaussian"))
    parser.add_argument("--quick", action="store_true", help="fewer data")
    options = parser.parse_args()
    {"kernel": kernel, "gaussian": gaussians}[options.part](options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
