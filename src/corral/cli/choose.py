"""``corral choose``: several numbers of clusters beside each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from . import options as opt
from .output import (
    FINE,
    INFEASIBLE,
    OUT_OF_TIME,
    Written,
    check_output,
    check_printing,
    say,
    spoken_warnings,
)

EPILOG = """\b
Examples:
  corral choose points.csv -k 2:8 --max-size 60
  corral choose points.csv -k 3,5,7 --must-link ml.csv --plot choice.png --time-limit 60"""


def read_numbers(_: Any, __: Any, text: str) -> Sequence[int]:
    """Numbers of clusters in order: ``2:8`` for 2 to 8, or a list such as ``3,5,7``."""
    numbers: Sequence[int]
    first, colon, last = text.partition(":")
    try:
        if colon:
            numbers = range(int(first), int(last) + 1)  # which may be long
        else:
            numbers = sorted(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise click.BadParameter(
            f"{text!r} is no range such as 2:8 and no list such as 3,5,7 of numbers from 1 on."
        )
    return numbers


@click.command(epilog=EPILOG, short_help="Compare several numbers of clusters, and suggest one.")
@opt.data_options
@opt.weight_option
@opt.option(
    "-k",
    "--n-clusters",
    "numbers",
    callback=read_numbers,
    default="2:10",
    show_default=True,
    metavar="FROM:TO|N,...",
    help="Numbers of clusters to compare.",
)
@opt.rule_options
@opt.seed_option
@opt.effort_option
@opt.time_limit_option("For all fits together; what is not known then stays empty.")
@opt.option("--plot", type=click.Path(), help="Picture of the figures: .png, .pdf, .svg.")
@opt.force_option
@opt.printing_options
def choose(
    numbers: Sequence[int],
    seed: int,
    effort: float,
    time_limit: float | None,
    plot: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Fit with several numbers of clusters under the same rules, and suggest one of them.

    The table has inertia, silhouette, stability over random parts of the rows, and whether the
    rules can be obeyed.
    """
    from ..choose import choose_n_clusters
    from .fit import load

    asked = opt.Options(**options, n_clusters=numbers[-1])
    check_output("--plot", plot, force=force, inputs=asked.files)
    if as_json or not quiet:
        check_printing("the table", "open it")
    written = Written(force=force)
    if asked.sizes is not None:
        raise ValueError("--sizes is for one number of clusters; give --min-size and --max-size.")
    # Rules in files that are for another number of clusters say so in the table.
    points, rules, _ = load(asked, quiet=quiet, any_number=True)
    with spoken_warnings(quiet):
        found = choose_n_clusters(
            points.X,
            numbers,
            constraints=rules,
            sample_weight=points.weight,
            time_limit=time_limit,
            random_state=seed,
            effort=effort,
        )
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
    elif not quiet:
        say(str(found))
    if plot is not None:
        written.picture(plot, _picture(found))
    if found.best is not None:
        return written.code(FINE)
    undecided = any(each.feasible is None for each in found.candidates)
    return written.code(OUT_OF_TIME if undecided else INFEASIBLE)


def _picture(found: Any) -> Any:
    """A figure of the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.4), layout="constrained")
    found.plot(ax=figure.subplots(1, 3, sharex=True))
    return figure
