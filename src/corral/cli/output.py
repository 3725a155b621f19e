"""What a command gives back: its exit code, complete files, and a progress bar."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Self, TextIO

import numpy as np

from .._typing import FloatArray, IntArray
from ..constraints.files import atomic_writer
from ..deadline import Deadline
from ..progress import PHASES, Progress

#: Exit codes of the commands.
FINE, FAULT, BAD_INPUT, INFEASIBLE, OUT_OF_TIME, INTERRUPTED = 0, 1, 2, 3, 4, 130

#: Length of the progress bar, in characters.
WIDTH = 10
#: Seconds before the progress bar appears; shorter work shows none.
PATIENCE = 0.5
#: Seconds between two updates of the progress bar.
PACE = 0.1

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
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


def check_output(path: str | None, endings: Sequence[str], option: str) -> None:
    """Raise an error if a file cannot be written, before the computation starts."""
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
    needs = (PICTURES, "matplotlib", "plot"), (PARQUET, "pyarrow", "parquet")
    for needed, module, extra in needs:
        if ending in needed and find_spec(module) is None:
            raise ModuleNotFoundError(
                f"{option} {path} needs {module}, which is not installed: "
                f"pip install 'corral[{extra}]'",
                name=module,
            )


def check_pictures(report: str | None, plot: str | None) -> None:
    """Check the files of ``--report`` and ``--plot``."""
    check_output(report, (".html", ".htm"), "--report")
    check_output(plot, PICTURES, "--plot")


def write_labels(path: str, labels: Labels) -> None:
    """Write the labels in the format of the file's ending."""
    with atomic_writer(path) as file:
        WRITERS[Path(path).suffix.lower()](file, labels)


def write_text(path: str, text: str) -> None:
    """Write a text file, completely or not at all."""
    with atomic_writer(path) as file:
        file.write(text)


def write_csv(file: TextIO, labels: Labels, delimiter: str = ",") -> None:
    """Write a header and the rows to an open file."""
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows((name, label, f"{distance:.10g}") for name, label, distance in labels.rows())


def _write_tsv(file: TextIO, labels: Labels) -> None:
    write_csv(file, labels, delimiter="\t")


def _write_npy(file: TextIO, labels: Labels) -> None:
    ids = np.asarray(labels.ids)
    kinds = [("id", ids.dtype), ("label", np.int64), ("distance", np.float64)]
    rows = np.empty(len(ids), dtype=kinds)
    rows["id"], rows["label"], rows["distance"] = ids, labels.labels, labels.distances
    np.save(file.buffer, rows, allow_pickle=False)


def _write_parquet(file: TextIO, labels: Labels) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = (list(labels.ids), labels.labels, labels.distances)
    parquet.write_table(pa.table(dict(zip(HEAD, columns, strict=True))), file.buffer)


WRITERS: dict[str, Callable[[TextIO, Labels], None]] = {
    ".csv": write_csv,
    ".txt": write_csv,
    ".tsv": _write_tsv,
    ".tab": _write_tsv,
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}


class ProgressBar:
    """One line on a terminal that shows how much of ``total`` is done; nothing on other streams."""

    def __init__(self, stream: Any, total: int, *, enabled: bool = True) -> None:
        self._stream, self._total, self._shown = stream, total, 0
        self._clock = Deadline.after(None)
        self._next = PATIENCE
        self._enabled = enabled and total > 0 and stream.isatty()

    def show(self, done: float, text: str) -> None:
        """Update the line, if it is due: the bar for the work done, then the text."""
        if not self._enabled or self._clock.elapsed < self._next:
            return
        filled = round(WIDTH * min(done / self._total, 1.0))
        room = get_terminal_size().columns - 1  # a longer line could not be written over
        self._write(f"[{'#' * filled}{'.' * (WIDTH - filled)}] {text}"[:room])
        self._next = self._clock.elapsed + PACE

    def minutes_left(self, done: int) -> float:
        """Estimate the minutes for the rest of the work, at the speed so far."""
        return self._clock.elapsed / done * (self._total - done) / 60.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
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
    """The progress bar of a fit, its callback: it counts the phases of all restarts."""

    def __init__(self, stream: Any, *, enabled: bool = True) -> None:
        super().__init__(stream, 1, enabled=enabled)

    def __call__(self, progress: Progress) -> None:
        """Show how far the fit has come."""
        phase = PHASES.index(progress.phase) if progress.phase in PHASES else len(PHASES)
        done = max(progress.restart - 1, 0) + phase / len(PHASES)
        self.show(done / max(progress.n_restarts, 1), str(progress))
