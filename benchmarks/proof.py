"""How tight and how safe the lower bound is, and how long a proof of optimality takes.

    python benchmarks/proof.py safe          # never above an enumerated optimum
    python benchmarks/proof.py brute         # solver="exact" against enumeration
    python benchmarks/proof.py gaps          # gaps on the paper's data sets
    python benchmarks/proof.py exact         # solver="exact"
    python benchmarks/proof.py large         # 2,000 rows in 10 clusters of equal size
    python benchmarks/proof.py gpu           # 10,000 rows on a GPU
    python benchmarks/proof.py parts         # sums of the bounds of parts
    python benchmarks/proof.py thresholds    # what each number of proof/numbers.py does
    python benchmarks/proof.py gaps --write  # also write the table into proof.md
    python benchmarks/proof.py safe --quick  # fewer instances

Each part exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans, datasets, lower_bound
from corral.constraints import ConstraintSet
from corral.deadline import NEVER
from corral.proof import ascent, branch, cuts, kinds, relaxation, sum_of_parts
from corral.proof.ascent import Ascent
from corral.proof.relaxation import Grouped
from corral.proof.spectrum import InMemory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from instances import random_instance
from reference import best_partition

TABLE = Path(__file__).resolve().parent / "proof.md"
SMALL = ("iris", "wine", "seeds-like", "glass")
LARGER = ("ionosphere", "breast_cancer")
#: Processes for parts that do not measure time.
JOBS = int(os.environ.get("JOBS", "2"))


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


def unequal(y: np.ndarray) -> list[Any]:
    """Exact sizes that grow from cluster to cluster."""
    n, k = len(y), len(np.unique(y))
    size = np.diff(np.round(n * np.cumsum(np.arange(k + 1)) / (k * (k + 1) / 2)).astype(int))
    return [ClusterSizes(size.tolist())]


def most(y: np.ndarray) -> list[Any]:
    """Largest sizes alone, which hold in parts too."""
    return [ClusterSizes(maximum=-(-len(y) // len(np.unique(y))))]


def free(y: np.ndarray) -> list[Any]:
    return []


Rules = Callable[[np.ndarray], list[Any]]

#: Data sets, rules, seconds, and the gap in per cent that is wanted.
GAPS: list[tuple[str, Rules, float, float]] = [
    *((name, equal, 10.0, 0.2) for name in SMALL),
    *((name, equal, 60.0, 1.0) for name in LARGER),
    *((name, links, 30.0, 0.5) for name in SMALL),
    *((name, free, 60.0, 1.0) for name in SMALL),
    *((name, unequal, 30.0, 2.0) for name in SMALL),
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


def gaps(quick: bool) -> Iterator[tuple[str, bool]]:
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


def exact(quick: bool) -> Iterator[tuple[str, bool]]:
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


def blobs(n: int, seconds: float, device: str | None) -> tuple[str, bool]:
    """The gap of n rows in 10 clusters of equal size."""
    X, _ = make_blobs(n, 10, centers=10, cluster_std=6, random_state=0)
    rules = [ClusterSizes(minimum=n // 10, maximum=n // 10)]
    upper = upper_of(X, 10, rules)
    found = lower_bound(X, 10, rules, upper=upper, time_limit=seconds, device=device)
    gap = 100.0 * (found.gap or 0.0)
    told = f"{n:,} rows, k = 10, equal sizes: gap {gap:.3f} % in {found.seconds:.1f} s"
    return told, gap <= 3.0


def large(quick: bool) -> Iterator[tuple[str, bool]]:
    """2,000 rows in 10 clusters of equal size."""
    yield blobs(500 if quick else 2_000, 10.0 if quick else 120.0, None)


def gpu(quick: bool) -> Iterator[tuple[str, bool]]:
    """10,000 rows in 10 clusters of equal size, on a GPU if there is one."""
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        yield blobs(2_000 if quick else 10_000, 120.0, "cuda")


#: Data sets in parts: rules, groups of a part, and the gap in per cent that is wanted.
IN_PARTS: list[tuple[str, Rules, int, float]] = [
    ("iris", free, 50, 2.5),
    ("wine", free, 60, 2.0),
    ("breast_cancer", free, 145, 1.5),
    ("breast_cancer", free, 72, 1.5),
    ("ionosphere", links, 90, 5.0),
    ("seeds-like", most, 70, 1.5),
]


def parts(quick: bool) -> Iterator[tuple[str, bool]]:
    """The gap of the sum of the bounds of parts, after the iterations of a part."""
    for name, rules, size, wanted in IN_PARTS:
        X, y = data(name)
        k, given = len(np.unique(y)), rules(y)
        upper, grouped = upper_of(X, k, given), Grouped.of(X, None, ConstraintSet(given), k)
        begun = time.process_time()
        gap = 100.0 * (1.0 - sum_of_parts(grouped, size, None, NEVER) / upper)
        told = f"{name}, {rules.__name__}, in parts of {size}: gap {gap:.2f} %"
        yield f"{told}, {time.process_time() - begun:.1f} s", gap <= wanted


def varied(seed: int, X: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """The points, every third time as CSR, and every second time weights, some of them 0."""
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], len(X)) if seed % 2 else None
    if weight is not None and not weight.any():
        weight[0] = 1.0
    return (sparse.csr_array(X) if seed % 3 == 0 else X), weight


def larger(best: float, X: np.ndarray) -> float:
    """The objective, or where it is small, what bounds the rounding of its computation."""
    return max(best, 1e-3 * float(X.var(axis=0).sum()) * len(X), 1e-300)


def one_small(seed: int) -> float:
    """Bound less optimum of a small instance, as a part of the optimum."""
    X, rules, _ = random_instance(seed, n=(3, 10), k=(2, 3), d=(1, 4))
    points, weight = varied(seed, X)
    best = max(best_partition(X, rules, weight), 0.0)
    given, options = rules.constraints(), {"sample_weight": weight, "time_limit": 60.0}
    bound = lower_bound(points, rules.k, given, upper=best, **options)
    return (bound.value - best) / larger(best, X)


def one_middle(seed: int) -> float:
    """Bound less the best known answer of an instance of up to 40 rows, as a part of it."""
    X, rules, _ = random_instance(seed, n=(11, 40), k=(2, 6), d=(1, 6))
    points, weight = varied(seed, X)
    given = rules.constraints()
    model = ConstrainedKMeans(rules.k, n_init=5, random_state=seed)
    best = model.fit(points, constraints=given, sample_weight=weight).inertia_
    options = {"sample_weight": weight, "time_limit": 60.0}
    bound = lower_bound(points, rules.k, given, upper=best, **options)
    return (bound.value - best) / larger(best, X)


def safe(quick: bool) -> Iterator[tuple[str, bool]]:
    """The bound is never above an enumerated optimum, or above a known answer."""
    for count, one in ((5_000, one_small), (500, one_middle)):
        count = count // 50 if quick else count
        many = Parallel(n_jobs=JOBS)
        over = np.array(many(delayed(one)(seed) for seed in range(count)))
        above = int((over > 1e-12).sum())
        tight = 100.0 * float((over > -1e-6).mean())
        yield f"{count:,} instances: {above} above, {tight:.1f} % within a millionth", above == 0


def one_exact(seed: int) -> tuple[float, float]:
    """Answer of ``solver="exact"`` less the enumerated optimum, as a part of it, and the gap."""
    X, rules, _ = random_instance(seed, n=(4, 12), k=(2, 3), d=(1, 4))
    rules = replace(rules, totals=None, values=None)
    model = ConstrainedKMeans(rules.k, solver="exact", time_limit=60, random_state=seed)
    model.fit(X, constraints=rules.constraints())
    best = best_partition(X, rules)
    return (model.inertia_ - best) / larger(best, X), model.report_.gap or 0.0


def brute(quick: bool) -> Iterator[tuple[str, bool]]:
    """``solver="exact"`` finds the enumerated optimum, and proves it."""
    count = 10 if quick else 200
    found = np.array(Parallel(n_jobs=JOBS)(delayed(one_exact)(seed) for seed in range(count)))
    wrong, unproven = int((abs(found[:, 0]) > 1e-6).sum()), int((found[:, 1] > 1e-6).sum())
    yield f"{count} instances: {wrong} wrong, {unproven} not proven", wrong + unproven == 0


def until(X: np.ndarray, k: int, rules: list[Any], part: float, most: int) -> str:
    """Processor seconds until the gap is closed to a part of the best answer, and what is left."""
    upper = upper_of(X, k, rules)
    begun = time.process_time()
    search = Ascent(Grouped.of(X, None, ConstraintSet(rules), k).relaxation())
    value = search.run(NEVER, upper * (1.0 - part), most=most)
    took, left = time.process_time() - begun, 100.0 * (upper - value) / upper
    return f"gap {left:.3f} % after {search.n_iter} iterations, {took:.1f} s"


def tree(seed: int) -> str:
    """Processor seconds of ``solver="exact"`` on points without clusters."""
    X = np.random.default_rng(seed).normal(size=(40, 3))
    begun = time.process_time()
    ConstrainedKMeans(4, solver="exact", random_state=0).fit(X)
    return f"{time.process_time() - begun:.1f} s"


def spectral(m: int) -> str:
    """Milliseconds of a projection: all eigenvectors, and Lanczos' method."""
    X, _ = make_blobs(m, 10, centers=10, cluster_std=6, random_state=0)
    took = []
    for lanczos_from in (m, 0):
        with patch.object(relaxation, "LANCZOS_FROM", lanczos_from):
            search = Ascent(Grouped.of(X, None, ConstraintSet(), 10).relaxation())
        search._iterate(NEVER)
        begun = time.process_time()
        for _ in range(10):
            search._iterate(NEVER)
        took.append(f"{100.0 * (time.process_time() - begun):.0f}")
    return f"iteration of {m} groups: {took[0]} ms with all eigenvectors, {took[1]} ms with some"


