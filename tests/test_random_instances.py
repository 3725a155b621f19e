"""Random mixtures of rules against k-means with exact assignment from the same start."""

from __future__ import annotations

import pytest
from instances import random_instance
from reference import exact_kmeans, inertia, violations

from corral import ConstrainedKMeans

#: Of the instances of ``benchmarks/quality_random.py``, some that once went wrong.
ONCE_WRONG = [107, 121]


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_feasible_and_no_more_than_a_per_cent_above_exact_kmeans(seed):
    X, rules, centers = random_instance(seed)
    model = ConstrainedKMeans(rules.k, init=centers, random_state=seed)
    labels = model.fit(X, constraints=rules.constraints()).labels_
    assert violations(rules, labels) == 0
    reference = exact_kmeans(X, rules, centers, time_limit=20.0)
    assert inertia(X, labels) <= inertia(X, reference) * 1.01
