"""Capacities: public instances against k-means with exact assignment, and many clusters.

    python benchmarks/capacities.py FOLDER            # all instances, five seeds each
    python benchmarks/capacities.py FOLDER --quick    # two instances, two seeds
    python benchmarks/capacities.py --uniform         # 3,000 points in 600 clusters

An instance is a text file: points and clusters, then for each point x, y, capacity and demand.  The
reference is k-means with an integer program (SciPy's HiGHS) in place of the nearest centre, from 30
k-means++ starts or until its time is over.  Seconds are processor seconds of this process, because
machines are shared; ``time_limit`` is wide, so that a busy machine does not end a fit.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, identity, kron, vstack
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus

from corral import ClusterTotals, ConstrainedKMeans

SEEDS, STARTS = 5, 30
#: Seconds of one program of the reference; most take less.
PROGRAM_SECONDS = 5.0


def read(path):
    """Points, number of clusters, capacity of each cluster, and demands."""
    n, k = np.loadtxt(path, max_rows=1).astype(int)
    x, y, capacity, demand = np.loadtxt(path, skiprows=1).T
    assert len(x) == n
    return np.column_stack([x, y]), k, capacity[0], demand


def fit(X, k, capacity, demand, seed, limit):
    """Inertia and processor seconds of one fit, checked by the audit."""
    rules = [ClusterTotals(demand, maximum=capacity)]
    began = time.process_time()
    model = ConstrainedKMeans(k, n_init=1, random_state=seed, time_limit=limit)
    model.fit(X, constraints=rules)
    seconds = time.process_time() - began
    assert np.bincount(model.labels_, demand, k).max() <= capacity
    return model.inertia_, seconds


def reference(X, k, capacity, demand, seconds):
    """The best of k-means with exact assignment, how many starts were made, and in what time."""
    n, best, made = len(X), np.inf, 0
    once = kron(identity(n), np.ones((1, k)))
    room = kron(csr_array(demand[None, :]), identity(k))
    rows = LinearConstraint(
        vstack([once, room]).tocsr(),
        np.r_[np.ones(n), np.full(k, -np.inf)],
        np.r_[np.ones(n), np.full(k, capacity)],
    )
    began = time.monotonic()
    while made < STARTS and time.monotonic() - began < seconds:
        centers, _ = kmeans_plusplus(X, k, random_state=made)
        made, value = made + 1, np.inf
        while time.monotonic() - began < seconds:
            cost = cdist(X, centers, "sqeuclidean")
            options = {"time_limit": PROGRAM_SECONDS}
            found = milp(
                cost.ravel(), constraints=rows, integrality=1, bounds=Bounds(0, 1), options=options
            )
            if found.x is None:
                break
            labels = found.x.reshape(n, k).argmax(axis=1)
            count = np.bincount(labels, minlength=k)
            sums = np.column_stack([np.bincount(labels, X[:, f], k) for f in (0, 1)])
            centers[count > 0] = (sums / np.maximum(count, 1)[:, None])[count > 0]
            now = float(((X - centers[labels]) ** 2).sum())
            if now >= value * (1.0 - 1e-9):
                break
            value = now
        best = min(best, value)
    return best, made, time.monotonic() - began


def instances(folder, quick, limit, seconds):
    """A table of all instances."""
    print("| instance | points | clusters | fill | best | worst | seconds | reference | starts |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    names = ["SJC1", "lin318_015"] if quick else sorted(p.stem for p in Path(folder).glob("*.dat"))
    for name in names:
        X, k, capacity, demand = read(Path(folder) / f"{name}.dat")
        runs = [fit(X, k, capacity, demand, s, limit) for s in range(2 if quick else SEEDS)]
        values, took = zip(*runs, strict=True)
        known, starts, _ = reference(X, k, capacity, demand, seconds) if seconds else (np.nan, 0, 0)
        print(
            f"| {name} | {len(X)} | {k} | {demand.sum() / capacity / k:.2f} | {min(values):,.0f} "
            f"| {max(values) / min(values):.4f} | {np.mean(took):.1f} "
            f"| {known / min(values):.3f} | {starts} |",
            flush=True,
        )


def uniform(limit):
    """3,000 uniform points, 600 clusters, capacity at 80 % fill, against free k-means."""
    rng = np.random.default_rng(0)
    X, demand = rng.random((3000, 2)), rng.integers(1, 20, 3000).astype(float)
    free = KMeans(600, n_init=1, random_state=0).fit(X).inertia_
    value, seconds = fit(X, 600, demand.sum() / 600 / 0.8, demand, 0, limit)
    print(f"uniform: {value / free:.3f} of free k-means in {seconds:.1f} s")


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--uniform", action="store_true")
    parser.add_argument("--limit", type=float, default=300.0, help="time_limit of a fit")
    parser.add_argument("--reference", type=float, default=60.0, help="seconds for each reference")
    given = parser.parse_args()
    if given.folder:
        instances(given.folder, given.quick, given.limit, given.reference)
    if given.uniform:
        uniform(given.limit)


if __name__ == "__main__":
    main()
