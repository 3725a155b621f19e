"""Hostile cases: does corral answer each with a clear error or a right answer?

``python benchmarks/hostile.py`` runs each case in a process of its own: bad input of every kind to
estimators and commands, signals, closed descriptors, full disks, threads, forks, old pickles and
others.  A case states what it expects: an error of a named type (exit code 2 of a command), or an
answer, which is checked by a program that shares no code with corral.  A failure is a crash (a
signal, an error of another type, or one that does not say what is wrong), a hang over 30 s, or a
silent wrong answer (a broken rule, bad input accepted, lost labels with exit code 0).
``--only NAME`` repeats one case, ``--only GROUP`` a group.  The exit code is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from fnmatch import fnmatch
from pathlib import Path

from hostile_cases import commands, data, files, numbers, processes, rules, studio, tables
from hostile_cases.case import RULES, Case, made, points
from hostile_cases.runner import Outcome, outcomes

GROUPS = (data, rules, numbers, processes, tables, commands, files, studio)

#: Columns of the table, and the failures.
KINDS = ("fine", "skipped", "crash", "hang", "wrong")
FAILURES = KINDS[2:]


def cases(only: str | None) -> list[Case]:
    """All cases, or those with that name or of that group; names are unique."""
    found = [case for group in GROUPS for case in group.cases()]
    doubled = [name for name, count in Counter(case.name for case in found).items() if count > 1]
    if doubled:
        raise SystemExit(f"two cases are called {doubled[0]}")
    if only is None:
        return found
    return [case for case in found if only == case.group or fnmatch(case.name, only)]


def warm() -> None:
    """Import what cases need and fit once, so that each process starts with compiled kernels."""
    import pandas  # noqa: F401

    import corral

    # New processes work in other folders, where a relative path would lead elsewhere.
    paths = (str(Path(corral.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    for name in corral.__all__:
        getattr(corral, name)
    for kind in data.ESTIMATORS:
        data.model(kind).fit(points(), constraints=made(RULES))


def table(ended: list[Outcome]) -> None:
    """Print how many cases of each group ended in each way."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in ended:
        counts[outcome.case.group][outcome.kind] += 1
    total = sum(counts.values(), Counter())
    width = max(map(len, counts), default=0)
    print(f"\n{'group':<{width}}  cases  " + "  ".join(f"{kind:>7}" for kind in KINDS))
    for group, count in [*counts.items(), ("all", total)]:
        figures = "  ".join(f"{count[kind]:7d}" for kind in KINDS)
        print(f"{group:<{width}}  {count.total():5d}  {figures}")


def main() -> int:
    """Run the cases; print failures as they come, then a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", metavar="NAME", help="a case, a pattern of names, or a group")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args()
    chosen = cases(options.only)
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        print(f"no case is called {options.only!r}; --list prints the names")
        return 2
    warm()
    begun, ended = time.monotonic(), []
    for outcome in outcomes(chosen, options.workers):
        ended.append(outcome)
        if outcome.kind in FAILURES:
            repeat = f"python benchmarks/hostile.py --only '{outcome.case.name}'"
            print(f"{outcome.kind}: {outcome.text}\n    {repeat}", flush=True)
    table(ended)
    slowest = sorted(ended, key=lambda outcome: -outcome.seconds)[:3]
    print(
        f"\n{len(ended)} cases, {time.monotonic() - begun:.0f} s; slowest "
        + ", ".join(f"{one.case.name} ({one.seconds:.1f} s)" for one in slowest)
    )
    for reason, count in Counter(one.text for one in ended if one.kind == "skipped").items():
        print(f"skipped {count}: {reason}")
    return int(any(outcome.kind in FAILURES for outcome in ended))


if __name__ == "__main__":
    sys.exit(main())
