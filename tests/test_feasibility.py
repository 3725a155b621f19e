"""``corral.check``: whether rules can be obeyed, compared with all labels there are."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from corral import CannotLink, ClusterSizes, ClusterTotals, ConstraintSet, MustLink, Pin, check
from corral.deadline import OutOfTime


def obeyed_by_some(rules, n, k):
    """Whether any of all k^n labels obeys the hard rules."""
    return any(
        all(found.count == 0 for found in rules.hard.violations(np.array(labels), k))
        for labels in product(range(k), repeat=n)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_verdict_is_that_of_all_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = 5, int(rng.integers(2, 4))
    pairs = rng.permutation(list(combinations(range(n), 2)))
    rules = ConstraintSet(
        [
            MustLink(pairs[: rng.integers(0, 4)]),
            CannotLink(pairs[4 : 4 + rng.integers(0, 6)], rng.choice([1.0, np.inf])),
            ClusterSizes(minimum=1, maximum=int(rng.integers(2, 5))),
            ClusterTotals(rng.integers(1, 5, n), maximum=int(rng.integers(5, 10))),
            Pin({int(rng.integers(n)): 0}),
        ]
    )
    found = check(n, rules, k)
    assert found.feasible == bool(found) == obeyed_by_some(rules, n, k)
    assert (found.conflict is None) == found.feasible
    if not found:
        assert not obeyed_by_some(found.conflict, n, k)
    assert repr(found).startswith("feasible: 5 points" if found else f"infeasible: {found.message}")


def test_the_data_tell_the_number_and_names_of_the_rows():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=["ann", "bob", "eve"])
    clash = [MustLink([("ann", "eve")]), CannotLink([("ann", "eve")])]
    text = repr(check(frame, clash, 2))
    assert (
        text == "infeasible: samples ann and eve must not be together, but must-link ann-eve "
        "joins them."
    )
    assert repr(check(3, clash, 2, index=iter(frame.index))) == text
    for X in (3, np.zeros((3, 1)), [[0], [1], [2]], sparse.eye_array(3), frame):
        assert check(X, ClusterSizes([2, 1]), 2)
        assert not check(X, ClusterSizes([2, 2]), 2)


def test_time_that_runs_out_leaves_it_undecided(monkeypatch):
    def late(*args, **options):
        raise OutOfTime

    monkeypatch.setattr("corral.feasibility.explain", late)
    found = check(5, CannotLink([(0, 1)]), 2, time_limit=1)
    assert found.feasible is found.conflict is None
    assert not found
    assert repr(found).startswith("not decided after ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check(0, None, 1), "`X` is 0; it must be data, or their number of rows"),
        (lambda: check(True, None, 1), "`X` is True"),
        (lambda: check(3, None, 4), "n_samples=3 should be >= n_clusters=4"),
        (lambda: check(3, MustLink([(0, 3)], 2.0), 2), r"pair 0 is \(0, 3\), but X has 3 samples"),
        (lambda: check(3, None, 2, time_limit=-1), "`time_limit` is -1"),
        (lambda: check(3, None, 2, index=["a"]), "`index` holds 1 names, but X has 3 samples"),
        (lambda: check(3, MustLink([("a", "b")]), 2), "X has no index"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
