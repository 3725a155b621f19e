"""All kinds of data times all kinds of rules times all sizes: where are the cliffs?

``python benchmarks/grid.py --out build/grid.jsonl --jobs 2 --part 0.1`` fits a random tenth of the
cells by default settings, each in a worker process, and prints distributions.  Labels are checked
by code of this benchmark.  Objectives are compared with a greedy Lloyd under the rules and with the
table of version 0.6.0 (``grid_06.json``), seconds with ``KMeans(n_init=1)``.  A run goes on where
the results file ends.  The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from grid_cells.cells import SIZES, VARIANTS, Cell, grid, shuffled
from grid_cells.kinds import KINDS
from grid_cells.pool import run
from grid_cells.rules import RULES
from grid_cells.summary import Summary, read_baseline, read_results, write_baseline

TABLE = Path(__file__).parent / "grid_06.json"


def names(text: str) -> tuple[str, ...]:
    """Names divided by commas."""
    return tuple(part for part in text.split(",") if part)


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--out", type=Path, default=Path("build/grid.jsonl"), help="results, a JSON line a cell")
    add("--seed", type=int, default=0, help="seed of data, rules and fits")
    add("--part", default="1", help='share of the cells, or "table": those of grid_06.json')
    add("--sizes", type=names, default=SIZES, help=f"of {', '.join(SIZES)}; others such as 50x4")
    add("--kinds", type=names, default=tuple(KINDS), help=f"of {', '.join(KINDS)}")
    add("--rules", type=names, default=tuple(RULES), help=f"of {', '.join(RULES)}")
    add("--variants", type=names, default=VARIANTS, help=f"of {', '.join(VARIANTS)}")
    add("--cell", action="append", help="one cell by its name; may be given again")
    add("--jobs", type=int, default=1, help="processes; with several, each has one thread")
    add("--python", default=sys.executable, help="interpreter of the workers, with its own corral")
    add("--time-limit", type=float, help="time_limit of the fits; default none")
    add("--wall", type=float, default=120.0, help="seconds after which a fit is killed")
    add("--total", type=float, help="seconds after which no further cell begins")
    add("--bare", action="store_true", help="only fit, without KMeans and the greedy Lloyd")
    add("--baseline", type=Path, default=TABLE, help="table or .jsonl file to compare with")
    add("--known", action="store_true", help="only cells of the baseline")
    add("--summary", type=Path, metavar="FILE", help="only print the summary of a results file")
    add("--table", type=Path, metavar="FILE", help="write the results as a table, and end")
    return parser.parse_args()


def chosen(options: argparse.Namespace, baseline: Any) -> list[Cell]:
    """The cells of the options that the results file lacks, in random order."""
    if options.cell:
        cells = [Cell.named(name) for name in options.cell]
    else:
        cells = grid(options.sizes, options.kinds, options.rules, options.variants)
        cells = [cell for cell in cells if cell.in_part(options.part, options.seed)]
    if options.known:
        cells = [cell for cell in cells if (cell.name, options.seed) in baseline]
    results = read_results(options.out)
    # What the benchmark itself could not run, as a package was missing, is tried again.
    done = {(r["cell"], r["seed"]) for r in results if not r["status"].startswith("benchmark")}
    cells = [cell for cell in cells if (cell.name, options.seed) not in done]
    return shuffled(cells, options.seed)


def main() -> int:
    """Run the cells and print the summary."""
    options = parsed()
    baseline = read_baseline(options.baseline) if options.baseline.exists() else {}
    if options.table:
        write_baseline(read_results(options.out), options.table, options.time_limit)
        return 0
    if not options.summary:
        cells = chosen(options, baseline)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        begun, done = time.monotonic(), 0
        with options.out.open("a") as file:

            def record(result: dict[str, Any]) -> None:
                nonlocal done
                done += 1
                file.write(json.dumps(result) + "\n")
                file.flush()
                spent = time.monotonic() - begun
                print(
                    f"{done}/{len(cells)} {spent:6.0f} s  {result['cell']:<46} "
                    f"{result.get('seconds', 0):8.2f} s  {result['status'][:60]}",
                    "; ".join(result.get("broken", [])),
                    file=sys.stderr,
                    flush=True,
                )

            run(
                cells,
                order={
                    "seed": options.seed,
                    "time_limit": options.time_limit,
                    "bare": options.bare,
                },
                jobs=options.jobs,
                python=options.python,
                wall=options.wall,
                total=options.total,
                record=record,
            )
    summary = Summary(read_results(options.summary or options.out), baseline)
    summary.print()
    return 1 if summary.missed else 0


if __name__ == "__main__":
    sys.exit(main())
