"""Cosine without rules beside scikit-learn's ``KMeans`` on rows of length one.

``python benchmarks/cosine.py`` prints a table; ``--quick`` takes fewer data and seeds.  The
objective of both is the sum of the cosine distances to the directions of the clusters' sums,
computed here from the labels.  ``KMeans`` has as many starts as ``--starts`` says.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import normalize

from corral import ConstrainedKMeans


def objective(units: np.ndarray, labels: np.ndarray) -> float:
    """Rows less the lengths of the sums of the clusters."""
    sums = (units[labels == j].sum(axis=0) for j in np.unique(labels))
    return len(units) - sum(float(np.linalg.norm(each)) for each in sums)


def data(quick: bool) -> Iterator[tuple[str, np.ndarray, int]]:
    """Names, rows and numbers of clusters."""
    yield "iris", load_iris().data, 3
    yield "wine, centred", load_wine().data - load_wine().data.mean(axis=0), 5
    if quick:
        return
    yield "digits", load_digits().data, 10
    yield "blobs, 5,000 x 20", make_blobs(5_000, 20, centers=12, random_state=0)[0], 12
    rng = np.random.default_rng(0)
    yield "uniform directions, 3,000 x 5", rng.normal(size=(3_000, 5)), 8
    words = rng.poisson(rng.gamma(0.05, 8.0, (6, 300))[rng.integers(0, 6, 2_000)])
    yield "word counts, 2,000 x 300", words[words.any(axis=1)].astype(float), 6


def main() -> None:
    """Print ratios and seconds for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--starts", type=int, default=10, help="starts of KMeans")
    given = parser.parse_args()
    print("| data | k | corral / KMeans, least | mean | most | seconds, corral / KMeans |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, X, k in data(given.quick):
        units, ratios, seconds = normalize(X), [], np.zeros(2)
        for seed in range(2 if given.quick else 5):
            began = time.process_time()
            ours = ConstrainedKMeans(k, metric="cosine", random_state=seed).fit(X).labels_
            between = time.process_time()
            theirs = KMeans(k, n_init=given.starts, random_state=seed).fit(units).labels_
            seconds += between - began, time.process_time() - between
            ratios.append(objective(units, ours) / objective(units, theirs))
        shown = " | ".join(f"{value:.5f}" for value in (min(ratios), np.mean(ratios), max(ratios)))
        mean = seconds / len(ratios)
        print(f"| {name} | {k} | {shown} | {mean[0]:.2f} / {mean[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
