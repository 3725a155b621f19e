"""Models are saved and loaded by skops, which calls no code of a file that is not trusted."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from sklearn.base import clone

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

N = 20
X = np.random.default_rng(0).normal(size=(N, 3))
LINKS = [MustLink([(0, 1)], n_samples=N), CannotLink([(2, 3)], n_samples=N)]
RULES = [
    *LINKS,
    CannotLink([(4, 9)], [2.0], n_samples=N),
    ClusterSizes(minimum=2),
    Pin({5: 0}, n_samples=N),
    ClusterTotals(np.arange(float(N)), maximum=150),
    GroupShares(list("ab") * (N // 2), minimum={"a": 0.1}),
    LinearConstraint(np.ones((1, 3 * N)), upper=30, n_clusters=3),
]
OURS = [
    ConstrainedKMeans,
    ConstrainedKMedoids,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
]
#: The rules of the other methods.
BASELINES = {
    **dict.fromkeys(["E2CP", "PPC", "COPCobweb", "COPKMeans", "PCKMeans", "MPCKMeans"], LINKS),
    **dict.fromkeys(["ConstrainedCompleteLink", "ConstrainedNCut"], LINKS),
    "MinSizeKMeans": [ClusterSizes(minimum=2)],
    "EquiSizedFCM": [ClusterSizes([7, 7, 6])],
    "PlainKMeans": None,
}
MODELS = [
    *(kind(3, constraints=rules) for kind in OURS for rules in (RULES, ConstraintSet(RULES))),
    *(getattr(baselines, name)(constraints=rules) for name, rules in BASELINES.items()),
]


def test_these_are_all_methods():
    named = {name for name in baselines.__all__ if not name.endswith("Error")}
    assert named == BASELINES.keys()
    assert {"constraints"} <= set.intersection(*(set(model.get_params()) for model in MODELS))


def name_of(model):
    return f"{type(model).__name__}-{type(getattr(model, 'constraints', None)).__name__}"


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_models_with_rules_are_saved_and_loaded(model):
    sio = pytest.importorskip("skops.io", reason="needs skops")

    def again(model):
        saved = sio.dumps(model)
        named = sio.get_untrusted_types(data=saved)
        # All that a user has to trust is corral, and what holds its numbers.
        others = [name for name in named if not name.startswith("corral.")]
        assert {*others} <= {"functools.partial", "scipy.sparse._csr.csr_array"}
        return sio.loads(saved, trusted=named)

    new = again(model)
    assert new.get_params().keys() == model.get_params().keys()
    assert ConstraintSet(new.constraints) == ConstraintSet(model.constraints)
    known = {"n_clusters": 3, "random_state": 0}
    model = clone(model).set_params(**{k: v for k, v in known.items() if k in model.get_params()})
    fitted = clone(model).fit(X)
    loaded = again(fitted)
    assert vars(loaded).keys() == vars(fitted).keys()
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    assert str(loaded.report_) == str(fitted.report_)
    assert loaded.report_.how() == fitted.report_.how()
    if hasattr(fitted, "predict"):
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again(model).fit(X).labels_, fitted.labels_)


def test_link_propagation_is_saved_and_loaded():
    sio = pytest.importorskip("skops.io", reason="needs skops")
    fitted = LinkPropagation(2, n_neighbors=3).fit(X, constraints=LINKS)
    saved = sio.dumps(fitted)
    loaded = sio.loads(saved, trusted=sio.get_untrusted_types(data=saved))
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))


def test_a_model_does_not_keep_the_callback():
    def callback(progress):
        pass

    known = weakref.ref(callback)
    model = ConstrainedKMeans(3, random_state=0).fit(X, callback=callback)
    del callback
    gc.collect()
    assert known() is None
    assert model.report_.how()


@pytest.mark.parametrize("kind", OURS)
def test_what_a_report_says_of_the_search_holds_no_rows(kind):
    """A pickle of it has the same size for ten times the rows, but for the digits."""
    many = np.random.default_rng(1).normal(size=(300, 2))
    sizes = [
        len(pickle.dumps(kind(2, random_state=0).fit(rows).report_.plan))
        for rows in (many[:30], many)
    ]
    assert sizes[1] < sizes[0] + 500
