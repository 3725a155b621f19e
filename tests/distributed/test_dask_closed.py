"""A client or cluster that is closed during a fit: one error that says so, wherever it happens."""

from __future__ import annotations

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from corral import ClusterSizes, ConstrainedKMeans

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from corral.backends.dask.cluster import Partitions  # noqa: E402

X = da.random.default_rng(0).normal(size=(600, 3), chunks=(200, 3))
RULES = ClusterSizes(minimum=150)
#: Steps of a fit that need Dask.
STEPS = ("submit", "gather", "locate")


@pytest.fixture
def threads():
    """A cluster of its own, which may be closed."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as started:
        yield started


def close_at(monkeypatch, number, end):
    """Call ``end`` before that step of a fit; the result lists the names of the steps."""
    seen = []

    def counted(step):
        was = getattr(Partitions, step)

        def now(self, *args, **options):
            seen.append(step)
            if len(seen) == number:
                end()
            return was(self, *args, **options)

        return now

    for step in STEPS:
        monkeypatch.setattr(Partitions, step, counted(step))
    return seen


def model():
    return ConstrainedKMeans(3, random_state=0, max_samples=100)


def refused(match):
    """A fit is refused, and the model is as it was."""
    fitted = model()
    with pytest.raises(ConnectionError, match=match) as found:
        fitted.fit(X, constraints=RULES)
    assert "call it again" in str(found.value)
    with pytest.raises(NotFittedError):
        check_is_fitted(fitted)


def test_a_client_that_is_closed_at_any_step(threads, monkeypatch):
    with distributed.Client(threads), monkeypatch.context() as patch:
        seen = close_at(patch, 0, None)
        model().fit(X, constraints=RULES)
    assert set(seen) == set(STEPS)
    some = {*range(1, 8), *range(8, len(seen) + 1, max(len(seen) // 12, 1)), len(seen)}
    for number in sorted(some):
        with distributed.Client(threads) as client, monkeypatch.context() as patch:
            close_at(patch, number, client.close)
            refused(r"was closed \(the client is clos")
    with distributed.Client(threads):  # the cluster has not suffered
        assert model().fit(X, constraints=RULES).report_.feasible


@pytest.mark.parametrize("number", [2, 9])
def test_a_cluster_that_is_closed(threads, monkeypatch, number):
    with distributed.Client(threads):
        close_at(monkeypatch, number, threads.close)
        refused("Dask ended while corral")


def test_tasks_that_are_cancelled(threads, monkeypatch):
    """As ``client.restart()`` does, which needs workers in processes."""
    with distributed.Client(threads) as client:

        def cancel():
            client.cancel([distributed.Future(key, client) for key in list(client.futures)])

        close_at(monkeypatch, 8, cancel)
        refused("were cancelled")


def test_errors_of_the_data_stay_as_they_are(threads):
    """A client that runs says what is wrong with X."""
    with distributed.Client(threads), pytest.raises(ValueError, match="contains NaN, at row 0"):
        model().fit(da.full((10, 2), float("nan"), chunks=(5, 2)))
