"""A crew of tensors does what threads do: the same run, step by step."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from corral.backends.gpu.torch_passes import DeviceCrew, DeviceTies  # noqa: E402
from corral.rows.shard_passes import rows_of  # noqa: E402

from corral.admm.copies import TieCopies, Ties  # noqa: E402
from corral.admm.crew import Threads  # noqa: E402
from corral.admm.history import Options  # noqa: E402
from corral.admm.projected import ProjectedSolver  # noqa: E402
from corral.backends.gpu import torch_passes  # noqa: E402
from corral.backends.gpu.device import DeviceShards  # noqa: E402
from corral.presolve import Pairs, Rules, SizeBounds, SoftPairs  # noqa: E402
from corral.rows import MemoryRows  # noqa: E402

N, D, K = 120, 4, 3
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def problem(*, weighted=False, soft=False):
    """Rules with pairs and sizes, and rows."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, N, (60, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    hard, priced = pairs[:30], pairs[30:] if soft else pairs[:0]
    sizes = np.array([30, 40, 50])
    points = rng.normal(size=(N, D)) + 4.0 * rng.integers(0, 2, (N, 1))
    weight = rng.uniform(0.5, 3.0, N) if weighted else np.ones(N)
    prices = SoftPairs(priced, rng.uniform(0.1, 2.0, len(priced)), rng.random(len(priced)) < 0.5)
    rules = Rules(
        n_clusters=K,
        count=np.ones(N, np.int64),
        pairs=Pairs(N, apart=hard, soft=prices),
        sizes=SizeBounds(sizes, sizes, ordered=False),
    )
    return rules, MemoryRows(points, weight)


def run(given, crew, n_steps=80):
    rules, rows = given
    labels = np.random.default_rng(1).integers(0, K, N)
    options = Options(rho=1.0, rho_growth=1.05)
    solver = ProjectedSolver(rules, rows, labels, crew, options)
    with crew.running():
        objectives = [solver.step() for _ in range(n_steps)]
    return solver, np.array(objectives)


def tensor(given, device, dtype=np.float64):
    return torch.as_tensor(given[1].points.astype(dtype)).to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_run_as_threads(monkeypatch, weighted, soft, device):
    monkeypatch.setattr(torch_passes, "PAIR_ENTRIES", 40)  # a few pairs at a time
    given = problem(weighted=weighted, soft=soft)
    wanted, objectives = run(given, Threads(given[1].points, 1))
    crew = DeviceCrew(tensor(given, device))
    got, same = run(given, crew)
    np.testing.assert_allclose(same, objectives, rtol=1e-9)
    np.testing.assert_allclose(got.centers, wanted.centers, atol=1e-7)
    np.testing.assert_allclose(crew.x(), wanted.crew.x(), atol=1e-7)
    np.testing.assert_array_equal(crew.labels(), wanted.crew.labels())
    assert got.residuals() == pytest.approx(wanted.residuals(), abs=1e-7)


@pytest.mark.parametrize("device", DEVICES)
def test_single_precision_ends_where_double_does(device):
    given = problem(weighted=True)
    wanted, objectives = run(given, Threads(given[1].points, 1), n_steps=150)
    crew = DeviceCrew(tensor(given, device, np.float32))
    _, same = run(given, crew, n_steps=150)
    np.testing.assert_allclose(same[-1], objectives[-1], rtol=1e-3)
    assert (crew.labels() == wanted.crew.labels()).mean() > 0.97


@pytest.mark.parametrize("entries", [7, 1 << 20])
@pytest.mark.parametrize("soft", [False, True])
def test_pair_copies_move_as_those_in_memory(monkeypatch, soft, entries):
    monkeypatch.setattr(torch_passes, "PAIR_ENTRIES", entries)
    rng = np.random.default_rng(3)
    rules, _ = problem(soft=soft)
    groups = np.unique(np.concatenate([rules.apart.ravel(), rules.soft.pairs.ravel()]))
    metric, x = rng.uniform(0.5, 2.0, len(groups)), rng.random((K, len(groups)))
    ties = Ties.of(rules, groups, metric, 1.5)
    plain, device = TieCopies(ties, x), DeviceTies(ties, torch.as_tensor(x))
    np.testing.assert_array_equal(device.degree, plain.degree)
    for rho in (1.0, 1.3, 0.7):
        np.testing.assert_allclose(device.pull(rho), plain.pull(rho), atol=1e-12)
        x = rng.random((K, len(groups)))
        plain.update(x, rho)
        device.update(torch.as_tensor(x), rho)
        assert device.residual == pytest.approx(plain.residual)


def test_no_pairs_pull_nothing():
    rng = np.random.default_rng(4)
    rules = Rules(n_clusters=K, count=np.ones(N, np.int64), pairs=Pairs(N))
    given = rules, MemoryRows(rng.normal(size=(N, D)))
    _, objectives = run(given, Threads(given[1].points, 1), n_steps=30)
    _, same = run(given, DeviceCrew(tensor(given, "cpu")), n_steps=30)
    np.testing.assert_allclose(same, objectives, rtol=1e-9)


def test_one_shard_of_all_rows():
    points = torch.arange(12.0).view(6, 2)
    shards = DeviceShards(points)
    assert shards.lengths == [6]
    assert shards.n_features == 2
    assert shards.dtype == np.float32
    (rows,) = shards.map(rows_of, each=[(np.array([1, 4]),)])
    np.testing.assert_array_equal(rows, [[2.0, 3.0], [8.0, 9.0]])
    moved = shards.transform(lambda shard, by: shard.like(points=shard.points + by), 1.0)
    assert isinstance(moved, DeviceShards)
    np.testing.assert_array_equal(moved.shard.points, points + 1.0)


def test_products_keep_all_bits_while_it_works():
    asked = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        shards = DeviceShards(torch.zeros((3, 2)))
        assert shards.map(lambda shard: torch.get_float32_matmul_precision()) == ["highest"]
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(asked)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_go_where_double_precision_does(monkeypatch, weighted):
    pytest.importorskip("triton")
    from corral.backends.gpu.fused import Fused

    n_steps = 150 if DEVICES[-1] == "cuda" else 6  # the interpreter is slow
    given = problem(weighted=weighted)
    wanted, objectives = run(given, Threads(given[1].points, 1), n_steps=n_steps)
    monkeypatch.setattr(torch_passes, "passes", lambda points, setup, _: Fused(points, setup))
    crew = DeviceCrew(tensor(given, DEVICES[-1], np.float32))
    got, same = run(given, crew, n_steps=n_steps)
    np.testing.assert_allclose(same, objectives, rtol=2e-3)
    np.testing.assert_allclose(got.residuals()["totals"], wanted.residuals()["totals"], atol=1e-3)
    # What the totals are said to be is what they are.
    np.testing.assert_allclose(crew.x().sum(axis=0), wanted.crew.x().sum(axis=0), atol=0.05)
    assert (crew.labels() == wanted.crew.labels()).mean() > 0.97
