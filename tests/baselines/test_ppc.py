"""PPC: EM for Gaussian mixtures at zero weight, and a settled mean field otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from corral import CannotLink, MustLink
from corral.baselines import PPC
from corral.datasets import load_iris, load_wine, random_links

KINDS = pytest.mark.parametrize("kind", ["full", "diag", "spherical"])


@KINDS
@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_with_zero_weights_it_is_a_gaussian_mixture(kind, load):
    X, y = load(return_X_y=True)
    rules = random_links(y, 30, 30, random_state=0)
    options = {"covariance_type": kind, "n_init": 1, "random_state": 2}
    ours = PPC(3, weight=0.0, **options).fit(X, constraints=rules)
    theirs = GaussianMixture(3, **options).fit(X)
    assert ours.converged_
    assert ours.n_iter_ == theirs.n_iter_
    assert np.isclose(ours.lower_bound_, theirs.lower_bound_)
    assert np.array_equal(ours.labels_, theirs.predict(X))
    # scikit-learn ends with one M-step more, which is done here from the shares.
    q = ours.responsibilities_
    assert np.allclose(q.mean(axis=0), theirs.weights_)
    assert np.allclose(q.T @ X / q.sum(axis=0)[:, None], theirs.means_)
    for share, wanted in zip(q.T, theirs.covariances_, strict=True):
        covariance = np.cov(X.T, aweights=share, ddof=0) + 1e-6 * np.eye(X.shape[1])
        seen = {"full": covariance, "diag": np.diag(covariance)}.get(kind)
        assert np.allclose(np.diag(covariance).mean() if seen is None else seen, wanted)


@KINDS
def test_the_shares_solve_the_mean_field_equations(kind):
    X, y = load_iris(return_X_y=True)
    must, cannot = random_links(y, 30, 30, random_state=0)
    rules = [MustLink(must.pairs, weight=1.5), cannot]
    model = PPC(3, weight=0.7, covariance_type=kind, random_state=0).fit(X, constraints=rules)
    field = np.zeros((150, 150))
    for pairs, weight in ((must.pairs, 1.5), (cannot.pairs, -0.7)):
        for i, j in pairs:
            field[i, j] += weight
            field[j, i] += weight
    density = np.column_stack(
        [
            multivariate_normal.logpdf(X, mean, cov if cov.ndim == 2 else np.diag(cov))
            for mean, cov in zip(model.means_, model.covariances_, strict=True)
        ]
    )
    q = model.responsibilities_
    assert np.allclose(q.sum(axis=1), 1.0)
    wanted = softmax(density + np.log(model.weights_) + field @ q, axis=1)
    assert np.allclose(q, wanted, atol=1e-3)


def test_the_bound_never_falls():
    X, y = load_wine(return_X_y=True)
    rules = random_links(y, 50, 50, random_state=1)
    options = {"n_init": 1, "tol": 0.0, "random_state": 3, "weight": 2.0}
    bounds = [
        PPC(3, max_iter=i, **options).fit(X, constraints=rules).lower_bound_ for i in range(1, 15)
    ]
    assert (np.diff(bounds) >= -1e-6).all()


@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_a_larger_weight_breaks_fewer_links(load):
    X, y = load(return_X_y=True)
    broken = np.zeros(3)
    for seed in range(3):
        rules = random_links(y, 80, 80, random_state=seed)
        for place, weight in enumerate((0.0, 1.0, 10.0)):
            model = PPC(3, weight=weight, random_state=0).fit(X, constraints=rules)
            broken[place] += sum(entry.hard_count for entry in model.report_.entries)
    assert broken[0] > broken[1] > broken[2]


def test_one_link_decides_a_doubtful_point():
    X = np.array([[-1.1], [-1.0], [-0.9], [0.0], [0.9], [1.0], [1.1]])
    options = {"weight": 20.0, "covariance_type": "spherical", "random_state": 0}
    for end in (1, 5):
        together = PPC(2, **options).fit(X, constraints=MustLink([(3, end)])).labels_
        apart = PPC(2, **options).fit(X, constraints=CannotLink([(3, end)])).labels_
        assert together[3] == together[end] != together[6 - end]
        assert apart[3] != apart[end]
