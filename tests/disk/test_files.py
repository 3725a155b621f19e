"""Files of rows: what is read, what it takes, and what is refused, by file, row and column."""

from __future__ import annotations

import os

import numpy as np
import pytest
from far_rules import X as POINTS

from corral import ClusterSizes, ConstrainedKMeans, GroupShares, RowsOnDisk, audit
from corral.backends import BACKENDS
from corral.backends.disk import OnDisk
from corral.backends.disk.blocks import BlockShards
from corral.rows import passes

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

N, D = 600, 3
X = np.random.default_rng(0).normal(size=(N, D))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 100 rows, and rows that stay where they are."""
    monkeypatch.setattr("corral.backends.disk.sources.BLOCK_BYTES", 100 * D * 8)
    monkeypatch.setattr("corral.numbers.SAMPLE", 50)
    monkeypatch.setattr("corral.numbers.SAMPLE_EACH", 5)


def written(path, points, names="abc", **options):
    table = pa.table({name: points[:, j] for j, name in enumerate(names)})
    parquet.write_table(table, path, **options)
    return path


def fit(given, **parameters):
    model = ConstrainedKMeans(3, random_state=0, **parameters)
    return model.fit(given, constraints=ClusterSizes([N // 3] * 3))


def read_all(given):
    """All rows, block by block."""
    with BlockShards.of(OnDisk(given).X, None) as shards:
        return np.concatenate(
            shards.map(passes.rows_of, each=[(np.arange(n),) for n in shards.lengths])
        )


@pytest.mark.parametrize("groups", [37, 100, 10_000])
@pytest.mark.parametrize("kind", ["<f4", "<f8", ">f8", "<i4", "|u1"])
def test_blocks_hold_the_rows_in_order(tmp_path, small_blocks, groups, kind):
    points = (10.0 * np.abs(X)).astype(kind)
    expected = points.astype(np.float32 if kind == "<f4" else np.float64)
    np.save(tmp_path / "x.npy", points)
    np.save(tmp_path / "f.npy", np.asfortranarray(points))
    for name in ("x.npy", "f.npy"):
        np.testing.assert_array_equal(read_all(tmp_path / name), expected)
    np.testing.assert_array_equal(read_all(np.load(tmp_path / "x.npy", mmap_mode="r")), expected)
    native = points.astype(points.dtype.newbyteorder("="))
    written(tmp_path / "x.parquet", native, row_group_size=groups)
    np.testing.assert_array_equal(read_all(tmp_path / "x.parquet"), expected)


def test_some_blocks_alone_are_read(tmp_path, small_blocks):
    written(tmp_path / "x.parquet", X, row_group_size=70)
    with BlockShards.of(RowsOnDisk(tmp_path / "x.parquet"), None) as shards:
        wanted = [np.array([], int)] * len(shards.lengths)
        wanted[1], wanted[4] = np.array([3, 5]), np.array([0])
        found = np.concatenate(shards.map(passes.rows_of, each=[(rows,) for rows in wanted]))
        np.testing.assert_array_equal(found, X[[103, 105, 400]])
        assert shards._reader.reads <= 4  # each of the two, and the one after it


def test_columns_by_name_and_files_of_other_types(tmp_path, small_blocks):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_metadata").write_text("not this one")
    written(folder / "0.parquet", X[:250].astype(np.float32))
    written(folder / "1.parquet", X[250:, ::-1], names="cba")
    found = read_all(RowsOnDisk(folder, ["c", "a"]))
    expected = np.concatenate([X[:250].astype(np.float32).astype(float), X[250:]])
    np.testing.assert_array_equal(found, expected[:, [2, 0]])
    model = fit(RowsOnDisk(folder, ["c", "a"]))
    assert model.feature_names_in_.tolist() == ["c", "a"]
    np.testing.assert_array_equal(model.predict(RowsOnDisk(folder, ["c", "a"])).shape, (N,))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(folder)


@pytest.mark.parametrize("rule", ["sizes", "shares"])
def test_rounds_read_every_block_twice_at_most(tmp_path, monkeypatch, rule):
    """Rows that stay on disk: prices see most of their passes on rows in memory."""
    from corral.search import far

    monkeypatch.setattr("corral.numbers.SAMPLE", 500)
    monkeypatch.setattr("corral.numbers.SAMPLE_EACH", 10)
    monkeypatch.setattr("corral.backends.disk.sources.BLOCK_BYTES", 500 * 4 * 8)
    np.save(tmp_path / "x.npy", POINTS)
    n = len(POINTS)
    party = np.arange(n) % 3 == 0
    rules = {
        "sizes": ClusterSizes([n // 8] * 8),
        "shares": GroupShares(party, minimum={True: 0.3}, maximum={True: 0.36}),
    }[rule]
    reads, before = [], far._Descent.round

    def counted(self, *args):
        reader = self.rows.shards._reader
        start = reader.reads
        result = before(self, *args)
        reads.append(reader.reads - start)
        return result

    monkeypatch.setattr(far._Descent, "round", counted)
    model = ConstrainedKMeans(8, random_state=0).fit(tmp_path / "x.npy", constraints=rules)
    assert audit(POINTS, model.labels_, rules, 8).feasible
    assert len(reads) > 1
    assert max(reads) <= 2 * -(-n // 500)
    near = ConstrainedKMeans(8, random_state=0).fit(POINTS, constraints=rules)
    assert model.inertia_ <= near.inertia_ * 1.01
    assert "blocks" in model.report_.how()


def test_what_a_path_must_be(tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"must end in \.npy, \.parquet or \.pq"):
        fit(tmp_path / "x.csv")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        fit(tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \.parquet file"):
        fit(tmp_path / "empty")
    (tmp_path / "wrong.parquet").write_text("text")
    with pytest.raises(ValueError, match="is no Parquet file"):
        fit(tmp_path / "wrong.parquet")
    np.save(tmp_path / "line.npy", X[:, 0])
    with pytest.raises(ValueError, match="must have two dimensions"):
        fit(tmp_path / "line.npy")
    written(tmp_path / "none.parquet", X[:0])
    with pytest.raises(ValueError, match="0 samples"):
        fit(tmp_path / "none.parquet")


def test_a_missing_column_and_texts_are_named_with_their_file(tmp_path):
    written(tmp_path / "0.parquet", X[:300])
    written(tmp_path / "1.parquet", X[300:, :2], names="ab")
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'c', which 0\.parquet has"):
        fit(tmp_path)
    table = pa.table({"a": X[:, 0], "name": [str(i) for i in range(N)]})
    parquet.write_table(table, tmp_path / "1.parquet")
    with pytest.raises(TypeError, match=r"column 'name' of .*1\.parquet has type string"):
        fit(RowsOnDisk(tmp_path / "1.parquet"))
    words = [str(value) for value in X[300:, 2]]  # of numbers in the other file
    table = pa.table({"a": X[300:, 0], "b": X[300:, 1], "c": words})
    parquet.write_table(table, tmp_path / "1.parquet")
    with pytest.raises(TypeError, match=r"column 'c' of .*1\.parquet has type string"):
        fit(tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_by_file_row_and_column(tmp_path, small_blocks, value):
    points = X.copy()
    points[455, 1] = value
    written(tmp_path / "0.parquet", points[:300])
    written(tmp_path / "1.parquet", points[300:])
    with pytest.raises(
        ValueError, match=r"in row 155 of .*1\.parquet, column 'b' \(row 455 of X\)"
    ):
        fit(tmp_path)


def test_a_missing_value_of_parquet_is_no_number(tmp_path, small_blocks):
    table = pa.table({"a": [1.0] * 150 + [None] + [1.0] * 449, "b": np.arange(N)})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="NaN, in row 150"):
        fit(tmp_path / "x.parquet")


@pytest.mark.parametrize("what", ["grows", "ends", "goes"])
@pytest.mark.parametrize("kind", ["npy", "parquet", "map"])
def test_a_file_that_changes_during_the_fit(tmp_path, small_blocks, monkeypatch, kind, what):
    path = tmp_path / ("x.parquet" if kind == "parquet" else "x.npy")
    if kind == "parquet":
        written(path, X)
    else:
        np.save(path, X)
    given = np.load(path, mmap_mode="r") if kind == "map" else path
    placed = passes.place

    def change(*args):
        if what == "goes":
            path.unlink(missing_ok=True)
        else:
            os.truncate(path, path.stat().st_size + (7 if what == "grows" else -1000))
        return placed(*args)

    monkeypatch.setattr(passes, "place", change)
    model = ConstrainedKMeans(3, random_state=0)
    with pytest.raises(OSError, match="Nothing was fitted"):
        model.fit(given, constraints=ClusterSizes([N // 3] * 3))
    assert not hasattr(model, "labels_")


def test_other_methods_take_paths(tmp_path, small_blocks):
    np.save(tmp_path / "x.npy", X)
    model = fit(X)
    path = tmp_path / "x.npy"
    np.testing.assert_array_equal(model.predict(path), model.predict(X))
    np.testing.assert_allclose(model.transform(path), model.transform(X))
    assert model.score(path) == pytest.approx(model.score(X))
    rule = ClusterSizes([N // 3] * 3)
    np.testing.assert_array_equal(
        model.assign(path, constraints=rule), model.assign(X, constraints=rule)
    )


def test_maps_of_memory_are_files_and_other_arrays_are_not(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    kinds = {
        name: next(kind for kind in BACKENDS if kind.takes(a, None)).__name__
        for name, a in {"map": mapped, "part": mapped[::2, 1:], "sum": mapped + 1.0}.items()
    }
    assert kinds == {"map": "OnDisk", "part": "OnDisk", "sum": "InMemory"}
    np.testing.assert_array_equal(read_all(mapped[::2, 1:]), X[::2, 1:])


def test_weights_and_cosine(tmp_path, small_blocks):
    np.save(tmp_path / "x.npy", X + 1.0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    for metric in ("euclidean", "cosine"):
        model = ConstrainedKMeans(3, random_state=0, metric=metric)
        model.fit(tmp_path / "x.npy", sample_weight=weight, constraints=ClusterSizes(maximum=220))
        found = audit(X + 1.0, model.labels_, [ClusterSizes(maximum=220)], 3, weight, metric=metric)
        assert found.feasible
        assert found.inertia == pytest.approx(model.inertia_, rel=1e-9)
