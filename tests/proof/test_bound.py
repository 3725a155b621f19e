"""The lower bound: never above the best of all partitions, whatever the multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from instances import random_instance
from reference import Rules, best_partition
from scipy import sparse

from corral import (
    CannotLink,
    ClusterSizes,
    ConstrainedKMeans,
    GroupShares,
    InfeasibleConstraintsError,
    MustLink,
    lower_bound,
)
from corral.constraints import ConstraintSet
from corral.datasets import load_iris
from corral.deadline import NEVER, Deadline
from corral.proof import part_size, parts_of, regions_of, relaxation, sum_of_parts
from corral.proof.relaxation import Grouped


@pytest.mark.parametrize("seed", range(25))
def test_no_partition_is_below_the_bound(seed):
    X, rules, _ = random_instance(seed, n=(4, 10), k=(2, 3), d=(1, 4))
    best = best_partition(X, rules)
    bound = lower_bound(X, rules.k, rules.constraints(), time_limit=5)
    assert bound.value <= best


@pytest.mark.parametrize("seed", range(10))
def test_any_multipliers_give_a_bound(seed):
    X, rules, _ = random_instance(seed, n=(4, 9), k=(2, 3), d=(1, 3))
    relaxed = Grouped.of(X, None, ConstraintSet(rules.constraints()), rules.k).relaxation()
    rng = np.random.default_rng(seed)
    best = best_partition(X, rules)
    for size in (1e-3, 0.1, 1.0, 1e3):
        U = rng.normal(scale=size, size=relaxed.upper.shape)
        U = np.where(np.isfinite(relaxed.upper), U, np.abs(U))
        assert relaxed.value(U + U.transpose(0, 2, 1), np.zeros_like(U), 0.0, 0.0) <= best


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_weights_count_as_repeated_rows(scale):
    rng = np.random.default_rng(0)
    X, weight = scale * rng.normal(size=(9, 2)), np.array([3, 1, 2, 0, 1, 2, 3, 1, 1])
    repeated = np.repeat(np.arange(9), weight)
    assert len(repeated) > len(set(repeated))
    weighted = lower_bound(X, 2, sample_weight=weight, time_limit=60)
    many = lower_bound(X[repeated], 2, time_limit=60)
    best = min(
        ConstrainedKMeans(2, n_init=10, random_state=0).fit(X, sample_weight=weight).inertia_,
        ConstrainedKMeans(2, n_init=10, random_state=0).fit(X[repeated]).inertia_,
    )
    for bound in (weighted, many):
        assert 0.99 * best <= bound.value <= best * (1 + 1e-12)


def test_iris_is_proven_optimal():
    X, _ = load_iris(return_X_y=True)
    inertia = ConstrainedKMeans(3, random_state=0).fit(X).inertia_
    bound = lower_bound(X, 3, upper=inertia, time_limit=60)
    assert bound.optimal
    assert str(bound) == "proven optimal"
    assert bound.value <= inertia


def test_names_what_it_used_and_what_it_left_out():
    X = np.random.default_rng(0).normal(size=(12, 2))
    rules = [
        MustLink([(0, 1)]),
        CannotLink([(2, 3)], weight=2.0),
        ClusterSizes(minimum=3),
        GroupShares([0, 1] * 6, minimum=0.2),
    ]
    bound = lower_bound(X, 2, rules, time_limit=0.2)
    assert bound.rules_used == ("must-links", "sizes")
    assert bound.rules_left_out == ("totals", "soft links")


def test_an_objective_below_the_bound_is_refused():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    with pytest.raises(ValueError, match=r"upper is 0\.5, but no clustering"):
        lower_bound(X, 2, upper=0.5)


def test_rules_that_clash_are_an_error_as_in_fit():
    X = np.arange(5.0)[:, None]
    odd = CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    with pytest.raises(InfeasibleConstraintsError, match="No assignment to 2 clusters"):
        lower_bound(X, 2, odd)


def test_refuses_more_memory_than_there_is(monkeypatch):
    monkeypatch.setattr(relaxation, "BYTES_EACH", 2**50)
    with pytest.raises(MemoryError, match=r"bound for 4 groups needs about .* GiB"):
        lower_bound(np.arange(4.0)[:, None], 2)


def test_one_cluster_and_equal_rows():
    X = np.random.default_rng(0).normal(size=(6, 2))
    scatter = float(((X - X.mean(axis=0)) ** 2).sum())
    assert lower_bound(X, 1, upper=scatter).optimal
    assert lower_bound(np.ones((5, 2)), 2, upper=0.0).gap == 0.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_rows_far_from_the_origin_have_a_valid_bound(form, offset):
    rng = np.random.default_rng(1)
    X, links = form(rng.normal(size=(7, 2)) + offset), [(0, 1), (1, 2), (3, 4)]
    plain = (X.toarray() if sparse.issparse(X) else X).astype(np.float64) - offset
    best = best_partition(plain, Rules(n=7, k=2, must=np.array(links)))
    bound = lower_bound(X, 2, MustLink(links), time_limit=2)
    assert 0.9 * best <= bound.value <= best * (1 + 1e-14)


@pytest.mark.parametrize("upper", [np.nan, np.inf, -1.0, "a"])
def test_an_objective_must_be_a_finite_number(upper):
    with pytest.raises(ValueError, match="`upper` is"):
        lower_bound(np.arange(4.0)[:, None], 2, upper=upper)


def test_as_many_clusters_as_rows_end_at_once():
    X = np.random.default_rng(0).normal(size=(8, 2))
    assert lower_bound(X, 8, time_limit=None).value == 0.0


def test_without_time_there_is_a_trivial_bound():
    X = np.random.default_rng(0).normal(size=(8, 2))
    assert 0.0 <= lower_bound(X, 2, time_limit=0).value < 1.0


@pytest.mark.parametrize("seed", range(8))
def test_no_partition_is_below_the_sum_of_the_parts(seed, monkeypatch):
    monkeypatch.setattr(relaxation, "PART_GROUPS", 4)
    X, rules, _ = random_instance(seed, n=(8, 10), k=(2, 3), d=(1, 3))
    weight = np.random.default_rng(seed).choice([0.0, 1.0, 2.5], len(X)) if seed % 2 else None
    given = ConstraintSet([each for each in rules.constraints() if type(each) is not ClusterSizes])
    grouped = Grouped.of(
        X, weight, ConstraintSet([given, ClusterSizes(maximum=len(X) - 1)]), rules.k
    )
    size = part_size(grouped, None, Deadline.after(60))
    assert size <= 4 or size == len(grouped.weight)
    assert sum_of_parts(grouped, 4, None, NEVER) <= best_partition(X, rules, weight)


@pytest.mark.parametrize("n_parts", [1, 4, 7, 30])
def test_every_part_has_its_share_of_every_region(n_parts):
    region = np.repeat(np.arange(3), 8)
    X = 10.0 * region[:, None] + np.random.default_rng(0).normal(size=(24, 2))
    grouped = Grouped.of(X, None, ConstraintSet(), 3)
    np.testing.assert_array_equal(regions_of(grouped)[::8][region], regions_of(grouped))
    parts = parts_of(grouped, region, np.arange(24), n_parts, NEVER)
    assert sorted(np.concatenate(parts).tolist()) == list(range(24))
    assert np.ptp([len(part) for part in parts]) <= 1
    for part in parts:
        assert np.ptp(np.bincount(region[part], minlength=3)) <= 1


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_more_alike_than_samples(weighted):
    """What the means of regions differ from part to part is what the sum of the bounds loses."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 3)), rng.uniform(0.5, 2.0, 300) if weighted else np.ones(300)
    grouped = Grouped.of(X, weight, ConstraintSet(), 2)
    region = regions_of(grouped)

    def lost(parts):
        total = 0.0
        for number in range(2):
            here = region == number
            mean = np.average(X[here], axis=0, weights=weight[here])
            for part in parts:
                own = part[here[part]]
                away = np.average(X[own], axis=0, weights=weight[own]) - mean
                total += weight[own].sum() * (away @ away)
        return total

    random = [lost(np.split(rng.permutation(300), 6)) for _ in range(20)]
    assert lost(parts_of(grouped, region, np.arange(300), 6, NEVER)) < 0.2 * min(random)


def test_least_sizes_are_not_split(monkeypatch):
    monkeypatch.setattr(relaxation, "PART_GROUPS", 6)
    X = np.random.default_rng(0).normal(size=(12, 2))
    whole = lower_bound(X, 2, ClusterSizes(minimum=2), time_limit=5)
    parts = lower_bound(X, 2, ClusterSizes(maximum=10), time_limit=5)
    assert not whole.method.startswith("sum over parts")
    assert parts.method.startswith("sum over parts")
