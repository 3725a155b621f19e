"""Run experiments, or what is left of them, and write the page."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from ..constraints.files import atomic_writer
from ..plots._style import pyplot
from .cells import Cell
from .experiment import Experiment, Results
from .page import make_page
from .progress import Bar
from .registry import EXPERIMENTS
from .scale import Scale
from .store import Store, default_folder, run_all

logger = logging.getLogger(__name__)

PAGE = "README.md"


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
    """Run the paper's experiments and write a page with the paper's figures beside ours.

    What was run before, with the same seed and version, is not run again.  The page has every
    experiment that is complete, also those of earlier calls.

    Parameters
    ----------
    names : sequence of str
        Of :data:`~corral.experiments.EXPERIMENTS`; all of them unless given.
    quick : bool, default=False
        A small version.
    seed : int, default=0
    out : path, default="docs/reproduction"
        Folder for the page and its pictures.
    cache : path, optional
        Folder for what was computed; the user's own cache folder unless given.
    fresh : bool, default=False
        Forget what was computed before of these experiments.
    n_jobs : int, default=1
        Processes.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        For a name that is none.
    ModuleNotFoundError
        Without matplotlib.
    """
    pyplot()
    chosen = [_find(name) for name in names] or list(EXPERIMENTS.values())
    scale, folder = Scale(seed, quick), Path(cache) if cache else default_folder()
    stores = {
        experiment.group: Store(folder, experiment.group, seed, quick)
        for experiment in EXPERIMENTS.values()
    }
    if fresh:
        for experiment in chosen:
            stores[experiment.group].forget()
    _run(chosen, scale, stores, n_jobs)
    return _write(scale, stores, Path(out))


def _find(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(f"{name!r} is no experiment; choose from {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def _run(chosen: Sequence[Experiment], scale: Scale, stores: dict[str, Store], n_jobs: int) -> None:
    """Run the cells that are not in the stores, each once."""
    groups = {experiment.group: experiment for experiment in chosen}
    left: dict[str, list[Cell]] = {}
    for group, experiment in groups.items():
        cells = {cell.key: cell for cell in experiment.cells(scale)}
        left[group] = [cell for cell in cells.values() if cell not in stores[group]]
    bar = Bar(sys.stderr, sum(map(len, left.values())))
    try:
        for group, cells_left in left.items():
            logger.info("%s: %d cells to run", group, len(cells_left))
            for cell, record in run_all(cells_left, n_jobs):
                stores[group].add(cell, record)
                bar.advance(f"{groups[group].name}: {cell.key}")
    finally:
        bar.close()


def _write(scale: Scale, stores: dict[str, Store], out: Path) -> Path:
    """Write the page with all that is complete."""
    out.mkdir(parents=True, exist_ok=True)
    shown, missing = {}, []
    for name, experiment in EXPERIMENTS.items():
        cells, store = experiment.cells(scale), stores[experiment.group]
        if store.has_all(cells):
            shown[name] = (experiment, Results.of(scale, out, cells, store))
        else:
            missing.append(name)
    path = out / PAGE
    text = make_page(scale, shown, missing)
    with atomic_writer(path) as file:
        file.write(text)
    return path
