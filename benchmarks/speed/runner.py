"""Run a job: one process for each method, all from the same starts, one run at a time."""

from __future__ import annotations

import json
import logging
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .jobs import Job
from .methods import present

HERE = Path(__file__).resolve().parents[1]
#: Largest number of seconds for imports, the warm-up and making the data.
READY_LIMIT = 600.0

Run = dict[str, Any]

logger = logging.getLogger(__name__)


class Worker:
    """A process that runs one job by one method."""

    def __init__(self, job: Job, method: str) -> None:
        self.method = method
        self.process: subprocess.Popen[bytes] | None = subprocess.Popen(
            [sys.executable, "-m", "speed.worker", job.name, method],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def answer(self, limit: float) -> Run | None:
        """The next answer; if it takes longer than ``limit``, end the process and return None."""
        assert self.process is not None
        if select.select([self.process.stdout], [], [], limit)[0]:
            line = self.process.stdout.readline()
            if line:
                return json.loads(line)
            self.stop()
            return {"failed": "the process ended"}
        self.stop()
        return None

    def ask(self, start: int, limit: float) -> Run:
        """Run the method from one start."""
        assert self.process is not None
        self.process.stdin.write(f"{start}\n".encode())
        self.process.stdin.flush()
        found = self.answer(limit)
        return {"method": self.method, **(found or {"start": start, "limit": limit})}

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process = None


def run_job(job: Job, n_starts: int, limit: float) -> list[Run]:
    """Run every method from every start; a method that failed or was stopped is not run again.

    The order of the methods is reversed for every other start.
    """
    workers = [Worker(job, method) for method in present(job.methods)]
    runs: list[Run] = []
    try:
        for worker in list(workers):
            ready = worker.answer(READY_LIMIT)
            if ready is None or "failed" in ready:
                runs.append({"method": worker.method, "failed": "could not start"})
                worker.stop()
        for start in range(n_starts):
            order = workers if start % 2 == 0 else workers[::-1]
            for worker in [w for w in order if w.process is not None]:
                runs.append(worker.ask(start, limit))
                logger.info("%s: %s", job.name, _short(runs[-1]))
                if "seconds" not in runs[-1]:
                    worker.stop()
    finally:
        for worker in workers:
            worker.stop()
    return runs


def run_scaling(series: Sequence[int], repeats: int) -> list[Run]:
    """Seconds of an iteration of ADMM for each n, in new processes, with repeats of the series."""
    runs = []
    for _ in range(repeats):
        for n in series:
            runs.append(json.loads(_python("-m", "speed.scaling", str(n))))
            logger.info("scaling: n = %d: %.3g s per iteration", n, runs[-1]["seconds"])
    return runs


def run_imports(repeats: int) -> list[Run]:
    """Seconds to import corral and scikit-learn's cluster module, in new processes."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    runs: list[Run] = []
    for repeat in range(repeats + 1):
        for module in ("sklearn.cluster", "corral"):
            seconds = float(_python("-c", code.format(module)))
            if repeat:  # the first import reads the files from disk and does not count
                runs.append({"module": module, "seconds": seconds})
    return runs


def _python(*arguments: str) -> str:
    """The output of a new interpreter."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=HERE, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def _short(run: Run) -> str:
    if "seconds" in run:
        found = f"{run['inertia']:.8g}, {run['broken']} broken" if "inertia" in run else "no answer"
        return f"{run['method']}: {run['seconds']:.3f} s, {found}"
    return f"{run['method']}: {'stopped at the limit' if 'limit' in run else run['failed']}"
