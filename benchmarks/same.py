"""The same fits by two versions of corral: what differs in answers, and in time?

``python benchmarks/same.py OLD NEW``, each a Python executable (an environment with corral) or a
checkout, whose ``src`` the running interpreter then imports.  More than 400 fits over all kinds of
rules, sizes and forms of data go to the two in turn.  Rules broken and objectives are recomputed
from the labels in plain NumPy.  The exit code is 1 if an answer of NEW breaks a rule or ends in
another error, if the mean objective is higher, or if the median time is above 1.05 times OLD's.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from statistics import median

from equal.jobs import Job, all_jobs
from equal.sides import Side
from equal.summary import Pair, Summary

#: Seconds below which a fit is timed three times more, after one that does not count.
SHORT = 0.3


def compare(job: Job, old: Side, new: Side, *, new_first: bool) -> Pair:
    """One job by both, in turn."""
    sides = {"new": new, "old": old} if new_first else {"old": old, "new": new}
    rounds = [{name: side.fit(job.name) for name, side in sides.items()}]
    if all(answer["seconds"] < SHORT for answer in rounds[0].values()):
        # The first of each was its warm-up.
        rounds += [{name: side.fit(job.name) for name, side in sides.items()} for _ in range(3)]
    timed = rounds[1:] or rounds
    seconds = {name: median(one[name]["seconds"] for one in timed) for name in sides}
    unsteady = " and ".join(
        name for name in ("old", "new") if len({one[name].get("labels") for one in rounds}) > 1
    )
    first = rounds[0]
    return Pair(job, first["old"], first["new"], seconds["old"], seconds["new"], unsteady)


def chosen(given: argparse.Namespace) -> list[Job]:
    """The jobs that the options leave."""
    jobs = [job for job in all_jobs() if re.search(given.only, job.name)]
    return jobs[::10] if given.quick else jobs


def tell(where: str, pair: Pair) -> None:
    """One line a job on the errors' stream, so that a long run shows where it is."""
    times = f"{pair.seconds_old:.3f} s -> {pair.seconds_new:.3f} s"
    print("; ".join([f"{where}  {times}", *pair.remarks()]), file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="Python executable, environment or checkout")
    parser.add_argument("new", help="the same for the version to judge")
    parser.add_argument("--only", default="", metavar="PATTERN", help="jobs whose names match")
    parser.add_argument("--quick", action="store_true", help="every tenth job")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all answers there")
    given = parser.parse_args()
    jobs = chosen(given)
    if not jobs:
        parser.error(f"no job matches {given.only!r}")
    old, new = Side(given.old), Side(given.new)
    print(f"old: {old.corral}\nnew: {new.corral}\n{len(jobs)} jobs", flush=True)
    pairs = []
    try:
        for number, job in enumerate(jobs):
            pairs.append(compare(job, old, new, new_first=number % 2 == 1))
            tell(f"{number + 1}/{len(jobs)}  {job.name}", pairs[-1])
    finally:
        old.stop()
        new.stop()
        if given.json:
            given.json.write_text(json.dumps([pair.to_json() for pair in pairs], indent=1) + "\n")
    summary = Summary(pairs)
    print(f"\n{summary.text()}")
    return 1 if summary.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
