"""The next question: nothing implied is asked, and answers lead to the true clusters."""

from __future__ import annotations

import re
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, ConstraintSet, MustLink, Pin
from corral.active import Known, answer, next_pairs
from corral.active.strategies import STRATEGIES


def links_of(labels, pairs):
    """Must-links and cannot-links that tell the truth about pairs."""
    pairs = np.asarray(pairs).reshape(-1, 2)
    return answer(None, pairs, [bool(labels[i] == labels[j]) for i, j in pairs])


def settled(rules, n, k):
    """Pairs whose answer is the same in every labelling that obeys the rules; by enumeration."""
    found = [np.array(labels) for labels in product(range(k), repeat=n)]
    found = np.array([x for x in found if not any(v.count for v in rules.violations(x, k))])
    same = {(i, j): found[:, i] == found[:, j] for i, j in combinations(range(n), 2)}
    return {pair for pair, each in same.items() if each.all() or not each.any()}


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_implied_is_what_every_labelling_has(k, seed):
    rng, n = np.random.default_rng(seed), 5
    labels = rng.integers(k, size=n)
    every = list(combinations(range(n), 2))
    rules = links_of(labels, rng.permutation(every)[: rng.integers(3, 8)])
    if seed % 2:
        rules = rules.with_(Pin({row: labels[row] for row in rng.choice(n, 2, replace=False)}))
    known = Known.of(rules, n, k)
    implied = {pair for pair in every if known.implied(pair)[0]}
    truth = settled(rules, n, k)
    assert implied <= truth
    if k != 3:  # with more than two clusters, and fewer than rows, some conclusions are not drawn
        assert implied == truth


def test_k_clusters_leave_a_last_one():
    """Rows apart from the same two of three clusters are together."""
    rules = CannotLink([(0, 1), (0, 2), (1, 2), (3, 0), (3, 1), (4, 1), (4, 2)])
    assert Known.of(rules, 6, 3).group.tolist() == [0, 1, 2, 2, 0, 3]


def test_soft_links_imply_nothing():
    known = Known.of([MustLink([(0, 1)], weight=5), CannotLink([(1, 2)], weight=1)], 3, 2)
    assert not known.implied([(0, 1), (1, 2), (0, 2)]).any()


