"""The command line: ``corral fit``, ``check``, ``audit``, ``assign``, ``compare`` and others.

The commands need click, the extra ``cli``; importing this package does not.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

MISSING = (
    "corral: the command line needs click, which is not installed: "
    "pip install 'corral-clustering[cli]'"
)


def main() -> None:
    """Run the command of this process and exit with its code."""
    _fill_closed_streams()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        import click  # noqa: F401
    except ModuleNotFoundError:
        sys.stderr.write(f"{MISSING}\n")
        raise SystemExit(2) from None
    try:
        from .app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # outside of a command, such as during an import
        sys.stderr.write("corral: interrupted\n")
        code = 130
    # After an interrupt inside exec, which dataclasses call, python -m ends by the signal and not
    # with the code; another exec resets that.
    exec("")
    raise SystemExit(code)


def _terminate(*signal_and_frame: object) -> NoReturn:
    """End as Ctrl-C does, so that solvers, other processes and unfinished files end too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.stderr.write("corral: terminated\n")
    raise SystemExit(128 + signal.SIGTERM)


def _fill_closed_streams() -> None:
    """Let no file that is opened later take the place of a closed standard stream.

    What solvers print would go into that file.  ``sys.stdin`` and ``sys.stdout`` stay None if they
    are closed, which the commands that need them ask.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
