"""Bad input: the error says what is wrong, the value and what is allowed; no state changes."""

from __future__ import annotations

import copy
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedGaussianMixture,
    ConstrainedKernelKMeans,
    ConstrainedKMeans,
    ConstrainedKMedoids,
    ConstraintSet,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    LinkPropagation,
    MustLink,
    Pin,
    audit,
    choose_n_clusters,
    from_labels,
)
from corral.baselines import COPKMeans

N, D, K = 12, 2, 3
INF, NAN = float("inf"), float("nan")


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(N, D))


def model(**parameters):
    return ConstrainedKMeans(**{"n_clusters": K, "n_init": 1, "random_state": 0, **parameters})


def state_of(estimator):
    return {name: copy.deepcopy(value) for name, value in vars(estimator).items()}


def same(one, two):
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return np.array_equal(one, two, equal_nan=np.asarray(one).dtype.kind == "f")
    return repr(one) == repr(two)


def says(error, *parts):
    """The message holds every part, numbers and names as whole words."""
    text = str(error.value)
    for part in parts:
        assert re.search(rf"(?<![\w.]){re.escape(str(part))}(?![\w])", text), (
            f"{part!r} in {text!r}"
        )


def refused(estimator, X, *parts, kind=ValueError, **arguments):
    """``fit`` raises, says it, and changes neither the estimator nor the data."""
    before = state_of(estimator)
    data = copy.deepcopy((X, arguments))
    with pytest.raises(kind) as error:
        estimator.fit(X, **arguments)
    says(error, *parts)
    after = vars(estimator)
    assert list(after) == list(before)
    assert all(same(after[name], before[name]) for name in before)
    assert repr(data) == repr((X, arguments))
    with pytest.raises(NotFittedError):
        estimator.predict(np.zeros((1, D)))


COUNT = "integer of at least 1"
PARAMETERS = [
    ("n_clusters", 0, COUNT),
    ("n_clusters", -2, COUNT),
    ("n_clusters", 2.0, COUNT),
    ("n_clusters", "3", COUNT),
    ("n_clusters", True, COUNT),
    ("n_clusters", None, COUNT),
    ("solver", "lloyd", "'projected' or 'algorithm1'"),
    ("solver", None, "'projected' or 'algorithm1'"),
    ("solver", ("projected",), "'projected' or 'algorithm1'"),
    ("init", "kmeans", "'k-means++' or 'random'"),
    ("n_init", 0, COUNT),
    ("n_init", -1, COUNT),
    ("n_init", 1.5, COUNT),
    ("n_init", "many", COUNT),
    ("n_init", "many", "auto"),
    ("n_init", False, COUNT),
    ("n_init", None, COUNT),
    ("max_iter", 0, COUNT),
    ("max_iter", 10.0, COUNT),
    ("max_iter", "auto", COUNT),
    ("max_iter", True, COUNT),
    ("max_iter", None, COUNT),
    ("tol", -1e-3, "at least 0"),
    ("tol", NAN, "finite"),
    ("tol", INF, "finite"),
    ("tol", "tight", "auto"),
    ("tol", None, "number"),
    ("tol", True, "number"),
    ("rho", 0, "above 0"),
    ("rho", -1.0, "above 0"),
    ("rho", NAN, "finite"),
    ("rho", INF, "finite"),
    ("rho", "big", "auto"),
    ("rho", [1.0], "number"),
    ("rho_growth", 0.99, "at least 1"),
    ("rho_growth", NAN, "finite"),
    ("rho_growth", INF, "finite"),
    ("rho_growth", "fast", "auto"),
    ("rho_every", 0, COUNT),
    ("rho_every", 2.5, COUNT),
    ("rho_every", "often", "auto"),
    ("repair", "no", "True or False"),
    ("repair", 0, "True or False"),
    ("repair", None, "True or False"),
    ("on_infeasible", "ignore", "'raise' or 'relax'"),
    ("on_infeasible", None, "'raise' or 'relax'"),
    ("time_limit", -1, "at least 0"),
    ("time_limit", NAN, "finite"),
    ("time_limit", "1 s", "None"),
    ("time_limit", True, "number"),
    ("prove", -1, "at least 0"),
    ("prove", INF, "finite"),
    ("prove", "long", "None"),
    ("n_jobs", 0, "integer"),
    ("n_jobs", 1.5, "integer"),
    ("n_jobs", "two", "integer"),
    ("random_state", "seed", "RandomState"),
    ("random_state", -1, "RandomState"),
    ("random_state", 1.5, "RandomState"),
    ("verbose", "loud", "integer"),
    ("record_x", 5, "integers of at least 1"),
    ("record_x", (0,), "integers of at least 1"),
    ("record_x", (2, -3), "integers of at least 1"),
    ("record_x", (1.5,), "integers of at least 1"),
    ("record_x", ("last",), "integers of at least 1"),
    ("effort", 0.0, "above 0"),
    ("effort", "much", "above 0"),
    ("max_samples", 0, COUNT),
    ("max_samples", 2.5, COUNT),
    ("max_samples", "few", "auto"),
    ("metric", "manhattan", "'haversine'"),
    ("metric", None, "'euclidean'"),
    ("device", "tpu", "'cuda:N'"),
    ("device", "cuda:x", "'cuda:N'"),
    ("device", 5, "'cuda:N'"),
    ("cluster_names", 5, "a list of texts"),
    ("cluster_names", ["a", "b", "b"], "a name of its own"),
    ("constraints", "sizes", "a constraint such as MustLink"),
    ("constraints", MustLink([(0, 1)]), "n_samples= or index="),
]


