"""MixedGroups: rules are obeyed, categories are even, numbers do not depend on units or order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import (
    CannotLink,
    ClusterSizes,
    GroupShares,
    InfeasibleConstraintsError,
    MixedGroups,
    MustLink,
    Pin,
)
from corral.deal import deal
from corral.mixed.balance import least_loss
from corral.mixed.columns import standardized

pd = pytest.importorskip("pandas")


@parametrize_with_checks(
    [MixedGroups(3)],
    expected_failed_checks=lambda _: {"check_clustering": "blobs are to be torn apart"},
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def students():
    """A class list with names, words and numbers."""
    rng = np.random.default_rng(0)
    values = {
        "name": [f"s{i}" for i in range(31)],
        "gender": rng.choice(["f", "m"], 31),
        "needs": pd.Categorical(rng.choice(["none", "none", "support"], 31)),
        "early": rng.random(31) < 0.3,
        "maths": rng.integers(0, 21, 31),
        "reading": rng.integers(0, 21, 31).astype(float),
    }
    return pd.DataFrame(values)


def even(column, labels, k):
    """Whether each group has its share of each category, rounded down or up."""
    sizes = np.bincount(labels, minlength=k)
    for level in set(column):
        here = np.bincount(labels[column == level], minlength=k)
        wanted = np.mean(column == level) * sizes
        if np.any(here < np.floor(wanted + 1e-9)) or np.any(here > np.ceil(wanted - 1e-9)):
            return False
    return True


def test_a_class_list_works_as_it_is(students):
    rules = [MustLink([(0, 1), (2, 3)]), CannotLink([(0, 4), (5, 6)])]
    model = MixedGroups(6, random_state=0).fit(students, constraints=rules)
    labels, report = model.labels_, model.report_
    assert report.feasible
    assert labels[0] == labels[1]
    assert labels[5] != labels[6]
    assert sorted(report.sizes) == [5, 5, 5, 5, 5, 6]
    for name in ("gender", "needs", "early"):
        assert even(students[name].to_numpy(), labels, 6)
    assert report.balance.uneven == 0
    assert report.balance.features == ("maths", "reading")
    assert set(report.balance.counts) == {"gender", "needs", "early"}
    assert model.feature_names_in_.tolist() == list(students.columns)
    assert not hasattr(model, "predict")


@pytest.mark.parametrize("seed", range(5))
def test_means_of_a_class_are_within_half_a_point_of_what_is_possible(seed):
    """Scores are whole, so a group of s rows has a mean of ``i / s``: no nearer one is possible."""
    rng = np.random.default_rng(seed)
    scores, gender = rng.integers(0, 21, (31, 2)), rng.choice(["f", "m"], 31)
    needs = rng.choice(["none", "none", "none", "support"], 31)
    table = np.column_stack([scores.astype(object), gender, needs])
    rules = [MustLink([(0, 3), (5, 8)]), CannotLink([(0, 1), (9, 10)])]
    model = MixedGroups(6, random_state=0).fit(table, constraints=rules)
    assert model.report_.feasible
    assert even(gender, model.labels_, 6)
    assert even(needs, model.labels_, 6)
    for j in range(6):
        own = scores[model.labels_ == j]
        sums = np.arange(20 * len(own) + 1) / len(own)
        nearest = np.abs(sums[:, None] - scores.mean(axis=0)).min(axis=0)
        assert np.all(np.abs(own.mean(axis=0) - scores.mean(axis=0)) <= nearest + 0.5)


def test_the_table_of_the_report_is_that_of_pandas(students):
    model = MixedGroups(4, random_state=0).fit(students)
    grouped = students[["maths", "reading"]].groupby(model.labels_)
    balance = model.report_.balance
    np.testing.assert_allclose(balance.means, grouped.mean())
    np.testing.assert_allclose(balance.spreads, grouped.std(ddof=0))
    every = students[["maths", "reading"]]
    np.testing.assert_allclose(balance.mean, every.mean())
    away = (grouped.mean() - every.mean()) / every.std(ddof=0)
    assert balance.imbalance == pytest.approx(np.abs(away).to_numpy().max())
    levels, counts = balance.counts["gender"]
    crossed = pd.crosstab(model.labels_, students["gender"])
    assert levels == tuple(crossed.columns)
    np.testing.assert_array_equal(counts, crossed)


@pytest.mark.parametrize("objective", ["means", "moments", "diversity"])
def test_rules_of_every_kind_are_obeyed(objective):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 3))
    rules = [
        MustLink([(0, 1), (1, 2), (10, 11)]),
        CannotLink([(0, 10), (20, 21), (21, 22), (20, 22)]),
        Pin({5: 2, 6: 3}),
        ClusterSizes([10, 14, 16, 20], ordered=True),
    ]
    model = MixedGroups(4, objective, random_state=0).fit(points, constraints=rules)
    assert model.report_.feasible
    assert model.report_.sizes == (10, 14, 16, 20)
    assert model.inertia_ <= model.report_.most * (1.0 + 1e-12)


def test_default_rules_yield_to_rules_that_are_given():
    points = np.arange(12.0)[:, None]
    together = MustLink([(i, i + 1) for i in range(6)])  # seven rows in one group
    model = MixedGroups(3, random_state=0).fit(points, constraints=together)
    assert sorted(model.report_.sizes) == [2, 3, 7]
    with pytest.raises(InfeasibleConstraintsError):
        MixedGroups(3).fit(points, constraints=[together, ClusterSizes(maximum=5)])


def test_bounds_leave_sizes_as_equal_as_possible():
    points = np.random.default_rng(5).normal(size=(20, 2))
    model = MixedGroups(3, random_state=0)
    model.fit(points, constraints=ClusterSizes(minimum=3, maximum=9))
    assert sorted(model.report_.sizes) == [6, 7, 7]
    model.fit(
        points, constraints=ClusterSizes(minimum=[1, 5, 6], maximum=[2, 20, 20], ordered=True)
    )
    assert model.report_.sizes[0] in (1, 2)


def test_labels_do_not_depend_on_units():
    points = np.random.default_rng(2).normal(size=(40, 2))
    labels = MixedGroups(4, random_state=0).fit_predict(points)
    moved = points * [8.0, 0.25] + [64.0, -2.0]
    found = MixedGroups(4, random_state=0).fit(moved)
    np.testing.assert_array_equal(found.labels_, labels)
    plain = MixedGroups(4, random_state=0, standardize=False).fit(moved)
    raw = moved - moved.mean(axis=0)
    inertia = sum(
        ((raw[plain.labels_ == j] - raw[plain.labels_ == j].mean(axis=0)) ** 2).sum()
        for j in range(4)
    )
    assert plain.inertia_ == pytest.approx(inertia)


def test_the_inertia_is_above_that_of_random_groups():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(200, 5))
    model = MixedGroups(10, random_state=0).fit(points)
    seen = standardized(points)
    for _ in range(20):
        labels = rng.permutation(200) % 10
        inside = sum(
            ((seen[labels == j] - seen[labels == j].mean(axis=0)) ** 2).sum() for j in range(10)
        )
        assert inside < model.inertia_


def test_weights_count_as_copies():
    rng = np.random.default_rng(4)
    points, weight = rng.normal(size=(9, 1)), rng.integers(1, 4, 9)
    sizes = ClusterSizes([3, 3, 3])
    model = MixedGroups(3, standardize=False, random_state=0)
    model.fit(points, constraints=sizes, sample_weight=weight)
    copies, labels = np.repeat(points, weight, axis=0), np.repeat(model.labels_, weight)
    inside = sum(
        ((copies[labels == j] - copies[labels == j].mean(axis=0)) ** 2).sum() for j in range(3)
    )
    assert model.inertia_ == pytest.approx(inside)


def test_only_categories():
    gender = np.array(["f"] * 9 + ["m"] * 9)[:, None]
    model = MixedGroups(3, random_state=0).fit(gender)
    for j in range(3):
        assert np.sum(gender[model.labels_ == j] == "f") == 3


@pytest.mark.parametrize("seed", range(5))
def test_counting_bounds_what_groups_miss(seed):
    """The bound is at most the least loss of random labels, and reached in one column."""
    rng = np.random.default_rng(seed)
    values, sizes = rng.integers(0, 4, (8, 1)).astype(float), np.array([1, 2, 5])
    bound = least_loss(values, np.ones(1), sizes)
    best = np.inf
    for _ in range(3000):
        order = rng.permutation(8)
        parts = np.split(values[order] - values.mean(), np.cumsum(sizes)[:-1])
        best = min(best, sum(part.sum() ** 2 / len(part) for part in parts))
    assert bound <= best + 1e-12


@pytest.mark.parametrize("k", [3, 7, 200])
def test_dealing_fills_the_groups_as_it_shall(k):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 2))
    room = np.full(k, 1000 // k)
    room[: 1000 % k] += 1
    labels = deal(points, np.ones(1000, int), room, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(labels, minlength=k), room)
    means = np.array([points[labels == j].mean(axis=0) for j in range(k)])
    drawn = rng.permutation(1000) % k
    random = np.array([points[drawn == j].mean(axis=0) for j in range(k)])
    assert means.std(axis=0).max() < random.std(axis=0).min()


def test_frames_of_dask_and_polars_are_the_same_as_those_of_pandas(students):
    labels = MixedGroups(4, random_state=0).fit_predict(students)
    polars, dask = pytest.importorskip("polars"), pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    plain = students.assign(needs=students["needs"].astype(str))
    # Other tests have clients of their own.
    with dask.config.set(scheduler="synchronous"):
        for frame in (polars.from_pandas(plain), frames.from_pandas(plain, npartitions=2)):
            np.testing.assert_array_equal(MixedGroups(4, random_state=0).fit_predict(frame), labels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "mean"}, "`objective` is 'mean'"),
        ({"standardize": 1}, "`standardize` is 1"),
        ({"spread": ["sex"]}, "the column 'sex'"),
        ({"spread": [9]}, "column 9, but X has 6 columns"),
        ({"spread": 3.5}, "`spread` is 3.5"),
    ],
)
def test_wrong_parameters_say_what_is_allowed(options, words, students):
    with pytest.raises(ValueError, match=words):
        MixedGroups(3, **options).fit(students)


def test_the_page_begins_with_the_rosters(students):
    named = students.set_index("name")
    model = MixedGroups(5, random_state=0).fit(named)
    page = model.report_.to_html()
    assert page.index("Who is in which group") < page.index("Means and spreads")
    assert sum(map(len, model.report_.rosters())) == 31
    assert all(f"<li>{name}</li>" in page for name in named.index)
    assert model.report_.to_dict()["balance"]["features"] == ["maths", "reading"]
    assert "alike" in str(model.report_)
    assert model.report_.describe().startswith("group 0 (")
    teams = ["Red", "Blue", "Gold", "Lime", "Pink"]
    own = MixedGroups(5, random_state=0, cluster_names=teams).fit(named).report_.to_html()
    assert all(f"</span>{team} <span" in own for team in teams)


def test_a_clone_with_a_seed_gives_the_same(students):
    model = MixedGroups(4, "moments", random_state=3).fit(students)
    np.testing.assert_array_equal(clone(model).fit(students).labels_, model.labels_)


def test_no_group_is_emptied_where_shares_are_hard_to_keep():
    rng = np.random.default_rng(0)
    X, kind = rng.standard_t(2, size=(300, 3)), rng.integers(0, 10, 300)
    rule = GroupShares(kind, minimum=0.05, maximum=0.15)
    labels = MixedGroups(12, random_state=0).fit_predict(X, constraints=rule)
    assert np.bincount(labels, minlength=12).min() > 0
