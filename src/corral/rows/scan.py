"""The cheapest cluster of every row at given prices, and by how much it is the cheapest."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray

#: Rows looked at together, so that the work arrays stay in the cache.
BLOCK = 8192

#: With so many clusters a row is long enough for reductions along it to be fast.
LONG_ROWS = 24


def scan(cost: FloatArray, prices: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cheapest cluster of each row at the prices.

    Parameters
    ----------
    cost : (m, k) array
        Infinite where a row may not go.
    prices : (k,) array

    Returns
    -------
    labels : (m,) array
        ``argmin_j cost[i, j] + prices[j]``, the first of equals.
    best, margin : (m,) arrays
        That minimum, and what the next best cluster costs more; infinite if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> scan(np.array([[1.0, 4.0], [5.0, 3.0]]), np.array([0.0, 1.0]))
    (array([0, 1]), array([1., 4.]), array([4., 1.]))
    """
    m, k = cost.shape
    labels, best, margin = np.zeros(m, np.int64), np.empty(m), np.full(m, np.inf)
    look = _along_rows if k >= LONG_ROWS else _across_clusters
    for start in range(0, m, BLOCK):
        part = slice(start, start + BLOCK)
        look(cost[part], prices, labels[part], best[part], margin[part])
    with np.errstate(invalid="ignore"):  # a row that may go nowhere: infinity less infinity
        margin -= best
    return labels, best, margin


def _along_rows(
    cost: FloatArray, prices: FloatArray, labels: IntArray, best: FloatArray, second: FloatArray
) -> None:
    priced = cost + prices
    rows = np.arange(len(cost))
    np.argmin(priced, axis=1, out=labels)
    best[:] = priced[rows, labels]
    priced[rows, labels] = np.inf
    np.min(priced, axis=1, out=second)


def _across_clusters(
    cost: FloatArray, prices: FloatArray, labels: IntArray, best: FloatArray, second: FloatArray
) -> None:
    priced = np.empty(cost.shape[::-1])
    np.add(cost.T, prices[:, None], out=priced)
    best[:] = priced[0]
    larger = np.empty(len(cost))
    for j in range(1, len(prices)):
        np.maximum(best, priced[j], out=larger)
        np.minimum(second, larger, out=second)
        labels[priced[j] < best] = j
        np.minimum(best, priced[j], out=best)
