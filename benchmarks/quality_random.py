"""Random combinations of rules: are the labels feasible, and as good as those of exact k-means?

Each instance is feasible by construction: a hidden labelling obeys its rules.  corral and k-means
with exact ILP assignment (``tests/reference.py``) start from the same k-means++ centres.
Run ``python benchmarks/quality_random.py``; ``--seed 17 --count 1`` repeats one instance, and
``--jobs N`` runs instances in N processes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from corral import ConstrainedKMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from instances import random_instance
from reference import Rules, exact_kmeans, inertia, violations

#: Target: largest relative gap to k-means with exact assignment.
WORST_GAP = 0.01


@dataclass
class Outcome:
    """One instance: its description, the relative gap, the seconds of both methods, any failure."""

    seed: int
    what: str
    gap: float = np.nan
    seconds: float = np.nan
    reference_seconds: float = np.nan
    trouble: str = ""

    def __str__(self) -> str:
        return (
            f"seed {self.seed:4d}  {self.what:<58} gap {100 * self.gap:8.3f} %  "
            f"{self.seconds:7.2f} s  reference {self.reference_seconds:7.2f} s  {self.trouble}"
        )


def describe(rules: Rules, d: int) -> str:
    """A short description of the instance."""
    parts = [f"n={rules.n} k={rules.k} d={d}"]
    parts += [
        f"{len(pairs)}{name}"
        for pairs, name in ((rules.must, "ml"), (rules.cannot, "cl"), (rules.pins, "pin"))
        if len(pairs)
    ]
    if rules.sizes is not None:
        exact = np.array_equal(*rules.sizes)
        parts.append(("exact" if exact else "interval") + ("-ordered" if rules.ordered else ""))
    if rules.totals is not None:
        parts.append("capacity")
    if rules.more:
        parts.append(f"{len(rules.more)} totals")
    if rules.shares is not None:
        parts.append("shares")
    return " ".join(parts)


def run(seed: int, fit_limit: float, time_limit: float) -> Outcome:
    """Run both methods on one instance."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, rules, centers = random_instance(seed, more=True)
    outcome = Outcome(seed, describe(rules, X.shape[1]))
    model = ConstrainedKMeans(
        rules.k, init=centers, n_init=1, random_state=seed, time_limit=fit_limit
    )
    begun = time.perf_counter()
    try:
        model.fit(X, constraints=rules.constraints())
    except Exception as error:  # an error is also a result, listed with its seed
        outcome.trouble = f"{type(error).__name__}: {str(error)[:120]}"
        return outcome
    outcome.seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    labels = exact_kmeans(X, rules, centers, time_limit=time_limit)
    outcome.reference_seconds = time.perf_counter() - begun
    broken = violations(rules, model.labels_)
    if broken:
        outcome.trouble = f"{broken} VIOLATIONS"
    elif labels is None:
        outcome.trouble = "the reference found no labels"
    else:
        if violations(rules, labels):
            outcome.trouble = "the REFERENCE breaks rules"
        outcome.gap = inertia(X, model.labels_) / inertia(X, labels) - 1.0
        if outcome.gap > WORST_GAP:
            outcome.trouble = "ABOVE 1 %"
    return outcome


def summary(outcomes: list[Outcome]) -> bool:
    """Print the figures; return whether all targets are met."""
    gaps = np.array([o.gap for o in outcomes if np.isfinite(o.gap)])
    infeasible = sum("Infeasible" in o.trouble for o in outcomes)
    crashes = sum("Error:" in o.trouble for o in outcomes) - infeasible
    broken = sum("VIOLATIONS" in o.trouble for o in outcomes)
    print(f"{len(outcomes)} instances, {len(gaps)} compared")
    print(f"violations {broken}, falsely infeasible {infeasible}, other errors {crashes}")
    if not len(gaps):
        return False
    print(
        f"gap to exact k-means: mean {100 * gaps.mean():.3f} %, median "
        f"{100 * np.median(gaps):.3f} %, worst {100 * gaps.max():.3f} %, best "
        f"{100 * gaps.min():.3f} %; above 0.1 %: {(gaps > 1e-3).sum()}, above 1 %: "
        f"{(gaps > WORST_GAP).sum()}; below: {(gaps < -1e-9).sum()}"
    )
    for name, times in (
        ("corral", [o.seconds for o in outcomes]),
        ("reference", [o.reference_seconds for o in outcomes]),
    ):
        print(
            f"seconds, {name}: total {np.nansum(times):.1f}, median {np.nanmedian(times):.3f}, "
            f"maximum {np.nanmax(times):.2f}"
        )
    fine = not (broken or infeasible or crashes)
    return fine and gaps.max() <= WORST_GAP and gaps.mean() <= 0.0


def main() -> int:
    """Run all instances; print failures and figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="number of instances")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first instance")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=20.0,
        help="seconds that one assignment of the reference may take",
    )
    parser.add_argument(
        "--fit-limit", type=float, default=120.0, help="seconds that one fit of corral may take"
    )
    parser.add_argument("--all", action="store_true", help="print a line for every instance")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    outcomes = []
    for outcome in Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(run)(seed, options.fit_limit, options.time_limit) for seed in seeds
    ):
        outcomes.append(outcome)
        if options.all or outcome.trouble:
            print(outcome, flush=True)
    return 0 if summary(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
