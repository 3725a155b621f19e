"""Random instances: data, and a mixture of rules that a hidden labelling obeys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from reference import Floats, Ints, Rules, squares
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus


def random_instance(
    seed: int,
    *,
    n: tuple[int, int] = (50, 600),
    k: tuple[int, int] = (2, 12),
    d: tuple[int, int] = (2, 20),
    more: bool = False,
) -> tuple[Floats, Rules, Floats]:
    """Data, rules that a hidden labelling obeys, and k-means++ centres to start from.

    With ``more``, some have shares and some have several totals.  The centres stand in the order
    of the hidden clusters nearest to them, so that rules that go by the cluster's number do not
    spoil the start.
    """
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(n[0], n[1] + 1))
    n_clusters = int(rng.integers(k[0], min(k[1], n_rows) + 1))
    X, hidden = _random_data(rng, n_rows, n_clusters, int(rng.integers(d[0], d[1] + 1)))
    rules = _random_rules(rng, hidden, n_clusters)
    if more:
        rules = _with_more(np.random.default_rng([seed, 1]), rules, hidden)
    seeds, _ = kmeans_plusplus(X, n_clusters, random_state=seed)
    means = np.array([X[hidden == j].mean(axis=0) for j in range(n_clusters)])
    return X, rules, seeds[linear_sum_assignment(squares(means, seeds))[1]]


def _random_data(rng: np.random.Generator, n: int, k: int, d: int) -> tuple[Floats, Ints]:
    """Blobs of unequal sizes, or points without clusters and labels by place or by chance."""
    kind = rng.choice(["blobs", "blobs", "uniform", "normal"])
    hidden = np.concatenate([np.arange(k), rng.choice(k, n - k, p=rng.dirichlet(np.full(k, 3.0)))])
    if kind == "blobs":
        return rng.normal(0, rng.uniform(1, 5), (k, d))[hidden] + rng.normal(size=(n, d)), hidden
    X = rng.normal(size=(n, d)) if kind == "normal" else rng.uniform(size=(n, d))
    if rng.random() < 0.6:
        hidden = squares(X, X[:k]).argmin(axis=1)
    return X, hidden


def _random_rules(rng: np.random.Generator, hidden: Ints, k: int) -> Rules:
    n = len(hidden)
    kinds = ["must", "cannot", "pins", "sizes", "totals"]
    chosen = {kind for kind in kinds if rng.random() < 0.5} or {str(rng.choice(kinds))}
    pairs = np.sort(rng.integers(0, n, (n, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
    rng.shuffle(pairs)
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    pinned = rng.choice(n, int(rng.integers(1, max(n // 10, 2))), replace=False)
    given: dict[str, object] = {}
    if "must" in chosen:
        given["must"] = pairs[same][: rng.integers(1, n // 2 + 1)]
    if "cannot" in chosen:
        given["cannot"] = pairs[~same][: rng.integers(1, n // 2 + 1)]
    if "pins" in chosen:
        given["pins"] = np.column_stack([pinned, hidden[pinned]])
    if "sizes" in chosen:
        given["sizes"] = _random_sizes(rng, np.bincount(hidden, minlength=k))
        given["ordered"] = bool(rng.random() < 0.25)
    if "totals" in chosen:
        given["values"] = np.round(rng.uniform(1, 20, n), int(rng.integers(0, 3)))
        given["totals"] = _random_capacity(rng, np.bincount(hidden, given["values"], k))
    return Rules(n=n, k=k, **given)


def _with_more(rng: np.random.Generator, rules: Rules, hidden: Ints) -> Rules:
    """In every third instance shares, in every third one or two further totals."""
    n, k = rules.n, rules.k
    if rng.random() < 1 / 3:
        groups = rng.integers(2, size=n)
        size = np.bincount(hidden, minlength=k)
        share = np.bincount(hidden, groups, k) / np.maximum(size, 1)
        least = float(np.minimum(share, 1.0 - share)[size > 0].min())
        # A fraction of small numbers, which corral and the reference read alike.
        rules = replace(rules, shares=(groups, np.floor(90.0 * least) / 100.0))
    more = []
    for _ in range(rng.integers(1, 3) if rng.random() < 1 / 3 else 0):
        values = np.round(rng.uniform(1, 20, n), 1)
        load = np.bincount(hidden, values, k)
        room = load * (1.0 - rng.uniform(0.01, 0.3)), load * (1.0 + rng.uniform(0.01, 0.3))
        more.append((values, *room))
    return replace(rules, more=tuple(more))


def _random_sizes(rng: np.random.Generator, count: Ints) -> tuple[Ints, Ints]:
    """Exact sizes, an interval for each cluster, or one for all."""
    kind = rng.choice(["exact", "interval", "common"])
    if kind == "exact":
        return count, count
    if kind == "common":
        return np.full_like(count, count.min()), np.full_like(count, count.max())
    width = rng.uniform(0, 0.3, (2, len(count)))
    low, high = np.floor(count * (1 - width[0])), np.ceil(count * (1 + width[1]))
    return low.astype(np.int64), high.astype(np.int64)


def _random_capacity(rng: np.random.Generator, load: Floats) -> tuple[Floats, Floats]:
    """Room for a little more than the hidden labels need, in each cluster or the same in all."""
    room = np.full_like(load, load.max()) if rng.random() < 0.5 else load
    return np.full_like(load, -np.inf), room * (1 + rng.uniform(0.01, 0.3))
