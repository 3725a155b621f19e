"""Names of clusters in fits, reports and pictures, and fits that start from an earlier answer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from corral import (
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    InfeasibleConstraintsError,
    Pin,
    audit,
    check,
    price_rules,
)
from corral.constraints.previous import read_previous

NAMES = ["north", "south", "west"]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(c, 1.2, (20, 2)) for c in ((0, 0), (5, 0), (0, 5))])


@pytest.fixture(scope="module")
def minutes():
    return np.random.default_rng(1).integers(10, 60, 60).astype(float)


@pytest.fixture(params=[ConstrainedKMeans, ConstrainedKMedoids])
def model(request):
    return request.param(3, random_state=0, cluster_names=NAMES)


def test_a_fit_obeys_bounds_by_name(model, X, minutes):
    most, least = 0.2 * minutes.sum(), 0.5 * minutes.sum()
    rules = [
        ClusterTotals(minutes, maximum={"north": most}, minimum={"west": least}),
        Pin({7: "south"}),
    ]
    model.fit(X, constraints=rules)
    totals = {name: minutes[model.named_labels_ == name].sum() for name in NAMES}
    assert totals["north"] <= most
    assert totals["west"] >= least
    assert model.named_labels_[7] == "south"
    np.testing.assert_array_equal(np.array(NAMES)[model.labels_], model.named_labels_)


def test_without_names_there_are_no_named_labels(X):
    plain = ConstrainedKMeans(3, random_state=0).fit(X)
    assert not hasattr(plain, "named_labels_")
    assert clone(ConstrainedKMeans(3, cluster_names=NAMES)).cluster_names == NAMES


def test_the_report_has_names(X, minutes):
    model = ConstrainedKMeans(3, random_state=0, cluster_names=NAMES)
    model.fit(X, constraints=ClusterTotals(minutes, maximum={"north": 900}, name="minutes"))
    sizes = dict(zip(NAMES, np.bincount(model.labels_).tolist(), strict=True))
    said = ", ".join(f"{name} {size}" for name, size in sizes.items())
    assert f"sizes    {said}" in str(model.report_)
    page = model.report_.to_html()
    assert page.count("north") > 5
    assert page.count("at most 900") == 1
    assert model.report_.describe().startswith("cluster north")
    assert model.report_.to_dict()["clusters"] == NAMES


def test_names_of_clusters_are_escaped_in_the_page(X):
    names = ["<b>", "a&b", "c"]
    page = ConstrainedKMeans(3, random_state=0, cluster_names=names).fit(X).report_.to_html()
    assert "<b>" not in page.replace("<b>feature", "")
    assert "a&amp;b" in page


def test_contradictions_call_clusters_by_name(X):
    rules = [ClusterSizes(maximum={"south": 1}), Pin({3: "south", 5: "south"})]
    with pytest.raises(InfeasibleConstraintsError, match="into cluster south"):
        ConstrainedKMeans(3, cluster_names=NAMES).fit(X, constraints=rules)
    assert "1 in south" in check(X, rules, 3, cluster_names=NAMES).message


def test_audit_and_assign_take_names(X, minutes):
    model = ConstrainedKMeans(3, random_state=0, cluster_names=NAMES).fit(X)
    rule = ClusterTotals(minutes, maximum={"west": 300})
    labels = model.assign(X, constraints=rule)
    assert minutes[labels == 2].sum() <= 300
    found = audit(X, np.full(60, 2), rule, 3, cluster_names=NAMES)
    assert "cluster west has a total of" in str(found)


def test_names_must_be_as_many_as_clusters(X):
    with pytest.raises(ValueError, match="3 names, but n_clusters is 8"):
        ConstrainedKMeans(cluster_names=NAMES).fit(X)


# Earlier answers.


def test_rows_stay_where_leaving_costs_more_than_it_gains(model, X):
    rng = np.random.default_rng(3)
    start = clone(model).fit(X).labels_
    before = start.copy()
    wrong = rng.choice(60, 6, replace=False)
    before[wrong] = (before[wrong] + 1) % 3
    pinned = clone(model).fit(X, previous=before, stay=np.inf)
    np.testing.assert_array_equal(pinned.labels_, before)
    assert pinned.report_.changes.moved.sum() == 0
    # The price makes up for what a row gains by leaving: never more rows than without it.
    counts = []
    for stay in (0.01, 1.0, 1e6):
        found = clone(model).fit(X, previous=before, stay=stay)
        counts.append(int((found.labels_ != before).sum()))
        assert found.report_.changes.moved.sum() == counts[-1]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 6
    assert counts[-1] == 0


def test_without_a_price_only_k_means_keeps_the_numbers(X):
    start = ConstrainedKMeans(3, random_state=0).fit(X).labels_
    turned = (start + 1) % 3
    found = ConstrainedKMeans(3, random_state=0).fit(X, previous=turned)
    np.testing.assert_array_equal(found.labels_, turned)
    with pytest.raises(ValueError, match="without `stay`"):
        ConstrainedKMedoids(3).fit(X, previous=turned)


def test_new_rows_are_free(X):
    model = ConstrainedKMeans(3, random_state=0)
    before = model.fit(X).labels_.astype(float)
    before[[1, 30, 59]] = np.nan
    model.fit(X, previous=before, stay=1e6)
    changes = model.report_.changes
    assert np.flatnonzero(changes.new).tolist() == [1, 30, 59]
    assert str(changes) == "0 of 57 rows moved to another cluster; 3 are new"
    assert [row[:2] for row in changes.rows()] == [("1", ""), ("30", ""), ("59", "")]


def test_previous_labels_follow_the_index():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(8, 2)), index=list("abcdefgh"))
    before = pd.Series({"z": "south", "h": "north", "a": "south", "y": None, "c": "north"})
    found = read_previous(before, 1.0, frame, ("north", "south"))
    assert found.labels.tolist() == [1, -1, 0, -1, -1, -1, -1, 0]
    assert found.gone == 2
    same = read_previous(before.to_dict(), 1.0, frame, ("north", "south"))
    np.testing.assert_array_equal(same.labels, found.labels)
    model = ConstrainedKMeans(2, cluster_names=["north", "south"], random_state=0)
    model.fit(frame, previous=before, stay=np.inf)
    assert model.named_labels_[[0, 2, 7]].tolist() == ["south", "north", "north"]
    assert "2 are gone" in str(model.report_)
    assert model.report_.changes.columns()["id"] == ["b", "d", "e", "f", "g"]


def test_the_flows_of_the_clusters_add_up(X):
    before = np.random.default_rng(4).integers(-1, 3, 60)
    changes = ConstrainedKMeans(3, random_state=0).fit(X, previous=before).report_.changes
    for cluster in changes.by_cluster():
        own = int(cluster.cluster)
        assert cluster.before == (before == own).sum()
        assert cluster.after == (changes.after == own).sum()
        assert cluster.after == cluster.before - cluster.left + cluster.came + cluster.new


def test_what_changed_is_a_file_and_a_part_of_the_page(X, tmp_path):
    before = ConstrainedKMeans(3, random_state=0).fit(X).labels_
    moved = before.copy()
    moved[5] = (moved[5] + 1) % 3
    model = ConstrainedKMeans(3, random_state=0, cluster_names=NAMES)
    model.fit(X, previous=moved, stay=0.01)
    model.report_.changes.to_csv(tmp_path / "changes.csv")
    lines = (tmp_path / "changes.csv").read_text().splitlines()
    assert lines == ["id,before,after,change", f"5,{NAMES[moved[5]]},{NAMES[before[5]]},moved"]
    assert "What changed" in model.report_.to_html()
    assert model.report_.to_dict()["changes"] == [
        {"id": "5", "before": NAMES[moved[5]], "after": NAMES[before[5]]}
    ]


def test_prices_of_rules_know_the_price_of_leaving(X, minutes):
    before = ConstrainedKMeans(3, random_state=0).fit(X).labels_
    rule = ClusterTotals(minutes, maximum={"north": 500})
    model = ConstrainedKMeans(3, random_state=0, cluster_names=NAMES)
    model.fit(X, constraints=rule, previous=before, stay=1.0)
    assert len(price_rules(model, X, constraints=rule, time_limit=2).prices.without) == 2


@pytest.mark.parametrize(
    ("previous", "stay", "said"),
    [
        ([0, 1], 1.0, "2 labels, but X has 60 samples"),
        (np.full(60, 3), 1.0, r"previous\[0\]. is 3, but n_clusters is 3"),
        (np.full(60, -2), 1.0, r"previous\[0\]. is -2"),
        (np.full(60, 0.5), 1.0, r"previous\[0\]. is .*0.5"),
        (["east"] * 60, 1.0, "'east'.*not in cluster_names"),
        (np.zeros((60, 2), int), 1.0, "shape"),
        ("abc", 1.0, "a str"),
        ({"a": 1}, 1.0, "X has no index"),
        (np.zeros(60, int), -1.0, "`stay` is -1"),
        (np.zeros(60, int), "much", "`stay` must be numbers"),
        (None, 2.0, "`previous` is None"),
    ],
)
def test_wrong_earlier_answers(X, previous, stay, said):
    model = ConstrainedKMeans(3, cluster_names=NAMES)
    with pytest.raises(ValueError, match=said):
        model.fit(X, previous=previous, stay=stay)


@pytest.mark.parametrize("seed", [4, 5, 12, 17])
def test_exchanging_centres_of_clusters_with_bounds_of_their_own_does_not_help(seed):
    """Two people in each other's place are what a planner sees first on a map."""
    rng, n, k = np.random.default_rng(seed), 120, 6
    middles = rng.uniform(0, 10, (k, 2))
    X = middles[rng.integers(0, k, n)] + rng.normal(0, 1.2, (n, 2))
    minutes = rng.integers(10, 60, n).astype(float)
    most = minutes.sum() / k * rng.uniform(0.75, 1.4, k).round(2)
    most = np.ceil(most * max(1.0, 1.03 * minutes.sum() / most.sum()))
    bounds = {"minimum": (0.6 * most).round().tolist(), "maximum": most.tolist()}
    rules = [ClusterTotals(minutes, **bounds, name="minutes"), Pin({0: 0, 1: 1})]
    best = ConstrainedKMeans(k, random_state=0).fit(X, constraints=rules)
    for pair in combinations(range(k), 2):
        order = np.arange(k)
        order[list(pair)] = pair[::-1]
        centers = best.cluster_centers_[order]
        own = {"n_init": 1, "effort": 1e-6, "random_state": 0}  # a descent from the centres
        other = ConstrainedKMeans(k, init=centers, **own).fit(X, constraints=rules)
        assert other.inertia_ >= best.inertia_ * (1 - 1e-9), pair
