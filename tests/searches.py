"""Searches of small problems, for tests of their parts."""

from __future__ import annotations

import numpy as np
from problems import problem_of

from corral.deadline import NEVER, OutOfTime
from corral.search.budget import Budget
from corral.search.descent import Descender
from corral.search.engine import search
from corral.search.shape import MeansShape, size_of
from corral.search.vary import Variation


def late():
    """What is asked for an answer, or told of one, when time is over."""
    raise OutOfTime


class Small:
    """A problem with all that a search of it takes."""

    def __init__(self, X, rules, k, *, effort=1.0, seed=0, until=NEVER):
        self.problem, self.random_state = problem_of(X, rules, k), np.random.RandomState(seed)
        self.rules, self.shape = self.problem.rules, MeansShape(self.problem.near, k)
        self.budget = Budget.of(size_of(self.problem.near), k, effort, until)
        self.descender = Descender(self.rules, self.shape, self.budget, self.random_state)
        self.variation = Variation(self.rules, self.shape, self.random_state)
        self.told = []

    def seeds(self):
        """A maker of centres that are rows drawn at random."""
        m, k = self.rules.n_groups, self.rules.n_clusters
        return self.problem.near.seeds(k, np.arange(m), self.random_state)

    def search(self, makers=3, rescue=late, made=lambda: None):
        """The answers of a search from so many sets of seeds, or from makers."""
        if isinstance(makers, int):
            makers = [("seeds", self.seeds)] * makers
        return search(
            self.descender,
            self.variation,
            makers,
            lambda name, answer: self.told.append((name, answer)),
            rescue,
            made,
        )
