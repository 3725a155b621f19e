"""Instances that take long, of every kind of rule, for ``limits.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)


@dataclass
class Job:
    """A call of ``fit``, or of ``assign`` with centres from a fit without rules."""

    X: Any
    k: int
    rules: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    weights: Any = None
    assign: bool = False

    @property
    def on_command_line(self) -> bool:
        """Whether ``corral fit`` can do the same."""
        plain = not self.assign and self.weights is None and isinstance(self.X, np.ndarray)
        return plain and set(self.options) <= {"n_jobs"}


def _pairs(rng: Any, n: int, count: int, labels: Any = None, together: bool = False) -> Any:
    """Random pairs; with labels, of rows with the same label or with different ones."""
    pairs = rng.integers(n, size=(6 * count, 2))
    good = pairs[:, 0] != pairs[:, 1]
    if labels is not None:
        good &= (labels[pairs[:, 0]] == labels[pairs[:, 1]]) == together
    return pairs[good][:count]


def _normal(rng: Any, n: int, d: int = 4) -> Any:
    return rng.normal(size=(n, d))


def dense_pairs(rng: Any) -> Job:
    """Five random cannot-links a point, which five clusters can just hold."""
    n = int(rng.choice([500, 2000]))
    return Job(_normal(rng, n), 5, [CannotLink(_pairs(rng, n, 5 * n))])


def colouring(rng: Any) -> Job:
    """A random graph near the threshold of three colours: often no labels exist."""
    n = int(rng.integers(150, 600))
    return Job(_normal(rng, n), 3, [CannotLink(_pairs(rng, n, int(2.35 * n)))])


def tangled(rng: Any) -> Job:
    """Must-links, cannot-links, exact sizes and narrow totals."""
    n, k = 900, 6
    labels = rng.integers(k, size=n)
    values = rng.integers(1, 50, size=n)
    load = np.bincount(labels, weights=values, minlength=k)
    rules = [
        MustLink(_pairs(rng, n, n // 3, labels, True)),
        CannotLink(_pairs(rng, n, 3 * n, labels, False)),
        ClusterSizes(np.bincount(labels, minlength=k)),
        ClusterTotals(values, minimum=load - 3, maximum=load + 3),
    ]
    return Job(_normal(rng, n), k, rules)


def many_totals(rng: Any) -> Job:
    """3,000 rows in 600 clusters of limited capacity."""
    n, k = 3000, 600
    demand = rng.integers(1, 30, size=n)
    return Job(_normal(rng, n, 2), k, [ClusterTotals(demand, maximum=1.1 * demand.sum() / k)])


def three_totals(rng: Any) -> Job:
    """Three totals, each with a minimum and a maximum."""
    n, k = 1000, 30
    rules = []
    for _ in range(3):
        values = rng.integers(1, 100, size=n)
        mean = values.sum() / k
        rules.append(ClusterTotals(values, minimum=0.95 * mean, maximum=1.05 * mean))
    return Job(_normal(rng, n), k, rules)


def packing(rng: Any) -> Job:
    """Large rows in bins that have almost no room to spare: few labels exist, or none."""
    n, k = int(rng.integers(40, 120)), 12
    sizes = rng.integers(200, 500, size=n)
    return Job(_normal(rng, n, 2), k, [ClusterTotals(sizes, maximum=1.002 * sizes.sum() / k)])


def chains_infeasible(rng: Any) -> Job:
    """Chains of 37 rows, of which no number adds up to 250."""
    n = 5000
    chain = [(i, i + 1) for i in range(n - 1) if (i + 1) % 37]
    return Job(_normal(rng, n), 20, [MustLink(chain), ClusterSizes([250] * 20)])


def chains(rng: Any) -> Job:
    """Chains of random lengths that just fill the clusters."""
    k, lengths = 20, []
    for _ in range(k):
        cuts = np.sort(rng.choice(np.arange(1, 250), size=12, replace=False))
        lengths += np.diff([0, *cuts, 250]).tolist()
    starts = np.cumsum([0, *rng.permutation(lengths)])
    ends = set(starts.tolist())
    chain = [(i, i + 1) for i in range(int(starts[-1]) - 1) if i + 1 not in ends]
    X = _normal(rng, int(starts[-1]))
    return Job(X, k, [MustLink(chain), ClusterSizes([250] * k)])


def shares(rng: Any) -> Job:
    """Four groups whose shares are almost those of all rows."""
    n, k = 4000, 25
    groups = rng.integers(4, size=n)
    part = np.bincount(groups) / n
    low = {g: float(np.floor(96 * p) / 100) for g, p in enumerate(part)}
    return Job(_normal(rng, n), k, [GroupShares(groups, minimum=low)])


def many_clusters(rng: Any) -> Job:
    """50,000 rows in 500 clusters of bounded size."""
    X = _normal(rng, 50_000, 8)
    return Job(X, 500, [ClusterSizes(minimum=90, maximum=110)])


def many_clusters_pairs(rng: Any) -> Job:
    """50,000 rows in 500 clusters with pairs."""
    n, k = 50_000, 500
    labels = rng.integers(k, size=n)
    rules = [
        MustLink(_pairs(rng, n, 20, labels, True)),
        CannotLink(_pairs(rng, n, 20_000, labels, False)),
    ]
    return Job(_normal(rng, n, 8), k, rules)


def texts(rng: Any) -> Job:
    """CSR data with equal sizes."""
    n = 20_000
    X = sparse.random(n, 2000, density=0.01, format="csr", random_state=int(rng.integers(1000)))
    return Job(X, 50, [ClusterSizes(minimum=n // 50, maximum=n // 50 + 1)])


def million(rng: Any) -> Job:
    """A million rows with equal sizes."""
    return Job(_normal(rng, 1_000_000, 8), 20, [ClusterSizes([50_000] * 20)])


def large_pairs(rng: Any) -> Job:
    """300,000 rows with 100,000 pairs and weights."""
    n, k = 300_000, 10
    labels = rng.integers(k, size=n)
    rules = [
        MustLink(_pairs(rng, n, 50_000, labels, True)),
        CannotLink(_pairs(rng, n, 50_000, labels, False)),
    ]
    return Job(_normal(rng, n), k, rules, weights=rng.uniform(0.5, 2.0, size=n))


def soft_pairs(rng: Any) -> Job:
    """20,000 soft pairs that contradict each other."""
    n = 2000
    rules = [
        MustLink(_pairs(rng, n, 10_000), weight=2.0),
        CannotLink(_pairs(rng, n, 10_000), weight=2.0),
    ]
    return Job(_normal(rng, n), 8, rules)


def soft_totals(rng: Any) -> Job:
    """Soft pairs with narrow totals."""
    n, k = 400, 8
    values = rng.integers(1, 60, size=n)
    rules = [
        MustLink(_pairs(rng, n, 600), weight=3.0),
        ClusterTotals(values, maximum=1.01 * values.sum() / k),
    ]
    return Job(_normal(rng, n), k, rules)


def tiny(rng: Any) -> Job:
    """27 rows with soft must-links, cannot-links and bounds on sizes."""
    n = 27
    rules = [
        MustLink(_pairs(rng, n, 40), weight=5.0),
        CannotLink(_pairs(rng, n, 15)),
        ClusterSizes(minimum=6, maximum=8),
    ]
    return Job(_normal(rng, n, 2), 4, rules)


def linear(rng: Any) -> Job:
    """Forty linear rows that known labels obey exactly."""
    n, k, rows = 300, 4, 40
    labels = rng.integers(k, size=n)
    A = sparse.random(
        rows,
        n * k,
        density=0.05,
        format="csr",
        random_state=int(rng.integers(1000)),
        data_rvs=lambda size: rng.integers(-9, 10, size=size).astype(float),
    )
    x = np.zeros(n * k)
    x[np.arange(n) * k + labels] = 1
    return Job(_normal(rng, n), k, [LinearConstraint(A, lower=A @ x - 1, upper=A @ x + 1)])


def two_jobs(rng: Any) -> Job:
    """Totals, with two processes."""
    n, k = 2000, 50
    demand = rng.integers(1, 30, size=n)
    rules = [ClusterTotals(demand, maximum=1.03 * demand.sum() / k)]
    return Job(_normal(rng, n), k, rules, {"n_jobs": 2})


def relaxed(rng: Any) -> Job:
    """Rules that contradict each other, to be broken as little as possible."""
    n, k = 500, 5
    values = rng.integers(1, 50, size=n)
    rules = [
        CannotLink(_pairs(rng, n, 6 * n)),
        MustLink(_pairs(rng, n, n // 4)),
        ClusterTotals(values, maximum=0.99 * values.sum() / k),
    ]
    return Job(_normal(rng, n), k, rules, {"on_infeasible": "relax"})


def hidden_conflict(rng: Any) -> Job:
    """A clique of k + 1 rows, through must-links, among thousands of other pairs."""
    n, k = 3000, 8
    labels = rng.integers(k, size=n)
    clique = [int(i) for i in rng.choice(n, size=k + 1, replace=False)]
    twins = [int(i) for i in rng.choice(n, size=k + 1, replace=False)]
    apart = [(clique[a], twins[b]) for a, b in combinations(range(k + 1), 2)]
    rules = [
        MustLink([(a, b) for a, b in zip(clique, twins, strict=True) if a != b]),
        MustLink(_pairs(rng, n, n // 3, labels, True)),
        CannotLink([pair for pair in apart if pair[0] != pair[1]]),
        CannotLink(_pairs(rng, n, 3 * n, labels, False)),
        ClusterSizes(minimum=n // k - 60, maximum=n // k + 60),
    ]
    return Job(_normal(rng, n), k, rules)


def sums_conflict(rng: Any) -> Job:
    """Totals and shares that cannot both be met, with many other rules."""
    n, k = 600, 6
    labels = rng.integers(k, size=n)
    values = rng.integers(1, 40, size=n)
    rules = [
        CannotLink(_pairs(rng, n, n, labels, False)),
        GroupShares(rng.integers(3, size=n), minimum=0.28),
        ClusterTotals(values, minimum=values.sum() / k - 0.4, maximum=values.sum() / k + 0.4),
        Pin({int(i): int(labels[i]) for i in rng.choice(n, size=n // 2, replace=False)}),
    ]
    return Job(_normal(rng, n), k, rules)


def assigning(rng: Any) -> Job:
    """``assign`` under totals and cannot-links."""
    n, k = 2000, 40
    values = rng.integers(1, 40, size=n)
    rules = [
        ClusterTotals(values, maximum=1.02 * values.sum() / k),
        CannotLink(_pairs(rng, n, n)),
    ]
    return Job(_normal(rng, n), k, rules, assign=True)


def paper(rng: Any) -> Job:
    """The paper's algorithm, with exact sizes and pairs."""
    n, k = 5000, 10
    labels = np.repeat(np.arange(k), n // k)
    rules = [ClusterSizes([n // k] * k), CannotLink(_pairs(rng, n, n, labels, False))]
    return Job(_normal(rng, n), k, rules, {"solver": "algorithm1", "max_iter": 100_000})


HARD: dict[str, Callable[[Any], Job]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        dense_pairs,
        colouring,
        tangled,
        many_totals,
        three_totals,
        packing,
        chains_infeasible,
        chains,
        shares,
        many_clusters,
        many_clusters_pairs,
        texts,
        million,
        large_pairs,
        soft_pairs,
        soft_totals,
        tiny,
        linear,
        two_jobs,
        relaxed,
        hidden_conflict,
        sums_conflict,
        assigning,
        paper,
    )
}


def prepare(name: str, seed: int, time_limit: float | None) -> Callable[[], Any]:
    """The call to be timed; data, rules and a fit for ``assign`` are made before."""
    from corral import ConstrainedKMeans

    job = HARD[name](np.random.default_rng(seed))
    model = ConstrainedKMeans(job.k, random_state=seed, time_limit=time_limit, **job.options)
    if job.assign:
        free = ConstrainedKMeans(job.k, random_state=seed, n_init=1).fit(job.X)
        free.set_params(time_limit=time_limit)
        return lambda: free.assign(job.X, constraints=job.rules)
    return lambda: model.fit(job.X, constraints=job.rules, sample_weight=job.weights)
