"""Run experiments, store their results, and write the page."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from corral import __version__
from corral.cli.output import ProgressBar, write_text
from corral.plots._style import pyplot

from .cells import Cell, Record
from .contest import TABLE7
from .experiment import Experiment, Results, Scale
from .figures import FIGURE2, FIGURE3, FIGURE4, FIGURE5, FIGURE6, IONOSPHERE
from .page import make_page
from .tables_1_to_3 import FIGURE1, TABLE1, TABLE2, TABLE3
from .tables_4_to_6 import TABLE4, TABLE5, TABLE6

logger = logging.getLogger(__name__)

#: All experiments, in the order of the page.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE1,
        TABLE2,
        FIGURE1,
        TABLE3,
        FIGURE2,
        TABLE4,
        TABLE5,
        FIGURE3,
        TABLE6,
        IONOSPHERE,
        FIGURE4,
        FIGURE5,
        FIGURE6,
        TABLE7,
    )
}


def reproduce(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    seed: int = 0,
    out: str | Path = "docs/reproduction",
    cache: str | Path | None = None,
    fresh: bool = False,
    n_jobs: int = 1,
) -> Path:
    """Run the experiments of the paper and write a page with its numbers beside ours.

    Results are stored: what was run before with the same seed and version is not run again.  The
    page shows every complete experiment, also those of earlier calls.

    Parameters
    ----------
    names : sequence of str
        Names of ``EXPERIMENTS``; by default all of them.
    quick : bool, default=False
        A small version.
    seed : int, default=0
    out : path, default="docs/reproduction"
        Folder for the page and its pictures.
    cache : path, optional
        Folder for the results; by default in the user's cache folder.
    fresh : bool, default=False
        Discard the stored results of these experiments first.
    n_jobs : int, default=1
        Number of processes.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If there is no experiment of a name.
    ModuleNotFoundError
        Without matplotlib.
    """
    pyplot()  # without matplotlib, fail before the long computation
    chosen = [_find(name) for name in names] or list(EXPERIMENTS.values())
    scale, folder = Scale(seed, quick), Path(cache) if cache else default_folder()
    stores = {
        experiment.group: Store(folder, experiment.group, seed, quick)
        for experiment in EXPERIMENTS.values()
    }
    if fresh:
        for experiment in chosen:
            stores[experiment.group].clear()
    else:
        _share(chosen, scale, stores)
    _run_missing(chosen, scale, stores, n_jobs)
    return _write(scale, stores, Path(out))


def _find(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(f"{name!r} is not an experiment; choose from {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def _share(chosen: Sequence[Experiment], scale: Scale, stores: dict[str, Store]) -> None:
    """Take the records of cells that another experiment has run; equal keys are equal work."""
    for experiment in chosen:
        own = stores[experiment.group]
        for cell in experiment.cells(scale):
            known = next((store for store in stores.values() if cell in store), own)
            if cell not in own and cell in known:
                own.add(cell, known[cell])


def _run_missing(
    chosen: Sequence[Experiment], scale: Scale, stores: dict[str, Store], n_jobs: int
) -> None:
    """Run the cells that are not in the stores, each once for all experiments that have it."""
    names = {experiment.group: experiment.name for experiment in chosen}
    left: dict[str, Cell] = {}
    wanted: dict[str, set[str]] = {}
    for experiment in chosen:
        for cell in experiment.cells(scale):
            if cell not in stores[experiment.group]:
                left[cell.key] = cell
                wanted.setdefault(cell.key, set()).add(experiment.group)
    logger.info("%d cells to run", len(left))
    with ProgressBar(sys.stderr, len(left)) as bar:
        for done, (cell, record) in enumerate(run_all(list(left.values()), n_jobs), 1):
            groups = sorted(wanted[cell.key])
            for group in groups:
                stores[group].add(cell, record)
            time_left = f"{bar.minutes_left(done):.1f} min left"
            bar.show(done, f"{done}/{len(left)}  {time_left}  {names[groups[0]]}: {cell.key}")


def _write(scale: Scale, stores: dict[str, Store], out: Path) -> Path:
    """Write the page with all complete experiments."""
    out.mkdir(parents=True, exist_ok=True)
    shown, missing = {}, []
    for name, experiment in EXPERIMENTS.items():
        cells, store = experiment.cells(scale), stores[experiment.group]
        if all(cell in store for cell in cells):
            records = [(cell, store[cell]) for cell in cells]
            shown[name] = (experiment, Results(scale, out, records))
        else:
            missing.append(name)
    path = out / "README.md"
    write_text(str(path), make_page(scale, shown, missing))
    return path


def default_folder() -> Path:
    """Folder for the results in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "corral" / "experiments"


class Store:
    """Records of one group of cells, for one seed and version, in one file of JSON lines.

    A record is written as soon as it is there, so that a stopped run can continue.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the group.
    seed : int
    quick : bool
    """

    def __init__(self, folder: Path, name: str, seed: int, quick: bool) -> None:
        kind = "quick" if quick else "full"
        self._path = folder / f"{name}-{kind}-seed{seed}-v{__version__}.jsonl"
        self._records = dict(self._read())

    def __contains__(self, cell: Cell) -> bool:
        """Whether the store has a record of the cell."""
        return cell.key in self._records

    def __getitem__(self, cell: Cell) -> Record:
        """The record of a cell."""
        return self._records[cell.key]

    def add(self, cell: Cell, record: Record) -> None:
        """Add a record, first to the file, then in memory."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": cell.key, "record": record}) + "\n")
        self._records[cell.key] = record

    def clear(self) -> None:
        """Remove all records."""
        self._path.unlink(missing_ok=True)
        self._records.clear()

    def _read(self) -> Iterator[tuple[str, Record]]:
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                # An incomplete line: the run was stopped while it was written.
                continue
            yield entry["key"], entry["record"]


def run_all(cells: Sequence[Cell], n_jobs: int) -> Iterator[tuple[Cell, Record]]:
    """Run cells, in this process or in several, and yield each as soon as it is done."""
    if n_jobs == 1:
        for cell in cells:
            yield cell, cell.run()
        return
    work = (delayed(_run_cell)(cell) for cell in cells)
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(
        work
    )


def _run_cell(cell: Cell) -> tuple[Cell, Record]:
    return cell, cell.run()