def value_in_words(value):
    return str(value[-1]) if isinstance(value, (tuple, list)) else str(value)


@pytest.mark.parametrize(("name", "value", "allowed"), PARAMETERS)
def test_a_wrong_parameter_is_named_with_its_value_and_what_is_allowed(X, name, value, allowed):
    estimator = model(**{name: value})
    refused(estimator, X, name, value_in_words(value), allowed, kind=(ValueError, TypeError))


@pytest.mark.parametrize("solver", ["projected", "algorithm1"])
@pytest.mark.parametrize(
    ("name", "value", "allowed"), [("tol", -1e-3, "at least 0"), ("rho", 0, "above 0")]
)
def test_both_solvers_refuse_the_same(X, solver, name, value, allowed):
    refused(model(solver=solver, **{name: value}), X, name, value, allowed)


def test_every_parameter_of_the_constructor_is_in_the_table():
    assert {name for name, _, _ in PARAMETERS} == set(ConstrainedKMeans().get_params())


INITS = [
    (np.ma.masked_equal(np.arange(K * D).reshape(K, D), 3), ["row 1, column 1", "masked"]),
    (np.zeros((K, D + 1)), ["(3, 3)", "(3, 2)"]),
    (np.zeros((K + 1, D)), ["(4, 2)", "(3, 2)"]),
    (np.array([[0, 0], [1, NAN], [2, 2]]), ["nan", "centre 1", "feature 1", "finite"]),
    (np.array([[0, 0], [1, 1], [-INF, 2]]), ["-inf", "centre 2", "feature 0", "finite"]),
    (np.zeros(N - 1, int), ["11 labels", "12 samples"]),
    (np.zeros(N), ["float64", "integers"]),
    (np.arange(N), ["sample 3", "label 3", "[0, 2]"]),
    (np.r_[np.zeros(N - 1, int), -1], ["sample 11", "label -1", "[0, 2]"]),
    (np.zeros((2, 2, 2)), ["3 dimensions", "12 labels", "3 centres"]),
    (7, ["0 dimensions", "12 labels", "3 centres"]),
    ([["a", "b"]] * K, ["init", "numbers"]),
]


@pytest.mark.parametrize(("init", "parts"), INITS)
def test_a_start_that_cannot_be_is_refused(X, init, parts):
    refused(model(init=init), X, "init", *parts)


def masked(values):
    """A masked array whose row 1 is masked."""
    array = np.ma.array(values)
    array[1] = np.ma.masked
    return array


def broken_csr(rows=N):
    """A CSR array whose last index is far outside its shape."""
    array = sparse.csr_array(np.ones((rows, D)))
    array.indices[-1] = 10**6
    return array


def spoiled(X, value):
    X = X.copy()
    X[4, 1] = value
    return X


