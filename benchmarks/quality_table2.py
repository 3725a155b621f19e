"""Table 2 of the paper from random starts without repair, and the digits with equal sizes.

Run ``python benchmarks/quality_table2.py``.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from quality_start import BEST_KNOWN, Case, full, one_descent

#: Targets: mean objectives of lpKm in table 2 of the paper.  On glass its K-means is lower.
PAPER = {"wine": 195.86, "iris": 28.282, "glass": 85.944}
K_MEANS = {"glass": 81.28}
#: Target for the digits: largest relative gap to the best known objective.
DIGITS_GAP = 5e-4


def table2(n_seeds: int) -> bool:
    """Fit without constraints and repair, with one random start per seed."""
    print("| data | corral, mean | std | min | max | paper, lpKm | paper, K-means | target met |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    fine = True
    for name, paper in PAPER.items():
        values = [full(Case(name, "free"), seed, repair=False) for seed in range(n_seeds)]
        meets = np.mean(values) <= min(paper, K_MEANS.get(name, np.inf))
        fine &= bool(meets)
        print(
            f"| {name} | {np.mean(values):.3f} | {np.std(values):.3f} | {np.min(values):.3f} | "
            f"{np.max(values):.3f} | {paper} | {K_MEANS.get(name, '')} | "
            f"{'yes' if meets else 'NO'} |",
            flush=True,
        )
    return fine


def digits(n_seeds: int) -> bool:
    """Fit equal sizes from random and k-means++ starts, and by one descent."""
    case = Case("digits", "equal")
    best = json.loads(BEST_KNOWN.read_text())[case.key]
    random = np.array([full(case, seed) for seed in range(n_seeds)])
    seeded = np.array([full(case, seed, init="k-means++") for seed in range(n_seeds)])
    descents = np.array([one_descent(case, seed) for seed in range(n_seeds)])
    rows = {
        "corral, random starts": random,
        "corral, k-means++ starts": seeded,
        "one descent, random starts": descents,
    }
    print(f"\nDigits (1797 x 64), equal sizes, best known {best:.8g}; gaps in per cent:\n")
    print("| method | mean | max | each |\n| --- | --- | --- | --- |")
    for name, values in rows.items():
        gaps = 100 * (values / best - 1)
        each = " ".join(f"{gap:.3f}" for gap in gaps)
        print(f"| {name} | {gaps.mean():.4f} | {gaps.max():.4f} | {each} |")
    return bool(max(random.max(), seeded.max()) <= best * (1 + DIGITS_GAP))


def main() -> int:
    """Print both tables; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10, help="starts of each kind")
    options = parser.parse_args()
    fine = table2(options.seeds)
    return 0 if digits(options.seeds) and fine else 1


if __name__ == "__main__":
    sys.exit(main())
