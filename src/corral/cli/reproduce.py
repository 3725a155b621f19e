"""``corral reproduce``: the tables and figures of the paper, in a checkout of corral."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click

from .options import debug_option, number_option, option, seed_option

#: Names of the experiments, as in ``reproduction.EXPERIMENTS``.
NAMES = (
    "table1",
    "table2",
    "figure1",
    "table3",
    "figure2",
    "table4",
    "table5",
    "figure3",
    "table6",
    "ionosphere",
    "figure4",
    "figure5",
    "figure6",
    "table7",
)

EPILOG = f"""\b
Examples:
  corral reproduce
  corral reproduce table3 figure1
  corral reproduce --quick --out /tmp/page

The experiments are in the folder benchmarks/reproduction of corral's source. Results are kept:
what was run before with the same seed is not run again, and a stopped run continues.
Names: {", ".join(NAMES)}."""


@click.command(epilog=EPILOG, short_help="Run the paper's experiments and write a page.")
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@option("--quick", is_flag=True, help="A small version, to see that it works.")
@seed_option
@option(
    "--out",
    type=click.Path(file_okay=False),
    default="docs/reproduction",
    show_default=True,
    help="Folder for the page and its pictures.",
)
@option("--cache", type=click.Path(file_okay=False), help="Folder for the results.")
@option("--fresh", is_flag=True, help="Discard earlier results and run everything again.")
@number_option("--jobs", 1, "Number of processes.")
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
    page = load_experiments().reproduce(
        names, quick=quick, seed=seed, out=out, cache=cache, fresh=fresh, n_jobs=jobs
    )
    click.echo(str(page))


def load_experiments() -> ModuleType:
    """Import the package ``reproduction`` from the checkout."""
    folder = find_benchmarks()
    if folder is None:
        raise ModuleNotFoundError(
            "the experiments are not part of the installed package: get corral's source and run "
            "this command in its folder, which contains benchmarks/reproduction",
            name="reproduction",
        )
    # On the path, and not loaded by file name, so that worker processes can import it too.
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module("reproduction")


def find_benchmarks() -> Path | None:
    """The folder ``benchmarks`` of the checkout: where corral is installed from, or around here."""
    installed_from = Path(__file__).resolve().parents[3]
    here = Path.cwd()
    for root in (installed_from, here, *here.parents):
        folder = root / "benchmarks"
        if (folder / "reproduction" / "__init__.py").is_file() and (root / "src/corral").is_dir():
            return folder
    return None