DATA = [
    (lambda X: spoiled(X, NAN), ["X", "NaN"]),
    (lambda X: spoiled(X, INF), ["X", "infinity"]),
    (lambda X: spoiled(X, -INF), ["X", "infinity"]),
    (lambda X: sparse.csr_array(spoiled(X, NAN)), ["X", "NaN"]),
    (lambda X: pd.DataFrame(spoiled(X, NAN)), ["X", "NaN"]),
    (lambda X: X[:2], ["n_samples=2", "n_clusters=3"]),
    (lambda X: X[:0], ["0 sample(s)", "minimum of 1"]),
    (lambda X: X[:, :0], ["0 feature(s)", "minimum of 1"]),
    (lambda X: X[0], ["2D array", "1D array"]),
    (lambda X: X[None], ["dim 3", "<= 2"]),
    (lambda X: [["a", "b"]] * N, ["could not convert string to float"]),
    (lambda X: X + 1j, ["Complex data"]),
    (lambda X: masked(X), ["X", "masked", "row 1, column 0"]),
    (lambda X: list(masked(X)), ["X", "masked", "row 1, column 0"]),
    (lambda X: (*X[:2], *masked(X)[:2], *X[:2]), ["X", "masked", "row 3, column 0"]),
    (lambda X: broken_csr(), ["X", "indices", "(12, 2)"]),
    (lambda X: broken_csr().tocsr().T, ["X", "indices"]),
]


@pytest.mark.parametrize(("spoil", "parts"), DATA)
def test_data_that_cannot_be_clustered_are_refused(X, spoil, parts):
    estimator, bad = model(), spoil(X)
    before = state_of(estimator)
    with pytest.raises(ValueError, match=r"(?s)" + ".*".join(map(re.escape, parts))):
        estimator.fit(bad)
    assert vars(estimator).keys() == before.keys()
    with pytest.raises(NotFittedError):
        estimator.predict(X)


def dates(X):
    """As many days as X has entries; a conversion to numbers would take them."""
    return (np.datetime64("2020-01-01") + np.arange(X.size)).reshape(X.shape)


def polars(X):
    return pytest.importorskip("polars").DataFrame(dates(X))


@pytest.mark.parametrize(
    "spoil",
    [masked, lambda X: broken_csr(), dates, lambda X: pd.DataFrame(dates(X)), polars],
    ids=["mask", "indices", "dates", "frame of dates", "polars"],
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda X, bad: model().fit(X).predict(bad),
        lambda X, bad: model().fit(X).transform(bad),
        lambda X, bad: ConstrainedKMedoids(K).fit(bad),
        lambda X, bad: ConstrainedKMedoids(K, random_state=0).fit(X).predict(bad),
        lambda X, bad: COPKMeans(K).fit(bad),
        lambda X, bad: audit(bad, np.arange(N) % K, [], K),
        lambda X, bad: choose_n_clusters(bad, [2, 3]),
        lambda X, bad: LinkPropagation(2).fit(bad),
    ],
)
def test_masks_and_wrong_indices_are_refused_wherever_rows_come_in(X, ask, spoil):
    with pytest.raises(
        ValueError, match=r"X has a masked entry at row 1|X is a sparse array with|X holds d"
    ):
        ask(X, spoil(X))


@pytest.mark.parametrize(
    "kind",
    [
        ConstrainedKMeans,
        ConstrainedKMedoids,
        ConstrainedKernelKMeans,
        ConstrainedGaussianMixture,
        COPKMeans,
    ],
)
def test_tensors_with_gradients_are_rows_as_any(X, kind):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X, requires_grad=True)
    plain = kind(K, random_state=0).fit(X)
    given = kind(K, random_state=0).fit(tensor)
    np.testing.assert_array_equal(plain.labels_, given.labels_)
    if hasattr(plain, "predict"):
        np.testing.assert_array_equal(plain.predict(X), given.predict(tensor))


def test_a_mask_that_hides_nothing_is_no_mask(X):
    plain, hidden = model().fit(X), model().fit(np.ma.array(X, mask=np.zeros_like(X, bool)))
    np.testing.assert_array_equal(plain.labels_, hidden.labels_)


WEIGHTS = [
    (masked(np.ones(N)), ["row 1", "masked"]),
    (np.r_[np.ones(N - 1), -0.5], ["sample 11", "-0.5", "not negative"]),
    (np.r_[np.ones(N - 1), NAN], ["sample 11", "nan", "finite"]),
    (np.r_[INF, np.ones(N - 1)], ["sample 0", "inf", "finite"]),
    (np.ones(N + 1), ["(13,)", "12 samples", "(12,)"]),
    (np.ones((N, 1)), ["(12, 1)", "12 samples"]),
    (np.zeros(N), ["zero", "positive"]),
    (-1.0, ["-1.0", "not negative"]),
    (["heavy"] * N, ["heavy", "numbers"]),
]


@pytest.mark.parametrize(("weight", "parts"), WEIGHTS)
def test_sample_weights_that_cannot_be_are_refused(X, weight, parts):
    refused(model(), X, "sample_weight", *parts, sample_weight=weight)


