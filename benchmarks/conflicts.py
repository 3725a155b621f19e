"""Random rules on few rows: is every conflict contradictory, and irreducible?

Each instance is decided by trying all labels (``tests/conflicts.py``).  Where no labels obey the
rules, corral has to say so, its conflict has to be contradictory, and feasible without any one of
its parts: a pair, a pin, a share, one side of a bound on sizes, totals or a linear row.
Run ``python benchmarks/conflicts.py``; ``--seed 17 --count 1`` repeats one instance.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from corral.constraints import ConstraintSet
from corral.exceptions import InfeasibleConstraintsError
from corral.infeasible import explain

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from conflicts import AllLabels, random_rules

#: Most labels that are tried.
MOST_LABELS = 600_000


def trial(seed: int, most_rows: int) -> tuple[str, list[str], InfeasibleConstraintsError | None]:
    """One instance: the outcome, what is wrong with it, and the error."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, most_rows + 1)), int(rng.integers(2, 5))
    while k**n > MOST_LABELS:
        n -= 1
    rules, every = random_rules(rng, n, k), AllLabels(n, k)
    feasible = every.feasible(rules)
    try:
        error = explain(n, k, ConstraintSet(rules))
    except ValueError as refused:
        known = "combine them into one ClusterSizes" in str(refused)
        return "refused", [] if known else [repr(refused)], None
    if error is None:
        return "feasible", [] if feasible else ["no labels obey the rules"], None
    if feasible:
        return "infeasible", [f"there are labels, but: {error}"], error
    return "infeasible", every.faults(error.conflict), error


def main() -> int:
    """Run the instances and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="infeasible instances")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first")
    parser.add_argument("--rows", type=int, default=12, help="most rows")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    seed, slowest = asked.seed, 0.0
    while counts["infeasible"] < asked.count:
        began = time.perf_counter()
        outcome, faults, error = trial(seed, asked.rows)
        slowest = max(slowest, time.perf_counter() - began)
        counts[outcome] += 1
        counts["faults"] += bool(faults)
        for fault in faults:
            print(f"seed {seed}: {fault}")
        if error is not None:
            counts["not proven irreducible"] += not error.irreducible
            counts["with a cause"] += not str(error).startswith("No assignment")
            counts["parts"] += sum(rule.n_parts for rule in error.conflict)
        seed += 1
    print(", ".join(f"{name}: {number}" for name, number in counts.items()))
    print(f"seeds {asked.seed} to {seed - 1}, slowest instance {slowest:.2f} s with its check")
    return int(counts["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
