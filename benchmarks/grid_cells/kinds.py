"""Kinds of data.  Each function gives an (n, d) array, or a CSR matrix, for k clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Random = np.random.Generator

#: Columns of most kinds.
COLUMNS = 8


def _mixture(n: int, centres: Array, spread: float, rng: Random, share: Any = None) -> Array:
    """Normal clouds around the centres, with the same or given shares of the rows."""
    which = rng.choice(len(centres), n, p=share)
    return centres[which] + spread * rng.standard_normal((n, centres.shape[1]))


def blobs(n: int, k: int, rng: Random) -> Array:
    """As many separated clouds as clusters."""
    return _mixture(n, rng.uniform(-10, 10, (k, COLUMNS)), 0.5, rng)


def overlapping(n: int, k: int, rng: Random) -> Array:
    """As many clouds as clusters, far into each other."""
    return _mixture(n, rng.standard_normal((k, COLUMNS)), 1.0, rng)


def normal(n: int, k: int, rng: Random) -> Array:
    """One normal distribution."""
    return rng.standard_normal((n, COLUMNS))


def uniform(n: int, k: int, rng: Random) -> Array:
    """Uniform in a cube."""
    return rng.uniform(0, 1, (n, COLUMNS))


def heavy(n: int, k: int, rng: Random) -> Array:
    """Heavy tails: t with two degrees of freedom."""
    return rng.standard_t(2, (n, COLUMNS))


def zipf(n: int, k: int, rng: Random) -> Array:
    """Separated clouds whose populations fall as 1, 1/2, 1/3, ..."""
    share = 1.0 / np.arange(1, k + 1)
    return _mixture(n, rng.uniform(-10, 10, (k, COLUMNS)), 0.7, rng, share / share.sum())


def duplicates(n: int, k: int, rng: Random) -> Array:
    """Every row about ten times."""
    return rng.standard_normal((max(n // 10, 1), COLUMNS))[rng.integers(max(n // 10, 1), size=n)]


def integers(n: int, k: int, rng: Random) -> Array:
    """A grid of integers: many equal distances."""
    return rng.integers(0, 4, (n, COLUMNS)).astype(np.float64)


def curve(n: int, k: int, rng: Random) -> Array:
    """A closed curve with a little noise."""
    angle = rng.uniform(0, 2 * np.pi, (n, 1))
    turns = np.arange(1, COLUMNS // 2 + 1)
    rows = np.hstack([np.cos(turns * angle) / turns, np.sin(turns * angle) / turns])
    return rows + 0.01 * rng.standard_normal(rows.shape)


def lowrank(n: int, k: int, rng: Random) -> Array:
    """40 columns of rank 3, with a little noise."""
    rows = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 40))
    return rows + 0.05 * rng.standard_normal(rows.shape)


def outliers(n: int, k: int, rng: Random) -> Array:
    """One normal distribution, and 1 % of the rows a hundred times as far."""
    rows = rng.standard_normal((n, COLUMNS))
    far = rng.choice(n, max(n // 100, 1), replace=False)
    rows[far] *= 100.0
    return rows


def clump(n: int, k: int, rng: Random) -> Array:
    """A dense clump of 90 % of the rows; the others are far from it and from each other."""
    rows = 0.01 * rng.standard_normal((n, COLUMNS))
    far = rng.choice(n, n // 10, replace=False)
    rows[far] = rng.uniform(-10, 10, (len(far), COLUMNS))
    return rows


def text(n: int, k: int, rng: Random) -> Any:
    """Rows as of short texts: about twenty of 1,000 columns, in topics, with unit lengths."""
    words, length = 1000, 20
    common = 1.0 / np.arange(1, words + 1)
    topics = rng.permuted(np.tile(common / common.sum(), (k, 1)), axis=1).cumsum(axis=1)
    topic = rng.integers(k, size=n)
    row = np.repeat(np.arange(n), length)
    column = np.empty(n * length, dtype=np.int64)
    drawn = rng.uniform(0, 1, (n, length))
    for t in range(k):
        column.reshape(n, length)[topic == t] = np.searchsorted(topics[t], drawn[topic == t])
    column = np.minimum(column, words - 1)
    loose = rng.uniform(size=len(column)) < 0.3
    column[loose] = rng.integers(words, size=int(loose.sum()))
    counts = sparse.csr_matrix((np.ones(len(column)), (row, column)), shape=(n, words))
    lengths = np.sqrt(counts.multiply(counts).sum(axis=1)).A1
    return sparse.csr_matrix(sparse.diags(1.0 / lengths) @ counts)


def offset(n: int, k: int, rng: Random) -> Array:
    """Clouds of tiny scale far from the origin."""
    return 1e5 + 1e-4 * _mixture(n, rng.standard_normal((k, COLUMNS)), 0.5, rng)


KINDS: dict[str, Callable[[int, int, Random], Any]] = {
    kind.__name__: kind
    for kind in (
        blobs,
        overlapping,
        normal,
        uniform,
        heavy,
        zipf,
        duplicates,
        integers,
        curve,
        lowrank,
        outliers,
        clump,
        text,
        offset,
    )
}
