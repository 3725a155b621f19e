"""The rule `Connected`: how graphs are read, and what labels break, against networkx."""

from __future__ import annotations

import json
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial import cKDTree

from corral import Connected, ConstrainedKMeans, Constraint, ConstraintSet, MustLink

EDGES = [(0, 1), (1, 2), (2, 3), (1, 3)]


def edges_of(rule):
    return {frozenset(map(int, pair)) for pair in rule.pairs}


class Weights:
    """What libpysal's weights have."""

    def __init__(self, neighbors):
        self.neighbors = neighbors


def lists(names):
    graph = nx.Graph((names[a], names[b]) for a, b in EDGES)
    return {node: list(graph[node]) for node in names[:4]}


@pytest.mark.parametrize(
    "graph",
    [
        EDGES,
        np.array(EDGES),
        nx.Graph(EDGES),
        nx.Graph(EDGES).edges,
        nx.to_scipy_sparse_array(nx.Graph(EDGES), nodelist=range(4)),
        nx.to_numpy_array(nx.Graph(EDGES), nodelist=range(4)),
        lists([0, 1, 2, 3]),
        Weights(lists([0, 1, 2, 3])),
        [*EDGES, (1, 0), (0, 1)],
    ],
)
def test_all_forms_are_the_same_graph(graph):
    assert Connected(graph) == Connected(EDGES, n_samples=Connected(graph).n_samples)


@pytest.mark.parametrize("by", ["index", "frame"])
@pytest.mark.parametrize(
    "form", [list, nx.Graph, lambda pairs: Weights(lists(["a", "b", "c", "d"]))]
)
def test_names_are_looked_up(form, by):
    names = ["a", "b", "c", "d"]
    graph = form([(names[a], names[b]) for a, b in EDGES])
    order = ["d", "a", "c", "b"]
    rule = Connected(graph, index=order) if by == "index" else Connected(graph).resolve(order)
    expected = {frozenset((order.index(names[a]), order.index(names[b]))) for a, b in EDGES}
    assert edges_of(rule) == expected
    assert rule.n_samples == 4


def test_the_index_of_a_frame_resolves_names():
    X = pd.DataFrame({"x": [0.0, 9.0, 0.0, 9.0]}, index=["a", "b", "c", "d"])
    rule = Connected([("a", "b"), ("b", "c"), ("c", "d")])
    model = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rule)
    assert rule.resolve(X.index).violations(model.labels_).count == 0


@pytest.mark.parametrize("seed", range(20))
def test_broken_clusters_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 3
    graph = nx.gnm_random_graph(n, 14, seed=seed)
    labels = rng.integers(0, k, n)
    parts = [
        nx.number_connected_components(graph.subgraph(np.flatnonzero(labels == j).tolist()))
        for j in range(k)
    ]
    price = 2.5
    rule = Connected(graph, price, bridge="keep")
    found = rule.part(hard=True).violations(labels, k)
    assert found.where.tolist() == [j for j in range(k) if parts[j] > 1]
    assert found.amount == sum(max(part - 1, 0) for part in parts)
    cut = sum(labels[a] != labels[b] for a, b in graph.edges)
    assert rule.part(hard=False).violations(labels, k).amount == price * cut
    both = rule.violations(labels, k)
    assert both.count == found.count + cut
    assert both.units == cut
    assert len(both.messages(limit=100)) == both.count


def test_messages_list_the_parts():
    rule = Connected([(0, 1), (1, 2), (3, 4)], n_samples=5)
    assert rule.violations([0, 0, 1, 0, 0]).messages(names=list("abcde")) == [
        "cluster 0 is in 2 parts that are not connected: samples a, b; d, e"
    ]


def test_copies_are_equal():
    for rule in (Connected(EDGES), Connected(EDGES, 2.0, n_samples=4), Connected([("a", "b")])):
        written = json.loads(json.dumps(rule.to_dict(), allow_nan=False))
        for twin in (pickle.loads(pickle.dumps(rule)), Constraint.from_dict(written)):
            assert twin == rule
            assert hash(twin) == hash(rule)


def test_a_subset_has_the_edges_inside():
    rule = Connected(EDGES, [1.0, 2.0, 3.0, 4.0], n_samples=4)
    part = rule.subset([3, 1, 0])
    assert edges_of(part) == {frozenset((0, 1)), frozenset((1, 2))}
    assert sorted(part.weight) == [1.0, 4.0]
    assert part.n_samples == 3
    assert len(rule.subset([0, 2]).pairs) == 0
    assert Constraint.from_dict(rule.subset([0, 2]).to_dict()) == rule.subset([0, 2])


