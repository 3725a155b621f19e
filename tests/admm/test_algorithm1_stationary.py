"""Each update of Algorithm 1 is the stationary point of the paper's augmented Lagrangian.

The Lagrangian is written out from the paper's definition, not from its printed updates, so that
this test is where the errata are proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from literal import Literal, Variables
from numpy.typing import NDArray
from scipy import sparse

from corral.admm.algorithm1 import update_w, update_x, update_y, update_z1, update_z2, update_z34
from corral.admm.algorithm1.data import Copy, Data, PaperRules, State
from corral.rules import LinearRows

Vector = NDArray[np.floating[Any]]
N, K, D, RHO = 8, 3, 2, 7.0
MUST_LINK = np.array([[0, 1], [1, 4], [0, 1]])
CANNOT_LINK = np.array([[2, 3], [7, 2]])
SIZES = np.array([3, 3, 2])
A = np.random.default_rng(1).integers(-1, 2, (3, N * K)).astype(float)
B = np.array([1.0, 0.0, 2.0])


def augmented_lagrangian(literal: Literal, v: Variables, rho: float) -> float:
    """The paper's L, with the linear rows as a tenth constraint; indicators left out."""

    def term(y: Vector | float, gap: Vector | float) -> float:
        return float(np.dot(y, gap) + rho / 2 * np.dot(gap, gap))

    E1, E2, E3, E4 = literal.E
    identity = np.eye(literal.n * literal.k)
    mean = identity - np.diag(literal.P @ v.w) @ literal.C
    S, k = literal.S, literal.k
    objective = sum(
        v.x[i * k + j] * np.sum((S[:, i] - S @ literal.Lambda[j] @ v.w) ** 2)
        for i in range(literal.n)
        for j in range(k)
    )
    return (
        float(objective)
        + term(v.y1, literal.Psi.T @ v.x - 1)
        + term(v.y2, v.x - v.z1)
        + term(v.y3, v.x - v.z2)
        + term(v.y4, literal.Q @ literal.P.T @ v.x - SIZES)
        + term(v.y5, mean @ v.x)
        + term(v.y6, v.z3 @ E1.T @ E2 @ v.x - len(MUST_LINK))
        + term(v.y7, v.x - v.z3)
        + term(v.y8, v.z4 @ E3.T @ E4 @ v.x)
        + term(v.y9, v.x - v.z4)
        + term(v.y10, A @ v.x - B)
    )


@pytest.fixture
def literal_and_data() -> tuple[Literal, Data]:
    points = np.random.default_rng(2).uniform(-1, 1, (N, D))
    literal = Literal(points.T, K, MUST_LINK, CANNOT_LINK, SIZES, A, B)
    linear = LinearRows(sparse.csr_array(A), B, B)
    return literal, Data.of(points, K, PaperRules(MUST_LINK, CANNOT_LINK, SIZES, linear))


@pytest.fixture
def state(literal_and_data: tuple[Literal, Data]) -> State:
    """Any values at all: an update has to be right wherever it is taken."""
    rng = np.random.default_rng(3)

    def random(*shape: int) -> Vector:
        return np.asfortranarray(rng.normal(size=shape))

    x, w = rng.uniform(-0.4, 1.4, (N, K)), rng.uniform(0, 0.5, (N, K))
    copies = tuple(Copy(random(N, K), float(rng.normal()), random(N, K)) for _ in range(2))
    return State(
        x=x,
        w=w,
        costs=literal_and_data[1].costs(w),
        z1=random(N, K),
        z2=random(N, K),
        copies=copies,
        y1=random(N),
        y2=random(N, K),
        y3=random(N, K),
        y4=random(K),
        y5=random(N, K),
        y10=random(len(B)),
        residuals={},
    )


def variables(s: State) -> Variables:
    """The state in the paper's vectors."""
    third, fourth = s.copies
    flat: dict[str, Any] = {
        "z3": third.z,
        "y6": third.y,
        "y7": third.y_copy,
        "z4": fourth.z,
        "y8": fourth.y,
        "y9": fourth.y_copy,
        "w": s.w.T,
        **{
            name: getattr(s, name)
            for name in ("x", "z1", "z2", "y1", "y2", "y3", "y4", "y5", "y10")
        },
    }
    shaped: dict[str, Any] = {
        name: value if np.isscalar(value) else np.ravel(value) for name, value in flat.items()
    }
    return Variables(**shaped)


