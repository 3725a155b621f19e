"""The group of commands, and what happens when one of them fails.

A further command is one more line in ``COMMANDS``.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import click

from .. import __version__
from .check import check
from .compare import compare
from .completion import completion
from .demo import demo
from .errors import FINE, exit_code, sentence
from .fit import fit
from .options import debug_option
from .reproduce import reproduce

COMMANDS = (fit, check, compare, demo, reproduce, completion)

EPILOG = """\b
Examples:
  corral demo
  corral fit points.csv -k 3 --must-link ml.csv --sizes 59,71,48 -o labels.csv
  corral check points.csv -k 3 --cannot-link cl.csv --max-size 60
  corral compare points.csv -k 3 --must-link ml.csv

\b
Exit codes: 0 fine, 2 bad input, 3 infeasible, 4 out of time."""


class _Group(click.Group):
    """Lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_Group,
    commands=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="corral", message="%(prog)s %(version)s")
@debug_option
def app() -> None:
    """K-means clustering that obeys rules."""


def run(arguments: Sequence[str]) -> int:
    """Run a command and give its exit code; errors become one sentence on the error stream.

    Parameters
    ----------
    arguments : sequence of str
        What follows ``corral`` on the command line.
    """
    try:
        code = app.main(list(arguments), prog_name="corral", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return FINE
    # Everything ends here, also what nobody thought of: a traceback is no answer to a user.
    except Exception as error:
        if "--debug" in arguments:
            click.echo(traceback.format_exc(), err=True)
        click.echo(f"corral: {sentence(error)}", err=True)
        return exit_code(error)
    return code if isinstance(code, int) else FINE
