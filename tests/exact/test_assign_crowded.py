"""Cannot-links and sizes together: obeyed, and near the labels that they came from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tiny_problems import make_rules

from corral import ClusterSizes, ConstrainedKMeans, audit
from corral.datasets import random_links
from corral.exact import assign, broken
from corral.exact.program import solve_program
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


@pytest.mark.parametrize("tangle", [0, 20_000], ids=["descended", "solved"])
@pytest.mark.parametrize("twos", [0.2, 0.0])
def test_rules_are_obeyed_at_the_least_cost(twos, tangle, monkeypatch):
    monkeypatch.setattr("corral.exact.sums.FEW_GROUPS", 5)
    monkeypatch.setattr("corral.exact.pairs.PROGRAM_ENTRIES", tangle)
    for seed in range(10):
        rules, cost = planted(np.random.default_rng(seed), twos)
        found = assign(rules, cost)
        assert found.optimal
        assert broken(rules, found.labels) == ()
        assert found.cost == pytest.approx(solve_program(rules, cost).cost, rel=1e-9)


def test_many_links_and_sizes_end_near_the_labels_they_came_from():
    X, truth = make_blobs(1_500, 5, centers=5, cluster_std=5.0, random_state=0)
    _, cannot = random_links(truth, 0, 3_000, random_state=0)
    rules = [ClusterSizes(np.bincount(truth)), cannot]
    found = ConstrainedKMeans(5, n_init=1, random_state=0).fit(X, constraints=rules)
    assert found.report_.feasible
    assert found.inertia_ < 1.1 * audit(X, truth, rules, 5).inertia
