"""Two jobs that other packages support too, from the same k-means++ starts, in one process.

Sizes: 5000 x 10 in ten clusters of 500, compared with k-means-constrained.  Pairs: 1000 x 5 in five
clusters with 100 must-links and 100 cannot-links, compared with two implementations of COP-KMeans
and with k-means with exact ILP assignment.  Packages that are not installed are skipped.  To
install them:
``pip install k-means-constrained active-semi-supervised-clustering metric-learn htcopkmeans``.
Run ``python benchmarks/peers_jobs.py``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import kmeans_plusplus
from speed.jobs import overlapping, paired
from speed.methods import (
    ACTIVE,
    COP,
    CORRAL,
    ILP,
    KMC,
    METHODS,
    Floats,
    Method,
    by_corral,
    installed,
)

from reference import Rules, inertia, violations  # isort: skip  (speed adds it to the path)

__all__ = ["by_corral", "pairs_job", "sizes_job"]


@dataclass(frozen=True)
class Job:
    """Data, rules and methods; the target is that corral is faster than the ``rivals``."""

    title: str
    X: Floats
    rules: Rules
    methods: dict[str, Method]
    rivals: tuple[str, ...]


def sizes_job() -> Job:
    """Ten clusters of 500."""
    title = "Sizes: 5000 x 10, ten clusters of 500"
    return Job(title, *overlapping(5000, 10, 10), _by(CORRAL, KMC), (KMC,))


def pairs_job() -> Job:
    """100 must-links and 100 cannot-links drawn from the labels."""
    title = "Pairs: 1000 x 5, k = 5, 100 must-links and 100 cannot-links"
    return Job(title, *paired(1000, 100, 100), _by(CORRAL, COP, ACTIVE, ILP), (COP,))


def _by(*names: str) -> dict[str, Method]:
    return {name: METHODS[name] for name in names}


def present(methods: dict[str, Method]) -> dict[str, Method]:
    """Methods whose package is installed; prints the others."""
    for name in methods:
        if not installed(name):
            print(f"({name} is not installed: skipped)")
    return {name: method for name, method in methods.items() if installed(name)}


Result = tuple[float, int, float, float]


def run(job: Job, n_starts: int) -> dict[str, list[Result]]:
    """Inertia, violations, wall and CPU seconds of every method from every start."""
    methods = present(job.methods)
    results: dict[str, list[Result]] = {name: [] for name in methods}
    for name, method in methods.items():  # warm-up, not part of the time
        few, _ = kmeans_plusplus(job.X, job.rules.k, random_state=99)
        if name != ILP:
            method(job.X, job.rules, few, 99)
    for seed in range(n_starts):
        centers, _ = kmeans_plusplus(job.X, job.rules.k, random_state=seed)
        for name, method in methods.items():
            wall, cpu = time.perf_counter(), time.process_time()
            labels = method(job.X, job.rules, centers.copy(), seed)
            times = time.perf_counter() - wall, time.process_time() - cpu
            if labels is None:
                results[name].append((np.inf, -1, *times))
            else:
                broken = violations(job.rules, labels)
                results[name].append((inertia(job.X, labels), broken, *times))
    return results


def report(job: Job, results: dict[str, list[Result]]) -> bool:
    """Print the table; return whether corral meets the targets for inertia and time."""
    print(
        "| method | inertia from each start | broken rules | seconds: median (min to max) | "
        "CPU seconds |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, rows in results.items():
        inertias = " ".join(f"{row[0]:.0f}" if row[1] >= 0 else "none" for row in rows)
        broken = " ".join(str(row[1]) if row[1] >= 0 else "-" for row in rows)
        times = [row[2] for row in rows]
        print(
            f"| {name} | {inertias} | {broken} | {np.median(times):.3f} ({min(times):.3f} to "
            f"{max(times):.3f}) | {np.median([row[3] for row in rows]):.3f} |"
        )
    ours = results[CORRAL]
    good = all(
        mine[1] == 0 and mine[0] <= other[0] * (1 + 1e-9)
        for rows in results.values()
        for mine, other in zip(ours, rows, strict=True)
        if other[1] == 0
    )
    fast = all(
        np.median([row[2] for row in ours]) < np.median([row[2] for row in results[rival]])
        for rival in job.rivals
        if rival in results
    )
    print(
        f"\ninertia not above that of any feasible method: {'yes' if good else 'NO'}; "
        f"faster than {', '.join(job.rivals)}: {'yes' if fast else 'NO'}\n",
        flush=True,
    )
    return good and fast


def main() -> int:
    """Run both jobs; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--starts", type=int, default=10, help="k-means++ starts")
    options = parser.parse_args()
    fine = True
    for job in (sizes_job(), pairs_job()):
        print(f"{job.title}\n")
        fine &= report(job, run(job, options.starts))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
