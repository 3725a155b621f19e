"""The pictures of docs/proof.md: how the gap falls, and how it grows with rows and clusters.

    python benchmarks/proof_pictures.py

Both count iterations and not seconds, so that they do not depend on the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import make_blobs

from corral import ConstrainedKMeans
from corral.constraints import ConstraintSet
from corral.deadline import NEVER
from corral.proof.ascent import Ascent
from corral.proof.relaxation import Grouped

sys.path.insert(0, str(Path(__file__).resolve().parent))
from proof import data, equal, free, links, unequal

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
#: Gaps below this count as closed, in per cent.
CLOSED = 1e-4


def gaps_over(X: np.ndarray, k: int, rules: list[Any], iterations: range) -> list[float]:
    """The gap in per cent after each number of iterations."""
    model = ConstrainedKMeans(k, n_init=3, random_state=0).fit(X, constraints=rules)
    upper, left = model.inertia_, []
    search = Ascent(Grouped.of(X, None, ConstraintSet(rules), k).relaxation())
    for most in iterations:
        if not search.closes(upper):
            search.run(NEVER, upper, most=most)
        left.append(max(100.0 * (upper - search.best) / upper, CLOSED))
    return left


def falling(ax: plt.Axes, name: str) -> None:
    """How the gap of one data set falls, for four kinds of rules."""
    X, y = data(name)
    iterations = range(50, 401, 50)
    for rules in (free, equal, unequal, links):
        left = gaps_over(X, len(np.unique(y)), rules(y), iterations)
        print(name, rules.__name__, [f"{gap:.4f}" for gap in left], flush=True)
        ax.semilogy(list(iterations), left, marker="o", markersize=3, label=rules.__name__)
    ax.set(xlabel="iterations", ylabel="gap in %", title=name, ylim=(CLOSED / 2, 100))
    ax.axhline(CLOSED, color="0.8", linewidth=0.8)
    ax.legend(frameon=False)


def growing(ax: plt.Axes) -> None:
    """The gap of blobs that overlap, over rows and clusters."""
    rows = (50, 100, 200, 300)
    for k in (3, 6, 10):
        left = []
        for n in rows:
            X, _ = make_blobs(n, 4, centers=k, cluster_std=3.0, random_state=0)
            left.append(gaps_over(X, k, [], range(400, 401))[-1])
        print("k", k, [f"{gap:.4f}" for gap in left], flush=True)
        ax.semilogy(rows, left, marker="o", markersize=3, label=f"k = {k}")
    ax.set(xlabel="rows", ylabel="gap in %", title="blobs, free", ylim=(CLOSED / 2, 100))
    ax.axhline(CLOSED, color="0.8", linewidth=0.8)
    ax.legend(frameon=False)


def main() -> None:
    """Draw and write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    falling(axes[0], "iris")
    falling(axes[1], "wine")
    growing(axes[2])
    figure.savefig(IMAGES / "proof_gaps.png", dpi=120)


if __name__ == "__main__":
    main()
