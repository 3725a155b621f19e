"""A local cluster of two processes for all tests that need no cluster of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="2GiB"
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    """The present client; what the last test left there is gone."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as connected:
        yield connected
