"""Every kind of contradiction is found, is infeasible, and is named by the user's rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conflicts import AllLabels, bounds_of

from corral.constraints import CannotLink, ClusterSizes, ConstraintSet, MustLink, Pin
from corral.exceptions import BrokenAnswerError, InfeasibleConstraintsError, SolverTimeoutError
from corral.rules import presolve
from corral.rules.pairs import find_clique

LETTERS = list("abcdefgh")


def atoms(rules):
    """Single rules, to compare two sets of constraints."""
    found = set()
    for rule in rules:
        if isinstance(rule, ClusterSizes):
            sides = zip(("minimum", "maximum"), bounds_of(rule), strict=True)
            found |= {(side, *np.atleast_1d(b)) for side, b in sides if b is not None}
        elif isinstance(rule, Pin):
            found |= {("pin", *pin) for pin in zip(rule.rows, rule.clusters, strict=True)}
        else:
            found |= {(type(rule), *pair) for pair in rule.pairs.tolist()}
    return found


def clash(rules, n, k, names=None):
    """The sentence and the conflict, which is one, and irreducible if presolve says so."""
    with pytest.raises(InfeasibleConstraintsError) as error:
        presolve(ConstraintSet(rules), n, k, names=names)
    conflict, every = error.value.conflict, AllLabels(n, k)
    assert not every.feasible(conflict)
    assert not error.value.irreducible or every.faults(conflict) == []
    assert atoms(conflict) <= atoms(rules)
    return str(error.value), conflict


def irreducible(conflict, n, k):
    return AllLabels(n, k).faults(conflict) == []


def test_a_cannot_link_inside_a_group_is_told_by_the_shortest_chain():
    rules = [
        MustLink([(0, 1), (1, 2), (2, 3), (4, 5)]),
        MustLink([(5, 0), (3, 5)]),
        CannotLink([(6, 1), (0, 3)]),
    ]
    sentence, conflict = clash(rules, 7, 2)
    assert sentence == "samples 0 and 3 must not be together, but must-links 0-5, 5-3 join them."
    assert conflict == ConstraintSet([MustLink([(5, 0), (3, 5)]), CannotLink([(0, 3)])])
    assert irreducible(conflict, 7, 2)


def test_among_several_such_cannot_links_the_shortest_chain_is_told():
    rules = [MustLink([(0, 1), (1, 2), (2, 3)]), CannotLink([(0, 3), (1, 0)])]
    sentence, _ = clash(rules, 4, 2, LETTERS)
    assert sentence == "samples b and a must not be together, but must-link b-a joins them."


def test_soft_links_contradict_nothing():
    soft = [MustLink([(0, 1)]), CannotLink([(0, 1)], 5.0), CannotLink([(0, 2), (1, 2)])]
    assert presolve(soft, 3, 2).soft.cost(np.array([0, 1])) == 5.0
    chain = [MustLink([(0, 1), (1, 2)], [np.inf, 3]), CannotLink([(0, 2)])]
    assert presolve(chain, 3, 2).n_groups == 2


def test_a_row_pinned_twice():
    sentence, conflict = clash([Pin({1: 0, 2: 0}), Pin({1: 1})], 3, 2)
    assert sentence == "sample 1 is pinned to cluster 0 and to cluster 1."
    assert conflict == ConstraintSet([Pin({1: 0}), Pin({1: 1})])
    assert irreducible(conflict, 3, 2)


def test_pins_of_one_group_to_different_clusters():
    rules = [MustLink([(0, 1), (1, 2), (2, 3), (4, 5)]), Pin({0: 0, 1: 0, 3: 1, 4: 0})]
    sentence, conflict = clash(rules, 6, 2, LETTERS)
    assert sentence == (
        "samples a and d are pinned to clusters 0 and 1, but must-links a-b, b-c, c-d join them."
    )
    assert irreducible(conflict, 6, 2)


def test_pins_of_one_cluster_across_a_cannot_link():
    sentence, conflict = clash([CannotLink([(0, 2), (1, 2)]), Pin({0: 1, 1: 0, 2: 0})], 3, 2)
    assert sentence == "samples 1 and 2 must not be together, but both are pinned to cluster 0."
    assert conflict == ConstraintSet([CannotLink([(1, 2)]), Pin({1: 0, 2: 0})])
    assert irreducible(conflict, 3, 2)


def test_pins_of_one_cluster_across_a_cannot_link_through_must_links():
    rules = [MustLink([(0, 1), (2, 3), (3, 4)]), CannotLink([(1, 2)]), Pin({0: 1, 4: 1, 5: 0})]
    sentence, conflict = clash(rules, 6, 3)
    assert sentence == (
        "samples 1 and 2 must not be together, but samples 0 and 4 are pinned to cluster 1 and "
        "must-links 1-0, 2-3, 3-4 join them to these."
    )
    assert conflict == ConstraintSet([*rules[:2], Pin({0: 1, 4: 1})])
    assert irreducible(conflict, 6, 3)


@pytest.mark.parametrize(
    ("rules", "kept", "sentence"),
    [
        (
            [ClusterSizes([2, 2])],
            [ClusterSizes(maximum=[2, 2])],
            "cluster sizes [2, 2] add up to 4, but X has 5 samples.",
        ),
        (
            [ClusterSizes(minimum=0), ClusterSizes([3, 3], ordered=True)],
            [ClusterSizes(minimum=[3, 3], ordered=True)],
            "cluster sizes [3, 3] add up to 6, but X has 5 samples.",
        ),
        (
            [ClusterSizes(minimum=3, maximum=4)],
            [ClusterSizes(minimum=3)],
            "with minimum cluster size 3 the clusters hold at least 6 in all, but X has 5 samples.",
        ),
        (
            [ClusterSizes(minimum=1), ClusterSizes(maximum=[1, 3])],
            [ClusterSizes(maximum=[1, 3])],
            "with maximum cluster sizes [1, 3] the clusters hold at most 4 in all, "
            "but X has 5 samples.",
        ),
        (
            [
                ClusterSizes(minimum=[4, 0], ordered=True),
                ClusterSizes(minimum=[0, 2], ordered=True),
            ],
            [
                ClusterSizes(minimum=[4, 0], ordered=True),
                ClusterSizes(minimum=[0, 2], ordered=True),
            ],
            "with minimum cluster sizes [4, 0] and minimum cluster sizes [0, 2] the clusters hold "
            "at least 6 in all, but X has 5 samples.",
        ),
        (
            [
                ClusterSizes(minimum=[4, 0], ordered=True),
                ClusterSizes(maximum=4),
                ClusterSizes(maximum=3),
            ],
            [ClusterSizes(minimum=[4, 0], ordered=True), ClusterSizes(maximum=3)],
            "minimum cluster sizes [4, 0] and maximum cluster size 3 contradict each other: the "
            "size of a cluster would have to be at least 4 and at most 3.",
        ),
        (
            [ClusterSizes(minimum=9)],
            [ClusterSizes(minimum=9)],
            "minimum cluster size 9 cannot be obeyed: a cluster would have to hold 9, but X has 5 "
            "samples.",
        ),
        (
            [ClusterSizes(minimum=2), ClusterSizes(maximum=4), ClusterSizes(maximum=1)],
            [ClusterSizes(maximum=1)],
            "with maximum cluster size 1 the clusters hold at most 2 in all, but X has 5 samples.",
        ),
        (
            [ClusterSizes([2, 3]), ClusterSizes([1, 4])],
            [ClusterSizes(maximum=[2, 3]), ClusterSizes(maximum=[1, 4])],
            "with maximum cluster sizes [2, 3] and maximum cluster sizes [1, 4] the clusters hold "
            "at most 4 in all, but X has 5 samples.",
        ),
        (
            [ClusterSizes(minimum=[1, 3], maximum=[1, 5]), ClusterSizes(maximum=[0, 6])],
            [ClusterSizes(minimum=[1, 3]), ClusterSizes(maximum=[0, 6])],
            "minimum cluster sizes [1, 3] and maximum cluster sizes [0, 6] contradict each other: "
            "the size of a cluster would have to be at least 1 and at most 0.",
        ),
    ],
)
def test_sizes_that_do_not_add_up(rules, kept, sentence):
    said, conflict = clash([MustLink([(0, 1)]), *rules], 5, 2)
    assert conflict == ConstraintSet(kept)
    assert irreducible(conflict, 5, 2)
    assert said == sentence


def test_a_group_larger_than_every_size():
    links = MustLink([(0, 2), (2, 4), (4, 6), (1, 3)])
    sentence, conflict = clash([links, ClusterSizes([2, 3, 2]), ClusterSizes(minimum=1)], 7, 3)
    assert sentence == (
        "must-links join 4 samples (0, 2, 4, 6), but no cluster may have more than 3 "
        "(maximum cluster sizes [2, 3, 2])."
    )
    assert conflict == ConstraintSet([links.take([0, 1, 2]), ClusterSizes(maximum=[2, 3, 2])])
    assert irreducible(conflict, 7, 3)


def test_of_a_much_larger_group_the_conflict_holds_as_many_rows_as_are_too_many():
    links = MustLink([(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)])
    sentence, conflict = clash([links, ClusterSizes(maximum=3)], 6, 2)
    assert "join 6 samples (0, 1, 2, 3, 4, 5)" in sentence
    assert len(conflict.of_kind(MustLink)[0].pairs) == 3
    assert irreducible(conflict, 6, 2)


def test_pins_beyond_the_maximum_of_their_cluster():
    sizes = ClusterSizes([4, 2], ordered=True)
    rules = [MustLink([(0, 1), (1, 2)]), Pin({1: 1, 5: 0}), sizes]
    sentence, conflict = clash(rules, 6, 2, LETTERS)
    assert sentence == (
        "pins and must-links put 3 samples (a, b, c) into cluster 1, which may have at most 2 "
        "(maximum cluster sizes [4, 2])."
    )
    assert conflict == ConstraintSet([rules[0], Pin({1: 1}), sizes.take([1])])
    assert irreducible(conflict, 6, 2)


def test_many_pins_beyond_every_maximum():
    rules = [Pin({0: 0, 2: 0, 3: 0, 4: 0, 5: 1}), ClusterSizes(maximum=[3, 2])]
    # unordered: cluster 0 may have the larger maximum
    with pytest.raises(InfeasibleConstraintsError, match="maximum cluster sizes"):
        presolve(rules, 6, 2)
    rules[1] = ClusterSizes(maximum=[3, 3])
    sentence, conflict = clash(rules, 6, 2)
    assert sentence == (
        "pins put 4 samples (0, 2, 3, 4) into cluster 0, which may have at most 3 "
        "(maximum cluster sizes [3, 3])."
    )
    assert irreducible(conflict, 6, 2)


def test_unordered_sizes_let_pins_choose():
    rules = [MustLink([(0, 1), (1, 2)]), Pin({1: 1}), ClusterSizes([4, 2])]
    assert presolve(rules, 6, 2).pins.tolist() == [[0, 1]]


def test_more_rows_apart_than_clusters():
    rules = [CannotLink([(0, 5), (1, 5), (3, 5), (0, 1), (3, 4)]), CannotLink([(1, 0), (2, 4)])]
    sentence, conflict = clash(rules, 6, 2)
    assert sentence == (
        "samples 0, 1, 5 must all be apart from each other, which needs 3 clusters, "
        "but n_clusters is 2."
    )
    assert conflict == ConstraintSet(CannotLink([(0, 5), (1, 5), (0, 1)]))
    assert irreducible(conflict, 6, 2)


def test_more_groups_apart_than_clusters():
    rules = [
        MustLink([(0, 1), (1, 2), (3, 4), (2, 6)]),
        CannotLink([(0, 3), (2, 5), (5, 4), (1, 3)]),
    ]
    sentence, conflict = clash(rules, 7, 2, LETTERS)
    assert sentence == (
        "samples a, d, f must all be apart from each other (must-links a-b, b-c, d-e; "
        "cannot-links a-d, c-f, f-e), which needs 3 clusters, but n_clusters is 2."
    )
    assert irreducible(conflict, 7, 2)


def test_with_one_cluster_a_cannot_link_is_enough():
    sentence, conflict = clash([MustLink([(0, 1), (1, 2)]), CannotLink([(1, 2)])], 3, 1)
    assert sentence == (
        "samples 1, 2 must all be apart from each other, which needs 2 clusters, "
        "but n_clusters is 1."
    )
    assert irreducible(conflict, 3, 1)


def test_a_pin_to_a_cluster_that_does_not_exist_is_no_contradiction():
    with pytest.raises(ValueError, match="clusters must lie in") as error:
        presolve(Pin({0: 2}), 3, 2)
    assert not isinstance(error.value, InfeasibleConstraintsError)


@pytest.mark.parametrize("seed", range(80))
def test_whatever_is_raised_is_a_contradiction_of_the_users_rules(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, int(rng.integers(2, 4))
    draw = lambda p: [rng.choice(n, 2, replace=False) for _ in range(p)]  # noqa: E731
    rules = [MustLink(draw(rng.integers(0, 4))), CannotLink(draw(rng.integers(0, 7)))]
    rules.append(Pin(np.column_stack([rng.integers(0, n, 2), rng.integers(0, k, 2)])))
    if rng.random() < 0.5:
        low = rng.integers(0, 3, k)
        high = low + rng.integers(0, 3, k)
        rules.append(ClusterSizes(minimum=low, maximum=high, ordered=bool(rng.integers(2))))
    try:
        presolve(rules, n, k)
    except InfeasibleConstraintsError:
        clash(rules, n, k)


@pytest.mark.parametrize("size", [2, 3, 6, 12])
def test_a_planted_clique_is_found_in_a_sparse_graph(size):
    rng = np.random.default_rng(size)
    m = 2000
    noise = rng.integers(0, m, (6000, 2))
    members = rng.choice(m, size, replace=False)
    planted = np.array([(a, b) for i, a in enumerate(members) for b in members[:i]])
    pairs = np.concatenate([noise[noise[:, 0] != noise[:, 1]], planted])
    clique = find_clique(m, pairs, size)
    linked = {frozenset(pair) for pair in pairs.tolist()}
    assert len(set(clique.tolist())) == size
    assert all(frozenset((a, b)) in linked for a in clique for b in clique if a != b)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_clique_is_found_in_a_graph_of_k_colours(k):
    rng = np.random.default_rng(k)
    colour = rng.integers(0, k, 200)
    pairs = rng.integers(0, 200, (3000, 2))
    pairs = pairs[colour[pairs[:, 0]] != colour[pairs[:, 1]]]
    assert find_clique(200, pairs, k + 1) is None


def test_errors_survive_pickling():
    conflict = ConstraintSet(MustLink([(0, 1)]))
    error = pickle.loads(pickle.dumps(InfeasibleConstraintsError("they clash", conflict)))
    assert (str(error), error.conflict) == ("they clash", conflict)
    late = pickle.loads(pickle.dumps(SolverTimeoutError("too late", 3.5, "half way")))
    assert (str(late), late.seconds, late.progress) == ("too late", 3.5, "half way")
    assert issubclass(InfeasibleConstraintsError, ValueError)
    assert issubclass(SolverTimeoutError, TimeoutError)
    assert issubclass(BrokenAnswerError, RuntimeError)


def test_a_long_chain_is_told_in_short():
    n = 5000
    rules = [
        MustLink(np.column_stack([np.arange(n - 1), np.arange(1, n)])),
        CannotLink([(0, n - 1)]),
    ]
    with pytest.raises(InfeasibleConstraintsError, match="9-10 and 4989 more join them") as error:
        presolve(rules, n, 2)
    assert len(str(error.value)) < 300
    assert len(error.value.conflict.of_kind(MustLink)[0].pairs) == n - 1
