"""How a command ends: its exit code, and one readable sentence when something is wrong."""

from __future__ import annotations

import click

from ..assign import OutOfTime
from ..baselines import DeadEndError
from ..exceptions import BrokenAnswerError, InfeasibleConstraintsError

FINE, FAULT, BAD_INPUT, INFEASIBLE, OUT_OF_TIME, INTERRUPTED = 0, 1, 2, 3, 4, 130


def exit_code(error: BaseException) -> int:
    """The code that tells a script what went wrong."""
    if isinstance(error, InfeasibleConstraintsError):
        return INFEASIBLE
    if isinstance(error, (TimeoutError, OutOfTime)):
        return OUT_OF_TIME
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return INTERRUPTED
    if isinstance(error, (BrokenAnswerError, DeadEndError)):
        return FAULT
    known = (click.ClickException, ValueError, OSError, ModuleNotFoundError)
    return BAD_INPUT if isinstance(error, known) else FAULT


def sentence(error: BaseException) -> str:
    """What went wrong, on one line."""
    code = exit_code(error)
    if code == INTERRUPTED:
        return "interrupted"
    if isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
    if code == INFEASIBLE:
        text = f"infeasible: {text}"
    if code == FAULT:
        text = f"unexpected {type(error).__name__}: {text} (--debug shows the traceback)"
    return " ".join(text.split())
