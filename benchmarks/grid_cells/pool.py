"""Worker processes; one that takes too long or dies is recorded and replaced."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .cells import Cell

#: Seconds for a start, and for data, rules and references together.
PATIENCE = 300.0

#: What limits threads, where there are several processes.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """A process of ``worker.py`` and the lines that it writes."""

    def __init__(self, python: str, alone: bool) -> None:
        here = str(Path(__file__).resolve().parent.parent)
        code = (
            f"import sys; sys.path.insert(0, {here!r}); from grid_cells.worker import main; main()"
        )
        environment = dict(os.environ)
        if not alone:
            environment |= dict.fromkeys(THREADS, "1")
        self.process = subprocess.Popen(
            [python, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if self.wait(PATIENCE) is None:
            raise RuntimeError(f"{python} did not start a worker: can it import corral?")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """The next message; None if the process ended or the time is over."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return None
        return None if line is None else json.loads(line)

    def give(self, order: dict[str, Any]) -> None:
        """Send a cell."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """End the process and its children; say how it ended."""
        code = self.process.poll()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return "killed" if code is None else f"died with exit code {code}"


def run_cell(
    worker: Worker, cell: Cell, order: dict[str, Any], wall: float
) -> tuple[dict[str, Any], bool]:
    """The record of a cell, and whether the worker can go on."""
    record: dict[str, Any] = {"cell": cell.name, "seed": order["seed"]}
    worker.give(order | {"cell": cell.name})
    begun, limit = time.monotonic(), PATIENCE
    while True:
        message = worker.wait(limit)
        if message is None:
            seconds = time.monotonic() - begun
            ended = f"{worker.end()} after {seconds:.0f} s"
            return record | {"status": ended, "seconds": round(seconds, 2), "broken": []}, False
        record |= message["record"]
        if message["stage"] == "done":
            return record, True
        begun, limit = time.monotonic(), wall


def run(
    cells: list[Cell],
    *,
    order: dict[str, Any],
    jobs: int,
    python: str,
    wall: float,
    total: float | None,
    record: Callable[[dict[str, Any]], None],
) -> None:
    """Run the cells one after the other; ``record`` gets each result, one at a time.

    ``order`` is what each worker is told with a cell: seed, time_limit, bare.
    """
    todo: queue.Queue[Cell] = queue.Queue()
    for cell in cells:
        todo.put(cell)
    over = time.monotonic() + (total or float("inf"))
    lock, faults = threading.Lock(), []

    def serve() -> None:
        worker = None
        try:
            while time.monotonic() < over:
                worker = worker or Worker(python, jobs == 1)
                try:
                    cell = todo.get_nowait()
                except queue.Empty:
                    break
                result, alive = run_cell(worker, cell, order, wall)
                worker = worker if alive else None
                with lock:
                    record(result)
        except Exception as error:
            faults.append(error)
        finally:
            if worker is not None:
                worker.end()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
