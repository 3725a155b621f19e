"""Rules mean their own rows: names, numbers of rows, and cross-validation."""

from __future__ import annotations

import logging
import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    Constraint,
    ConstraintSet,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
    audit,
    check,
    from_labels,
)
from corral.baselines import COPKMeans
from corral.datasets import random_links

N = 40
NAMES = [f"row {number}" for number in range(N)]
X = np.random.default_rng(1).uniform(-1, 1, size=(N, 2))
FRAME = pd.DataFrame(X, index=NAMES)
CLASSES = np.arange(N) % 3
LINKS = random_links(CLASSES, 15, 15, random_state=0)

#: Rules that know their number of rows.
KNOWING = {
    "must-links": MustLink([(0, 1)], n_samples=N),
    "cannot-links by name": CannotLink([("row 0", "row 1")], index=NAMES),
    "pins": Pin({3: 0}, n_samples=N),
    "pins by name": Pin({"row 3": 0}, index=iter(NAMES)),
    "known classes": from_labels([0, 1, *[-1] * (N - 2)]),
    "random links": LINKS[0],
    "totals": ClusterTotals(np.ones(N), minimum=1),
    "shares": GroupShares(CLASSES, minimum=0.1),
    "linear rows": LinearConstraint(np.ones((1, 3 * N)), upper=N, n_clusters=3),
}


