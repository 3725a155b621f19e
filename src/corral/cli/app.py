"""The group of commands, ``corral completion``, and how a command ends.

To add a command, add it to ``COMMANDS``.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class

from .. import __version__
from ..deadline import OutOfTime
from ..exceptions import InfeasibleConstraintsError
from .ask import ask
from .assign import assign
from .audit import audit
from .choose import choose
from .compare import compare
from .demo import demo
from .fit import check, fit, verdict
from .join import join
from .mix import mix
from .options import debug_option
from .output import BAD_INPUT, FAULT, FINE, INFEASIBLE, INTERRUPTED, OUT_OF_TIME, say
from .reproduce import reproduce
from .studio import studio

EPILOG = """\b
Examples:
  corral demo
  corral fit points.csv -k 3 --must-link ml.csv --sizes 59,71,48 -o labels.csv
  corral mix students.csv -k 6 --together friends.csv --apart rivals.csv
  corral check points.csv -k 3 --cannot-link cl.csv --max-size 60
  corral choose points.csv -k 2:8 --max-size 60
  corral audit points.csv labels.csv --cannot-link cl.csv --max-size 60
  corral assign new.csv --model model.json -o new-labels.csv
  corral ask points.csv -k 3 -o answers.json
  corral join ann.json bob.json -o answers.json
  corral compare points.csv -k 3 --must-link ml.csv
  corral studio points.csv

\b
Exit codes: 0 fine, 1 a rule is broken (audit), 2 bad input, 3 infeasible, 4 out of time,
130 interrupted, 143 terminated."""


COMPLETION_EPILOG = """\b
Examples:
  corral completion bash >> ~/.bashrc
  corral completion zsh >> ~/.zshrc
  corral completion fish > ~/.config/fish/completions/corral.fish"""


@click.command(epilog=COMPLETION_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
@debug_option
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish."""
    script = get_completion_class(shell)
    if script is None:  # not reached: click knows all shells of the Choice
        raise click.ClickException(f"no completion for {shell}")
    click.echo(script(ctx.find_root().command, {}, "corral", "_CORRAL_COMPLETE").source())


COMMANDS = (
    *(fit, mix, check, choose, audit, assign, ask, join, compare, studio),
    *(demo, reproduce, completion),
)


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
    """Run a command and give its exit code; an error becomes one sentence on the error stream."""
    try:
        code = app.main(list(arguments), prog_name="corral", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return FINE
    # Unexpected errors too: users see a traceback only with --debug.
    except Exception as error:
        if "--debug" in arguments:
            say(traceback.format_exc(), err=True)
        if isinstance(error, InfeasibleConstraintsError) and "--json" in arguments:
            click.echo(verdict(str(error), error.conflict))
        code = exit_code(error)
        remedy = REMEDIES.get(command_of(arguments) or "", "") if code == INFEASIBLE else ""
        say(f"corral: {sentence(error)}{remedy}", err=True)
        # The code 1 of an audit says that a rule is broken.
        return BAD_INPUT if code == FAULT and command_of(arguments) == "audit" else code
    return code if isinstance(code, int) else FINE


#: What to do where rules contradict each other, by command.
REMEDIES = {
    "fit": " Change one of these rules; with --on-infeasible relax, k-means breaks them least.",
    "mix": " Change one of these rules, or leave it out.",
}


def command_of(arguments: Sequence[str]) -> str | None:
    """Name of the command; the group has no options with values before it."""
    return next((word for word in arguments if not word.startswith("-")), None)


def exit_code(error: BaseException) -> int:
    """Exit code for an error."""
    if isinstance(error, InfeasibleConstraintsError):
        return INFEASIBLE
    if isinstance(error, (TimeoutError, OutOfTime)):
        return OUT_OF_TIME
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return INTERRUPTED
    known = (click.ClickException, ValueError, OSError, MemoryError, ModuleNotFoundError)
    return BAD_INPUT if isinstance(error, known) else FAULT


def sentence(error: BaseException) -> str:
    """Message for an error, on one line."""
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
