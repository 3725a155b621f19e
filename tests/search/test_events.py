"""What ``report_.how()`` says of a search: every fit names what ended it."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from local_shards import cut, fit_shards
from sklearn.exceptions import ConvergenceWarning

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    MustLink,
)

X = np.random.default_rng(0).normal(size=(60, 2))
SIZES = ClusterSizes([20, 20, 20])
OWN = ("children without success", "the budget")
FITS = {
    "k-means": (ConstrainedKMeans, {}, SIZES, OWN),
    "k-means without rules": (ConstrainedKMeans, {}, None, OWN),
    "algorithm 1": (ConstrainedKMeans, {"solver": "algorithm1"}, SIZES, OWN),
    "a proof": (ConstrainedKMeans, {"solver": "exact", "time_limit": 2.0}, SIZES, OWN),
    "rounded": (ConstrainedKMeans, {"repair": False}, SIZES, ("ADMM's convergence",)),
    "rounded early": (ConstrainedKMeans, {"repair": False, "max_iter": 2}, SIZES, ("max_iter=2",)),
    "least violation": (
        ConstrainedKMeans,
        {"on_infeasible": "relax"},
        [MustLink([(0, 1)]), CannotLink([(0, 1)])],
        ("an assignment that lowers nothing",),
    ),
    "medoids": (ConstrainedKMedoids, {}, SIZES, OWN),
    "medoids without rules": (ConstrainedKMedoids, {}, None, ("the end of its starts",)),
    "kernel": (ConstrainedKernelKMeans, {}, SIZES, OWN),
    "mixture": (ConstrainedGaussianMixture, {"covariance": "diag"}, SIZES, OWN),
    "mixture of any kind": (ConstrainedGaussianMixture, {}, SIZES, OWN),
}


def ends(model):
    """What ended the search, in the words of ``how``."""
    lines = [line for line in model.report_.how().splitlines() if "search stopped by" in line]
    assert len(lines) == 1
    return lines[0].removeprefix("search stopped by").strip()


@pytest.mark.parametrize("name", FITS)
def test_every_fit_names_what_ended_it(name):
    make, options, rules, allowed = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is cut short on purpose
        model = make(3, random_state=0, effort=0.1, **options).fit(X, constraints=rules)
    assert ends(model) in allowed


@pytest.mark.parametrize("rules", [SIZES, ClusterTotals(1.0 + X[:, 0] ** 2, maximum=50.0), None])
@pytest.mark.parametrize("samples", ["auto", 20])
def test_every_fit_in_shards_names_what_ended_it(rules, samples):
    model = fit_shards(X, cut(X, 2), rules, 3, max_samples=samples, effort=0.1)
    home = "brought into memory" in model.report_.how()
    assert ends(model) in (OWN if home else ("the end of its rounds",))


@pytest.mark.parametrize("shards", [False, True])
def test_a_callback_that_ends_a_fit_is_named(shards, monkeypatch):
    monkeypatch.setattr("corral.progress.PACE", 0.0)

    def found(progress):
        return progress.best is not None

    points = np.random.default_rng(0).normal(size=(3_000, 2))
    if shards:
        fit = partial(fit_shards, points, cut(points, 2), None, 3, max_samples=500)
    else:
        fit = partial(ConstrainedKMeans(3, random_state=0).fit, points)
    with pytest.warns(ConvergenceWarning, match="on request"):
        model = fit(callback=found)
    assert ends(model) == "the callback"


@pytest.mark.parametrize("make", [ConstrainedKMeans, ConstrainedKMedoids])
def test_a_time_limit_that_ends_a_fit_is_named(make):
    points = np.random.default_rng(0).normal(size=(1_000, 2))
    rules = ClusterTotals(1.0 + points[:, 0] ** 2, maximum=250.0)
    with pytest.warns(ConvergenceWarning, match="ended by the time limit"):
        model = make(10, random_state=0, time_limit=0.5, effort=1e4).fit(points, constraints=rules)
    assert ends(model) == "the deadline"


def test_exact_assignments_are_counted():
    said = ConstrainedKMeans(3, random_state=0).fit(X, constraints=SIZES).report_.how()
    line = next(line for line in said.splitlines() if line.startswith("exact assignments"))
    made, lowered = (int(word) for word in line.split() if word.isdigit())
    assert 0 <= lowered <= made
    free = ConstrainedKMeans(3, random_state=0).fit(X).report_.how()
    assert "exact assignments" not in free


def test_an_objective_is_never_shown_below_zero():
    for value in (-0.124, 1e8 / 3.0, 0.1):
        points = np.repeat([[value, value], [1.0 - value, value]], 17, axis=0)
        said = ConstrainedKMeans(2, random_state=0).fit(points).report_.how()
        assert "objective -" not in said
