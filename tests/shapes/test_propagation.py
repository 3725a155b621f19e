"""Link propagation against a literal computation, E2CP and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, LinkPropagation, MustLink
from corral.baselines import E2CP
from corral.shapes import propagation


@parametrize_with_checks([LinkPropagation(1)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


LINKS = [MustLink([(0, 1), (4, 9)]), CannotLink([(2, 3), (5, 6), (0, 11)])]


def points(n=14, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def test_the_definition_entry_by_entry():
    """Similarities, propagation and embedding by loops and plain solves."""
    X, t, alpha = points(), 4, 0.6
    n = len(X)
    D = cdist(X, X)
    near = [[j for j in np.argsort(D[i]) if j != i][:t] for i in range(n)]
    width = np.mean([D[i, j] for i in range(n) for j in near[i]])
    W = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            W[i, j] += np.exp(-0.5 * (D[i, j] / width) ** 2) / 2
            W[j, i] += np.exp(-0.5 * (D[i, j] / width) ** 2) / 2
    Z = np.zeros((n, n))
    for links, sign in zip(LINKS, (1.0, -1.0), strict=True):
        for i, j in links.pairs:
            Z[i, j] = Z[j, i] = sign
    d = W.sum(axis=1)
    L = W / np.sqrt(np.outer(d, d))
    spread = np.linalg.inv(np.eye(n) - alpha * L)
    F = (1 - alpha) ** 2 * spread @ Z @ spread
    F /= np.abs(F).max()
    moved = np.array(
        [
            [
                0.0 if i == j else 1 - (1 - f) * (1 - w) if f >= 0 else (1 + f) * w
                for j, (f, w) in enumerate(zip(F[i], W[i], strict=True))
            ]
            for i in range(n)
        ]
    )
    model = LinkPropagation(3, n_neighbors=t, alpha=alpha).fit(X, constraints=LINKS)
    assert np.allclose(model.affinity_matrix_, moved)
    degree = moved.sum(axis=1)
    for value, y in zip(model.eigenvalues_, model.embedding_.T, strict=True):
        assert np.allclose(moved @ y, value * degree * y)
    largest = np.sort(np.linalg.eigvals(moved / degree[:, None]).real)[::-1]
    assert np.allclose(model.eigenvalues_, largest[:3])


def test_k_means_on_the_embedding_is_e2cp():
    X = points(60)
    theirs = E2CP(3, random_state=0).fit(X, constraints=LINKS)
    embedding = LinkPropagation(3).fit_transform(X, constraints=LINKS)
    ours = KMeans(3, n_init=10, random_state=np.random.RandomState(0)).fit(embedding)
    assert np.array_equal(ours.labels_, theirs.labels_)


def test_links_reach_the_neighbours_of_their_rows():
    """One cannot-link between two halves of a line moves all its rows apart."""
    X = np.arange(30.0)[:, None]
    rules = [CannotLink([(0, 29)]), ClusterSizes([10, 20])]
    plain, pushed = (
        LinkPropagation(2, n_neighbors=4).fit(X, constraints=given) for given in ([], rules)
    )
    moved = plain.affinity_matrix_ - pushed.affinity_matrix_
    assert moved.max() > 0
    assert moved.min() >= -1e-12
    model = ConstrainedKMeans(2, random_state=0).fit(pushed.embedding_, constraints=rules)
    assert model.report_.feasible
    assert np.array_equal(np.sort(np.bincount(model.labels_)), [10, 20])


def test_a_new_row_is_the_weighted_mean_of_its_neighbours():
    X = points(40)
    model = LinkPropagation(3, n_neighbors=5, scale=0.7).fit(X, constraints=LINKS)
    new = points(6, seed=1)
    for x, y in zip(new, model.transform(new), strict=True):
        gap = ((X - x) ** 2).sum(axis=1)
        near = np.argsort(gap)[:5]
        w = np.exp(-gap[near] / (2 * 0.7**2))
        assert np.allclose(y, w @ model.embedding_[near] / w.sum() / model.eigenvalues_)
    assert np.array_equal(model.transform(X), model.embedding_)


def test_far_rows_have_an_embedding():
    model = LinkPropagation(2, n_neighbors=3).fit(points(), constraints=LINKS)
    assert np.isfinite(model.transform([[1e6, -1e6]])).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 0}, "`n_components` is 0"),
        ({"n_components": 15}, "`n_components` is 15, but X has n_samples=14"),
        ({"n_neighbors": 0}, "`n_neighbors` is 0"),
        ({"scale": -1}, "`scale` is -1"),
        ({"alpha": 1.0}, "`alpha` is 1.0"),
    ],
)
def test_bad_parameters(parameters, words):
    model = LinkPropagation(**parameters)
    with pytest.raises(ValueError, match=words):
        model.fit(points())
    assert not hasattr(model, "embedding_")


def test_bad_rules_and_too_many_rows(monkeypatch):
    with pytest.raises(ValueError, match=r"14 samples"):
        LinkPropagation(2).fit(points(), constraints=MustLink([(3, 200)]))
    monkeypatch.setattr(propagation, "PROPAGATED_ROWS", 13)
    with pytest.raises(ValueError, match=r"14 samples; LinkPropagation takes at most 13"):
        LinkPropagation(2).fit(points())


def test_fitted_rows_have_their_embedding_in_any_batch():
    X = 1e3 + points(60, seed=3)
    model = LinkPropagation(3, n_neighbors=5)
    embedding = model.fit_transform(X, constraints=LINKS)
    np.testing.assert_array_equal(model.transform(X), embedding)
    new = np.concatenate([X[::7], 1e3 + points(40, seed=4)])
    together = model.transform(new)
    alone = np.concatenate([model.transform(row[None]) for row in new])
    np.testing.assert_array_equal(together, alone)


def test_of_equal_fitted_rows_the_first_counts():
    X = np.repeat(points(7), 2, axis=0)
    model = LinkPropagation(2, n_neighbors=3).fit(X, constraints=CannotLink([(1, 13)]))
    assert not np.array_equal(model.embedding_[0], model.embedding_[1])
    np.testing.assert_array_equal(model.transform(X), np.repeat(model.embedding_[::2], 2, axis=0))


def test_chunks_change_nothing(monkeypatch):
    model = LinkPropagation(3, n_neighbors=5).fit(points(30), constraints=LINKS)
    new = points(50, seed=1)
    whole = model.transform(new)
    monkeypatch.setattr(propagation, "CHUNK", 90)
    np.testing.assert_array_equal(model.transform(new), whole)


def test_columns_have_names_and_frames_stay_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(points(), index=[f"r{i}" for i in range(14)], columns=["a", "b"])
    model = LinkPropagation(2, n_neighbors=3).set_output(transform="pandas")
    found = model.fit_transform(frame, constraints=LINKS)
    names = ["linkpropagation0", "linkpropagation1"]
    assert model.get_feature_names_out().tolist() == found.columns.tolist() == names
    assert found.index.equals(frame.index)
    assert np.array_equal(found.to_numpy(), model.embedding_)
    assert model.transform(frame[:3]).columns.tolist() == names
