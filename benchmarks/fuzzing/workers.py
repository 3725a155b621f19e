"""Processes that try instances; one that hangs or dies is a failure and is replaced."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any

from .instances import make

#: Seconds after which a process is ended.
PATIENCE = 120.0


def work(pipe: Any) -> None:
    """Try the instances of the seeds that come; whatever is printed is a failure."""
    from .trial import Outcome, run

    # The output of this process, also of native code, goes to a file that is looked at.
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), sys.stdout.fileno())
        while (seed := pipe.recv()) is not None:
            before = os.fstat(printed.fileno()).st_size
            instance = make(seed)
            try:
                outcome = run(instance)
            except Exception as error:  # a fault of the fuzzer itself
                text = f"{type(error).__name__}: {error}"
                outcome = Outcome(seed, instance.what(), failures=[("fuzzer", text)])
            sys.stdout.flush()
            size = os.fstat(printed.fileno()).st_size
            if size > before:
                text = os.pread(printed.fileno(), min(size - before, 200), before).decode()
                outcome.failures.append(("printed", repr(text)))
            pipe.send(outcome)


@dataclass
class Worker:
    """A process, its pipe, and what it is doing."""

    process: Any
    pipe: Any
    seed: int = -1
    since: float = 0.0

    @classmethod
    def start(cls) -> Worker:
        """Start a process."""
        context = get_context("spawn")
        mine, other = context.Pipe()
        process = context.Process(target=work, args=(other,), daemon=True)
        process.start()
        other.close()
        return cls(process, mine)

    def give(self, seed: int | None) -> None:
        """Send a seed, or None to end."""
        self.pipe.send(seed)
        self.seed, self.since = -1 if seed is None else seed, time.monotonic()


def outcomes(seeds: Iterator[int], workers: int) -> Iterator[Any]:
    """The outcome of each seed, in the order in which they end."""
    from .trial import Outcome

    running = []
    for seed in itertools.islice(seeds, workers):
        running.append(Worker.start())
        running[-1].give(seed)
    while running:
        ready = wait([worker.pipe for worker in running], timeout=1.0)
        for worker in list(running):
            if worker.pipe in ready:
                try:
                    yield worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    failure = ("crash", f"exit code {worker.process.exitcode}")
                    yield Outcome(worker.seed, make(worker.seed).what(), failures=[failure])
                    running[running.index(worker)] = worker = Worker.start()
            elif time.monotonic() - worker.since > PATIENCE:
                worker.process.kill()
                worker.process.join()
                failure = ("slow", f"no end after {PATIENCE:.0f} s")
                yield Outcome(worker.seed, make(worker.seed).what(), failures=[failure])
                running[running.index(worker)] = worker = Worker.start()
            else:
                continue
            worker.give(next(seeds, None))
            if worker.seed < 0:
                running.remove(worker)
