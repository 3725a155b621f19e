"""``python -m corral.experiments``: the same as ``corral reproduce``, without click."""

from __future__ import annotations

import argparse
import sys

from . import EXPERIMENTS, reproduce


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m corral.experiments",
        description="Run the paper's experiments and write a page with its figures beside ours.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="docs/reproduction", help="folder of the page")
    parser.add_argument("--cache", help="folder for what was computed")
    parser.add_argument("--fresh", action="store_true", help="compute everything anew")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    try:
        page = reproduce(
            options.names,
            quick=options.quick,
            seed=options.seed,
            out=options.out,
            cache=options.cache,
            fresh=options.fresh,
            n_jobs=options.jobs,
        )
    except (ValueError, ModuleNotFoundError) as error:
        parser.error(str(error))
    sys.stdout.write(f"{page}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
