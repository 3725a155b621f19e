"""Bounds and pins by the names of clusters say the same as those by their numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral import ClusterSizes, ClusterTotals, ConstraintSet, GroupShares, Pin
from corral.constraints.clusters import Called, read_cluster_names

NAMES = ("north", "south", "west")
VALUES = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
GROUPS = list("aabbabba")

#: Rules by name, and the same by number.
BOTH = {
    "maximum total": (
        ClusterTotals(VALUES, maximum={"south": 8, "north": 12}),
        ClusterTotals(VALUES, maximum=[12, 8, np.inf]),
    ),
    "both totals": (
        ClusterTotals(VALUES, minimum={"west": 6}, maximum={"north": 9, "west": 20}, weight=0.5),
        ClusterTotals(VALUES, minimum=[-np.inf, -np.inf, 6], maximum=[9, np.inf, 20], weight=0.5),
    ),
    "one number beside names": (
        ClusterTotals(VALUES, minimum=2, maximum={"west": 9}),
        ClusterTotals(VALUES, minimum=2, maximum=[np.inf, np.inf, 9]),
    ),
    "minimum size": (
        ClusterSizes(minimum={"north": 2, "west": 3}),
        ClusterSizes(minimum=[2, 0, 3], ordered=True),
    ),
    "maximum size": (
        ClusterSizes(maximum={"south": 2}),
        ClusterSizes(maximum=[8, 2, 8], ordered=True),
    ),
    "sizes": (
        ClusterSizes({"west": 1, "north": 3, "south": 4}),
        ClusterSizes([3, 4, 1], ordered=True),
    ),
    "pins": (Pin({0: "west", 3: "north"}), Pin({0: 2, 3: 0})),
    "soft pins": (Pin({0: "west", 3: "north"}, [1.0, 2.0]), Pin({0: 2, 3: 0}, [1.0, 2.0])),
}


@pytest.mark.parametrize(("named", "numbered"), BOTH.values(), ids=BOTH)
@given(labels=st.lists(st.integers(0, 2), min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_names_and_numbers_find_the_same_violations(named, numbered, labels):
    found = named.resolve_clusters(NAMES).violations(labels, 3)
    wanted = numbered.violations(labels, 3)
    assert found.count == wanted.count
    assert found.amount == wanted.amount
    np.testing.assert_array_equal(found.where, wanted.where)


@pytest.mark.parametrize(("named", "numbered"), BOTH.values(), ids=BOTH)
def test_a_named_rule_is_refused_until_its_names_are_looked_up(named, numbered):
    assert named.clusters_named
    assert not numbered.clusters_named
    assert not named.resolve_clusters(NAMES).clusters_named
    with pytest.raises(ValueError, match="cluster_names="):
        named.violations([0] * 8, 3)
    with pytest.raises(ValueError, match="cluster_names="):
        named.check(8, 3)


@pytest.mark.parametrize(("named", "numbered"), BOTH.values(), ids=BOTH)
def test_named_rules_survive_files_and_pickles(named, numbered, tmp_path):
    rules = ConstraintSet([named, numbered])
    rules.to_json(tmp_path / "rules.json")
    assert ConstraintSet.from_json(tmp_path / "rules.json") == rules
    assert pickle.loads(pickle.dumps(rules)) == rules


@pytest.mark.parametrize("share", [0.25, 0.5, 2 / 3])
@given(labels=st.lists(st.integers(0, 2), min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_shares_of_some_clusters_are_counted_there_alone(share, labels):
    rule = GroupShares(GROUPS, minimum={"a": share}, clusters=["west", "north"])
    rule = rule.resolve_clusters(NAMES)
    labels = np.array(labels)
    wrong = []
    for cluster in (0, 2):
        inside = np.array(GROUPS)[labels == cluster]
        if (inside == "a").sum() < share * len(inside) - 1e-9:
            wrong.append(cluster)
    assert rule.violations(labels, 3).where.tolist() == wrong


def test_messages_call_clusters_by_name():
    names = Called(range(8), NAMES)
    labels = [0, 0, 0, 1, 1, 2, 2, 2]
    rules = ConstraintSet([named for named, _ in BOTH.values()]).resolve_clusters(NAMES)
    text = "\n".join(
        line for found in rules.violations(labels, 3) for line in found.messages(names=names)
    )
    assert "cluster west has a total of 17, but should have at most 9" in text
    assert "cluster south has 2 samples, but should have 4" in text
    assert "sample 0 is pinned to cluster west, but is in cluster north" in text
    assert "cluster 0" not in text


def test_phrases_say_which_clusters_have_bounds():
    named = ClusterTotals(VALUES, maximum={"south": 8}, name="minutes")
    assert named.phrase() == "cluster totals of 'minutes', at most 8 in south"
    found = named.resolve_clusters(NAMES)
    assert found.phrase(Called(range(8), NAMES)) == named.phrase()
    assert repr(ClusterSizes(minimum={"north": 2})) == "ClusterSizes(minimum=2 in north)"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ClusterTotals(VALUES, maximum={"": 3}), "must be a name"),
        (lambda: ClusterTotals(VALUES, maximum={0: 3}), "the cluster 0"),
        (lambda: ClusterTotals(VALUES, minimum={"a": 3}, maximum={"a": 2}), "above"),
        (lambda: ClusterTotals(VALUES, maximum={"a": "x"}), "must be numbers"),
        (lambda: ClusterTotals(VALUES, minimum=[1, 2, 3], maximum={"a": 2}), "a list"),
        (lambda: ClusterSizes({"a": 3, "b": None}), "no number for cluster 'b'"),
        (lambda: ClusterSizes(minimum={"a": -1}), "negative"),
        (lambda: ClusterSizes(minimum={"a": 1.5}), "whole"),
        (lambda: Pin({0: "a", 1: 2}), "only names or only numbers"),
        (lambda: Pin({0: " "}), "must be a name"),
        (lambda: GroupShares(GROUPS, minimum=0.1, clusters=["a", "a"]), "twice"),
        (lambda: GroupShares(GROUPS, minimum=0.1, clusters=[-1]), "the cluster -1"),
    ],
)
def test_wrong_names_are_refused_where_they_are_given(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (ClusterTotals(VALUES, maximum={"nort": 3}), r"'nort' \(did you mean 'north'\?\)"),
        (ClusterSizes({"north": 8}), "cluster 'south' has none"),
        (Pin({0: "east"}), "these are 'north', 'south', 'west'"),
    ],
)
def test_names_that_no_cluster_has_are_refused(rule, said):
    with pytest.raises(ValueError, match=said):
        rule.resolve_clusters(NAMES)


def test_shares_in_a_cluster_that_is_not_there():
    with pytest.raises(ValueError, match=r"cluster 5, but n_clusters is 3"):
        GroupShares(GROUPS, minimum=0.1, clusters=[5]).check(8, 3)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("abc", "'abc'; it must be a list of texts"),
        (["a", "b", "a"], "'a' twice, at 0 and 2"),
        (["a", None, "b"], r"\[1\].* is None"),
        (["a", " ", "b"], "not blank"),
        (["a", "b"], "2 names, but n_clusters is 3"),
        ({"a": 1}, "must be a list of texts"),
    ],
)
def test_wrong_lists_of_names(names, said):
    with pytest.raises(ValueError, match=said):
        read_cluster_names(names, 3)
