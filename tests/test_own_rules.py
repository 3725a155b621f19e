"""Constraints as a parameter of the estimators: what ``fit(X)`` obeys."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    LinkPropagation,
    MustLink,
    Pin,
    baselines,
)

X, Y = make_blobs(36, centers=3, n_features=2, random_state=3)
N = len(X)
SIZES = ClusterSizes([6, 10, 20])
LINKS = [MustLink([(0, 1), (2, 5)], n_samples=N), CannotLink([(3, 4)], n_samples=N)]
SIZED = (baselines.MinSizeKMeans, baselines.EquiSizedFCM)
BASELINES = [
    getattr(baselines, name) for name in sorted(baselines.__all__) if name != "DeadEndError"
]
SEARCHED = [
    (ConstrainedKMeans, {}),
    (ConstrainedKMedoids, {}),
    (ConstrainedGaussianMixture, {"covariance": "spherical"}),
    (ConstrainedKernelKMeans, {}),
]


CASES = [
    *((kind(3, random_state=0, **options), [SIZES, *LINKS]) for kind, options in SEARCHED),
    *((kind(3, random_state=0), SIZES if kind in SIZED else LINKS) for kind in BASELINES),
]


@pytest.mark.parametrize(("model", "rules"), CASES)
def test_fit_alone_obeys_the_rules_of_the_constructor(model, rules):
    given = clone(model).fit(X, constraints=rules)
    own = clone(model).set_params(constraints=rules).fit(X)
    np.testing.assert_array_equal(own.labels_, given.labels_)
    ours, theirs = own.report_.to_dict(), given.report_.to_dict()
    # The plan holds seconds.
    assert ours | {"plan": None} == theirs | {"plan": None}
    assert len(ours["constraints"]) == len(ConstraintSet(rules))


@pytest.mark.parametrize(("model", "rules"), CASES)
def test_rules_survive_clones_pickles_and_parameters(model, rules):
    assert model.get_params()["constraints"] is None
    own = model.set_params(constraints=rules)
    assert own.get_params()["constraints"] is rules
    for copied in (clone(own), pickle.loads(pickle.dumps(own)), clone(clone(own))):
        assert ConstraintSet(copied.constraints) == ConstraintSet(rules)
    assert "constraints=" in repr(own)
    assert "constraints" not in repr(own.set_params(constraints=None))


def test_links_are_propagated_from_the_constructor():
    model = LinkPropagation(2, n_neighbors=5)
    given = clone(model).fit_transform(X, constraints=LINKS)
    own = clone(model.set_params(constraints=LINKS))
    np.testing.assert_array_equal(own.fit_transform(X), given)
    assert not np.array_equal(given, LinkPropagation(2, n_neighbors=5).fit_transform(X))


@pytest.mark.parametrize(("kind", "options"), SEARCHED)
def test_what_fit_is_given_wins(kind, options):
    own = kind(3, random_state=0, constraints=SIZES, **options)
    even = own.fit(X, constraints=ClusterSizes([12, 12, 12]))
    assert sorted(np.bincount(even.labels_)) == [12, 12, 12]
    free = own.fit(X, constraints=[])
    assert not free.report_.to_dict()["constraints"]
    assert sorted(np.bincount(own.fit(X).labels_)) == [6, 10, 20]
    assert own.constraints is SIZES


def test_fit_predict_fit_transform_and_pipelines_use_them():
    own = ConstrainedKMeans(3, random_state=0, constraints=SIZES)
    labels = own.fit_predict(X)
    assert np.bincount(labels).tolist() == [6, 10, 20]
    assert own.fit_transform(X).shape == (N, 3)
    np.testing.assert_array_equal(own.labels_, labels)
    piped = make_pipeline(StandardScaler(), clone(own)).fit(X)
    assert np.bincount(piped[-1].labels_).tolist() == [6, 10, 20]
    assert np.bincount(piped.fit_predict(X)).tolist() == [6, 10, 20]


FIXED = [
    LINKS[0],
    CannotLink([("r0", "r1")], index=[f"r{i}" for i in range(N)]),
    Pin({0: 1}, n_samples=N),
    ClusterTotals(np.ones(N), maximum=20),
    GroupShares(Y, minimum=0.1),
    LinearConstraint(np.ones((1, 3 * N)), upper=N),
    ClusterSizes([12, 12, 12]),
]


@pytest.mark.parametrize("rule", FIXED, ids=repr)
def test_rules_for_other_rows_are_refused(rule):
    with pytest.raises(ValueError, match=r"X has 30 samples|n_samples=30|30"):
        ConstrainedKMeans(3, constraints=rule).fit(X[:30])


@pytest.mark.parametrize("rule", [MustLink([(0, 1)]), CannotLink([(0, 1)]), Pin({0: 1})], ids=repr)
@pytest.mark.parametrize(("kind", "options"), SEARCHED)
def test_row_numbers_alone_do_not_say_for_which_data_they_are(kind, options, rule):
    with pytest.raises(ValueError, match=r"n_samples= or index=.*to fit\.$") as error:
        kind(3, constraints=[SIZES, rule], **options).fit(X)
    assert repr(rule) in str(error.value)


def test_what_can_be_read_once_is_refused():
    with pytest.raises(TypeError, match=r"constraints is .* read only once; .* a list of them"):
        ConstrainedKMeans(3, constraints=iter([SIZES])).fit(X)


def test_no_pairs_are_for_all_data():
    ConstrainedKMeans(3, n_init=1, constraints=[MustLink([]), None]).fit(X)


def test_names_are_looked_up_in_the_data():
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(N)])
    own = ConstrainedKMeans(3, random_state=0, constraints=MustLink([("r0", "r1")]))
    labels = own.fit(frame).labels_
    assert labels[0] == labels[1]
    with pytest.raises(ValueError, match="X has no index"):
        own.fit(X)


@pytest.mark.parametrize(("kind", "options"), SEARCHED[:2])
def test_a_grid_of_rules(kind, options):
    def evenness(model, X, y=None):
        return -float(np.ptp(model.report_.sizes))

    grid = {"constraints": [[ClusterSizes(minimum=7)], ConstraintSet(ClusterSizes([2, 4, 18]))]}
    model = kind(3, random_state=0, **options)
    search = GridSearchCV(model, grid, cv=3, scoring=evenness, refit=False, error_score="raise")
    search.fit(X)
    assert search.best_params_["constraints"] is grid["constraints"][0]
    assert list(search.cv_results_["param_constraints"]) == grid["constraints"]


def test_a_grid_takes_its_rules_for_folds():
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(N)])
    apart = CannotLink([(i, i + 1) for i in range(0, N, 2)])
    grid = {"constraints": [None, ConstraintSet(apart).for_folds(frame.index)]}
    search = GridSearchCV(ConstrainedKMeans(3, random_state=0), grid, cv=3, error_score="raise")
    best = search.fit(frame).best_estimator_
    chosen = best.constraints is not None
    assert len(best.report_.to_dict()["constraints"]) == int(chosen)
