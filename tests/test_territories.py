"""Connected clusters in all estimators: against brute force, and what else a fit promises."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    InfeasibleConstraintsError,
    MustLink,
    Pin,
    audit,
    check,
)


def connected(graph, labels):
    return all(
        nx.is_connected(graph.subgraph(np.flatnonzero(labels == j).tolist()))
        for j in np.unique(labels)
    )


def inertia(X, labels):
    parts = [X[labels == j] for j in np.unique(labels)]
    return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)


def instance(seed):
    """A small graph, rows, and some other rules."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    graph = nx.gnm_random_graph(n, int(rng.integers(n - 1, 2 * n)), seed=seed)
    values = rng.integers(1, 6, n).astype(float)
    some = [
        ClusterSizes(minimum=1, maximum=int(rng.integers(-(-n // k), n + 1))),
        ClusterTotals(values, maximum=float(np.ceil(values.sum() / k * rng.uniform(1.05, 1.8)))),
        MustLink([rng.choice(n, 2, replace=False).tolist()]),
        CannotLink([rng.choice(n, 2, replace=False).tolist()]),
        Pin({int(rng.integers(n)): int(rng.integers(k))}),
    ]
    rules = [rule for rule in some if rng.random() < 0.35]
    rule = Connected(list(graph.edges), n_samples=n, bridge="keep")
    return rng.normal(size=(n, 2)), k, graph, [rule, *rules]


def obeying(X, k, graph, rules):
    """All labels that obey the rules, by networkx for the connection."""
    for given in product(range(k), repeat=len(X)):
        labels = np.array(given)
        others = all(rule.violations(labels, k).count == 0 for rule in rules[1:])
        if others and connected(graph, labels):
            yield labels


@pytest.mark.parametrize("seed", range(24))
def test_the_best_of_all_labels_is_found(seed):
    X, k, graph, rules = instance(seed)
    best = min((inertia(X, labels) for labels in obeying(X, k, graph, rules)), default=None)
    assert bool(check(len(X), rules, k)) == (best is not None)
    model = ConstrainedKMeans(k, random_state=0)
    if best is None:
        with pytest.raises(InfeasibleConstraintsError):
            model.fit(X, constraints=rules)
        return
    model.fit(X, constraints=rules)
    assert connected(graph, model.labels_)
    assert model.report_.feasible
    assert model.inertia_ == pytest.approx(best, abs=1e-9)


def field(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    rule = Connected.from_points(X, "gabriel")
    return X, rule, nx.Graph(rule.pairs.tolist()), rng


@pytest.mark.parametrize(
    "make",
    [
        ConstrainedKMeans,
        ConstrainedKMedoids,
        lambda k, **more: ConstrainedGaussianMixture(k, covariance="tied", **more),
        ConstrainedKernelKMeans,
        lambda k, **more: ConstrainedKMeans(k, metric="cosine", **more),
        lambda k, **more: ConstrainedKMeans(k, metric="haversine", **more),
        lambda k, **more: ConstrainedKMedoids(k, metric="cityblock", **more),
    ],
)
def test_all_estimators_keep_clusters_connected(make):
    X, rule, graph, rng = field()
    features = rng.normal(size=X.shape)  # that say nothing of the place
    values = rng.uniform(1.0, 2.0, len(X))
    rules = [
        rule,
        ClusterTotals(values, maximum=1.2 * values.sum() / 4),
        MustLink([(0, 1)]),
        CannotLink([(2, 3)]),
    ]
    model = make(4, random_state=0).fit(features, constraints=rules)
    assert connected(graph, model.labels_)
    assert model.report_.feasible
    assert audit(features, model.labels_, rules, n_clusters=4).feasible


def test_sparse_rows():
    from scipy import sparse

    _X, rule, graph, rng = field()
    rows = sparse.random_array((40, 30), density=0.1, rng=rng, format="csr")
    model = ConstrainedKMeans(4, random_state=0).fit(rows, constraints=rule)
    assert connected(graph, model.labels_)


def test_joined_rows_that_are_far_apart_are_connected_by_their_cluster():
    X = np.arange(8.0)[:, None] % 4
    path = Connected([(i, i + 1) for i in range(7)])
    model = ConstrainedKMeans(2, random_state=0)
    model.fit(X, constraints=[path, MustLink([(0, 5)]), ClusterSizes(minimum=1)])
    assert len(set(model.labels_[:6])) == 1


def test_dearer_borders_are_shorter():
    _X, rule, graph, rng = field(80)
    features = rng.normal(size=(80, 3))
    cuts = []
    for price in (0.0, 1.0, 10.0):
        priced = Connected(rule.pairs, price)
        model = ConstrainedKMeans(4, random_state=0)
        model.fit(features, constraints=[priced, ClusterSizes(minimum=10)])
        assert connected(graph, model.labels_)
        cuts.append(sum(model.labels_[a] != model.labels_[b] for a, b in graph.edges))
        if price:
            assert model.report_.soft_cost == pytest.approx(price * cuts[-1])
    assert cuts[0] >= cuts[1] >= cuts[2]
    assert cuts[0] > cuts[2]


def test_given_labels_are_mended():
    X, rule, graph, rng = field()
    model = ConstrainedKMeans(4, init=rng.integers(0, 4, 40), random_state=0)
    assert connected(graph, model.fit(X, constraints=rule).labels_)


def test_exact_is_no_worse_and_has_a_bound():
    X, _k, graph, rules = instance(3)
    model = ConstrainedKMeans(2, solver="exact", random_state=0).fit(X, constraints=rules[:1])
    best = min(inertia(X, labels) for labels in obeying(X, 2, graph, rules[:1]))
    assert model.inertia_ == pytest.approx(best)
    assert model.report_.bound <= best * (1 + 1e-9)


def test_the_least_violation_counts_parts():
    path = Connected([(0, 1), (1, 2), (2, 3)])
    pins = Pin({0: 0, 1: 1, 2: 0, 3: 1})
    model = ConstrainedKMeans(2, on_infeasible="relax", random_state=0)
    model.fit([[0.0], [5.0], [0.0], [5.0]], constraints=[path, pins])
    broken = sum(entry.violations.amount for entry in model.report_.entries)
    assert broken == 1.0  # one pin; each of two clusters has a part too many otherwise


def test_new_rows_are_assigned_under_a_graph_of_their_own():
    X, rule, _graph, rng = field()
    model = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rule)
    path = Connected([(i, i + 1) for i in range(5)])
    labels = model.assign(rng.normal(size=(6, 2)), constraints=path)
    assert connected(nx.path_graph(6), labels)


def test_algorithm1_refuses():
    with pytest.raises(ValueError, match="connected"):
        ConstrainedKMeans(2, solver="algorithm1").fit(
            [[0.0], [1.0], [2.0]], constraints=Connected([(0, 1), (1, 2)])
        )


def test_a_fold_has_the_edges_inside():
    from corral import ConstraintSet

    X, rule, _, rng = field(60)
    rows = np.sort(rng.choice(60, 55, replace=False))
    part = ConstraintSet(rule).subset(rows)
    induced = nx.Graph(part[0].pairs.tolist())
    induced.add_nodes_from(range(55))
    k = nx.number_connected_components(induced) + 2
    model = ConstrainedKMeans(k, random_state=0).fit(X[rows], constraints=part)
    assert connected(induced, model.labels_)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_tight_totals_of_values_that_differ_are_met(seed):
    rng = np.random.default_rng(seed)
    place, k = rng.uniform(size=(400, 2)), 16
    graph, values = Connected.from_points(place, "gabriel"), rng.lognormal(size=400)
    low, high = 0.999 * values.sum() / k, 1.001 * values.sum() / k
    model = ConstrainedKMeans(k, random_state=seed, effort=0.25)
    model.fit(place, constraints=[graph, ClusterTotals(values, minimum=low, maximum=high)])
    sums = np.bincount(model.labels_, values, k)
    assert np.all((low - 1e-6 <= sums) & (sums <= high + 1e-6))
    assert connected(nx.Graph(graph.pairs.tolist()), model.labels_)
