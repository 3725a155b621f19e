"""Chains of cannot-links, against a search that pushes groups out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem_of

from corral import CannotLink, Pin
from corral.assign import Assignment
from corral.polish import evaluate
from corral.polish.exchange import Exchange
from corral.polish.kempe import Chains, settle, shaken
from corral.presolve import PairGraph, Pairs


def scene(seed, m=16, k=3, links=14):
    """Costs, labels, and cannot-links that the labels obey."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=m - k)])
    every = [(g, h) for g in range(m) for h in range(g) if labels[g] != labels[h]]
    apart = np.array([every[i] for i in rng.permutation(len(every))[:links]])
    return rng.random((m, k)), labels, apart


def pushed(apart, labels, g, to):
    """Labels after g goes to a cluster and every neighbour in the way goes to where g was."""
    new, waiting = labels.copy(), [(g, to)]
    while waiting:
        g, to = waiting.pop()
        if new[g] == to:
            continue
        new[g] = to
        for pair in apart.tolist():
            if g in pair:
                other = pair[0] + pair[1] - g
                if new[other] == to:
                    waiting.append((other, labels[g]))
    return new


def every_change(apart, labels, k):
    return [
        pushed(apart, labels, g, j) for g in range(len(labels)) for j in range(k) if j != labels[g]
    ]


def broken(apart, labels):
    return sum(labels[g] == labels[h] for g, h in apart)


def cost_of(cost, labels):
    return sum(cost[g, label] for g, label in enumerate(labels))


@pytest.mark.parametrize("seed", range(5))
def test_chains_are_what_pushing_moves(seed):
    cost, labels, apart = scene(seed)
    chains = Chains.of(apart, labels, cost.shape[1])
    for c in range(len(chains)):
        new = labels.copy()
        new[chains.group[chains.number == c]] = chains.to[chains.number == c]
        assert not broken(apart, new)
        g, to = chains.group[chains.number == c][0], chains.to[chains.number == c][0]
        np.testing.assert_array_equal(new, pushed(apart, labels, g, to))


@pytest.mark.parametrize("seed", range(10))
def test_settled_labels_cannot_be_made_cheaper(seed):
    cost, labels, apart = scene(seed)
    cost[0, np.arange(3) != labels[0]] = np.inf  # a pin
    found = settle(Pairs(len(cost), apart), cost, labels)
    assert not broken(apart, found)
    assert cost_of(cost, found) <= cost_of(cost, labels)
    best = min(cost_of(cost, other) for other in every_change(apart, found, 3))
    assert cost_of(cost, found) <= best + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_one_round_makes_the_best_of_all_changes(seed):
    """In two clusters there is room for one change a round."""
    _, labels, apart = scene(seed, k=2, links=6)
    X = np.random.default_rng(seed).normal(size=(16, 3))
    problem = problem_of(X, CannotLink(apart), 2)

    def inertia(labels):
        parts = [X[labels == j] for j in range(2)]
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts if len(part))

    now = evaluate(problem, Assignment(labels, np.nan), np.zeros((2, 3)))
    found = Exchange(problem).improve(labels, now.centers, now.objective)
    best = min(inertia(other) for other in every_change(apart, labels, 2))
    if found is None:
        assert best >= inertia(labels) * (1 - 1e-9)
    else:
        assert not broken(apart, found)
        np.testing.assert_allclose(inertia(found), best, rtol=1e-12)


@pytest.mark.parametrize("links", [6, 14, 25])
def test_a_tangle_is_what_is_left_without_leaves(links):
    _, labels, apart = scene(links, links=links)
    left = {tuple(pair) for pair in apart.tolist()}
    while True:
        ends = [g for pair in left for g in pair]
        inner = {pair for pair in left if min(map(ends.count, pair)) > 1}
        if inner == left:
            break
        left = inner
    parts = []
    for pair in left:
        near = [part for part in parts if part & set(pair)]
        parts = [part for part in parts if part not in near] + [set(pair).union(*near)]
    graph = PairGraph.of_pairs(len(labels), apart, np.ones(links), np.zeros(links))
    assert graph.tangle == max(map(len, parts), default=0)


@pytest.mark.parametrize("seed", range(10))
def test_shaken_labels_obey_cannot_links_and_pins(seed):
    _, labels, apart = scene(seed)
    constraints = [CannotLink(apart), Pin({0: int(labels[0])})]
    rules = problem_of(np.zeros((len(labels), 1)), constraints, 3).rules
    for flips in (1, 5, 20):
        new = shaken(rules, labels, flips, np.random.RandomState(seed))
        assert not broken(apart, new)
        assert new[0] == labels[0]
    assert np.any(new != labels)
