"""Linear constraints on the assignment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from corral.constraints import LinearConstraint


@pytest.mark.parametrize("seed", range(5))
def test_violations_are_those_of_the_dense_product(seed):
    rng = np.random.default_rng(seed)
    n, k, r = 6, 3, 8
    A = rng.integers(-2, 3, (r, n * k))
    lower = rng.integers(-3, 2, r)
    upper = lower + rng.integers(0, 3, r)
    labels = rng.integers(0, k, n)
    x = np.eye(k)[labels].ravel()  # point-major
    over = np.maximum(np.maximum(lower - A @ x, A @ x - upper), 0)
    for matrix in (A, A.astype(float), sparse.csc_array(A), sparse.coo_matrix(A)):
        found = LinearConstraint(matrix, lower, upper).violations(labels)
        assert found.where.tolist() == np.flatnonzero(over).tolist()
        assert found.amount == pytest.approx(over.sum())


@pytest.mark.parametrize(
    ("A", "lower", "upper", "message"),
    [
        ([[1, math.nan]], 0, 1, "not finite"),
        ([["a", "b"]], 0, 1, "must be a matrix of numbers"),
        (np.zeros((1, 2, 2)), 0, 1, "must be a matrix of numbers"),
        ([[1, 2]], 2, 1, r"lower\[0\] is 2, above upper\[0\], which is 1"),
        ([[1, 2]], [0, 0], 1, r"lower has shape \(2,\), but A has 1 row"),
        ([[1, 2]], math.nan, 1, "lower is NaN"),
        ([[1, 2]], math.inf, math.inf, "lower"),
    ],
)
def test_bad_rows_are_refused(A, lower, upper, message):
    with pytest.raises(ValueError, match=message):
        LinearConstraint(A, lower, upper)


def test_columns_must_fit_the_data():
    rule = LinearConstraint([[1, 0, 1, 0, 0, 1]], upper=1)
    rule.check(3, 2)
    rule.check(2, 3)
    with pytest.raises(ValueError, match=r"A has 6 columns, but X has 4 samples .* must have 8"):
        rule.check(4, 2)
    with pytest.raises(ValueError, match="for 2 clusters, but n_clusters is 3"):
        LinearConstraint([[1, 0, 1, 0, 0, 1]], upper=1, n_clusters=2).check(2, 3)
    with pytest.raises(ValueError, match=r"n_clusters is 4, but A has 6 columns; it .* divides"):
        LinearConstraint([[1, 0, 1, 0, 0, 1]], upper=1, n_clusters=4)
    with pytest.raises(ValueError, match=r"labels must lie in \[0, 1\]"):
        rule.violations([0, 1, 2])


def test_no_rows_are_no_constraint():
    for rule in (LinearConstraint([], [], []), LinearConstraint(np.empty((0, 6)), 0, 1)):
        rule.check(3, 2)
        assert rule.violations([0, 1, 0]).count == 0


def test_a_subset_keeps_rows_inside_drops_rows_outside_and_refuses_rows_across():
    # samples 0, 1, 2 in 2 clusters
    rule = LinearConstraint([[1, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 1]], 0, [1, 2], n_clusters=2)
    kept = rule.subset([1, 0])
    assert kept == LinearConstraint([[2, 0, 1, 0]], 0, 1, n_clusters=2)
    assert rule.subset(np.array([True, True, False])).A.toarray().tolist() == [[1, 0, 2, 0]]
    assert rule.subset([2]) == LinearConstraint([[0, 1]], 0, 2, n_clusters=2)
    with pytest.raises(
        ValueError, match="linear row 0 has coefficients for samples inside and outside"
    ):
        rule.subset([0, 2])


def test_a_subset_by_positions_needs_the_number_of_clusters():
    rule = LinearConstraint([[1, 0, 0, 0]], 0, 1)
    with pytest.raises(ValueError, match="make it with n_clusters"):
        rule.subset([0])
    assert rule.subset(np.array([True, False])) == LinearConstraint([[1, 0]], 0, 1, n_clusters=2)
    with pytest.raises(ValueError, match="mask of 3 entries, but A has 4 columns"):
        rule.subset(np.array([True, False, True]))


def test_the_matrix_is_copied_and_cannot_be_written():
    A = sparse.csr_array(np.array([[1.0, 0.0, 1.0, 0.0]]))
    rule = LinearConstraint(A, 0, 1)
    A.data[0] = 9
    assert rule.A.toarray().tolist() == [[1, 0, 1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        rule.A.data[0] = 5


def test_words():
    rule = LinearConstraint([[1, 0, 1, 0], [1, 0, 0, 0]], [-math.inf, 0], [1, 0])
    assert rule.phrase() == "linear rows of at most 1, 0"
    assert rule.take([0]).phrase() == "linear row of at most 1"
    assert LinearConstraint([[1, 0]], -1, 2).phrase() == "linear row of at least -1 and at most 2"
    assert repr(rule) == "LinearConstraint(2 rows, 4 columns)"
    assert rule.violations([0, 0]).messages() == [
        "linear row 0 is 2, but should be at most 1",
        "linear row 1 is 1, but should be 0",
    ]
