"""Laws of projections: the answer lies in the set, is nearest to the point, and stays put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corral.admm.algorithm1.updates import project_box, project_sphere
from corral.admm.copies import Ends, PairCopies

Vector = NDArray[np.floating[Any]]
SIZE = 12
BINARY_RADIUS = np.sqrt(SIZE) / 2


def on_sphere(a: Vector) -> Vector:
    moved: Vector = 0.5 + BINARY_RADIUS * (a - 0.5) / np.linalg.norm(a - 0.5)
    return moved


# Each with a way to make members of the set that does not use the projection.
CASES: dict[str, tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]]] = {
    "box": (project_box, lambda a: (np.sin(a) + 1) / 2),
    "sphere": (project_sphere, on_sphere),
}


@pytest.mark.parametrize("name", CASES)
def test_nearest_of_the_set(name: str) -> None:
    project, member = CASES[name]
    rng = np.random.default_rng(1)
    for a in rng.normal(0.5, 2, (20, SIZE)):
        distance = np.linalg.norm(project(a) - a)
        for other in rng.normal(0.5, 2, (50, SIZE)):
            assert np.linalg.norm(member(other) - a) >= distance - 1e-12


@pytest.mark.parametrize("name", CASES)
def test_members_stay_and_images_are_members(name: str) -> None:
    project, member = CASES[name]
    for a in np.random.default_rng(2).normal(0.5, 2, (20, SIZE)):
        np.testing.assert_allclose(project(member(a)), member(a), atol=1e-14)
        np.testing.assert_allclose(project(project(a)), project(a), atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_argument_is_left_alone(name: str) -> None:
    project, _ = CASES[name]
    a = np.random.default_rng(3).normal(0.5, 2, SIZE)
    kept = a.copy()
    project(a)
    np.testing.assert_array_equal(a, kept)


def test_the_sphere_holds_every_binary_vector() -> None:
    for bits in np.random.default_rng(4).integers(0, 2, (10, 4, 3)).astype(float):
        np.testing.assert_allclose(project_sphere(bits), bits, atol=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e-200])
def test_the_centre_of_the_sphere_and_its_neighbours_land_on_it(offset: float) -> None:
    image = project_sphere(np.full(SIZE, 0.5) + offset)
    assert np.linalg.norm(image - 0.5) == pytest.approx(BINARY_RADIUS)


def test_the_sphere_bears_large_arguments() -> None:
    image = project_sphere(np.linspace(-1e200, 1e200, SIZE))
    assert np.linalg.norm(image - 0.5) == pytest.approx(BINARY_RADIUS)


def apart(a: Vector, b: Vector, weights: tuple[float, float]) -> tuple[Vector, Vector]:
    """The copies that one hard cannot-link makes of two rows; without duals, a projection."""
    ends = Ends(np.arange(2), 2, 1.0 / np.array(weights), np.array([np.inf]), np.array([False]))
    x, rho = np.stack([a, b], axis=1), 3.0
    copies = PairCopies(ends, x)
    copies.update(x, rho)
    # The pull is rho z - y with y = rho (x - z).
    near = (copies.pull(rho) / rho + x) / 2.0
    return near[:, 0], near[:, 1]


@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (0.2, 5.0)])
def test_apart_is_nearest_in_its_metric(weights: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    for a, b in rng.normal(0.5, 1, (200, 2, 1)):
        near_a, near_b = apart(a, b, weights)
        assert (near_a + near_b <= 1 + 1e-14).all()
        best = weights[0] * (near_a - a) ** 2 + weights[1] * (near_b - b) ** 2
        other_a = a + rng.normal(0, 1, 50)
        other_b = np.minimum(b + rng.normal(0, 1, 50), 1 - other_a)
        other = weights[0] * (other_a - a) ** 2 + weights[1] * (other_b - b) ** 2
        assert (other >= best - 1e-12).all()


def test_rows_that_are_apart_stay() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.5, 1, (2, 7))
    once = apart(a, b, (2.0, 3.0))
    inside = a + b <= 1
    assert 0 < inside.sum() < len(inside)
    for near, given in zip(once, (a, b), strict=True):
        np.testing.assert_allclose(near[inside], given[inside], atol=1e-15)
    np.testing.assert_allclose(apart(*once, (2.0, 3.0)), once, atol=1e-14)
