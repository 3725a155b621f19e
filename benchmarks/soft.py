"""Soft sizes and pins beside hard sizes: how much longer does a fit take?

``python benchmarks/soft.py`` fits 100,000 rows x 10 features in 10 clusters, ``--quick`` a tenth of
the rows.  Hard and soft fits take turns, and each row of the table has the ratio of the medians.
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import median

import numpy as np

from corral import ClusterSizes, ConstrainedKMeans, Pin

K, FEATURES, ROUNDS = 10, 10, 3


def points(n: int) -> np.ndarray:
    """Rows around ten centres of different popularity, so that equal sizes are a strong rule."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=2.0, size=(K, FEATURES))
    chance = np.linspace(1.0, 3.0, K)
    return centers[rng.choice(K, n, p=chance / chance.sum())] + rng.normal(size=(n, FEATURES))


def jobs(n: int, X: np.ndarray) -> dict[str, list]:
    """Rules by name; the first is what the others are compared with."""
    equal = np.full(K, n // K)
    free = ConstrainedKMeans(K, random_state=0, n_init=1).fit(X).labels_
    low, high = int(0.09 * n), int(0.11 * n)
    return {
        "hard, equal": [ClusterSizes(equal)],
        "soft, equal, 0.1 a row": [ClusterSizes(equal, weight=0.1)],
        "soft, equal, 1 a row": [ClusterSizes(equal, weight=1.0)],
        "soft, equal, 10 a row": [ClusterSizes(equal, weight=10.0)],
        "soft, equal, 1,000 a row": [ClusterSizes(equal, weight=1000.0)],
        "hard, 9 % to 11 %": [ClusterSizes(minimum=low, maximum=high)],
        "soft, 9 % to 11 %, 1 a row": [ClusterSizes(minimum=low, maximum=high, weight=1.0)],
        "hard, equal, and soft pins of all rows": [ClusterSizes(equal), Pin(free, weight=1.0)],
    }


def main() -> None:
    """Print a table of times, ratios and what the soft rules cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    n = 10_000 if options.quick else 100_000
    X = points(n)
    every = jobs(n, X)
    seconds: dict[str, list[float]] = {name: [] for name in every}
    found = {}
    warnings.simplefilter("ignore")
    for _ in range(options.rounds):
        for name, rules in every.items():
            begun = time.perf_counter()
            found[name] = ConstrainedKMeans(K, random_state=0).fit(X, constraints=rules).report_
            seconds[name].append(time.perf_counter() - begun)
    first = median(seconds["hard, equal"])
    print("| sizes | seconds | ratio | inertia | soft cost |\n|---|---:|---:|---:|---:|")
    for name, report in found.items():
        took = median(seconds[name])
        print(
            f"| {name} | {took:.2f} | {took / first:.2f} | {report.inertia:,.0f} "
            f"| {report.soft_cost:,.1f} |"
        )


if __name__ == "__main__":
    main()
