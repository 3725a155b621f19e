"""Random instances of every kind: does corral keep its promises?

``python benchmarks/fuzz.py --count 5000 --workers 2`` tries 5,000 instances with all kinds of
rules, degenerate data and extreme scales.  Each is checked by a program that shares no code with
corral: rules in exact fractions, a CP-SAT model of feasibility, and all labellings of up to nine
rows.  ``--infeasible`` tries only rules that contradict each other.  ``--seed 123 --count 1``
repeats one instance; ``--shrink 60`` also makes it smaller.
The exit code is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from fuzzing.instances import make
from fuzzing.model import satisfiable
from fuzzing.rules import LOOSE, terms
from fuzzing.workers import outcomes

#: Target: share of the instances with known optimum whose labels are optimal.
NEEDED = 0.995


class Summary:
    """What happened so far."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.done = 0
        self.ended: Counter[str] = Counter()
        self.seconds: list[tuple[float, int]] = []
        self.processor = 0.0
        self.known = 0
        self.missed: list[tuple[float, int, str]] = []
        self.failures: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self.begun = time.monotonic()

    def add(self, outcome: Any) -> None:
        """Count one outcome; print its failures."""
        self.done += 1
        self.ended[outcome.ended or "failed"] += 1
        self.seconds.append((outcome.seconds, outcome.seed))
        self.processor += outcome.processor
        self.known += outcome.optimal is not None
        if outcome.optimal is False:
            self.missed.append((outcome.gap, outcome.seed, outcome.what))
        for kind, text in outcome.failures:
            self.failures[kind].append((outcome.seed, outcome.what, text))
            print(f"seed {outcome.seed}  {outcome.what}\n    {kind}: {text}", flush=True)

    def progress(self) -> None:
        """Show how far it got: in a terminal always, in a file every hundred instances."""
        terminal = sys.stderr.isatty()
        if not terminal and self.done % 100:
            return
        spent = time.monotonic() - self.begun
        rate = spent / self.done
        failed = sum(map(len, self.failures.values()))
        print(
            "\r" if terminal else "",
            f"{self.done}/{self.count}, {failed} failures, {len(self.missed)} not optimal, "
            f"{rate:.2f} s each, {rate * (self.count - self.done):.0f} s left   ",
            sep="",
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    @property
    def share(self) -> float:
        """Share of optimal labels."""
        return 1 - len(self.missed) / self.known if self.known else 1.0

    def table(self) -> None:
        """Print the summary."""
        total = sum(seconds for seconds, _ in self.seconds)
        print(f"\n\n{self.done} instances, {time.monotonic() - self.begun:.0f} s")
        for ended, count in sorted(self.ended.items()):
            print(f"  {ended:<12} {count:6d}")
        slowest = ", ".join(f"{s:.1f} s (seed {seed})" for s, seed in sorted(self.seconds)[:-4:-1])
        print(
            f"mean fit {total / self.done:.3f} s, {self.processor / self.done:.3f} s of the "
            f"processor; slowest {slowest}"
        )
        print(
            f"optimal {self.known - len(self.missed)} of {self.known} with known optimum: "
            f"{100 * self.share:.2f} % (target {100 * NEEDED} %)"
        )
        for gap, seed, what in sorted(self.missed, reverse=True)[:20]:
            print(f"    {100 * gap:.3g} % above the optimum: seed {seed}  {what}")
        print("failures: " + ("" if self.failures else "none"))
        for kind, found in sorted(self.failures.items()):
            seeds = " ".join(str(seed) for seed, _, _ in found[:12])
            print(f"  {kind:<45} {len(found):5d}   seeds {seeds}{' ...' * (len(found) > 12)}")


def reproduce(summary: Summary, seconds: float) -> None:
    """Print a program for the first instance of each kind of failure."""
    from fuzzing.shrink import shrink

    found = {kind: cases[0][0] for kind, cases in summary.failures.items()}
    if summary.missed and (summary.share < NEEDED or summary.count == 1):
        found["not optimal"] = summary.missed[0][1]
    for kind, seed in found.items():
        instance = make(seed)
        if seconds and kind not in ("slow", "crash", "fuzzer", "printed"):
            instance = shrink(instance, kind, seconds)
        print(f"\n# {kind}: seed {seed}\n{instance.script()}")


def contradictory(first: int) -> Iterator[int]:
    """Seeds of instances whose rules contradict each other, by the fuzzer's own model."""
    for seed in itertools.count(first):
        instance = make(seed)
        items = terms(instance.rules, instance.n, instance.k)
        possible = satisfiable(items, instance.n, instance.k, LOOSE)
        if possible is False and not instance.options:
            yield seed


def main() -> int:
    """Try the instances; print failures, a table and a program for each kind of failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=5000, help="number of instances")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first instance")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--infeasible", action="store_true", help="only instances with contradictory rules"
    )
    parser.add_argument(
        "--shrink", type=float, default=0.0, metavar="SECONDS", help="make reproducers smaller"
    )
    options = parser.parse_args()
    summary = Summary(options.count)
    seeds = contradictory(options.seed) if options.infeasible else itertools.count(options.seed)
    for outcome in outcomes(itertools.islice(seeds, options.count), options.workers):
        summary.add(outcome)
        summary.progress()
    summary.table()
    reproduce(summary, options.shrink)
    return 1 if summary.failures or summary.share < NEEDED else 0


if __name__ == "__main__":
    sys.exit(main())
