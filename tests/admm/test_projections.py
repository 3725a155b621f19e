"""Laws of projections: the answer lies in the set, is nearest to the point, and stays put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corral.admm.projections import project_apart, project_box, project_interval, project_sphere

Vector = NDArray[np.floating[Any]]
SIZE = 12
RNG = np.random.default_rng(0)
LOWER = RNG.uniform(-1, 0, SIZE)
UPPER = LOWER + RNG.uniform(0, 1, SIZE)
BINARY_RADIUS = np.sqrt(SIZE) / 2


def on_sphere(radius: float) -> Callable[[Vector], Vector]:
    return lambda a: 0.5 + radius * (a - 0.5) / np.linalg.norm(a - 0.5)


# Each with a way to make members of the set that does not use the projection.
CASES: dict[str, tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]]] = {
    "box": (project_box, lambda a: (np.sin(a) + 1) / 2),
    "interval": (
        lambda a: project_interval(a, LOWER, UPPER),
        lambda a: LOWER + (UPPER - LOWER) * (np.sin(a) + 1) / 2,
    ),
    "sphere through the binaries": (project_sphere, on_sphere(BINARY_RADIUS)),
    "small sphere": (lambda a: project_sphere(a, 0.3), on_sphere(0.3)),
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


@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (0.2, 5.0)])
def test_apart_is_nearest_in_its_metric(weights: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    for a, b in rng.normal(0.5, 1, (200, 2, 1)):
        near_a, near_b = project_apart(a, b, *weights)
        assert (near_a + near_b <= 1 + 1e-14).all()
        best = weights[0] * (near_a - a) ** 2 + weights[1] * (near_b - b) ** 2
        other_a = a + rng.normal(0, 1, 50)
        other_b = np.minimum(b + rng.normal(0, 1, 50), 1 - other_a)
        other = weights[0] * (other_a - a) ** 2 + weights[1] * (other_b - b) ** 2
        assert (other >= best - 1e-12).all()


def test_apart_stays_and_broadcasts_weights_per_edge() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.5, 1, (2, 7, 3))
    weight_a, weight_b = rng.uniform(1, 4, (2, 7, 1))
    once = project_apart(a, b, weight_a, weight_b)
    inside = a + b <= 1
    np.testing.assert_array_equal(once[0][inside], a[inside])
    np.testing.assert_array_equal(once[1][inside], b[inside])
    np.testing.assert_allclose(project_apart(*once, weight_a, weight_b), once, atol=1e-15)
    # The moves of the two sides are in the ratio of the other's weight.
    np.testing.assert_allclose((a - once[0]) * weight_a, (b - once[1]) * weight_b, atol=1e-14)
