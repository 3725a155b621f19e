"""Dask collections on their way in and out."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from corral.backends.dask import by_rows, cluster, give_back, hold  # noqa: E402
from corral.backends.dask.collections import _make_shard  # noqa: E402

X = np.random.default_rng(0).normal(size=(100, 3))


def fetch(shard):
    return shard.points


def held(collection):
    with hold(collection) as shards:
        return shards.lengths, shards.dtype, np.concatenate(shards.map(fetch))


@pytest.mark.parametrize(
    ("dtype", "kept"), [("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8"), ("f2", "f8")]
)
def test_precision(client, dtype, kept):
    given = (10 * X).astype(dtype)
    lengths, found_dtype, points = held(da.from_array(given, chunks=(40, 3)))
    assert lengths == [40, 40, 20]
    assert found_dtype == points.dtype == np.dtype(kept)
    np.testing.assert_array_equal(points, given)


def test_odd_addresses_are_left():
    odd = np.frombuffer(b"-" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    assert not odd.flags.aligned
    shard = _make_shard(odd)
    assert shard.points.flags.aligned
    np.testing.assert_array_equal(shard.points, X)
    assert _make_shard(X).points is X


def test_features_in_several_chunks(client):
    lengths, _, points = held(da.from_array(X, chunks=(60, 2)))
    assert lengths == [60, 40]
    np.testing.assert_array_equal(points, X)


def test_rows_of_unknown_number_and_partitions_without_rows(client):
    positive = da.from_array(np.arange(100.0), chunks=25)
    array = da.from_array(X, chunks=(25, 3))[(positive < 25) | (positive >= 55)]
    lengths, _, points = held(array)
    assert lengths == [25, 20, 25]
    np.testing.assert_array_equal(points, np.delete(X, np.s_[25:55], axis=0))
    labels = give_back(np.arange(70), like=array)
    assert labels.chunks == ((25, 0, 20, 25),)
    np.testing.assert_array_equal(labels.compute(), np.arange(70))


def test_frames_of_several_kinds_of_numbers(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    kinds = {"a": X[:, 0], "b": X[:, 1] > 0.0, "c": pd.array(np.arange(len(X)), "Int64")}
    given = pd.DataFrame(kinds)
    _, dtype, points = held(dd.from_pandas(given, npartitions=2))
    assert dtype == np.float64
    np.testing.assert_array_equal(points, given.to_numpy(float))
    missing = given.copy()
    missing.loc[7, "c"] = pd.NA
    with pytest.raises(ValueError, match="X contains NaN, at row 7, column 2"):
        held(dd.from_pandas(missing, npartitions=2))
    with pytest.raises(TypeError, match=r"column 'name' of X has dtype .*; all columns must be"):
        held(dd.from_pandas(given.assign(name="x"), npartitions=2))


def test_data_frames(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.arange(100))
    given = dd.from_pandas(frame, npartitions=3)
    lengths, dtype, points = held(given)
    assert dtype == np.float64
    np.testing.assert_array_equal(points, frame.to_numpy())
    labels = give_back(np.arange(100) % 7, like=given)
    assert labels.chunks == (tuple(lengths),)
    again = dd.from_pandas(frame.assign(e=1.0), npartitions=3)
    assert give_back(np.arange(100), like=again).chunks == (tuple(lengths),)


def test_labels_have_the_chunks_of_the_rows(client):
    given = da.from_array(X, chunks=((10, 50, 40), 3))
    labels = give_back(np.arange(100, dtype=np.int32), like=given)
    assert labels.chunks == ((10, 50, 40),)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels.compute(), np.arange(100))


def twice(rows, more):
    return np.hstack([rows, rows + more])


def test_functions_of_rows_wait_until_asked(client):
    found = by_rows(da.from_array(X.astype("f4"), chunks=(40, 2)), twice, 1.0)
    assert found.chunks == ((40, 40, 20), (6,))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.compute(), twice(X.astype("f4"), 1.0))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_what_is_not_finite_is_named(client, value, word):
    bad = X.copy()
    bad[57, 1] = value
    with pytest.raises(ValueError, match=rf"{word}, at row 57, column 1 \(row 17 of partition 1\)"):
        hold(da.from_array(bad, chunks=(40, 3)))


def test_large_numbers_are_finite(client):
    given = np.full((10, 2), 3e38, np.float32)
    assert held(da.from_array(given, chunks=(5, 2)))[1] == np.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (da.zeros(5), "1 dimension"),
        (da.zeros((2, 2, 2)), "3 dimension"),
        (da.zeros((0, 3)), "0 samples"),
        (da.zeros((3, 3), dtype=complex), "complex128"),
        (da.from_array(np.array([["a"]])), "<U1"),
        (da.zeros((4, 3)).map_blocks(sparse.csr_matrix, dtype=float), "csr_matrix"),
    ],
)
def test_what_is_no_table_of_numbers(client, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hold(given)


def test_without_distributed_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'corral-clustering\[dask\]'"):
        hold(da.zeros((3, 2)))


@pytest.fixture
def made(monkeypatch):
    """The clusters that corral opens by itself."""
    found, own = [], cluster._cluster

    def remember(*given):
        found.append(own(*given))
        return found[-1]

    monkeypatch.setattr(cluster, "_cluster", remember)
    return found


def test_a_cluster_of_its_own_is_closed(made):
    with hold(da.from_array(X, chunks=(50, 3))) as shards:
        assert shards.lengths == [50, 50]
        assert made[0].status.name == "running"
    assert made[0].status.name == "closed"
    with pytest.raises(ValueError, match="NaN"):
        hold(da.full((4, 2), np.nan))
    assert made[1].status.name == "closed"
    assert not any(Path(each.corral_folder.name).exists() for each in made)


def open_ports():
    """What this process and those that it started listen at."""
    psutil = pytest.importorskip("psutil")
    own = psutil.Process()
    family = [own, *own.children(recursive=True)]
    found = [place for process in family for place in process.net_connections(kind="all")]
    return {
        (place.family, place.laddr)
        for place in found
        if place.status == "LISTEN" or (place.laddr and place.family == socket.AF_UNIX)
    }


def test_nobody_outside_can_reach_a_cluster_of_its_own(made):
    before = open_ports()
    with hold(da.from_array(X, chunks=(50, 3))) as shards:
        assert shards.map(len) == [50, 50]
        assert open_ports() - before == set()
        (own,) = made
        servers = [own.scheduler, *own.workers.values()]
        assert {server.address.partition("://")[0] for server in servers} == {"inproc"}
        (worker,) = own.workers.values()
        assert Path(worker.local_directory).is_relative_to(own.corral_folder.name)
        if os.name == "posix":
            assert stat.S_IMODE(Path(own.corral_folder.name).stat().st_mode) == 0o700


@pytest.mark.parametrize("said", [(5, 5), (3, 6)])
def test_chunks_that_misstate_the_rows_are_refused(client, said):
    array = da.from_array(np.ones((8, 2)), chunks=(4, 2))
    wrong = da.Array(array.dask, array.name, (said, (2,)), dtype=array.dtype)
    with pytest.raises(ValueError, match=rf"partition 0 of X has shape \(4, 2\).*\({said[0]}, 2\)"):
        hold(wrong)


def test_masked_rows_are_named(client):
    array = da.from_array(np.arange(16.0).reshape(8, 2), chunks=(4, 2))
    with pytest.raises(ValueError, match="at row 5, column 1"):
        hold(da.ma.masked_equal(array, 11.0))


@pytest.mark.parametrize("said", [(5, 5), (3, 6)])
def test_lazy_results_of_chunks_that_misstate_the_rows_are_refused(client, said):
    array = da.from_array(np.ones((8, 2)), chunks=(4, 2))
    wrong = da.Array(array.dask, array.name, (said, (2,)), dtype=array.dtype)
    lazy = by_rows(wrong, np.add, np.ones(2))
    with pytest.raises(
        ValueError, match=rf"partition [01] of X has shape \(4,\).*say \([{said[0]}{said[1]}],"
    ):
        lazy.compute()
    unknown = da.Array(array.dask, array.name, ((np.nan, np.nan), (2,)), dtype=array.dtype)
    np.testing.assert_array_equal(by_rows(unknown, np.add, np.ones(2)).compute(), 2.0)