def uninterrupted() -> str:
    """What the set-up and a dense eigenproblem take."""
    X, _ = make_blobs(1_000, 10, centers=10, random_state=0)
    grouped = Grouped.of(X, None, ConstraintSet(), 10)
    begun = time.process_time()
    relaxed = grouped.relaxation()
    setup = (time.process_time() - begun) / 1_000**2
    begun = time.process_time()
    InMemory(10_000).largest(relaxed.cost, 20, None, NEVER)
    dense = (time.process_time() - begun) / 1_000**3
    return f"set-up: {setup:.1e} s for each pair; dense: {dense:.1e} s for each cube"


def thresholds(quick: bool) -> Iterator[tuple[str, bool]]:
    """What each threshold does, in processor seconds."""
    for m in (200, 300, 400, 600, 800):
        yield f"LANCZOS_FROM: {spectral(m)}", True
    yield f"SETUP_SECONDS, DENSE_SECONDS: {uninterrupted()}", True
    cases: list[tuple[Any, str, tuple[float, ...], str, Rules]] = [
        (cuts, "CUTS_EACH", (1, 2, 5, 10, 20), "iris", free),
        (cuts, "CUTS_EACH", (1, 2, 5, 10, 20), "wine", links),
        (cuts, "CUT_ENTRIES", (3e5, 3e6, 3e7), "iris", free),
        (cuts, "CUT_ENTRIES", (3e5, 3e6, 3e7), "seeds-like", equal),
        (kinds, "MOST_KINDS", (1, 8), "iris", unequal),
        (kinds, "MOST_KINDS", (1, 8), "wine", unequal),
    ]
    for module, name, values, of, rules in cases:
        X, y = data(of)
        for value in values:
            with patch.object(module, name, value):
                told = until(X, len(np.unique(y)), rules(y), 1e-3, 600)
            yield f"{name} = {value:g}: {of}, {rules.__name__}: {told}", True
    trees = [
        (branch, "ROOT_ITERATIONS", (200, 2_000)),
        (branch, "NODE_ITERATIONS", (100, 400, 1_600)),
        (ascent, "NODE_PATIENCE", (5, 20, 80)),
    ]
    for module, name, values in trees:
        for value in values:
            with patch.object(module, name, value):
                yield f"{name} = {value}: {', '.join(tree(seed) for seed in range(3))}", True


PARTS = {
    "safe": safe,
    "brute": brute,
    "gaps": gaps,
    "exact": exact,
    "large": large,
    "gpu": gpu,
    "parts": parts,
    "thresholds": thresholds,
}


def main() -> int:
    """Run the parts that were asked for; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("--quick", action="store_true", help="fewer instances")
    given = parser.parse_args()
    missed, lines = 0, []
    for part in given.parts or PARTS:
        for line, met in PARTS[part](given.quick):
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
