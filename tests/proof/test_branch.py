"""Branch and bound: the best of all partitions, with its proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from instances import random_instance
from reference import best_partition, violations
from sklearn.exceptions import ConvergenceWarning

from corral import ConstrainedKMeans
from corral.constraints import ConstraintSet
from corral.deadline import Deadline, OutOfTime
from corral.proof.branch import Tree


@pytest.mark.parametrize(("seed", "totals"), [*((seed, False) for seed in range(10)), (6, True)])
def test_finds_the_best_of_all_partitions(seed, totals):
    X, rules, _ = random_instance(seed, n=(4, 8), k=(2, 3), d=(1, 4))
    if not totals:
        rules = replace(rules, totals=None, values=None)
    model = ConstrainedKMeans(rules.k, solver="exact", random_state=0)
    model.fit(X, constraints=rules.constraints())
    best = best_partition(X, rules)
    assert violations(rules, model.labels_) == 0
    assert model.inertia_ == pytest.approx(best, rel=2e-6)
    assert model.report_.gap <= 1e-6
    assert model.report_.bound <= best * (1 + 1e-12)


def test_the_time_limit_leaves_the_gap_that_was_reached():
    X = np.random.default_rng(0).normal(size=(60, 6))
    model = ConstrainedKMeans(8, solver="exact", time_limit=4.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model.fit(X)
    assert 0.0 < model.report_.gap < 1.0
    assert model.report_.bound == pytest.approx(model.inertia_ * (1 - model.report_.gap))


def test_no_proof_without_a_bounded_node():
    """A search for answers that takes all of the time must not end as a proof."""

    def late(links):
        raise OutOfTime

    X = np.random.default_rng(0).normal(size=(9, 2))
    tree = Tree(X, None, ConstraintSet(), 3, late, (None, 1e3), Deadline.after(60))
    assert tree.grow() < 100.0


def test_nodes_that_are_given_up_keep_their_bound():
    X, objective = np.array([[0.0], [1.0], [10.0], [11.0]]), 1.0000005
    answer = (None, objective)
    tree = Tree(X, None, ConstraintSet(), 2, lambda _: answer, answer, Deadline.after(60))
    assert tree.grow() <= 1.0
