"""The recorder counts what the paper counts, and the history travels."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from corral import CannotLink, ClusterSizes, ConstrainedKMeans
from corral.admm.history import History, Recorder, Relaxation


def one_hot(*labels: int, k: int = 3) -> NDArray[np.float64]:
    return np.eye(k)[list(labels)]


def test_violations_of_the_rounded_labels() -> None:
    recorder = Recorder(
        3,
        must_link=np.array([[0, 1], [1, 2], [1, 2]]),
        cannot_link=np.array([[0, 1], [2, 3]]),
        sizes=(np.array([2, 1, 1]), np.array([2, 1, 1])),
    )
    recorder.record(one_hot(0, 0, 1, 2), 1.0, 20.0, {})  # the twice given must-link counts twice
    recorder.record(0.4 * one_hot(1, 1, 1, 1), 1.0, 20.0, {})
    history = recorder.history()
    assert history.card_violations.tolist() == [0, 3]
    assert history.must_link_violations.tolist() == [2, 0]
    assert history.cannot_link_violations.tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_card_violations_are_the_fewest_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 5, 3
    labels = rng.integers(0, k, n)
    possible = np.bincount(rng.integers(0, k, n), minlength=k)
    lower, upper = possible - rng.integers(0, 2, k), possible + rng.integers(0, 2, k)
    every = np.array(np.meshgrid(*[range(k)] * n)).reshape(n, -1).T
    sizes = (every[:, :, None] == np.arange(k)).sum(axis=1)
    fits = ((sizes >= lower) & (sizes <= upper)).all(axis=1)
    recorder = Recorder(k, sizes=(lower, upper))
    recorder.record(np.eye(k)[labels], 0.0, 1.0, {})
    fewest = (every[fits] != labels).sum(axis=1).min()
    assert recorder.history().card_violations[0] == fewest


def test_contracted_points_are_recorded_as_rows() -> None:
    group = np.array([0, 0, 1, 2])
    recorder = Recorder(
        3,
        cannot_link=np.array([[1, 2]]),
        sizes=(np.array([3, 1, 0]), np.array([3, 1, 0])),
        group=group,
        record_x=[1],
    )
    recorder.record(one_hot(0, 0, 1), 1.0, 20.0, {})
    history = recorder.history()
    assert history.cannot_link_violations.tolist() == [1]
    assert history.card_violations.tolist() == [0]
    np.testing.assert_array_equal(history.x[1], one_hot(0, 0, 0, 1))


def test_a_recount_is_about_the_last_iteration() -> None:
    recorder = Recorder(
        2,
        cannot_link=np.array([[1, 2]]),
        sizes=(np.array([2, 2]), np.array([2, 2])),
        group=np.array([0, 0, 1, 2]),
    )
    recorder.recount(np.array([0, 0, 0]))  # nothing recorded, nothing to put right
    assert len(recorder) == recorder.broken == 0
    recorder.record(None, 1.0, 20.0, {}, np.array([0, 0, 0]))
    recorder.record(None, 1.0, 20.0, {})
    recorder.recount(np.array([0, 1, 0]))
    history = recorder.history()
    assert history.card_violations.tolist() == [2, 1]
    assert history.cannot_link_violations.tolist() == [1, 0]


def test_arrays_have_one_entry_an_iteration_and_x_is_a_copy() -> None:
    recorder = Recorder(2, record_x=(2, 99))
    x = np.array([[0.7, 0.3]])
    for t in range(3):
        recorder.record(x, float(t), 20.0 * 1.1**t, {"box": 0.5, "sphere": float(t)})
    kept = recorder.history().x
    x[:] = 0.0
    history = recorder.history()
    assert len(history) == 3
    assert history.objective.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(history.rho, [20.0, 22.0, 24.2])
    assert {name: len(values) for name, values in history.residuals.items()} == {
        "box": 3,
        "sphere": 3,
    }
    assert kept.keys() == {2}
    np.testing.assert_array_equal(kept[2], [[0.7, 0.3]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_not_finite_is_refused(bad: float) -> None:
    recorder = Recorder(2)
    with pytest.raises(FloatingPointError, match="iteration 1 with rho = 20"):
        recorder.record(np.eye(2), bad, 20.0, {})


def test_steady_looks_at_the_last_window_only() -> None:
    recorder = Recorder(2)
    for t, objective in enumerate([9.0, 5.0] + [1.0] * 10):
        assert not recorder.steady(1e-5, window=10), t
        recorder.record(np.eye(2), objective, 1.0, {})
    assert recorder.steady(0.0, window=10)
    assert not recorder.steady(0.5, window=12)


def test_pickle_repr_and_frozen() -> None:
    recorder = Recorder(2, record_x=[1])
    assert repr(recorder.history()) == "History(0 iterations)"
    recorder.record(np.eye(2), 12.5, 20.0, {"box": 0.25})
    history = recorder.history()
    answer = Relaxation(np.arange(2), np.zeros((2, 1)), history, 1, False)
    again = pickle.loads(pickle.dumps(answer))
    assert isinstance(again.history, History)
    np.testing.assert_array_equal(again.history.x[1], history.x[1])
    np.testing.assert_array_equal(again.history.residuals["box"], [0.25])
    np.testing.assert_array_equal(again.labels, [0, 1])
    assert repr(again.history) == repr(history)
    assert len(repr(history)) < 100
    with pytest.raises(FrozenInstanceError):
        history.rho = np.zeros(1)  # type: ignore[misc]


@pytest.mark.parametrize("max_iter", [5, 10, 1000])
def test_the_last_counts_are_those_of_the_labels(
    max_iter: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a fit counts the violations of some iterations only."""
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(5000, 2)), np.array([800, 1700, 2500])
    pairs = rng.permutation(len(X))[:1000].reshape(-1, 2)
    monkeypatch.setattr("corral.numbers.ADMM_ENTRIES", 2 * X.shape[0])
    model = ConstrainedKMeans(3, n_init=1, repair=False, max_iter=max_iter, random_state=0)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, constraints=[CannotLink(pairs), ClusterSizes(sizes, ordered=True)])
    labels, history = model.labels_, model.history_
    together = np.count_nonzero(labels[pairs[:, 0]] == labels[pairs[:, 1]])
    misplaced = np.abs(np.bincount(labels, minlength=3) - sizes).sum() // 2
    assert history.cannot_link_violations[-1] == together
    assert history.card_violations[-1] == misplaced