# What a constraint finds wrong when it is made: (make, what the message holds).
MADE = [
    (lambda c: c([(0, 1), (2.0, 3)]), ["pairs", "integers", "float64"]),
    (lambda c: c([(0, "1")]), ["pairs", "integers"]),
    (lambda c: c([(0, True)]), ["pairs", "integers", "booleans"]),
    (lambda c: c(np.eye(2, dtype=bool)), ["pairs", "integers", "bool"]),
    (lambda c: c("01"), ["pairs", "integers", "str"]),
    (lambda c: c({0: 1}), ["pairs", "integers", "dict"]),
    (lambda c: c([(0, 1), (5, -1)]), ["pair 1", "(5, -1)", "negative"]),
    (lambda c: c([(0, 1), (4, 4)]), ["pair 1", "(4, 4)", "itself"]),
    (lambda c: c([(0, 1, 2)]), ["(1, 3)", "(number of pairs, 2)"]),
    (lambda c: c([0, 1]), ["(2,)", "(number of pairs, 2)"]),
    (lambda c: c([(0, 1), (2,)]), ["pairs", "regular shape"]),
    (lambda c: c([(0, 1)], weight=-2.0), ["weight", "-2", "above 0"]),
    (lambda c: c([(0, 1)], weight=0), ["weight", "0", "above 0"]),
    (lambda c: c([(0, 1)], weight=NAN), ["weight", "NaN", "number"]),
    (lambda c: c([(0, 1), (1, 2)], weight=[1, NAN]), ["weight[1]", "NaN"]),
    (lambda c: c([(0, 1), (1, 2)], weight=[3, -1]), ["weight[1]", "-1", "above 0"]),
    (lambda c: c([(0, 1)], weight=[1, 2]), ["weight", "(2,)", "1 pair"]),
    (lambda c: c([(0, 1)], weight="dear"), ["weight", "numbers"]),
    (lambda c: c([("a", "z")], index=["a", "b"]), ["'z'", "index"]),
    (lambda c: c([("a", "b")], index=["a", "b", "a"]), ["'a'", "unique"]),
    (lambda c: c([("a", "a")], index=["a", "b"]), ["pair 0", "itself"]),
    (lambda c: c([("a",)], index=["a", "b"]), ["pair 0", "two names"]),
]


@pytest.mark.parametrize("kind", [MustLink, CannotLink])
@pytest.mark.parametrize(("make", "parts"), MADE)
def test_pairs_that_cannot_be(kind, make, parts):
    with pytest.raises(ValueError, match=r"must_link|cannot_link|index") as error:
        make(kind)
    says(error, *parts)


