"""The paper's two synthetic sets, rebuilt from its text and figure caption.

The paper prints no generator.  What it says: 700 points in two clusters; *Balanced* has 350 and
350 in four groups, two of them dense, and k-means joins the dense ones; *ImBalanced* has 600 and
100 of different density with a gap y between them.  The shapes and sizes below are ours, chosen
so that k-means does on them what the paper's table 3 says.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from .._typing import FloatArray, IntArray

#: Points of a dense and of a thin group of the balanced set; its groups are unit squares.
DENSE, THIN = 250, 100
#: Points and radii of the two discs of the imbalanced set.
LARGE, SMALL = 600, 100
LARGE_RADIUS, SMALL_RADIUS = 3.0, 1.65

Seed = int | np.random.RandomState | None


def make_balanced(
    x_gap: float = 2.0, y_gap: float = 2.0, *, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    """Two clusters of 350 points side by side, each a dense group above a thin one.

    The four groups are unit squares in which the points are uniform: 250 in each of the upper
    two, 100 in each of the lower two.  The left two are cluster 0, the right two cluster 1.  The
    cut between left and right is the optimum of k-means where both gaps are equal, but the cut
    between dense and thin (500 and 200 points) is a local optimum, in which about a third of the
    runs from random points ends; it has nothing in common with the clusters (ARI 0).

    Parameters
    ----------
    x_gap, y_gap : float, default=2.0
        Gap between the left and the right squares, and between the upper and the lower ones.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : (700, 2) array
    y : (700,) int array

    Examples
    --------
    >>> from corral.datasets import make_balanced
    >>> X, y = make_balanced(x_gap=3, y_gap=3, random_state=0)
    >>> X.shape, y.tolist().count(0), y.tolist().count(1)
    ((700, 2), 350, 350)
    """
    _check_gap("x_gap", x_gap)
    _check_gap("y_gap", y_gap)
    rng = check_random_state(random_state)
    groups = [
        rng.uniform(size=(size, 2)) + np.array([side * (1.0 + x_gap), height * (1.0 + y_gap)])
        for side in (0, 1)
        for size, height in ((DENSE, 1), (THIN, 0))
    ]
    return np.concatenate(groups), np.repeat([0, 1], DENSE + THIN)


def make_imbalanced(gap: float = 0.1, *, random_state: Seed = None) -> tuple[FloatArray, IntArray]:
    """A disc of 600 points and above it a smaller, thinner one of 100, with a gap between.

    The discs have the radii 3 and 1.65 and the points are uniform in them, so that the large one
    is nearly twice as dense.  K-means knows no sizes and gives the small cluster the upper part of
    the large disc as well: its ARI is about 30, more or less by 5 from sample to sample.

    Parameters
    ----------
    gap : float, default=0.1
        Between the two discs, where they are nearest.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : (700, 2) array
    y : (700,) int array

    Examples
    --------
    >>> from corral.datasets import make_imbalanced
    >>> X, y = make_imbalanced(gap=0.3, random_state=0)
    >>> X.shape, y.tolist().count(0), y.tolist().count(1)
    ((700, 2), 600, 100)
    """
    _check_gap("gap", gap)
    rng = check_random_state(random_state)
    large = _disc(LARGE, LARGE_RADIUS, rng)
    small = _disc(SMALL, SMALL_RADIUS, rng)
    small[:, 1] += LARGE_RADIUS + gap + SMALL_RADIUS
    return np.concatenate([large, small]), np.repeat([0, 1], [LARGE, SMALL])


def _disc(size: int, radius: float, rng: np.random.RandomState) -> FloatArray:
    """Points uniform in a disc around the origin."""
    angle = rng.uniform(size=size) * 2.0 * np.pi
    # Areas grow with the square of the distance, hence the root.
    distance = radius * np.sqrt(rng.uniform(size=size))
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def _check_gap(name: str, gap: float) -> None:
    if not 0.0 <= gap < np.inf:
        raise ValueError(f"`{name}` is {gap!r}; it must be a finite number of at least 0.")
