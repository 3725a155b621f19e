"""The speed of Algorithm 1, compared with a dense implementation and for growing numbers of points.

Run ``python benchmarks/algorithm1_speed.py``; ``--help`` lists the options.  The dense
implementation is the reference of the tests: it builds the paper's nk x nk matrices, the constant
parts only once, and solves the linear systems with LAPACK.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, make_blobs
from threadpoolctl import threadpool_limits

from corral.admm.algorithm1 import PaperRules, start, step
from corral.admm.algorithm1.data import Data

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "admm"))
from literal import Literal

#: Penalty of all steps; the time of a step does not depend on it.
RHO = 20.0
#: Target: the dense step must take at least this many times as long.
NEEDED = 100.0
Labels = NDArray[np.int64]
State = TypeVar("State")


def random_pairs(classes: Labels, count: int, seed: int) -> tuple[Labels, Labels]:
    """Draw ``count`` pairs of the same class and ``count`` pairs of different classes."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, len(classes), (40 * count + 100, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return pairs[same][:count], pairs[~same][:count]


def seconds_each(advance: Callable[[State], State], state: State, budget: float) -> float:
    """Least time of a step, over at least three steps and at least ``budget`` seconds."""
    state = advance(state)  # the first step also builds what is stored for the others
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        begun = time.perf_counter()
        state = advance(state)
        times.append(time.perf_counter() - begun)
    return min(times)


def against_dense(budget: float) -> float:
    """Print iterations per second of both implementations on breast cancer; return their ratio."""
    points, classes = load_breast_cancer(return_X_y=True)
    points = 2 * (points - points.min(axis=0)) / np.ptp(points, axis=0) - 1
    must_link, cannot_link = random_pairs(classes, 100, seed=0)
    sizes = np.bincount(classes).astype(np.float64)
    labels = np.random.default_rng(0).permutation(classes)

    rules = PaperRules(must_link, cannot_link, sizes.astype(np.int64))
    data = Data.of(points, 2, rules)
    fast = seconds_each(partial(step, data=data, rho=RHO), start(data, labels), budget)
    literal = Literal(points.T, 2, must_link, cannot_link, sizes)
    dense = seconds_each(partial(literal.step, rho=RHO), literal.start(labels), budget)
    matrix, right = literal.constant_x_matrix, literal.start(labels).x
    solves = 4 * seconds_each(partial(np.linalg.solve, matrix), right, budget)

    print("Breast cancer, n = 569, k = 2, d = 30, 100 + 100 pairs, exact sizes")
    print(f"{'':>24}  {'ms/iteration':>12}  {'iterations/s':>12}  {'ratio':>8}")
    rows = {"algorithm1": fast, "dense": dense, "dense, solves only": solves}
    for name, seconds in rows.items():
        ratio = seconds / fast
        print(f"{name:>24}  {1e3 * seconds:12.3f}  {1 / seconds:12.1f}  {ratio:8.0f}")
    print(f"{'target for dense':>24}  {'':>12}  {'':>12}  {NEEDED:8.0f}\n")
    return dense / fast


def growth(counts: list[int], budget: float) -> float:
    """Print the time of an iteration for each n; return the exponent of the fitted power law."""
    print("Blobs, d = 10, k = 5, exact sizes, n/10 must-links and n/10 cannot-links")
    print(f"{'n':>12}  {'ms/iteration':>12}  {'us/point':>12}")
    times = []
    for n in counts:
        points, classes = make_blobs(n, 10, centers=5, random_state=0)
        points /= np.abs(points).max()
        rules = PaperRules(*random_pairs(classes, n // 10, 0), np.bincount(classes))
        data = Data.of(points, 5, rules)
        advance = partial(step, data=data, rho=RHO)
        times.append(seconds_each(advance, start(data, classes), budget))
        print(f"{n:12,}  {1e3 * times[-1]:12.3f}  {1e6 * times[-1] / n:12.3f}")
    exponent = float(np.polyfit(np.log(counts), np.log(times), 1)[0])
    print(f"{'exponent':>12}  {exponent:12.2f}  (linear: 1)\n")
    return exponent


def main() -> int:
    """Print both tables; return 1 if the ratio is below the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--points",
        type=int,
        nargs="+",
        metavar="N",
        default=[1_000, 3_000, 10_000, 30_000, 100_000],
        help="numbers of points to time",
    )
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each timing")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
    options = parser.parse_args()
    with threadpool_limits(options.threads):
        ratio = against_dense(options.budget)
        growth(options.points, options.budget)
    return 0 if ratio >= NEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
