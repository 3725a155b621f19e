"""The assignment of some groups, with the others fixed."""

from __future__ import annotations

import numpy as np

from ..._typing import BoolArray, FloatArray, IntArray
from ...presolve import Rules


def restricted(
    rules: Rules, cost: FloatArray, labels: IntArray, chosen: BoolArray
) -> tuple[Rules, FloatArray]:
    """Rules and costs of the chosen groups, the others being where the labels have them.

    What the others take is taken off the bounds; their pairs with chosen groups become costs.
    """
    soft, left = rules.soft, cost[chosen]
    for pairs, together in ((rules.apart, False), (rules.together, True)):
        hard = np.full(len(pairs), np.inf)
        _charge(left, pairs, hard, np.full(len(pairs), together), labels, chosen)
    _charge(left, soft.pairs, soft.price, soft.together, labels, chosen)
    return rules.less(labels, chosen), left


def _charge(
    left: FloatArray,
    pairs: IntArray,
    price: FloatArray,
    together: BoolArray,
    labels: IntArray,
    chosen: BoolArray,
) -> None:
    """Add to the costs of the chosen groups what their pairs with the others cost."""
    number = np.cumsum(chosen) - 1
    for a, b in (pairs.T, pairs.T[::-1]):
        half = chosen[a] & ~chosen[b]
        rows, clusters = number[a[half]], labels[b[half]]
        same = np.where(together[half], 0.0, price[half])
        differ = np.where(together[half], price[half], 0.0)
        extra = np.repeat(differ[:, None], left.shape[1], axis=1)
        extra[np.arange(len(rows)), clusters] = same
        np.add.at(left, rows, extra)
