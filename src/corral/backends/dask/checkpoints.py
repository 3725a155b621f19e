"""The folder where the states of a run are saved."""

from __future__ import annotations

import importlib
import logging
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

#: Iterations between two checkpoints, unless Dask's configuration says otherwise.
EVERY = 20


class Checkpoints:
    """A folder that this process and all workers see, for the states of a run.

    A state is saved every so many iterations.  What comes later can be made again from there, so
    Dask need not remember how what came before was made.

    Dask's configuration may hold ``corral.checkpoint.directory``, an existing folder that all
    workers share, and ``corral.checkpoint.every``, the number of iterations between two
    checkpoints (0 for none).  By default the folder is a temporary one of this machine, and there
    are no checkpoints where some worker does not see it: a lost state is then made again from the
    start of the run.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    on : bool
        Whether checkpoints are written.
    every : int

    Raises
    ------
    ValueError
        If a worker does not see the folder that the configuration names.
    """

    def __init__(self, client: Any) -> None:
        config = importlib.import_module("dask.config")
        given = config.get("corral.checkpoint.directory", None)
        self.every = int(config.get("corral.checkpoint.every", EVERY))
        self.on = self.every > 0
        if not self.on:
            return
        parent = given or config.get("temporary-directory", None)
        self._folder = Path(tempfile.mkdtemp(prefix="corral-", dir=parent)).resolve()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        blind = [where for where, sees in client.run(_sees, str(self._folder)).items() if not sees]
        if blind and given:
            raise ValueError(
                f"`corral.checkpoint.directory` is {given!r}, which worker {blind[0]} does not "
                "see; it must be a folder that the client and all workers share."
            )
        if blind:
            logger.info("no checkpoints: worker %s does not see %s", blind[0], self._folder)
            self.on = False

    def paths(self, number: int, n_parts: int) -> list[str]:
        """Where the partitions write their states after an iteration."""
        folder = self._folder / str(number)
        folder.mkdir(exist_ok=True)
        return [str(folder / f"{i}.npz") for i in range(n_parts)]

    def forget(self, number: int) -> None:
        """Remove the files of an iteration, if there are any."""
        shutil.rmtree(self._folder / str(number), ignore_errors=True)


def _sees(folder: str) -> bool:
    """Whether a folder is there."""
    return Path(folder).is_dir()
