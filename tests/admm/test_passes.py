"""Speed without a clock: how often ADMM and exact assignment look at their arrays.

Each limit is about 1.5 times the count of the fit when the limit was set.  So a change of rounding
passes, and a lost shortcut fails.  Counts that do not depend on rounding have almost no room.
Lower a limit when the solver needs less.  ``benchmarks/bench.py`` measures seconds.
"""

from __future__ import annotations

import sys
import tracemalloc
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from problems import problem_of
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    MustLink,
    Pin,
    audit,
)
from corral._arrays import one_blas_thread
from corral.admm.blocks import Blocks
from corral.admm.projected import ProjectedSolver
from corral.admm.schedule import GRADUATE, HARDEN, SETTLE
from corral.datasets import random_links
from corral.exact import sizes
from corral.exact.sizes import Room, scan, solve_units
from corral.rules import presolve


def blobs(n, d, k):
    """Points that overlap, and their classes."""
    return make_blobs(n, d, centers=k, cluster_std=6, random_state=0)


# --- an iteration of ADMM ---------------------------------------------------------------------


class Watched(np.ndarray):
    """An array that notes every operation on it that reads or writes as much as it holds."""

    full = 0
    passes = 0
    made = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        into = None if out is None else tuple(plain(array) for array in out)
        result = getattr(ufunc, method)(*map(plain, inputs), out=into, **options)
        large = [np.size(array) >= Watched.full for array in (*inputs, result)]
        Watched.passes += any(large)
        Watched.made += large[-1] and out is None
        if out is not None:
            return out[0]
        return result.view(Watched) if isinstance(result, np.ndarray) else result


def plain(array):
    return array.view(np.ndarray) if isinstance(array, Watched) else array


class WatchedBlocks(Blocks):
    """Counts its passes, over one block of watched arrays."""

    def begin(self, setup):
        sums = super().begin(setup)
        (block,) = self
        block.x, block.v1 = block.x.view(Watched), block.v1.view(Watched)
        Watched.full = block.x.size
        self.calls = []
        return sums

    def forward(self, step):
        self.calls.append("forward")
        return super().forward(step)

    def backward(self, step, theta):
        self.calls.append("backward")
        return super().backward(step, theta)


@dataclass
class Iteration:
    """What one iteration did."""

    phase: int
    starts_sphere: bool
    passes: int
    made: int
    calls: list[str] = field(default_factory=list)


def free(n, k, y):
    return [], None


