"""Files that are read in blocks, and labels that are written beside them."""

from __future__ import annotations

import errno
import json

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

N = 300
X = np.random.default_rng(0).normal(size=(N, 2))


@pytest.fixture
def parts(tmp_path):
    """A folder of two Parquet files with coordinates, a kind and a load."""
    folder = tmp_path / "parts"
    folder.mkdir()
    kinds = [("m", "w")[i % 2] for i in range(N)]
    table = pa.table({"x": X[:, 0], "y": X[:, 1], "kind": kinds, "load": np.arange(N) % 5})
    parquet.write_table(table[:100], folder / "0.parquet")
    parquet.write_table(table[100:], folder / "1.parquet")
    return folder


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_labels_of_a_folder(corral, parts, tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    rules = ["--max-size", 110, "--share", "kind:0.45:", "--capacity", "load:210"]
    found = corral("fit", parts, "-k", 3, *rules, "--columns", "x,y", "--labels-out", path)
    assert found.code == 0, found.err
    labels = np.load(path) if ending == "npy" else parquet.read_table(path)["label"].to_numpy()
    assert len(labels) == N
    assert np.bincount(labels).max() <= 110
    assert np.bincount(labels, np.arange(N) % 5).max() <= 210
    assert "every hard rule is obeyed" in found.out


def test_json_a_model_and_an_array(corral, tmp_path):
    np.save(tmp_path / "x.npy", X)
    where = ["--labels-out", tmp_path / "l.npy", "--model", tmp_path / "m.json"]
    found = corral("fit", tmp_path / "x.npy", "-k", 3, "--json", *where)
    assert found.code == 0, found.err
    assert json.loads(found.out)["feasible"]
    assert json.loads((tmp_path / "m.json").read_text())["columns"] == ["column 0", "column 1"]


def test_what_cannot_be_had_with_it(corral, parts, tmp_path):
    out = ["--labels-out", tmp_path / "l.npy"]
    for more, said in {
        ("--output", "x.csv"): "--output",
        ("--scale", "minmax"): "--scale",
        ("--method", "medoids"): "--method",
        ("--columns", "x,kind"): "type string",
        ("--columns", "x,z"): "no column 'z'",
    }.items():
        found = corral("fit", parts, "-k", 3, *more, *out)
        assert found.code == 2
        assert said in found.err
    assert "directory" in corral("fit", parts, "-k", 3).err
    assert not (tmp_path / "l.npy").exists()


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_a_full_disk_leaves_no_part_of_the_labels(corral, parts, tmp_path, monkeypatch, ending):
    def full(*both):
        file = next(each for each in both if hasattr(each, "write"))
        file.write(b"some")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numpy.save", full)
    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    out = tmp_path / f"l.{ending}"
    found = corral("fit", parts, "-k", 3, "--columns", "x,y", "--labels-out", out)
    assert found.code == 2
    assert "the disk is full" in found.err
    assert [each.name for each in tmp_path.iterdir()] == ["parts"]
