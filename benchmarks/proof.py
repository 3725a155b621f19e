"""How tight and how safe the lower bound is, and how long a proof of optimality takes.

    python benchmarks/proof.py safe          # never above an enumerated optimum
    python benchmarks/proof.py gaps          # gaps on the paper's data sets
    python benchmarks/proof.py exact         # solver="exact"
    python benchmarks/proof.py large         # 2,000 rows in 10 clusters of equal size
    python benchmarks/proof.py gaps --write  # also write the table into proof.md

Each part exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans, datasets, lower_bound

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from instances import random_instance
from reference import best_partition

TABLE = Path(__file__).resolve().parent / "proof.md"
SMALL = ("iris", "wine", "seeds-like", "glass")
LARGER = ("ionosphere", "breast_cancer")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A data set of the paper, or blobs with the shape of the seeds data."""
    if name == "seeds-like":
        X, y = make_blobs(210, 7, centers=3, cluster_std=4.0, random_state=0)
        return X, y
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.asarray(X, float), y


def equal(y: np.ndarray) -> list[Any]:
    n, k = len(y), len(np.unique(y))
    return [ClusterSizes(minimum=n // k, maximum=-(-n // k))]


def links(y: np.ndarray) -> list[Any]:
    return list(datasets.random_links(y, 50, 50, random_state=0))


def free(y: np.ndarray) -> list[Any]:
    return []


Rules = Callable[[np.ndarray], list[Any]]

#: Data sets, rules, seconds, and the gap in per cent that is wanted.
GAPS: list[tuple[str, Rules, float, float]] = [
    *((name, equal, 10.0, 0.2) for name in SMALL),
    *((name, equal, 60.0, 1.0) for name in LARGER),
    *((name, links, 30.0, 0.5) for name in SMALL),
    *((name, free, 60.0, 1.0) for name in SMALL),
]
EXACT: list[tuple[str, Rules]] = [
    ("iris", free),
    ("iris", equal),
    ("wine", equal),
    ("iris", links),
    ("wine", links),
]


def upper_of(X: np.ndarray, k: int, rules: list[Any]) -> float:
    """The best of five fits."""
    fits = (ConstrainedKMeans(k, random_state=s).fit(X, constraints=rules) for s in range(5))
    return float(min(fit.inertia_ for fit in fits))


def gaps() -> Iterator[tuple[str, bool]]:
    """The gap on each data set."""
    yield "| data | rows | k | rules | limit s | seconds | gap % | wanted % |", True
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |", True
    for name, rules, seconds, wanted in GAPS:
        X, y = data(name)
        k, given = len(np.unique(y)), rules(y)
        found = lower_bound(X, k, given, upper=upper_of(X, k, given), time_limit=seconds)
        gap = 100.0 * (found.gap or 0.0)
        yield (
            f"| {name} | {len(X)} | {k} | {rules.__name__} | {seconds:g} | {found.seconds:.1f} "
            f"| {gap:.4f} | {wanted:g} |",
            gap <= wanted,
        )


def exact() -> Iterator[tuple[str, bool]]:
    """How long the proof of optimality takes."""
    yield "| data | rules | seconds | gap % |", True
    yield "| --- | --- | --- | --- |", True
    for name, rules in EXACT:
        X, y = data(name)
        k = len(np.unique(y))
        model = ConstrainedKMeans(k, solver="exact", time_limit=300, random_state=0)
        begun = time.perf_counter()
        gap = model.fit(X, constraints=rules(y)).report_.gap or 0.0
        seconds = time.perf_counter() - begun
        yield f"| {name} | {rules.__name__} | {seconds:.1f} | {100 * gap:.5f} |", gap <= 1e-6


def large() -> Iterator[tuple[str, bool]]:
    """2,000 rows in 10 clusters of equal size."""
    X, _ = make_blobs(2_000, 10, centers=10, cluster_std=6, random_state=0)
    rules = [ClusterSizes(minimum=200, maximum=200)]
    upper = upper_of(X, 10, rules)
    found = lower_bound(X, 10, rules, upper=upper, time_limit=120)
    gap = 100.0 * (found.gap or 0.0)
    yield f"2,000 rows, k = 10, equal sizes: gap {gap:.3f} % in {found.seconds:.1f} s", gap <= 3.0


def one_small(seed: int) -> float:
    """Bound less optimum of a small instance, as a part of the optimum."""
    X, rules, _ = random_instance(seed, n=(3, 10), k=(2, 3), d=(1, 4))
    best = best_partition(X, rules)
    bound = lower_bound(X, rules.k, rules.constraints(), time_limit=1.0)
    return (bound.value - best) / max(best, 1e-300)


def one_middle(seed: int) -> float:
    """Bound less the best known answer of an instance of up to 40 rows, as a part of it."""
    X, rules, _ = random_instance(seed, n=(11, 40), k=(2, 6), d=(1, 6))
    model = ConstrainedKMeans(rules.k, n_init=5, random_state=seed)
    best = model.fit(X, constraints=rules.constraints()).inertia_
    bound = lower_bound(X, rules.k, rules.constraints(), time_limit=2.0)
    return (bound.value - best) / max(best, 1e-300)


def safe() -> Iterator[tuple[str, bool]]:
    """The bound is never above an enumerated optimum, or above a known answer."""
    for count, one in ((5_000, one_small), (500, one_middle)):
        over = np.array(Parallel(n_jobs=2)(delayed(one)(seed) for seed in range(count)))
        above = int((over > 1e-12).sum())
        tight = 100.0 * float((over > -1e-6).mean())
        yield f"{count:,} instances: {above} above, {tight:.1f} % within a millionth", above == 0


PARTS = {"safe": safe, "gaps": gaps, "exact": exact, "large": large}


def main() -> int:
    """Run the parts that were asked for; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    given = parser.parse_args()
    missed, lines = 0, []
    for part in given.parts or PARTS:
        for line, met in PARTS[part]():
            print(line if met else f"{line} SHORT", flush=True)
            lines.append(line)
            missed += not met
        lines.append("")
    if given.write:
        head = "# Lower bounds\n\n`python benchmarks/proof.py --write` makes this page.\n\n"
        TABLE.write_text(head + "\n".join(lines), encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