class Spy(ConstrainedKMeans):
    """Keeps the names of the rows of every fit, its labels and its report."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None, *, constraints=None):
        super().fit(X, y, constraints=constraints)
        self.fits.append((list(X.index), self.labels_, self.report_))
        return self


@pytest.fixture
def spy():
    Spy.fits.clear()
    return Spy(3, n_init=1, random_state=0)


def model(**params):
    return ConstrainedKMeans(**{"n_clusters": 3, "n_init": 1, "random_state": 0, **params})


# --- another number of rows -------------------------------------------------------------------


@pytest.mark.parametrize("rule", KNOWING.values(), ids=KNOWING)
def test_a_rule_that_knows_its_rows_refuses_a_fold(rule):
    model().fit(X, constraints=rule)
    message = "but X has 30 samples.*such as a fold, use ConstraintSet.subset or for_folds"
    for estimator in (model(), COPKMeans(3)):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X[:30], constraints=rule)
    with pytest.raises(ValueError, match=message):
        audit(X[:30], CLASSES[:30], rule, 3)
    with pytest.raises(ValueError, match=message):
        check(30, rule, 3)


@pytest.mark.parametrize("rule", KNOWING.values(), ids=KNOWING)
def test_cross_validation_with_the_rules_of_all_rows_is_refused(rule):
    with pytest.raises(ValueError, match="for_folds"):
        cross_val_score(model(), X, params={"constraints": rule}, error_score="raise")


def test_the_number_of_rows_is_part_of_the_rule():
    known, other = MustLink([(0, 1)], n_samples=5), MustLink([(0, 1)])
    assert known != other
    assert Constraint.from_dict(known.to_dict()) == known
    assert "n_samples" not in other.to_dict()
    assert known.subset([4, 1, 0]) == MustLink([(2, 1)], n_samples=3) == other.subset([4, 1, 0])
    with pytest.raises(ValueError, match="mask of 6 entries, but the data of the must_link pairs"):
        known.subset(np.ones(6, bool))
    with pytest.raises(ValueError, match="labels has 4 entries, but the constraint is on 5 rows"):
        known.violations([0, 0, 0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MustLink([(0, 5)], n_samples=5), r"\(0, 5\), but n_samples is 5; indices must"),
        (lambda: Pin({5: 0}, n_samples=5), "pin 0 is of row 5 .* but n_samples is 5"),
        (lambda: MustLink([(0, 1)], n_samples=2.0), "n_samples is 2.0; it must be an integer"),
        (lambda: MustLink([(0, 1)], n_samples=0), "n_samples is 0"),
        (lambda: Pin({"b": 0}, index="ab", n_samples=3), "index cannot be a str"),
        (lambda: Pin({"b": 0}, index=["a", "b"], n_samples=3), "is 3, but index holds 2 names"),
    ],
)
def test_a_wrong_number_of_rows_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", [list, tuple])
def test_rules_that_cross_validation_takes_apart_are_refused(kind):
    """As many rules as rows: scikit-learn would give each fold some of them."""
    search = GridSearchCV(model(n_clusters=1), {"n_init": [1, 2]}, cv=2, error_score="raise")
    for n in (20, 22, len(X)):
        rules = kind([MustLink([(0, 1)])] * n)
        message = f"a list with {n // 2} entr.*, and X has {n // 2} row.*for_folds"
        with pytest.raises(ValueError, match=message):
            search.fit(X[:n], constraints=rules)


@pytest.mark.parametrize("n", [4, 6, 9, 20, len(X)])
@pytest.mark.parametrize("routing", [False, True])
def test_cross_validation_cannot_take_a_set_apart(n, routing):
    """For any number of rows, and whatever is made of an error of a fit."""
    rules = ConstraintSet([MustLink([(0, 1)])] * n)
    with sklearn.config_context(enable_metadata_routing=routing):
        asked = model(n_clusters=1)
        asked = asked.set_fit_request(constraints=True) if routing else asked
        search = GridSearchCV(asked, {"n_init": [1, 2]}, cv=2)
        with pytest.raises(ValueError, match=f"ConstraintSet with {n} entries .*for_folds"):
            search.fit(X[:n], constraints=rules)
    assert model(n_clusters=1).fit(X[:n], constraints=rules).report_.feasible
    assert rules[np.int64(1)] == rules[1] == MustLink([(0, 1)])


def test_as_many_rules_as_rows_are_taken_where_they_cannot_be_a_part():
    for n in (2, 3, 9, 10, 12):
        rules = [MustLink([(row, row + 1)]) for row in range(n - 1)] + [ClusterSizes(minimum=1)]
        parts = [[rule] for rule in rules]
        for whole in (rules, parts):
            if n < 10:
                assert model(n_clusters=1).fit(X[:n], constraints=whole).report_.feasible
                continue
            with pytest.raises(ValueError, match=f"a list with {n} entries, and X has {n} rows"):
                model(n_clusters=1).fit(X[:n], constraints=whole)
        known = [MustLink([(0, 1)], n_samples=n), *rules[1:]]
        for taken in (ConstraintSet(rules), tuple(rules), known, parts[:-1], [rules]):
            assert model(n_clusters=1).fit(X[:n], constraints=taken).report_.feasible


def test_folds_take_their_own_of_as_many_rules_as_rows(spy):
    links = [MustLink([(row, row + 1)]) for row in range(0, N, 2)] * 2
    rules = ConstraintSet(links).for_folds(FRAME.index)
    scores = cross_val_score(spy, FRAME, cv=2, params={"constraints": rules}, error_score="raise")
    assert np.isfinite(scores).all()
    assert [report.outside for *_, report in Spy.fits] == [20, 20]


# --- names that the frame knows ---------------------------------------------------------------

PAIRS = [("row 3", "row 9"), ("row 9", "row 21")]


@pytest.mark.parametrize(
    "pairs",
    [PAIRS, np.array(PAIRS), pd.DataFrame(PAIRS), iter(PAIRS)],
    ids=["list", "array", "frame", "iterator"],
)
def test_names_are_looked_up_in_the_frame(pairs):
    rule = MustLink(pairs)
    named = model().fit(FRAME, constraints=[rule, Pin({"row 3": 2})])
    numbered = model().fit(X, constraints=[MustLink([(3, 9), (9, 21)]), Pin({3: 2})])
    np.testing.assert_array_equal(named.labels_, numbered.labels_)
    assert named.report_.entries[0].constraint == MustLink([(3, 9), (9, 21)], n_samples=N)
    assert audit(FRAME, named.labels_, rule, 3).feasible
    assert check(FRAME, rule, 3)
    assert check(N, rule, 3, index=NAMES)
    placed = named.assign(FRAME[::-1], constraints=rule)[::-1]
    assert placed[3] == placed[9] == placed[21]
    assert COPKMeans(3, random_state=0).fit(FRAME, constraints=rule).report_.feasible


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_product([["a", "b"], range(N // 2)]),
        pd.date_range("2024-01-01", periods=N),
    ],
    ids=["tuples", "dates"],
)
def test_names_of_other_kinds(index):
    frame = FRAME.set_axis(index)
    labels = model().fit(frame, constraints=CannotLink([(index[4], index[7])])).labels_
    assert labels[4] != labels[7]


def test_names_are_kept_until_they_are_looked_up(tmp_path):
    rules = ConstraintSet([MustLink(PAIRS, [1.0, np.inf]), Pin({"row 3": 2})])
    assert rules.phrase() == "must-links row 3-row 9, row 9-row 21; pin of row 3 to cluster 2"
    assert repr(rules[0]) == "MustLink(2 pairs by name, 1 soft)"
    rules.to_json(tmp_path / "rules.json")
    assert ConstraintSet.from_json(tmp_path / "rules.json") == rules
    assert rules[0] != MustLink(PAIRS[::-1], [1.0, np.inf])
    assert rules.hard[0] == MustLink(PAIRS[1:])
    for ask in (
        lambda: rules.check(N, 3),
        lambda: rules[0].violations([0]),
        lambda: rules.subset([0]),
    ):
        with pytest.raises(ValueError, match="name rows, such as 'row 3'; look the names up first"):
            ask()
    with pytest.raises(ValueError, match="in JSON a name must be text"):
        MustLink([(("a", 1), ("a", 2))]).to_dict()


@pytest.mark.parametrize("wrong", [MustLink([("row 3", "row 99")]), Pin({"row 99": 0})])
def test_names_that_the_frame_does_not_know_are_refused(wrong):
    with pytest.raises(
        ValueError, match=r"name 'row 99' .*, which is not in index; it holds 'row 0'"
    ):
        model().fit(FRAME, constraints=wrong)


def test_names_need_an_index():
    rule = MustLink(PAIRS)
    with pytest.raises(ValueError, match=r"MustLink\(2 pairs by name\) needs .* X has no index"):
        model().fit(X, constraints=rule)
    steps = make_pipeline(StandardScaler(), model())
    with pytest.raises(ValueError, match="set_output"):
        steps.fit(FRAME, constrainedkmeans__constraints=rule)
    steps.set_output(transform="pandas").fit(FRAME, constrainedkmeans__constraints=rule)
    assert steps[-1].report_.feasible


# --- every fold takes its own rules -----------------------------------------------------------


def obeys_exactly_its_own(fits, links):
    """Whether each fit had all pairs inside its rows and no others, and obeyed them."""
    for names, labels, report in fits:
        where = {NAMES.index(name): place for place, name in enumerate(names)}
        inside = [
            sorted((where[i], where[j]) for i, j in link.pairs if i in where and j in where)
            for link in links
        ]
        found = [sorted(map(tuple, entry.constraint.pairs.tolist())) for entry in report.entries]
        assert found == inside
        assert all(labels[i] == labels[j] for i, j in inside[0])
        assert all(labels[i] != labels[j] for i, j in inside[1])
        assert report.outside == sum(len(link.pairs) for link in links) - sum(map(len, inside))


@pytest.mark.parametrize("routing", [False, True])
def test_a_grid_search_applies_the_pairs_of_each_fold(spy, routing):
    rules = ConstraintSet(LINKS).for_folds(FRAME.index)
    folds = KFold(4, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=routing):
        asked = spy.set_fit_request(constraints=True) if routing else spy
        search = GridSearchCV(asked, {"n_clusters": [3]}, cv=folds, error_score="raise")
        search.fit(FRAME, constraints=rules)
    assert sorted(len(names) for names, *_ in Spy.fits) == [30] * 4 + [40]
    obeys_exactly_its_own(Spy.fits, LINKS)
    assert search.best_estimator_.report_.outside == 0


def test_a_cross_validation_applies_the_pairs_of_each_fold(spy):
    named = [type(link)([(NAMES[i], NAMES[j]) for i, j in link.pairs]) for link in LINKS]
    params = {"constraints": ConstraintSet(named).for_folds(NAMES)}
    scores = cross_val_score(spy, FRAME, cv=4, params=params, error_score="raise")
    assert np.isfinite(scores).all()
    assert len(Spy.fits) == 4
    obeys_exactly_its_own(Spy.fits, LINKS)


def test_every_kind_follows_its_rows_in_a_fold():
    rules = ConstraintSet([*LINKS, *(KNOWING[name] for name in ("pins", "totals", "shares"))])
    rows = np.random.default_rng(0).permutation(N)[:25]
    folded = ConstraintSet(rules.for_folds(range(N)))
    assert folded.resolve(rows) == rules.subset(rows)
    frame = pd.DataFrame(X)  # its index is 0, 1, ..., and a part of it keeps these numbers
    fitted = model().fit(frame.iloc[rows], constraints=folded)
    assert fitted.report_.outside == rules.n_parts - rules.subset(rows).n_parts


def test_what_does_not_apply_is_said(caplog):
    rules = ConstraintSet([MustLink([(0, 1), (1, 2), (2, 3)]), Pin({9: 1})]).for_folds(NAMES)
    with caplog.at_level(logging.INFO, logger="corral"):
        report = model(n_clusters=2).fit(FRAME[:3:2], constraints=rules).report_
    assert report.outside == 4 == report.to_dict()["outside"]
    assert "outside  4 rules name other rows and do not apply" in str(report)
    assert "rules of other rows" in report._repr_html_()
    assert "4 of 4 rules name rows outside X and do not apply" in caplog.text


def test_folds_refuse_what_they_cannot_place():
    rules = ConstraintSet(LINKS).for_folds(NAMES)
    with pytest.raises(ValueError, match="rows of X name 'stranger', which is not in index"):
        model().fit(FRAME.rename({"row 3": "stranger"}), constraints=rules)
    with pytest.raises(ValueError, match=r"rules for folds of 40 rows need.* X has no index"):
        model().fit(X, constraints=rules)
    for rule in KNOWING.values():
        with pytest.raises(ValueError, match="39"):
            ConstraintSet(rule).for_folds(NAMES[:39])
    with pytest.raises(ValueError, match="names row 39"):
        ConstraintSet(MustLink([(0, 39)])).for_folds(NAMES[:39])
    exact = ConstraintSet(ClusterSizes([20, 10, 10])).for_folds(NAMES)
    with pytest.raises(ValueError, match=r"sizes \[20, 10, 10\] are exact for 40 rows"):
        model().fit(FRAME[:30], constraints=exact)
    calls = {rules.check: (N, 3), rules.violations: ([0],), rules.subset: ([0],), rules.to_dict: ()}
    for ask, words in calls.items():
        with pytest.raises(ValueError, match="rules for folds of 40 rows need names of rows"):
            ask(*words)


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: Pin({"a": 0, "f": 1}, index=frame.index),
        lambda frame: MustLink([("a", "f")], index=frame.index),
        lambda frame: ConstraintSet(CannotLink([("a", "f")])).resolve(frame.index),
        lambda frame: ClusterTotals(pd.Series(range(6), frame.index), maximum=9),
        lambda frame: GroupShares(pd.Series([0, 1] * 3, frame.index), minimum=0.2),
    ],
)
def test_rules_of_another_index_are_refused(make):
    frame = pd.DataFrame(np.random.RandomState(0).randn(6, 2), index=list("abcdef"))
    rules = pickle.loads(pickle.dumps(make(frame)))
    model = ConstrainedKMeans(2, random_state=0)
    with pytest.raises(ValueError, match="another index than that of X"):
        model.fit(frame[::-1], constraints=rules)
    # An array, or a frame whose rows are only numbered, has no names to compare.
    for X in (frame, frame.to_numpy(), frame.reset_index(drop=True)):
        assert model.fit(X, constraints=rules).report_.feasible


def test_rules_can_be_summed():
    links = [MustLink([(0, 1)]), MustLink([(1, 2)])]
    assert sum(links) == MustLink([(0, 1), (1, 2)])
