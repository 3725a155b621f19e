"""How Algorithm 1 behaves: where it ends, when it stops, what it records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from admm_cases import algorithm1
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from corral.admm.algorithm1 import start, step, update_w
from corral.admm.algorithm1.data import Data
from corral.rules import LinearRows

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
K = 3


@pytest.fixture(scope="module")
def wine() -> tuple[Vector, Labels]:
    """The features in [-1, 1] and the classes."""
    points, classes = load_wine(return_X_y=True)
    return 2 * (points - points.min(axis=0)) / np.ptp(points, axis=0) - 1, classes


@pytest.fixture(scope="module")
def kmeans(wine: tuple[Vector, Labels]) -> Labels:
    labels: Labels = KMeans(K, n_init=1, random_state=0).fit_predict(wine[0]).astype(np.int64)
    return labels


@pytest.fixture(scope="module")
def rules(wine: tuple[Vector, Labels], kmeans: Labels) -> dict[str, Any]:
    """Twenty pairs of each kind from the classes, the class sizes in the order of the start."""
    classes = wine[1]
    pairs = np.random.default_rng(0).integers(0, len(classes), (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    sizes = np.sort(np.bincount(classes))[np.argsort(np.argsort(np.bincount(kmeans)))]
    return {"must_link": pairs[same][:20], "cannot_link": pairs[~same][:20], "sizes": sizes}


METHODS = [(), ("sizes",), ("must_link", "cannot_link"), ("must_link", "cannot_link", "sizes")]


@pytest.mark.parametrize("given", METHODS)
def test_ends_feasible_and_binary_from_kmeans(
    given: tuple[str, ...], wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    points, _ = wine
    answer = algorithm1(points, kmeans, K, **{name: rules[name] for name in given})
    history = answer.history
    assert answer.converged
    assert answer.n_iter == len(history) < 1000
    np.testing.assert_allclose(answer.x, np.eye(K)[answer.labels], atol=1e-4)
    assert history.card_violations[-1] == 0
    assert history.must_link_violations[-1] == 0
    assert history.cannot_link_violations[-1] == 0
    assert all(values[-1] < 1e-2 for values in history.residuals.values())
    means = np.array([points[answer.labels == j].mean(axis=0) for j in range(K)])
    np.testing.assert_allclose(answer.centers, means, atol=1e-3)
    inertia = ((points - means[answer.labels]) ** 2).sum()
    assert history.objective[-1] == pytest.approx(inertia, rel=1e-4)


@pytest.mark.parametrize("rho", [0.01, 1.0])
def test_random_start_with_a_small_rho_survives_empty_clusters(
    rho: float, wine: tuple[Vector, Labels]
) -> None:
    labels = np.random.default_rng(0).integers(0, K, len(wine[0]))
    data = Data.of(wine[0], K)
    state, least = start(data, labels), np.inf
    for _ in range(10):
        state = step(state, data, rho)
        least = min(least, state.x.sum(axis=0).min())
    assert least < 0, "no cluster was ever empty: the test has nothing to show"
    # How many iterations it takes depends on rounding: 600 to 1,100 with different BLAS builds.
    answer = algorithm1(wine[0], labels, K, rho=rho, max_iter=3000)
    assert np.isfinite(answer.x).all()
    assert answer.converged


@pytest.mark.parametrize("largest_gram", [0, 1024])
def test_clusters_that_are_all_empty_get_the_middle(
    largest_gram: int, wine: tuple[Vector, Labels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.admm.algorithm1.data.LARGEST_GRAM", largest_gram)
    data = Data.of(wine[0], K)
    state = start(data, np.zeros(len(wine[0]), np.int64))
    w = update_w(-state.x, state, data, 20.0)
    np.testing.assert_array_equal(w, 1 / len(wine[0]))


def test_a_cluster_that_starts_empty_is_put_in_the_middle(wine: tuple[Vector, Labels]) -> None:
    points, _ = wine
    data = Data.of(points, K)
    w = start(data, np.zeros(len(points), np.int64)).w
    np.testing.assert_allclose(data.centers(w), np.tile(points.mean(axis=0), (K, 1)))
    assert np.isfinite(algorithm1(points, np.zeros(len(points), np.int64), K).x).all()


def test_stops_by_the_papers_rule(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    objective = algorithm1(wine[0], kmeans, K, tol=1e-3).history.objective
    spread = [np.std(objective[t - 10 : t]) for t in range(10, len(objective) + 1)]
    assert spread[-1] <= 1e-3
    assert min(spread[:-1]) > 1e-3


def test_max_iter_ends_it_unconverged(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    answer = algorithm1(wine[0], kmeans, K, max_iter=12)
    assert answer.n_iter == 12
    assert not answer.converged


def test_rho_grows_after_every_fifth_iteration(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    rho = algorithm1(wine[0], kmeans, K, max_iter=12, tol=0).history.rho
    np.testing.assert_allclose(rho, [20.0] * 5 + [22.0] * 5 + [24.2] * 2)
    rho = algorithm1(wine[0], kmeans, K, rho=1, rho_growth=2, rho_every=3, max_iter=4).history.rho
    np.testing.assert_allclose(rho, [1, 1, 1, 2])


def test_sparse_equals_dense(
    wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    points = np.where(np.abs(wine[0]) < 0.5, 0.0, wine[0])
    dense = algorithm1(points, kmeans, K, max_iter=30, **rules)
    thin = algorithm1(sparse.csr_array(points), kmeans, K, max_iter=30, **rules)
    np.testing.assert_allclose(thin.x, dense.x, atol=1e-9)
    np.testing.assert_allclose(thin.centers, dense.centers, atol=1e-9)


def test_single_precision_is_computed_in_double(
    wine: tuple[Vector, Labels], kmeans: Labels
) -> None:
    single = wine[0].astype(np.float32)
    answer = algorithm1(single, kmeans, K, max_iter=5)
    expected = algorithm1(single.astype(np.float64), kmeans, K, max_iter=5)
    assert answer.x.dtype == np.float64
    np.testing.assert_array_equal(answer.x, expected.x)


def test_same_input_same_answer_and_input_unchanged(
    wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    points, labels = wine[0].copy(), kmeans.copy()
    given = {name: value.copy() for name, value in rules.items()}
    answers = [algorithm1(points, labels, K, max_iter=20, **given) for _ in range(2)]
    np.testing.assert_array_equal(answers[0].x, answers[1].x)
    np.testing.assert_array_equal(points, wine[0])
    np.testing.assert_array_equal(labels, kmeans)
    for name, value in given.items():
        np.testing.assert_array_equal(value, rules[name])


def test_renaming_clusters_renames_the_answer(
    wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    order = np.array([2, 0, 1])  # cluster j becomes order[j]
    renamed = {**rules, "sizes": rules["sizes"][np.argsort(order)]}
    first = algorithm1(wine[0], kmeans, K, max_iter=30, **rules)
    second = algorithm1(wine[0], order[kmeans], K, max_iter=30, **renamed)
    np.testing.assert_allclose(second.x[:, order], first.x, atol=1e-9)


def test_permuting_rows_permutes_the_answer(
    wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    order = np.random.default_rng(1).permutation(len(kmeans))
    place = np.argsort(order)
    moved = {
        **rules,
        "must_link": place[rules["must_link"]],
        "cannot_link": place[rules["cannot_link"]],
    }
    first = algorithm1(wine[0], kmeans, K, max_iter=30, **rules)
    second = algorithm1(wine[0][order], kmeans[order], K, max_iter=30, **moved)
    np.testing.assert_allclose(second.x, first.x[order], atol=1e-9)


def test_empty_lists_of_pairs_are_no_constraint(
    wine: tuple[Vector, Labels], kmeans: Labels
) -> None:
    none = np.empty((0, 2), np.int64)
    answer = algorithm1(wine[0], kmeans, K, must_link=none, cannot_link=none, max_iter=9)
    plain = algorithm1(wine[0], kmeans, K, max_iter=9)
    np.testing.assert_array_equal(answer.x, plain.x)
    assert answer.history.residuals.keys() == {"simplex", "box", "sphere", "mean"}


def test_history_keeps_x_of_the_iterations_asked_for(
    wine: tuple[Vector, Labels], kmeans: Labels
) -> None:
    answer = algorithm1(wine[0], kmeans, K, max_iter=20, record_x=(1, 15, 20, 200))
    assert answer.history.x.keys() == {1, 15, 20}
    np.testing.assert_array_equal(answer.history.x[20], answer.x)
    early = algorithm1(wine[0], kmeans, K, max_iter=15)
    np.testing.assert_array_equal(answer.history.x[15], early.x)


def test_progress_is_told_every_iteration(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    told: list[tuple[int, float, float, int]] = []
    history = algorithm1(
        wine[0], kmeans, K, max_iter=7, progress=lambda *news: told.append(news)
    ).history
    iterations, objectives, residuals, broken = zip(*told, strict=True)
    assert iterations == tuple(range(1, 8))
    np.testing.assert_array_equal(objectives, history.objective)
    together = np.sqrt(sum(values**2 for values in history.residuals.values()))
    np.testing.assert_allclose(residuals, together)
    np.testing.assert_array_equal(broken, np.zeros(7))


def test_linear_rows_that_say_the_sizes_end_with_the_sizes(
    wine: tuple[Vector, Labels], kmeans: Labels, rules: dict[str, Any]
) -> None:
    A = sparse.csr_array(np.tile(np.eye(K), len(kmeans)))
    sizes = rules["sizes"].astype(float)
    by_rows = algorithm1(wine[0], kmeans, K, linear=LinearRows(A, sizes, sizes))
    by_sizes = algorithm1(wine[0], kmeans, K, sizes=rules["sizes"])
    np.testing.assert_array_equal(np.bincount(by_rows.labels), rules["sizes"])
    # The same penalty by two ways: the same iterates.
    np.testing.assert_allclose(by_rows.x, by_sizes.x, atol=1e-6)


def test_no_linear_row_is_no_constraint(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    rows = LinearRows(sparse.csr_array((0, len(kmeans) * K)), np.empty(0), np.empty(0))
    answer = algorithm1(wine[0], kmeans, K, linear=rows, max_iter=9)
    np.testing.assert_allclose(answer.x, algorithm1(wine[0], kmeans, K, max_iter=9).x, atol=1e-12)


def test_linear_inequalities_are_refused(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    rows = LinearRows(sparse.csr_array(np.ones((2, len(kmeans) * K))), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match=r"row 1 has bounds \[1, 4\]"):
        algorithm1(wine[0], kmeans, K, linear=replace(rows, upper=np.array([1.0, 4.0])))


def test_overflow_is_an_error_and_not_a_nan(wine: tuple[Vector, Labels], kmeans: Labels) -> None:
    with pytest.raises(FloatingPointError, match="squared norms"):
        algorithm1(wine[0] * 1e160, kmeans, K)
    with pytest.raises(FloatingPointError, match="iteration"):
        algorithm1(wine[0] * 1e80, kmeans, K, rho_growth=1)
