"""A process of its own for each case, forked from one in which corral is imported."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .case import Case, SkippedError, UnclearError, WrongError

#: Seconds after which a case hangs.
PATIENCE = 30.0


@dataclass(frozen=True)
class Outcome:
    """How a case ended: "fine", "skipped", "crash", "hang" or "wrong"."""

    case: Case
    kind: str
    text: str = ""
    seconds: float = 0.0


def _judge(case: Case) -> tuple[str, str]:
    try:
        case.run()
    except SkippedError as reason:
        return "skipped", str(reason)
    except WrongError as error:
        return "wrong", str(error)
    except UnclearError as error:
        return "crash", str(error)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return "crash", f"{type(error).__name__} at {where}: {error}"
    return "fine", ""


def _child(case: Case, folder: Path) -> None:
    """Run the case and write how it ended; whatever is printed goes to a file."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    (folder / "work").mkdir()
    os.chdir(folder / "work")
    said = os.open(folder / "said", os.O_CREAT | os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(said, descriptor)
    outcome = _judge(case)
    (folder / "outcome").write_text(json.dumps(outcome), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


@dataclass
class _Running:
    """A case, its process and its folder."""

    case: Case
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="hostile-")))
    since: float = field(default_factory=time.monotonic)
    pid: int = 0

    def start(self) -> _Running:
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            try:
                _child(self.case, self.folder)
            finally:
                os._exit(70)
        return self

    def ended(self) -> Outcome | None:
        """The outcome, if it has one; nothing of its process stays."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        spent = time.monotonic() - self.since
        if not pid and spent < PATIENCE:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not pid:
            os.waitpid(self.pid, 0)
            kind, text = "hang", f"no end after {PATIENCE:.0f} s"
        elif (self.folder / "outcome").exists():
            kind, text = json.loads((self.folder / "outcome").read_text(encoding="utf-8"))
        else:
            kind, text = "crash", f"the process ended with {os.waitstatus_to_exitcode(status)}"
        subfolders = (path for path in self.folder.rglob("*") if path.is_dir())
        for path in (self.folder, *subfolders):
            path.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)
        return Outcome(self.case, kind, text, spent)


def outcomes(cases: list[Case], workers: int) -> Iterator[Outcome]:
    """The outcome of each case, in the order in which they end."""
    waiting, running = list(reversed(cases)), []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(_Running(waiting.pop()).start())
        for one in list(running):
            if (outcome := one.ended()) is not None:
                running.remove(one)
                yield outcome
        time.sleep(0.01)
