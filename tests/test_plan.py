"""The plan as a table: situations and the decisions made for them."""

from __future__ import annotations

import logging
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from problems import plan_of

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    LinearConstraint,
    MustLink,
)
from corral.plan import Facts, pilot_groups, thresholds
from corral.plan.thresholds import DISAGREEING, MAX_ROUNDS, SMALL
from corral.presolve import presolve


def equal(n, k):
    return ClusterSizes([n // k] * k)


def some_totals(n, k):
    return ClusterTotals(np.arange(n) % 7 + 1.0, maximum=8.0 * n / k)


#: Situation (rules, rows, clusters, parameters), and what the plan decides there.
SITUATIONS = {
    "small, free": (
        lambda n, k: [],
        (100, 3, {}),
        {
            "restarts": DISAGREEING,
            "sample": 100,
            "single": False,
            "growth": 1.1,
            "hardens": True,
            "direct": MAX_ROUNDS,
            "rival": "none",
            "assignment": "nearest centre",
            "exchanges": MAX_ROUNDS,
        },
    ),
    "middle, equal sizes": (
        lambda n, k: [equal(n, k)],
        (5000, 10, {}),
        {
            "restarts": 2,
            "sample": 5000,
            "single": True,
            "growth": 1.03,
            "hardens": False,
            "direct": MAX_ROUNDS,
            "assignment": "prices and flow",
            "trials": 0,
        },
    ),
    "middle, many clusters": (
        lambda n, k: [equal(n, k)],
        (5000, 50, {}),
        {"growth": 1.0 + 0.03 * np.sqrt(10 / 50), "hardens": True, "direct": MAX_ROUNDS},
    ),
    "large, equal sizes": (
        lambda n, k: [equal(n, k)],
        (1_000_000, 10, {}),
        {
            "restarts": 1,
            "sample": 20_000,
            "direct": 0,
            "least_drop": 1e-7 / 0.3,
            "exchanges": 0,
            "trials": 0,
        },
    ),
    "large, free": (lambda n, k: [], (1_000_000, 10, {}), {"sample": 4000, "direct": 0}),
    "unequal sizes in any order": (
        lambda n, k: [ClusterSizes(np.array([1, 2, 3, 4]) * (n // 10))],
        (8000, 4, {}),
        {"rival": "pilot", "direct": 0},
    ),
    "cannot-links": (
        lambda n, k: [CannotLink([(0, 1)])],
        (500, 4, {}),
        {"assignment": "components of pairs", "direct": MAX_ROUNDS, "shakes": 1},
    ),
    "a ring of cannot-links": (
        lambda n, k: [CannotLink([(row, (row + 1) % n) for row in range(n)])],
        (60, 3, {}),
        {"rough": True, "shakes": 4, "anneals": 0},
    ),
    "a ring of cannot-links, with sizes": (
        lambda n, k: [CannotLink([(row, (row + 1) % n) for row in range(n)]), equal(n, k)],
        (60, 3, {}),
        {"rough": False, "shakes": 0},
    ),
    "cannot-links and sizes, many": (
        lambda n, k: [CannotLink([(0, 1)]), equal(n, k)],
        (20_000, 10, {}),
        {"assignment": "prices and programs", "direct": 1},
    ),
    "totals, few": (
        lambda n, k: [some_totals(n, k)],
        (200, 4, {}),
        {"assignment": "integer program", "single": False},
    ),
    "totals, many": (
        lambda n, k: [some_totals(n, k)],
        (20_000, 4, {}),
        {"assignment": "prices and programs", "single": False, "sample": 20_000},
    ),
    "linear rows are never sampled": (
        lambda n, k: [LinearConstraint(np.ones((1, n * k)), upper=n)],
        (30_000, 3, {}),
        {"sample": 30_000, "rival": "none"},
    ),
    "linear rows, many": (
        lambda n, k: [LinearConstraint(np.ones((1, n * k)), upper=n)],
        (5_000, 3, {}),
        {"assignment": "integer program"},
    ),
    "no sample wanted": (
        lambda n, k: [equal(n, k)],
        (100_000, 10, {"max_samples": None}),
        {"sample": 100_000, "single": False, "rival": "none", "direct": 0, "hardens": True},
    ),
    "no repair": (
        lambda n, k: [equal(n, k)],
        (100_000, 10, {"repair": False}),
        {
            "sample": 100_000,
            "single": False,
            "growth": 1.03,
            "direct": 0,
            "assignment": "rounding",
            "exchanges": 0,
            "trials": 0,
        },
    ),
    "growth as asked": (
        lambda n, k: [],
        (100, 3, {"rho_growth": 1.5, "rho_every": 2}),
        {"growth": np.sqrt(1.5)},
    ),
    "the paper's algorithm": (
        lambda n, k: [],
        (50_000, 3, {"solver": "algorithm1"}),
        {"sample": 50_000, "single": False, "rival": "none"},
    ),
    "restarts as asked": (lambda n, k: [], (100, 3, {"n_init": 7}), {"restarts": 7}),
    "a given start": (
        lambda n, k: [],
        (100, 3, {"n_init": 7, "init": np.zeros((3, 2))}),
        {"restarts": 1},
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_decisions(name):
    make, (n, k, params), decisions = SITUATIONS[name]
    plan = plan_of(make(n, k), n, k, **params)
    assert {key: getattr(plan, key) for key in decisions} == pytest.approx(decisions)


def test_rows_in_memory_are_at_home():
    assert plan_of([], 10, 2).home == ""


@pytest.mark.parametrize("n", [50, 500, 5_000, 50_000, 500_000])
def test_more_rows_never_mean_more_work_a_row(n):
    """Restarts, exchanges and trials only fall as problems grow."""
    now, then = (plan_of([equal(m, 5)], m, 5) for m in (n, 10 * n))
    assert then.restarts <= now.restarts
    assert then.exchanges <= now.exchanges
    assert then.trials <= now.trials
    assert then.least_drop >= now.least_drop
    assert then.least_shift >= now.least_shift


@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_centres_of_a_sample_are_as_exact_as_those_of_all_rows(n):
    whole, part = (
        plan_of([equal(n, 10)], n, 10),
        plan_of([equal(20_000, 10)], 20_000, 10, part_of=n),
    )
    assert 0.0 < part.least_shift == whole.least_shift <= thresholds.LEAST_SHIFT


def test_the_report_shows_what_was_decided_for_the_sample():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    plan = ConstrainedKMeans(3, random_state=0, n_init=1).fit(X).report_.plan
    alone = plan_of([], plan.sample, 3, part_of=20_000)
    assert plan.n_groups == 20_000 > plan.sample == 2_000
    names = ("single", "growth", "hardens", "count_every", "rival")
    assert [getattr(plan, name) for name in names] == [getattr(alone, name) for name in names]
    assert (plan.rival, plan.hardens) == ("moves", False)


@pytest.mark.parametrize(
    ("n", "part_of", "make", "rival"),
    [
        (2_000, 10**6, lambda n, k: [], "moves"),
        (2_000, 4_000, lambda n, k: [], "moves"),
        (2_000, 4_000, lambda n, k: [CannotLink([(0, 1)])], "polish"),
        (2_000, 10**6, lambda n, k: [CannotLink([(0, 1)])], "moves"),
        (20_000, 10**6, lambda n, k: [equal(n, k)], "start"),
        (20_000, 10**6, lambda n, k: [some_totals(n, k)], "none"),
        (20_000, 10**6, lambda n, k: [ClusterSizes(minimum=1)], "pilot"),
    ],
)
def test_what_competes_on_a_sample(n, part_of, make, rival):
    plan = plan_of(make(n, 5), n, 5, part_of=part_of)
    assert plan.rival == rival
    assert not plan.hardens


@pytest.mark.parametrize("name", ["WORTH_SAMPLING", "SAMPLE_FREE", "PILOT_EACH", "SMALL"])
@pytest.mark.parametrize("factor", [0.1, 10])
def test_no_sample_is_larger_than_the_problem(monkeypatch, name, factor):
    value = getattr(thresholds, name)
    monkeypatch.setattr(thresholds, name, type(value)(factor * value))
    for n in (20, 900, 2_500, 25_000):
        for rules in ([], [ClusterSizes(minimum=1)], [MustLink([(0, 1)])]):
            plan = plan_of(rules, n, 5)
            assert plan.sample <= plan.n_groups
            assert pilot_groups(presolve(rules, n, 5)) <= plan.n_groups


def test_a_longer_limit_gives_programs_more_time_and_a_short_one_no_less():
    seconds = [plan_of([], 100, 3, time_limit=limit).programs for limit in (None, 1.0, 170.0)]
    assert seconds[0] == seconds[1]
    assert seconds[2] == pytest.approx(10 * seconds[0])


def test_uneven_weights_enlarge_the_sample():
    even, uneven = (plan_of([], 10**6, 5, facts=Facts(unevenness=u)) for u in (1.0, 3.0))
    assert uneven.sample == 3 * even.sample


def test_a_plan_is_frozen_and_says_what_it_holds():
    plan = plan_of([], 100, 3)
    with pytest.raises(FrozenInstanceError):
        plan.sample = 5
    table = dict(plan.table())
    assert table["groups that ADMM sees"] == "100"
    assert table["exact assignment by"] == "nearest centre"
    assert "brought into memory because" not in table
    assert all(f"{words}: {value}" in str(plan) for words, value in table.items())


def test_the_plan_is_in_the_report_and_in_the_log(caplog):
    X = np.random.default_rng(0).normal(size=(SMALL // 100, 2))
    with caplog.at_level(logging.INFO, "corral"):
        model = ConstrainedKMeans(3, random_state=0, verbose=True).fit(X)
    assert str(replace(model.report_.plan, made="")) in caplog.text
    assert "nearest centre" in model.report_.how()
    assert model.report_.to_dict()["plan"]["clusters"] == "3"


@pytest.mark.parametrize(
    ("n", "k", "rule", "chained"),
    [
        (300, 10, ClusterTotals(np.arange(300), maximum=6000), True),
        (300, 2, ClusterTotals(np.arange(300), maximum=30000), False),  # many groups a cluster
        (300, 10, ClusterSizes(maximum=40), False),
        (300, 10, ClusterTotals(np.ones(300), maximum=40), False),  # which are sizes
        (300, 10, LinearConstraint(np.ones((1, 3000)), upper=300), False),
    ],
)
def test_chains_take_the_place_of_programs(n, k, rule, chained):
    plan = plan_of([rule], n, k)
    assert (plan.upheavals > 0) == chained
    assert plan_of([rule], n, k, facts=Facts(far=True)).upheavals == 0
    assert plan_of([rule], n, k, repair=False).upheavals == 0
    if chained:  # all runs share the upheavals
        one, four = (plan_of([rule], n, k, n_init=each).upheavals for each in (1, 4))
        assert four == one // 4
