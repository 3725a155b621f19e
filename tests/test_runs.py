"""How many runs are made, what is said of them, and what their recombination gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import problem_of, uniform
from sklearn.exceptions import ConvergenceWarning

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink
from corral.assign import Assignment
from corral.polish import evaluate, first_answer, is_clear, recombine
from corral.run import Run
from corral.solve import best_of_runs
from corral.start import make_start


class Told:
    """Runs whose objectives are given; a run may use up the budget of integer programs."""

    def __init__(self, objectives, *, agree, spend=False):
        problem = problem_of(uniform(12), [], 2)
        plan = replace(problem.plan, restarts=len(objectives), agree=agree, children=0)
        self.problem = replace(problem, plan=plan)
        self.first = Run(self.problem, None, None)(0)
        self.left, self.spend = list(objectives), spend

    def beginning(self, seed):
        return self

    def in_time(self, seed):
        if self.spend:
            self.problem.deadline.budget.left = 0.0
        return replace(self.first, objective=self.left.pop(0))


@pytest.mark.parametrize(
    ("objectives", "agree", "made"),
    [
        ([3.0, 3.0, 1.0], 2, "2, 2 of them equal"),
        ([5.0, 3.0, 3.0 * (1 + 1e-12), 1.0], 2, "3, 2 of them equal"),
        ([5.0, 5.0 * (1 - 1e-6), 3.0], 2, "3"),
        ([3.0, 3.0, 3.0], 0, "3"),
    ],
)
def test_runs_end_when_the_best_is_found_again(objectives, agree, made):
    found = best_of_runs(Told(objectives, agree=agree), np.random.RandomState(0))
    assert found.plan.made == made
    assert not found.spent
    assert found.objective == min(objectives[: int(made[0])])


def test_runs_that_a_budget_ends_are_told():
    found = best_of_runs(Told([5.0, 4.0, 3.0], agree=2, spend=True), np.random.RandomState(0))
    assert found.plan.made == "1 of 3, ended by the budget of integer programs"
    assert found.spent


def test_a_cut_is_in_the_report_and_one_warning(monkeypatch):
    def spent(run, seed):
        run.problem.deadline.budget.left = 0.0
        return Run.__call__(run, seed)

    monkeypatch.setattr(Run, "in_time", spent)
    with pytest.warns(ConvergenceWarning, match="integer programs took all") as caught:
        model = ConstrainedKMeans(2, n_init=4, random_state=0).fit(uniform(20))
    assert len(caught) == 1
    assert "1 of 4, ended by the budget of integer programs" in model.report_.how()


def test_as_many_runs_as_asked_for():
    model = ConstrainedKMeans(2, n_init=4, random_state=0).fit(uniform(20))
    assert model.report_.plan.made == "4"
    assert model.report_.plan.children == 0


def scene(kind, seed):
    """A problem, and two answers to it that differ."""
    rng = np.random.default_rng(seed)
    X, k = rng.random((40, 2)), 5
    hidden = rng.permutation(np.arange(40) % k)
    pairs = rng.integers(40, size=(30, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    rules = {
        "free": [],
        "sizes": [ClusterSizes([8] * k)],
        "uneven": [ClusterSizes([4, 6, 8, 10, 12])],
        "pairs": [MustLink(pairs[same]), CannotLink(pairs[~same])],
    }[kind]
    problem = problem_of(X, rules, k)
    random_state = np.random.RandomState(seed)
    starts = (make_start(problem.rules, problem.rows, "random", random_state) for _ in range(2))
    return X, rules, problem, [first_answer(problem, start.centers) for start in starts]


@pytest.mark.parametrize("kind", ["free", "sizes", "uneven", "pairs"])
def test_children_are_never_worse_and_obey_the_rules(kind):
    for seed in range(2):
        X, rules, problem, answers = scene(kind, seed)
        problem = replace(problem, plan=replace(problem.plan, children=8))
        found, again = (recombine(problem, answers, np.random.RandomState(seed)) for _ in range(2))
        np.testing.assert_array_equal(found.labels, again.labels)
        assert found.objective <= min(answer.objective for answer in answers)
        labels = problem.rules.to_rows(found.labels)
        assert all(rule.violations(labels, 5).count == 0 for rule in rules)
        parts = [X[labels == j] for j in range(5)]
        inertia = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts if len(part))
        np.testing.assert_allclose(problem.objective(found.objective), inertia, rtol=1e-9)


def test_clear_answers_have_their_clusters_where_the_points_are():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [30.0, 30.0]])
    hidden = np.arange(80) % 4
    problem = problem_of(centers[hidden] + rng.normal(size=(80, 2)), [], 4)

    def answer(labels):
        return evaluate(problem, Assignment(labels, np.nan), np.zeros((4, 2)))

    assert is_clear(problem, answer(hidden))
    # Two blobs in one cluster, and one blob in two.
    shared = np.array([0, 0, 1, 2])[hidden]
    shared[hidden == 3] += rng.integers(2, size=20)
    assert not is_clear(problem, answer(shared))
    cloud = problem_of(uniform(80), [], 4)
    assert not is_clear(cloud, first_answer(cloud, uniform(4, seed=1) - cloud.rows.middle))
