"""Known labels of some rows, as links and as pins, against Lloyd's method from the labelled means.

    python benchmarks/labels.py            # digits, 20,000 x 26 clusters, 60,000 x 10 clusters
    python benchmarks/labels.py --quick    # digits alone

All pairs of 1, 5 and 10 % of the rows are must-links and cannot-links by their classes, or the rows
are pinned.  The reference starts from the means of the labelled classes.  In each round it assigns
the classes of labelled rows by the Hungarian method, or to their clusters if they are pinned, and
every other row to its nearest centre.  Clusters without a labelled row start at rows drawn by
k-means++ among the unlabelled.

A line gives objectives, processor seconds, and whether corral is above the reference ("ABOVE") or
slower than 3 times its time plus 1 s ("SLOW").  The status is 1 if a line says so.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from corral import CannotLink, ConstrainedKMeans, MustLink, Pin

SHARES = (0.01, 0.05, 0.10)


def data(name):
    """Points and classes of one of the sets."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "blobs 20,000 k=26":
        return make_blobs(20_000, 6, centers=26, cluster_std=4.0, random_state=0)
    return make_blobs(60_000, 5, centers=10, cluster_std=4.0, random_state=1)


def links(rows, y):
    """All pairs of the rows as links."""
    first, second = np.triu_indices(len(rows), 1)
    pairs = np.column_stack([rows[first], rows[second]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return [MustLink(pairs[same]), CannotLink(pairs[~same])]


def reference(X, k, rows, y, pinned):
    """Lloyd's method from the labelled means, labelled classes whole and apart."""
    classes = np.unique(y[rows])
    members = [rows[y[rows] == each] for each in classes]
    centers = np.empty((k, X.shape[1]))
    own = classes if pinned else np.arange(len(classes))
    centers[own] = [X[group].mean(axis=0) for group in members]
    rest = np.setdiff1d(np.arange(k), own)
    if len(rest):
        centers[rest] = kmeans_plusplus(X, len(rest), random_state=0)[0]
    best = np.inf
    while True:
        cost = euclidean_distances(X, centers, squared=True)
        labels = cost.argmin(axis=1)
        if not pinned:
            own = linear_sum_assignment(np.array([cost[group].sum(axis=0) for group in members]))[1]
        for group, j in zip(members, own, strict=True):
            labels[group] = j
        for j in np.unique(labels):
            centers[j] = X[labels == j].mean(axis=0)
        inertia = float(np.square(X - centers[labels]).sum())
        if inertia >= best * (1 - 1e-12):
            return best
        best = inertia


def timed(call):
    """What the call gives, and its seconds of processor time."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = call()
    return found, time.process_time() - began


def compare(name, share, seed, pinned):
    """Print one line; whether corral is above the reference or slow."""
    X, y = data(name)
    k = len(np.unique(y))
    rows = np.sort(np.random.default_rng(seed).choice(len(X), int(share * len(X)), replace=False))
    rules = (
        [Pin(dict(zip(rows.tolist(), y[rows].tolist(), strict=True)))] if pinned else links(rows, y)
    )
    theirs = timed(lambda: reference(X, k, rows, y, pinned))
    model = ConstrainedKMeans(k, random_state=seed)
    ours = timed(lambda: model.fit(X, constraints=rules).inertia_)
    above, slow = ours[0] > theirs[0] * (1 + 1e-9), ours[1] > 3 * theirs[1] + 1
    verdict = " ABOVE" * above + " SLOW" * slow or " ok"
    print(
        f"{name:18s} {100 * share:3.0f} % {'pins' if pinned else 'links':5s} seed {seed}  "
        f"corral {ours[0]:13.2f} {ours[1]:6.2f} s   reference {theirs[0]:13.2f} {theirs[1]:6.2f} s"
        f"   {100 * (ours[0] / theirs[0] - 1):+8.4f} %{verdict}",
        flush=True,
    )
    return above or slow


def main(arguments):
    """All sets, shares and kinds."""
    names = ["digits", "blobs 20,000 k=26", "blobs 60,000 k=10"]
    bad = [
        compare(name, share, seed, pinned)
        for name in (names[:1] if "--quick" in arguments else names)
        for share in SHARES
        for pinned in (False, True)
        for seed in range(3 if name == "digits" else 1)
    ]
    print(f"{sum(bad)} of {len(bad)} above the reference or slow")
    return int(any(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
