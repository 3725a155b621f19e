"""What was computed, kept on disk line by line, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from .. import __version__
from .cells import Cell, Record


def default_folder() -> Path:
    """The user's own folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "corral" / "experiments"


class Store:
    """Records of one group of cells, of one seed and version, in one file of JSON lines.

    Parameters
    ----------
    folder : Path
    name : str
        Of the group.
    seed : int
    quick : bool
    """

    def __init__(self, folder: Path, name: str, seed: int, quick: bool) -> None:
        kind = "quick" if quick else "full"
        self._path = folder / f"{name}-{kind}-seed{seed}-v{__version__}.jsonl"
        self._records = dict(self._read())

    def __contains__(self, cell: Cell) -> bool:
        """Whether the cell was run already."""
        return cell.key in self._records

    def __getitem__(self, cell: Cell) -> Record:
        """The record of a cell."""
        return self._records[cell.key]

    def has_all(self, cells: Iterable[Cell]) -> bool:
        """Whether nothing is left to run."""
        return all(cell in self for cell in cells)

    def add(self, cell: Cell, record: Record) -> None:
        """Keep a record, on disk before in memory."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": cell.key, "record": record}) + "\n")
        self._records[cell.key] = record

    def forget(self) -> None:
        """Begin anew."""
        self._path.unlink(missing_ok=True)
        self._records.clear()

    def _read(self) -> Iterator[tuple[str, Record]]:
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                # The line that was being written when the run was stopped.
                continue
            yield entry["key"], entry["record"]


def run_all(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Record]]:
    """Run cells, in this process or in several, and give each as soon as it is done."""
    if n_jobs == 1:
        for cell in cells:
            yield cell, cell.run()
        return
    work = (delayed(_run)(cell) for cell in cells)
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(
        work
    )


def _run(cell: Cell) -> tuple[Cell, Record]:
    return cell, cell.run()
