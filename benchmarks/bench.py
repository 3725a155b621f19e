"""The speed of corral and of other packages: the same jobs from the same starts, on two cores.

Run ``make bench``, which creates an environment with the other packages.  A small version,
``python benchmarks/bench.py --quick``, takes a minute.  Results are stored in build/bench, so that
a stopped run can continue; results of other code are measured again.  ``--write`` writes the tables
into README.md and the pictures beside it.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from speed.jobs import Job, all_jobs
from speed.machine import busy, describe, use_cores
from speed.methods import METHODS, present
from speed.pictures import time_k, time_n
from speed.runner import run_imports, run_job, run_scaling
from speed.scaling import QUICK_SERIES, SERIES
from speed.store import Store, fingerprint
from speed.summary import Run
from speed.table import import_seconds, scaling_table, tables, write
from speed.verdicts import Verdict, verdicts

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "build" / "bench"
QUICK_STARTS, QUICK_LIMIT = 2, 20
#: Measurements that are not jobs.
EXTRA = ("scaling", "imports")

Results = dict[str, list[Run]]


def choose(options: argparse.Namespace) -> list[str]:
    """Names of the jobs and other measurements to run."""
    jobs = all_jobs()
    names = [name for name, job in jobs.items() if job.quick or not options.quick] + [*EXTRA]
    if not options.only:
        return names
    chosen = [name for name in (*jobs, *EXTRA) if any(name.startswith(o) for o in options.only)]
    if not chosen:
        sys.exit(f"no job has a name that begins with {options.only}; --list shows the names")
    return chosen


def measure(name: str, job: Job | None, quick: bool) -> list[Run]:
    """Run one job or other measurement."""
    if name == "scaling":
        return run_scaling(QUICK_SERIES if quick else SERIES, 1 if quick else 3)
    if name == "imports" or job is None:
        return run_imports(3 if quick else 11)
    if quick:
        return run_job(job, QUICK_STARTS, QUICK_LIMIT)
    return run_job(job, job.starts, job.limit)


def run(options: argparse.Namespace, store: Store) -> None:
    """Run what has no stored result."""
    jobs = all_jobs()
    for name in choose(options):
        if options.fresh or store.load(name) is None:
            store.save(name, measure(name, jobs.get(name), options.quick))


def page(results: Results, judged: list[Verdict], machine: str) -> str:
    """All results as Markdown."""
    parts = [machine, "\n".join(str(verdict) for verdict in judged)]
    parts.append("![Time against n](time_n.png)\n\n![Time against k](time_k.png)")
    parts.append(tables(all_jobs().values(), results))
    if "scaling" in results:
        parts.append(scaling_table(results["scaling"]))
    if "imports" in results:
        words = ", ".join(
            f"`import {name}` {seconds:.2f} s"
            for name, seconds in import_seconds(results["imports"]).items()
        )
        parts.append(f"### Start-up\n\n{words}.")
    return "\n\n".join(part for part in parts if part)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few jobs, two starts, 20 s per run")
    parser.add_argument("--only", nargs="+", metavar="JOB", help="prefixes of job names")
    parser.add_argument("--list", action="store_true", help="print the job names and exit")
    parser.add_argument("--fresh", action="store_true", help="ignore stored results")
    parser.add_argument("--cores", type=int, default=2, help="cores to use (2)")
    parser.add_argument("--write", action="store_true", help="write README.md and the pictures")
    return parser.parse_args()


def main() -> int:
    """Run the jobs, print the results, and write them if asked."""
    chosen = options()
    if chosen.list:
        print(*all_jobs(), *EXTRA, sep="\n")
        return 0
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cores = use_cores(chosen.cores)
    if busy(cores):
        logging.warning("The machine is busy: the times will be too long.")
    folder = FOLDER / "quick" if chosen.quick else FOLDER
    store = Store(folder, fingerprint(cores, present(METHODS)))
    run(chosen, store)
    kept = {name: store.load(name) for name in (*all_jobs(), *EXTRA)}
    results = {name: runs for name, runs in kept.items() if runs is not None}
    judged = verdicts(results)
    text = page(results, judged, describe(cores))
    whole = len(results) == len(kept)
    target = HERE if chosen.write and whole else folder
    time_n(results, target / "time_n.png")
    time_k(results, target / "time_k.png")
    print(text)
    if chosen.write and whole:
        write(HERE / "README.md", text)
    elif chosen.write:
        print(f"\n{len(kept) - len(results)} jobs are missing: README.md is not changed.")
    missed = [verdict for verdict in judged if verdict.met is False and not verdict.information]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
