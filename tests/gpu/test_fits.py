"""Fits of tensors through the estimator's path: the answers of NumPy's shards."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from local_shards import brought_home, cut, fit_shards  # noqa: E402

from corral import (  # noqa: E402
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    Pin,
    audit,
)
from corral.backends.gpu.device import DeviceShards  # noqa: E402
from corral.datasets import random_links  # noqa: E402
from corral.rows import Shard, passes  # noqa: E402

N, D, K = 6_000, 4, 6
X, Y = make_blobs(N, D, centers=K, cluster_std=3.0, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, N)
SIZES = ClusterSizes([N // K] * K)
LINKS = random_links(Y, 400, 400, random_state=0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


PARTY = np.where(np.random.default_rng(1).random(N) < 0.35, "a", "b")
PINS = Pin({int(row): int(Y[row]) for row in range(0, N, 61)})


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """Have problems of this size solved where the rows are."""
    monkeypatch.setattr("corral.numbers.SAMPLE", 2_000)


def fit_there(points, rules, weight=None, *, shards=None, **parameters):
    shards = DeviceShards(Shard(torch.as_tensor(points).to(DEVICE))) if shards is None else shards
    found = fit_shards(points, shards, rules, K, weight, **parameters)
    assert brought_home(found) == ""
    return found


RULES = {
    "free": [],
    "exact": [SIZES],
    "some": [ClusterSizes(minimum=900, maximum=1_100)],
    "totals": [ClusterTotals(WEIGHT, maximum=1.02 * WEIGHT.sum() / K)],
    "shares": [GroupShares(PARTY, minimum={"a": 0.33}, maximum={"a": 0.37})],
    "pins and sizes": [PINS, SIZES],
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("kind", RULES)
def test_the_answer_is_that_of_rows_in_memory(kind, weight):
    found = fit_there(X, RULES[kind], weight)
    same = fit_there(X, RULES[kind], weight, shards=cut(X, 1))
    assert found.report_.feasible
    assert audit(X, found.labels_, RULES[kind], K, sample_weight=weight).feasible
    assert found.inertia_ == pytest.approx(same.inertia_, rel=1e-5)
    model = ConstrainedKMeans(K, random_state=0)
    model.fit(X, constraints=RULES[kind], sample_weight=weight)
    assert found.inertia_ <= model.inertia_ * 1.01


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_and_sizes_together(dtype):
    points, rules = X.astype(dtype), [*LINKS, SIZES]
    found = fit_there(points, rules)
    assert found.report_.feasible
    independent = audit(points, found.labels_, rules, K)
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_, rel=1e-6)
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=rules)
    assert found.inertia_ <= model.inertia_ * 1.002


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_half_of_the_bits_and_a_far_middle(shift):
    points = (X + shift).astype(np.float32)
    found = fit_there(points, [SIZES])
    model = ConstrainedKMeans(K, random_state=0).fit(points, constraints=SIZES)
    assert found.report_.feasible
    assert found.inertia_ == pytest.approx(model.inertia_, rel=1e-3)


def test_cosine_has_the_answer_of_rows_in_memory():
    """Rows are brought to one length on the device; must-links are joined there."""
    rules = [SIZES, MustLink([(0, 1), (2, 3)])]
    found = fit_there(X, rules, metric="cosine", n_init=1)
    same = fit_there(X, rules, shards=cut(X, 1), metric="cosine", n_init=1)
    assert found.inertia_ == pytest.approx(same.inertia_, rel=1e-5)
    independent = audit(X, found.labels_, rules, K, metric="cosine")
    assert independent.feasible
    assert independent.inertia == pytest.approx(found.inertia_)
    points = X.copy()
    points[4_321] = 0.0
    with pytest.raises(ValueError, match="row 4321 of X has zeros in every column"):
        fit_there(points, rules, metric="cosine")


@pytest.mark.parametrize("times", [1, 2])
def test_without_memory_work_arrays_become_smaller(monkeypatch, times):
    """The pass is made again with a part of the rows at a time."""
    expected, soft_loads, failed = fit_there(X, [SIZES]), passes.soft_loads, []

    def short(shard, *args):
        if shard.memo.get("shrunk", 1) < 4**times:
            failed.append(1)
            raise torch.cuda.OutOfMemoryError
        return soft_loads(shard, *args)

    monkeypatch.setattr(passes, "soft_loads", short)
    found = fit_there(X, [SIZES])
    assert failed
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-5)


def test_memory_that_is_too_small_for_anything(monkeypatch):
    def short(shard, *args):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(passes, "soft_loads", short)
    with pytest.raises(MemoryError, match="go through the GPU block by block"):
        fit_there(X, [SIZES])


def test_files_go_through_a_device_block_by_block(tmp_path, monkeypatch):
    """Here the device is the processor: pinned buffers and streams need a GPU."""
    from corral.backends.disk import OnDisk
    from corral.backends.disk.blocks import BlockShards, Reader
    from corral.backends.disk.sources import cut as blocks_of

    np.save(tmp_path / "x.npy", X)
    rows = OnDisk(tmp_path / "x.npy").X
    rows.source.blocks[:] = blocks_of(rows.source.files, X[0].nbytes, X.nbytes // 3)
    with BlockShards(
        rows.source, torch.device("cpu"), Reader(rows.source, torch.device("cpu"))
    ) as shards:
        monkeypatch.setattr(BlockShards, "held", None)
        found = fit_there(X, [SIZES], shards=shards)
    same = fit_there(X, [SIZES], shards=cut(X, 3))
    assert found.inertia_ == pytest.approx(same.inertia_, rel=1e-6)
