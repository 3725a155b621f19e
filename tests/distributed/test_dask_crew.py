"""The relaxed solver over Dask's workers: what threads do with the same blocks."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from corral.admm import crew
from corral.admm.crew import Threads
from corral.admm.history import Options
from corral.admm.projected import ProjectedSolver, solve_projected
from corral.presolve import LinearRows, Pairs, Rules, SizeBounds, SoftPairs, TotalBounds
from corral.rows import MemoryRows, Shard

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
sparse = pytest.importorskip("scipy.sparse")

from corral.backends.dask import hold  # noqa: E402

N, D, K = 1200, 4, 5
CHUNKS = (500, 300, 400)


def points(dtype=np.float64):
    rng = np.random.default_rng(0)
    where = rng.integers(0, K, N)
    return (rng.normal(0.0, 3.0, (K, D))[where] + rng.normal(size=(N, D))).astype(dtype)


def problem(X, weight=None, apart=None, soft=None, **rules):
    """Rules, and rows in memory."""
    given = {"apart": apart, "soft": soft}
    links = Pairs(N, **{name: each for name, each in given.items() if each is not None})
    found = Rules(n_clusters=K, count=np.ones(N, np.int64), pairs=links, **rules)
    return found, MemoryRows(X, weight)


def solver_of(given, crew):
    return ProjectedSolver(*given, np.arange(N) % K, crew, Options(rho=1.0, rho_growth=1.1))


def pairs(n, seed=3):
    found = np.random.default_rng(seed).integers(0, N, (n, 2))
    return np.unique(np.sort(found[found[:, 0] != found[:, 1]], axis=1), axis=0)


EQUAL = SizeBounds(np.full(K, N // K), np.full(K, N // K), True)
SOFT = SoftPairs(
    pairs(40, 5), np.full(len(pairs(40, 5)), 3.0), np.arange(len(pairs(40, 5))) % 2 > 0
)
RULES = {
    "free": {},
    "sizes": {"sizes": EQUAL},
    "interval": {"sizes": SizeBounds(np.full(K, 200), np.full(K, 280), True)},
    "weights": {"sizes": EQUAL, "weight": np.random.default_rng(1).uniform(0.5, 2.0, N)},
    "cannot-links": {"sizes": EQUAL, "apart": pairs(300)},
    "soft pairs": {"soft": SOFT},
    "totals": {"totals": (TotalBounds(np.arange(N) % 7.0, np.full(K, 650.0), np.full(K, 800.0)),)},
    "linear": {
        "linear": LinearRows(
            sparse.csr_array(np.eye(1, N * K, 3) + np.eye(1, N * K, 11)), np.ones(1), np.ones(1)
        )
    },
    "pins": {"pins": np.array([[3, 1], [700, 2], [1199, 0]])},
}


def same_blocks(monkeypatch):
    """Let threads cut the groups as the chunks do, so that even rounding is the same."""
    edges = np.cumsum([0, *CHUNKS])
    monkeypatch.setattr(crew, "cut", lambda *_: [slice(a, b) for a, b in pairwise(edges)])


def run(given, crew, n_steps):
    start = np.random.default_rng(2).integers(0, K, N)
    solver = ProjectedSolver(*given, start, crew, Options(rho=1.0, rho_growth=1.7))
    with crew.running():
        objectives = [solver.step() for _ in range(n_steps)]
    return objectives, solver.residuals()


@pytest.mark.parametrize("kind", RULES)
def test_every_iterate_is_that_of_threads(client, monkeypatch, kind):
    same_blocks(monkeypatch)
    X = points()
    given = problem(X, **RULES[kind])
    threads = Threads(X, n_threads=1)
    expected = run(given, threads, 24)
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        workers = shards.crew()
        found = run(given, workers, 24)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        assert found[1] == pytest.approx(expected[1], rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(workers.x(), threads.x(), atol=1e-9)
        np.testing.assert_array_equal(workers.labels(), threads.labels())


@pytest.mark.parametrize("kind", ["sizes", "cannot-links"])
def test_a_whole_run_in_single_precision(client, monkeypatch, kind):
    same_blocks(monkeypatch)
    X = points(np.float32)
    given = problem(X, **RULES[kind])
    start = np.arange(N) % K
    options = Options(rho_growth=1.3)
    expected = solve_projected(*given, start, options)
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        assert shards.dtype == np.float32
        found = solve_projected(*given, start, options, shards.crew())
        assert found.n_iter == expected.n_iter
        np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize(
    ("rules", "tasks"),
    [("sizes", {"back", "sums"}), ("cannot-links", {"forward", "back", "sums"})],
)
def test_a_task_a_pass_and_partition_and_one_for_small_results(client, rules, tasks):
    X = points()
    given = problem(X, **RULES[rules])
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        solver = solver_of(given, shards.crew())
        solver.step()
        with distributed.get_task_stream(client) as stream:
            for _ in range(3):
                solver.step()
        seen = [str(task["key"]) for task in stream.data]
    assert len(seen) == 3 * len(tasks) * len(CHUNKS)
    names = {distributed.utils.key_split(key) for key in seen}
    assert names == {f"corral-{name}" for name in tasks}


@pytest.mark.parametrize("kind", ["sizes", "cannot-links"])
def test_passes_go_forth_and_back_and_sums_with_them(client, monkeypatch, kind):
    X = points()
    given = problem(X, **RULES[kind])
    orders, submit = [], client.map

    def recorded(function, *columns, key, **kwargs):
        orders.append((key[0].split("-")[1], [int(each.rpartition("-")[2]) for each in key]))
        return submit(function, *columns, key=key, **kwargs)

    monkeypatch.setattr(client, "map", recorded)
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        solver = solver_of(given, shards.crew())
        for _ in range(3):
            solver.step()
    passed = [way for name, way in orders if name in ("forward", "back")]
    assert all(a == b[::-1] for a, b in pairwise(passed))
    for (before, its), (name, way) in pairwise(orders):
        assert name != "sums" or (before in ("start", "back") and way == its)


def test_x_that_was_not_kept_is_refused(client, monkeypatch):
    monkeypatch.setattr("corral.backends.dask.iterations.DASK_X", 0)
    X = points()
    given = problem(X, sizes=EQUAL)
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        workers = shards.crew()
        solver_of(given, workers).step()
        with pytest.raises(RuntimeError, match="x of 1200 groups and 5 clusters was not kept"):
            workers.x()


def doubled(shard, factor, shift):
    return Shard(factor * shard.points + shift)


def first(shard, row=0):
    return shard.points[row]


def test_functions_of_shards_in_order(client):
    X = points()
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        assert list(shards.lengths) == list(CHUNKS)
        assert shards.n_features == D
        np.testing.assert_array_equal(shards.map(first), X[[0, 500, 800]])
        np.testing.assert_array_equal(shards.map(first, each=[(1,), (2,), (3,)]), X[[1, 502, 803]])
        with pytest.raises(ValueError, match="zip"):
            shards.map(first, each=[(1,)])
        moved = shards.transform(doubled, 2.0, each=[(0.0,), (1.0,), (2.0,)])
        np.testing.assert_allclose(moved.map(first), 2.0 * X[[0, 500, 800]] + [[0], [1], [2]])
        assert list(moved.lengths) == list(CHUNKS)
        np.testing.assert_array_equal(shards.map(first), X[[0, 500, 800]])


def fail(shard):
    raise ArithmeticError("no such thing")


def test_what_a_function_raises_is_raised_here(client):
    with (
        hold(da.from_array(points(), chunks=(CHUNKS, D))) as shards,
        pytest.raises(ArithmeticError, match="no such thing"),
    ):
        shards.map(fail)


def test_passes_before_a_run_are_refused(client):
    with (
        hold(da.from_array(points(), chunks=(CHUNKS, D))) as shards,
        pytest.raises(RuntimeError, match="begin"),
    ):
        shards.crew().labels()


def test_nothing_stays_with_dask(client):
    X = points()
    given = problem(X, sizes=EQUAL)
    with hold(da.from_array(X, chunks=(CHUNKS, D))) as shards:
        workers = shards.crew()
        run(given, workers, 5)
        # Shards, what is known of them, one state each, and the results of the last task.
        names = ["corral-back", "corral-forget", "corral-setup", "corral-shard"]
        assert comes_to_hold(client, sorted(names * len(CHUNKS)))
    assert comes_to_hold(client, [])


def comes_to_hold(client, names):
    """Whether, after a while, these and no other results are wanted of Dask."""
    for _ in range(100):
        if client.run_on_scheduler(wanted) == names:
            return True
        time.sleep(0.1)
    return False


def wanted(dask_scheduler):
    return sorted(task.prefix.name for task in dask_scheduler.tasks.values() if task.who_wants)
