"""Calls that other packages teach, and calls that look right: an error says what to write."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import corral.baselines
from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)

X = np.random.default_rng(0).normal(size=(12, 2))
RULE = ClusterSizes([8, 4])
BASELINES = [
    getattr(corral.baselines, name) for name in corral.baselines.__all__ if name != "DeadEndError"
]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda rule: rule,
        lambda rule: [rule],
        lambda rule: (None, [[rule]]),
        lambda rule: {"sizes": rule},
        lambda rule: iter([rule]),
        lambda rule: np.array([rule, None]),
        ConstraintSet,
        lambda rule: [ConstraintSet(rule)],
    ],
    ids=["rule", "list", "nested", "dict", "iterator", "array", "set", "list of sets"],
)
@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform", "score"])
def test_rules_in_the_place_of_y_are_refused(method, wrap):
    model = ConstrainedKMeans(2, n_init=1, random_state=0)
    if method == "score":
        model.fit(X)
    with pytest.raises(TypeError, match=r"given as y, which is ignored; .* keyword: constraints="):
        getattr(model, method)(X, wrap(RULE))


@pytest.mark.parametrize("kind", BASELINES)
@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_baselines_refuse_them_too(kind, method):
    with pytest.raises(TypeError, match="keyword: constraints="):
        getattr(kind(2), method)(X, [RULE])


@pytest.mark.parametrize("y", [None, np.zeros(12), [0] * 12, ["a"] * 12, np.array(["a", None])])
def test_any_other_y_is_ignored(y):
    model = ConstrainedKMeans(2, n_init=1, random_state=0)
    expected = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit_predict(X, y), expected)


FIT = ConstrainedKMeans(2).fit
CALLS = [
    (lambda: ConstrainedKMeans(size_min=2), "ConstrainedKMeans", "ClusterSizes(minimum=...)"),
    (lambda: ConstrainedKMeans(2, size_max=9), "ConstrainedKMeans", "ClusterSizes(maximum=...)"),
    (lambda: ConstrainedKMeans(rules=RULE), "ConstrainedKMeans", "fit(X, constraints=...)"),
    (lambda: ConstrainedKMeans(k=2), "ConstrainedKMeans", "n_clusters"),
    (lambda: ConstrainedKMeans(n_cluster=2), "ConstrainedKMeans", "n_clusters"),
    (lambda: FIT(X, ml=[(0, 1)], cl=[]), "fit", "fit(X, constraints=MustLink(pairs))"),
    (lambda: FIT(X, cl=[(0, 1)]), "fit", "fit(X, constraints=CannotLink(pairs))"),
    (lambda: FIT(X, constraint=RULE), "fit", "fit(X, constraints=...)"),
    (lambda: FIT(X, sample_weights=[1]), "fit", "sample_weight"),
    (lambda: FIT(X, foo=1), "fit", "it takes constraints, sample_weight"),
    (lambda: ConstrainedKMeans(2).fit_predict(X, ml=[]), "fit", "MustLink(pairs)"),
    (lambda: ConstrainedKMeans(2).fit_transform(X, cl=[]), "fit", "CannotLink(pairs)"),
    (lambda: corral.baselines.COPKMeans(2).fit(X, ml=[]), "fit", "MustLink(pairs)"),
    (lambda: corral.baselines.COPKMeans(2).fit_predict(X, cl=[]), "fit", "CannotLink(pairs)"),
    (lambda: ClusterSizes(size_min=2), "ClusterSizes", "ClusterSizes(minimum=...)"),
    (lambda: ClusterSizes(max=2), "ClusterSizes", "maximum"),
    (lambda: ClusterTotals([1], upper=2), "ClusterTotals", "maximum"),
    (lambda: GroupShares(["a"], minumum=0), "GroupShares", "minimum"),
    (lambda: MustLink([(0, 1)], w=2), "MustLink", "MustLink(pairs, weight=...)"),
    (lambda: Pin({0: 1}, foo=["a"]), "Pin", "it takes mapping, weight, index, n_samples"),
    (lambda: Pin({"a": 1}, names=["a"]), "Pin", "write index"),
    (lambda: LinearConstraint([[1]], uper=1), "LinearConstraint", "upper"),
]


@pytest.mark.parametrize(("call", "where", "ours"), CALLS)
def test_an_unknown_keyword_is_answered_with_ours(call, where, ours):
    with pytest.raises(TypeError, match=rf"^{where} has no keyword '\w+'; .*\.$") as error:
        call()
    assert ours in str(error.value)


def test_the_signature_and_the_parameters_stay():
    names = list(inspect.signature(ConstrainedKMeans).parameters)
    assert names[:3] == ["n_clusters", "solver", "init"]
    model = ConstrainedKMeans(3, time_limit=5.0)
    assert sorted(model.get_params()) == sorted(names)
    assert clone(model).get_params() == model.get_params()
    assert list(inspect.signature(MustLink).parameters) == ["pairs", "weight", "index", "n_samples"]


# --- sums of rules ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MustLink, CannotLink])
def test_the_sum_of_links_has_all_pairs_with_their_weights(kind):
    rng = np.random.default_rng(0)
    links = [kind(rng.permutation(12)[:6].reshape(3, 2), [1.5, np.inf, 2.0]) for _ in range(2)]
    both = links[0] + links[1]
    assert type(both) is kind
    assert both == kind(np.vstack([link.pairs for link in links]), [1.5, np.inf, 2.0] * 2)
    for labels in rng.integers(0, 3, (20, 12)):
        parts = [link.violations(labels) for link in links]
        assert both.violations(labels).count == sum(part.count for part in parts)
        assert both.violations(labels).amount == sum(part.amount for part in parts)
    assert kind([]) + kind([("a", "b")]) == kind([("a", "b")])
    assert kind([(0, 1)]) + kind([(1, 2)], n_samples=3) == kind([(0, 1), (1, 2)], n_samples=3)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda: MustLink([(0, 1)], n_samples=3) + MustLink([], n_samples=4), "is for 3 rows, but"),
        (lambda: MustLink([(0, 1)]) + MustLink([("a", "b")]), "one has names of rows"),
        (lambda: MustLink([(0, 9)]) + MustLink([(0, 1)], n_samples=3), "but n_samples is 3"),
    ],
)
def test_links_on_different_rows_have_no_sum(add, message):
    with pytest.raises(ValueError, match=message):
        add()


def test_other_sums_are_sets():
    link, apart, pin = MustLink([(0, 1)]), CannotLink([(0, 2)]), Pin({0: 1})
    assert link + apart == ConstraintSet([link, apart])
    assert pin + pin + [RULE, None] == ConstraintSet([pin, pin, RULE])
    assert ConstraintSet(link).with_(apart, [pin, RULE]) == link + apart + pin + RULE
    with pytest.raises(TypeError, match="constraints holds 3"):
        link + 3
