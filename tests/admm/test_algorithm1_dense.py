"""The fast steps of Algorithm 1 equal literal dense steps of the paper's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from literal import Literal, Variables
from scipy import sparse

from corral.admm.algorithm1 import PaperRules, start, step
from corral.admm.algorithm1.data import Data, State
from corral.rules import LinearRows

N, K, D = 12, 3, 2
# A repeated pair, a pair both ways round, and rows with several partners.
MUST_LINK = np.array([[0, 1], [1, 4], [0, 1], [5, 4], [4, 0]])
CANNOT_LINK = np.array([[2, 3], [3, 2], [7, 2], [11, 0]])
SIZES = np.array([5, 4, 3])

METHODS: dict[str, dict[str, Any]] = {
    "lpKm": {},
    "lpKm-Car": {"sizes": SIZES},
    "lpKm-Pair": {"must_link": MUST_LINK, "cannot_link": CANNOT_LINK},
    "lpKm-Mix": {"must_link": MUST_LINK, "cannot_link": CANNOT_LINK, "sizes": SIZES},
    "must-links alone": {"must_link": MUST_LINK},
    "cannot-links alone": {"cannot_link": CANNOT_LINK},
}


def both(
    seed: int, linear: LinearRows | None = None, n: int = N, d: int = D, **constraints: Any
) -> tuple[Literal, Variables, Data, State]:
    """The same problem from the same start, for the literal and for the fast step."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n, d))
    labels = rng.permutation(np.arange(n) % K)
    rows = {} if linear is None else {"A": linear.A.toarray(), "b": linear.lower}
    literal = Literal(points.T, K, **constraints, **rows)
    data = Data.of(points, K, PaperRules(linear=linear, **constraints))
    return literal, literal.start(labels), data, start(data, labels)


def assert_equal(slow: Variables, fast: State, data: Data) -> None:
    """Compare every variable; by points except for w, which the paper orders by clusters."""
    pairs = {
        "x": (fast.x, slow.x),
        "w": (fast.w.T, slow.w),
        **{
            name: (getattr(fast, name), getattr(slow, name))
            for name in ("z1", "z2", "y1", "y2", "y3", "y4", "y5", "y10")
        },
    }
    names = {"must_link": ("z3", "y6", "y7"), "cannot_link": ("z4", "y8", "y9")}
    for kind, copy in zip(data.link_names, fast.copies, strict=True):
        for name, value in zip(names[kind], (copy.z, copy.y, copy.y_copy), strict=True):
            pairs[name] = (value, getattr(slow, name))
    for name, (value, expected) in pairs.items():
        np.testing.assert_allclose(np.ravel(value), expected, rtol=1e-9, atol=1e-9, err_msg=name)


def run_both(literal: Literal, slow: Variables, data: Data, fast: State, rho: float) -> None:
    """Twenty iterations with the paper's growth of rho, compared after each."""
    for iteration in range(1, 21):
        slow, fast = literal.step(slow, rho), step(fast, data, rho)
        assert fast.x.sum(axis=0).min() > 1e-3, "an empty cluster is not what this test is about"
        assert_equal(slow, fast, data)
        if iteration % 5 == 0:
            rho *= 1.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rho", [20.0, 100.0])
@pytest.mark.parametrize("method", METHODS)
def test_twenty_steps(method: str, rho: float, seed: int) -> None:
    run_both(*both(seed, **METHODS[method]), rho)


@pytest.mark.parametrize("method", ["lpKm", "lpKm-Mix"])
def test_twenty_steps_with_linear_rows(method: str) -> None:
    rng = np.random.default_rng(5)
    A = rng.integers(-1, 2, (4, N * K)).astype(float)
    A[3] = A[0]  # a redundant row is allowed
    b = A @ np.eye(K)[rng.integers(0, K, N)].ravel()
    linear = LinearRows(sparse.csr_array(A), b, b)
    run_both(*both(0, linear, **METHODS[method]), 20.0)


def test_twenty_steps_with_more_features_than_points() -> None:
    run_both(*both(0, n=9, d=15, sizes=np.array([3, 3, 3])), 100.0)


def test_twenty_steps_without_the_eigendecomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.admm.algorithm1.data.LARGEST_GRAM", 0)
    literal, slow, data, fast = both(0, **METHODS["lpKm-Mix"])
    assert data.spectrum is None
    run_both(literal, slow, data, fast, 20.0)


def test_objective_is_the_literal_one() -> None:
    literal, slow, data, fast = both(1, **METHODS["lpKm-Mix"])
    for _ in range(5):
        slow, fast = literal.step(slow, 20.0), step(fast, data, 20.0)
    assert fast.objective == pytest.approx(slow.x @ literal.costs(slow.w), rel=1e-12)
