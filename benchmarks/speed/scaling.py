"""The time of an iteration of ADMM for N points: ``python -m speed.scaling N``."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from sklearn.cluster import kmeans_plusplus

from corral.admm.history import Options
from corral.admm.projected import solve_projected
from corral.rows import MemoryRows
from corral.rules import presolve
from corral.search.starts import make_start

from .jobs import overlapping

#: Features and clusters, as in the job ``million``; the clusters have equal sizes.
D, K = 16, 10
SERIES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SERIES = (10_000, 30_000, 100_000)


def seconds_an_iteration(n: int) -> tuple[float, int]:
    """Mean seconds of an iteration over a whole run, without the first, and their number."""
    X, rules = overlapping(n, D, K)
    given, rows = presolve(rules.constraints(), n, K), MemoryRows(X)
    centers, _ = kmeans_plusplus(X, K, random_state=0)
    start = make_start(given, rows, centers, np.random.RandomState(0))
    ticks: list[float] = []
    options = Options(progress=lambda *_: ticks.append(time.perf_counter()), count_every=50)
    solve_projected(given, rows, start.labels, options)
    return (ticks[-1] - ticks[0]) / (len(ticks) - 1), len(ticks)


def exponent(points: dict[int, float]) -> float:
    """Slope of log seconds over log n, by least squares."""
    n, seconds = np.array(list(points)), np.array(list(points.values()))
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


def main() -> None:
    """Measure one n and print the result as JSON."""
    n = int(sys.argv[1])
    seconds, iterations = seconds_an_iteration(n)
    print(json.dumps({"n": n, "seconds": seconds, "iterations": iterations}))


if __name__ == "__main__":
    main()
