"""The search: what it returns, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from problems import uniform
from searches import Small, late

from corral import CannotLink, ClusterSizes, ClusterTotals, GroupShares, MustLink
from corral.deadline import Deadline, OutOfTime
from corral.exact import broken

X = uniform(40, 2)
RULES = {
    "free": [],
    "sizes": [ClusterSizes([10] * 4)],
    "totals": [ClusterTotals(1.0 + X[:, 0], maximum=17.0)],
    "links": [MustLink([(0, 1), (2, 3)]), CannotLink([(i, i + 7) for i in range(4, 20)])],
}


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_obeys_the_rules_and_is_no_worse_than_its_makers(kind, seed):
    small = Small(X, RULES[kind], 4, effort=0.1, seed=seed)
    best = small.search().top
    made = [answer.objective for _, answer in small.told if answer is not None]
    assert made
    assert best.objective <= min(made) * (1.0 + 1e-9)
    assert not broken(best.rules, best.labels)
    means = np.array([X[small.rules.to_rows(best.labels) == j].mean(axis=0) for j in range(4)])
    inertia = ((X - means[small.rules.to_rows(best.labels)]) ** 2).sum()
    assert small.problem.objective(best.objective) == pytest.approx(inertia)


def test_a_maker_without_an_answer_is_told_of_no_more_than_another():
    small = Small(X, RULES["sizes"], 4, effort=0.1)
    found = small.search([("nothing", lambda: None), ("seeds", small.seeds)])
    assert [name for name, _ in small.told] == ["seeds"]
    assert found.best is not None


def test_where_no_maker_has_an_answer_the_rescue_gives_it():
    other = Small(X, RULES["sizes"], 4, effort=0.1).search().top
    small = Small(X, RULES["sizes"], 4, effort=0.1)
    found = small.search([("nothing", lambda: None)], rescue=lambda: other)
    assert found.top.objective <= other.objective
    assert small.told[0][1] is other


def test_a_deadline_returns_the_best_answer_so_far():
    small = Small(X, RULES["sizes"], 4, effort=1e6)
    found = small.search(2, made=late)
    assert found.ended == "the deadline"
    assert found.top.objective <= min(answer.objective for _, answer in small.told)


def test_a_deadline_before_everything_is_no_answer_that_breaks_rules():
    small = Small(X, RULES["totals"], 4, until=Deadline.after(0.0))
    try:
        best = small.search().top
    except OutOfTime:
        return
    assert not broken(best.rules, best.labels)


@pytest.mark.parametrize("kind", RULES)
def test_a_seed_gives_the_same_answer(kind):
    one, two = (Small(X, RULES[kind], 4, effort=0.1).search().top for _ in range(2))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.objective == two.objective


def test_a_descent_ends_with_groups_passed_on_through_all_clusters_though_some_pairs_are_apart():
    # One row is at the wrong end of a line: each cluster has to pass one on to the next.
    line, k = np.arange(400.0)[:, None], 40
    rules = [ClusterSizes([10] * k), CannotLink([(5, 200), (200, 390)])]
    small = Small(line, rules, k)
    wrong = np.roll(np.arange(400) // 10, 1)
    found = small.descender.finished(small.descender.from_labels(wrong))
    assert not broken(found.rules, found.labels)
    # On a line, clusters of equal sizes cost least where each is a piece of it.
    assert small.problem.objective(found.objective) == pytest.approx(k * 82.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_descent_empties_clusters_that_no_number_of_rows_near_theirs_makes_obey(seed):
    # Ten groups with 7 to 13 % each: a cluster may have 10 or 20 rows, but never 15.
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 10, 2000)
    heavy = rng.standard_t(2, size=(2000, 4))
    small = Small(heavy, [GroupShares(group, minimum=0.07, maximum=0.13)], 40, seed=seed)
    found = small.descender.from_clusters(small.seeds())
    assert found is not None
    assert not broken(found.rules, found.labels)
