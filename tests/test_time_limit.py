"""A fit ends with its time limit, whatever its rules are, and says so."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import corral.infeasible
import corral.settings
from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    SolverTimeoutError,
)
from corral.constraints import ConstraintSet
from corral.deadline import Deadline
from corral.infeasible import explain

LIMIT = 0.3

#: Number of rows and of clusters, rules, and other parameters of the estimator.
HARD = {}


def hard(make):
    HARD[make.__name__] = make
    return make


def pairs(n, number, seed=1):
    ends = np.random.default_rng(seed).integers(0, n, (number, 2))
    return ends[ends[:, 0] != ends[:, 1]]


def values(n, seed=2):
    return np.random.default_rng(seed).uniform(1.0, 3.0, n)


def around(amounts, k, room):
    mean = amounts.sum() / k
    return ClusterTotals(amounts, minimum=(1 - room) * mean, maximum=(1 + room) * mean)


@hard
def exact_sizes():
    return 20_000, 50, [ClusterSizes([400] * 50)], {}


@hard
def sizes_of_many_clusters():
    return 3_000, 500, [ClusterSizes(minimum=4, maximum=8)], {}


@hard
def sizes_in_any_order():
    sizes = np.arange(1, 41) * 12
    return int(sizes.sum()), 40, [ClusterSizes(sizes)], {}


@hard
def no_rules_and_many_clusters():
    return 30_000, 800, [], {}


@hard
def totals_of_many_clusters():
    return 2_000, 400, [around(values(2_000), 400, 0.2)], {}


@hard
def several_totals():
    return 1_000, 10, [around(values(1_000, seed), 10, 0.02) for seed in range(3)], {}


@hard
def shares_and_sizes():
    groups = np.random.default_rng(0).choice(["a", "b", "c"], 3_000)
    return 3_000, 30, [GroupShares(groups, minimum=0.25), ClusterSizes(minimum=90)], {}


@hard
def linear_rows():
    A = sparse.random(60, 4_000, 0.05, random_state=0, format="csr")
    return 400, 10, [LinearConstraint(A, upper=np.ravel(A.sum(axis=1)) / 10, n_clusters=10)], {}


@hard
def dense_cannot_links():
    return 2_000, 10, [CannotLink(pairs(2_000, 14_000))], {}


@hard
def cannot_links_and_sizes():
    return 2_000, 10, [CannotLink(pairs(2_000, 8_000)), ClusterSizes([200] * 10)], {"n_init": 5}


@hard
def soft_pairs_and_sizes():
    rules = [
        MustLink(pairs(2_000, 5_000), weight=0.5),
        CannotLink(pairs(2_000, 5_000, 3), weight=0.7),
        ClusterSizes([200] * 10),
    ]
    return 2_000, 10, rules, {}


@hard
def chains_that_fit_no_sizes():
    chains = [(i, i + 1) for i in range(4_999) if (i + 1) % 37]
    return 5_000, 20, [MustLink(chains), ClusterSizes([250] * 20)], {}


@hard
def least_violation():
    rules = [CannotLink(pairs(300, 2_000)), ClusterSizes([75] * 4)]
    return 300, 4, rules, {"on_infeasible": "relax"}


@hard
def algorithm_1():
    return 2_000, 10, [ClusterSizes([200] * 10)], {"solver": "algorithm1"}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels are compiled when they are first called, which takes longer than these limits."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    rules = [around(values(30), 3, 0.5), ClusterSizes(minimum=2), CannotLink([(0, 1)])]
    ConstrainedKMeans(3, random_state=0).fit(X, constraints=rules)
    ConstrainedKMeans(3, random_state=0).fit(sparse.csr_array(X), constraints=rules)


@pytest.mark.parametrize("kind", HARD)
def test_a_fit_ends_with_its_limit_and_says_so(kind):
    n, k, rules, parameters = HARD[kind]()
    X = np.random.default_rng(0).normal(size=(n, 4))
    X = sparse.csr_array(X) if kind == "cannot_links_and_sizes" else X
    model = ConstrainedKMeans(k, random_state=0, time_limit=LIMIT, **parameters)
    began, worked = time.monotonic(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, constraints=rules)
        except (SolverTimeoutError, InfeasibleConstraintsError):
            model = None
    # Other processes may take time from this one, so that the smaller of the two counts.
    seconds = min(time.monotonic() - began, time.process_time() - worked)
    assert seconds < 1.05 * LIMIT + 1.0
    if model is None:
        assert not caught
        return
    if model.report_.ended == "":  # a fast machine has finished some of them
        assert not caught
        return
    ended = f"by the time limit of {LIMIT} s"
    # A second one where clusters stayed empty, as on a machine that does little in that time.
    assert {warning.category for warning in caught} == {ConvergenceWarning}
    assert [ended in str(warning.message) for warning in caught].count(True) == 1
    assert f"ended    {ended}" in str(model.report_)
    assert model.report_.how().endswith(ended)
    assert model.report_.to_dict()["plan"]["ended"] == ended
    assert ended in model.report_._repr_html_()


def test_a_limit_that_ends_nothing_is_not_mentioned():
    X = np.random.default_rng(0).normal(size=(30, 2))
    rules = ClusterSizes([10, 10, 10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConstrainedKMeans(3, random_state=0, time_limit=600).fit(X, constraints=rules)
    assert model.report_.ended == ""
    assert "ended" not in str(model.report_) + model.report_.how()


def test_a_fit_without_a_limit_has_one_by_its_size(monkeypatch):
    limit = 0.05
    monkeypatch.setattr(corral.settings, "FIT_SECONDS", limit)
    # The work of a search is less than what this limit allows; here the clock is to end it.
    monkeypatch.setattr("corral.search.budget.default_limit", lambda _: 60.0)
    n, k, rules, _ = HARD["linear_rows"]()
    X = np.random.default_rng(0).normal(size=(n, 4))
    with pytest.warns(ConvergenceWarning, match=f"time limit of {limit} s"):
        ConstrainedKMeans(k, random_state=0).fit(X, constraints=rules)


@pytest.mark.parametrize("kind", ["totals_of_many_clusters", "cannot_links_and_sizes"])
def test_a_fit_without_a_limit_ends_by_its_budget(kind):
    """Work is counted, not time: however slow the machine is, the labels are the same."""
    n, k, rules, _ = HARD[kind]()
    X = np.random.default_rng(0).normal(size=(n, 4))
    fitted = [
        ConstrainedKMeans(k, effort=0.01, random_state=0).fit(X, constraints=rules)
        for _ in range(2)
    ]
    assert dict(fitted[0].report_.plan.table())["search stopped by"] == "the budget"
    np.testing.assert_array_equal(fitted[0].labels_, fitted[1].labels_)


def test_a_conflict_that_is_not_narrowed_down_says_so(monkeypatch):
    monkeypatch.setattr(corral.infeasible, "PATIENCE", 0.0)
    rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5)])])
    error = explain(6, 2, rules, deadline=Deadline.after(60.0))
    assert "no time to narrow down" in str(error)
    assert len(error.conflict[0].pairs) == 6


@pytest.mark.parametrize("estimator", [ConstrainedKMeans, ConstrainedKMedoids])
def test_a_fit_without_an_answer_says_what_the_nearest_labels_miss(estimator):
    side = 8
    place = np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)
    graph = Connected.from_points(place, "gabriel")
    values = np.random.default_rng(0).lognormal(size=len(place))
    names, mean = [f"area {j}" for j in "abcdefgh"], values.sum() / 8
    tight = ClusterTotals(values, minimum=(1 - 1e-8) * mean, maximum=(1 + 1e-8) * mean)
    model = estimator(8, cluster_names=names, time_limit=1.0, random_state=0)
    with pytest.raises(SolverTimeoutError) as told:
        model.fit(place, constraints=[graph, tight])
    for message in (str(told.value), told.value.progress):
        number = int(re.search(r"the nearest labels break (\d+) rules", message)[1])
        pattern = r"cluster (area \w) has a total of ([\d.]+), but should have at (\w+) ([\d.]+)"
        found = re.findall(pattern, message)
        off = [float(has) - float(bound) for _, has, _, bound in found]
        assert {name for name, *_ in found} <= set(names)
        assert len(found) == min(number, 3)
        assert all(
            (gap > 0) == (side == "most") for gap, (*_, side, _) in zip(off, found, strict=True)
        )
        assert np.all(np.diff(np.abs(off)) <= 1e-6)


def test_violations_are_listed_by_their_excess():
    found = ClusterTotals([1.0, 5.0, 3.0], maximum=0.5).violations([0, 1, 2]).worst_first
    assert found.where.tolist() == [1, 2, 0]
    assert found.excess.tolist() == [4.5, 2.5, 0.5]
