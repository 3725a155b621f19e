"""Must-links and cannot-links: reading, checking, counting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set

import numpy as np
import pandas as pd
import pytest

from corral.constraints import CannotLink, MustLink

BOTH = pytest.mark.parametrize("kind", [MustLink, CannotLink])


def naive(kind, pairs, weight, labels):
    """Count and price broken pairs one by one."""
    where, amount = [], 0.0
    for number, (i, j) in enumerate(pairs):
        same = labels[i] == labels[j]
        if same == (kind is CannotLink):
            where.append(number)
            amount += 1.0 if math.isinf(weight[number]) else weight[number]
    return where, amount


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_violations_are_those_of_a_plain_loop(kind, seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(30)])
    weight = np.where(rng.random(30) < 0.5, math.inf, rng.uniform(0.1, 5, 30))
    labels = rng.integers(0, 3, 20)
    found = kind(pairs, weight).violations(labels)
    where, amount = naive(kind, pairs, weight, labels)
    assert found.where.tolist() == where
    assert found.count == len(where)
    assert found.amount == pytest.approx(amount)


@BOTH
@pytest.mark.parametrize(
    "pairs",
    [
        [(3, 5), (5, 7)],
        ((3, 5), (5, 7)),
        [[3, 5], [5, 7]],
        np.array([[3, 5], [5, 7]], np.uint8),
        pd.DataFrame({"a": [3, 5], "b": [5, 7]}),
        {(3, 5): None, (5, 7): None}.keys(),
    ],
    ids=["tuples", "tuple", "lists", "array", "frame", "keys"],
)
def test_many_ways_to_write_pairs(kind, pairs):
    link = kind(pairs)
    assert link == kind([(3, 5), (5, 7)])
    assert link.pairs.dtype == np.int64


@BOTH
@pytest.mark.parametrize("nothing", [[], (), np.empty((0, 2), int), np.empty((0, 2))])
def test_no_pairs_are_no_constraint(kind, nothing):
    link = kind(nothing)
    assert link.pairs.shape == (0, 2)
    link.check(5, 2)
    assert link.violations([0, 1]).count == 0
    assert not link.hard


@BOTH
@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (2, 2)], r"pair 1 is \(2, 2\); a row cannot be paired with itself"),
        ([(0, 1), (2, -3)], r"pair 1 is \(2, -3\); indices count from 0"),
        ([(0.0, 1.0)], r"must be integers, but their type is float64"),
        ([(0, True)], r"must be integers, but some are booleans"),
        (np.array([[True, False]]), r"must be integers, but their type is bool"),
        ([(0, "b")], r"must be integers, but their type is text"),
        ([("a", 1)], r"hold the name 'a' and 1; give only names or only row numbers"),
        ([("a", "a")], r"pair 0 is \(a, a\); a row cannot be paired with itself"),
        ([[(0, 1), (2, 3)]], r"shape \(1, 2, 2\)"),
        ([(0, 1, 2)], r"shape \(1, 3\); it must be \(number of pairs, 2\)"),
        ([0, 1], r"shape \(2,\)"),
        ([(0, 1), (2,)], r"regular shape"),
        ("ab", r"must be integers, not a str"),
        (None, r"must be integers, not None"),
        (5, r"must be integers, not an int"),
    ],
)
def test_bad_pairs_are_refused(kind, pairs, message):
    with pytest.raises(ValueError, match=f"^{kind._label} .*{message}"):
        kind(pairs)


@BOTH
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1, "is -1; it must be above 0"),
        (0, "is 0; it must be above 0"),
        (math.nan, "is NaN"),
        ([1, math.nan], r"\[1\] is NaN"),
        ([1, -2], r"\[1\] is -2"),
        ([1, 2, 3], r"shape \(3,\), but there are 2 pairs"),
        ("much", "must be numbers"),
        (True, "must be numbers"),
    ],
)
def test_bad_weights_are_refused(kind, weight, message):
    with pytest.raises(ValueError, match=message):
        kind([(0, 1), (1, 2)], weight)


def test_a_row_beyond_the_data_is_named():
    pairs = [(0, 1), (0, 2), (0, 3), (0, 4), (3, 200)]
    MustLink(pairs).check(201, 2)
    with pytest.raises(ValueError, match=r"^must_link pair 4 is ") as error:
        MustLink(pairs).check(178, 2)
    assert str(error.value) == (
        "must_link pair 4 is (3, 200), but X has 178 samples; indices must lie in [0, 177]."
    )


def test_names_of_rows_become_positions():
    index = pd.Index(["ann", "bob", "eve", "joe"])
    link = CannotLink([("joe", "ann"), ("bob", "eve")], index=index)
    assert link.pairs.tolist() == [[3, 0], [1, 2]]
    # integers are names too once there is an index
    assert MustLink([(30, 10)], index=[10, 20, 30]).pairs.tolist() == [[2, 0]]
    assert MustLink([((1, "a"), (1, "b"))], index=[(1, "a"), (1, "b")]).pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("pairs", "index", "message"),
    [
        ([("ann", "zed")], ["ann", "bob"], "'zed', which is not in index; it holds 'ann', 'bob'"),
        (
            [("anm", "bob")],
            ["ann", "bob"],
            r"'anm' \(did you mean 'ann'\?\), which is not in index",
        ),
        ([("ann", "bob")], ["ann", "bob", "ann"], "index holds 'ann' more than once"),
        ([("ann", "ann")], ["ann", "bob"], "cannot be paired with itself"),
        ([("ann", "bob", "eve")], ["ann", "bob", "eve"], "a must_link pair has two names"),
        (["ab"], ["a", "b"], "a must_link pair has two names; pair 0 is 'ab'"),
        ([5], ["a"], "a must_link pair has two names; pair 0 is 5"),
        (None, ["a"], "a must_link pair has two names, not None"),
        ([("a", "b")], 5, "index cannot be an int; it must hold one name per row"),
        ([("a", "b")], [["a"], ["b"]], r"index\[0\] is \['a'\]"),
        ([(["a"], "b")], ["a", "b"], "cannot be looked up"),
    ],
)
def test_bad_names_are_refused(pairs, index, message):
    with pytest.raises(ValueError, match=message):
        MustLink(pairs, index=index)


def test_the_users_array_is_copied_and_ours_cannot_be_written():
    pairs, weight = np.array([[0, 1]]), np.array([2.0])
    link = MustLink(pairs, weight)
    pairs[0, 0], weight[0] = 9, 9
    assert link.pairs.tolist() == [[0, 1]]
    assert link.weight.tolist() == [2.0]
    with pytest.raises(ValueError, match="read-only"):
        link.pairs[0, 0] = 5
    with pytest.raises(AttributeError):
        link.pairs = pairs


def test_hard_and_soft_parts():
    link = CannotLink([(0, 1), (1, 2), (2, 3)], [1.0, math.inf, 2.0])
    assert link.hard
    assert link.part(hard=True) == CannotLink([(1, 2)])
    assert link.part(hard=False) == CannotLink([(0, 1), (2, 3)], [1, 2])
    assert MustLink([(0, 1)], 3).part(hard=True) is None
    assert not MustLink([(0, 1)], 3).hard


def test_phrases_name_rows_and_stay_short():
    assert MustLink([(3, 5), (5, 7)]).phrase() == "must-links 3-5, 5-7"
    assert CannotLink([(0, 1)]).phrase(["ann", "bob"]) == "cannot-link ann-bob"
    many = MustLink([(i, i + 1) for i in range(107)]).phrase()
    assert many.endswith("9-10 and 97 more")


def test_messages_are_limited_and_use_names():
    link = MustLink([(i, i + 1) for i in range(9)])
    lines = link.violations(np.arange(10)).messages(limit=2, names=list("abcdefghij"))
    assert lines == [
        "samples a and b must be together, but are in clusters 0 and 1",
        "samples b and c must be together, but are in clusters 1 and 2",
        "and 7 more",
    ]


def test_labels_that_are_too_short_are_refused():
    with pytest.raises(ValueError, match="labels has 3 entries, but the constraint names row 5"):
        MustLink([(0, 5)]).violations([0, 1, 2])
    with pytest.raises(ValueError, match="1-D array of integers"):
        MustLink([(0, 1)]).violations([0.5, 1.0])


class Edges(Set, Mapping):
    """A set of pairs that is a mapping as well, as the edges of a networkx graph are."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        return iter(self.pairs)

    def __len__(self):
        return len(self.pairs)

    def __contains__(self, pair):
        return pair in self.pairs

    def __getitem__(self, pair):
        return {}


PAIRS = [(0, 3), (1, 4), (2, 5)]


@BOTH
@pytest.mark.parametrize("made", [Edges, iter, tuple, np.array, set, dict.fromkeys])
def test_any_iterable_of_pairs_is_read(kind, made):
    pairs = made(PAIRS).keys() if made == dict.fromkeys else made(PAIRS)
    assert sorted(map(tuple, kind(pairs).pairs.tolist())) == PAIRS


@BOTH
def test_edges_of_graphs_are_pairs(kind):
    networkx = pytest.importorskip("networkx")
    numbered, named = networkx.Graph(PAIRS), networkx.Graph([("ann", "bob"), ("bob", "eve")])
    for edges in (numbered.edges, numbered.edges(), list(numbered.edges)):
        assert kind(edges) == kind(PAIRS)
    assert kind(named.edges) == kind([("ann", "bob"), ("bob", "eve")])
    assert kind(networkx.Graph().edges) == kind([])
    with pytest.raises(ValueError, match=r"shape|differ in length|must be integers"):
        kind(numbered.edges(data=True))
