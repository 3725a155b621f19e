"""Estimators inside packages that call ``fit(X)`` and know nothing of rules."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from corral import (
    ClusterSizes,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    MustLink,
)

try:
    from imblearn.over_sampling import KMeansSMOTE
    from imblearn.under_sampling import ClusterCentroids
except ImportError:
    KMeansSMOTE = ClusterCentroids = None

needs_imblearn = pytest.mark.skipif(KMeansSMOTE is None, reason="needs imbalanced-learn")

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "other-packages.md"
MANY, FEW = 60, 12
X, Y = make_blobs([MANY, FEW], centers=[[0, 0], [6, 0]], random_state=0)
ALL = [
    ConstrainedKMeans,
    ConstrainedKMedoids,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
]


@needs_imblearn
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_every_centre_of_a_class_stands_for_as_many_rows_as_the_rules_say(kind, voting):
    rules = ClusterSizes(minimum=3, maximum=7)
    sampler = ClusterCentroids(estimator=kind(random_state=0, constraints=rules), voting=voting)
    found, classes = sampler.fit_resample(X, Y)
    assert np.bincount(classes).tolist() == [FEW, FEW]
    np.testing.assert_array_equal(found[classes == 1], X[Y == 1])
    sizes = np.bincount(sampler.estimator_.labels_)
    assert len(sizes) == FEW
    assert sizes.min() >= 3
    assert sizes.max() <= 7
    assert sampler.estimator.constraints is rules
    if voting == "soft":
        np.testing.assert_array_equal(found[classes == 0], sampler.estimator_.cluster_centers_)


@needs_imblearn
def test_sparse_rows_are_resampled():
    rules = ClusterSizes(minimum=3)
    sampler = ClusterCentroids(estimator=ConstrainedKMeans(random_state=0, constraints=rules))
    found, classes = sampler.fit_resample(sparse.csr_matrix(X), Y)
    assert sparse.issparse(found)
    assert np.bincount(classes).tolist() == [FEW, FEW]
    assert np.bincount(sampler.estimator_.labels_).min() >= 3


@needs_imblearn
def test_rules_for_all_rows_are_refused_for_those_of_a_class():
    rules = MustLink([(0, 1)], n_samples=MANY + FEW)
    sampler = ClusterCentroids(estimator=ConstrainedKMeans(constraints=rules))
    with pytest.raises(ValueError, match="are for 72 rows, but X has 60 samples"):
        sampler.fit_resample(X, Y)


@needs_imblearn
@pytest.mark.parametrize("kind", ALL)
def test_rows_are_drawn_inside_clusters_that_obey_the_rules(kind):
    rules = [ClusterSizes([12] * 6), MustLink([(0, 1)], n_samples=MANY + FEW)]
    sampler = KMeansSMOTE(
        kmeans_estimator=kind(6, random_state=0, constraints=rules),
        k_neighbors=2,
        cluster_balance_threshold=0.1,
        random_state=0,
    )
    found, classes = sampler.fit_resample(X, Y)
    np.testing.assert_array_equal(found[: MANY + FEW], X)
    assert np.bincount(classes)[1] >= MANY
    labels = sampler.kmeans_estimator_.labels_
    assert np.bincount(labels).tolist() == [12] * 6
    assert labels[0] == labels[1]


@needs_imblearn
def test_the_snippet_of_the_guide_runs():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|py)\n(.*?)^```", text, re.M | re.S)
    space = {"__name__": "snippet"}
    first = next(code for kind, code in blocks if kind == "python")
    exec(compile(first, PAGE.name, "exec"), space)
    exec(compile(next(code for _, code in blocks if "imblearn" in code), PAGE.name, "exec"), space)
    assert np.bincount(space["kept"]).tolist() == [12, 12]
    assert np.bincount(space["grown"])[1] >= 48


@pytest.fixture(scope="module")
def bertopic():
    return pytest.importorskip("bertopic")


WORDS = ["cat dog mouse pet", "car bus road wheel", "sun rain wind cloud"]
DOCUMENTS = [f"{WORDS[i % 3]} {WORDS[i % 3].split()[i % 4]}" for i in range(60)]
EMBEDDINGS = np.eye(3)[np.arange(60) % 3] + np.random.default_rng(0).normal(0, 0.05, (60, 3))


@pytest.mark.parametrize("kind", ALL)
def test_topics_obey_the_rules(bertopic, kind):
    """Embeddings are given; nothing reduces them."""
    from bertopic.dimensionality import BaseDimensionalityReduction

    rules = [ClusterSizes([20, 20, 20]), MustLink([(0, 3)], n_samples=60)]
    topics = kind(3, random_state=0, constraints=rules)
    model = bertopic.BERTopic(
        umap_model=BaseDimensionalityReduction(), hdbscan_model=topics, embedding_model=None
    )
    found, _ = model.fit_transform(DOCUMENTS, embeddings=EMBEDDINGS)
    assert sorted(np.bincount(found)) == [20, 20, 20]
    assert min(found) == 0  # no document is left without a topic
    assert len(set(found[0::3])) == len(set(found[1::3])) == len(set(found[2::3])) == 1
    again, _ = model.transform(DOCUMENTS[:6], embeddings=EMBEDDINGS[:6])
    assert list(again) == list(found[:6])
    with pytest.raises(ValueError, match="are for 60 rows, but X has 50 samples"):
        bertopic.BERTopic(
            umap_model=BaseDimensionalityReduction(), hdbscan_model=topics, embedding_model=None
        ).fit(DOCUMENTS[:50], embeddings=EMBEDDINGS[:50])
