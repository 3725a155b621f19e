"""What a command writes: complete files, and a progress bar on the terminal."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import Deadline

#: Length of the progress bar, in characters.
WIDTH = 20
#: Seconds before the progress bar appears; shorter work shows none.
PATIENCE = 0.5
#: Seconds between two updates of the progress bar.
PACE = 0.1

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
PAGES = (".html", ".htm")
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Labels:
    """Result of ``corral fit``: for each row its id, its label and the distance to the centre."""

    ids: Sequence[Any]
    labels: IntArray
    distances: FloatArray

    def rows(self) -> Iterator[tuple[Any, int, float]]:
        """Iterate over the rows as plain values."""
        return zip(self.ids, self.labels.tolist(), self.distances.tolist(), strict=True)


HEAD = ("id", "label", "distance")


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """A temporary file beside ``path`` that replaces it if the block ends without an error."""
    target = Path(path)
    # The ending is kept, because libraries read the format from it.
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def check_output(path: str | None, endings: Sequence[str], option: str) -> None:
    """Check that a file can be written, before the computation starts.

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
    """Write the labels in the format of the file's ending."""
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


WRITERS: dict[str, Callable[[Path, Labels], None]] = {
    ".csv": _write_delimited(","),
    ".txt": _write_delimited(","),
    ".tsv": _write_delimited("\t"),
    ".tab": _write_delimited("\t"),
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}


class ProgressBar:
    """One line on a terminal that shows how far the work is; on other streams it writes nothing.

    Parameters
    ----------
    stream : text stream
    total : int
        Amount of work, in any unit.
    enabled : bool, default=True
    """

    def __init__(self, stream: Any, total: int, *, enabled: bool = True) -> None:
        self._stream = stream
        self._total = total
        self._shown = 0
        self._clock = Deadline.after(None)
        self._next = PATIENCE
        self._enabled = enabled and total > 0 and stream.isatty()

    def due(self) -> bool:
        """Whether it is time to update the line."""
        return self._enabled and self._clock.elapsed >= self._next

    def show(self, done: int, text: str) -> None:
        """Update the line, if it is due: the bar for the work done, then the text."""
        if not self.due():
            return
        filled = round(WIDTH * min(done / self._total, 1.0))
        self._write(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {text}")
        self._next = self._clock.elapsed + PACE

    def minutes_left(self, done: int) -> float:
        """Estimate the minutes for the rest of the work, at the speed so far."""
        return self._clock.elapsed / done * (self._total - done) / 60.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the line, also after an error."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)


class FitProgress(ProgressBar):
    """The progress bar of a fit; the solver calls it once per iteration.

    ``total`` is the largest number of iterations of a run; most runs end earlier.
    """

    _run = 0

    def __call__(
        self, iteration: int, objective: float, residual: float, violations: int | None = None
    ) -> None:
        """Show the state of the solver; iteration 1 begins another run."""
        self._run += iteration == 1
        if not self.due():
            return
        parts = [
            f"run {self._run}",
            f"iteration {iteration}",
            f"objective {objective:.6g}",
            f"residual {residual:.2g}",
        ]
        if violations is not None:
            parts.append(f"{violations} broken")
        self.show(iteration, "  ".join(parts))
