"""Conflicts are infeasible and irreducible, and are given as the user's rules."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conflicts import AllLabels, random_rules

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
from corral.deadline import Deadline, OutOfTime
from corral.exact import place_by_room
from corral.exceptions import InfeasibleConstraintsError
from corral.infeasible import explain, shrunk
from corral.rules import presolve


def possible(n: int, k: int, rules) -> bool:
    return AllLabels(n, k).feasible(rules)


def infeasible_problems(seed: int):
    """Problems that no labels solve, from one random generator without end."""
    rng = np.random.default_rng(seed)
    while True:
        n, k = int(rng.integers(3, 8)), int(rng.integers(2, 4))
        rules, every = random_rules(rng, n, k), AllLabels(n, k)
        # Lists of sizes with and without order have no common meaning; fit refuses them.
        mixed = len({rule.ordered for rule in rules if isinstance(rule, ClusterSizes)}) > 1
        if not mixed and not every.feasible(rules):
            yield n, k, rules, every


@pytest.mark.parametrize("block", range(4))
def test_every_conflict_is_contradictory_and_needs_all_of_its_parts(block):
    """100 infeasible problems in all."""
    problems = infeasible_problems(block)
    for _ in range(25):
        n, k, rules, every = next(problems)
        X = np.random.default_rng(n).random((n, 2))
        with pytest.raises(InfeasibleConstraintsError) as error:
            ConstrainedKMeans(k, n_init=1, random_state=0).fit(X, constraints=tuple(rules))
        assert every.faults(error.value.conflict) == [], (rules, str(error.value))
        assert error.value.irreducible


@pytest.mark.parametrize("seed", range(30))
def test_what_is_feasible_has_no_conflict(seed):
    rng = np.random.default_rng([1, seed])
    n, k = int(rng.integers(3, 8)), int(rng.integers(2, 4))
    rules = random_rules(rng, n, k)
    if AllLabels(n, k).feasible(rules):
        assert explain(n, k, ConstraintSet(rules)) is None
    else:
        loose = presolve(rules, n, k, contract=False)
        assert place_by_room(loose) is None


def test_placing_groups_answers_easy_questions():
    pairs, pins = CannotLink([(0, 1), (1, 2), (3, 4)]), Pin({5: 1, 6: 0})
    sizes, values = ClusterSizes([3, 4], ordered=True), ClusterTotals(range(7), maximum=15)
    assert place_by_room(presolve([pairs, pins, sizes, values], 7, 2)) is not None
    assert place_by_room(presolve(ClusterSizes(minimum=3), 7, 2)) is not None


def test_an_odd_cycle_in_the_users_names():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5), (5, 6)]
    error = explain(7, 2, ConstraintSet(CannotLink(pairs)), names=list("abcdefg"))
    expected = (
        "No assignment to 2 clusters obeys these together: cannot-links a-b, b-c, c-d, d-e, e-a."
    )
    assert str(error) == expected
    twin = pickle.loads(pickle.dumps(error))
    assert (twin.conflict, twin.irreducible) == (error.conflict, True)


def test_must_link_groups_that_do_not_fit_the_sizes():
    triples = [(3 * i + j, 3 * i + j + 1) for i in range(4) for j in range(2)]
    rules = ConstraintSet([MustLink(triples), ClusterSizes([4, 4, 4]), CannotLink([(0, 5)])])
    error = explain(12, 3, rules)
    assert {type(item) for item in error.conflict} == {MustLink, ClusterSizes}
    # Four groups of which no two have room together: one of two rows is enough, the others of 3.
    assert AllLabels(12, 3).faults(error.conflict) == []
    assert error.conflict.of_kind(ClusterSizes)[0] == ClusterSizes(maximum=[4, 4, 4])
    assert len(error.conflict.of_kind(MustLink)[0].pairs) == 7
    assert "into 3 groups of 3, 1 group of 2, but the clusters have room for at most 3" in str(
        error
    )


def test_the_side_of_a_linear_row_that_is_needed():
    A = np.zeros((2, 6))
    A[0, [0, 2, 4]], A[1, 0] = 1, 1
    rules = [LinearConstraint(A, [0, 0], [1, 1]), Pin({0: 0, 1: 0})]
    error = explain(3, 2, ConstraintSet(rules))
    (row,) = error.conflict.of_kind(LinearConstraint)
    assert (row.A.shape[0], row.lower[0], row.upper[0]) == (1, -np.inf, 1.0)
    said = "a linear row should be at most 1, but is at least 2 with pins of 0 to cluster 0, "
    assert str(error) == f"{said}1 to cluster 0."


def test_the_sentence_is_about_the_conflict_that_is_left():
    """Sums of groups reach no size, but the largest sizes alone are too small for the groups."""
    rules = ConstraintSet([MustLink([(0, 1), (1, 2), (3, 4), (4, 5)]), ClusterSizes([2, 4])])
    with pytest.raises(InfeasibleConstraintsError, match="no set of these has 2 samples") as seen:
        presolve(rules, 6, 2)
    assert not seen.value.irreducible
    error = shrunk(seen.value, 6, 2)
    assert AllLabels(6, 2).faults(error.conflict) == []
    assert error.irreducible
    assert "2 samples in all" not in str(error)
    late = shrunk(seen.value, 6, 2, deadline=Deadline.after(0.0))
    assert (str(late), late.irreducible) == (str(seen.value), False)
    assert late.conflict == seen.value.conflict


def test_shares_are_reported_as_the_user_gave_them():
    shares = GroupShares([0, 0, 1, 1, 1, 1], minimum={0: 0.3, 1: 0.2}, maximum={1: 0.7})
    rules = ConstraintSet([shares, ClusterSizes([1, 5]), MustLink([(2, 3)])])
    error = explain(6, 2, rules)
    (kept,) = error.conflict.of_kind(GroupShares)
    assert len(kept.minimum) + len(kept.maximum) == 1
    assert not error.conflict.of_kind(MustLink)


def test_quotas_against_capacities():
    groups, weight = [0] * 3 + [1] * 9, [5.0] * 3 + [1.0] * 9
    rules = ConstraintSet(
        [
            GroupShares(groups, maximum={1: 0.8}),
            ClusterTotals(weight, minimum=0.5, maximum=9.0),
            CannotLink([(0, 1)]),
        ]
    )
    error = explain(12, 2, rules)
    assert not possible(12, 2, error.conflict)
    (capacity,) = error.conflict.of_kind(ClusterTotals)
    assert capacity.minimum is None


def test_soft_pairs_have_no_part_in_it():
    rules = ConstraintSet([CannotLink([(0, 1), (1, 2), (0, 2)], [np.inf, np.inf, 3.0])])
    assert explain(3, 2, rules) is None


def test_a_past_deadline_is_no_proof():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    with pytest.raises(OutOfTime):
        explain(5, 2, ConstraintSet(CannotLink(pairs)), deadline=Deadline.after(-1.0))
