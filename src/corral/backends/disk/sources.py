"""Files of rows, cut into blocks that are read one at a time.

A block is some consecutive rows of one file, of at most ``BLOCK_BYTES``.  A source reads a block
into an array that it is given.  Every file must stay as it was when it was opened.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..._text import shown, suggestion
from ..._typing import FloatArray, IntArray

#: Bytes of a block of rows in memory.  Three of them are in memory at a time: one that is read, one
#: that waits and one that a pass works on.
BLOCK_BYTES = 1 << 25
#: Rows of a Parquet file that are decoded at a time.
DECODED = 1 << 16
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class File:
    """A file of rows, with the size and the time of its last change when it was opened."""

    path: str
    n_rows: int
    opened: tuple[int, int] = field(default=(0, 0))

    @classmethod
    def of(cls, path: str, n_rows: int) -> File:
        """The file as it is now."""
        return cls(path, n_rows, _state(path))

    @property
    def name(self) -> str:
        """What messages call it."""
        return Path(self.path).name

    def check(self) -> None:
        """Raise OSError if the file is not what it was."""
        try:
            now = _state(self.path)
        except OSError as error:
            raise OSError(
                f"{self.path} cannot be read any more: {error.strerror}.  Nothing was fitted."
            ) from error
        if now != self.opened:
            raise OSError(
                f"{self.path} was changed while it was in use: it had {self.opened[0]:,} bytes, "
                f"and has {now[0]:,} now.  Nothing was fitted; call again when it stays as it is."
            )


def _state(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - a path may be a descriptor's
    return found.st_size, found.st_mtime_ns


class Source(Protocol):
    """Rows of files in blocks."""

    dtype: Any  # float32 or float64
    n_features: int
    blocks: list[tuple[int, int, int]]  # number of the file, first row of it, last row and one
    files: list[File]
    outline: Any  # a table without rows, which tells the number and names of the features

    def read(self, block: int, out: FloatArray) -> None:
        """Read a block into an array of its shape."""

    def whole(self) -> Any:
        """All rows in memory: an array, or a table with the columns as they are."""


class RowsOnDisk:
    """The rows of a ``.npy`` file, or of a Parquet file or a folder of them, read block by block.

    ``fit`` and the other methods take a path as well; this is for some columns of Parquet files.

    Parameters
    ----------
    path : str or path
        Files of a folder are taken in the order of their names.
    columns : sequence of str, optional
        Columns of Parquet files to cluster by, all of them by default.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from corral import ClusterSizes, ConstrainedKMeans, RowsOnDisk
    >>> path = Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(path, [[0.0], [1.0], [10.0], [11.0], [12.0], [13.0]])
    >>> model = ConstrainedKMeans(2, random_state=0)
    >>> model.fit(RowsOnDisk(path), constraints=ClusterSizes([3, 3])).labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> None:
        if isinstance(columns, str):
            raise TypeError(f"`columns` is {columns!r}; it must be a sequence of names, or None.")
        self.path, self.columns = os.fspath(path), None if columns is None else tuple(columns)
        self.source = source_of(self.path, self.columns)

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Give the path and the columns."""
        columns = "" if self.columns is None else f", columns={list(self.columns)}"
        return f"RowsOnDisk({self.path!r}{columns})"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(file.n_rows for file in self.source.files), self.source.n_features

    @property
    def outline(self) -> Any:
        """A table without rows, which tells the number and names of the features."""
        return self.source.outline


def source_of(given: str, columns: Sequence[str] | None, *, words: bool = False) -> Source:
    """The rows of a path; with ``words`` columns of Parquet files need not hold numbers."""
    path = Path(given)
    if path.is_dir() or path.suffix.lower() in PARQUET:
        return ParquetFiles(parquet_files(path), columns, words=words)
    if path.suffix.lower() != ".npy":
        raise ValueError(
            f"X is the path {shown(given)}; a path must end in .npy, .parquet or .pq, or be a "
            "folder of Parquet files.  Read other formats into an array first."
        )
    if columns is not None:
        raise ValueError(f"{given} has no names of columns; leave out `columns`.")
    return npy_file(given)


def files_of(X: Any) -> Source | None:
    """The rows of a path or of :class:`RowsOnDisk`, to be read whole; None of anything else."""
    if isinstance(X, RowsOnDisk):
        return source_of(X.path, X.columns, words=True)
    return source_of(os.fspath(X), None, words=True) if isinstance(X, str | os.PathLike) else None


def cut(files: Sequence[File], row_bytes: int, most: int) -> list[tuple[int, int, int]]:
    """Blocks of about the same length, each of one file."""
    blocks = []
    for number, file in enumerate(files):
        pieces = max(-(-file.n_rows * row_bytes // most), 1) if file.n_rows else 0
        edges = np.linspace(0, file.n_rows, pieces + 1).astype(int).tolist()
        blocks += [(number, a, b) for a, b in itertools.pairwise(edges)]
    return blocks


def _dtype(kinds: Sequence[Any]) -> Any:
    """Single precision where all are, half included; double for all else."""
    single = all(kind.kind == "f" and kind.itemsize <= 4 for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)


def _refuse_kind(dtype: Any, where: str) -> None:
    if dtype.kind not in "fiub":
        raise TypeError(f"{where} has dtype {dtype}; it must hold real numbers.")


class Mapped:
    """Rows of an array that is mapped from a file, or that a ``.npy`` file holds."""

    def __init__(self, file: File, array: Any, offset: int | None = None) -> None:
        self._array, self._offset = array, offset
        self.files = [file]
        self.n_features, self.dtype = int(array.shape[1]), _dtype([array.dtype])
        self.blocks: list[tuple[int, int, int]] = []
        self.outline = np.empty((0, self.n_features), self.dtype)

    def read(self, block: int, out: FloatArray) -> None:
        """Copy the rows; those of a ``.npy`` file are read, so that no page stays mapped."""
        (file,), (_, start, stop) = self.files, self.blocks[block]
        file.check()
        if self._offset is None:
            np.copyto(out, self._array[start:stop], casting="unsafe")
            return
        kind, width = self._array.dtype, self.n_features
        first = self._offset + start * width * kind.itemsize
        rows = np.fromfile(file.path, kind, (stop - start) * width, offset=first)
        if rows.size < out.size:
            file.check()
            raise OSError(f"{file.path} ends before row {start + rows.size // width}.")
        np.copyto(out, rows.reshape(out.shape), casting="unsafe")

    def whole(self) -> Any:
        """All rows in memory."""
        return np.array(self._array)


def of_memmap(X: Any) -> Any:
    """The rows of a memory map, like :class:`RowsOnDisk`."""
    held = RowsOnDisk.__new__(RowsOnDisk)
    held.path, held.columns = str(X.filename), None
    held.source = Mapped(File.of(held.path, len(X)), X)
    return held


def npy_file(path: str) -> Mapped:
    """The rows of a ``.npy`` file."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(array, np.lib.npyio.NpzFile):
            raise ValueError("it is an archive of several arrays")
    except ValueError as error:
        raise ValueError(f"{path} is no .npy file of numbers: {error}.") from error
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{path} holds an array of shape {array.shape}; it must have two dimensions, samples "
            "and features, and at least one of each."
        )
    _refuse_kind(array.dtype, path)
    plain = array.flags.c_contiguous and isinstance(array, np.memmap)
    return Mapped(File.of(path, len(array)), array, int(array.offset) if plain else None)


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files that a path means."""
    if not path.exists():
        raise FileNotFoundError(f"X is the path {str(path)!r}, where no file or folder is.")
    if path.is_file():
        return [path]
    visible = (each for each in path.rglob("*") if not each.name.startswith((".", "_")))
    found = sorted(each for each in visible if each.suffix.lower() in PARQUET and each.is_file())
    if not found:
        raise FileNotFoundError(f"X is the folder {str(path)!r}, which has no .parquet file.")
    return found


class ParquetFiles:
    """Rows of Parquet files with the same columns."""

    def __init__(
        self, paths: Sequence[Path], columns: Sequence[str] | None, *, words: bool = False
    ) -> None:
        try:
            self._parquet = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise ImportError(
                "Parquet files need pyarrow: pip install 'corral-clustering[parquet]'"
            ) from error
        files, kinds, first = list[File](), list[Any](), None
        for path in paths:
            schema, n_rows = self._schema(path)
            columns = schema.names if columns is None else columns
            self._check_names(path, schema, columns, first)
            kinds += [np.dtype(object)] if words else self._numbers(path, schema, columns)
            first = first or (path, schema.names)
            files.append(File.of(str(path), n_rows))
        if not sum(file.n_rows for file in files):
            raise ValueError(f"X has 0 samples: {paths[0]} has no rows; there must be one.")
        self.columns, self.files, self.dtype = tuple(columns or ()), files, _dtype(kinds)
        self.n_features, self.blocks = len(self.columns), list[tuple[int, int, int]]()
        arrow = importlib.import_module("pyarrow")
        fields = [(name, arrow.from_numpy_dtype(self.dtype)) for name in self.columns]
        self.outline = arrow.schema(fields).empty_table()
        self._at: tuple[int, int] | None = None  # file and row that the decoder comes to next
        self._decoder: Iterator[Any] = iter(())
        self._rest: Any = None  # rows that were decoded and belong to the next block

    def _schema(self, path: Path) -> tuple[Any, int]:
        arrow = importlib.import_module("pyarrow")
        try:
            with self._parquet.ParquetFile(path) as file:
                return file.schema_arrow, file.metadata.num_rows
        except arrow.ArrowException as error:
            raise ValueError(f"{path} is no Parquet file: {error}") from error

    def _check_names(self, path: Path, schema: Any, columns: Sequence[str], first: Any) -> None:
        """Raise ValueError for a column that a file has not."""
        lost = next((name for name in columns if name not in schema.names), None)
        if lost is not None:
            has = f", which {first[0].name} has" if first and lost in first[1] else ""
            hint = suggestion(lost, schema.names)
            raise ValueError(
                f"{path} has no column {lost!r}{has}{hint}; its columns are "
                f"{', '.join(schema.names[:20])}."
            )

    def _numbers(self, path: Path, schema: Any, columns: Sequence[str]) -> list[Any]:
        """NumPy's types of the columns of a file, which must be numbers."""
        kinds = []
        for name in columns:
            kind = schema.field(name).type
            try:
                kinds.append(np.dtype(kind.to_pandas_dtype()))
            except NotImplementedError:
                kinds.append(np.dtype(object))
            if kinds[-1].kind not in "fiub":
                raise TypeError(
                    f"column {name!r} of {path} has type {kind}; all columns must be real "
                    "numbers.  RowsOnDisk(path, columns=[...]) names those to cluster by."
                )
        return kinds

    def read(self, block: int, out: FloatArray) -> None:
        """Decode the rows; consecutive blocks are decoded once."""
        number, start, stop = self.blocks[block]
        file, done = self.files[number], 0
        file.check()
        try:
            if self._at != (number, start):
                self._seek(number, start)
            while done < stop - start:
                batch = self._rest if self._rest is not None else next(self._decoder)
                taken = min(len(batch), stop - start - done)
                for column, values in enumerate(batch.columns):
                    part = values.slice(0, taken).to_numpy(zero_copy_only=False)
                    out[done : done + taken, column] = part
                self._rest = batch.slice(taken) if taken < len(batch) else None
                done += taken
        except (StopIteration, OSError, importlib.import_module("pyarrow").ArrowException) as error:
            self._at = None
            file.check()
            raise OSError(
                f"{file.path} cannot be read at row {start + done}: {error or 'it ends there'}."
            ) from error
        self._at = number, stop

    def whole(self) -> Any:
        """All rows in memory, as a table."""
        arrow, tables = importlib.import_module("pyarrow"), []
        for each in self.files:
            with self._parquet.ParquetFile(each.path) as file:
                tables.append(file.read(columns=list(self.columns)).select(self.columns))
            each.check()
        try:
            return arrow.concat_tables(tables, promote_options="permissive")
        except arrow.ArrowException as error:
            raise TypeError(
                f"the files of X have columns of different types: {error}; a column must hold "
                "numbers in all of them, or words in all of them."
            ) from error

    def _seek(self, number: int, row: int) -> None:
        """Begin to decode at a row of a file."""
        file = self._parquet.ParquetFile(self.files[number].path, pre_buffer=False)
        lengths = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        begins: IntArray = np.concatenate([[0], np.cumsum(lengths)])
        group = int(np.searchsorted(begins, row, side="right")) - 1
        groups, columns = range(group, len(lengths)), list(self.columns)
        self._decoder = file.iter_batches(DECODED, row_groups=groups, columns=columns)
        self._rest, skip = None, row - int(begins[group])
        while skip:
            batch = next(self._decoder)
            taken = min(len(batch), skip)
            self._rest, skip = batch.slice(taken) if taken < len(batch) else None, skip - taken
