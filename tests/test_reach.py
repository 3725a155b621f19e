"""What linear rows can reach, and the sums that are said where they contradict other rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conflicts import AllLabels
from scipy import sparse

from corral import InfeasibleConstraintsError, check
from corral.constraints import ClusterSizes, ConstraintSet, LinearConstraint, MustLink, Pin
from corral.rules import presolve
from corral.rules.reach import reach


@pytest.mark.parametrize("seed", range(30))
def test_the_reach_is_that_of_all_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    A = sparse.random_array((3, n * k), density=0.6, rng=rng, data_sampler=rng.standard_normal)
    group = np.unique(rng.integers(0, n, n), return_inverse=True)[1]
    m = int(group.max()) + 1
    pinned = np.where(rng.random(m) < 0.3, rng.integers(0, k, m), -1)
    values = []
    for of_group in itertools.product(range(k), repeat=m):
        if all(pin in (-1, own) for pin, own in zip(pinned, of_group, strict=True)):
            x = np.zeros((n, k))
            x[np.arange(n), np.array(of_group)[group]] = 1.0
            values.append(A @ x.ravel())
    least, most = reach(sparse.csr_array(A), k, group, pinned)
    np.testing.assert_allclose(least, np.min(values, axis=0), atol=1e-12)
    np.testing.assert_allclose(most, np.max(values, axis=0), atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_presolve_finds_a_row_that_links_and_pins_keep_from_its_bound(seed):
    """The bound lies just inside, or just outside, of what all labels reach."""
    rng = np.random.default_rng(seed)
    n, k = 5, 2
    A = rng.integers(-3, 4, (1, n * k))
    others = [MustLink([(0, 1), (3, 4)]), Pin({1: 1})][: seed % 3]
    every = AllLabels(n, k)
    obeyed = [labels for labels in every.labels.T if not broken(others, labels)]
    x = np.eye(k)[np.array(obeyed)].reshape(len(obeyed), -1)
    most = int((x @ A[0]).max())
    assert presolve([*others, LinearConstraint(A, lower=most)], n, k) is not None
    with pytest.raises(InfeasibleConstraintsError, match=rf"at least {most + 1}, but is at most"):
        presolve([*others, LinearConstraint(A, lower=most + 1)], n, k)
    with pytest.raises(InfeasibleConstraintsError, match=rf"at most {-most - 1}, but is at least"):
        presolve([*others, LinearConstraint(-A, upper=-most - 1)], n, k)
    found = check(n, [*others, LinearConstraint(A, lower=most + 1)], k)
    assert every.faults(found.conflict) == []


def broken(rules, labels):
    return any(found.count for found in ConstraintSet(rules).violations(labels, 2))


def test_other_conflicts_of_linear_rows_say_the_sums():
    rules = [ClusterSizes([1, 3], ordered=True), LinearConstraint([[1, 0, 2, 0, 0, 0, 0, 0]], 3)]
    found = check(4, rules, 2)
    assert found.message.endswith("at least 3. By itself the linear row reaches 0 to 3.")
