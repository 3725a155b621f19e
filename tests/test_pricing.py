"""The price of rules: how much the objective falls without each, compared with brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from corral import ClusterSizes, ConstrainedKMeans, ConstraintSet, MustLink, price_rules


def best(X, rules, k):
    """The labels of least inertia among all that obey the rules, and their inertia."""
    found = []
    for each in product(range(k), repeat=len(X)):
        labels = np.array(each)
        if len(set(each)) == k and not any(v.count for v in rules.violations(labels, k)):
            parts = (X[labels == j] for j in range(k))
            found.append((sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts), each))
    return min(found)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(3).normal(size=(9, 2))


def test_prices_are_those_of_the_best_answers(X):
    rules = ConstraintSet(
        [MustLink([(0, 4), (1, 7)]), ClusterSizes([4, 5]), ClusterSizes(maximum=9)]
    )
    model = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rules)
    report = price_rules(model, X, constraints=rules)
    prices, value = report.prices, best(X, rules, 2)[0]
    assert prices.objective == pytest.approx(value)
    assert prices.free == pytest.approx(best(X, ConstraintSet(), 2)[0])
    for number in range(3):
        others = rules[:number] + rules[number + 1 :]
        assert prices.price(number) == pytest.approx(value - best(X, others, 2)[0])
    assert report.inertia == model.report_.inertia
    assert model.report_.prices is None


def test_rows_that_move_are_counted_up_to_the_numbers_of_the_clusters(X):
    rules = MustLink([(0, 4)])
    model = ConstrainedKMeans(2, random_state=0).fit(X, constraints=rules)
    free = np.array(best(X, ConstraintSet(), 2)[1])
    differ = np.count_nonzero(free != model.labels_)
    moved = price_rules(model, X, constraints=rules).prices.moved
    assert moved == min(differ, 9 - differ)


def test_without_rules_nothing_moves(X):
    model = ConstrainedKMeans(2, random_state=0).fit(X)
    prices = price_rules(model, X, constraints=None).prices
    assert (prices.moved, prices.without) == (0, ())


def test_mistakes_are_told(X):
    model = ConstrainedKMeans(2, random_state=0, n_init=1).fit(X)
    with pytest.raises(ValueError, match=r"there are 1 constraints, but .* under 0"):
        price_rules(model, X, constraints=MustLink([(0, 1)]))
    with pytest.raises(ValueError, match="`time_limit` is 0; it must be a finite number above 0"):
        price_rules(model, X, constraints=None, time_limit=0)