def test_prices_are_soft_must_links():
    rules = ConstraintSet([Connected(EDGES, 2.0)])
    (link,) = rules.soft
    assert link == MustLink(rules[0].pairs, 2.0)
    assert rules.hard[0] == Connected(EDGES)
    assert Connected(EDGES).part(hard=False) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Connected([(0, 1), (2, 2)]), ["pair 1", "(2, 2)", "itself"]),
        (lambda: Connected([(0, 1), (-2, 0)]), ["pair 1", "count from 0"]),
        (lambda: Connected([(0, 1)], n_samples=3), ["1 row has no neighbour", "2", "bridge"]),
        (lambda: Connected([(0, 5)], n_samples=3), ["(0, 5)", "[0, 2]"]),
        (lambda: Connected(sparse.eye_array(3)), ["(0, 0)", "itself"]),
        (lambda: Connected(sparse.coo_array(([1], ([0], [2])), shape=(3, 3))), ["(2, 0)"]),
        (lambda: Connected(sparse.coo_array((3, 4))), ["(3, 4)", "square"]),
        (lambda: Connected([("a", "b")], index=["a", "c"]), ["'b'", "index"]),
        (lambda: Connected({0: [1], 1: []}), ["mutual", "0", "1"]),
        (lambda: Connected({0: [7]}), ["7", "no node"]),
        (lambda: Connected([(0, 1)], weight=-1.0), ["-1", "at least 0"]),
        (lambda: Connected([(0, 1)], weight=np.inf), ["inf", "finite"]),
        (lambda: Connected([(0, 1)], weight=[1.0, 2.0]), ["1 pair"]),
        (lambda: Connected([(0, 1)], bridge="far"), ["'far'", "nearest"]),
        (lambda: Connected([(0, 1)], bridge="nearest"), ["points"]),
        (lambda: Connected(nx.Graph([(0, 1), (1, 1)])), ["(1, 1)"]),
        (lambda: Connected.from_points([[0, 0], [1, 1]], "voronoi"), ["'voronoi'", "'knn'"]),
        (lambda: Connected.from_points([[0, 0], [1, 1], [2, 2]]), ["line", "knn"]),
        (lambda: Connected.from_points([[0, 0], [1, np.nan]]), ["NaN"]),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError) as error:
        make()
    for word in words:
        assert word in str(error.value)


def test_another_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="4 rows"):
        ConstrainedKMeans(2).fit(np.zeros((5, 1)), constraints=Connected(EDGES, n_samples=4))


@pytest.mark.parametrize("seed", range(5))
def test_gabriel_edges_have_no_point_inside_their_circle(seed):
    points = np.random.default_rng(seed).normal(size=(30, 2))
    found = edges_of(Connected.from_points(points, "gabriel"))
    for a in range(30):
        for b in range(a):
            square = np.sum((points[a] - points[b]) ** 2)
            other = np.sum((points - (points[a] + points[b]) / 2.0) ** 2, axis=1)
            assert (frozenset((a, b)) in found) == (np.sum(other < square / 4.0 - 1e-12) == 0)
    assert found <= edges_of(Connected.from_points(points))


def test_knn_joins_the_nearest():
    points = np.random.default_rng(0).normal(size=(40, 2))
    near = cKDTree(points).query(points, 4)[1]
    expected = {frozenset((i, int(j))) for i in range(40) for j in near[i, 1:]}
    assert edges_of(Connected.from_points(points, "knn", neighbours=3)) == expected


def test_equal_points_are_neighbours():
    points = [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0]]
    assert nx.is_connected(nx.Graph(Connected.from_points(points).pairs.tolist()))


def test_long_edges_are_left_out_and_bridged():
    points = np.array([[0, 0], [1, 0], [0, 1], [9, 0], [9, 1], [10, 0.5]])
    with pytest.raises(ValueError, match="no neighbour"):
        Connected.from_points(points[:4], longest=2.0)
    rule = Connected.from_points(points, longest=2.0)
    assert nx.number_connected_components(nx.Graph(rule.pairs.tolist())) == 2
    rule = Connected.from_points(points, longest=2.0, bridge="nearest")
    assert frozenset((1, 3)) in edges_of(rule)
    assert nx.is_connected(nx.Graph(rule.pairs.tolist()))


class TestPolygons:
    shapely = pytest.importorskip("shapely")

    def boxes(self, gap=0.0):
        return [
            self.shapely.box(x + gap * x, y, x + gap * x + 1, y + 1)
            for y in range(2)
            for x in range(3)
        ]

    def test_edges_and_corners(self):
        sides = {frozenset(p) for p in [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]}
        corners = {frozenset(p) for p in [(0, 4), (1, 3), (1, 5), (2, 4)]}
        boxes = self.boxes()
        assert edges_of(Connected.from_polygons(boxes)) == sides
        assert edges_of(Connected.from_polygons(boxes, "corner")) == sides | corners
        assert edges_of(Connected.from_polygons(boxes, tolerance=0.01)) == sides

    def test_gaps_are_counted(self):
        with pytest.warns(UserWarning, match="4 pairs of polygons nearly touch"):
            rule = Connected.from_polygons(self.boxes(gap=5e-4))
        assert len(rule.pairs) == 3
        assert len(Connected.from_polygons(self.boxes(gap=5e-4), tolerance=1e-3).pairs) == 7

    def test_overlaps_are_counted(self):
        with pytest.warns(UserWarning, match="1 pair of polygons overlap"):
            Connected.from_polygons([self.shapely.box(0, 0, 1, 1), self.shapely.box(0.9, 0, 2, 1)])

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            (None, "no geometry"),
            ("POLYGON EMPTY", "empty"),
            ("POINT (0 0)", "no polygon"),
            ("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", "make_valid"),
        ],
    )
    def test_what_is_no_polygon(self, wrong, words):
        bad = None if wrong is None else self.shapely.from_wkt(wrong)
        with pytest.raises(ValueError, match=rf"1 row .*{words}.*: 6"):
            Connected.from_polygons([*self.boxes(), bad])

    def test_islands_have_names(self):
        boxes = pd.Series([*self.boxes(), self.shapely.box(9, 9, 10, 10)], index=list("abcdefg"))
        with pytest.raises(ValueError, match=r"1 row has no neighbour: g"):
            Connected.from_polygons(boxes)
        bridged = Connected.from_polygons(boxes, bridge="nearest")
        assert frozenset((5, 6)) in edges_of(bridged)
