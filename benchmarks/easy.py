"""Well separated blobs in the plane with equal sizes: is corral as fast as k-means-constrained?

Both start from the same k-means++ centres and run in turn in this process.  Blobs are drawn around
centres that are some standard deviations apart.  Run ``make bench`` once for the environment with
the peer, then ``build/bench-venv/bin/python benchmarks/easy.py``; ``--quick`` has one seed.  The
exit code is 1 if corral's median time is above the peer's in any row, or its inertia above the
peer's in any run.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
from k_means_constrained import KMeansConstrained
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from corral import ClusterSizes, ConstrainedKMeans

Floats = NDArray[np.float64]

#: Points and clusters.
SHAPES = [(n, k) for n in (5_000, 7_500) for k in (15, 35, 50)]
#: Least distances between two centres, in standard deviations of a blob.
DISTANCES = 5.0, 8.0


def blobs(n: int, k: int, distance: float, seed: int) -> Floats:
    """Equal blobs of variance 1 around centres that are at least so far apart."""
    rng = np.random.default_rng(seed)
    centers: list[Floats] = []
    side = distance * np.sqrt(2.0 * k)
    while len(centers) < k:
        drawn = rng.uniform(0.0, side, 2)
        if all(np.hypot(*(drawn - other)) >= distance for other in centers):
            centers.append(drawn)
    return np.array(centers)[np.arange(n) % k] + rng.normal(size=(n, 2))


def fits(n: int, k: int, distance: float, seed: int) -> tuple[Floats, Floats]:
    """Seconds and inertia of corral and of the peer, (2,) each."""
    X = blobs(n, k, distance, seed)
    centers, _ = kmeans_plusplus(X, k, random_state=seed)
    least, most = n // k, -(-n // k)
    sizes = ClusterSizes(minimum=least, maximum=most)
    ours = ConstrainedKMeans(k, init=centers, random_state=seed)
    peer = KMeansConstrained(
        k, size_min=least, size_max=most, init=centers, n_init=1, random_state=seed
    )
    begun = time.perf_counter()
    ours.fit(X, constraints=sizes)
    between = time.perf_counter()
    peer.fit(X)
    end = time.perf_counter()
    return np.array([between - begun, end - between]), np.array([ours.inertia_, peer.inertia_])


def main() -> int:
    """Print a table: median seconds of both, their ratio, and the largest relative difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one seed instead of five")
    seeds = 1 if parser.parse_args().quick else 5
    warnings.simplefilter("ignore")
    fits(1_000, 5, 8.0, 0)  # imports and caches
    print("| points | clusters | distance | corral, s | peer, s | ratio | inertia over peer's |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    fine = True
    for n, k in SHAPES:
        for distance in DISTANCES:
            runs = [fits(n, k, distance, seed) for seed in range(seeds)]
            ours, peer = np.median([seconds for seconds, _ in runs], axis=0)
            worst = max(float(inertia[0] / inertia[1] - 1.0) for _, inertia in runs)
            fine &= bool(ours <= peer) and worst <= 1e-6
            print(
                f"| {n:,} | {k} | {distance:g} | {ours:.3f} | {peer:.3f} | {ours / peer:.2f} | "
                f"{worst:+.1e} |",
                flush=True,
            )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
