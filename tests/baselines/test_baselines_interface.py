"""What every baseline promises: scikit-learn's conventions, an honest report, clear refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from corral import CannotLink, ClusterSizes, ClusterTotals, MustLink, Pin, audit, baselines
from corral.baselines import (
    E2CP,
    PPC,
    ConstrainedCompleteLink,
    ConstrainedNCut,
    COPCobweb,
    COPKMeans,
    DeadEndError,
    EquiSizedFCM,
    MinSizeKMeans,
    MPCKMeans,
    PCKMeans,
    PlainKMeans,
)
from corral.baselines.base import Answer, BestOfRuns, FirstSuccess

HARD_PAIRS = [COPKMeans, COPCobweb, ConstrainedCompleteLink, E2CP, ConstrainedNCut]
PRICED_PAIRS = [PPC, PCKMeans, MPCKMeans]
SIZED = [MinSizeKMeans, EquiSizedFCM]
ALL = [*HARD_PAIRS, *PRICED_PAIRS, *SIZED, PlainKMeans]

X, Y = make_blobs(60, centers=3, n_features=3, random_state=1)
LINKS = [MustLink([(0, 1), (2, 3)]), CannotLink([(4, 5), (6, 7)])]
SIZES = [ClusterSizes([20, 25, 15])]


def rules_for(kind):
    return SIZES if kind in SIZED else LINKS


def test_all_names_are_listed():
    assert {kind.__name__ for kind in ALL} | {"DeadEndError"} == set(baselines.__all__)


@pytest.mark.parametrize("kind", ALL)
def test_the_interface(kind):
    before = X.copy()
    model = kind(n_clusters=3, random_state=0)
    assert model.fit(X, constraints=rules_for(kind)) is model
    assert model.labels_.dtype == np.int32
    assert model.labels_.shape == (60,)
    assert set(model.labels_.tolist()) <= {0, 1, 2}
    assert model.n_features_in_ == 3
    report = audit(X, model.labels_, rules_for(kind), 3)
    assert model.report_.to_dict() == report.to_dict()
    assert np.array_equal(X, before)


@pytest.mark.parametrize("kind", ALL)
def test_the_same_seed_gives_the_same_labels(kind):
    model = kind(n_clusters=3, random_state=5)
    first = model.fit(X, constraints=rules_for(kind)).labels_
    again = clone(model).fit_predict(X, constraints=rules_for(kind))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    framed = clone(model).fit(frame, constraints=rules_for(kind))
    restored = pickle.loads(pickle.dumps(model))
    for labels in (again, framed.labels_, restored.labels_):
        assert np.array_equal(first, labels)
    assert framed.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ALL)
def test_parameters_survive_a_clone(kind):
    model = kind(n_clusters=4, random_state=7)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_clusters=2).n_clusters == 2


# The first run of COP-KMEANS is its answer, and may start with two centres in one blob.
@pytest.mark.parametrize("kind", [kind for kind in ALL if kind is not COPKMeans])
def test_blobs_far_apart_are_found(kind):
    far, hidden = make_blobs(
        [18, 22, 20], centers=[[0, 0], [60, 0], [0, 60]], cluster_std=0.5, random_state=3
    )
    labels = kind(n_clusters=3, random_state=0).fit(far).labels_
    # As many clusters as pairs (class, cluster): the two partitions are the same.
    assert len(set(zip(hidden.tolist(), labels.tolist(), strict=True))) == 3
    assert len(set(labels.tolist())) == 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ALL)
def test_degenerate_data(kind):
    same = np.ones((6, 2))
    for data, k in ((same, 1), (same, 2), (X[:3], 3), (X[:1], 1), (X[:, :1], 1)):
        labels = kind(n_clusters=k, random_state=0).fit(data).labels_
        assert len(labels) == len(data)


@pytest.mark.parametrize("kind", ALL)
def test_bad_input_is_refused(kind):
    for data, k in ((X[:2], 3), ([[np.nan]], 1), (X, 0), (X, 2.5), (X[:, 0], 2)):
        model = kind(n_clusters=k)
        with pytest.raises(ValueError, match=r"."):
            model.fit(data)
        assert not hasattr(model, "labels_")


@pytest.mark.parametrize("kind", HARD_PAIRS + PRICED_PAIRS)
def test_pair_methods_refuse_other_kinds(kind):
    with pytest.raises(ValueError, match=r"takes MustLink and CannotLink .* constraint 1 is Pin"):
        kind(n_clusters=3).fit(X, constraints=[MustLink([(0, 1)]), Pin({0: 1})])
    with pytest.raises(ValueError, match=r"pair 0 is \(0, 60\), but X has 60 samples"):
        kind(n_clusters=3).fit(X, constraints=CannotLink([(0, 60)]))


@pytest.mark.parametrize("kind", HARD_PAIRS)
def test_methods_without_weights_refuse_them(kind):
    with pytest.raises(ValueError, match="takes hard links only"):
        kind(n_clusters=3).fit(X, constraints=MustLink([(0, 1)], weight=2.0))


@pytest.mark.parametrize("kind", SIZED)
def test_size_methods_refuse_other_kinds(kind):
    for rule in (MustLink([(0, 1)]), ClusterTotals(np.ones(60), maximum=30)):
        with pytest.raises(ValueError, match=f"{kind.__name__} takes ClusterSizes"):
            kind(n_clusters=3).fit(X, constraints=rule)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (COPKMeans(2, max_restarts=0), "`max_restarts` is 0; it must be an integer of at least 1"),
        (E2CP(2, alpha=1.0), "`alpha` is 1.0; it must be a finite number from 0 up to 1"),
        (E2CP(2, scale="wide"), "`scale` is 'wide'; it must be 'auto' or a finite number"),
        (PPC(2, covariance_type="tied"), "'full' or 'diag' or 'spherical'"),
        (PPC(2, weight=-1.0), "`weight` is -1.0"),
        (PCKMeans(2, weight=np.inf), "`weight` is inf"),
        (MPCKMeans(2, floor=0.0), "`floor` is 0.0"),
        (MinSizeKMeans(2, init="random"), "`init` is 'random'"),
        (MinSizeKMeans(2, init=np.zeros((2, 9))), r"`init` has shape \(2, 9\)"),
        (COPCobweb(2, acuity=0), "`acuity` is 0"),
    ],
)
def test_bad_parameters_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_plain_kmeans_is_scikit_learns_and_reports_what_it_breaks():
    ours = PlainKMeans(3, random_state=4).fit(X, constraints=[*LINKS, Pin({0: 2}), *SIZES])
    theirs = KMeans(3, n_init=10, random_state=np.random.RandomState(4)).fit(X)
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert len(ours.report_.entries) == 4


class Cheapest(BestOfRuns):
    def _prepare(self, X, rules):
        def run(random_state):
            cost = random_state.rand()
            return Answer(np.zeros(len(X), int), {"cost_": cost}, cost)

        return run


@pytest.mark.parametrize("n_init", [1, 7])
def test_the_cheapest_of_all_runs_is_kept(n_init):
    model = Cheapest(2, n_init=n_init, random_state=3).fit(X)
    assert model.cost_ == np.random.RandomState(3).rand(n_init).min()


class Lucky(FirstSuccess):
    def _prepare(self, X, rules):
        def run(random_state):
            if random_state.randint(4):
                raise DeadEndError("it was not 0")
            return Answer(np.zeros(len(X), int))

        return run


def test_the_first_run_that_succeeds_is_the_answer():
    draws = np.random.RandomState(3).randint(4, size=100).tolist()
    needed = draws.index(0) + 1
    assert needed > 1
    assert Lucky(2, max_restarts=needed, random_state=3).fit(X).n_runs_ == needed
    short = Lucky(2, max_restarts=needed - 1, random_state=3)
    with pytest.raises(DeadEndError, match=rf"^it was not 0 in each of {needed - 1} runs; labels"):
        short.fit(X)
    assert not hasattr(short, "labels_")


@pytest.mark.parametrize("kind", ALL)
def test_only_the_number_of_clusters_is_positional(kind):
    assert kind(5).n_clusters == 5
    with pytest.raises(TypeError):
        kind(5, 0)
