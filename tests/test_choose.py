"""The fewest clusters against a search over all labels, and numbers of clusters side by side."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    InfeasibleConstraintsError,
    MustLink,
    Pin,
    SolverTimeoutError,
    choose_n_clusters,
)
from corral.feasibility import fewest_clusters

N = 5
RULES = {
    "none": [],
    "capacity": [ClusterTotals([5, 4, 3, 3, 3], maximum=8)],
    "packing": [ClusterTotals([4, 4, 4, 3, 3], maximum=7)],
    "clique": [CannotLink([(0, 1), (1, 2), (0, 2)]), ClusterSizes(maximum=3)],
    "odd cycle": [CannotLink([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])],
    "pin": [Pin({0: 2})],
    "soft pin": [Pin({0: 1}, weight=3.0), ClusterSizes(maximum=4)],
    "list": [ClusterSizes([2, 2, 1])],
    "joined": [MustLink([(0, 1), (1, 2)]), ClusterSizes(minimum=2), CannotLink([(2, 3)])],
    "shares": [
        GroupShares(list("aabbb"), maximum=0.5, minimum={"a": 0.2}),
        ClusterSizes(maximum=4),
    ],
}


def can(rules, k):
    """Whether some labels of k clusters break no hard rule, by trying all of them."""
    try:
        rules.check(N, k)
    except ValueError:
        return False
    every = (np.array(labels) for labels in product(range(k), repeat=N))
    return any(all(v.count == 0 for v in rules.hard.violations(one, k)) for one in every)


@pytest.mark.parametrize("name", RULES)
def test_the_fewest_clusters_are_those_of_a_search_over_all_labels(name):
    rules = ConstraintSet(RULES[name])
    able = [k for k in range(1, N + 1) if can(rules, k)]
    if not able:
        with pytest.raises(InfeasibleConstraintsError):
            fewest_clusters(N, rules)
    else:
        k, said = fewest_clusters(N, rules)
        assert k == able[0]
        assert said.startswith(f"{k} is the least number")
        assert k == 1 or f"{k - 1}:" in said


def test_a_fit_takes_the_fewest_and_says_so():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [9.0]])
    model = ConstrainedKMeans("fewest", random_state=0, n_init=1)
    model.fit(X, constraints=ClusterSizes(maximum=2))
    assert model.n_clusters_ == 3
    assert len(model.cluster_centers_) == 3
    assert "with 2:" in model.report_.fewest
    assert model.report_.fewest in str(model.report_)


def test_what_no_number_of_clusters_can_obey_is_infeasible():
    rules = ConstraintSet([MustLink([(0, 1)]), CannotLink([(0, 1)])])
    with pytest.raises(InfeasibleConstraintsError, match="0 and 1"):
        fewest_clusters(10_000, rules)
    with pytest.raises(InfeasibleConstraintsError, match="no number of clusters"):
        fewest_clusters(5, ConstraintSet([MustLink([(0, 1), (1, 2)]), ClusterSizes(maximum=2)]))


def test_other_words_are_refused_and_time_is_kept():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="'fewest'"):
        ConstrainedKMeans("few").fit(X)
    with pytest.raises(SolverTimeoutError, match="not decided"):
        ConstrainedKMeans("fewest", time_limit=1e-9).fit(X, constraints=ClusterSizes(maximum=2))


BLOBS = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 6, axis=0)
BLOBS = BLOBS + np.random.default_rng(0).normal(scale=0.3, size=BLOBS.shape)


@pytest.fixture(scope="module")
def choice():
    rules = ClusterSizes(maximum=10)
    options = {"random_state": 0, "n_subsamples": 1, "n_init": 1}
    return choose_n_clusters(BLOBS, [1, 2, 3, 4], constraints=rules, **options)


def test_three_blobs_are_three_clusters(choice):
    assert choice.n_clusters == 3
    assert "3 clusters" in choice.suggestion
    assert [each.feasible for each in choice.candidates] == [False, True, True, True]
    assert "at most 10" in choice.candidates[0].why
    assert choice.candidates[0].why in choice.suggestion
    best = choice.best
    assert best.stability == pytest.approx(1.0)
    assert best.inertia == best.model.inertia_
    inertia = [each.inertia for each in choice.candidates[1:]]
    assert inertia == sorted(inertia, reverse=True)
    assert len(str(choice).splitlines()) == 1 + 4 + 2
    assert json.loads(json.dumps(choice.to_dict()))["n_clusters"] == 3


def test_the_silhouette_is_scikit_learn_s(choice):
    from sklearn.metrics import silhouette_score

    for each in choice.candidates[1:]:
        assert each.silhouette == pytest.approx(silhouette_score(BLOBS, each.model.labels_))


def test_the_silhouette_has_the_metric_of_the_fit():
    from sklearn.metrics import silhouette_score

    X, options = BLOBS + 5.0, {"random_state": 0, "n_init": 1, "n_subsamples": 0}
    for metric, points in (("cosine", X), ("haversine", np.radians(X))):
        (two,) = choose_n_clusters(X, [2], metric=metric, **options).candidates
        expected = silhouette_score(points, two.model.labels_, metric=metric)
        assert two.silhouette == pytest.approx(expected)


def test_the_picture_has_three_panels(choice):
    pytest.importorskip("matplotlib").use("Agg")
    axes = choice.plot()
    assert [each.get_title(loc="left") for each in axes] == ["inertia", "silhouette", "stability"]
    labels = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert labels == ["suggested: 3", "rules cannot be obeyed"]


def test_rules_for_one_number_exclude_the_others():
    rules, options = ClusterSizes([6, 12]), {"random_state": 0, "n_init": 1}
    found = choose_n_clusters(BLOBS, [2, 3], constraints=rules, n_subsamples=1, **options)
    two, three = found.candidates
    assert two.feasible
    assert two.stability is None
    assert "exact" in two.why
    assert three.feasible is False
    assert "not for that number" in three.why
    assert found.n_clusters == 2


def test_when_time_is_over_the_rest_stays_empty():
    found = choose_n_clusters(BLOBS, [2, 3], time_limit=1e-9)
    assert [each.feasible for each in found.candidates] == [None, None]
    assert "time ran out" in found.suggestion
    assert found.best is None


@pytest.mark.parametrize(
    ("numbers", "options", "message"),
    [
        ([], {}, "is empty"),
        ([0], {}, "n_clusters"),
        ([99], {}, "n_samples=18"),
        ([2], {"time_limit": -1}, "time_limit"),
        ([2], {"n_subsamples": -1}, "n_subsamples"),
    ],
)
def test_bad_arguments_are_refused(numbers, options, message):
    with pytest.raises(ValueError, match=message):
        choose_n_clusters(BLOBS, numbers, **options)
