"""What labels break and cost, in plain NumPy: no line of corral counts here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from .rules import Floats, Ints, Rules

#: Share of the sum of magnitudes by which a sum may miss its bound, for rounding.
ROUNDING = 1e-9


def excesses(rules: Rules, labels: Ints) -> Floats:
    """By how much each hard rule is broken, 0 where it is obeyed."""
    k = rules.k
    found = [np.zeros(0)]
    for sign, links in ((True, rules.must), (False, rules.cannot)):
        for pairs, price in links:
            same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
            found.append(((same != sign) & np.isinf(price)).astype(float))
    found += [(labels[pins[:, 0]] != pins[:, 1]).astype(float) for pins in rules.pins]
    found += [((known >= 0) & (labels != known)).astype(float) for known in rules.labels]
    count = np.bincount(labels, minlength=k)
    for low, high, ordered in rules.sizes:
        gap = np.maximum(low[None, :] - count[:, None], 0)
        gap = gap + np.maximum(count[:, None] - high[None, :], 0)
        found.append(np.diag(gap) if ordered else gap[linear_sum_assignment(gap)])
    for values, low, high in rules.totals:
        found.append(_outside(_sums(labels, values, k), low, high, _sums(labels, abs(values), k)))
    for groups, minimum, maximum in rules.shares:
        for group in np.unique(groups):
            inside = _sums(labels, groups == group, k)
            low, high = minimum.get(group, 0.0) * count, maximum.get(group, 1.0) * count
            found.append(_outside(inside, low, high, count))
    for A, low, high in rules.linear:
        x = np.zeros(A.shape[1])
        x[np.arange(len(labels)) * k + labels] = 1.0
        found.append(_outside(A @ x, low, high, abs(A) @ x))
    return np.concatenate(found)


def prices_paid(rules: Rules, labels: Ints) -> float:
    """Sum of the prices of the soft links that the labels break."""
    paid = 0.0
    for sign, links in ((True, rules.must), (False, rules.cannot)):
        for pairs, price in links:
            same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
            paid += float(price[(same != sign) & np.isfinite(price)].sum())
    return paid


def inertia(X: Any, labels: Ints, k: int, weight: Floats | None) -> float:
    """Weighted sum of the squared distances to the weighted mean of one's own cluster."""
    w = np.ones(len(labels)) if weight is None else weight
    if sparse.issparse(X):
        X = X.astype(np.float64)
        member = sparse.csr_array((w, (labels, np.arange(len(labels)))), (k, len(labels)))
        sums, mass = (member @ X).toarray(), np.bincount(labels, w, k)
        squares = float(w @ np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return squares - float(((sums**2).sum(axis=1) / np.where(mass > 0, mass, 1.0)).sum())
    total = 0.0
    for j in range(k):
        own = labels == j
        points = np.asarray(X[own], np.float64)
        if len(points) and w[own].sum() > 0:
            offset = points - np.average(points, axis=0, weights=w[own])
            total += float(w[own] @ (offset * offset).sum(axis=1))
    return total


def _sums(labels: Ints, values: Any, k: int) -> Floats:
    return np.bincount(labels, np.asarray(values, float), k)


def _outside(value: Floats, low: Floats, high: Floats, size: Floats) -> Floats:
    excess = np.maximum(np.maximum(low - value, value - high), 0.0)
    return np.where(excess > ROUNDING * np.maximum(size, 1e-300), excess, 0.0)
