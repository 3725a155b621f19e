"""Random links that agree with known classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from .._typing import IntArray
from ..constraints import CannotLink, MustLink


def random_links(
    y: ArrayLike,
    n_must_link: int,
    n_cannot_link: int,
    *,
    random_state: int | np.random.RandomState | None = None,
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

    Examples
    --------
    >>> from corral.datasets import random_links
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
    return MustLink(_rows(order, inside)), CannotLink(_rows(order, between))


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


def _rows(order: IntArray, positions: IntArray) -> IntArray:
    """Convert pairs of positions to pairs of row numbers, the smaller number first."""
    return np.sort(order[positions], axis=1)
