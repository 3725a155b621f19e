"""Options that the commands share, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Values = TypeVar("Values")

_FILE = click.Path(exists=True, dir_okay=False)


def read_sizes(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Read integers with commas between, such as 59,71,48."""
    try:
        return None if value is None else tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a list of integers such as 59,71,48.", ctx, param
        ) from None


def read_count(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    """Read an integer of at least 1, or the word auto."""
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(
            f"{value!r} is neither auto nor an integer of at least 1.", ctx, param
        )
    return int(value)


def read_jobs(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Read a number of processes, which must not be 0."""
    if value == 0:
        raise click.BadParameter(
            "0 is not allowed; give 1 or more, or -1 for all cores.", ctx, param
        )
    return value


@dataclass(frozen=True)
class DataOptions:
    """The file of points, and its columns."""

    points: str
    id_column: str | None
    columns: tuple[str, ...]
    scale: str
    header: bool | None


@dataclass(frozen=True)
class RuleOptions:
    """The number of clusters, and the rules."""

    n_clusters: int | None
    must_link: tuple[str, ...]
    cannot_link: tuple[str, ...]
    soft: float | None
    sizes: tuple[int, ...] | None
    min_size: int | None
    max_size: int | None
    capacity: tuple[str, ...]
    share: tuple[str, ...]
    pin: str | None
    constraints: tuple[str, ...]


@dataclass(frozen=True)
class SolverOptions:
    """Parameters of the solver."""

    seed: int
    n_init: int | str
    time_limit: float | None
    jobs: int | None


def pick(kind: type[Values], options: Mapping[str, Any]) -> Values:
    """Fill the fields of a class of options from all options of a command."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: options[name] for name in names})


def stacked(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator; ``--help`` lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
)

data_options = stacked(
    click.argument("points", type=_FILE),
    click.option(
        "--id-column", metavar="NAME", help="Column of unique ids; pair files then name ids."
    ),
    click.option(
        "--columns",
        multiple=True,
        metavar="NAME,...",
        help="Columns to cluster by; by default all that no other option names.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["none", "standard", "minmax"]),
        default="none",
        show_default=True,
        help="Scale each column: to mean 0 and deviation 1, or to [0, 1].",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line names the columns; guessed by default.",
    ),
)

rule_options = stacked(
    click.option(
        "-k",
        "n_clusters",
        type=click.IntRange(1),
        metavar="K",
        help="Number of clusters; not needed with --sizes.",
    ),
    click.option(
        "--must-link",
        type=_FILE,
        multiple=True,
        help="CSV of pairs that belong together; a third column holds weights of soft pairs.",
    ),
    click.option(
        "--cannot-link", type=_FILE, multiple=True, help="CSV of pairs that belong apart."
    ),
    click.option(
        "--soft",
        type=click.FloatRange(0, min_open=True),
        metavar="WEIGHT",
        help="Weight of the pairs in files without weights; without it they are hard.",
    ),
    click.option(
        "--sizes",
        callback=read_sizes,
        metavar="N,N,...",
        help="Exact sizes of the clusters, in any order.",
    ),
    click.option(
        "--min-size", type=click.IntRange(0), metavar="N", help="Minimum size of a cluster."
    ),
    click.option(
        "--max-size", type=click.IntRange(0), metavar="N", help="Maximum size of a cluster."
    ),
    click.option(
        "--capacity",
        multiple=True,
        metavar="COLUMN:MAX",
        help="Maximum total of a column in a cluster.",
    ),
    click.option(
        "--share",
        multiple=True,
        metavar="COLUMN:MIN:MAX",
        help="Share of each group of a column in each cluster; MIN or MAX may be empty.",
    ),
    click.option(
        "--pin",
        metavar="COLUMN",
        help="Known clusters: numbers from 0, or names in sorted order; empty or -1 if unknown.",
    ),
    click.option(
        "--constraints", type=_FILE, multiple=True, help="JSON file of ConstraintSet.to_json."
    ),
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same answer.",
)


def time_limit_option(text: str) -> Callable[[Any], Any]:
    """The option ``--time-limit``, whose help text is ``text``."""
    return click.option(
        "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=text
    )


solver_options = stacked(
    seed_option,
    click.option(
        "--n-init",
        callback=read_count,
        default="auto",
        show_default=True,
        metavar="N|auto",
        help="Restarts.",
    ),
    time_limit_option("After it the best answer so far is given."),
    click.option(
        "--jobs",
        type=int,
        callback=read_jobs,
        metavar="N",
        help="Processes for the restarts; -1 for all cores.",
    ),
)

quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="No summary, no progress, no warnings."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
