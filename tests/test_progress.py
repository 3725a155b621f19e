"""A callback is told how far the fit has come, and can end it."""

from __future__ import annotations

import logging
import pickle
from itertools import pairwise

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    InfeasibleConstraintsError,
    MustLink,
    Progress,
    SolverTimeoutError,
    audit,
    deadline,
    progress,
)
from corral.progress import PHASES, Reporter

N, K = 40, 3
X = np.random.default_rng(0).normal(size=(N, 2))
VALUES = np.arange(1, N + 1)
RULES = {
    "none": [],
    "sizes": [ClusterSizes([10, 10, 20])],
    "totals": [ClusterTotals(VALUES, maximum=300)],
    "links": [MustLink([(0, 1), (2, 3)]), CannotLink([(0, 2), (1, 4)])],
    "soft": [CannotLink([(0, 2), (1, 4)], weight=0.3), ClusterSizes(minimum=8)],
}


@pytest.fixture
def eager(monkeypatch):
    """Everything is told, however fast it comes."""
    monkeypatch.setattr(progress, "PACE", 0.0)
    monkeypatch.setattr(progress, "LINE_PACE", 0.0)


def model(**options):
    return ConstrainedKMeans(K, random_state=0, **{"n_init": 2, **options})


def told(rules, fitted=None, **options):
    seen = []
    fitted = model(**options) if fitted is None else fitted
    fitted.fit(X, constraints=rules, callback=seen.append)
    return fitted, seen


@pytest.mark.parametrize("kind", RULES)
def test_what_a_callback_sees(kind, eager):
    fitted, seen = told(RULES[kind], time_limit=1e3)
    *inside, last = (p for p in seen if p.phase != "presolve")
    assert [p.phase for p in seen[: -len(inside) - 1]] == ["presolve"] * seen.index(inside[0])
    places = [(PHASES.index(p.phase), p.iteration) for p in inside]
    assert places == sorted(places)
    assert {p.phase for p in inside} == set(PHASES)
    assert {(p.restart, p.n_restarts) for p in inside} == {(1, 1)}
    assert last.phase == "audit"
    found = [p.best for p in seen if p.best is not None]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(fitted.report_.objective, rel=1e-9)
    assert all(earlier.elapsed <= later.elapsed for earlier, later in pairwise(seen))
    assert all(p.elapsed + p.left == pytest.approx(1e3, abs=1.0) for p in seen)


def test_every_iteration_of_admm_is_counted(eager):
    fitted, seen = told(RULES["sizes"], n_init=1)
    counted = [p.iteration for p in seen if p.phase == "admm"]
    assert sorted(set(counted)) == list(range(fitted.n_iter_ + 2))  # the last is the answer from it
    assert all(p.left is None for p in seen)


def test_labels_that_may_break_rules_are_never_the_best(eager):
    _, seen = told(RULES["links"], model(repair=False))
    assert all(p.best is None for p in seen)


def test_a_callback_changes_nothing(eager):
    fitted, seen = told(RULES["sizes"])
    alone = model().fit(X, constraints=RULES["sizes"])
    np.testing.assert_array_equal(fitted.labels_, alone.labels_)
    assert len(seen) > 100
    labels = model().fit_predict(X, constraints=RULES["sizes"], callback=lambda _: None)
    np.testing.assert_array_equal(labels, alone.labels_)


@pytest.mark.parametrize("kind", RULES)
def test_true_ends_the_fit_with_the_best_so_far(kind, eager):
    seen = []

    def stop(p):
        seen.append(p)
        known = [p for p in seen if p.best is not None]
        return np.bool_(len(known) == 1)  # once is enough, and NumPy's True is True as well

    fitted = model(n_init=50).fit(X, constraints=RULES[kind], callback=stop)
    assert audit(X, fitted.labels_, RULES[kind], K).feasible
    first = next(p.best for p in seen if p.best is not None)
    assert fitted.report_.objective <= first * (1 + 1e-9)


def test_true_before_any_answer_is_a_timeout(eager):
    rng = np.random.default_rng(0)
    hidden = rng.permutation(np.arange(60) % 4)
    pairs = rng.integers(0, 60, size=(240, 2))
    rules = [CannotLink(pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]), ClusterSizes([15] * 4)]
    with pytest.raises(SolverTimeoutError, match="the callback stopped the fit after"):
        ConstrainedKMeans(4).fit(
            rng.normal(size=(60, 2)), constraints=rules, callback=lambda _: True
        )


def test_other_answers_than_true_are_ignored(eager):
    seen = []
    model().fit(X, callback=lambda p: seen.append(p) or "go on")
    assert "search" in {p.phase for p in seen}


@pytest.mark.parametrize("phase", [*PHASES, "audit"])
def test_errors_of_the_callback_come_out(phase, eager):
    def fail(p):
        if p.phase == phase:
            raise KeyError(phase)

    fitted = model()
    with pytest.raises(KeyError, match=phase):
        fitted.fit(X, constraints=RULES["totals"], callback=fail)
    assert not hasattr(fitted, "labels_")


def test_a_callback_is_a_function():
    with pytest.raises(TypeError, match=r"`callback` is 3; it must be a function"):
        model().fit(X, callback=3)


def test_contradictions_have_phases_of_their_own(eager):
    rules = [CannotLink([(i, j) for i in range(4) for j in range(i)])]
    seen = []
    with pytest.raises(InfeasibleConstraintsError):
        model().fit(X, constraints=rules, callback=seen.append)
    assert all(p.best is None for p in seen)
    _, seen = told(rules, on_infeasible="relax")
    assert [p.phase for p in seen][-2:] == ["relax", "audit"]
    assert all(p.best is None for p in seen)


def test_verbose_logs_where_the_fit_is(caplog, eager):
    with caplog.at_level(logging.INFO, "corral"):
        fitted = model(verbose=True, time_limit=100.0).fit(X, constraints=RULES["sizes"])
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith(f"admm {fitted.n_iter_}") for line in lines)
    assert any(line.startswith("search, best ") for line in lines)
    assert any(line.startswith("ADMM: objective ") for line in lines)
    assert any(line.endswith(" s left") for line in lines)


class Clock:
    now = 0.0

    def process_time(self):
        return self.now

    def monotonic(self):
        self.now += 0.001
        return self.now


def test_calls_keep_their_pace(monkeypatch):
    """At most ten a second, however often the fit asks, and the log once a second."""
    clock, times, lines = Clock(), [], []
    monkeypatch.setattr(deadline, "time", clock)
    monkeypatch.setattr(progress.logger, "info", lambda *_: lines.append(clock.now))
    reporter = Reporter(lambda p: times.append(p.elapsed))
    for _ in range(1000):
        reporter.step()
        assert not reporter.deadline.passed
    assert np.diff(times).min() >= progress.PACE
    assert np.diff(times).max() <= progress.PACE + 0.02
    assert np.diff(lines).min() >= progress.LINE_PACE - 0.01
    reporter.finish(1.0)
    assert times[-1] == pytest.approx(clock.now, abs=0.01)


def test_a_deadline_in_another_process_tells_nobody():
    seen = []
    reporter = Reporter(seen.append, 100.0)
    copied = pickle.loads(pickle.dumps(reporter.deadline))
    assert copied == reporter.deadline
    assert 99.0 < copied.left <= 100.0
    assert not copied.passed
    before = len(seen)
    copied.watch.step(1.0)
    assert len(seen) == before


def test_progress_in_words():
    assert str(Progress("search", 1, 1, 7, 1234567.0, 1.0, 9.04)) == (
        "search 7, best 1,234,567, 9.0 s left"
    )
