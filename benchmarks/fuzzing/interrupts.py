"""Processes that run a hard instance and are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .hard import HARD, Job

#: Seconds within which an interrupted process must end.
PROMPT = 2.0

#: Seconds until the interrupt, at most.
LATEST = 5.0

#: A process that fits: it says "ready" when it begins and "done" when it was not interrupted.
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from fuzzing.hard import prepare
call = prepare({name!r}, {seed}, None)
print("ready", file=sys.stderr, flush=True)
try:
    call()
except Exception as error:
    print(type(error).__name__, file=sys.stderr)
print("done", file=sys.stderr, flush=True)
"""

#: The command line; it says "ready" once it is imported.
COMMAND = """
import sys
from corral.cli import main
print("ready", file=sys.stderr, flush=True)
sys.exit(main())
"""


@dataclass
class Interrupted:
    """What became of one process."""

    name: str
    seed: int
    way: str
    moment: float = 0.0
    seconds: float = 0.0
    code: int = 0
    failure: str = ""


def interrupt(name: str, seed: int, *, command_line: bool) -> Interrupted:
    """Interrupt one process; if it ends before, try again earlier."""
    rng = np.random.default_rng(seed)
    latest = LATEST
    for _ in range(6):
        with tempfile.TemporaryDirectory() as folder:
            job = HARD[name](np.random.default_rng(seed)) if command_line else None
            if job is not None and job.on_command_line:
                command, way, rows = _command(job, Path(folder)), "command line", len(job.X)
            else:
                script = SCRIPT.format(folder=str(Path(__file__).parents[1]), name=name, seed=seed)
                command, way, rows = [sys.executable, "-c", script], "Python", 0
            one = Interrupted(name, seed, way, round(float(rng.uniform(0, latest)), 2))
            if _strike(one, command, Path(folder), rows):
                return one
        latest = one.seconds * 0.8
    one.way += " (ended)"
    return one


def _command(job: Job, folder: Path) -> list[str]:
    """``corral fit`` of the job, whose files are written to the folder."""
    from corral import ConstraintSet

    np.save(folder / "points.npy", job.X)
    ConstraintSet(job.rules).to_json(folder / "rules.json")
    jobs = ["--jobs", str(job.options["n_jobs"])] if "n_jobs" in job.options else []
    given = ["fit", "points.npy", "-k", str(job.k), "--constraints", "rules.json"]
    return [sys.executable, "-c", COMMAND, *given, *jobs, "-o", "labels.csv"]


def _strike(one: Interrupted, command: list[str], folder: Path, rows: int) -> bool:
    """Run the command and interrupt it; False if it ended before."""
    before = {path.name for path in folder.iterdir()}
    with (folder / "errors.txt").open("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        while process.poll() is None and "ready" not in _said(folder):
            time.sleep(0.01)
        begun = time.perf_counter()
        try:
            process.wait(one.moment)
            one.seconds, one.code = time.perf_counter() - begun, process.returncode
            return False
        except subprocess.TimeoutExpired:
            one.seconds = one.moment
        if "\ndone" in _said(folder):
            _end_group(process)
            return False
        struck = time.perf_counter()
        # As a terminal does: to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            one.failure = "did not end"
        one.seconds = time.perf_counter() - struck
        left = _end_group(process)
    one.code = process.returncode
    if "\ndone" in _said(folder) or (one.way == "command line" and one.code in (0, 3)):
        # It was about to end anyway, or it ignored the interrupt.
        ignored = one.seconds > 0.2
        if not ignored:
            one.seconds = one.moment
        one.failure = "ignored the interrupt" if ignored else ""
        return ignored
    problems = [one.failure] if one.failure else []
    problems += _problems(one, _said(folder), left)
    problems += _files(folder, before | {"errors.txt"}, rows)
    one.failure = "; ".join(problems)
    return True


def _said(folder: Path) -> str:
    return (folder / "errors.txt").read_text(errors="replace")


def _end_group(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the other processes of the group, then end them; whether one was left."""
    until = time.perf_counter() + PROMPT
    while time.perf_counter() < until:
        process.poll()
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    process.wait()
    return True


def _problems(one: Interrupted, said: str, left: bool) -> list[str]:
    """What is wrong with how the process ended."""
    found = []
    if one.seconds > PROMPT:
        found.append(f"ended after {one.seconds:.1f} s")
    if one.way == "command line":
        if one.code != 130:
            found.append(f"exit code {one.code} instead of 130")
    elif one.code not in (-signal.SIGINT, 130, 1) or "KeyboardInterrupt" not in said:
        found.append(f"exit code {one.code}, last line {said.strip().splitlines()[-1][:100]!r}")
    found += [
        f"stderr has {words!r}"
        for words in ("terminate called", "Fatal Python error", "Segmentation fault")
        if words in said
    ]
    return [*found, "left a process behind"] if left else found


def _files(folder: Path, known: set[str], rows: int) -> list[str]:
    """Files that should not be there or are not complete."""
    found = []
    for path in folder.iterdir():
        if path.name == "labels.csv":
            lines = path.read_text().splitlines()
            if len(lines) not in (rows, rows + 1):
                found.append(f"labels.csv has {len(lines)} lines for {rows} rows")
        elif path.name not in known:
            found.append(f"left the file {path.name}")
    return found
