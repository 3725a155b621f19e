"""Passes over shards: what they give is what dense arrays in memory give."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from local_shards import cut
from scipy.linalg import block_diag
from scipy.special import logsumexp, softmax

from corral.deadline import Deadline, OutOfTime
from corral.rows import METRICS, MemoryRows, Shard, ShardRows, ShardTable, passes
from corral.rows.passes import finite

N, D, K = 2_000, 4, 7
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
WEIGHT = RNG.uniform(0.5, 2.0, N)
AMOUNTS = {
    "ones": np.ones((1, N)),
    "one value": RNG.lognormal(0.0, 0.7, (1, N)),
    "two, one signed": np.stack([RNG.lognormal(0.0, 0.7, N), (RNG.random(N) < 0.4) - 0.3]),
}
CENTERS = RNG.normal(size=(K, D))


@pytest.fixture(params=[64, 1 << 20], autouse=True)
def entries(monkeypatch, request):
    monkeypatch.setattr(passes, "BLOCK_ENTRIES", request.param)


def far_rows(kind, weight=None, pieces=3):
    """Rows in shards with amounts, and their costs as a matrix."""
    table = ShardTable(cut(X, pieces), weight, "shards")
    rows, near = table.rows(None), MemoryRows(X, weight)
    return rows.with_amounts(AMOUNTS[kind]), near.costs(CENTERS - near.middle).dense()


def curvature(share, amounts):
    """The whole matrix by its definition."""
    held = np.einsum("qi,ij->ijq", amounts, share).reshape(N, -1)
    within = np.einsum("qi,ri,ij->jqr", amounts, amounts, share)
    return block_diag(*within) - held.T @ held


@pytest.mark.parametrize("kind", AMOUNTS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("wide", [False, True])
def test_soft_loads_are_those_of_a_dense_softmax(kind, weight, wide, monkeypatch):
    if wide:  # over the cheapest few of each row, here all
        monkeypatch.setattr("corral.rows.shards.CURVED", 1)
    monkeypatch.setattr(passes, "SURE", 1.0)
    monkeypatch.setattr(passes, "BENT", 1 << 20)
    rows, cost = far_rows(kind, weight)
    amounts = AMOUNTS[kind]
    at, values = rows.at(CENTERS - rows.middle), []
    for seed in range(2):  # the second time at other prices than those of the table
        prices = np.random.default_rng(seed).normal(size=(K, len(amounts)))
        logits = -(cost + amounts.T @ prices.T) / 0.7
        share = softmax(logits, axis=1)
        look = at.soft_loads(prices, 0.7)
        np.testing.assert_allclose(look.load, (amounts @ share).T, rtol=1e-9, atol=1e-6)
        others = 1.0 / share.max(axis=1) - 1.0
        assert look.undecided == np.count_nonzero(others > passes.DECIDED)
        matrix = curvature(share, amounts)
        if wide:  # of large shares only, which are scaled
            large = np.where(
                share > passes.DECIDED**2 * share.max(axis=1, keepdims=True), share, 0.0
            )
            matrix = curvature(large / large.sum(axis=1, keepdims=True), amounts)
            np.testing.assert_allclose(look.curvature.diagonal(), np.diag(matrix), atol=1e-6)
        found = np.array([look.curvature @ one for one in np.eye(len(matrix))])
        np.testing.assert_allclose(found, matrix, rtol=1e-9, atol=1e-6)
        values.append(look.value + 0.7 * logsumexp(logits, axis=1).sum())
    # The value is that of the soft least costs, less the same constant at all prices.
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_a_part_of_the_rows_tells_the_curvature(monkeypatch):
    (rows, _), prices = far_rows("ones"), np.zeros((K, 1))
    at = rows.at(CENTERS - rows.middle)
    whole = at.soft_loads(prices, 0.7).curvature
    monkeypatch.setattr(passes, "BENT", 2)
    some = at.soft_loads(prices, 0.7).curvature
    np.testing.assert_allclose(some.sum(axis=1), 0.0, atol=1e-9)
    assert np.linalg.eigvalsh(some).min() > -1e-9
    np.testing.assert_allclose(some, whole, atol=0.2 * np.abs(whole).max())


@pytest.mark.parametrize("kind", AMOUNTS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_rows_go_where_they_cost_least_at_the_prices(kind, weight):
    rows, cost = far_rows(kind, weight)
    amounts = AMOUNTS[kind]
    prices = np.random.default_rng(1).normal(size=(K, len(amounts)))
    priced = cost + amounts.T @ prices.T
    found = rows.at(CENTERS - rows.middle).place(prices)
    labels, ordered = priced.argmin(axis=1), np.sort(priced, axis=1)
    np.testing.assert_array_equal(found.labels(), labels)
    sums = np.stack([np.bincount(labels, values, K) for values in amounts], axis=1)
    np.testing.assert_allclose(found.sums, sums)
    np.testing.assert_allclose(found.labels.amounts(), sums)
    np.testing.assert_array_equal(found.counts, np.bincount(labels, minlength=K))
    margin = ordered[:, 1] - ordered[:, 0]
    np.testing.assert_allclose(found.margins(), margin, atol=1e-9)
    np.testing.assert_array_equal(found.within(0.5, N), np.flatnonzero(margin <= 0.5))
    # Means and inertia at other centres, some rows being elsewhere.
    moved = np.arange(0, N, 9)
    labels[moved] = (labels[moved] + 1) % K
    where = found.labels.patched(moved, labels[moved])
    near = MemoryRows(X, weight)
    means, inertia = rows.measured(where, K, CENTERS - rows.middle)
    np.testing.assert_allclose(means, near.means(labels, K), atol=1e-12)
    assert inertia == pytest.approx(near.inertia(labels, means), rel=1e-10)
    np.testing.assert_array_equal(where.of(moved), labels[moved])
    np.testing.assert_array_equal(
        where.patched(moved[:5], moved[:5] % K).of(moved[:5]), moved[:5] % K
    )
    np.testing.assert_array_equal(where(), labels)


def test_rows_of_the_smallest_margins():
    rows, cost = far_rows("ones", pieces=1)
    found = rows.at(CENTERS - rows.middle).place(np.zeros((K, 1)))
    order = np.argsort(cost, axis=1)
    margin = cost[np.arange(N), order[:, 1]] - cost[np.arange(N), order[:, 0]]
    own, to = np.zeros(K), np.zeros(K)
    own[2], to[4] = 5, 3
    of_all = np.argsort(margin)[:10]
    here, there = np.flatnonzero(order[:, 0] == 2), np.flatnonzero(order[:, 1] == 4)
    part = int(np.ceil(3 / np.sum(order[:, 0] == 4) * len(there)))
    expected = [of_all, here[np.argsort(margin[here])[:5]], there[np.argsort(margin[there])[:part]]]
    got = found.least(10, own, to)
    np.testing.assert_array_equal(got, np.unique(np.concatenate(expected)))
    every = found.least(N, own, to)
    np.testing.assert_array_equal(every, np.arange(N))


def test_rows_that_are_alike_are_shared_out():
    """Each of four clusters is as good for all rows, and a price makes one a little dearer."""
    points, centers = np.zeros((N, 2)), np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    rows = ShardRows(cut(points, 3), np.ones(N)).with_amounts(np.ones((1, N)))
    prices = np.array([[0.0], [0.0], [0.0], [0.5]])
    share = np.exp(-prices[:, 0] / 0.5)
    found = rows.at(centers).place(prices, 0.5)
    np.testing.assert_allclose(found.counts, N * share / share.sum(), atol=4)
    assert rows.at(centers).place(prices).counts[0] == N


def test_labels_stay_what_they_were_when_others_are_asked_for():
    rows, _ = far_rows("ones")
    first = rows.at(CENTERS - rows.middle).place(np.zeros((K, 1))).labels
    first = first.patched(np.array([3, 700]), np.array([1, 2]))
    before = first()
    for seed in range(4):
        rows.at(X[seed : seed + K]).place(np.zeros((K, 1))).labels()
    np.testing.assert_array_equal(first(), before)
    for shard in rows.shards.shards:
        shard.memo.clear()  # as when a worker was lost
    np.testing.assert_array_equal(first(), before)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_one_pass_measures_means_and_inertia(metric):
    known = METRICS[metric]
    points = known.embedded(X) if known.bounded else X
    far = ShardRows(cut(points, 3), np.ones(N), distance=known.distance)
    where = far.at(points[:K] - far.middle).place(np.zeros((K, 0))).labels
    means, inertia = far.measured(where, K, points[:K] - far.middle)
    np.testing.assert_allclose(means, far.means(where, K), atol=1e-12)
    assert inertia == pytest.approx(far.inertia(where, means), rel=1e-10)
    labels = where()
    np.testing.assert_allclose(means, far.means(labels, K), atol=1e-12)
    assert inertia == pytest.approx(far.inertia(labels, means), rel=1e-10)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_geometry_from_sums(far):
    mine, whole = ShardRows(cut(X + far, 4), np.ones(N)), MemoryRows(X + far)
    np.testing.assert_allclose(mine.middle, whole.middle)
    assert mine.spread == pytest.approx(whole.spread)
    np.testing.assert_allclose(mine.local, whole._local, atol=1e-9)
    some = np.array([1, 5, 1_999])
    np.testing.assert_allclose(mine.take(some).given[0], (X + far)[some])
    np.testing.assert_allclose(mine.part(some).home().given[0], (X + far)[some])


def test_passes_ask_the_deadline():
    rows, _ = far_rows("ones")
    late = rows.at(CENTERS, Deadline.after(0.0))
    for search in (late.place, lambda prices: late.soft_loads(prices, 1.0)):
        with pytest.raises(OutOfTime):
            search(np.zeros((K, 1)))


def nearest_in(pieces, centers):
    return ShardTable(pieces, None, "shards").nearest(centers)


def test_nearest_and_finite():
    squares = ((X[:, None, :] - X[None, :K]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in(cut(X, 3), X[:K]), squares.argmin(axis=1))
    bad = X[:100].copy()
    bad[70, 2] = np.nan
    assert finite(Shard(bad)) == 70
    assert finite(Shard(X)) == -1


@pytest.mark.parametrize("far", [0.0, 2e4])
def test_nearest_of_single_precision_far_from_the_origin(far):
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(600, 2)) + 6.0 * rng.integers(0, 2, (600, 1)) + far).astype("f4")
    centers = np.array([[0.0, 0.0], [6.0, 6.0]]) + far
    squares = ((points[:, None, :].astype(float) - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_in(cut(points, 2), centers), squares.argmin(1))


def test_a_shard_travels_without_its_memo():
    shard = Shard(X[:10], weight=np.arange(10.0), amounts=np.ones((10, 2)))
    shard.memo["placed"] = "long"
    again = pickle.loads(pickle.dumps(shard))
    for name in ("points", "weight", "amounts"):
        np.testing.assert_array_equal(getattr(again, name), getattr(shard, name))
    assert again.memo == {}
    assert again.xp is np