def exact_sizes(n, k, y):
    return [ClusterSizes([n // k] * k)], None


def minimum_sizes(n, k, y):
    return [ClusterSizes(minimum=n // k // 2)], None


def totals(n, k, y):
    return [ClusterTotals(np.linspace(1.0, 2.0, n), maximum=1.8 * n / k)], None


def weights(n, k, y):
    return [ClusterSizes([n // k] * k)], np.linspace(0.5, 2.0, n)


def pins(n, k, y):
    return [ClusterSizes([n // k] * k), Pin(dict(enumerate(y[:50].tolist())))], None


def pairs(n, k, y):
    return list(random_links(y, n // 50, n // 50, random_state=0)), None


KINDS = [free, exact_sizes, minimum_sizes, totals, weights, pins, pairs]


def solver_of(kind, n, k, blocks):
    """A solver at its start, and its problem."""
    X, y = blobs(n, 3, k)
    rules, weight = kind(n, k, y)
    problem = problem_of(X, rules, k, weight)
    start, rows = y[problem.rules.first_rows], problem.rows
    return ProjectedSolver(problem.rules, rows, start, blocks(rows.points)), problem


@pytest.fixture(scope="module", params=KINDS)
def iterations(request):
    """Every iteration until the solver hardens."""
    solver, _ = solver_of(request.param, 2000, 4, WatchedBlocks)
    blocks, done = solver.blocks, []
    with one_blas_thread():
        while solver.used.phase < HARDEN and len(done) < 1000:
            before = solver.used.phase
            Watched.passes, Watched.made, blocks.calls = 0, 0, []
            solver.step()
            starts = solver.used.phase > before == GRADUATE
            done.append(
                Iteration(solver.used.phase, starts, Watched.passes, Watched.made, blocks.calls)
            )
    assert done[-1].phase == HARDEN
    return done


def test_an_iteration_is_one_pass_forward_and_one_back(iterations):
    assert all(one.calls == ["forward", "backward"] for one in iterations)


def test_operations_on_whole_arrays_are_few(iterations):
    # 28 while graduating, 35 with the sphere: costs 3, right side 5 (7), rows that sum to one 4,
    # totals 2, box copy 5, residuals 7, (sphere's copy 5,) sums for the means 2.  One more for
    # totals with values, and up to three for weights.
    for one in iterations:
        assert 0 < one.passes <= (33 if one.phase == GRADUATE else 41)


def test_no_iteration_makes_a_whole_array(iterations):
    # But the one that begins the sphere's copy, and the first, which makes the work arrays.
    assert all(one.made == 0 for one in iterations[1:] if not one.starts_sphere)


@pytest.mark.parametrize("phase", [GRADUATE, SETTLE])
@pytest.mark.parametrize("kind", KINDS)
def test_an_iteration_allocates_less_than_half_an_array(kind, phase):
    """All in one block, whoever allocates: a product of arrays that nobody watches too.

    Vectors of a number for each group are a tenth here, and two are held at once; each pair has
    some copies of its two rows, for a twenty-fifth of the groups.
    """
    solver, problem = solver_of(kind, 10_000, 10, Blocks)
    assert len(solver.blocks) == 1
    with one_blas_thread():
        solver.step()
        solver.schedule = replace(solver.schedule, phase=phase, sphere=1.0)
        solver.step()
        assert solver.used.phase == phase
        assert peak_of(solver.step) <= 0.5 * 8 * problem.rules.n_groups * problem.n_clusters


def peak_of(function):
    """Bytes that a call allocates, at most at any one time."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        function()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


# --- a fit ------------------------------------------------------------------------------------


def test_memory_of_a_fit():
    # The promise of the benchmark: X three times, once by the caller, and six n x k arrays.
    n, d, k = 50_000, 16, 10
    X, _ = blobs(n, d, k)
    rules = [ClusterSizes([n // k] * k)]
    model = ConstrainedKMeans(k, init=X[:k], random_state=0)
    model.fit(X[:1000], constraints=[ClusterSizes([1000 // k] * k)])  # kernels are loaded once
    peak = peak_of(lambda: model.fit(X, constraints=rules))
    assert peak <= 8 * n * (2 * d + 6 * k)


# --- exact assignment under sizes -------------------------------------------------------------


N, K = 20_000, 10


def test_sizes_look_at_all_costs_once_or_twice(monkeypatch):
    X, _ = blobs(N, 10, K)
    centers, _ = kmeans_plusplus(X, K, random_state=0)
    cost, looks = ((X[:, None] - centers) ** 2).sum(axis=2), []

    def watched(part, prices):
        looks.append(len(part))
        return scan(part, prices)

    monkeypatch.setattr(sizes, "scan", watched)
    room = Room.of(np.full(K, N // K), np.full(K, N // K))
    _, prices = solve_units(cost, room)
    assert looks.count(N) == 1
    assert sum(looks) < 2 * N
    # Prices that are right are recognised at once.
    looks.clear()
    solve_units(cost, room, prices)
    assert looks == [N]


# --- many pairs -------------------------------------------------------------------------------


def lines_run(function):
    """Lines of Python that a call runs, in whatever module."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("step", ["write", "presolve", "audit"])
def test_there_is_no_loop_over_pairs(step):
    lines = []
    for n in (1000, 20_000):
        X, y = make_blobs(n, 5, centers=5, random_state=0)
        must, cannot = random_links(y, n // 2, n // 2, random_state=0)
        todo = {
            "write": lambda must=must, cannot=cannot: (
                MustLink(must.pairs),
                CannotLink(cannot.pairs),
            ),
            "presolve": lambda n=n, rules=(must, cannot): presolve(rules, n, 5),
            "audit": lambda X=X, y=y, rules=(must, cannot): audit(X, y, rules, 5),
        }
        lines.append(lines_run(todo[step]))
    # Twenty times the pairs: no more lines, but for the rounds in which presolve follows chains.
    assert lines[1] <= 4 * lines[0]
