"""Problems as the estimator makes them, for tests of what comes after presolve."""

from __future__ import annotations

import numpy as np

from corral import ConstrainedKMeans
from corral.problem import Problem
from corral.rows import MemoryTable
from corral.rules import presolve
from corral.settings import make_settings


def settings_of(shape, k, **params):
    """The settings of an estimator with these parameters."""
    return make_settings(ConstrainedKMeans(k, **params).get_params(deep=False), shape)


def problem_of(X, rules, k, weight=None, **params):
    """Rules and rows of data in memory."""
    given = presolve(rules, X.shape[0], k)
    rows = MemoryTable(X, weight).rows(given.group)
    return Problem.of(given, rows, settings_of(X.shape, k, **params))


def uniform(n, d=2, seed=0):
    """Points without clusters."""
    return np.random.default_rng(seed).random((n, d))
