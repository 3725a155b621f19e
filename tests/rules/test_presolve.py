"""Presolve: contraction is exact, and its rules allow the same labels as the constraints."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem_of
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from corral import ConstrainedKMeans
from corral.constraints import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.exceptions import InfeasibleConstraintsError
from corral.rules import Contraction, presolve
from corral.rules.pairs import components


def inertia(X, weight, labels):
    """Weighted sum of squares around the weighted means."""
    total = 0.0
    for j in np.unique(labels):
        x, w = X[labels == j], weight[labels == j]
        if w.sum() > 0:
            total += float(w @ np.square(x - np.average(x, axis=0, weights=w)).sum(axis=1))
    return total


def random_case(seed, n=30, d=3, zeros=False):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n // 2)])
    weight = rng.uniform(0, 3, n)
    if zeros:
        weight[rng.random(n) < 0.6] = 0
    return rng, rng.normal(5, 2, (n, d)), pairs, weight


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_objective_over_groups_plus_scatter_is_inertia_over_rows(seed, zeros, as_csr):
    rng, X, pairs, weight = random_case(seed, zeros=zeros)
    X[rng.random(X.shape) < 0.5] = 0
    contraction = Contraction(components(len(X), pairs))
    given_X = sparse.csr_array(X) if as_csr else X
    points, w, count, scatter = contraction.apply(given_X, weight)
    assert sparse.issparse(points) == as_csr
    points = points.toarray() if as_csr else points
    labels = rng.integers(0, 4, contraction.n_groups)
    rows = labels[contraction.group]
    assert inertia(points, w, labels) + scatter == pytest.approx(inertia(X, weight, rows))
    assert w.sum() == pytest.approx(weight.sum())
    assert count.sum() == len(X)
    assert all(rows[i] == rows[j] for i, j in pairs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(0, 30))
def test_groups_are_what_chains_of_pairs_connect(seed, n, p):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, n, (p, 2))
    reach = np.eye(n, dtype=bool)
    reach[pairs[:, 0], pairs[:, 1]] = reach[pairs[:, 1], pairs[:, 0]] = True
    for m in range(n):  # Warshall
        reach |= reach[:, [m]] & reach[[m], :]
    group = components(n, pairs)
    assert np.array_equal(group[:, None] == group, reach)
    # counted in the order of their first rows
    assert list(dict.fromkeys(group.tolist())) == list(range(group.max() + 1))


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_group_without_weight_takes_the_plain_mean(as_csr):
    X = np.array([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]])
    data = sparse.csr_array(X) if as_csr else X
    points, weight, count, scatter = Contraction(np.array([0, 0, 1])).apply(data, [0.0, 0.0, 2.0])
    points = points.toarray() if as_csr else points
    assert points.tolist() == [[1, 2], [9, 9]]
    assert weight.tolist() == [0, 2]
    assert count.tolist() == [2, 1]
    assert scatter == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_csr", [False, True])
def test_the_type_of_the_points_stays(dtype, as_csr):
    X = np.arange(8, dtype=dtype).reshape(4, 2)
    data = sparse.csr_array(X) if as_csr else X
    rows = problem_of(data, MustLink([(0, 1)]), 2).rows
    assert rows.points.dtype == dtype
    assert rows.weight.dtype == np.float64
    assert sparse.issparse(rows.points) == as_csr
    assert (rows.points.format == "csr") if as_csr else True
    assert problem_of(data, None, 2).rows.points is data


def test_float32_sums_are_taken_in_float64():
    X = np.full((100_001, 1), 1e8, np.float32)
    X[0] = 0
    joined = np.column_stack([np.arange(100_000), np.arange(1, 100_001)])
    points, _, _, scatter = Contraction(components(len(X), joined)).apply(X)
    assert points[0, 0] == pytest.approx(1e8 * 100_000 / 100_001, rel=1e-7)
    assert scatter == pytest.approx(1e16 * 100_000 / 100_001, rel=1e-9)


def test_scatter_does_not_suffer_from_a_shift():
    _, X, pairs, weight = random_case(3)
    contraction = Contraction(components(len(X), pairs))
    near, far = (contraction.apply(X + shift, weight)[3] for shift in (0, 1e6))
    assert far == pytest.approx(near, rel=1e-8)


def test_without_constraints_nothing_is_left_to_obey():
    X = np.zeros((4, 2))
    for nothing in (None, [], [MustLink([]), ClusterSizes(minimum=0, maximum=9), Pin({})]):
        problem = problem_of(X, nothing, 2)
        assert problem.rules.free
        assert problem.rows.points is X
        assert problem.rows.weight.tolist() == [1, 1, 1, 1]
        assert problem.rules.to_rows(np.array([0, 1, 1, 0])).tolist() == [0, 1, 1, 0]


def test_links_are_unique_and_between_groups():
    links = [
        MustLink([(0, 1), (1, 0)]),
        CannotLink([(0, 2), (2, 1), (3, 0), (2, 0)]),
        CannotLink([(1, 3)]),
        Pin({0: 1}),
        Pin({1: 1, 3: 0}),
    ]
    problem = presolve(links, 4, 3)
    assert problem.group.tolist() == [0, 0, 1, 2]
    assert problem.apart.tolist() == [[0, 1], [0, 2]]
    assert problem.pins.tolist() == [[0, 1], [2, 0]]
    assert problem.together.shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_soft_pairs_cost_what_the_users_pairs_cost(seed):
    rng, X, pairs, _ = random_case(seed, n=12)
    weights = rng.uniform(0.1, 2, (2, 12))
    drawn = [np.array([rng.choice(12, 2, replace=False) for _ in range(12)]) for _ in "ab"]
    soft = [MustLink(drawn[0], weights[0]), CannotLink(drawn[1], weights[1])]
    problem = presolve([MustLink(pairs), *soft], len(X), 3)
    labels = rng.integers(0, 3, problem.n_groups)
    expected = sum(rule.violations(problem.to_rows(labels)).amount for rule in soft)
    assert problem.soft.cost(labels) == pytest.approx(expected)
    inside = problem.soft.pairs[:, 0] == problem.soft.pairs[:, 1]
    assert not problem.soft.together[inside].any()
    keys = np.column_stack([problem.soft.pairs, problem.soft.together])
    assert len(np.unique(keys, axis=0)) == len(keys)


def obeys(problem, labels):
    """Read the problem's arrays literally for labels of the groups."""
    k = problem.n_clusters
    if any(labels[g] != c for g, c in problem.pins):
        return False
    if any(labels[a] == labels[b] for a, b in problem.apart):
        return False
    x = np.eye(k)[labels]
    if problem.sizes is not None:
        size = (problem.count @ x).astype(int)
        low, high = problem.sizes.lower, problem.sizes.upper
        bad = (size[:, None] < low) | (size[:, None] > high)
        if problem.sizes.ordered and np.diag(bad).any():
            return False
        rows, columns = linear_sum_assignment(bad)
        if bad[rows, columns].any():
            return False
    within = [(t.values @ x, t.lower, t.upper) for t in problem.totals]
    if problem.linear is not None:
        within.append((problem.linear.A @ x.ravel(), problem.linear.lower, problem.linear.upper))
    return all((v >= low - 1e-9).all() and (v <= high + 1e-9).all() for v, low, high in within)


