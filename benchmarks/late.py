"""Fits of hard instances of every kind: none ends later than its limit plus 1 s + 5 %.

``python benchmarks/late.py 200`` makes so many fits with random limits from 0.2 to 10 s and prints
how late each ended, in seconds after its limit.  ``python benchmarks/late.py default`` fits those
of up to 2,000 rows without a limit and prints seconds and objective: none may take longer than
20 s.
The status is 1 if a fit was late.
"""

from __future__ import annotations

import faulthandler
import sys
import time
import warnings

import numpy as np
from scipy import sparse

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    Pin,
    SolverTimeoutError,
)

#: Seconds that a fit without a limit may take.
LONGEST = 20.0


def pairs(rng, n, number):
    """Random pairs of different rows."""
    ends = rng.integers(0, n, (number, 2))
    return ends[ends[:, 0] != ends[:, 1]]


def totals(rng, n, k, room):
    """Totals of random values within a part of their mean."""
    values = rng.uniform(1.0, 3.0, n)
    mean = values.sum() / k
    return ClusterTotals(values, minimum=(1.0 - room) * mean, maximum=(1.0 + room) * mean)


def linear(rng, n, k):
    """Random rows that hold at the mean of all assignments."""
    A = sparse.random(60, n * k, 0.05, random_state=int(rng.integers(1000)), format="csr")
    return LinearConstraint(A, upper=np.ravel(A.sum(axis=1)) / k, n_clusters=k)


def chains(n, length):
    """Must-links that join rows in chains of this length."""
    return MustLink([(i, i + 1) for i in range(n - 1) if (i + 1) % length])


def unequal(n, k):
    """Sizes 1, 2, ... times a number, in any order."""
    sizes = np.arange(1, k + 1) * (2 * n // (k * (k + 1)))
    sizes[-1] += n - sizes.sum()
    return ClusterSizes(sizes)


def groups(rng, n):
    """A group for each row."""
    return rng.choice(["a", "b", "c"], n)


def pinned(rng, n, k):
    """Some rows with random clusters."""
    return Pin({int(row): int(rng.integers(k)) for row in rng.choice(n, n // 20, replace=False)})


def everything(rng, n, k):
    """Rules of most kinds at once."""
    return [
        MustLink(pairs(rng, n, n // 6)),
        CannotLink(pairs(rng, n, n // 2)),
        ClusterSizes(minimum=int(0.85 * n / k), maximum=int(1.15 * n / k)),
        totals(rng, n, k, 0.1),
        GroupShares(rng.choice(["a", "b"], n), minimum=0.4),
    ]


#: Rows, clusters, rules from a generator, and further parameters.
KINDS = {
    "sizes": (20_000, 50, lambda r, n, k: [ClusterSizes([n // k] * k)], {}),
    "bounds": (4_000, 500, lambda r, n, k: [ClusterSizes(minimum=6, maximum=9)], {}),
    "unequal sizes": (10_000, 40, lambda r, n, k: [unequal(n, k)], {}),
    "many clusters": (50_000, 1_000, lambda r, n, k: [], {}),
    "many rows": (200_000, 20, lambda r, n, k: [ClusterSizes([n // k] * k)], {}),
    "pins": (20_000, 50, lambda r, n, k: [pinned(r, n, k), ClusterSizes(minimum=n // k - 50)], {}),
    "total": (2_000, 20, lambda r, n, k: [totals(r, n, k, 0.02)], {}),
    "totals of many clusters": (3_000, 600, lambda r, n, k: [totals(r, n, k, 0.2)], {}),
    "three totals": (1_000, 10, lambda r, n, k: [totals(r, n, k, 0.03) for _ in range(3)], {}),
    "tight total": (200, 10, lambda r, n, k: [totals(r, n, k, 0.0005)], {}),
    "shares": (2_000, 20, lambda r, n, k: [GroupShares(groups(r, n), minimum=0.25)], {}),
    "linear": (400, 10, lambda r, n, k: [linear(r, n, k)], {}),
    "cannot-links": (500, 5, lambda r, n, k: [CannotLink(pairs(r, n, 5 * n))], {}),
    "dense cannot-links": (2_000, 10, lambda r, n, k: [CannotLink(pairs(r, n, 8 * n))], {}),
    "impossible cannot-links": (120, 4, lambda r, n, k: [CannotLink(pairs(r, n, 7 * n))], {}),
    "cannot-links and sizes": (
        2_000,
        10,
        lambda r, n, k: [CannotLink(pairs(r, n, 4 * n)), ClusterSizes([n // k] * k)],
        {},
    ),
    "chains": (5_000, 20, lambda r, n, k: [chains(n, 37), ClusterSizes([n // k] * k)], {}),
    "least violation": (
        300,
        4,
        lambda r, n, k: [CannotLink(pairs(r, n, 7 * n)), ClusterSizes([n // k] * k)],
        {"on_infeasible": "relax"},
    ),
    "soft pairs": (
        2_000,
        10,
        lambda r, n, k: [
            MustLink(pairs(r, n, 3 * n), weight=0.5),
            CannotLink(pairs(r, n, 3 * n), weight=0.7),
            ClusterSizes([n // k] * k),
        ],
        {},
    ),
    "few soft pairs": (
        27,
        4,
        lambda r, n, k: [
            MustLink(pairs(r, n, 40), weight=0.5),
            CannotLink(pairs(r, n, 12)),
            ClusterSizes(minimum=4, maximum=9),
        ],
        {},
    ),
    "everything": (1_200, 8, everything, {}),
    "algorithm 1": (
        2_000,
        10,
        lambda r, n, k: [ClusterSizes([n // k] * k)],
        {"solver": "algorithm1"},
    ),
}


def fit(kind, seed, limit):
    """Seconds of one fit, and what came of it."""
    rng = np.random.default_rng(seed)
    n, k, make, parameters = KINDS[kind]
    X, rules = rng.normal(size=(n, 4)), make(rng, n, k)
    model = ConstrainedKMeans(k, random_state=seed, time_limit=limit, **parameters)
    faulthandler.dump_traceback_later(1.0 + 1.05 * (LONGEST - 1.0 if limit is None else limit))
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, constraints=rules)
        found = f"{model.report_.objective:.6g} {model.report_.ended}"
    except (InfeasibleConstraintsError, SolverTimeoutError) as error:
        found = type(error).__name__
    seconds = time.perf_counter() - began
    faulthandler.cancel_dump_traceback_later()
    return seconds, found


def limited(number):
    """Fits with random limits; how many were late."""
    rng, late = np.random.default_rng(0), 0
    for seed in range(number):
        kind = list(KINDS)[seed % len(KINDS)]
        limit = float(np.exp(rng.uniform(np.log(0.2), np.log(10.0))))
        seconds, found = fit(kind, seed, limit)
        late += seconds > 1.05 * limit + 1.0
        print(f"{kind:24} {limit:6.2f} s {seconds - limit:+7.2f}  {found}", flush=True)
    return late


def unlimited():
    """Fits of up to 2,000 rows without a limit; how many took too long."""
    late = 0
    for kind, (n, *_) in KINDS.items():
        if n <= 2_000:
            seconds, found = fit(kind, 0, None)
            late += seconds > LONGEST
            print(f"{kind:24} {seconds:6.2f} s  {found}", flush=True)
    return late


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "200"
    late_fits = unlimited() if asked == "default" else limited(int(asked))
    print(f"{late_fits} late")
    sys.exit(bool(late_fits))
