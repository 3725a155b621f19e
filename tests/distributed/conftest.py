"""A local cluster of two processes for all tests that need no cluster of their own."""

from __future__ import annotations

import os
import signal

import pytest


def two_workers():
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="2GiB"
    )


@pytest.fixture(scope="session")
def cluster():
    with two_workers() as started:
        yield started


@pytest.fixture
def client(cluster):
    """The present client; what the last test left there is gone."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture
def mortal():
    """A client of a cluster of its own, whose workers may be killed.

    Dask does not always start another worker for one that died, so nobody else has this cluster.
    """
    distributed = pytest.importorskip("distributed")
    with two_workers() as started, distributed.Client(started) as connected:
        yield connected


@pytest.fixture
def kill_one(mortal):
    """Kills a worker, and says which process it was."""

    def kill():
        pid = next(iter(mortal.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        return pid

    return kill