def random_rules(rng, n, k):
    """Draw a few constraints of all kinds for tiny data."""
    pair = lambda: rng.choice(n, 2, replace=False)  # noqa: E731
    makers = [
        lambda: MustLink([pair() for _ in range(rng.integers(1, 3))]),
        lambda: CannotLink([pair() for _ in range(rng.integers(1, 4))]),
        lambda: ClusterSizes(rng.multinomial(n, np.full(k, 1 / k)), ordered=bool(rng.integers(2))),
        lambda: ClusterSizes(minimum=rng.integers(0, 2), maximum=rng.integers(2, n + 3)),
        lambda: ClusterTotals(rng.integers(0, 4, n), maximum=rng.integers(2, 9, k)),
        lambda: GroupShares(rng.integers(0, 2, n), maximum=0.75),
        lambda: Pin({int(rng.integers(n)): int(rng.integers(k))}),
        lambda: LinearConstraint(rng.integers(-1, 2, (1, n * k)), upper=1),
    ]
    # each kind once: two lists of sizes may not be mergeable
    return [makers[m]() for m in rng.choice(len(makers), 3, replace=False)]


@pytest.mark.parametrize("seed", range(60))
def test_the_problem_allows_exactly_what_the_constraints_allow(seed):
    rng = np.random.default_rng(seed)
    n, k = 5, int(rng.integers(2, 4))
    rules = ConstraintSet(random_rules(rng, n, k))
    allowed = {
        labels
        for labels in product(range(k), repeat=n)
        if all(v.count == 0 for v in rules.violations(np.array(labels), k))
    }
    try:
        problem = presolve(rules, n, k)
    except InfeasibleConstraintsError:
        assert not allowed
        return
    every = (np.array(labels) for labels in product(range(k), repeat=problem.n_groups))
    assert {tuple(problem.to_rows(g).tolist()) for g in every if obeys(problem, g)} == allowed


