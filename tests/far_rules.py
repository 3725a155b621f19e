"""Data and rules of every kind, for fits where the rows are."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.datasets import random_links

N, D, K = 4_000, 4, 8
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
RNG = np.random.default_rng(0)
VALUES, PARTY = RNG.lognormal(0.0, 0.7, N), np.where(RNG.random(N) < 0.35, "a", "b")
SHARE = VALUES.sum() / K
KNOWN = {int(row): int(Y[row]) for row in range(0, N, 25)}
EACH = [N // K] * K


def linear(row, group, cluster, value, number, **bounds):
    """Linear rows by their entries."""
    A = sparse.csr_array((value, (row, group * K + cluster)), shape=(number, N * K))
    return LinearConstraint(A, **bounds)


EVERY, SOME = np.arange(N), RNG.integers(0, N, 60)
#: The value of one cluster, a sum over all rows; and few rows in several clusters each.
OF_ONE = linear(np.zeros(N, int), EVERY, 2, VALUES, 1, upper=0.8 * SHARE)
OF_FEW = linear(
    np.repeat(np.arange(20), 3), SOME, RNG.integers(0, K, 60), np.ones(60), 20, lower=1.0
)
RULES = {
    "none": [],
    "sizes": [ClusterSizes(EACH)],
    "bounds in any order": [ClusterSizes([300, 350, 400, 450, 500, 600, 650, 750])],
    "totals": [ClusterTotals(VALUES, maximum=1.03 * SHARE)],
    "shares": [GroupShares(PARTY, minimum={"a": 0.32}, maximum={"a": 0.38})],
    "links": [*random_links(Y, 100, 100, random_state=0), ClusterSizes(EACH)],
    "pins": [Pin(KNOWN), ClusterSizes(maximum=520)],
    "linear row of one cluster": [OF_ONE],
    "linear rows of few": [OF_FEW, ClusterSizes(maximum=520)],
    "soft sizes": [ClusterSizes(EACH, weight=30.0)],
    "soft totals": [ClusterTotals(VALUES, maximum=1.03 * SHARE, weight=8.0)],
    "soft pins": [Pin(KNOWN, weight=20.0)],
    "soft links": [
        MustLink(random_links(Y, 60, 0, random_state=5)[0].pairs, weight=30.0),
        CannotLink(random_links(Y, 0, 60, random_state=6)[1].pairs, weight=30.0),
    ],
    "soft pins, soft sizes and totals": [
        Pin(KNOWN, weight=20.0),
        ClusterSizes(maximum=520, weight=10.0),
        ClusterTotals(VALUES, maximum=1.05 * SHARE),
    ],
}
