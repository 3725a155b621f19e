"""Problems as the estimator makes them, for tests of what comes after presolve."""

from __future__ import annotations

import numpy as np

from corral import ConstrainedKMeans
from corral.plan import Facts, Plan
from corral.presolve import presolve
from corral.problem import Problem
from corral.rows import MemoryTable
from corral.settings import make_settings


def settings_of(shape, k, **params):
    """The settings of an estimator with these parameters."""
    return make_settings(ConstrainedKMeans(k, **params).get_params(deep=False), shape)


def problem_of(X, rules, k, weight=None, *, part_of=None, **params):
    """Rules, rows and plan of data in memory."""
    given = presolve(rules, X.shape[0], k)
    rows = MemoryTable(X, weight).rows(given.group)
    return Problem.of(given, rows, settings_of(X.shape, k, **params), part_of)


def plan_of(rules, n, k, *, facts=None, part_of=None, **params):
    """The plan for data of which only the shape is known."""
    given = presolve(rules, n, k)
    return Plan.of(given, facts or Facts(), settings_of((n, 2), k, **params), part_of)


def uniform(n, d=2, seed=0):
    """Points without clusters."""
    return np.random.default_rng(seed).random((n, d))