def test_totals_and_linear_rows_are_summed_over_groups():
    rules = [
        MustLink([(0, 2)]),
        ClusterTotals([1, 2, 4], maximum=5),
        ClusterTotals([1, 2, 4], minimum=-math.inf),
        LinearConstraint([[1, 2, 3, 4, 5, 6]], upper=10),
        LinearConstraint(sparse.csr_array((1, 6)), lower=-1),
    ]
    problem = presolve(rules, 3, 2)
    assert len(problem.totals) == 1
    assert problem.totals[0].values.tolist() == [5, 2]
    assert problem.totals[0].upper.tolist() == [5, 5]
    assert problem.linear.A.toarray().tolist() == [[6, 8, 3, 4], [0, 0, 0, 0]]
    assert problem.linear.lower.tolist() == [-math.inf, -1]


def test_without_contraction_all_rules_stay_and_nothing_is_raised():
    rules = [
        MustLink([(1, 0), (0, 1)]),
        CannotLink([(0, 1)]),
        Pin([(0, 0), (0, 1)]),
        ClusterSizes(minimum=3),
        ClusterSizes(maximum=1),
        MustLink([(0, 1)], 2.0),
    ]
    problem = presolve(rules, 3, 2, contract=False)
    assert problem.row_groups.tolist() == [0, 1, 2]
    assert problem.together.tolist() == problem.apart.tolist() == [[0, 1]]
    assert problem.pins.tolist() == [[0, 0], [0, 1]]
    assert problem.sizes.lower.tolist() == [3, 3]
    assert problem.sizes.upper.tolist() == [1, 1]
    assert problem.soft.price.tolist() == [2]


@pytest.mark.parametrize("contract", [True, False])
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (MustLink([(0, 9)]), r"must_link pair 0 is \(0, 9\), but X has 3 samples"),
        (Pin({0: 5}), "n_clusters is 2"),
        (ClusterSizes([1, 1, 1]), "sizes has length 3, but n_clusters is 2"),
        (ClusterTotals([1, 2], maximum=1), "values has length 2, but X has 3 samples"),
    ],
)
def test_rules_that_do_not_fit_the_data_are_refused(rule, message, contract):
    with pytest.raises(ValueError, match=message) as error:
        presolve(rule, 3, 2, contract=contract)
    assert not isinstance(error.value, InfeasibleConstraintsError)


def test_the_users_data_do_not_change():
    _, X, pairs, weight = random_case(0)
    before = X.copy(), weight.copy()
    problem_of(X, MustLink(pairs), 3, weight)
    assert np.array_equal(X, before[0])
    assert np.array_equal(weight, before[1])


@pytest.mark.parametrize("value", [1, 0.1, -2.5, np.pi])
def test_totals_of_equal_values_are_sizes(value):
    bounds = {"minimum": np.array([2, 0, 1]), "maximum": np.array([4, 9, 5])}
    sides = list(bounds) if value > 0 else list(bounds)[::-1]
    scaled = dict(zip(sides, (value * each for each in bounds.values()), strict=True))
    rules = presolve(ClusterTotals(np.full(10, value), **scaled), 10, 3)
    same = presolve(ClusterSizes(**bounds, ordered=True), 10, 3)
    assert rules.totals == ()
    np.testing.assert_array_equal(rules.sizes.lower, same.sizes.lower)
    np.testing.assert_array_equal(rules.sizes.upper, same.sizes.upper)


def test_totals_of_ones_give_the_labels_of_sizes():
    X = np.random.default_rng(0).random((60, 2))
    rules = ClusterTotals(np.ones(60), maximum=14), ClusterSizes(maximum=14)
    one, other = (
        ConstrainedKMeans(5, random_state=0).fit(X, constraints=rule).labels_ for rule in rules
    )
    np.testing.assert_array_equal(one, other)


def test_totals_of_equal_values_that_sizes_cannot_hold_stay_totals():
    unordered, tied = ClusterSizes([2, 3, 5]), ClusterTotals(np.ones(10), maximum=[5, 3, 9])
    assert len(presolve([unordered, tied], 10, 3).totals) == 1
    between = ClusterTotals(np.ones(10), minimum=[0, 0, 2.3], maximum=[9, 9, 2.7])
    assert len(presolve(between, 10, 3).totals) == 1
    assert len(presolve(ClusterTotals(np.zeros(10), maximum=3), 10, 3).totals) == 1
