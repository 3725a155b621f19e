"""Many small components of pairs at once, and the graph of pairs that all restarts share."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tiny_problems import make_rules, with_pairs

from corral import CannotLink, ConstrainedKMeans
from corral.datasets import random_links
from corral.exact import NoAssignment, assign
from corral.exact.pairs import solve_pairs
from corral.rules import PairGraph, SizeBounds, SoftPairs

INF = np.inf


# --- against trying everything ----------------------------------------------------------------


def random_component(rng, groups, k):
    """Pairs (a, b, price if equal, price if not) that some labels keep, and costs with pins."""
    hidden = rng.integers(0, k, len(groups))
    pairs = []
    for i, j in itertools.combinations(range(len(groups)), 2):
        kind = rng.choice(["none", "hard", "apart", "together", "both"])
        alike = hidden[i] == hidden[j]
        same = (0.0 if alike else INF) if kind == "hard" else rng.random()
        differ = (INF if alike else 0.0) if kind == "hard" else rng.random()
        if kind != "none":
            same = 0.0 if kind == "together" else same
            differ = 0.0 if kind == "apart" else differ
            pairs.append((*rng.permutation([groups[i], groups[j]]), same, differ))
    cost = rng.random((len(groups), k))
    cost[rng.random(cost.shape) < 0.2] = INF
    cost[rng.random(len(groups)) < 0.1] = INF
    cost[np.arange(len(groups)), hidden] = rng.random(len(groups))
    return pairs, cost


def least(groups, pairs, cost):
    """The least cost of a component, by trying all labels."""
    number = {int(g): i for i, g in enumerate(groups)}
    totals = []
    for labels in itertools.product(range(cost.shape[1]), repeat=len(groups)):
        total = sum(cost[i, label] for i, label in enumerate(labels))
        for a, b, same, differ in pairs:
            agree = labels[number[int(a)]] == labels[number[int(b)]]
            total += same if agree else differ
        totals.append(total)
    return min(totals)


def problem_of(pairs, m, k):
    """The pairs as rules; every soft one comes in two parts that add up."""
    hard, soft = {False: [], True: []}, []
    for a, b, same, differ in pairs:
        for price, together in ((same, False), (differ, True)):
            if price == INF:
                hard[together].append((a, b))
            elif price > 0:
                soft += [(a, b, 0.25 * price, together), (b, a, 0.75 * price, together)]
    links = {name: np.array(hard[name == "together"], int) for name in ("apart", "together")}
    a, b, price, together = zip(*soft, strict=True)
    links["soft"] = SoftPairs(np.column_stack([a, b]), np.array(price), np.array(together))
    return make_rules(np.ones(m, int), k, **links)


@pytest.mark.parametrize("seed", range(8))
def test_every_component_costs_what_trying_all_labels_finds(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    sizes = rng.integers(1, 7 if k == 2 else 6, 40)
    components = np.split(rng.permutation(sizes.sum()), np.cumsum(sizes)[:-1])
    cost, every, best = np.empty((sizes.sum(), k)), [], []
    for groups in components:
        pairs, cost[groups] = random_component(rng, groups, k)
        every += pairs
        best.append(least(groups, pairs, cost[groups]))
    labels, proven = solve_pairs(problem_of(every, len(cost), k), cost)
    assert proven
    paid = cost[np.arange(len(cost)), labels]
    for a, b, same, differ in every:
        paid[int(a)] += same if labels[int(a)] == labels[int(b)] else differ
    np.testing.assert_allclose([paid[groups].sum() for groups in components], best)


def rings(length, number):
    """Disjoint rings of cannot-links."""
    rows = np.arange(length * number).reshape(number, length)
    return np.stack([rows, np.roll(rows, -1, axis=1)], axis=2).reshape(-1, 2)


def test_the_first_of_equals_is_taken():
    rules = make_rules(np.ones(30, int), 3, apart=rings(3, 10))
    np.testing.assert_array_equal(assign(rules, np.zeros((30, 3))).labels, [0, 1, 2] * 10)


def test_one_component_without_labels_is_enough():
    rules = make_rules(np.ones(30, int), 3, apart=rings(3, 10))
    cost = np.zeros((30, 3))
    cost[[12, 13], 1:] = INF
    with pytest.raises(NoAssignment):
        solve_pairs(rules, cost)


def test_a_single_cluster_takes_rings_of_any_length():
    pairs = rings(100, 1)
    rules = make_rules(
        np.ones(100, int), 1, soft=SoftPairs(pairs, np.full(100, 2.0), np.zeros(100, bool))
    )
    assert assign(rules, np.ones((100, 1))).cost == 300


# --- without a loop over components or pairs --------------------------------------------------


def calls_made(function):
    """Calls of functions, Python's and others, while this one runs."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("length", [3, 4])
def test_ten_times_the_components_take_no_more_calls(length):
    # The same costs over and over, so that clashes spread in as many rounds; all in one batch.
    pattern = np.random.default_rng(0).random((20 * length, 3))
    calls = []
    for number in (20, 100, 1000):  # the first for what is called only once
        cost = np.tile(pattern, (number // 20, 1))
        rows = np.arange(length * number).reshape(number, length)
        paths = np.stack([rows[:, :-1], rows[:, 1:]], axis=2).reshape(-1, 2)
        rules = make_rules(np.ones(len(cost), int), 3, apart=paths)
        calls.append(calls_made(lambda rules=rules, cost=cost: solve_pairs(rules, cost)))
    assert calls[2] <= calls[1] + 10


# --- one graph for all restarts ---------------------------------------------------------------


@pytest.fixture
def graphs_made(monkeypatch):
    """The numbers of groups of the graphs that were made of pairs."""
    made, real = [], PairGraph.of_pairs

    def counted(n_groups, *arguments, **options):
        made.append(n_groups)
        return real(n_groups, *arguments, **options)

    monkeypatch.setattr(PairGraph, "of_pairs", counted)
    return made


def test_restarts_share_the_graph_of_pairs(graphs_made):
    X, y = make_blobs(300, 3, centers=4, cluster_std=4, random_state=0)
    _, cannot = random_links(y, 1, 150, random_state=0)
    soft = CannotLink(np.random.default_rng(0).permutation(300).reshape(-1, 2), weight=5.0)
    ConstrainedKMeans(4, n_init=3, random_state=0).fit(X, constraints=[cannot, soft])
    assert graphs_made.count(300) == 1


def test_the_graph_stays_where_only_the_sizes_change_places():
    sizes = SizeBounds(np.array([1, 2]), np.array([1, 2]), ordered=False)
    rules = make_rules([1, 1, 1], 2, apart=np.array([[0, 1]]), sizes=sizes)
    moved = rules.with_sizes_in_order(np.array([1, 0]))
    assert moved.pairs.graph is rules.pairs.graph
    other = with_pairs(moved, apart=np.array([[0, 2]]))
    assert other.pairs.graph.b.tolist() == [2]


@pytest.mark.parametrize("price", [[], [1.0]])
def test_a_group_apart_from_itself_has_no_labels(price):
    soft = SoftPairs(np.zeros((len(price), 2), int), np.array(price), np.zeros(len(price), bool))
    rules = make_rules([1, 1], 2, apart=np.array([[1, 1]]), soft=soft)
    for _ in range(2):
        with pytest.raises(NoAssignment):
            assign(rules, np.zeros((2, 2)))