OTHERS = [
    (lambda: ClusterSizes([5, -1]), ["sizes[1]", "-1", "negative"]),
    (lambda: ClusterSizes([2.5, 1]), ["sizes[0]", "2.5", "whole"]),
    (lambda: ClusterSizes([NAN, 1]), ["sizes[0]", "NaN"]),
    (lambda: ClusterSizes([INF, 1]), ["sizes[0]", "inf", "finite"]),
    (lambda: ClusterSizes(4), ["sizes", "4", "per cluster"]),
    (lambda: ClusterSizes([[1, 2]]), ["sizes", "(1, 2)", "per cluster"]),
    (lambda: ClusterSizes(["a"]), ["sizes", "numbers"]),
    (lambda: ClusterSizes([True, True]), ["sizes", "numbers", "bool"]),
    (lambda: ClusterSizes([3, 3], minimum=1), ["sizes", "either", "minimum", "maximum"]),
    (lambda: ClusterSizes(minimum=4, maximum=3), ["minimum", "4", "maximum", "3"]),
    (lambda: ClusterSizes(minimum=[1, 5], maximum=[2, 3]), ["minimum[1]", "5", "maximum[1]", "3"]),
    (lambda: ClusterSizes(minimum=[1, 2], maximum=[3, 3, 3]), ["2 entries", "3"]),
    (lambda: ClusterSizes(minimum=-1), ["minimum", "-1", "negative"]),
    (lambda: ClusterSizes(maximum=1.5), ["maximum", "1.5", "whole"]),
    (lambda: ClusterTotals([1, NAN], maximum=2), ["values[1]", "NaN"]),
    (lambda: ClusterTotals([1, INF], maximum=2), ["values[1]", "inf", "finite"]),
    (lambda: ClusterTotals([[1, 2]], maximum=2), ["values", "(1, 2)", "per row"]),
    (lambda: ClusterTotals([1, 2], maximum=NAN), ["maximum", "NaN"]),
    (lambda: ClusterTotals([1, 2], minimum=INF), ["minimum", "inf"]),
    (lambda: ClusterTotals([1, 2], minimum=2, maximum=1), ["minimum", "2", "maximum", "1"]),
    (lambda: ClusterTotals(["a"], maximum=1), ["values", "numbers"]),
    (lambda: GroupShares(["a", "b"], minimum=1.5), ["minimum", "'a'", "1.5", "[0, 1]"]),
    (lambda: GroupShares(["a", "b"], minimum={"c": 0.5}), ["minimum", "'c'", "'a', 'b'"]),
    (lambda: GroupShares(["a"], minimum=0.6, maximum=0.5), ["'a'", "0.6", "0.5"]),
    (lambda: GroupShares(["a", None], minimum=0.1), ["groups[1]", "None", "missing"]),
    (lambda: GroupShares(["a", "b", NAN], minimum=0.1), ["groups[2]", "nan", "missing"]),
    (lambda: GroupShares(["a", 1], minimum=0.1), ["groups[1]", "1", "all strings"]),
    (lambda: GroupShares(np.array(["a", NAN]), minimum=0.1), ["groups[1]", "'nan'", "missing"]),
    (lambda: GroupShares(masked(["a", "b"])), ["groups", "row 1", "masked"]),
    (lambda: ClusterTotals(masked([1, 2]), maximum=5), ["values", "row 1", "masked"]),
    (lambda: ClusterTotals([1, 2], maximum=masked([5, 5])), ["maximum", "row 1", "masked"]),
    (lambda: ClusterTotals([1, 2], maximum=np.ma.masked), ["maximum", "has a masked entry;"]),
    (lambda: MustLink(list(masked([[0, 1], [2, 3]]))), ["pairs", "row 1, column 0", "masked"]),
    (lambda: MustLink(masked([[0, 1], [2, 3]])), ["pairs", "row 1, column 0", "masked"]),
    (lambda: MustLink([(0, 1), (1, 2)], masked([1.0, 2.0])), ["weight", "row 1", "masked"]),
    (lambda: Pin(masked([0, 1])), ["pins", "row 1", "masked"]),
    (lambda: Pin({0: 1}).violations(masked([0, 1])), ["labels", "row 1", "masked"]),
    (lambda: LinearConstraint(masked([[1, 1], [1, 1]])), ["A", "row 1, column 0", "masked"]),
    (lambda: LinearConstraint(broken_csr()), ["A", "indices", "shape"]),
    (lambda: GroupShares([0.5, 1.0], minimum=0.1), ["groups", "float64", "integers"]),
    (lambda: GroupShares(["a", "b"], maximum=NAN), ["maximum", "NaN"]),
    (lambda: Pin({0: -1}), ["row 0", "cluster -1", "at least 0"]),
    (lambda: Pin({-2: 1}), ["row -2", "cluster 1", "at least 0"]),
    (lambda: Pin({0: 1.0}), ["clusters of pins", "integers"]),
    (lambda: Pin({1.5: 1}), ["pinned rows", "integers"]),
    (lambda: Pin([(0, 1, 2)]), ["Pin", "(row, cluster)"]),
    (lambda: Pin({"z": 0}, index=["a", "b"]), ["'z'", "index"]),
    (lambda: from_labels([[0, 1]]), ["y", "(1, 2)", "per row"]),
    (lambda: LinearConstraint([[1, NAN]], 0, 1), ["A", "finite"]),
    (lambda: LinearConstraint([[1, 1]], 2, 1), ["lower[0]", "2", "upper[0]", "1"]),
    (lambda: LinearConstraint([[1, 1]], NAN, 1), ["lower", "NaN"]),
    (lambda: LinearConstraint([[1, 1]], [0, 0], 1), ["lower", "(2,)", "1 row"]),
    (lambda: LinearConstraint([["a"]], 0, 1), ["A", "numbers"]),
    (lambda: LinearConstraint([[1, 1]], INF), ["lower", "inf"]),
    (lambda: LinearConstraint(np.ones((1, 5)), n_clusters=2), ["n_clusters", "2", "5 columns"]),
]


@pytest.mark.parametrize(("make", "parts"), OTHERS)
def test_constraints_that_cannot_be(make, parts):
    with pytest.raises(ValueError, match=r".") as error:
        make()
    says(error, *parts)


