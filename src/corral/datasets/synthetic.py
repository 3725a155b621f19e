"""The two synthetic data sets of the paper, and random links that agree with known classes.

The data sets are rebuilt from the text and the figure captions of the paper, which gives no
generator.  It says: 700 points in two clusters; *Balanced* has 350 and 350 points in four groups,
two of them dense, and k-means joins the dense groups; *ImBalanced* has 600 and 100 points of
different density with a gap y between the clusters.  The shapes and sizes below are our choice;
with them k-means gives the results of table 3 in the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from .._typing import FloatArray, IntArray
from ..constraints import CannotLink, MustLink

#: Number of points in a dense and in a thin group of the balanced set.
DENSE, THIN = 250, 100
#: Numbers of points, and radii, of the two discs of the imbalanced set.
LARGE, SMALL = 600, 100
LARGE_RADIUS, SMALL_RADIUS = 3.0, 1.65

Seed = int | np.random.RandomState | None


def make_balanced(
    x_gap: float = 2.0, y_gap: float = 2.0, *, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    """Make two clusters of 350 points side by side, each a dense group above a thin one.

    The four groups are unit squares with uniform points: 250 points in each of the upper squares,
    100 in each of the lower ones.  The left squares are cluster 0, the right squares cluster 1.
    If both gaps are equal, the optimum of k-means separates left from right.  A local optimum
    separates dense from thin groups (500 and 200 points); about a third of the runs of k-means
    from random points end there.  Its adjusted Rand index with the clusters is 0.

    Parameters
    ----------
    x_gap, y_gap : float, default=2.0
        Distance between the left and the right squares, and between the upper and the lower ones.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : (700, 2) array
    y : (700,) int array

    Examples
    --------
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
    """Make a disc of 600 points and above it a smaller, less dense disc of 100 points.

    The discs have the radii 3 and 1.65 and uniform points; the large disc is nearly twice as
    dense.  K-means does not know the sizes and adds the upper part of the large disc to the small
    cluster.  Its adjusted Rand index is about 0.30, give or take 0.05 between samples.

    Parameters
    ----------
    gap : float, default=0.1
        Smallest distance between the two discs.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X, y
        Points and clusters, as for :func:`make_balanced`.

    Examples
    --------
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
    """Draw uniform points in a disc around the origin."""
    angle = rng.uniform(size=size) * 2.0 * np.pi
    # The area within a distance grows with its square, hence the square root.
    distance = radius * np.sqrt(rng.uniform(size=size))
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def _check_gap(name: str, gap: float) -> None:
    if not 0.0 <= gap < np.inf:
        raise ValueError(f"`{name}` is {gap!r}; it must be a finite number of at least 0.")


def random_links(
    y: ArrayLike,
    n_must_link: int,
    n_cannot_link: int,
    *,
    random_state: Seed = None,
) -> tuple[MustLink, CannotLink]:
    """Draw must-links inside the classes of `y` and cannot-links between them.

    Every pair of rows of one class is equally likely to become a must-link, and every pair of
    rows of two classes a cannot-link.  No pair is drawn twice.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row.
    n_must_link, n_cannot_link : int
        Number of must-links and of cannot-links.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    must_link : MustLink
    cannot_link : CannotLink
        Both know the number of rows, and data of another length are refused.

    Examples
    --------
    >>> must_link, cannot_link = random_links([0, 0, 1, 1], 2, 4, random_state=0)
    >>> sorted(must_link.pairs.tolist())
    [[0, 1], [2, 3]]
    >>> sorted(cannot_link.pairs.tolist())
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    """
    classes = np.asarray(y)
    if classes.ndim != 1:
        raise ValueError(f"`y` has shape {classes.shape}; it must have one class for each row.")
    rng = check_random_state(random_state)
    _, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    position = np.arange(len(order))
    # Rows are sorted by class: row i is followed by the rest of its class, then by later classes.
    end = np.repeat(np.cumsum(counts), counts)
    inside = _draw("n_must_link", n_must_link, position + 1, end, rng)
    between = _draw("n_cannot_link", n_cannot_link, end, np.full_like(end, len(order)), rng)
    # The smaller row number comes first.
    must, cannot = (np.sort(order[pairs], axis=1) for pairs in (inside, between))
    n = len(classes) or None
    return MustLink(must, n_samples=n), CannotLink(cannot, n_samples=n)


def _draw(
    name: str, size: int, first: IntArray, last: IntArray, rng: np.random.RandomState
) -> IntArray:
    """Draw `size` of the pairs (i, p) with ``first[i] <= p < last[i]``, each at most once.

    The pairs are numbered row by row.  A binary search converts a number to its pair, so no list
    of all pairs is needed.
    """
    start = np.concatenate([[0], np.cumsum(last - first)])
    if not 0 <= size <= start[-1]:
        raise ValueError(f"`{name}` is {size}, but `y` allows 0 to {start[-1]} such pairs.")
    numbers = sample_without_replacement(int(start[-1]), int(size), random_state=rng)
    left = np.searchsorted(start, numbers, side="right") - 1
    return np.column_stack([left, first[left] + numbers - start[left]])
