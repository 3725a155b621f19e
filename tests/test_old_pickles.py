"""Pickles of earlier versions can be read: models answer as they did, and rules are the same."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from pickles.make import FITTED, RULES, X
from pickles.others import BROKEN, LINKS, METHODS
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

import corral
from corral import (
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    LinkPropagation,
    Pin,
    audit,
)
from corral.baselines import COPKMeans

FILES = sorted((Path(__file__).parent / "pickles").glob("*.pickle"))
#: What ``pickles/others.py`` wrote.
OTHERS = sorted((Path(__file__).parent / "pickles").glob("*.others"))
VERSIONS = [path.stem for path in FILES]


@pytest.fixture(params=FILES, ids=VERSIONS)
def old(request):
    return pickle.loads(request.param.read_bytes())


def test_there_are_pickles():
    assert VERSIONS == ["0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0"]


def test_rules_are_the_same(old):
    _, rules = old
    assert rules == RULES
    for rule, same in zip(rules, RULES, strict=True):
        assert rule.to_dict() == same.to_dict()
        assert repr(rule) == repr(same)


def test_models_answer(old):
    models, _ = old
    for model in models:
        # The rules move rows in the middle; the ends are nearest to their own clusters.
        np.testing.assert_array_equal(model.predict(X[[0, -1]]), model.labels_[[0, -1]])
        assert model.get_params().keys() == type(model)().get_params().keys()
        assert repr(clone(model)) == repr(type(model)(2, random_state=0))
        assert model.n_clusters_ == 2


def test_densities_are_those_of_the_parameters(old):
    """Diagonal covariances were kept as matrices until 0.6.0."""
    for model in old[0]:
        if isinstance(model, ConstrainedGaussianMixture):
            theirs = GaussianMixture(2, covariance_type=model.covariance_)
            theirs.weights_, theirs.means_ = model.weights_, model.means_
            theirs.precisions_cholesky_ = _compute_precision_cholesky(
                model.covariances_, model.covariance_
            )
            np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
            np.testing.assert_allclose(model.score_samples(X), theirs.score_samples(X))


def test_reports_can_be_shown(old):
    models, _ = old
    for model in models:
        report, now = model.report_, audit(X, model.labels_, FITTED, 2)
        assert report.feasible
        assert report.sizes == now.sizes
        assert str(report).splitlines()[0] == str(now).splitlines()[0]
        assert "<html" in report.to_html()
        assert "<" in report._repr_html_()
        assert report.how()
        assert report.to_dict()["constraints"] == now.to_dict()["constraints"]


def test_k_means_goes_on(old):
    model = next(model for model in old[0] if isinstance(model, ConstrainedKMeans))
    assert model.transform(X).shape == (6, 2)
    assert model.assign(X, constraints=FITTED).tolist() == model.labels_.tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params() == model.get_params()
    assert again.fit(X, constraints=Pin({0: 0})).report_.feasible


@pytest.fixture(params=OTHERS, ids=[path.stem for path in OTHERS], scope="module")
def others(request):
    return pickle.loads(request.param.read_bytes())


def test_there_are_pickles_of_all_else(others):
    assert [path.stem for path in OTHERS] == VERSIONS
    assert {*METHODS, "MinSizeKMeans", "soft"} <= others.keys()
    assert sum(name.startswith("broken") for name in others) == len(RULES)


def test_messages_of_broken_rules_are_those_of_today(others):
    broken = 0
    for rule, name in zip(
        RULES, (each for each in others if each.startswith("broken")), strict=True
    ):
        report, now = others[name], audit(X, BROKEN, rule, 2)
        (old,), (new,) = report.entries, now.entries
        assert old.violations.messages() == new.violations.messages()
        assert str(report) == str(now)
        assert "<html" in report.to_html()
        broken += report.entries[0].violations.count > 0
    assert broken >= 5
    report = others["soft"].report_
    assert "<html" in report.to_html()
    assert any(entry.violations.messages() for entry in report.entries)


def test_other_methods_and_results_go_on(others):
    for name, found in others.items():
        again = pickle.loads(pickle.dumps(found))
        assert repr(again) == repr(found)
        if name in METHODS:
            assert audit(X, found.labels_, LINKS, 2).sizes == found.report_.sizes
            fitted = again.fit(X, constraints=LINKS)
            assert fitted.get_params() == found.get_params()
    if "proof" in others:
        assert "\nproof " in str(others["proof"].report_)
    if "choice" in others:
        assert str(others["choice"])
        propagation = others["propagation"]
        np.testing.assert_array_equal(propagation.transform(X), propagation.embedding_)


ESTIMATORS = [
    ConstrainedKMeans(2, random_state=0),
    ConstrainedKMedoids(2, random_state=0),
    ConstrainedGaussianMixture(2, covariance="tied", random_state=0),
    ConstrainedKernelKMeans(2, random_state=0),
    COPKMeans(2, random_state=0),
    LinkPropagation(2, n_neighbors=3),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_pickles_hold_the_version_and_newer_ones_are_told(model):
    model = clone(model).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    assert model.__getstate__()["_corral_version"] == corral.__version__
    for version in ("99.0.0", "0.6.0.dev1+local", 7):
        newer = type(model).__new__(type(model))
        with pytest.warns(InconsistentVersionWarning, match=re.escape(f"{version} of corral")):
            newer.__setstate__({**model.__getstate__(), "_corral_version": version})
        assert vars(newer).keys() == vars(model).keys()
    older = type(model).__new__(type(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        older.__setstate__({**model.__getstate__(), "_corral_version": "0.1.0"})