MISFITS = [
    (MustLink([(0, 1), (3, 200)]), ["must_link", "pair 1", "(3, 200)", "12 samples", "[0, 11]"]),
    (CannotLink([(12, 0)]), ["cannot_link", "pair 0", "(12, 0)", "12 samples", "[0, 11]"]),
    (MustLink([(0, 12)], weight=1), ["must_link", "(0, 12)", "[0, 11]"]),
    (Pin({12: 0}), ["row 12", "12 samples", "[0, 11]"]),
    (Pin({0: 1, 4: 3}), ["pin 1", "row 4", "cluster 3", "n_clusters is 3", "[0, 2]"]),
    (ClusterSizes([6, 6]), ["length 2", "n_clusters is 3", "per cluster"]),
    (ClusterSizes(minimum=[1, 1]), ["minimum", "length 2", "n_clusters is 3"]),
    (ClusterSizes(maximum=[9] * 4), ["maximum", "length 4", "n_clusters is 3"]),
    (ClusterSizes([4, 4, 5]), ["[4, 4, 5]", "13", "12 samples"]),
    (ClusterSizes([4, 4, 3]), ["[4, 4, 3]", "11", "12 samples"]),
    (ClusterSizes(minimum=5), ["minimum", "5", "15", "12 samples"]),
    (ClusterSizes(maximum=3), ["maximum", "3", "9", "12 samples"]),
    (ClusterTotals(np.ones(5), maximum=9), ["values", "length 5", "12 samples"]),
    (ClusterTotals(np.ones(N), maximum=[9, 9]), ["maximum", "length 2", "n_clusters is 3"]),
    (GroupShares(["a", "b"], minimum=0.1), ["groups", "length 2", "12 samples"]),
    (LinearConstraint(np.ones((1, 30)), 0, 5), ["30 columns", "12 samples", "36"]),
    (LinearConstraint(np.ones((1, 36)), 0, 12, n_clusters=4), ["4 clusters", "n_clusters is 3"]),
]


@pytest.mark.parametrize(("rule", "parts"), MISFITS)
@pytest.mark.parametrize("solver", ["projected", "algorithm1"])
def test_constraints_that_do_not_fit_the_data(X, rule, parts, solver):
    refused(model(solver=solver), X, *parts, constraints=[MustLink([(0, 1)]), rule])


@pytest.mark.parametrize(("rule", "parts"), MISFITS)
def test_assign_refuses_the_same(X, rule, parts):
    fitted = model().fit(X)
    labels = fitted.labels_.copy()
    with pytest.raises(ValueError, match=r".") as error:
        fitted.assign(X, constraints=rule)
    says(error, *parts)
    np.testing.assert_array_equal(fitted.labels_, labels)


@pytest.mark.parametrize("wrong", ["must", 3, {"must_link": [(0, 1)]}, [(0, 1)], [MustLink]])
def test_what_is_no_constraint_is_refused(X, wrong):
    refused(model(), X, "constraints", "MustLink", kind=TypeError, constraints=wrong)


@pytest.mark.parametrize("solver", ["projected", "algorithm1"])
@pytest.mark.parametrize(
    "nothing",
    [
        None,
        [],
        (),
        ConstraintSet(),
        MustLink([]),
        [CannotLink([]), Pin({}), ClusterSizes(), ClusterSizes([]), ClusterTotals([])],
        [GroupShares([]), LinearConstraint([], 0, 1), ClusterSizes(minimum=0, maximum=10**30)],
    ],
)
def test_empty_lists_are_no_constraint(X, nothing, solver):
    plain = model(solver=solver).fit(X)
    ruled = model(solver=solver).fit(X, constraints=nothing)
    np.testing.assert_array_equal(plain.labels_, ruled.labels_)
    assert ruled.report_.feasible


FULL = [(i, j) for i in range(6) for j in range(i)]
DEAR = [
    (MustLink(FULL, 1e308), "MustLink"),
    (Pin(np.arange(N) % K, 1e308), "Pin"),
    (ClusterSizes([12, 0, 0], weight=1e300), "ClusterSizes"),
    (ClusterTotals(np.ones(N), maximum=0, weight=1e308), "ClusterTotals"),
    (ClusterTotals(np.full(N, 1e200), maximum=0, weight=1e200), "ClusterTotals"),
    (GroupShares(np.arange(N) % 2, minimum=0.9, weight=1e308), "GroupShares"),
]


