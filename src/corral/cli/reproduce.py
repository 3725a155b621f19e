"""``corral reproduce``: the paper's tables and figures."""

from __future__ import annotations

import click

from ..experiments import EXPERIMENTS
from ..experiments import reproduce as run
from .options import debug_option, seed_option

EPILOG = f"""\b
Examples:
  corral reproduce
  corral reproduce table3 figure1
  corral reproduce --quick --out /tmp/page

What was run before with the same seed is not run again, and a stopped run goes on.
Names: {", ".join(EXPERIMENTS)}."""


@click.command(epilog=EPILOG, short_help="Run the paper's experiments and write a page.")
@click.argument("names", nargs=-1, type=click.Choice(tuple(EXPERIMENTS)), metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="A small version, to see that it works.")
@seed_option
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="docs/reproduction",
    show_default=True,
    help="Folder for the page and its pictures.",
)
@click.option("--cache", type=click.Path(file_okay=False), help="Folder for what was computed.")
@click.option("--fresh", is_flag=True, help="Compute everything anew.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to share the work.",
)
@debug_option
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    seed: int,
    out: str,
    cache: str | None,
    fresh: bool,
    jobs: int,
) -> None:
    """Run the paper's tables and figures, all or those NAMEd, and write a page of them."""
    page = run(names, quick=quick, seed=seed, out=out, cache=cache, fresh=fresh, n_jobs=jobs)
    click.echo(str(page))
