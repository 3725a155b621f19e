"""Fits of Dask collections by the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from local_shards import brought_home
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import cosine_distances

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    Pin,
    audit,
)
from corral.datasets import random_links

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from corral.backends.dask.cluster import Partitions  # noqa: E402

N, D, K = 8_000, 4, 10
X, Y = make_blobs(N, D, centers=K, cluster_std=1.5, random_state=0)
SIZES = ClusterSizes([N // K] * K)
CHUNKS = ((2_250, 1_750, 4_000), D)


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """Have problems of this size solved by the workers."""
    monkeypatch.setattr("corral.numbers.SAMPLE", 2_000)


def model(**given):
    return ConstrainedKMeans(K, random_state=0, rho_growth=1.4, **given)


def test_the_answer_is_as_good_as_in_memory(client):
    given = da.from_array(X, chunks=CHUNKS)
    found = model().fit(given, constraints=SIZES)
    expected = model().fit(X, constraints=SIZES)
    assert isinstance(found.labels_, da.Array)
    assert found.labels_.chunks == CHUNKS[:1]
    assert brought_home(found) == ""
    assert found.report_.feasible
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-5)


PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 25)})
SOFT = [
    MustLink(random_links(Y, 75, 0, random_state=5)[0].pairs, weight=30.0),
    CannotLink(random_links(Y, 0, 75, random_state=6)[1].pairs, weight=30.0),
]


VALUES = np.random.default_rng(0).lognormal(0.0, 0.7, N)
PARTY = np.where(np.random.default_rng(1).random(N) < 0.35, "a", "b")
LINKS = random_links(Y, 100, 100, random_state=0)
ACROSS = np.column_stack([np.arange(50), N - 1 - np.arange(50)])
ACROSS = CannotLink(ACROSS[Y[ACROSS[:, 0]] != Y[ACROSS[:, 1]]])
RULES = {
    "pins, soft pairs and sizes": [PINS, *SOFT, SIZES],
    "totals": [ClusterTotals(VALUES, maximum=1.05 * VALUES.sum() / K)],
    "shares": [GroupShares(PARTY, minimum={"a": 0.32}, maximum={"a": 0.38})],
    "links across partitions": [SIZES, *LINKS, ACROSS],
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_are_obeyed_where_the_rows_are(client, kind):
    found = model()
    found.fit(da.from_array(X, chunks=CHUNKS), constraints=RULES[kind])
    assert brought_home(found) == ""
    independent = audit(X, found.labels_.compute(), RULES[kind], K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-9)


@pytest.mark.parametrize("kind", RULES)
def test_rules_where_the_rows_are_end_near_memory(client, kind):
    found = model().fit(da.from_array(X, chunks=CHUNKS), constraints=RULES[kind])
    expected = model().fit(X, constraints=RULES[kind])
    assert found.report_.objective <= expected.report_.objective * 1.01


def test_verbose_tells_of_rounds(client, caplog, monkeypatch):
    monkeypatch.setattr("corral.progress.LINE_PACE", 0.0)
    model(verbose=True).fit(da.from_array(X, chunks=CHUNKS), constraints=SIZES)
    told = [record.getMessage() for record in caplog.records if record.name.startswith("corral")]
    assert any("seeds: objective " in line for line in told)


@pytest.mark.parametrize("step", ["soft-loads", "place", "measured", "on-points"])
def test_a_worker_killed_in_a_pass_or_in_the_audit(mortal, kill_one, monkeypatch, step):
    """A lost partition is made again, and so are its labels."""
    whole = model().fit(da.from_array(X, chunks=CHUNKS), constraints=SIZES)
    submit, killed = Partitions.submit, []

    def submit_and_kill(self, name, *args, **kwargs):
        ordered = submit(self, name, *args, **kwargs)
        if name == step and not killed:
            killed.append(kill_one())
        return ordered

    monkeypatch.setattr(Partitions, "submit", submit_and_kill)
    hurt = model().fit(da.from_array(X, chunks=CHUNKS), constraints=SIZES)
    assert killed
    np.testing.assert_array_equal(hurt.labels_.compute(), whole.labels_.compute())
    assert hurt.inertia_ == pytest.approx(whole.inertia_, rel=1e-12)


def test_data_frames_and_what_a_model_says_of_them(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X[:3000], columns=list("abcd"))
    given = dd.from_pandas(frame, npartitions=3)
    rules = [MustLink([(0, 2999)]), ClusterSizes(minimum=200)]
    found = model().fit(given, constraints=rules)
    expected = model().fit(frame, constraints=rules)
    labels = found.labels_.compute()
    np.testing.assert_array_equal(labels, expected.labels_)
    np.testing.assert_array_equal(found.predict(given).compute(), expected.predict(frame))
    np.testing.assert_allclose(found.transform(given).compute(), expected.transform(frame))
    assert found.score(given) == pytest.approx(expected.score(frame))
    placed = found.assign(given, constraints=rules).compute()
    np.testing.assert_array_equal(placed, expected.assign(frame, constraints=rules))
    with pytest.raises(ValueError, match="feature names should match"):
        found.assign(given[["b", "a", "c", "d"]])


def test_features_are_checked_by_number_and_name(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    given = dd.from_pandas(frame, npartitions=2)
    fitted = ConstrainedKMeans(3, random_state=0).fit(given)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(given[["c", "b", "a"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.transform(given.to_dask_array(lengths=True)[:, :2])
    some = given.to_dask_array()
    with pytest.warns(UserWarning, match="feature names"):
        labels = fitted.assign(some)
    assert labels.compute().shape == (60,)


def test_cosine_stays_with_the_workers(client):
    given = da.from_array(X, chunks=CHUNKS)
    found = model(metric="cosine", n_init=1).fit(given, constraints=SIZES)
    assert brought_home(found) == ""
    independent = audit(X, found.labels_.compute(), SIZES, K, metric="cosine")
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_)
    expected = model(metric="cosine", n_init=1).fit(X, constraints=SIZES)
    assert found.inertia_ <= expected.inertia_ * 1.01
    distances = cosine_distances(X[:50], found.cluster_centers_)
    np.testing.assert_allclose(found.transform(given[:50]).compute(), distances, atol=1e-12)
    with pytest.raises(ValueError, match="row 0 of X has zeros"):
        model(metric="cosine").fit(given * 0.0)
    with pytest.raises(ValueError, match="X is on 'dask'"):
        model(metric="haversine").fit(given[:, :2])
