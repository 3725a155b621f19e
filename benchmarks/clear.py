"""When are clusters clear: the loss by giving up a cluster over what splitting one saves.

Prints the largest ratio that fits with equal sizes look at, for data without clusters and for blobs
of unit width on a grid.  ``CLEAR`` in ``corral.plan.thresholds`` must lie between the two.
"""

from __future__ import annotations

import corral.polish.search as search
import numpy as np
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans

N = 600
DRAW = {"uniform": "uniform", "normal": "standard_normal", "exponential": "standard_exponential"}


def ratio(X: np.ndarray, k: int) -> float:
    """Largest ratio in a fit of X with k clusters of nearly equal size."""
    seen, real = [0.0], search.relocations

    def spy(*arguments):
        found = real(*arguments)
        seen.append(found[0].min() / max(found[1].max(), 1e-300))
        return found

    search.relocations = spy
    try:
        sizes = ClusterSizes(minimum=len(X) // k - 2, maximum=len(X) // k + 2)
        ConstrainedKMeans(k, n_init=2, random_state=0).fit(X, constraints=sizes)
    finally:
        search.relocations = real
    return max(seen)


def main() -> None:
    """Print both tables."""
    for name, draw in DRAW.items():
        for d in (1, 2, 3, 10):
            X = getattr(np.random.default_rng(0), draw)(size=(N, d))
            found = ", ".join(f"k = {k}: {ratio(X, k):.1f}" for k in (2, 3, 4, 8))
            print(f"{name}, {d} features: {found}")
    for distance in (3, 4, 5, 6, 8, 12):
        centers = distance * np.array([(i % 4, i // 4) for i in range(15)], float)
        X, _ = make_blobs(N, centers=centers, cluster_std=1.0, random_state=0)
        print(f"15 blobs, distance {distance}: {ratio(X, 15):.1f}")


if __name__ == "__main__":
    main()
