"""Clusters of every kind: adaptive ones, workers that die again and again, tensors on workers."""

from __future__ import annotations

import os

import numpy as np
import pytest
from local_shards import brought_home
from sklearn.datasets import make_blobs

from corral import ClusterSizes, ConstrainedKMeans, GroupShares, Pin, audit

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from corral.backends.dask import WithDask, hold  # noqa: E402
from corral.backends.dask.cluster import Partitions  # noqa: E402
from corral.rows import ShardTable, passes  # noqa: E402

N, D, K = 4_000, 4, 8
X, Y = make_blobs(N, D, centers=K, cluster_std=2.0, random_state=0)
PARTY = np.random.default_rng(0).random(N) < 0.4
RULES = [
    ClusterSizes(maximum=560, weight=30.0),
    GroupShares(PARTY, minimum={True: 0.36}, maximum={True: 0.44}),
    Pin({row: int(Y[row]) for row in range(0, N, 50)}, weight=20.0),
]


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr("corral.numbers.SAMPLE", 1_000)
    monkeypatch.setattr("corral.numbers.SAMPLE_EACH", 50)
    monkeypatch.setattr("corral.numbers.PROGRAM_SECONDS", 60.0)


def fitted(given, rules=RULES):
    return ConstrainedKMeans(K, random_state=0).fit(given, constraints=rules)


def given():
    return da.from_array(X, chunks=(1_000, D))


def test_open_rows_alone_come_home(client, monkeypatch):
    """Beside the sample; soft rules too."""
    taken, fetch = [], ShardTable.rows

    def counted(self, group):
        rows = fetch(self, group)
        take = rows.take
        rows.take = lambda groups: taken.append(len(groups)) or take(groups)
        return rows

    monkeypatch.setattr(ShardTable, "rows", counted)
    found = fitted(given())
    assert brought_home(found) == ""
    assert audit(X, found.labels_.compute(), RULES, K).feasible
    assert taken[0] == 1_000
    assert max(taken[1:], default=0) < N / 4


def test_an_adaptive_cluster_that_grows_and_shrinks():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        cluster.adapt(minimum=1, maximum=3, interval="50ms", wait_count=1)
        found = fitted(given())
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None):
        expected = fitted(given())
        np.testing.assert_array_equal(found.labels_.compute(), expected.labels_.compute())


def fatal(*_):
    """Ends the process of the worker."""
    os._exit(1)


@pytest.mark.parametrize("step", ["reading", "soft-loads"])
def test_a_worker_that_dies_every_time(mortal, monkeypatch, step):
    """Where the rows are read, and in every pass of one kind."""
    mortal.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
    rows, submit = given(), Partitions.submit
    if step == "reading":
        rows = rows.map_blocks(fatal, dtype=float, meta=np.empty((0, D)))

    def deadly(self, name, function, *columns, **options):
        return submit(self, name, fatal if name == step else function, *columns, **options)

    monkeypatch.setattr(Partitions, "submit", deadly)
    model = ConstrainedKMeans(K, random_state=0)
    with pytest.raises(ConnectionError, match="workers died again and again"):
        model.fit(rows, constraints=ClusterSizes(maximum=560))
    assert not hasattr(model, "labels_")


def test_columns_that_are_no_numbers_are_named(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": X[:100, 0], "kind": pd.Categorical(["x", "y"] * 50)})
    frame["name"] = [f"row {i}" for i in range(100)]
    for column in ("kind", "name"):
        with pytest.raises(TypeError, match=f"column '{column}' of X has dtype"):
            ConstrainedKMeans(2).fit(dd.from_pandas(frame[["a", column]], npartitions=2))


def test_tensors_on_workers(client, monkeypatch):
    """With a device the shards of the workers are tensors there; here they are the processor's."""
    pytest.importorskip("torch")
    expected = fitted(given())
    points, seen = given(), []
    opened = WithDask.__init__
    with hold(points, "cpu") as shards:
        seen += shards.map(passes.on_points, type)
    seen = [each.__module__.partition(".")[0] for each in seen]
    assert seen == ["torch"] * 4

    def on_device(self, X, device=None):
        opened(self, X)
        self.device = "cpu"

    monkeypatch.setattr(WithDask, "__init__", on_device)
    found = fitted(given())
    assert found.report_.objective == pytest.approx(expected.report_.objective, rel=1e-6)
