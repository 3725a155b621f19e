"""Threads of BLAS: the limit of one ends with its last user."""

from __future__ import annotations

import threading
from itertools import permutations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from corral import ConstrainedGaussianMixture, ConstrainedKernelKMeans, ConstrainedKMedoids
from corral._arrays import one_blas_thread


def threads():
    found = (lib for lib in threadpool_info() if lib["user_api"] == "blas")
    return {lib["filepath"]: lib["num_threads"] for lib in found}


@pytest.fixture
def two_threads():
    """Two BLAS threads meanwhile, on every machine."""
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        if set(before.values()) != {2}:
            pytest.skip("this BLAS has one thread only")
        yield before


@pytest.mark.parametrize("leaving", list(permutations(range(3))))
def test_the_limit_ends_with_its_last_user_in_any_order(two_threads, leaving):
    users = [one_blas_thread() for _ in leaving]
    for user in users:
        user.__enter__()
    for number in leaving:
        assert set(threads().values()) == {1}
        users[number].__exit__(None, None, None)
    assert threads() == two_threads


def test_fits_in_three_threads_leave_blas_as_it_was(two_threads):
    together = threading.Barrier(3)

    def work(rounds):
        together.wait()
        for _ in range(rounds):
            with one_blas_thread(), one_blas_thread():
                pass

    workers = [threading.Thread(target=work, args=(20 + number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads() == two_threads


def test_an_error_ends_the_limit(two_threads):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert threads() == two_threads


@pytest.mark.parametrize(
    "kind", [ConstrainedGaussianMixture, ConstrainedKernelKMeans, ConstrainedKMedoids]
)
def test_a_search_has_one_blas_thread(two_threads, kind):
    seen = []

    class Seen(kind):
        def _search(self, task):
            seen.append(set(threads().values()))
            return super()._search(task)

    Seen(2, random_state=0).fit(np.random.default_rng(0).normal(size=(12, 2)))
    assert seen == [{1}]
    assert threads() == two_threads
