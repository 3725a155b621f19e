"""Laws of projections: the answer lies in the set, is nearest to the point, and stays put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corral.admm.algorithm1 import project_box, project_sphere
from corral.admm.copies import TieCopies, Ties

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


def apart(rows: Vector, weights: Vector) -> Vector:
    """The copies that one clique of cannot-links makes of its rows; without duals, a projection."""
    m = len(rows)
    clique = Ties(
        groups=np.arange(m),
        start=np.array([0, m]),
        sign=np.ones(m),
        offset=np.ones(1),
        lower=np.zeros(1),
        upper=np.full(1, np.inf),
        inverse=1.0 / weights,
    )
    x, rho = rows.T, 3.0
    copies = TieCopies(clique, x)
    copies.update(x, rho)
    # The pull is rho z - y with y = rho (x - z).
    return ((copies.pull(rho) / rho + x) / 2.0).T


@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (0.2, 5.0), (1.0, 0.4, 2.0, 2.0)])
def test_apart_is_nearest_in_its_metric(weights: tuple[float, ...]) -> None:
    rng, metric = np.random.default_rng(5), np.array(weights)[:, None]
    for given in rng.normal(0.5, 1, (200, len(weights), 1)):
        near = apart(given, metric[:, 0])
        assert (near.sum(axis=0) <= 1 + 1e-14).all()
        best = (metric * (near - given) ** 2).sum()
        other = given + rng.normal(0, 1, (len(weights), 50))
        other[-1] = np.minimum(other[-1], 1 - other[:-1].sum(axis=0))
        assert ((metric * (other - given) ** 2).sum(axis=0) >= best - 1e-12).all()


def test_rows_that_are_apart_stay() -> None:
    rows, weights = np.random.default_rng(6).normal(0.5, 1, (2, 7)), np.array([2.0, 3.0])
    once = apart(rows, weights)
    inside = rows.sum(axis=0) <= 1
    assert 0 < inside.sum() < len(inside)
    np.testing.assert_allclose(once[:, inside], rows[:, inside], atol=1e-15)
    np.testing.assert_allclose(apart(once, weights), once, atol=1e-14)
