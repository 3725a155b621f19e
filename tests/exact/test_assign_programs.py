"""Integer programs: values, silence and time limits."""

from __future__ import annotations

import time
from itertools import product

import highspy
import numpy as np
import pytest
from scipy import optimize
from tiny_problems import make_rules, random_problem

from corral.deadline import NEVER, Deadline
from corral.exact import NoAssignment, program
from corral.exact.model import build
from corral.exact.program import solve_model, solve_program
from corral.rules import SizeBounds, SoftPairs, TotalBounds


@pytest.fixture(autouse=True)
def silence(capfd):
    """No solver writes to stdout or stderr."""
    yield
    assert capfd.readouterr() == ("", "")


def solve(rules, model, objective, deadline=NEVER):
    """Values of all columns of a model, and whether they are proven."""
    everything = np.ones(len(objective), bool)
    return solve_model(model, everything, objective, rules.n_groups, deadline)


def priced(model, cost):
    """Cost of every column."""
    return model.price + np.pad(cost.ravel(), (0, len(model.price) - cost.size))


def by_scipy(model, objective):
    """Least objective by SciPy's own copy of the solver, infinite if there is none."""
    rows = optimize.LinearConstraint(model.A, model.lower, model.upper)
    bounds = optimize.Bounds(0.0, model.ceiling)
    result = optimize.milp(objective, integrality=model.integral, bounds=bounds, constraints=rows)
    assert result.status in (0, 2)
    return result.fun if result.status == 0 else np.inf


@pytest.mark.parametrize("seed", range(25))
def test_values_equal_those_of_another_solver(seed):
    rules, cost = random_problem(seed)
    model = build(rules)
    objective = priced(model, cost)
    try:
        x, optimal = solve(rules, model, objective)
        assert optimal
        value = objective @ x
    except NoAssignment:
        value = np.inf
    assert value == pytest.approx(by_scipy(model, objective), rel=1e-7)


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
    model = build(rules)
    objective = priced(model, cost)
    began = time.perf_counter()
    _, optimal = solve(rules, model, objective, Deadline.after(limit))
    # 0.1 s where no other program runs.
    assert time.perf_counter() - began < limit + 1.0
    assert not optimal


def test_programs_beside_those_of_the_user():
    # HiGHS fixes the number of its threads with the first program of each calling thread.
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0.0, 1.0)
    assert other.run() == highspy.HighsStatus.kOk
    rules, cost = random_problem(0)
    model = build(rules)
    objective = priced(model, cost)
    assert solve(rules, model, objective)[1]
    assert other.run() == highspy.HighsStatus.kOk


@pytest.mark.parametrize("noise", [0.0, 1e-31, 1e-12, 1.0])
def test_prices_of_any_size_beside_the_costs(noise):
    """Where costs are rounding errors, prices alone decide."""
    soft = SoftPairs(np.array([[0, 0], [0, 1]]), np.array([30.0, 30.0]), np.array([False, True]))
    cost = noise * np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    sizes = SizeBounds(np.array([1, 1]), np.array([4, 4]), ordered=False)
    rules = make_rules([3, 1, 1], 2, soft=soft, sizes=sizes)
    found = solve_program(rules, cost, match_sizes=True)
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
    model = build(rules)
    objective = priced(model, cost)
    expected = by_scipy(model, objective)
    monkeypatch.setattr(program, "PROGRAM_ENTRIES", 0)
    if np.isinf(expected):
        with pytest.raises(NoAssignment):
            solve(rules, model, objective)
    else:
        values, optimal = solve(rules, model, objective)
        assert optimal
        assert objective @ values == pytest.approx(expected)


def test_a_process_of_its_own_is_ended_after_its_time(monkeypatch):
    rules, cost = random_problem(0)
    model = build(rules)
    monkeypatch.setattr(program, "PROGRAM_ENTRIES", 0)
    monkeypatch.setattr(program, "GRACE", -0.999)  # it is over before the process has begun
    assert solve(rules, model, priced(model, cost), Deadline.after(1.0)) == (None, False)
