"""Cannot-links and sizes by greed: always obeyed, and not far from the exact answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tiny_problems import make_rules

from corral import ClusterSizes, ConstrainedKMeans, audit
from corral.datasets import random_links
from corral.exact import broken
from corral.exact.greedy import solve_crowded, solve_greedily
from corral.exact.program.milp import solve_milp
from corral.rules import SizeBounds


def planted(rng, twos, m=60, k=4, links=70):
    """A rules with an answer: labels, pairs between clusters, and the sizes of the labels."""
    truth, count = rng.integers(0, k, m), np.where(rng.random(m) < twos, 2, 1)
    pairs = rng.integers(0, m, (4 * links, 2))
    pairs = np.unique(np.sort(pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]], axis=1), axis=0)
    sizes = np.bincount(truth, count, minlength=k).astype(np.int64)
    rules = make_rules(count, k, sizes=SizeBounds(sizes, sizes, True), apart=pairs[:links])
    cost = rng.random((m, k)) + (np.arange(k) != truth[:, None])
    return rules, cost


def total(cost, labels):
    return cost[np.arange(len(cost)), labels].sum()


@pytest.mark.parametrize(("twos", "direct"), [(0.2, 4_000), (0.0, 4_000), (0.0, 0)])
def test_rules_are_obeyed_near_the_least_cost(twos, direct, monkeypatch):
    # Groups of one row are priced like many by prices, or like few by a flow.
    monkeypatch.setattr("corral.exact.sizes.FLOW_WARM", direct)
    gaps = []
    for seed in range(40):
        rules, cost = planted(np.random.default_rng(seed), twos)
        labels = solve_crowded(rules, cost)
        if labels is None:
            continue
        assert broken(rules, labels) == ()
        gaps.append(total(cost, labels) / solve_milp(rules, cost).cost)
        again = solve_crowded(rules, cost, labels)
        assert again is None or broken(rules, again) == ()
    assert len(gaps) >= 30
    assert min(gaps) > 1.0 - 1e-9
    assert np.median(gaps) < 1.2


@pytest.mark.parametrize("degree", [3.0, 4.5])
def test_greed_gets_out_of_dead_ends(degree):
    # So many pairs can nearly always be coloured, but seldom by placing groups once.
    rng = np.random.default_rng(0)
    m, k = 400, 4
    for _ in range(10):
        pairs = rng.integers(0, m, (int(degree * m / 2), 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        rules = make_rules(np.ones(m, int), k, apart=pairs)
        labels = solve_greedily(rules, rng.random((m, k)))
        assert labels is not None
        assert broken(rules, labels) == ()


def test_no_labels_are_made_up_where_there_are_none():
    clique = np.array([(a, b) for a in range(5) for b in range(a)])
    rules = make_rules(np.ones(5, int), 4, apart=clique)
    assert solve_greedily(rules, np.zeros((5, 4))) is None
    sizes = SizeBounds(np.array([2, 1, 1, 1]), np.array([2, 1, 1, 1]), True)
    assert solve_crowded(replace(rules, sizes=sizes), np.zeros((5, 4))) is None


def test_many_links_and_sizes_end_near_the_labels_they_came_from():
    X, truth = make_blobs(1_500, 5, centers=5, cluster_std=5.0, random_state=0)
    _, cannot = random_links(truth, 0, 3_000, random_state=0)
    rules = [ClusterSizes(np.bincount(truth)), cannot]
    found = ConstrainedKMeans(5, n_init=1, random_state=0).fit(X, constraints=rules)
    assert found.report_.feasible
    assert found.inertia_ < 1.1 * audit(X, truth, rules, 5).inertia
