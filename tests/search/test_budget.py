"""Work is what a search may spend: it is counted, not timed, and more of it helps."""

from __future__ import annotations

import numpy as np
import pytest
from problems import uniform
from searches import Small

from corral import ClusterSizes
from corral.deadline import NEVER, Deadline
from corral.search.budget import Budget


@pytest.mark.parametrize("larger", [(2_000, 5, 10, 1.0), (1_000, 9, 10, 1.0), (1_000, 5, 30, 1.0)])
def test_the_budget_grows_with_rows_features_and_clusters(larger):
    m, d, k, effort = larger
    assert Budget.of((m, d), k, effort, NEVER).work > Budget.of((1_000, 5), 10, 1.0, NEVER).work


@pytest.mark.parametrize("effort", [0.1, 3.0])
def test_effort_scales_work_and_patience(effort):
    one, other = (Budget.of((500, 4), 7, each, NEVER) for each in (1.0, effort))
    assert other.work == pytest.approx(effort * one.work)
    assert other.patience == pytest.approx(effort * one.patience)


def test_work_that_is_spent_is_gone():
    budget = Budget(100.0, NEVER)
    parts = []
    for _ in range(12):
        parts.append(budget.part)
        assert budget.left == pytest.approx(max(100.0 - budget.spent, 0.0))
        assert budget.over == (budget.spent >= 100.0)
        budget.spend(10.0)
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_a_deadline_that_has_passed_ends_it():
    assert Budget(100.0, Deadline.after(0.0)).over
    assert not Budget(100.0, NEVER).over


def test_a_search_spends_its_work_and_hardly_more():
    """Not the time: what is begun is ended, but no further child begins."""
    small = Small(uniform(200, 2), [ClusterSizes([20] * 10)], 10, effort=0.05)
    small.budget.patience = np.inf
    found = small.search()
    assert found.ended == "the budget"
    assert 1.0 <= small.budget.spent / small.budget.work < 1.5


def test_more_effort_ends_no_higher_in_the_mean():
    ends = {0.02: [], 0.2: []}
    for seed in range(10):
        points = uniform(60, 2, seed)
        for effort, values in ends.items():
            small = Small(points, [ClusterSizes([10] * 6)], 6, effort=effort, seed=seed)
            values.append(small.problem.objective(small.search().top.objective))
    assert np.mean(ends[0.2]) <= np.mean(ends[0.02])
