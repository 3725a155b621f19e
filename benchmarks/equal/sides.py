"""The two versions, each in a process of its own that fits what it is asked to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]

#: Seconds after which a fit is stopped; several times what the longest takes.
LIMIT = 180.0


class Side:
    """A version of corral: an interpreter, or a checkout for the interpreter that runs this.

    Parameters
    ----------
    where : str
        A Python executable, a folder of an environment, or a checkout with ``src/corral``.
    """

    def __init__(self, where: str) -> None:
        path = Path(where).absolute()
        environment = path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self.source = path / "src" if (path / "src" / "corral").is_dir() else None
        if self.source is not None:
            self.python = sys.executable
        elif path.is_file() or environment.is_file():
            self.python = str(path if path.is_file() else environment)
        else:
            raise SystemExit(f"{where} is neither a Python executable nor a checkout.")
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self.start()

    def start(self) -> None:
        """Start the process and wait until it is warm."""
        variables = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
        variables.pop("PYTHONPATH", None)
        if self.source is not None:
            variables["PYTHONPATH"] = str(self.source)
        self.process = subprocess.Popen(
            [self.python, "-m", "equal.worker"],
            cwd=BENCHMARKS,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            bufsize=1,
        )
        ready = self._answer()
        if ready is None:
            raise SystemExit(f"{self.python} does not start:\n{self._last_words()}")
        self.corral = Path(ready["corral"]).parent
        if self.source is not None and self.source not in self.corral.parents:
            raise SystemExit(f"corral is {self.corral}, not what is in {self.source}.")

    def fit(self, name: str) -> dict[str, Any]:
        """What came of the fit of a job; a process that died or takes too long is replaced."""
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        answer = self._answer()
        if answer is None:
            words = self._last_words()
            self.stop()
            self.start()
            return {"error": "died", "message": words, "seconds": LIMIT, "warnings": []}
        return answer

    def stop(self) -> None:
        """End the process by the end of its input, so that its Dask workers end as well."""
        try:
            self.process.communicate(timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def _answer(self) -> dict[str, Any] | None:
        timer = threading.Timer(LIMIT, self.process.kill)
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        return json.loads(line) if line else None

    def _last_words(self) -> str:
        self.errors.flush()
        self.errors.seek(0)
        return self.errors.read()[-2000:]