def gradient(literal: Literal, v: Variables, name: str) -> Vector:
    """Central differences in one variable: exact but for rounding, as L is quadratic in each."""
    value, h = np.atleast_1d(getattr(v, name)).astype(float), 1e-2

    def at(point: Vector) -> float:
        shaped: Any = point if np.ndim(getattr(v, name)) else float(point[0])
        return augmented_lagrangian(literal, replace(v, **{name: shaped}), RHO)

    return np.array([(at(value + h * e) - at(value - h * e)) / (2 * h) for e in np.eye(len(value))])


def with_z(state: State, which: int, z: Vector) -> State:
    copies = list(state.copies)
    copies[which] = replace(copies[which], z=z)
    return replace(state, copies=tuple(copies))


UPDATES: dict[str, Callable[[State, Data], State]] = {
    "x": lambda s, data: replace(s, x=update_x(s, data, RHO)),
    "w": lambda s, data: replace(s, w=update_w(s.x, s, data, RHO)),
    "z3": lambda s, data: with_z(s, 0, update_z34(s.x, s.copies[0], data.links[0], RHO)),
    "z4": lambda s, data: with_z(s, 1, update_z34(s.x, s.copies[1], data.links[1], RHO)),
}


@pytest.mark.parametrize("name", UPDATES)
def test_update_is_the_stationary_point(
    name: str, state: State, literal_and_data: tuple[Literal, Data]
) -> None:
    literal, data = literal_and_data
    before = gradient(literal, variables(state), name)
    after = gradient(literal, variables(UPDATES[name](state, data)), name)
    assert np.abs(before).max() > 1.0, "the test has nothing to show"
    np.testing.assert_allclose(after, 0, atol=1e-7)


@pytest.mark.parametrize("name", UPDATES)
def test_update_is_a_minimum(
    name: str, state: State, literal_and_data: tuple[Literal, Data]
) -> None:
    literal, data = literal_and_data
    best = variables(UPDATES[name](state, data))
    least = augmented_lagrangian(literal, best, RHO)
    rng = np.random.default_rng(4)
    for _ in range(20):
        other = getattr(best, name) + rng.normal(size=N * K)
        assert augmented_lagrangian(literal, replace(best, **{name: other}), RHO) > least


def test_z1_minimises_over_the_box(state: State, literal_and_data: tuple[Literal, Data]) -> None:
    literal, _ = literal_and_data
    v = variables(replace(state, z1=update_z1(state.x, state, RHO)))
    slope = gradient(literal, v, "z1")
    # On the box: no slope inside, none that points inwards downhill at a face.
    np.testing.assert_allclose(np.clip(v.z1 - slope, 0, 1), v.z1, atol=1e-7)
    assert v.z1.min() == 0.0
    assert v.z1.max() == 1.0


def test_z2_minimises_over_the_sphere(state: State, literal_and_data: tuple[Literal, Data]) -> None:
    literal, _ = literal_and_data
    v = variables(replace(state, z2=update_z2(state.x, state, RHO)))
    slope, outward = gradient(literal, v, "z2"), v.z2 - 0.5
    assert outward @ outward == pytest.approx(N * K / 4)
    tangent = slope - outward * (slope @ outward) / (outward @ outward)
    np.testing.assert_allclose(tangent, 0, atol=1e-7)
    least = augmented_lagrangian(literal, v, RHO)
    for direction in np.random.default_rng(4).normal(size=(50, N * K)):
        other = 0.5 + direction * np.sqrt(N * K / 4) / np.linalg.norm(direction)
        assert augmented_lagrangian(literal, replace(v, z2=other), RHO) > least


def test_duals_ascend_along_their_gradient(
    state: State, literal_and_data: tuple[Literal, Data]
) -> None:
    literal, data = literal_and_data
    before, after = variables(state), variables(update_y(state, data, RHO))
    for name in (f"y{t}" for t in range(1, 11)):
        change = np.atleast_1d(getattr(after, name)) - np.atleast_1d(getattr(before, name))
        expected = RHO * gradient(literal, before, name)
        np.testing.assert_allclose(change, expected, atol=1e-6, err_msg=name)


def test_residuals_are_the_norms_of_the_dual_gradients(
    state: State, literal_and_data: tuple[Literal, Data]
) -> None:
    literal, data = literal_and_data
    v = variables(state)
    duals = {
        "simplex": "y1",
        "box": "y2",
        "sphere": "y3",
        "cardinality": "y4",
        "mean": "y5",
        "must_link": "y6",
        "must_link_copy": "y7",
        "cannot_link": "y8",
        "cannot_link_copy": "y9",
        "linear": "y10",
    }
    residuals = update_y(state, data, RHO).residuals
    assert residuals.keys() == duals.keys()
    for name, dual in duals.items():
        expected = np.linalg.norm(gradient(literal, v, dual))
        assert residuals[name] == pytest.approx(expected, abs=1e-6)
