"""Linear and integer programs: values, dual values, silence and time limits."""

from __future__ import annotations

import time
from itertools import product

import highspy
import numpy as np
import pytest
from scipy import optimize
from tiny_problems import clustered, make_rules, random_problem

from corral.deadline import NEVER, Deadline, OutOfTime
from corral.exact.program import highs
from corral.exact.program.milp import solve_milp
from corral.exact.program.model import build
from corral.exact.result import NoAssignment
from corral.rules import SizeBounds, SoftPairs, TotalBounds


@pytest.fixture(autouse=True)
def silence(capfd):
    """No solver writes to stdout or stderr."""
    yield
    assert capfd.readouterr() == ("", "")


def whole(rules):
    """All columns of a model and the cut that holds them."""
    model = build(rules)
    return model, highs.cut(model, np.ones(len(model.price), bool), rules.n_groups)


def priced(model, cost):
    """Cost of every column."""
    return model.price + np.pad(cost.ravel(), (0, len(model.price) - cost.size))


def by_scipy(model, objective, *, integral):
    """Least objective by SciPy's own copy of the solver, infinite if there is none."""
    rows = optimize.LinearConstraint(model.A, model.lower, model.upper)
    bounds = optimize.Bounds(0.0, model.ceiling)
    kinds = model.integral if integral else np.zeros(len(objective))
    result = optimize.milp(objective, integrality=kinds, bounds=bounds, constraints=rows)
    assert result.status in (0, 2)
    return result.fun if result.status == 0 else np.inf


@pytest.mark.parametrize("seed", range(25))
def test_values_equal_those_of_another_solver(seed):
    rules, cost = random_problem(seed)
    model, cut = whole(rules)
    objective = priced(model, cost)
    try:
        relaxed = cut.relax(objective, NEVER)
        value = relaxed.value
        # Weak duality: the bound at any dual values is below, at the best ones equal.
        bound, _ = highs.price(model, np.ones(cost.shape, bool), relaxed, objective)
        assert bound == pytest.approx(value, rel=1e-7, abs=1e-7)
        np.testing.assert_allclose(objective @ relaxed.x, value, rtol=1e-9)
    except NoAssignment:
        value = np.inf
    assert value == pytest.approx(by_scipy(model, objective, integral=False), rel=1e-7)
    try:
        x, optimal = cut.solve(objective, NEVER)
        assert optimal
        value = objective @ x
    except NoAssignment:
        value = np.inf
    assert value == pytest.approx(by_scipy(model, objective, integral=True), rel=1e-7)


def hard(m=400, k=10):
    """Totals that hardly any assignment meets, with soft pairs."""
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 9, (2, m))
    mean = values.sum(axis=1) / k
    totals = tuple(
        TotalBounds(v, np.full(k, t * 0.9999), np.full(k, t * 1.0001))
        for v, t in zip(values, mean, strict=True)
    )
    pairs = rng.permutation(m).reshape(-1, 2)
    soft = SoftPairs(pairs, np.ones(len(pairs)), np.arange(len(pairs)) % 2 == 0)
    return make_rules(np.ones(m, int), k, totals=totals, soft=soft), rng.random((m, k))


@pytest.mark.parametrize("limit", [0.02, 0.3, 1.0])
def test_a_time_limit_is_kept_in_every_phase(limit):
    rules, cost = hard()
    model, cut = whole(rules)
    objective = priced(model, cost)
    began = time.perf_counter()
    _, optimal = cut.solve(objective, Deadline.after(limit))
    # 0.1 s where no other program runs.
    assert time.perf_counter() - began < limit + 1.0
    assert not optimal


def test_a_time_limit_ends_a_linear_program():
    rules, cost = clustered(0, 20_000, 4, 20_000)
    model, cut = whole(rules)
    objective = priced(model, cost)
    began = time.perf_counter()
    with pytest.raises(OutOfTime):
        cut.relax(objective, Deadline.after(0.02))
    assert time.perf_counter() - began < 1.2


def test_programs_beside_those_of_the_user():
    # HiGHS fixes the number of its threads with the first program of each calling thread.
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0.0, 1.0)
    assert other.run() == highspy.HighsStatus.kOk
    rules, cost = random_problem(0)
    model, cut = whole(rules)
    objective = priced(model, cost)
    assert cut.solve(objective, NEVER)[1]
    assert other.run() == highspy.HighsStatus.kOk


@pytest.mark.parametrize("noise", [0.0, 1e-31, 1e-12, 1.0])
def test_prices_of_any_size_beside_the_costs(noise):
    """Where costs are rounding errors, prices alone decide."""
    soft = SoftPairs(np.array([[0, 0], [0, 1]]), np.array([30.0, 30.0]), np.array([False, True]))
    cost = noise * np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    sizes = SizeBounds(np.array([1, 1]), np.array([4, 4]), ordered=False)
    rules = make_rules([3, 1, 1], 2, soft=soft, sizes=sizes)
    found = solve_milp(rules, cost, match_sizes=True)
    best = min(
        sum(cost[g, j] for g, j in enumerate(labels)) + 30.0 * (labels[0] != labels[1]) + 30.0
        for labels in product(range(2), repeat=3)
        if 1 <= (np.array([3, 1, 1]) * np.array(labels)).sum() <= 4
    )
    assert found.optimal
    assert found.cost == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_a_process_of_its_own_finds_the_same(seed, monkeypatch):
    rules, cost = random_problem(seed)
    model, cut = whole(rules)
    objective = priced(model, cost)
    expected = by_scipy(model, objective, integral=True)
    monkeypatch.setattr(highs, "APART_ENTRIES", 0)
    if np.isinf(expected):
        with pytest.raises(NoAssignment):
            cut.solve(objective, NEVER)
    else:
        values, optimal = cut.solve(objective, NEVER)
        assert optimal
        assert objective @ values == pytest.approx(expected)


def test_a_process_of_its_own_is_ended_after_its_time(monkeypatch):
    rules, cost = random_problem(0)
    model, cut = whole(rules)
    monkeypatch.setattr(highs, "APART_ENTRIES", 0)
    monkeypatch.setattr(highs.apart, "GRACE", -0.999)  # it is over before the process has begun
    assert cut.solve(priced(model, cost), Deadline.after(1.0)) == (None, False)