@pytest.fixture
def blobs():
    """Three overlapping blobs, their true clusters, and a model that knows half of the truth."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 12)
    X = rng.normal(size=(36, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[y]
    return X, y


def model_of(labels, k=3):
    return SimpleNamespace(labels_=np.asarray(labels), n_clusters=k)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_questions_are_new_and_in_the_end_all_is_known(blobs, strategy):
    X, y = blobs
    rng = np.random.default_rng(0)
    rules, asked = ConstraintSet(), set()
    while True:
        # Wrong labels, except that they obey the answers.
        known = Known.of(rules, 36, 3)
        labels = np.where(rng.random(36) < 0.7, y, rng.integers(3, size=36))
        labels = labels[np.unique(known.group, return_index=True)[1]][known.group]
        pairs = next_pairs(model_of(labels), X, constraints=rules, n=4, strategy=strategy)
        assert not known.implied(pairs).any()
        assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs) <= 4
        assert not asked & {frozenset(pair) for pair in pairs.tolist()}
        asked |= {frozenset(pair) for pair in pairs.tolist()}
        if not len(pairs):
            break
        rules = answer(rules, pairs, (y[pairs[:, 0]] == y[pairs[:, 1]]).tolist())
    every = np.array(list(combinations(range(36), 2)))
    known = Known.of(rules, 36, 3)
    same = known.group[every[:, 0]] == known.group[every[:, 1]]
    # The clusters' anchors are compared with all rows, so at most pairs of clusters stay open.
    assert not (same & (y[every[:, 0]] != y[every[:, 1]])).any()
    assert known.n_groups <= (36 if strategy == "random" else 6)


@pytest.mark.parametrize("strategy", ["uncertainty", "margin"])
def test_the_row_between_two_clusters_is_asked_first(strategy):
    X = np.array([[0.0], [1.0], [2.0], [5.9], [10.0], [11.0], [12.0]])
    pairs = next_pairs(model_of([0, 0, 0, 0, 1, 1, 1], 2), X, n=1, strategy=strategy)
    assert pairs[0, 0] == 3


def test_answers_near_a_row_count():
    """Rows of cluster 0 on the side where answers were "different" are asked before the others."""
    x = np.concatenate([np.linspace(-5, 5, 41), np.linspace(95, 105, 41)])
    X, labels = np.column_stack([x, np.zeros(82)]), np.repeat([0, 1], 41)
    rules = [MustLink([(0, 60), (1, 60), (2, 60)])]
    moved = labels.copy()
    moved[:3] = 1
    pairs = next_pairs(model_of(moved, 2), X, constraints=rules, n=1)
    assert pairs[0, 0] in (3, 4)


def test_numbering_of_rows_does_not_matter(blobs):
    X, y = blobs
    model = ConstrainedKMeans(3, random_state=0, n_init=1).fit(X)
    rules = links_of(y, [(0, 1), (0, 12), (0, 25)])
    pairs = next_pairs(model, X, constraints=rules, n=5)
    order = np.random.default_rng(2).permutation(36)
    place = np.argsort(order)
    moved = links_of(y[order], place[[(0, 1), (0, 12), (0, 25)]])
    again = next_pairs(model_of(model.labels_[order]), X[order], constraints=moved, n=5)
    assert order[again].tolist() == pairs.tolist()


@pytest.mark.parametrize("convert", [sparse.csr_array, pd.DataFrame], ids=["sparse", "frame"])
def test_other_kinds_of_points(blobs, convert):
    X, y = blobs
    wanted = next_pairs(model_of(y), X, n=3)
    assert next_pairs(model_of(y), convert(X), n=3).tolist() == wanted.tolist()


def test_what_nobody_knows_is_not_asked_again(blobs):
    X, y = blobs
    model = model_of(y)
    first = next_pairs(model, X, n=1)
    again = next_pairs(model, X, n=200, skip=first)
    assert len(again)
    assert first.tolist()[0] not in np.sort(again).tolist() + again.tolist()


def test_nothing_to_ask():
    X = np.arange(4.0)[:, None]
    assert next_pairs(model_of([0, 0, 0, 0], 1), X).shape == (0, 2)
    rules = Pin({row: row % 2 for row in range(4)})
    for strategy in STRATEGIES:
        found = next_pairs(model_of([0, 1, 0, 1], 2), X, constraints=rules, strategy=strategy)
        assert found.shape == (0, 2)


def test_answers_add_to_the_rules_and_change_none():
    rules = ConstraintSet([MustLink([(0, 1)]), ClusterSizes(minimum=1)])
    more = answer(rules, [(2, 3), (4, 5), (6, 7)], [True, False, None])
    assert more == ConstraintSet(
        [MustLink([(0, 1), (2, 3)]), ClusterSizes(minimum=1), CannotLink([(4, 5)])]
    )
    assert rules[0] == MustLink([(0, 1)])
    assert answer(rules, [], []) == rules
    named = answer(MustLink([("a", "b")]), [("a", "c")], [True], index=["a", "b", "c"])
    assert named.resolve(["a", "b", "c"])[1].pairs.tolist() == [[0, 2]]
    assert not answer(None, [(0, 1)], [True], weight=2.0)[0].hard


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "`n` is 0; it must be an integer of at least 1"),
        ({"strategy": "margins"}, "did you mean 'margin'"),
        ({"skip": [(0, 99)]}, "`skip` names row 99; rows must lie in [0, 35]"),
        ({"constraints": MustLink([(0, 99)])}, "X has 36 samples"),
    ],
)
def test_wrong_arguments_are_told(blobs, wrong, message):
    X, y = blobs
    with pytest.raises(ValueError, match=re.escape(message)):
        next_pairs(model_of(y), X, **wrong)


def test_other_mistakes_are_told(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="fitted on 36 rows, but X has 10"):
        next_pairs(model_of(y), X[:10])
    with pytest.raises(ValueError, match="call its fit first"):
        next_pairs(ConstrainedKMeans(3), X)
    with pytest.raises(ValueError, match="2 answers, but 1 pairs"):
        answer(None, [(0, 1)], [True, False])
    with pytest.raises(ValueError, match="answer 0 is 'yes'"):
        answer(None, [(0, 1)], ["yes"])
