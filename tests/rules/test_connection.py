"""Contradictions between connected clusters and other rules, in words; and the graph of pieces."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    ConstrainedKMeans,
    InfeasibleConstraintsError,
    MustLink,
    Pin,
    audit,
    check,
)
from corral.rules import Adjacency, presolve

PATH = Connected([(i, i + 1) for i in range(5)])
PARTS = Connected([(0, 1), (1, 2), (3, 4)])
UNEVEN = Connected([(0, 1), (1, 2), (2, 5), (3, 4)])


@pytest.mark.parametrize(
    ("rules", "n", "k", "words"),
    [
        (
            [PARTS],
            6,
            2,
            ["3 parts", "samples 0, 3, 5", "sample 5 has no neighbour"],
        ),
        ([PARTS, MustLink([(1, 3)])], 5, 2, ["samples 1 and 3", "no path of neighbours"]),
        ([PARTS, Pin({0: 1, 4: 1})], 5, 2, ["samples 0 and 4", "pinned to cluster 1", "no path"]),
        ([PATH, Pin({0: 0, 2: 1, 5: 0})], 6, 2, ["samples 0, 1 hang on sample 2", "elsewhere"]),
        (
            [UNEVEN, ClusterSizes(minimum=3)],
            6,
            2,
            ["samples 3, 4 are connected", "at least 3"],
        ),
        (
            [PARTS, ClusterTotals([1.0, 2, 3, 1, 1], minimum=2.5)],
            5,
            2,
            ["samples 3, 4", "add up to 2", "2.5"],
        ),
        ([UNEVEN, ClusterSizes(maximum=3)], 6, 2, ["2 parts", "3 clusters of at most 3"]),
        ([PATH, CannotLink([(0, 2)]), ClusterSizes([1, 5])], 6, 2, []),
        ([PATH, CannotLink([(1, 2)]), MustLink([(0, 3)])], 6, 2, ["connected clusters", "0-3"]),
    ],
)
def test_contradictions_in_words(rules, n, k, words):
    found = check(n, rules, k)
    assert bool(found) == (not words), found
    for word in words:
        assert word in str(found)
    if words:
        assert any(isinstance(rule, Connected) for rule in found.conflict)
        with pytest.raises(InfeasibleConstraintsError):
            ConstrainedKMeans(k).fit(np.arange(float(n))[:, None], constraints=rules)


def test_the_names_of_rows_are_used():
    found = check(6, PARTS, 2, index=list("abcdef"))
    assert "samples a, d, f" in str(found)


def test_the_smallest_conflict_leaves_out_what_is_not_needed():
    rules = [PATH, Pin({0: 0, 2: 1, 5: 0}), ClusterSizes(minimum=1), CannotLink([(1, 4)])]
    with pytest.raises(InfeasibleConstraintsError) as error:
        ConstrainedKMeans(2).fit(np.zeros((6, 1)) + np.arange(6.0)[:, None], constraints=rules)
    kinds = {type(rule).__name__ for rule in error.value.conflict}
    assert kinds == {"Connected", "Pin"}
    assert error.value.irreducible


def test_two_graphs_are_refused():
    with pytest.raises(ValueError, match="one graph only"):
        presolve([PATH, PARTS], 6, 3)
    assert presolve([PATH, PATH], 6, 3).adjacency is not None


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_the_nodes(seed):
    rng = np.random.default_rng(seed)
    n, k = 10, 3
    graph = nx.gnm_random_graph(n, 14, seed=seed)
    group = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
    net = Adjacency.of(np.array(graph.edges), group)
    m = group.max() + 1
    for g in range(m):
        inside = graph.subgraph(np.flatnonzero(group == g).tolist())
        assert net.first[g + 1] - net.first[g] == nx.number_connected_components(inside)
    labels = rng.integers(0, k, m)
    parts = [
        nx.number_connected_components(graph.subgraph(np.flatnonzero(labels[group] == j).tolist()))
        for j in np.unique(labels)
    ]
    assert net.holds(labels) == all(part == 1 for part in parts)
    assert net.excess(labels) == sum(parts) - len(parts)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([PARTS, Pin({0: "south", 4: "south"})], "pinned to cluster south"),
        ([PATH, Pin({0: "north", 2: "south", 5: "north"})], "in cluster north"),
    ],
)
def test_contradictions_name_the_clusters(rules, words):
    names = ["north", "south"]
    n = int(rules[0].pairs.max()) + 1
    assert words in str(check(n, rules, 2, cluster_names=names))
    unnamed = [rules[0], rules[1].resolve_clusters(names)]
    words = words.replace("north", "0").replace("south", "1")
    assert words in str(check(n, unnamed, 2))


def test_a_broken_cluster_is_called_by_its_name():
    told = audit(np.zeros((6, 1)), [0, 1, 0, 1, 1, 1], PATH, 2, cluster_names=["north", "south"])
    assert "cluster north is in 2 parts" in str(told)
