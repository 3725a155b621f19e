"""Fits of Dask collections by the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_distances

from corral import CannotLink, ClusterSizes, ClusterTotals, ConstrainedKMeans, MustLink, Pin, audit
from corral.datasets import random_links

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from corral.backends.dask.cluster import Partitions  # noqa: E402
from corral.plan import thresholds  # noqa: E402

N, D, K = 8_000, 4, 10
X, Y = make_blobs(N, D, centers=K, cluster_std=1.5, random_state=0)
SIZES = ClusterSizes([N // K] * K)
CHUNKS = ((2_250, 1_750, 4_000), D)


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Have problems of this size solved by the workers, with ADMM on a sample of the rows."""
    monkeypatch.setattr(thresholds, "LARGE", N * K * 9 // 10)
    monkeypatch.setattr(thresholds, "SAMPLE_SUMMED", N // 2)
    monkeypatch.setattr(thresholds, "SAMPLE_SUMMED_EACH", N // (2 * K))
    monkeypatch.setattr(thresholds, "SAMPLE_FREE_EACH", N // (2 * K))


def model(**given):
    return ConstrainedKMeans(K, random_state=0, rho_growth=1.4, **given)


@pytest.mark.parametrize("max_samples", ["auto", None])
def test_the_labels_are_those_of_a_fit_in_memory(client, max_samples):
    given = da.from_array(X, chunks=CHUNKS)
    found = model(max_samples=max_samples).fit(given, constraints=SIZES)
    expected = model(max_samples=max_samples).fit(X, constraints=SIZES)
    assert isinstance(found.labels_, da.Array)
    assert found.labels_.chunks == CHUNKS[:1]
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-12)
    assert found.report_.feasible


def test_seeds_are_those_of_a_fit_in_memory_if_they_are_of_some_rows(client, monkeypatch):
    monkeypatch.setattr("corral.start.SEED_ROWS", 1_250)
    given = model(max_samples=None, max_iter=40)
    with pytest.warns(ConvergenceWarning):
        found = given.fit(da.from_array(X, chunks=CHUNKS), constraints=SIZES).labels_.compute()
    with pytest.warns(ConvergenceWarning):
        expected = given.fit(X, constraints=SIZES).labels_
    np.testing.assert_array_equal(found, expected)


PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 25)})
SOFT = [
    MustLink(random_links(Y, 75, 0, random_state=5)[0].pairs, weight=30.0),
    CannotLink(random_links(Y, 0, 75, random_state=6)[1].pairs, weight=30.0),
]


@pytest.mark.parametrize(
    "rules", [[PINS], SOFT, [PINS, *SOFT, SIZES]], ids=["pins", "soft pairs", "both and sizes"]
)
def test_pins_and_soft_pairs_stay_with_the_workers(client, rules):
    found = model()
    found.fit(da.from_array(X, chunks=CHUNKS), constraints=rules)
    assert found.report_.plan.home == ""
    independent = audit(X, found.labels_.compute(), rules, K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-9)
    expected = model().fit(X, constraints=rules)
    assert found.report_.objective <= expected.report_.objective * (1.0 + 1e-3)


def test_totals_come_to_the_client(client):
    rows = da.from_array(X[:600], chunks=(200, D))
    rule = ClusterTotals(np.arange(600) % 7.0, maximum=500.0)
    found = model().fit(rows, constraints=rule)
    assert found.report_.plan.home.startswith("totals, shares and linear rows")
    expected = model().fit(X[:600], constraints=rule)
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)


def test_verbose_tells_of_iterations_and_rounds(client, caplog, monkeypatch):
    monkeypatch.setattr("corral.progress.LINE_PACE", 0.0)
    given = model(max_samples=None, verbose=True)
    given.fit(da.from_array(X, chunks=CHUNKS), constraints=SIZES)
    told = [record.getMessage() for record in caplog.records if record.name.startswith("corral")]
    assert any(f": admm {given.n_iter_}, " in line for line in told)
    assert any(": assign 1, best " in line for line in told)


def test_links_across_partitions_and_a_killed_worker(mortal, kill_one):
    must, cannot = random_links(Y, 100, 100, random_state=0)
    apart = np.column_stack([np.arange(50), N - 1 - np.arange(50)])
    apart = apart[Y[apart[:, 0]] != Y[apart[:, 1]]]
    rules = [SIZES, must, cannot, CannotLink(apart)]
    whole, hurt = (model(max_samples=None, max_iter=12) for _ in range(2))
    fatal = Fatal(kill_one)
    with pytest.warns(ConvergenceWarning):
        whole.fit(da.from_array(X, chunks=CHUNKS), constraints=rules)
    with pytest.warns(ConvergenceWarning):
        hurt.fit(da.from_array(X, chunks=CHUNKS), constraints=rules, callback=fatal)
    assert fatal.done
    assert audit(X, whole.labels_.compute(), rules, K).feasible
    np.testing.assert_array_equal(hurt.labels_.compute(), whole.labels_.compute())


class Fatal:
    """Kills a worker among the iterations of ADMM."""

    def __init__(self, kill_one):
        self.kill_one, self.done = kill_one, False

    def __call__(self, progress):
        if not self.done and progress.phase == "admm" and progress.iteration >= 5:
            self.kill_one()
            self.done = True


@pytest.mark.parametrize("step", ["scan-rows", "on-points"])
def test_a_worker_killed_in_exact_sizes_means_or_the_audit(mortal, kill_one, monkeypatch, step):
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
    assert found.report_.plan.home == ""
    independent = audit(X, found.labels_.compute(), SIZES, K, metric="cosine")
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_)
    expected = model(metric="cosine", n_init=1).fit(X, constraints=SIZES)
    assert found.inertia_ <= expected.inertia_ * (1.0 + 1e-3)
    distances = cosine_distances(X[:50], found.cluster_centers_)
    np.testing.assert_allclose(found.transform(given[:50]).compute(), distances, atol=1e-12)
    with pytest.raises(ValueError, match="row 0 of X has zeros"):
        model(metric="cosine").fit(given * 0.0)
    with pytest.raises(ValueError, match="X is on 'dask'"):
        model(metric="haversine").fit(given[:, :2])
