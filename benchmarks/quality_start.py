"""The influence of the start: gaps to the best known objective from random starts.

Every data set is clustered with equal sizes, with its true sizes and without sizes.  The methods
are corral from random starts (``n_init=1``); one descent from the same starts, without ADMM and
variations; and, without sizes, the best of five k-means++ runs of scikit-learn.  Run
``python benchmarks/quality_start.py``.  ``--write`` writes the table to quality.md.  ``--update``
runs a longer search and lowers values in best_known.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_blobs

from corral import ClusterSizes, ConstrainedKMeans
from corral.datasets import load_breast_cancer, load_glass, load_iris, load_wine
from corral.search.budget import Budget
from corral.search.descent import Descender
from corral.search.shape import MeansShape
from corral.search.starts import make_start

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from problems import problem_of
from reference import lloyd

HERE = Path(__file__).resolve().parent
BEST_KNOWN = HERE / "best_known.json"
TABLE = HERE / "quality.md"
MODES = ("equal", "true", "free")
#: k-means++ runs of scikit-learn for each seed.
LLOYD_RUNS = 5
#: Targets with sizes, in per cent: largest mean gap and largest gap of any start.
MEAN_GAP, WORST_GAP = 0.1, 1.0

Floats = NDArray[np.float64]


@cache
def data_sets() -> dict[str, tuple[Floats, NDArray[np.int64]]]:
    """Points and classes by name; the paper's data sets are scaled to [-1, 1]."""
    plane = np.random.RandomState(0).rand(800, 2)
    unequal = [400, 200, 100, 50, 30, 20]
    return {
        "wine": load_wine(return_X_y=True),
        "iris": load_iris(return_X_y=True),
        "glass": load_glass(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "blobs, k = 12": make_blobs(1200, 8, centers=12, cluster_std=4, random_state=0),
        "blobs, k = 20": make_blobs(1000, 5, centers=20, cluster_std=1, random_state=0),
        "blobs, unequal": make_blobs(unequal, 3, cluster_std=2, random_state=1),
        "plane": (plane, np.repeat(np.arange(8), 100)),
    }


@dataclass(frozen=True)
class Case:
    """A data set and the kind of its sizes: equal, true or free."""

    name: str
    mode: str

    @property
    def key(self) -> str:
        """Name of the case in best_known.json."""
        return f"{self.name}/{self.mode}"

    @property
    def points(self) -> Floats:
        """The rows to cluster."""
        return data_sets()[self.name][0]

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(np.unique(data_sets()[self.name][1]))

    @property
    def constraints(self) -> list[ClusterSizes]:
        """The rule on the sizes; none if they are free."""
        if self.mode == "free":
            return []
        if self.mode == "true":
            return [ClusterSizes(np.unique(data_sets()[self.name][1], return_counts=True)[1])]
        n = len(self.points)
        return [ClusterSizes(n // self.k + (np.arange(self.k) < n % self.k))]


def cases(names: list[str] | None = None) -> Iterator[Case]:
    """All cases; true sizes only where they are not equal."""
    for name, (_, classes) in data_sets().items():
        if names and name not in names:
            continue
        count = np.unique(classes, return_counts=True)[1]
        for mode in MODES:
            if mode != "true" or np.ptp(count) > 1:
                yield Case(name, mode)


def full(case: Case, seed: int, **options: object) -> float:
    """Objective of corral from one random start."""
    given = {"init": "random", "n_init": 1, "random_state": seed, **options}
    model = ConstrainedKMeans(case.k, **given)
    return float(model.fit(case.points, constraints=case.constraints).inertia_)


def one_descent(case: Case, seed: int) -> float:
    """Objective of one descent from a random start; infinite if rules stay broken."""
    problem = problem_of(case.points, case.constraints, case.k)
    random_state = np.random.RandomState(seed)
    start = make_start(problem.rules, problem.rows, "random", random_state)
    shape = MeansShape(problem.near, case.k)
    budget = Budget.of(shape.shape, case.k, 1.0, problem.deadline)
    found = Descender(problem.rules, shape, budget, random_state).from_clusters(start.centers)
    return np.inf if found is None else problem.objective(found.objective)


@dataclass
class Row:
    """Objectives of one case over the seeds."""

    case: Case
    full: Floats
    descent: Floats
    lloyd: Floats
    seconds: float

    def lowest(self) -> float:
        """The lowest objective of this run."""
        return float(min(o.min() for o in (self.full, self.descent, self.lloyd) if len(o)))

    def meets(self, best: float) -> bool:
        """Whether the gaps meet the targets."""
        gap = 100 * (self.full / best - 1)
        if self.case.mode == "free":
            return bool(gap.mean() <= 100 * (self.lloyd.mean() / best - 1) + 1e-9)
        return bool(gap.mean() <= MEAN_GAP and gap.max() <= WORST_GAP)

    def line(self, best: float) -> str:
        """A row of the table."""
        cells = [
            f"{_gap(o.mean(), best)} / {_gap(o.max(), best)}" for o in (self.full, self.descent)
        ]
        cells.append(_gap(self.lloyd.mean(), best) if len(self.lloyd) else "")
        verdict = "yes" if self.meets(best) else "NO"
        parts = [
            self.case.name,
            self.case.mode,
            f"{best:.6g}",
            *cells,
            f"{self.seconds:.2f}",
            verdict,
        ]
        return "| " + " | ".join(parts) + " |"


def _gap(objective: float, best: float) -> str:
    """Gap in per cent; adding 0 turns a rounded -0 into 0."""
    return f"{round(100 * (objective / best - 1), 3) + 0.0:.3f}"


def measure(case: Case, n_seeds: int) -> Row:
    """Run all methods on one case."""
    begun = time.perf_counter()
    objectives = np.array([full(case, seed) for seed in range(n_seeds)])
    seconds = (time.perf_counter() - begun) / n_seeds
    descents = np.array([one_descent(case, seed) for seed in range(n_seeds)])
    free = case.mode == "free"
    runs = [lloyd(case.points, case.k, LLOYD_RUNS, seed) for seed in range(n_seeds if free else 0)]
    return Row(case, objectives, descents, np.array(runs), seconds)


def search_longer(case: Case) -> float:
    """The lowest objective of many restarts, for the best known value."""
    best = full(case, 0, init="k-means++", n_init=30)
    return min(best, lloyd(case.points, case.k, 200, 0)) if case.mode == "free" else best


HEADER = """\
| data | sizes | best known | corral: mean / max gap, % | one descent | \
best of 5 k-means++, mean gap, % | seconds per fit | target met |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def title(n_seeds: int) -> str:
    """The text above the table."""
    return (
        f"# The influence of the start\n\n{n_seeds} random starts for each row, `n_init=1`. "
        "A gap is the relative difference of the objective to the best known one, in per cent. "
        f"Targets: with sizes, a mean gap of at most {MEAN_GAP} and a largest gap of at most "
        f"{WORST_GAP}; without sizes (free), a mean gap not above that of the best of five "
        "k-means++ runs.\n"
        "Written by `python benchmarks/quality_start.py --write`.\n"
    )


def main() -> int:
    """Run all cases, print the table, and write what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10, help="random starts per case")
    parser.add_argument("--only", nargs="+", choices=list(data_sets()), help="data sets to run")
    parser.add_argument("--update", action="store_true", help="lower the best known values")
    parser.add_argument("--write", action="store_true", help=f"write the table to {TABLE.name}")
    options = parser.parse_args()
    known = json.loads(BEST_KNOWN.read_text()) if BEST_KNOWN.exists() else {}
    lines, fine = [title(options.seeds), HEADER], True
    print(*lines, sep="\n", flush=True)
    for case in cases(options.only):
        row = measure(case, options.seeds)
        if options.update:
            known[case.key] = min(known.get(case.key, np.inf), row.lowest(), search_longer(case))
            BEST_KNOWN.write_text(json.dumps(known, indent=2) + "\n")
        best = known.get(case.key, row.lowest())
        fine &= row.meets(best)
        lines.append(row.line(best))
        print(lines[-1], flush=True)
    if options.write:
        TABLE.write_text("\n".join(lines) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
