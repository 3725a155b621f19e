"""ConstrainedKMeans as scikit-learn users know an estimator."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    Pin,
    audit,
    from_labels,
)

SOLVERS = ["projected", "algorithm1"]


@parametrize_with_checks([ConstrainedKMeans(n_init=1)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    """Three well-separated blobs of 20 points, in mixed order, and where each point belongs."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(60) % 3)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    return centers[truth] + rng.normal(size=(60, 2)), truth


@pytest.fixture(scope="module")
def cloud():
    """Forty points without any clusters."""
    return np.random.default_rng(1).uniform(-1, 1, size=(40, 2))


RULES = [CannotLink([(3, 4), (5, 6)]), ClusterSizes([10, 12, 18])]
WITH_MUST_LINKS = [MustLink([(0, 1), (1, 2)]), *RULES]


def model(**parameters):
    return ConstrainedKMeans(**{"n_clusters": 3, "n_init": 1, "random_state": 0, **parameters})


def same_groups(one, two):
    return adjusted_rand_score(one, two) == 1.0


# --- what a fit leaves behind -----------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_attributes_agree_with_each_other(cloud, solver):
    fitted = model(solver=solver).fit(cloud, constraints=RULES)
    labels = fitted.labels_
    assert labels.shape == (40,)
    assert labels.dtype.kind == "i"
    means = np.array([cloud[labels == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)
    inertia = sum(np.sum((x - means[j]) ** 2) for x, j in zip(cloud, labels, strict=True))
    assert fitted.inertia_ == pytest.approx(inertia, rel=1e-12)
    assert fitted.n_iter_ == len(fitted.history_) == len(fitted.history_.objective)
    assert fitted.n_features_in_ == 2
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_report_is_the_audit_of_the_labels(cloud, solver):
    fitted = model(solver=solver).fit(cloud, constraints=WITH_MUST_LINKS)
    again = audit(cloud, fitted.labels_, WITH_MUST_LINKS, 3)
    assert dataclasses.replace(fitted.report_, plan=None).to_dict() == again.to_dict()
    assert str(fitted.report_) == str(again)
    assert fitted.report_.feasible
    assert fitted.report_.inertia == fitted.inertia_
    assert sorted(fitted.report_.sizes) == [10, 12, 18]


def test_the_weighted_report_is_the_weighted_audit(cloud):
    weight = np.random.default_rng(3).uniform(0.1, 4.0, 40)
    rules = [*RULES, CannotLink([(5, 6)], weight=0.01), MustLink([(7, 30)], weight=50.0)]
    fitted = model().fit(cloud, constraints=rules, sample_weight=weight)
    again = audit(cloud, fitted.labels_, rules, 3, weight)
    assert dataclasses.replace(fitted.report_, plan=None).to_dict() == again.to_dict()
    means = [
        np.average(cloud[fitted.labels_ == j], axis=0, weights=weight[fitted.labels_ == j])
        for j in range(3)
    ]
    np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)


def test_one_weight_for_all_is_no_weight(cloud):
    plain = model().fit(cloud)
    np.testing.assert_array_equal(model().fit(cloud, sample_weight=3.0).labels_, plain.labels_)


# --- methods ----------------------------------------------------------------------------------


def nearest(X, centers):
    return np.array([[np.linalg.norm(x - c) for c in centers] for x in X])


def test_predict_is_free_transform_the_distances_score_minus_the_inertia(cloud):
    fitted = model().fit(cloud, constraints=RULES)
    new = np.random.default_rng(5).normal(size=(15, 2))
    distances = nearest(new, fitted.cluster_centers_)
    np.testing.assert_allclose(fitted.transform(new), distances, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(new), distances.argmin(axis=1))
    assert fitted.score(new) == pytest.approx(-np.sum(distances.min(axis=1) ** 2), rel=1e-12)
    weight = np.arange(15.0)
    weighted = -float(weight @ distances.min(axis=1) ** 2)
    assert fitted.score(new, sample_weight=weight) == pytest.approx(weighted, rel=1e-12)
    # The sizes keep some rows away from their nearest centre: predict knows nothing of them.
    assert (fitted.predict(cloud) != fitted.labels_).any()
    assert -fitted.score(cloud) < fitted.inertia_


def test_fit_predict_gives_the_labels_that_obey(cloud):
    labels = model().fit_predict(cloud, constraints=RULES)
    np.testing.assert_array_equal(labels, model().fit(cloud, constraints=RULES).labels_)
    assert sorted(np.bincount(labels)) == [10, 12, 18]


def test_fit_transform_gives_the_distances(cloud):
    fitted = model().fit(cloud, constraints=RULES)
    distances = model().fit_transform(cloud, constraints=RULES)
    np.testing.assert_array_equal(distances, fitted.transform(cloud))


def test_assign_without_constraints_is_predict(cloud):
    fitted = model().fit(cloud, constraints=RULES)
    new = np.random.default_rng(5).normal(size=(15, 2))
    np.testing.assert_array_equal(fitted.assign(new), fitted.predict(new))


def test_assign_obeys_rules_of_its_own_and_leaves_the_fit_alone(cloud):
    fitted = model().fit(cloud)
    before = pickle.dumps(fitted)
    rules = [ClusterSizes([2, 2, 2]), CannotLink([(0, 1)])]
    labels = fitted.assign(cloud[:6], constraints=rules)
    assert audit(cloud[:6], labels, rules, 3).feasible
    assert pickle.dumps(fitted) == before


# --- the company of other estimators ----------------------------------------------------------


def test_in_a_pipeline(cloud):
    pipe = make_pipeline(StandardScaler(), model())
    pipe.fit(cloud * [1.0, 100.0], constrainedkmeans__constraints=RULES)
    scaled = StandardScaler().fit_transform(cloud * [1.0, 100.0])
    alone = model().fit(scaled, constraints=RULES)
    np.testing.assert_array_equal(pipe[-1].labels_, alone.labels_)
    np.testing.assert_array_equal(pipe.predict(cloud * [1.0, 100.0]), alone.predict(scaled))
    assert pipe.transform(cloud).shape == (40, 3)


def test_clone_keeps_the_parameters_and_drops_the_fit(cloud):
    centers = cloud[:3]
    fitted = model(init=centers, record_x=(1, 2), time_limit=9.0).fit(cloud)
    copied = clone(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(copied)
    ours, theirs = fitted.get_params(), copied.get_params()
    np.testing.assert_array_equal(ours.pop("init"), theirs.pop("init"))
    assert ours == theirs
    np.testing.assert_array_equal(copied.fit(cloud).labels_, fitted.labels_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_pickle_keeps_the_fit(cloud, solver):
    fitted = model(solver=solver, record_x=(3,)).fit(cloud, constraints=RULES)
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.labels_, fitted.labels_)
    np.testing.assert_array_equal(copied.predict(cloud), fitted.predict(cloud))
    np.testing.assert_array_equal(copied.history_.x[3], fitted.history_.x[3])
    assert str(copied.report_) == str(fitted.report_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_gives_frames(cloud, kind):
    fitted = model().set_output(transform=kind).fit(cloud)
    frame = fitted.transform(cloud)
    assert isinstance(frame, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(frame.columns) == [f"constrainedkmeans{j}" for j in range(3)]
    assert list(fitted.get_feature_names_out()) == list(frame.columns)
    np.testing.assert_array_equal(
        frame.to_numpy(), model().fit(cloud).set_output(transform="default").transform(cloud)
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_labels_of_their_arrays(cloud, frame):
    data = frame({"height": cloud[:, 0], "weight": cloud[:, 1]})
    fitted = model().fit(data, constraints=RULES)
    np.testing.assert_array_equal(fitted.labels_, model().fit(cloud, constraints=RULES).labels_)
    np.testing.assert_array_equal(fitted.predict(data), fitted.assign(data))
    # scikit-learn 1.6 does not read the names of every Polars frame.
    if hasattr(KMeans(2).fit(data), "feature_names_in_"):
        check_names(fitted, data)


def check_names(fitted, data):
    """The names of the columns are known, and others are refused."""
    assert list(fitted.feature_names_in_) == ["height", "weight"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(
            data.rename(columns={"height": "size"})
            if isinstance(data, pd.DataFrame)
            else data.rename({"height": "size"})
        )


NAMES = [f"row {i}" for i in range(40)]


def test_pairs_and_pins_by_the_names_of_a_frame(cloud):
    data = pd.DataFrame(cloud, index=NAMES)
    by_name = [
        MustLink([("row 0", "row 1")], index=data.index),
        CannotLink([("row 3", "row 4")], index=data.index),
        Pin({"row 7": 2}, index=data.index),
    ]
    by_number = [MustLink([(0, 1)]), CannotLink([(3, 4)]), Pin({7: 2})]
    np.testing.assert_array_equal(
        model().fit(data, constraints=by_name).labels_,
        model().fit(cloud, constraints=by_number).labels_,
    )


CLASHES = [
    ([MustLink([(0, 1), (1, 2)]), CannotLink([(0, 2)])], [0, 1, 2]),
    ([CannotLink([(5, 6), (6, 7), (7, 8), (8, 9), (9, 5)])], [5, 6, 7, 8, 9]),
    ([Pin({3: 0}), Pin({3: 1})], [3]),
]


@pytest.mark.parametrize(("rules", "rows"), CLASHES)
def test_a_contradiction_is_told_in_the_names_of_the_frame(cloud, rules, rows):
    for data, names in (
        (pd.DataFrame(cloud, index=NAMES), NAMES),
        (pd.DataFrame(cloud, index=np.arange(100, 140)), np.arange(100, 140)),
        (pd.DataFrame(cloud), range(40)),
        (cloud, range(40)),
        (pl.DataFrame(cloud), range(40)),
    ):
        with pytest.raises(InfeasibleConstraintsError) as error:
            model(n_clusters=2).fit(data, constraints=rules)
        assert all(str(names[row]) in str(error.value) for row in rows)
        fitted = model(n_clusters=2).fit(data)
        with pytest.raises(InfeasibleConstraintsError) as error:
            fitted.assign(data, constraints=rules)
        assert all(str(names[row]) in str(error.value) for row in rows)


# --- kinds of data ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_is_kept_and_gives_the_labels_of_float64(blobs, solver):
    X, truth = blobs
    rules = [CannotLink([(0, 1)]), ClusterSizes([20, 20, 20])]
    wide = model(solver=solver).fit(X, constraints=rules)
    narrow = model(solver=solver).fit(X.astype(np.float32), constraints=rules)
    assert narrow.cluster_centers_.dtype == np.float32
    assert wide.cluster_centers_.dtype == np.float64
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(wide.labels_, narrow.labels_)
    if truth[0] != truth[1]:
        assert same_groups(wide.labels_, truth)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float16])
def test_other_numbers_are_read_as_float64(dtype):
    X = np.random.default_rng(2).integers(0, 100, size=(20, 2))
    fitted = model().fit(X.astype(dtype))
    assert fitted.cluster_centers_.dtype == np.float64
    np.testing.assert_array_equal(fitted.labels_, model().fit(X.astype(float)).labels_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (sparse.csr_array, np.float64),
        (sparse.csr_array, np.float32),
        (sparse.csr_matrix, np.float64),
    ],
)
def test_csr_gives_the_labels_of_dense(solver, kind, dtype):
    rng = np.random.default_rng(4)
    truth = np.arange(45) % 3
    X = (rng.random((45, 12)) < 0.3) * rng.random((45, 12))
    X[np.arange(45), truth] += 4.0
    rules = [MustLink([(0, 3)]), CannotLink([(0, 6)]), ClusterSizes([15, 15, 15])]
    dense = model(solver=solver).fit(X.astype(dtype), constraints=rules)
    thin = model(solver=solver).fit(kind(X.astype(dtype)), constraints=rules)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-5)
    assert thin.cluster_centers_.dtype == dtype
    assert thin.inertia_ == pytest.approx(dense.inertia_, rel=1e-5)
    csr = kind(X.astype(dtype))
    np.testing.assert_array_equal(dense.predict(X.astype(dtype)), thin.predict(csr))
    np.testing.assert_allclose(dense.transform(X.astype(dtype)), thin.transform(csr), atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_csr_is_never_made_dense(solver, monkeypatch):
    """Three hundred thousand columns: dense, 2,000 rows would need 5 GB; nobody should find out."""
    dense = sparse.csr_array.toarray

    def guarded(self, *arguments, **options):
        assert self.shape[0] <= 100, f"a matrix of shape {self.shape} is made dense"
        return dense(self, *arguments, **options)

    monkeypatch.setattr(sparse.csr_array, "toarray", guarded)
    rng = np.random.default_rng(6)
    n, d = 2000, 300_000
    topic = np.arange(n) % 2
    columns = np.concatenate([topic * 10 + rng.integers(10, size=n), rng.integers(d, size=n)])
    X = sparse.csr_array(
        (np.r_[np.full(n, 5.0), np.full(n, 0.1)], (np.tile(np.arange(n), 2), columns)),
        shape=(n, d),
    )
    rules = [MustLink([(0, 2), (1, 3)]), CannotLink([(0, 1)])]
    fitted = model(n_clusters=2, solver=solver, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(X, constraints=rules)
    assert fitted.report_.feasible
    assert fitted.cluster_centers_.shape == (2, d)
    assert fitted.predict(X[:5]).shape == (5,)


def test_the_data_are_left_as_they_are(cloud):
    frozen = cloud.copy()
    frozen.setflags(write=False)
    model().fit(frozen, constraints=RULES)
    np.testing.assert_array_equal(frozen, cloud)
    X = sparse.csr_array(cloud)
    model().fit(X, constraints=RULES)
    np.testing.assert_array_equal(X.toarray(), cloud)


# --- seeds, starts and restarts ---------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_same_seed_gives_the_same_answer(cloud, solver, init):
    def fit(seed):
        return model(solver=solver, init=init, n_init=2, random_state=seed, record_x=(5,)).fit(
            cloud, constraints=RULES
        )

    one, two = fit(3), fit(3)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    np.testing.assert_array_equal(one.history_.objective, two.history_.objective)
    np.testing.assert_array_equal(one.history_.x[5], two.history_.x[5])
    three = fit(np.random.RandomState(3))
    np.testing.assert_array_equal(one.labels_, three.labels_)


def test_the_global_state_is_used_only_when_no_seed_is_given(cloud):
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    model(random_state=1).fit(cloud)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize("solver", SOLVERS)
def test_centres_to_start_from_keep_their_order(blobs, solver):
    X, truth = blobs
    centers = np.array([[0.0, 10.0], [0.0, 0.0], [10.0, 0.0]])
    fitted = model(solver=solver, init=centers).fit(X)
    np.testing.assert_array_equal(fitted.labels_, np.array([1, 2, 0])[truth])
    np.testing.assert_allclose(fitted.cluster_centers_, centers, atol=1.0)
    assert np.array_equal(centers, [[0.0, 10.0], [0.0, 0.0], [10.0, 0.0]])


@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_to_start_from(blobs, solver):
    X, truth = blobs
    start = np.array([2, 0, 1])[truth]
    start[:6] = 0
    fitted = model(solver=solver, init=start).fit(X)
    assert same_groups(fitted.labels_, truth)
    if solver == "projected":
        np.testing.assert_array_equal(fitted.labels_, np.array([2, 0, 1])[truth])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_random_start_is_a_random_assignment(blobs, solver):
    X, truth = blobs
    fitted = model(solver=solver, init="random", n_init=3).fit(X)
    assert same_groups(fitted.labels_, truth)


def test_more_restarts_are_never_worse(cloud):
    def objective(runs):
        return model(n_clusters=6, n_init=runs).fit(cloud).inertia_

    # The first seeds drawn are the same, so the best of more is at least as good.
    values = [objective(runs) for runs in (1, 3, 6)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("solver", SOLVERS)
def test_jobs_do_not_change_the_answer(cloud, solver):
    one = model(solver=solver, n_init=2).fit(cloud, constraints=RULES)
    with pytest.warns(FutureWarning, match="n_jobs") as heard:
        two = model(solver=solver, n_init=2, n_jobs=2).fit(cloud, constraints=RULES)
    assert [each.filename for each in heard] == [__file__]
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    np.testing.assert_array_equal(one.history_.objective, two.history_.objective)


def test_copies_and_parameters_are_quiet_about_jobs(cloud):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = clone(model()).set_params(**model().get_params())
        plain.fit(cloud, constraints=RULES)
        assert clone(model(n_jobs=2)).get_params()["n_jobs"] == 2


# --- rounding, history, warnings and logs -----------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rules", [None, WITH_MUST_LINKS], ids=["free", "ruled"])
def test_without_repair_the_answer_is_the_plain_rounding_of_x(cloud, solver, rules):
    settings = {"solver": solver, "repair": False}
    last = model(**settings).fit(cloud, constraints=rules).n_iter_
    fitted = model(**settings, record_x=(1, last)).fit(cloud, constraints=rules)
    assert sorted(fitted.history_.x) == sorted({1, last})
    x = fitted.history_.x[last]
    assert x.shape == (40, 3)
    np.testing.assert_array_equal(fitted.labels_, x.argmax(axis=1))
    report = dataclasses.replace(fitted.report_, plan=None)
    assert report.to_dict() == audit(cloud, fitted.labels_, rules, 3).to_dict()


def test_without_repair_rules_may_be_broken_and_the_report_says_so(cloud):
    rules = ClusterSizes([1, 1, 38])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model(solver="algorithm1", repair=False, max_iter=3).fit(cloud, constraints=rules)
    sizes = sorted(np.bincount(fitted.labels_, minlength=3))
    assert fitted.report_.feasible == (sizes == [1, 1, 38])
    assert not fitted.report_.feasible


@pytest.mark.parametrize("solver", SOLVERS)
def test_record_x_keeps_the_iterations_asked_for(cloud, solver):
    fitted = model(solver=solver, record_x=(1, 4, 9, 10**6)).fit(cloud, constraints=RULES)
    assert sorted(fitted.history_.x) == [1, 4, 9]
    for x in fitted.history_.x.values():
        assert x.shape == (40, 3)
    assert model(solver=solver).fit(cloud).history_.x == {}
    assert model(solver=solver, record_x=np.array([2])).fit(cloud).history_.x.keys() == {2}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_history_has_an_entry_for_every_iteration(cloud, solver):
    history = model(solver=solver).fit(cloud, constraints=RULES).history_
    arrays = [history.objective, history.rho, *history.residuals.values()]
    arrays += [history.card_violations, history.must_link_violations]
    arrays += [history.cannot_link_violations]
    assert {len(values) for values in arrays} == {len(history)}
    assert all(np.isfinite(values).all() for values in arrays)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_warning_tells_of_too_few_iterations(cloud, solver):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=4"):
        fitted = model(solver=solver, max_iter=4, repair=False).fit(cloud, constraints=RULES)
    assert fitted.n_iter_ == 4


@pytest.mark.parametrize("solver", SOLVERS)
def test_few_iterations_are_enough_for_a_start(cloud, solver):
    """With repair, ADMM's centres only start a search."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(solver=solver, max_iter=4).fit(cloud, constraints=RULES)
    assert fitted.n_iter_ == 4
    assert fitted.report_.feasible


@pytest.mark.parametrize("solver", SOLVERS)
def test_enough_iterations_are_silent(blobs, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(solver=solver, max_iter=2000).fit(blobs[0])


def test_a_warning_tells_of_clusters_that_cannot_be_filled():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    together = MustLink([(0, i) for i in range(1, 5)] + [(5, i) for i in range(6, 10)])
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters are empty"):
        model().fit(X, constraints=together)


def test_equal_points_fill_all_clusters():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    assert min(model().fit(X).report_.sizes) > 0


def test_clusters_that_the_sizes_leave_empty_are_no_surprise(cloud):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model().fit(cloud, constraints=ClusterSizes([0, 20, 20]))
    assert fitted.report_.sizes == (0, 20, 20)


def test_verbose_logs_a_line_for_each_answer_of_a_maker(cloud, caplog):
    with caplog.at_level(logging.INFO, logger="corral"):
        fitted = model(verbose=True, n_init=3).fit(cloud)
    lines = [r.getMessage() for r in caplog.records if r.name.startswith("corral")]
    answers = [line.split(": objective ") for line in lines if ": objective " in line]
    assert [name for name, _ in answers] == ["ADMM", "seeds", "seeds", "seeds"]
    assert fitted.inertia_ <= min(float(objective) for _, objective in answers) * (1 + 1e-6)


def test_silent_unless_asked(cloud, caplog, capsys):
    logging.getLogger("corral").setLevel(logging.NOTSET)
    model(n_init=2).fit(cloud)
    assert not [r for r in caplog.records if r.levelno >= logging.INFO]
    assert capsys.readouterr() == ("", "")


# --- refits -----------------------------------------------------------------------------------

CLASH = [MustLink([(0, 1)]), CannotLink([(0, 1)])]
LATE_CLASH = CannotLink([(i, (i + 1) % 7) for i in range(7)])


@pytest.mark.parametrize("rules", [CLASH, LATE_CLASH], ids=["presolve", "exact"])
def test_a_failed_first_fit_leaves_it_unfitted(cloud, rules):
    estimator = model(n_clusters=2)
    with pytest.raises(InfeasibleConstraintsError):
        estimator.fit(cloud, constraints=rules)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert vars(estimator) == vars(model(n_clusters=2))


@pytest.mark.parametrize("rules", [CLASH, LATE_CLASH], ids=["presolve", "exact"])
def test_a_failed_refit_leaves_the_earlier_fit(cloud, rules):
    estimator = model(n_clusters=2).fit(pd.DataFrame(cloud, columns=["a", "b"]))
    before = pickle.dumps(estimator)
    with pytest.raises(InfeasibleConstraintsError):
        estimator.fit(np.hstack([cloud, cloud]), constraints=rules)
    assert pickle.dumps(estimator) == before
    assert estimator.n_features_in_ == 2
    assert list(estimator.feature_names_in_) == ["a", "b"]


def test_a_refit_forgets_the_earlier_fit(cloud):
    estimator = model().fit(pd.DataFrame(cloud, columns=["a", "b"]), constraints=RULES)
    estimator.fit(np.hstack([cloud, cloud]))
    fresh = model().fit(np.hstack([cloud, cloud]))
    np.testing.assert_array_equal(estimator.labels_, fresh.labels_)
    assert estimator.n_features_in_ == 4
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.report_.entries == ()


# --- which cluster is which -------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("sizes", [[10, 12, 18], [18, 10, 12], [12, 18, 10], [5, 30, 5]])
def test_the_clusters_stand_in_the_order_of_the_users_sizes(cloud, sizes, ordered, solver):
    rule = ClusterSizes(sizes, ordered=ordered)
    fitted = model(solver=solver).fit(cloud, constraints=rule)
    assert fitted.report_.sizes == tuple(sizes)


def test_sizes_by_bounds_stand_in_the_users_order(cloud):
    low, high = [3, 20, 8], [5, 25, 12]
    rule = ClusterSizes(minimum=low, maximum=high)
    sizes = model().fit(cloud, constraints=rule).report_.sizes
    assert all(a <= size <= b for a, size, b in zip(low, sizes, high, strict=True))


def test_pins_and_known_labels_name_the_clusters(blobs):
    X, truth = blobs
    known = np.full(60, -1)
    for cluster in range(3):
        row = int(np.flatnonzero(truth == cluster)[0])
        known[row] = [2, 0, 1][cluster]
    fitted = model().fit(X, constraints=from_labels(known))
    np.testing.assert_array_equal(fitted.labels_, np.array([2, 0, 1])[truth])


@pytest.mark.parametrize(
    "rule",
    [
        None,
        ClusterSizes(minimum=5),
        ClusterTotals(np.ones(60), maximum=30.0),
        GroupShares(np.arange(60) % 2, minimum=0.1),
    ],
)
def test_the_numbers_of_the_clusters_do_not_depend_on_the_start(blobs, rule):
    X, _ = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = [model(random_state=seed).fit(X, constraints=rule).labels_ for seed in range(6)]
    for labels in answers[1:]:
        np.testing.assert_array_equal(labels, answers[0])


# --- parts of the data ------------------------------------------------------------------------


def test_cross_validation_with_the_rules_of_each_part(cloud):
    values = np.random.default_rng(0).uniform(1, 2, 40)
    rules = ConstraintSet(
        [
            MustLink([(0, 1), (1, 2), (20, 30)]),
            CannotLink([(3, 4), (5, 39)], weight=[np.inf, 2.0]),
            ClusterSizes(minimum=4),
            ClusterTotals(values, maximum=35.0),
            GroupShares(np.arange(40) % 2, minimum=0.2),
            Pin({9: 1}),
            LinearConstraint(
                sparse.csr_array(([1.0, 1.0], ([0, 1], [3 * 7, 3 * 8 + 1])), shape=(2, 120)),
                upper=0.0,
                n_clusters=3,
            ),
        ]
    )
    for train, test in KFold(4).split(cloud):
        part = rules.subset(train)
        fitted = model().fit(cloud[train], constraints=part)
        assert fitted.report_.feasible
        where = dict(zip(train.tolist(), fitted.labels_.tolist(), strict=True))
        for i, j in ((0, 1), (1, 2), (20, 30)):
            assert i not in where or j not in where or where[i] == where[j]
        assert 3 not in where or 4 not in where or where[3] != where[4]
        assert where.get(9, 1) == 1
        assert where.get(7) != 0
        assert where.get(8) != 1
        assert np.isfinite(fitted.score(cloud[test]))
    with pytest.raises(ValueError, match="exact"):
        ConstraintSet(ClusterSizes([20, 10, 10])).subset(train)


@pytest.mark.parametrize(
    ("init", "what"), [(np.eye(3, 2), "centres"), (np.arange(40) % 3, "labels")]
)
def test_seeds_beside_a_start_that_was_given_are_warned_of(cloud, init, what):
    with pytest.warns(RuntimeWarning, match=f"`n_init` is 4, but `init` has the {what}") as heard:
        ConstrainedKMeans(3, init=init, n_init=4, random_state=0).fit(cloud)
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in (1, "auto"):
            ConstrainedKMeans(3, init=init, n_init=number, random_state=0).fit(cloud)


def test_a_function_gives_the_start_as_in_scikit_learn():
    X = np.random.default_rng(3).normal(size=(30, 2))
    calls = []

    def init(points, n_clusters, random_state):
        calls.append((points is X, n_clusters, type(random_state)))
        return X[:n_clusters]

    found = ConstrainedKMeans(3, init=init, random_state=0).fit(X)
    same = ConstrainedKMeans(3, init=X[:3], random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels_, same.labels_)
    assert calls == [(True, 3, np.random.RandomState)]
    with pytest.raises(ValueError, match=r"`init` has shape \(2, 2\)"):
        ConstrainedKMeans(3, init=lambda X, k, random_state: X[:2]).fit(X)
