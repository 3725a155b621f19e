"""Objectives of labels by cosine and by great circles, and the best labels by trying all."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics.pairwise import haversine_distances

from corral import ConstraintSet

RADIUS = 6371.0088


def cosine_objective(X, labels, weight=None):
    """Sum of w (1 - cos) to the best centres: the weight less the length of the sum of each."""
    weight = np.ones(len(X)) if weight is None else weight
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    return sum(
        weight[labels == j].sum() - np.linalg.norm(weight[labels == j] @ units[labels == j])
        for j in np.unique(labels)
    )


def arcs(X, Y):
    """Great-circle distances in kilometres."""
    return RADIUS * haversine_distances(np.radians(X), np.radians(Y))


def in_space(X):
    """Unit vectors of latitudes and longitudes in degrees."""
    lat, lon = np.radians(X).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def least_arcs(X, weight):
    """Least weighted sum of squared arcs to one point, by a search over directions in space."""
    units = in_space(X)

    def worth(direction):
        cosine = units @ direction / np.linalg.norm(direction)
        return float(weight @ np.arccos(np.clip(cosine, -1.0, 1.0)) ** 2)

    start = weight @ units
    options = {"xatol": 1e-6, "fatol": 1e-13}
    found = minimize(worth, start / np.linalg.norm(start), method="Nelder-Mead", options=options)
    return RADIUS**2 * found.fun


def arc_objective(X, weight=None):
    """The objective of labels as a function; sums of sets of rows are computed once."""
    weight = np.ones(len(X)) if weight is None else weight

    @cache
    def of_rows(rows):
        return least_arcs(X[list(rows)], weight[list(rows)])

    def objective(labels):
        return sum(of_rows(tuple(np.flatnonzero(labels == j))) for j in np.unique(labels))

    return objective


def least(n, k, rules, objective):
    """The least objective of all labels that break no rule."""
    given = ConstraintSet(rules)
    values = (
        objective(labels)
        for labels in map(np.array, product(range(k), repeat=n))
        if not any(rule.violations(labels, k).count for rule in given)
    )
    return min(values)
