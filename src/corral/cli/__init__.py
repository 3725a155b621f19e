"""The command line: ``corral fit``, ``check``, ``compare``, ``demo``, ``reproduce``.

The commands need click, the extra ``cli``; importing this package does not.
"""

from __future__ import annotations

import sys

#: Exit codes of the commands.
FINE, FAULT, BAD_INPUT, INFEASIBLE, OUT_OF_TIME, INTERRUPTED = 0, 1, 2, 3, 4, 130

MISSING = "corral: the command line needs click, which is not installed: pip install 'corral[cli]'"


def main() -> None:
    """Run the command of this process and exit with its code."""
    try:
        import click  # noqa: F401
    except ModuleNotFoundError:
        sys.stderr.write(f"{MISSING}\n")
        raise SystemExit(2) from None
    from .app import run

    raise SystemExit(run(sys.argv[1:]))
