"""Files that a command leaves: each appears whole or not at all."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Labels:
    """What ``corral fit`` writes: for each row its id, cluster and distance to the centre."""

    ids: Sequence[Any]
    labels: IntArray
    distances: FloatArray

    def rows(self) -> Iterator[tuple[Any, int, float]]:
        """Go through the rows as plain values."""
        return zip(self.ids, self.labels.tolist(), self.distances.tolist(), strict=True)


HEAD = ("id", "label", "distance")


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """A draft beside ``path`` that takes its place when the block ends without an error."""
    target = Path(path)
    # The ending stays, since it tells libraries the format.
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def check_output(path: str | None, endings: Sequence[str], option: str) -> None:
    """Refuse what could not be written, before anyone waits for it.

    Raises
    ------
    ValueError, ModuleNotFoundError
    """
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in endings:
        allowed = ", ".join(endings)
        raise ValueError(f"{option} is {path!r}; its ending must be one of {allowed}.")
    if not Path(path).parent.is_dir():
        raise ValueError(f"{option} is {path!r}, but {str(Path(path).parent)!r} is no folder.")
    if Path(path).is_dir():
        raise ValueError(f"{option} is {path!r}, which is a folder.")
    for needed, module, extra in (
        (PICTURES, "matplotlib", "plot"),
        (PARQUET, "pyarrow", "parquet"),
    ):
        if ending in needed and find_spec(module) is None:
            raise ModuleNotFoundError(
                f"{option} {path} needs {module}, which is not installed: "
                f"pip install 'corral[{extra}]'",
                name=module,
            )


def write_labels(path: str, labels: Labels) -> None:
    """Write the labels in the format that the ending tells."""
    with whole_file(path) as draft:
        WRITERS[Path(path).suffix.lower()](draft, labels)


def write_text(path: str, text: str) -> None:
    """Write a text file."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_csv(file: Any, labels: Labels, delimiter: str = ",") -> None:
    """Write a header and the rows to an open file."""
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows((name, label, f"{distance:.10g}") for name, label, distance in labels.rows())


def _write_delimited(delimiter: str) -> Callable[[Path, Labels], None]:
    def write(path: Path, labels: Labels) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            write_csv(file, labels, delimiter)

    return write


def _write_npy(path: Path, labels: Labels) -> None:
    ids = np.asarray(labels.ids)
    kinds = [("id", ids.dtype), ("label", np.int64), ("distance", np.float64)]
    rows = np.empty(len(ids), dtype=kinds)
    rows["id"], rows["label"], rows["distance"] = ids, labels.labels, labels.distances
    np.save(path, rows, allow_pickle=False)


def _write_parquet(path: Path, labels: Labels) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = (list(labels.ids), labels.labels, labels.distances)
    parquet.write_table(pa.table(dict(zip(HEAD, columns, strict=True))), path)


PARQUET = (".parquet", ".pq")
WRITERS: dict[str, Callable[[Path, Labels], None]] = {
    ".csv": _write_delimited(","),
    ".txt": _write_delimited(","),
    ".tsv": _write_delimited("\t"),
    ".tab": _write_delimited("\t"),
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}