@pytest.mark.parametrize(("rule", "kind"), DEAR)
def test_prices_that_no_float_can_add_up_are_refused(X, rule, kind):
    refused(model(), X, "prices", kind, "1e+300", constraints=[CannotLink([(0, 1)], 1.0), rule])


def test_no_violation_costs_more_than_the_bound_on_prices(X):
    """Of random labels and soft rules of every kind."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        rules = [
            MustLink(FULL, rng.uniform(1, 9, len(FULL))),
            Pin(rng.integers(0, K, N), 3.0),
            ClusterSizes(minimum=int(rng.integers(20)), weight=2.0),
            ClusterTotals(rng.normal(size=N), minimum=rng.normal(), maximum=9, weight=4.0),
            GroupShares(rng.integers(0, 2, N), minimum=rng.random(), weight=5.0),
        ]
        labels = rng.integers(0, K, N)
        for rule in rules:
            assert rule.violations(labels, K).amount <= rule.dearest(N, K)


@pytest.mark.parametrize(
    ("size", "unit"), [(1e40, 1.0), (1e160, 1.0), (1e300, 1.0), (1e160, 1e120)]
)
def test_a_start_too_far_from_the_rows_is_refused(X, size, unit):
    init = np.array([[0, 0], [1, 0], [size, 1]]) * unit
    refused(model(init=init), X * unit, "init", f"{size * unit:.3g}", "too far from the rows of X")


def test_a_start_as_large_as_the_rows_is_taken(X):
    init = np.array([[0, 0], [1, 0], [0, 1]])
    labels = [model(init=init * unit).fit(X * unit).labels_ for unit in (1.0, 2.0**400)]
    np.testing.assert_array_equal(*labels)


def containing_itself():
    inside = [MustLink([(0, 1)])]
    inside.append(inside)
    return inside


def nested(depth):
    inside = MustLink([(0, 1)])
    for _ in range(depth):
        inside = [inside]
    return inside


@pytest.mark.parametrize("wrong", [containing_itself(), nested(5000)], ids=["itself", "deep"])
def test_lists_without_an_end_are_refused(X, wrong):
    message = "contains itself, or lists nested too deep"
    with pytest.raises(ValueError, match=message):
        ConstraintSet(wrong)
    with pytest.raises(ValueError, match=message):
        model().fit(X, constraints=wrong)


FOR_THE_OTHER_SOLVER = [
    ({"constraints": MustLink([(0, 1)], weight=2.0)}, ["soft pairs", "1", "infinite"]),
    ({"constraints": ClusterSizes(minimum=2)}, ["exact sizes", "cluster 0", "[2, 12]"]),
    (
        {"constraints": ClusterTotals(np.linspace(0, 1, N), maximum=5)},
        ["equalities", "total 0", "5"],
    ),
    ({"constraints": LinearConstraint(np.ones((1, 36)), 0, 20)}, ["equalities", "row 0", "20"]),
    ({"sample_weight": np.arange(1.0, N + 1)}, ["sample weights", "1", "12", "equal"]),
]


@pytest.mark.parametrize(("arguments", "parts"), FOR_THE_OTHER_SOLVER)
def test_algorithm1_says_what_it_does_not_know(X, arguments, parts):
    refused(model(solver="algorithm1"), X, 'solver="projected"', *parts, **arguments)


@pytest.mark.parametrize("method", ["predict", "transform", "score", "assign"])
def test_new_rows_must_have_the_features_that_were_fitted(X, method):
    fitted = model().fit(X)
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        getattr(fitted, method)(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        getattr(fitted, method)([[NAN, 0.0]])
    with pytest.raises(NotFittedError):
        getattr(model(), method)(X)


def test_score_and_assign_check_their_weights(X):
    fitted = model().fit(X)
    for method in (fitted.score, fitted.assign):
        with pytest.raises(ValueError, match=r"`sample_weight` of sample 2 is -1"):
            method(X, sample_weight=[1, 1, -1] + [1] * 9)


def test_constraints_cannot_be_changed_after_they_are_made():
    pairs = np.array([[0, 1], [2, 3]])
    rule = MustLink(pairs)
    pairs[:] = 7
    np.testing.assert_array_equal(rule.pairs, [[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="read-only"):
        rule.pairs[0, 0] = 5
    with pytest.raises(AttributeError):
        rule.pairs = pairs


def test_an_error_leaves_the_constraints_and_the_data_alone(X):
    before = X.copy()
    rules = [MustLink([(0, 1)]), CannotLink([(0, 1)])]
    kept = copy.deepcopy(rules)
    with pytest.raises(InfeasibleConstraintsError):
        model().fit(X, constraints=rules)
    np.testing.assert_array_equal(X, before)
    assert rules == kept


HUGE = {
    "an integer": 10**400,
    "below": -(10**400),
    "more digits than Python writes": 10**5000,
    "a fraction": Fraction(10**400),
    "a decimal": Decimal("1e400"),
}


def fitted_with(kind):
    return {
        name: lambda value, name=name: kind(**{"n_clusters": 2, name: value}).fit(POINTS)
        for name in kind().get_params()
        if name not in ("constraints", "verbose")
    }


POINTS = np.arange(2.0 * N).reshape(N, 2)
TAKERS = {
    "a size": lambda value: ClusterSizes([value, 3]),
    "a bound of sizes": lambda value: ClusterSizes(minimum=value),
    "the weight of sizes": lambda value: ClusterSizes(minimum=1, weight=value),
    "an amount": lambda value: ClusterTotals([value] * N, maximum=3),
    "a bound of totals": lambda value: ClusterTotals([1] * N, minimum=[value, 1]),
    "the weight of totals": lambda value: ClusterTotals([1] * N, maximum=3, weight=value),
    "a share": lambda value: GroupShares([0, 1] * 6, minimum={0: value}),
    "the weight of shares": lambda value: GroupShares([0, 1] * 6, minimum=0.1, weight=value),
    "a row of a pair": lambda value: MustLink([(0, value)]),
    "the weight of a pair": lambda value: CannotLink([(0, 1)], weight=[value]),
    "a number of rows": lambda value: MustLink([(0, 1)], n_samples=value),
    "a cluster of a pin": lambda value: Pin({0: value}),
    "the weight of a pin": lambda value: Pin({0: 0}, weight=value),
    "a coefficient": lambda value: LinearConstraint([[value] * 24], 0, 1),
    "a bound of a linear row": lambda value: LinearConstraint([[1] * 24], 0, [value]),
    "a row of a subset": lambda value: ClusterTotals([1] * N, maximum=3).subset([value]),
    "a label": lambda value: MustLink([(0, 1)]).violations([value, 0]),
    "a point": lambda value: model().fit([[value, 0]] * N),
    "a cell of a frame": lambda value: model().fit(
        pd.DataFrame({"x": [value, *range(11)]}, dtype=object)
    ),
    "a new point": lambda value: model().fit(POINTS).predict([[value, 0]]),
    "the weight of a row": lambda value: model().fit(POINTS, sample_weight=[value] * N),
    "a first centre": lambda value: model(init=[[value, 0]] * K).fit(POINTS),
    "clusters of an audit": lambda value: audit(POINTS, [0] * N, [], value),
    "rows of a sample": lambda value: MIXTURE.sample(value),
    **{f"{name} of k-means": take for name, take in fitted_with(ConstrainedKMeans).items()},
    **{f"{name} of medoids": take for name, take in fitted_with(ConstrainedKMedoids).items()},
    **{f"{name} of kernels": take for name, take in fitted_with(ConstrainedKernelKMeans).items()},
    **{
        f"{name} of mixtures": take
        for name, take in fitted_with(ConstrainedGaussianMixture).items()
    },
}
MIXTURE = ConstrainedGaussianMixture(2, covariance="tied", random_state=0).fit(POINTS)
#: It has no effect, and is only warned of.
NO_EFFECT = ("n_jobs of k-means",)


@pytest.mark.parametrize("value", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("name", [name for name in TAKERS if name not in NO_EFFECT])
def test_numbers_that_no_float_holds_are_refused(name, value):
    with pytest.raises((ValueError, TypeError)) as refused:
        TAKERS[name](value)
    assert not isinstance(refused.value, OverflowError)
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize(
    "make",
    [
        ConstrainedKMeans,
        ConstrainedKMedoids,
        ConstrainedGaussianMixture,
        ConstrainedKernelKMeans,
        COPKMeans,
    ],
)
def test_names_of_several_types_are_refused_before_the_rules_are_looked_at(make):
    points = pd.DataFrame(np.arange(24.0).reshape(12, 2), columns=["a", 1])
    contradiction = [MustLink([(0, 1)]), CannotLink([(0, 1)])]
    with pytest.raises(TypeError, match=r"X has columns .* of the types int, str"):
        make(2).fit(points, constraints=contradiction)
    points.columns = points.columns.astype(str)
    with pytest.raises(InfeasibleConstraintsError):
        make(2).fit(points, constraints=contradiction)
