"""Mixed groups of rows in files, in tensors and with Dask are those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from corral import (
    CannotLink,
    ConstrainedKMedoids,
    MixedGroups,
    MixedKFold,
    MustLink,
    RowsOnDisk,
    split,
)
from corral.baselines import COPKMeans

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
from pyarrow import parquet  # noqa: E402

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
WORDS = {"kind": RNG.choice(["f", "m"], N), "late": RNG.random(N) < 0.4}
RULES = [MustLink([(0, 1)]), CannotLink([(2, 40), (3, 4)])]


def table(**columns):
    return pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], **columns})


@pytest.fixture
def rows(tmp_path):
    """The same numbers wherever they may be."""
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    np.save(tmp_path / "x.npy", X)
    parquet.write_table(table(), tmp_path / "x.parquet")
    (tmp_path / "parts").mkdir()
    parquet.write_table(table()[:25], tmp_path / "parts" / "0.parquet")
    parquet.write_table(table()[25:], tmp_path / "parts" / "1.parquet")
    return {
        "map": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "npy": tmp_path / "x.npy",
        "parquet": str(tmp_path / "x.parquet"),
        "folder": tmp_path / "parts",
        "columns": RowsOnDisk(tmp_path / "parts", ["a", "b", "c"]),
        "tensor": torch.as_tensor(X),
        "dask": da.from_array(X, chunks=(20, 3)),
    }


@pytest.mark.parametrize("objective", ["means", "moments", "diversity"])
def test_labels_are_those_of_rows_in_memory(rows, objective):
    dask = pytest.importorskip("dask")
    model = MixedGroups(4, objective, random_state=0)
    expected = model.fit(X, constraints=RULES).labels_
    assert "memory" not in model.report_.how()
    with dask.config.set(scheduler="synchronous"):
        for name, given in rows.items():
            found = MixedGroups(4, objective, random_state=0).fit(given, constraints=RULES)
            np.testing.assert_array_equal(found.labels_, expected, err_msg=name)
            assert ("GiB" in found.report_.how()) == (name != "tensor")
        assert found.report_.feasible


def test_splits_are_those_of_rows_in_memory(rows):
    expected = split(X, 3, random_state=0)
    for name in ("npy", "folder"):
        for part, its in zip(split(rows[name], 3, random_state=0), expected, strict=True):
            np.testing.assert_array_equal(part, its)
        folds = MixedKFold(3, random_state=0).split(rows[name])
        for (_, test), its in zip(folds, expected, strict=True):
            np.testing.assert_array_equal(test, its)


def test_words_of_parquet_are_spread_as_those_of_a_frame(tmp_path):
    frame = pd.DataFrame({**dict(zip("abc", X.T, strict=True)), **WORDS})
    named = pa.array(WORDS["kind"]).dictionary_encode()
    parquet.write_table(table(kind=named, late=WORDS["late"]), tmp_path / "x.parquet")
    expected = MixedGroups(4, random_state=0).fit(frame)
    found = MixedGroups(4, random_state=0).fit(tmp_path / "x.parquet")
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert set(found.report_.balance.counts) == {"kind", "late"}
    assert found.report_.balance.uneven == 0
    assert found.feature_names_in_.tolist() == ["a", "b", "c", "kind", "late"]
    numbers = MixedGroups(4, random_state=0).fit(RowsOnDisk(tmp_path / "x.parquet", ["c", "a"]))
    assert numbers.feature_names_in_.tolist() == ["c", "a"]


def test_files_that_do_not_fit_together_are_named(tmp_path):
    parquet.write_table(table(kind=WORDS["kind"]), tmp_path / "0.parquet")
    parquet.write_table(table(), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'kind', which 0\.parquet has"):
        MixedGroups(4).fit(tmp_path)
    parquet.write_table(table(kind=np.arange(N)), tmp_path / "1.parquet")
    with pytest.raises(TypeError, match=r"columns of different types.*kind"):
        MixedGroups(4).fit(tmp_path)
    with pytest.raises(ValueError, match=r"must end in \.npy, \.parquet or \.pq"):
        MixedGroups(4).fit(tmp_path / "x.csv")


def test_rows_that_do_not_fit_into_memory_are_not_read(rows, monkeypatch):
    monkeypatch.setattr("corral.mixed.estimator.memory_at", lambda: 20_000)
    for name in ("map", "npy", "folder", "dask"):
        with pytest.raises(MemoryError, match="60 rows take about"):
            MixedGroups(4).fit(rows[name])


def test_a_map_of_one_dimension_is_refused_as_an_array_is(tmp_path):
    np.save(tmp_path / "line.npy", X[:, 0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        MixedGroups(4).fit(np.load(tmp_path / "line.npy", mmap_mode="r"))
    with pytest.raises(ValueError, match="must have two dimensions"):
        MixedGroups(4).fit(tmp_path / "line.npy")


def test_what_reads_no_files_says_so(rows):
    for model in (ConstrainedKMedoids(3), COPKMeans(3)):
        for name in ("npy", "columns"):
            with pytest.raises(TypeError, match="only ConstrainedKMeans and MixedGroups"):
                model.fit(rows[name])
