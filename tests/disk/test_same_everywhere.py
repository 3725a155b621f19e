"""The same rows and seed have the same answer from memory, files, tensors and Dask.

Twice, for every kind of rule: as everybody has it, where few rows are solved in memory; and with a
sample so small that rows stay where they are, in the same pieces, so that every pass is made there.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from far_rules import KNOWN, RULES, K, N, X, Y
from local_shards import brought_home, fit_shards
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    Connected,
    ConstrainedKMeans,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
    audit,
)
from corral.datasets import random_links
from corral.rows import LocalShards, Shard

torch = pytest.importorskip("torch")
pa = pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from pyarrow import parquet  # noqa: E402

from corral.backends.gpu.device import DeviceShards  # noqa: E402

CUTS = [0, 1_500, N]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The rows in files: one .npy, one Parquet file, and a folder of two."""
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "x.npy", X)
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    parquet.write_table(table, folder / "x.parquet", row_group_size=700)
    (folder / "parts").mkdir()
    for i, (start, stop) in enumerate(itertools.pairwise(CUTS)):
        parquet.write_table(table[start:stop], folder / "parts" / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as found:
        yield found


@pytest.fixture
def stays(monkeypatch):
    """Rows stay where they are, and programs have the time that they need."""
    monkeypatch.setattr("corral.numbers.SAMPLE", 1_000)
    monkeypatch.setattr("corral.numbers.SAMPLE_EACH", 50)
    monkeypatch.setattr("corral.numbers.PROGRAM_SECONDS", 60.0)


def same(found, expected):
    """Whether labels are the same, or the objective is within 1e-6."""
    if np.array_equal(np.asarray(found.labels_), np.asarray(expected.labels_)):
        return True
    return found.report_.objective == pytest.approx(expected.report_.objective, rel=1e-6)


def fitted(given, rules):
    return ConstrainedKMeans(K, random_state=0).fit(given, constraints=rules)


def whole(files):
    """One piece, in every place but shards of NumPy and tensors."""
    yield files / "x.npy"
    yield np.load(files / "x.npy", mmap_mode="r")
    yield str(files / "x.parquet")
    yield da.from_array(X, chunks=X.shape)


@pytest.mark.parametrize("kind", RULES)
def test_where_the_rows_are(kind, files, client, stays):
    rules = RULES[kind]
    expected = fit_shards(X, LocalShards([Shard(X)]), rules, K)
    assert brought_home(expected) == ""
    assert audit(X, expected.labels_, rules, K).feasible
    for given in whole(files):
        found = fitted(given, rules)
        assert brought_home(found) == ""
        assert same(found, expected), type(given)
    tensors = fit_shards(X, DeviceShards(Shard(torch.as_tensor(X))), rules, K)
    assert same(tensors, expected)


@pytest.mark.parametrize("kind", ["sizes", "shares", "soft pins, soft sizes and totals", "links"])
def test_where_the_rows_are_in_two_pieces(kind, files, client, stays):
    pieces = [Shard(X[a:b]) for a, b in itertools.pairwise(CUTS)]
    expected = fit_shards(X, LocalShards(pieces), RULES[kind], K)
    assert same(fitted(files / "parts", RULES[kind]), expected)
    chunks = tuple(np.diff(CUTS).tolist()), X.shape[1]
    assert same(fitted(da.from_array(X, chunks=chunks), RULES[kind]), expected)


@pytest.mark.parametrize("kind", [each for each in RULES if "soft" in each or "linear" in each])
def test_rules_where_the_rows_are_end_near_memory(kind, stays):
    found = fit_shards(X, LocalShards([Shard(X)]), RULES[kind], K)
    near = fitted(X, RULES[kind])
    assert found.report_.objective <= near.report_.objective * 1.01


M, L = 160, 4
FEW, OWN = make_blobs(M, 3, centers=L, cluster_std=3.0, random_state=1)
AMOUNT, SORT = np.random.default_rng(2).lognormal(0.0, 0.7, M), np.arange(M) % 3 == 0
LEAST = 0.97 * AMOUNT.sum() / L
NEAR = kneighbors_graph(FEW, 6)
NEAR = NEAR + NEAR.T
PAIRS = random_links(OWN, 15, 15, random_state=0)
KEPT = {int(row): int(OWN[row]) for row in range(0, M, 12)}
OF_FIRST = LinearConstraint(
    sparse.csr_array((AMOUNT, (np.zeros(M, int), L * np.arange(M) + 1)), shape=(1, M * L)),
    upper=LEAST,
)
SMALL = {
    "none": [],
    "equal sizes": [ClusterSizes([M // L] * L)],
    "sizes in order": [ClusterSizes([25, 35, 45, 55], ordered=True)],
    "totals": [ClusterTotals(AMOUNT, minimum=LEAST)],
    "shares": [GroupShares(SORT, minimum={True: 0.3}, maximum={True: 0.36})],
    "links": [*PAIRS],
    "pins": [Pin(KEPT)],
    "linear rows": [OF_FIRST],
    "connected": [Connected(NEAR), ClusterSizes(minimum=15)],
    "soft links": [MustLink(PAIRS[0].pairs, weight=9.0), CannotLink(PAIRS[1].pairs, weight=9.0)],
    "soft sizes": [ClusterSizes([M // L] * L, weight=5.0)],
    "soft totals": [ClusterTotals(AMOUNT, minimum=LEAST, weight=5.0)],
    "soft shares": [GroupShares(SORT, minimum={True: 0.32}, weight=5.0)],
    "soft pins": [Pin(KEPT, weight=9.0)],
    "soft connected": [Connected(NEAR, weight=2.0)],
    "all together": [
        *PAIRS,
        ClusterSizes(maximum=48),
        ClusterTotals(AMOUNT, minimum=0.8 * LEAST),
        GroupShares(SORT, minimum={True: 0.2}),
        Pin({row: label for row, label in KEPT.items() if row % 24}, weight=9.0),
    ],
}


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Few rows in every place but memory."""
    folder = tmp_path_factory.mktemp("few")
    np.save(folder / "x.npy", FEW)
    table = pa.table({f"x{j}": FEW[:, j] for j in range(FEW.shape[1])})
    (folder / "parts").mkdir()
    parquet.write_table(table[:100], folder / "parts" / "0.parquet")
    parquet.write_table(table[100:], folder / "parts" / "1.parquet")
    return {
        "npy": folder / "x.npy",
        "map": np.load(folder / "x.npy", mmap_mode="r"),
        "parquet": folder / "parts",
        "dask": da.from_array(FEW, chunks=((90, 70), FEW.shape[1])),
        "tensor": torch.as_tensor(FEW),
    }


@pytest.mark.parametrize(
    ("kind", "weighted"), [(kind, number % 2 == 1) for number, kind in enumerate(SMALL)]
)
def test_few_rows_have_the_labels_of_memory(kind, weighted, few, client, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # which scikit-learn asks for
    weight = np.random.default_rng(3).uniform(0.5, 2.0, M) if weighted else None

    def labels(given):
        model = ConstrainedKMeans(L, random_state=0)
        model.fit(given, constraints=SMALL[kind], sample_weight=weight)
        assert (brought_home(model) != "") == (given is not FEW)
        return np.asarray(model.labels_)

    expected = labels(FEW)
    assert audit(FEW, expected, SMALL[kind], L, weight).feasible
    for name, given in few.items():
        with config_context(array_api_dispatch=name == "tensor"):
            np.testing.assert_array_equal(labels(given), expected, err_msg=name)


def test_linear_rows_over_many_groups_come_home_and_say_so(monkeypatch, stays):
    monkeypatch.setattr("corral.numbers.EXACT", 60 * K - 1)
    found = fit_shards(X, LocalShards([Shard(X)]), RULES["linear rows of few"], K)
    assert brought_home(found).startswith("linear rows tie 60 groups in several clusters")


def test_the_price_of_soft_pins_is_what_a_brute_force_says(stays):
    """At the centres found, no row would be cheaper elsewhere."""
    found = fit_shards(X, LocalShards([Shard(X)]), RULES["soft pins"], K)
    cost = ((X[:, None] - found.cluster_centers_[None]) ** 2).sum(axis=2)
    rows = np.array([*KNOWN])
    cost[rows] += 20.0 * (np.arange(K) != Y[rows][:, None])
    paid = cost[np.arange(N), found.labels_]
    assert paid.sum() <= cost.min(axis=1).sum() * (1 + 1e-3)
