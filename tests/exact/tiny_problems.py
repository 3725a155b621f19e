"""Random problems small enough to enumerate, and a plain check of every rule."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from corral.rules import LinearRows, Pairs, Rules, SizeBounds, SoftPairs, TotalBounds

PAIRS = ("apart", "together", "soft")


def make_rules(count, n_clusters, **kinds) -> Rules:
    count = np.asarray(count)
    pairs = {kind: kinds.pop(kind) for kind in PAIRS if kind in kinds}
    group = np.repeat(np.arange(len(count)), count)
    return Rules(
        n_clusters=n_clusters, count=count, group=group, pairs=Pairs(len(count), **pairs), **kinds
    )


def with_pairs(rules, **pairs) -> Rules:
    """The same with other pairs of some kinds."""
    return replace(rules, pairs=replace(rules.pairs, **pairs))


def random_problem(seed: int, *, grouped: bool = True) -> tuple[Rules, np.ndarray]:
    """Random rules of several kinds, feasible or not, with random costs in a random unit."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    count = np.ones(m, int)
    if grouped:
        count = rng.integers(1, 4, m) if rng.random() < 0.5 else np.full(m, rng.integers(1, 3))
    kinds: dict = {}
    if rng.random() < 0.5:
        kinds["apart"] = np.unique(random_pairs(rng, m, m), axis=0)
    if rng.random() < 0.2:
        kinds["together"] = random_pairs(rng, m, 1)
    if rng.random() < 0.3:
        pairs = random_pairs(rng, m, m - 1)
        kinds["soft"] = SoftPairs(pairs, rng.random(len(pairs)), rng.random(len(pairs)) < 0.5)
    if rng.random() < 0.3:
        rows = rng.choice(m, rng.integers(0, 3))
        kinds["pins"] = np.column_stack([rows, rng.integers(0, k, len(rows))])
    if rng.random() < 0.5:
        kinds["sizes"] = random_sizes(rng, count, k)
    if rng.random() < 0.3:
        kinds["totals"] = (random_totals(rng, m, k),)
    if rng.random() < 0.2:
        A = sparse.csr_array(rng.integers(-1, 2, (2, m * k)).astype(float))
        kinds["linear"] = LinearRows(A, np.array([-np.inf, -1.0]), np.array([1.0, np.inf]))
    return make_rules(count, k, **kinds), rng.random((m, k)) * 10.0 ** rng.uniform(-3, 3)


def random_pairs(rng, m, at_most):
    pairs = [sorted(rng.choice(m, 2, replace=False)) for _ in range(rng.integers(0, at_most + 1))]
    return np.array(pairs, np.int64).reshape(-1, 2)


def random_sizes(rng, count, k):
    size = np.bincount(rng.integers(0, k, len(count)), count, k).astype(int)
    lower, upper = size, size
    if rng.random() < 0.4:
        lower, upper = np.maximum(size - rng.integers(0, 2, k), 0), size + rng.integers(0, 2, k)
    if rng.random() < 0.15:
        lower = lower + 1
        upper = np.maximum(lower, upper)
    return SizeBounds(lower, upper, bool(rng.random() < 0.5))


def random_totals(rng, m, k):
    values = rng.random(m) if rng.random() < 0.5 else rng.integers(0, 5, m).astype(float)
    if rng.random() < 0.3:
        values = values - values.mean()
    reached = np.bincount(rng.integers(0, k, m), values, k)
    lower = np.where(rng.random(k) < 0.5, -np.inf, reached)
    give = 5e-10 * float(np.abs(values).sum())
    return TotalBounds(values, lower, np.where(rng.random(k) < 0.5, np.inf, reached), give)


def labelings(rules):
    return map(np.array, itertools.product(range(rules.n_clusters), repeat=rules.n_groups))


def value(rules, cost, labels) -> float:
    """Cost of labels, soft pairs included, in plain sums."""
    total = sum(float(cost[g, j]) for g, j in enumerate(labels))
    soft = zip(rules.soft.pairs, rules.soft.price, rules.soft.together, strict=True)
    return total + sum(w for (a, b), w, join in soft if (labels[a] == labels[b]) != join)


def misses(rules, labels, *, any_order=False) -> float:
    """Total violation of the hard rules, each by its definition."""
    amount = float(sum(labels[g] != j for g, j in rules.pins))
    amount += sum(labels[a] == labels[b] for a, b in rules.apart)
    amount += sum(labels[a] != labels[b] for a, b in rules.together)
    if rules.sizes is not None:
        amount += size_misses(rules, labels, any_order and not rules.sizes.ordered)
    for total in rules.totals:
        unit = float(np.mean(np.abs(total.values))) or 1.0
        for j in range(rules.n_clusters):
            reached = math.fsum(total.values[labels == j])
            amount += outside(reached, total.lower[j], total.upper[j]) / unit
    if rules.linear is not None:
        x = np.zeros((rules.n_groups, rules.n_clusters))
        x[np.arange(len(labels)), labels] = 1.0
        rows = rules.linear
        for reached, low, high in zip(rows.A @ x.ravel(), rows.lower, rows.upper, strict=True):
            amount += outside(reached, low, high)
    return amount


def size_misses(rules, labels, any_order) -> float:
    clusters = range(rules.n_clusters)
    has = [int(rules.count[labels == j].sum()) for j in clusters]
    orders = itertools.permutations(clusters) if any_order else [clusters]
    bounds = list(zip(rules.sizes.lower, rules.sizes.upper, strict=True))
    return min(sum(outside(has[j], *bounds[o]) for j, o in enumerate(order)) for order in orders)


def outside(reached, low, high) -> float:
    over, under = max(reached - high, 0.0), max(low - reached, 0.0)
    return 0.0 if over + under < 1e-9 else float(over + under)


def obeys(rules, labels, *, any_order=False) -> bool:
    return misses(rules, labels, any_order=any_order) == 0


def best_value(rules, cost, *, any_order=False) -> float:
    """Least cost over all labelings that obey the rules, infinite if none does."""
    allowed = (p for p in labelings(rules) if obeys(rules, p, any_order=any_order))
    return min((value(rules, cost, labels) for labels in allowed), default=math.inf)


def clustered(seed, n, k, n_pairs):
    """Costs of overlapping clusters, groups from must-links, cannot-links and exact sizes."""
    rng = np.random.default_rng(seed)
    centers, y = rng.uniform(-10, 10, (k, 6)), rng.integers(0, k, n)
    X = centers[y] + rng.normal(size=(n, 6)) * 4
    pairs = rng.integers(0, n, (40 * n_pairs * k, 2))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    must = pairs[same & (pairs[:, 0] != pairs[:, 1])][:n_pairs]
    graph = sparse.coo_array((np.ones(len(must)), must.T), shape=(n, n))
    m, group = sparse.csgraph.connected_components(graph, directed=False)
    cost = np.zeros((m, k))
    np.add.at(cost, group, ((X[:, None] - centers) ** 2).sum(-1))
    size = np.bincount(y, minlength=k)
    apart = np.unique(np.sort(group[pairs[~same][:n_pairs]], axis=1), axis=0)
    sizes = SizeBounds(size, size, True)
    return make_rules(np.bincount(group), k, apart=apart, sizes=sizes), cost
