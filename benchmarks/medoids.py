"""Medoids: the capacitated p-median problem, and medoids without rules.

    python benchmarks/medoids.py FOLDER            # public instances, three seeds each (--seeds)
    python benchmarks/medoids.py FOLDER --quick    # two instances, one seed
    python benchmarks/medoids.py --random          # random instances against an integer program
    python benchmarks/medoids.py --sizes           # equal and different sizes, up to 2,000 rows
    python benchmarks/medoids.py --many            # hundreds of clusters, against k-means' clusters
    python benchmarks/medoids.py --free            # without rules, against the package kmedoids

An instance is a text file: points and clusters, then for each point x, y, capacity and demand.
``KNOWN`` has the best values of the literature.  Seconds are processor seconds of this process,
because machines are shared; ``time_limit`` is wide, so that a busy machine does not end a fit.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from capacities import read
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans, ConstrainedKMedoids

#: Best known sums of distances (Lorena and Senne; Stefanello et al., proven for lin318).
KNOWN = {
    "SJC1": 17288.99,
    "SJC2": 33270.94,
    "SJC3a": 45335.16,
    "SJC3b": 40635.90,
    "SJC4a": 61925.51,
    "SJC4b": 52458.02,
    "lin318_005": 180281.21,
    "lin318_015": 88901.56,
    "lin318_040": 47988.38,
    "lin318_070": 32198.64,
    "lin318_100": 22942.69,
}


def fit(X, k, capacity, demand, seed, limit):
    """Sum of distances and processor seconds of one fit; every rule is checked here."""
    began = time.process_time()
    model = ConstrainedKMedoids(k, random_state=seed, time_limit=limit)
    model.fit(X, constraints=ClusterTotals(demand, maximum=capacity))
    seconds = time.process_time() - began
    medoids, labels = model.medoid_indices_, model.labels_
    assert np.bincount(labels, demand, k).max() <= capacity
    assert np.array_equal(labels[medoids], np.arange(k))
    return float(np.linalg.norm(X - X[medoids[labels]], axis=1).sum()), seconds


def instances(folder, quick, seeds, limit):
    """A table of all public instances."""
    print("| instance | points | clusters | best known | gaps in % by seed | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in ("SJC1", "lin318_040") if quick else KNOWN:
        X, k, capacity, demand = read(Path(folder) / f"{name}.dat")
        runs = [fit(X, k, capacity, demand, seed, limit) for seed in range(seeds)]
        gaps = " ".join(f"{100.0 * (value / KNOWN[name] - 1.0):.3f}" for value, _ in runs)
        seconds = np.mean([took for _, took in runs])
        known = f"{KNOWN[name]:,.2f}"
        print(f"| {name} | {len(X)} | {k} | {known} | {gaps} | {seconds:.1f} |", flush=True)


def best(distance, k, capacity, demand, seconds):
    """Value and bound by an integer program (SciPy's HiGHS): y_j opens j, x_ij gives i to j."""
    n = len(demand)
    eye, one = sparse.identity(n), np.ones((1, n))
    # Columns: x_00, x_01, ..., then y.
    once = sparse.hstack([sparse.kron(eye, one), sparse.csr_array((n, n))])
    room = sparse.hstack([sparse.kron(demand[None, :], eye), -capacity * eye])
    opened = sparse.hstack([sparse.identity(n * n), -sparse.kron(np.ones((n, 1)), eye)])
    number = sparse.hstack([sparse.csr_array((1, n * n)), sparse.csr_array(one)])
    rows = LinearConstraint(
        sparse.vstack([once, room, opened, number]).tocsr(),
        np.r_[np.ones(n), np.full(n + n * n, -np.inf), k],
        np.r_[np.ones(n), np.zeros(n + n * n), k],
    )
    cost = np.r_[distance.ravel(), np.zeros(n)]
    options = {"time_limit": seconds}
    found = milp(cost, constraints=rows, integrality=1, bounds=Bounds(0, 1), options=options)
    return found.fun, found.mip_dual_bound


def random_instances(quick, limit):
    """Random instances of different shape and fill, against the integer program."""
    print("| points | clusters | fill | metric | ours / program | program / bound | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    cases = [(30, 4, 0.9), (40, 8, 0.85), (50, 5, 0.95), (60, 12, 0.8)]
    for seed, (n, k, fill) in enumerate(cases[: 2 if quick else None]):
        rng = np.random.default_rng(seed)
        X, demand = rng.random((n, 2)), rng.integers(1, 20, n).astype(float)
        capacity = np.ceil(demand.sum() / k / fill)
        value, seconds = fit(X, k, capacity, demand, seed, limit)
        known, bound = best(cdist(X, X), k, capacity, demand, 60.0)
        print(
            f"| {n} | {k} | {fill} | euclidean | {value / known:.5f} | {known / bound:.5f} "
            f"| {seconds:.1f} |",
            flush=True,
        )


def sized(quick, limit):
    """Rows around centres of different popularity, with sizes that do not suit them."""
    print("| points | features | clusters | sizes | sums of distances by seed | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    cases = [(200, 5, 10), (1_000, 5, 10), (1_000, 2, 40), (2_000, 10, 5)]
    for n, d, k in cases[: 1 if quick else None]:
        rng = np.random.default_rng(n + k)
        chance = np.arange(1, k + 1) / (k * (k + 1) / 2)
        X = 2.0 * rng.normal(size=(k, d))[rng.choice(k, n, p=chance)] + rng.normal(size=(n, d))
        step = n // (k * (k + 1) // 2)
        different = [*(step * j for j in range(1, k)), n - step * k * (k - 1) // 2]
        for name, sizes in (("equal", [n // k] * k), ("different", different)):
            runs = []
            for seed in range(1 if quick else 2):
                began = time.process_time()
                model = ConstrainedKMedoids(k, random_state=seed, time_limit=limit)
                model.fit(X, constraints=ClusterSizes(sizes))
                runs.append((model.inertia_, time.process_time() - began))
                assert sorted(np.bincount(model.labels_)) == sorted(sizes)
            values = " ".join(f"{value:.3f}" for value, _ in runs)
            seconds = np.mean([took for _, took in runs])
            print(f"| {n} | {d} | {k} | {name} | {values} | {seconds:.1f} |", flush=True)


def many(quick, seeds, limit):
    """Uniform points, capacities 80 % full, hundreds of clusters."""
    print("| points | clusters | k-means' clusters | with one exchange | ours / that | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    cases = [(1_500, 300), (3_000, 600), (3_000, 1_000)]
    for n, k in cases[: 1 if quick else None]:
        rng = np.random.default_rng(n + k)
        X, demand = rng.random((n, 2)), rng.lognormal(0.0, 0.4, n)
        capacity = max(demand.sum() / k / 0.8, demand.max())
        rules, distance = ClusterTotals(demand, maximum=capacity), cdist(X, X)
        means = ConstrainedKMeans(k, random_state=0, time_limit=limit).fit(X, constraints=rules)
        labels = means.labels_.astype(int)
        plain = distance[np.arange(n), medoids_of(distance, labels, k)[labels]].sum()
        better = exchanged(distance, labels, k, demand, capacity)
        runs = [fit(X, k, capacity, demand, seed, limit) for seed in range(seeds)]
        ratios = " ".join(f"{value / better:.4f}" for value, _ in runs)
        seconds = np.mean([took for _, took in runs])
        print(f"| {n} | {k} | {plain:.3f} | {better:.3f} | {ratios} | {seconds:.1f} |", flush=True)


def medoids_of(distance, labels, k):
    """The best medoid of each cluster among its members; -1 of an empty one."""
    medoids = np.full(k, -1)
    for j in np.unique(labels):
        members = np.flatnonzero(labels == j)
        medoids[j] = members[distance[np.ix_(members, members)].sum(axis=0).argmin()]
    return medoids


def exchanged(distance, labels, k, demand, capacity):
    """Sum of distances after one exchange: every row in turn, then the best medoids again.

    A row goes to the nearest medoid with room, or changes places with a row of one of the eight
    nearest clusters, whichever saves more.
    """
    labels, rows = labels.copy(), np.arange(len(labels))
    at = distance[:, medoids_of(distance, labels, k)]
    room = capacity - np.bincount(labels, demand, k)
    for i in rows:
        a = labels[i]
        best, move = -1e-12, None
        for b in np.argsort(at[i], kind="stable")[:8]:
            rise = at[i, b] - at[i, a]
            if b == a:
                continue
            if demand[i] <= room[b] and rise < best:
                best, move = rise, (b, None)
            others = np.flatnonzero(labels == b)
            gap = demand[i] - demand[others]
            swaps = rise + at[others, a] - at[others, b]
            swaps[(gap > room[b]) | (-gap > room[a])] = np.inf
            if len(others) and swaps.min() < best:
                best, move = swaps.min(), (b, others[swaps.argmin()])
        if move is not None:
            for row, to in ((i, move[0]), (move[1], a)):
                if row is not None:
                    room[labels[row]] += demand[row]
                    room[to] -= demand[row]
                    labels[row] = to
    return distance[rows, medoids_of(distance, labels, k)[labels]].sum()


def free(starts):
    """Without rules, from the same starts as FasterPAM of the package kmedoids."""
    import kmedoids

    print("| data | start | ours / kmedoids | ours / kmedoids, seconds | drawn / kmedoids |")
    print("| --- | --- | --- | --- | --- |")
    for name, X, k in (("iris", load_iris().data, 3), ("digits", load_digits().data, 10)):
        distance = cdist(X, X)
        for seed in range(starts):
            init = np.random.RandomState(seed).choice(len(X), k, replace=False)
            began = time.process_time()
            theirs = kmedoids.fasterpam(distance, init)
            between = time.process_time()
            ours = ConstrainedKMedoids(k, metric="precomputed", init=init).fit(distance)
            ended = time.process_time()
            drawn = ConstrainedKMedoids(k, metric="precomputed", random_state=seed).fit(distance)
            print(
                f"| {name} | {seed} | {ours.inertia_ / theirs.loss:.9f} "
                f"| {ended - between:.2f} / {between - began:.2f} "
                f"| {drawn.inertia_ / theirs.loss:.9f} |",
                flush=True,
            )


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--limit", type=float, default=3600.0, help="time_limit of a fit")
    given = parser.parse_args()
    if given.folder:
        instances(given.folder, given.quick, 1 if given.quick else given.seeds, given.limit)
    if given.random:
        random_instances(given.quick, given.limit)
    if given.sizes:
        sized(given.quick, given.limit)
    if given.many:
        many(given.quick, 1 if given.quick else given.seeds, given.limit)
    if given.free:
        free(1 if given.quick else 5)


if __name__ == "__main__":
    main()
