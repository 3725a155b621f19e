"""A fit that does not fit the memory of its workers."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from corral import ClusterSizes, ConstrainedKMeans

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

LIMIT = 400_000_000
D, K, CHUNK = 240, 4, 10_000


def chunk(number):
    """Rows that are cheap to make: a small table over and over, moved a little."""
    table = np.random.default_rng(0).normal(size=(1000, D)) + 4.0 * (np.arange(1000) % K)[:, None]
    return np.tile(table, (CHUNK // 1000, 1)) + 0.01 * number


def table(n):
    delayed = dask.delayed(chunk)
    return da.concatenate(
        [da.from_delayed(delayed(i), (CHUNK, D), float) for i in range(n // CHUNK)]
    )


def spilled(dask_worker):
    return dask_worker.data.spilled_total.disk


@contextmanager
def short_of_memory():
    """A client of two workers.

    A worker that has imported corral holds half of its memory or more before it has data: it writes
    early, and must not pause until it has less, which it never would.  One that runs over its limit
    all the same is replaced, and its part made again.
    """
    early = {"distributed.worker.memory.target": 0.25, "distributed.worker.memory.pause": False}
    with (
        dask.config.set(early),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=LIMIT
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_whole_fit_larger_than_a_worker_gives_the_labels_of_one_in_memory():
    X = table(240_000)
    rules = ClusterSizes([len(X) // K] * K)
    assert X.nbytes > 1.1 * LIMIT
    with short_of_memory() as client:
        found, on_disk = ConstrainedKMeans(K, random_state=0, rho_growth=1.5), []
        found.fit(
            X,
            constraints=rules,
            callback=lambda _: on_disk.append(sum(client.run(spilled).values())),
        )
        labels = found.labels_.compute()
    assert max(on_disk) > X.nbytes // 4
    expected = ConstrainedKMeans(K, random_state=0, rho_growth=1.5)
    expected.fit(X.compute(scheduler="sync"), constraints=rules)
    assert found.report_.feasible
    np.testing.assert_array_equal(labels, expected.labels_)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)
