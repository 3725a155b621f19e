"""Two jobs that others do too, from the same k-means++ starts, timed in turn in one run.

Sizes: 5000 x 10 in ten clusters of 500, against k-means-constrained.  Pairs: 1000 x 5 in five
clusters with 100 must-links and 100 cannot-links, against two COP-KMeans and k-means with an exact
ILP assignment.  A peer that is not installed is left out:
``pip install k-means-constrained active-semi-supervised-clustering``, and
``copkmeans/cop_kmeans.py`` of github.com/Behrouz-Babaki/COP-Kmeans somewhere on PYTHONPATH.
Run ``python benchmarks/peers_jobs.py``.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

from corral import ConstrainedKMeans
from corral.datasets import random_links

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from reference import Rules, exact_kmeans, inertia, violations

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Method = Callable[[Floats, Rules, Floats, int], Labels | None]


def by_corral(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels:
    """corral as it comes, from these centres."""
    model = ConstrainedKMeans(rules.k, init=centers, random_state=seed)
    return model.fit(X, constraints=rules.constraints()).labels_


def by_k_means_constrained(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels:
    """Sizes only, one minimum and one maximum for all clusters."""
    from k_means_constrained import KMeansConstrained

    low, high = rules.sizes
    model = KMeansConstrained(
        rules.k,
        size_min=int(low[0]),
        size_max=int(high[0]),
        init=centers,
        n_init=1,
        random_state=seed,
    )
    return model.fit(X).labels_


def by_cop_kmeans(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """COP-Kmeans of Behrouz Babaki; it takes no centres, so its seeding is replaced."""
    module = importlib.import_module("copkmeans.cop_kmeans")
    module.initialize_centers = lambda dataset, k, method: centers.tolist()
    pairs = {"ml": rules.must.tolist(), "cl": rules.cannot.tolist()}
    found = module.cop_kmeans(X, rules.k, **pairs)
    return None if found is None else np.array(found[0])


def by_active_cop_kmeans(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """COPKMeans of active-semi-supervised-clustering, its seeding replaced likewise."""
    package = "active_semi_clustering.semi_supervised.pairwise_constraints.copkmeans"
    module = importlib.import_module(package)
    np.random.seed(seed)
    model = module.COPKMeans(rules.k)
    model._init_cluster_centers = lambda X: centers.copy()
    try:
        return model.fit(X, ml=rules.must.tolist(), cl=rules.cannot.tolist()).labels_
    except (module.ClusteringNotFoundException, module.EmptyClustersException):
        return None


def by_ilp(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """Means and exact assignment in turn, the reference of the tests."""
    return exact_kmeans(X, rules, centers)


@dataclass(frozen=True)
class Job:
    """Data, rules, and who does it; corral has to be faster than the ``rivals``."""

    title: str
    X: Floats
    rules: Rules
    methods: dict[str, Method]
    rivals: tuple[str, ...]


def sizes_job() -> Job:
    """Ten clusters of 500."""
    X, _ = make_blobs(5000, 10, centers=10, cluster_std=6, random_state=0)
    each = np.full(10, 500)
    methods = {"corral": by_corral, "k-means-constrained": by_k_means_constrained}
    title = "Sizes: 5000 x 10, ten clusters of 500"
    rules = Rules(n=5000, k=10, sizes=(each, each))
    return Job(title, X, rules, methods, ("k-means-constrained",))


def pairs_job() -> Job:
    """100 + 100 pairs drawn from the labels."""
    X, y = make_blobs(1000, 5, centers=5, cluster_std=5, random_state=0)
    must, cannot = random_links(y, 100, 100, random_state=0)
    methods = {
        "corral": by_corral,
        "COP-Kmeans": by_cop_kmeans,
        "COPKMeans (active-semi-supervised)": by_active_cop_kmeans,
        "exact ILP assignment": by_ilp,
    }
    title = "Pairs: 1000 x 5, k = 5, 100 must-links and 100 cannot-links"
    rules = Rules(n=1000, k=5, must=must.pairs, cannot=cannot.pairs)
    return Job(title, X, rules, methods, ("COP-Kmeans",))


def installed(methods: dict[str, Method]) -> dict[str, Method]:
    """Those whose package can be imported; says which cannot."""
    needs = {
        by_k_means_constrained: "k_means_constrained",
        by_cop_kmeans: "copkmeans.cop_kmeans",
        by_active_cop_kmeans: "active_semi_clustering",
    }
    found = {}
    for name, method in methods.items():
        if _importable(needs.get(method)):
            found[name] = method
        else:
            print(f"({name} is not installed and left out)")
    return found


def _importable(name: str | None) -> bool:
    try:
        return name is None or isinstance(importlib.import_module(name), ModuleType)
    except ImportError:
        return False


Result = tuple[float, int, float, float]


def run(job: Job, n_starts: int) -> dict[str, list[Result]]:
    """Inertia, violations, wall and CPU seconds of every method, in turn from every start."""
    methods = installed(job.methods)
    results: dict[str, list[Result]] = {name: [] for name in methods}
    for name, method in methods.items():  # imports and first-call costs are not what is measured
        few, _ = kmeans_plusplus(job.X, job.rules.k, random_state=99)
        if name != "exact ILP assignment":
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
    """Print the table; whether corral is as good and as fast as demanded."""
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
    ours = results["corral"]
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
        f"\nno worse than every feasible peer: {'yes' if good else 'NO'}; "
        f"faster than {', '.join(job.rivals)}: {'yes' if fast else 'NO'}\n",
        flush=True,
    )
    return good and fast


def main() -> int:
    """Do both jobs."""
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
