"""Connected clusters in the search, against networkx: labels mended, cuts of trees, moves."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from corral.constraints import ClusterTotals, Connected, MustLink, Pin
from corral.deadline import NEVER
from corral.rows import MemoryRows
from corral.rules import presolve
from corral.search.compiled import compiled
from corral.search.model import medoid_model, model_of
from corral.search.moves import Scratch, state_of, stays_connected, wander
from corral.search.territory import Merged, balance, mended, recut

N, K = 24, 4


@compiled
def allowed(model, state, scratch, n):
    return stays_connected(model, state, scratch, n)


def problem(seed, *more):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N, 2))
    graph = nx.Graph(Connected.from_points(points, "gabriel").pairs.tolist())
    rules = presolve([Connected(list(graph.edges)), *more], N, K)
    return rng, points, graph, rules


def whole(graph, labels):
    return all(
        nx.is_connected(graph.subgraph(np.flatnonzero(labels == j).tolist()))
        for j in np.unique(labels)
    )


@pytest.mark.parametrize("seed", range(30))
def test_mended_labels_are_connected_and_keep_pins_and_links(seed):
    more = [Pin({0: 0, 1: 1}), MustLink([(2, 3)])] if seed % 2 else []
    rng, _, graph, rules = problem(seed, *more)
    given = rng.integers(0, K, rules.n_groups)
    cost = rng.random((rules.n_groups, K))
    found = mended(rules, given, cost, np.random.RandomState(seed))
    if found is None:
        assert more  # two pins and a pair may bar each other's way
        return
    rows = rules.to_rows(found)
    assert whole(graph, rows)
    assert np.array_equal(found[rules.pins[:, 0]], rules.pins[:, 1])
    assert found is mended(rules, found, cost, np.random.RandomState(0))


@pytest.mark.parametrize("seed", range(30))
def test_moves_are_allowed_that_keep_clusters_connected(seed):
    rng, points, graph, rules = problem(seed)
    priced = model_of(rules, MemoryRows(points))
    model = priced.at(1.0)
    random_state = np.random.RandomState(seed)
    labels = mended(rules, rng.integers(0, K, N), rng.random((N, K)), random_state)
    state, scratch = state_of(model, labels), Scratch.of(model)
    for _ in range(200):
        n = int(rng.integers(1, 4))
        who, to = rng.choice(N, n, replace=False), rng.integers(0, K, n)
        to = np.where(to == labels[who], (to + 1) % K, to)
        scratch.move[0, :n], scratch.move[1, :n] = who, to
        after = labels.copy()
        after[who] = to
        touched = np.isin(after, np.concatenate([labels[who], to]))
        expected = whole(graph, np.where(touched, after, -1 - np.arange(N)))
        assert allowed(model, state, scratch, n) == expected


@pytest.mark.parametrize("seed", range(10))
def test_a_cut_is_the_best_of_its_tree(seed):
    _rng, points, graph, rules = problem(seed, ClusterTotals(np.arange(N) % 5 + 1.0, maximum=30))
    model = model_of(rules, MemoryRows(points)).at(2.0)
    groups = np.arange(N)
    labels, cost = Merged(model, groups, (1, 2)).cut(np.random.RandomState(seed))
    assert set(labels) == {1, 2}
    assert whole(graph, labels)
    assert cost == pytest.approx(Merged(model, groups, (1, 2)).cost(labels))
    shifted = points - points.mean(axis=0)

    def value(parts):
        inertia = sum(((shifted[p] - shifted[p].mean(axis=0)) ** 2).sum() for p in parts)
        loads = [model.amount[p].sum(axis=0) for p in parts]
        upper = model.bound[1, 0]
        return inertia + sum(np.maximum(load - upper, 0.0) @ model.price[0] for load in loads)

    everything = (shifted**2).sum()
    parts = [np.flatnonzero(labels == j) for j in (1, 2)]
    assert cost + everything == pytest.approx(value(parts))


@pytest.mark.parametrize("seed", range(10))
def test_cuts_between_medoids_cost_what_the_best_medoids_cost(seed):
    rng, points, graph, rules = problem(seed)
    far = np.abs(points[:, None] - points).sum(axis=2)
    model = medoid_model(rules, far, np.arange(N)).at(1.0)

    def value(labels):
        parts = [np.flatnonzero(labels == j) for j in np.unique(labels)]
        return sum(far[np.ix_(part, part)].sum(axis=0).min() for part in parts)

    merged, random_state = Merged(model, np.arange(N), (1, 2)), np.random.RandomState(seed)
    for _ in range(5):
        labels, cost = merged.cut(random_state)
        assert cost == pytest.approx(value(labels))
        assert cost == pytest.approx(merged.cost(labels))
    labels = mended(rules, rng.integers(0, K, N), rng.random((N, K)), random_state)
    before = value(labels)
    for _ in range(10):
        recut(model, labels, np.ones(K, bool), random_state)
    assert whole(graph, labels)
    assert value(labels) < before


@pytest.mark.parametrize("seed", range(10))
def test_recutting_and_balancing_keep_clusters_connected_and_lower_what_they_cost(seed):
    values = np.random.default_rng(seed).uniform(1.0, 3.0, N)
    most = 1.1 * values.sum() / K
    rng, points, graph, rules = problem(seed, ClusterTotals(values, maximum=most))
    priced = model_of(rules, MemoryRows(points))
    model = priced.at(100.0)
    random_state = np.random.RandomState(seed)
    labels = mended(rules, rng.integers(0, K, N), rng.random((N, K)), random_state)

    def outside():
        return np.maximum(np.bincount(labels, values, K) - most, 0.0).sum()

    recut(model, labels, np.ones(K, bool), random_state)
    assert whole(graph, labels)
    before = outside()
    balance(priced._replace(model=model), labels, random_state, NEVER, 8)
    assert whole(graph, labels)
    assert outside() <= before + 1e-9


def reachable(graph, labels):
    """All divisions in two that shifts of single rows but the first lead to."""
    found, queue = {tuple(labels)}, [labels]
    for now in queue:
        for row in range(1, len(labels)):
            then = now.copy()
            then[row] = 1 - then[row]
            if tuple(then) not in found and then.any() and whole(graph, then):
                found.add(tuple(then))
                queue.append(then)
    return np.array(queue)


@pytest.mark.parametrize("seed", range(10))
def test_a_random_walk_finds_the_division_of_least_excess_and_keeps_pins(seed):
    rng = np.random.default_rng(seed)
    points, values = rng.normal(size=(10, 2)), rng.uniform(1.0, 3.0, 10)
    graph = nx.Graph(Connected.from_points(points, "gabriel").pairs.tolist())
    start = (np.arange(10) == next(iter(nx.dfs_postorder_nodes(graph, 0)))).astype(np.int64)
    off = np.abs(reachable(graph, start) @ values - values.sum() / 2)
    for give in (0.001, 2.0 * off.min()):
        half, room = values.sum() / 2, give / 2
        bounds = ClusterTotals(values, minimum=half - room, maximum=half + room)
        rules = presolve([Connected(list(graph.edges)), bounds, Pin({0: 0})], 10, 2)
        model = model_of(rules, MemoryRows(points)).at(1.0)
        labels, state = start.copy(), state_of(model, start)
        heat = 10.0 * float(model.price[0, 0] * model.amount.mean())
        wander(True, model, state, Scratch.of(model), rng.random((20_000, 3)), heat, 1.0, labels)
        assert whole(graph, labels)
        assert labels[0] == 0
        found = abs(values @ labels - half)
        assert found <= max(room, off.min()) + 1e-9
