"""``python benchmarks/reproduction``: the same as ``corral reproduce``, without click."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __package__ in (None, ""):  # called by the name of the folder, not with -m
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from reproduction import EXPERIMENTS, reproduce


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/reproduction",
        description="Run the paper's experiments; write a page with its numbers beside ours.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="docs/reproduction", help="folder of the page")
    parser.add_argument("--cache", help="folder for the results")
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
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
