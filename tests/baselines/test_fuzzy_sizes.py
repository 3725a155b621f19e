"""Fuzzy c-means with sizes: the sums, the optimum, and plain fuzzy c-means as a special case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from corral import ClusterSizes, InfeasibleConstraintsError
from corral.baselines import EquiSizedFCM
from corral.baselines.fuzzy import sized_memberships
from corral.datasets import load_glass, load_iris, load_wine


@pytest.mark.parametrize("load", [load_wine, load_iris, load_glass])
def test_memberships_add_up(load):
    X, y = load(return_X_y=True)
    sizes = np.bincount(y)
    model = EquiSizedFCM(len(sizes), n_init=2, random_state=0)
    equal = model.fit(X).memberships_
    assert np.allclose(equal.sum(axis=0), len(X) / len(sizes))
    own = model.fit(X, constraints=ClusterSizes(sizes)).memberships_
    assert np.allclose(np.sort(own.sum(axis=0)), np.sort(sizes))
    tied = model.fit(X, constraints=ClusterSizes(sizes, ordered=True)).memberships_
    assert np.allclose(tied.sum(axis=0), sizes)
    for u in (equal, own, tied):
        assert (u >= 0).all()
        assert np.allclose(u.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_memberships_are_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n, k = 7, int(rng.integers(2, 4))
    distance = rng.uniform(0.1, 4.0, (n, k))
    sizes = 1.0 + rng.multinomial(n - k, np.full(k, 1 / k))
    u = sized_memberships(distance, sizes)
    assert np.allclose(u.sum(axis=0), sizes)
    wanted = minimize(
        lambda v: (v**2) @ distance.ravel(),
        np.outer(np.ones(n), sizes / n).ravel(),
        jac=lambda v: 2 * v * distance.ravel(),
        bounds=[(0, 1)] * (n * k),
        constraints=[
            {"type": "eq", "fun": lambda v: v.reshape(n, k).sum(axis=1) - 1},
            {"type": "eq", "fun": lambda v: (v.reshape(n, k).sum(axis=0) - sizes)[:-1]},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert np.isclose((u**2 * distance).sum(), wanted.fun, rtol=1e-6)


@pytest.mark.parametrize("seed", range(50))
def test_sizes_are_met_from_hard_starts(seed):
    """Clusters that share no point at first, points on centres, very unequal sizes."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 40)), int(rng.integers(1, 6))
    X = np.round(rng.normal(size=(n, 2)) * 3) * rng.choice([0.01, 1, 100])
    X[: n // 2] += rng.choice([0, 50])
    centers = X[rng.choice(n, k, replace=False)]
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    distance = np.maximum(distance, 1e-8 * (distance.max() or 1.0))
    sizes = 1.0 + rng.multinomial(n - k, rng.dirichlet(np.ones(k)))
    u = sized_memberships(distance, sizes)
    assert np.allclose(u.sum(axis=0), sizes, atol=1e-6)


def test_sizes_that_do_not_bind_leave_fuzzy_c_means():
    distance = np.random.default_rng(0).uniform(0.1, 4.0, (30, 3))
    plain = (1 / distance) / (1 / distance).sum(axis=1, keepdims=True)
    assert np.allclose(sized_memberships(distance, plain.sum(axis=0)), plain)


def test_the_objective_never_rises():
    X, _ = load_iris(return_X_y=True)
    options = {"n_init": 1, "tol": 0.0, "random_state": 0}
    objective = [EquiSizedFCM(3, max_iter=i, **options).fit(X).objective_ for i in range(1, 20)]
    assert (np.diff(objective) <= 1e-9).all()


def test_what_it_cannot_do_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(ValueError, match="takes exact sizes"):
        EquiSizedFCM(2).fit(X, constraints=ClusterSizes(minimum=4))
    with pytest.raises(ValueError, match=r"sizes are \[10, 0\]"):
        EquiSizedFCM(2).fit(X, constraints=ClusterSizes([10, 0]))
    with pytest.raises(InfeasibleConstraintsError):
        EquiSizedFCM(2).fit(X, constraints=ClusterSizes([4, 4]))
