"""The bound of many groups as the sum of the bounds of parts."""

from __future__ import annotations

import numpy as np
import pytest
from instances import random_instance
from reference import best_partition

from corral import ClusterSizes, lower_bound
from corral.constraints import ConstraintSet
from corral.deadline import NEVER, Deadline
from corral.proof import groups
from corral.proof.groups import Grouped
from corral.proof.parts import in_regions, part_size, sum_of_parts


@pytest.mark.parametrize("seed", range(8))
def test_no_partition_is_below_the_sum_of_the_parts(seed, monkeypatch):
    monkeypatch.setattr(groups, "PART_GROUPS", 4)
    X, rules, _ = random_instance(seed, n=(8, 10), k=(2, 3), d=(1, 3))
    weight = np.random.default_rng(seed).choice([0.0, 1.0, 2.5], len(X)) if seed % 2 else None
    given = ConstraintSet([each for each in rules.constraints() if type(each) is not ClusterSizes])
    grouped = Grouped.of(
        X, weight, ConstraintSet([given, ClusterSizes(maximum=len(X) - 1)]), rules.k
    )
    size = part_size(grouped, None, Deadline.after(60))
    assert size <= 4 or size == len(grouped.weight)
    assert sum_of_parts(grouped, 4, None, NEVER) <= best_partition(X, rules, weight)


def test_every_sample_has_its_share_of_every_region():
    X = np.repeat([0.0, 10.0, 20.0], 8)[:, None] + np.random.default_rng(0).normal(size=(24, 2))
    order = in_regions(Grouped.of(X, None, ConstraintSet(), 3))
    assert sorted(order.tolist()) == list(range(24))
    for part in range(4):
        assert np.bincount(order[part::4] // 8).tolist() == [2, 2, 2]


def test_least_sizes_are_not_split(monkeypatch):
    monkeypatch.setattr(groups, "PART_GROUPS", 6)
    X = np.random.default_rng(0).normal(size=(12, 2))
    whole = lower_bound(X, 2, ClusterSizes(minimum=2), time_limit=5)
    parts = lower_bound(X, 2, ClusterSizes(maximum=10), time_limit=5)
    assert not whole.method.startswith("sum over parts")
    assert parts.method.startswith("sum over parts")
