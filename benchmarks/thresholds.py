"""What each threshold of the plan does: vary it, and measure objective and time.

Every number in ``corral.plan.thresholds`` is divided and multiplied by a factor in turn, and the
same jobs are fitted.  A line says how objective and time change against the plan as it is.  A
threshold for which nothing changes in any job has no effect at these sizes: it is a candidate for
removal.

    python benchmarks/thresholds.py                  # all thresholds, about half an hour
    python benchmarks/thresholds.py SMALL LARGE      # some
    python benchmarks/thresholds.py --write          # also write benchmarks/thresholds.md
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    from_labels,
)
from corral.datasets import random_links
from corral.plan import many_thresholds, thresholds

TABLE = Path(__file__).resolve().parent / "thresholds.md"


@dataclass(frozen=True)
class Job:
    """Points, clusters and rules of one fit."""

    name: str
    n: int
    k: int
    rules: Callable[[np.ndarray, np.random.Generator], list[Any]]
    structured: bool = True

    def fit(self, seed: int) -> float:
        """Objective from one seed."""
        rng = np.random.default_rng(seed)
        if self.structured:
            X, y = make_blobs(self.n, 6, centers=self.k, cluster_std=5, random_state=seed)
        else:
            X, y = rng.random((self.n, 4)), np.arange(self.n) % self.k
        model = ConstrainedKMeans(self.k, random_state=seed)
        return float(model.fit(X, constraints=self.rules(y, rng)).report_.objective)


def equal(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    k = y.max() + 1
    return [ClusterSizes(np.bincount(np.arange(len(y)) % k))]


def unequal(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    k, n = y.max() + 1, len(y)
    share = np.arange(1, k + 1) / (k * (k + 1) / 2)
    sizes = np.diff(np.floor(np.cumsum(share) * n + 1e-9), prepend=0).astype(int)
    return [ClusterSizes(sizes)]


def bounds(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    mean = len(y) // (y.max() + 1)
    return [ClusterSizes(minimum=mean // 3, maximum=3 * mean)]


def links(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    return list(random_links(y, len(y) // 10, len(y) // 10, random_state=0))


def links_and_sizes(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    return [*links(y, rng), ClusterSizes(np.bincount(y))]


def soft(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    must, cannot = random_links(y, len(y) // 10, len(y) // 10, random_state=0)
    return [MustLink(must.pairs, weight=20.0), CannotLink(cannot.pairs, weight=20.0)]


def totals(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    values = rng.integers(1, 9, len(y)).astype(float)
    return [ClusterTotals(values, maximum=1.2 * values.sum() / (y.max() + 1))]


def pins(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    return [from_labels(np.where(rng.random(len(y)) < 0.05, y, -1))]


def shares(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    kind = np.where(rng.random(len(y)) < 0.4, "a", "b")
    return [GroupShares(kind, minimum={"a": 0.3}, maximum={"a": 0.5})]


def apart(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    """Five cannot-links a row, at random."""
    pairs = rng.integers(0, len(y), (5 * len(y), 2))
    return [CannotLink(pairs[pairs[:, 0] != pairs[:, 1]])]


def cliques_and_sizes(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    """All rows in cliques of as many rows as there are clusters, less one, and equal sizes."""
    size = y.max()
    members = rng.permutation(len(y))[: len(y) // size * size].reshape(-1, size)
    first, second = np.triu_indices(size, 1)
    pairs = np.column_stack([members[:, first].ravel(), members[:, second].ravel()])
    return [CannotLink(pairs), *equal(y, rng)]


def free(y: np.ndarray, rng: np.random.Generator) -> list[Any]:
    return []


JOBS = [
    Job("free 300", 300, 4, free),
    Job("free 3000", 3_000, 8, free),
    Job("free 60000", 60_000, 8, free),
    Job("equal 300", 300, 4, equal),
    Job("equal 2000, no clusters", 2_000, 5, equal, structured=False),
    Job("equal 3000, k = 40", 3_000, 40, equal),
    Job("equal 60000", 60_000, 8, equal),
    Job("unequal 200", 200, 3, unequal),
    Job("unequal 8000", 8_000, 3, unequal),
    Job("bounds 4000", 4_000, 6, bounds),
    Job("links 600", 600, 5, links),
    Job("links 6000", 6_000, 5, links),
    Job("links and sizes 60", 60, 3, links_and_sizes),
    Job("links and sizes 3000", 3_000, 4, links_and_sizes),
    Job("soft 300", 300, 4, soft),
    Job("totals 60", 60, 3, totals),
    Job("pins 10000", 10_000, 5, pins),
    Job("totals 300, k = 30", 300, 30, totals),
    Job("totals 6000", 6_000, 4, totals),
    Job("shares 400", 400, 8, shares),
    Job("apart 300, k = 20", 300, 20, apart),
    Job("cliques and sizes 600", 600, 10, cliques_and_sizes),
    Job("equal 12000, k = 120", 12_000, 120, equal),
    Job("links and sizes 12000, k = 120", 12_000, 120, links_and_sizes),
]

#: Thresholds that no job here reaches, with the script or the measurement that their comments name:
#: GPU, Dask, proofs, Algorithm 1, conflicts, other processes.
ELSEWHERE = {
    *("LEAN_GROUPS", "DEVICE_X", "DASK_X", "PULL_BYTES"),
    *("LANCZOS_FROM", "CUTS_EACH", "CUT_ENTRIES"),
    *("LARGEST_GRAM", "REDUCED_PARTS", "REDUCED_ENTRIES"),
    *("START_SECONDS", "APART_ENTRIES", "FLOW_SECONDS", "MANY_TIES"),
}


def numbers() -> Iterator[str]:
    """Names of the thresholds that the jobs may reach."""
    for name, value in (vars(thresholds) | vars(many_thresholds)).items():
        if name.isupper() and isinstance(value, (int, float)) and name not in ELSEWHERE:
            yield name


def value_of(name: str) -> int | float:
    """The value of a threshold."""
    return getattr(thresholds if hasattr(thresholds, name) else many_thresholds, name)


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """The threshold times the factor, in every module that has it."""
    old = value_of(name)
    new = type(old)(max(old * factor, 1 if isinstance(old, int) else 0.0))
    homes = [
        module
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("corral") and getattr(module, name, None) is old
    ]
    for module in homes:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module in homes:
            setattr(module, name, old)


def run(seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and seconds of the processor, (jobs, seeds)."""
    shape = (len(JOBS), seeds)
    objective, seconds = np.empty(shape), np.empty(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for i, job in enumerate(JOBS):
            for seed in range(seeds):
                began = time.process_time()
                objective[i, seed] = job.fit(seed)
                seconds[i, seed] = time.process_time() - began
    return objective, seconds


def line(name: str, base: tuple[np.ndarray, ...], now: tuple[np.ndarray, ...]) -> str:
    """One row of the table, while the threshold is changed."""
    gap = now[0] / base[0] - 1.0
    ratio = now[1].sum(axis=1) / base[1].sum(axis=1)
    moved = np.flatnonzero(np.abs(gap).max(axis=1) > 1e-9)
    slower = np.flatnonzero((ratio > 2.0) | (ratio < 0.5))
    value = value_of(name)
    jobs = ", ".join(JOBS[i].name for i in moved) or "none"
    times = ", ".join(f"{JOBS[i].name} x{ratio[i]:.2f}" for i in slower) or "none"
    mean, worst = 100 * gap.mean(), 100 * gap.max()
    return f"| {name} | {value:g} | {mean:+.4f} | {worst:+.4f} | {jobs} | {times} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="thresholds; all by default")
    parser.add_argument("--factor", type=float, default=4.0)
    parser.add_argument("--jobs", nargs="+", help="how names of jobs begin; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    given = parser.parse_args()
    names = given.names or list(numbers())
    if given.jobs:
        JOBS[:] = [job for job in JOBS if job.name.startswith(tuple(given.jobs))]
    run(1)  # warm up
    base = run(given.seeds)
    rows = [
        "| threshold | value | objective, mean % | worst % | jobs changed | times changed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(rows), flush=True)
    for name in names:
        for factor in (1.0 / given.factor, given.factor):
            with changed(name, factor):
                rows.append(line(name, base, run(given.seeds)))
            print(rows[-1], flush=True)
    if given.write:
        head = (
            "# What each threshold of the plan does\n\n"
            f"Each number of `src/corral/plan/thresholds.py`, divided and multiplied by "
            f"{given.factor:g}: change of the objective over {len(JOBS)} jobs and {given.seeds} "
            "seeds against the plan as it is, the jobs whose objective changed, and the jobs "
            "whose time at least doubled or halved. `python benchmarks/thresholds.py "
            "--write` makes this page.\n\n"
        )
        TABLE.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
