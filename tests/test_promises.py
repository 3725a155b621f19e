"""Small cases of mistakes that were found in review."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import corral
from corral import (
    CannotLink,
    ClusterSizes,
    ConstrainedKMeans,
    MustLink,
)

X = np.random.RandomState(0).randn(60, 2)


def model(k=3, **parameters):
    return ConstrainedKMeans(k, **{"random_state": 0, "n_init": 1, **parameters})


def test_tangled_cannot_links_still_get_cheap_labels():
    """Far from what is solved exactly: as good as one greedy pass, and not cost-blind."""
    rng = np.random.RandomState(1)
    Y = np.random.RandomState(0).rand(900, 2)
    pairs = rng.randint(900, size=(2700, 2))
    rules = CannotLink(pairs[pairs[:, 0] != pairs[:, 1]])
    fitted = model(8, time_limit=5).fit(Y, constraints=rules)
    assert fitted.report_.feasible
    scatter = ((Y - Y.mean(axis=0)) ** 2).sum()
    assert fitted.inertia_ < 0.5 * scatter


def test_the_objective_of_the_history_counts_rows_not_groups():
    rules = MustLink([(0, 1), (1, 2), (3, 4)])
    fitted = model(repair=False, tol=1e-6).fit(X, constraints=rules)
    assert fitted.history_.objective[-1] == pytest.approx(fitted.inertia_, rel=1e-3)


def test_the_history_of_a_relaxed_fit_counts_what_is_broken():
    rules = [MustLink([(0, 1)]), CannotLink([(0, 1)]), ClusterSizes([10, 10])]
    fitted = model(2, on_infeasible="relax").fit(X, constraints=rules)
    history = fitted.history_
    assert history.must_link_violations[-1] + history.cannot_link_violations[-1] == 1
    assert history.card_violations[-1] == 40


def test_algorithm1_starts_where_it_is_told():
    labels = np.arange(60) % 3
    given = {"solver": "algorithm1", "init": labels, "repair": False, "max_iter": 1, "rho": 1e6}
    with pytest.warns(ConvergenceWarning):
        fitted = model(**given).fit(X, constraints=MustLink([(0, 1), (0, 2)]))
    np.testing.assert_array_equal(fitted.labels_[[0, 1, 2]], [0, 1, 2])


def test_rho_every_spreads_the_growth():
    one = model(rho_growth=1.03**3, rho_every=3).fit(X)
    other = model(rho_growth=1.03).fit(X)
    np.testing.assert_allclose(one.history_.rho, other.history_.rho, rtol=1e-9)


def test_assign_goes_by_the_fitted_centres():
    fitted = model().fit(X).set_params(n_clusters=2)
    np.testing.assert_array_equal(fitted.assign(X), fitted.predict(X))


def test_the_report_tells_hard_from_soft():
    rules = CannotLink([(0, 1), (1, 2), (0, 2)], weight=[np.inf, 2, 3])
    assert "hard/soft" in str(model(2).fit(X[:30], constraints=rules).report_)


def test_the_report_names_the_rows_of_a_frame():
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(60)])
    rules = [MustLink([(0, 1)]), CannotLink([(0, 1)])]
    report = model(2, on_infeasible="relax").fit(frame, constraints=rules).report_
    assert "r0" in str(report)
    assert "r1" in str(report)


def test_a_verbose_fit_does_not_make_the_next_one_talk(capsys):
    log = logging.getLogger("corral")
    before = (log.level, list(log.handlers))
    model(verbose=True).fit(X)
    assert (log.level, list(log.handlers)) == before
    capsys.readouterr()
    model().fit(X)
    assert capsys.readouterr().err == ""


def test_an_unfinished_relaxation_says_so():
    with pytest.warns(ConvergenceWarning, match="ADMM (gave up|stopped)"):
        model(repair=False, tol=0.0).fit(X, constraints=ClusterSizes([19, 20, 21]))


def test_submodules_are_there_when_asked_for():
    assert corral.metrics.mirkin_index([0, 1], [0, 1]) == 0
    assert corral.datasets.load_iris().data.shape == (150, 4)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = corral.nonsense


def test_centres_are_means_whatever_the_weights():
    weight = np.ones(30)
    weight[0] = 1e14
    fitted = model().fit(X[:30], sample_weight=weight)
    for j in range(3):
        own = fitted.labels_ == j
        mean = np.average(X[:30][own], axis=0, weights=weight[own])
        np.testing.assert_allclose(fitted.cluster_centers_[j], mean, atol=1e-6)
