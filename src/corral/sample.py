"""The groups that ADMM sees: all, or a sample of many.

Some thousands of points show where the clusters are as well as millions.  ADMM finds that out on a
sample, with rules in proportion; the exact assignment and the polish after it see every group.
"""

from __future__ import annotations

import numpy as np

from ._typing import IntArray
from .plan.thresholds import MOST_PINNED
from .presolve import Rules
from .problem import Problem


def sample(
    problem: Problem, random_state: np.random.RandomState
) -> tuple[Problem, IntArray | None]:
    """The problem that ADMM sees, and its groups; None where it sees all."""
    size = problem.plan.sample
    if size == problem.rules.n_groups:
        return problem, None
    groups = draw(problem.rules, size, random_state)
    return problem.part(groups), groups


def draw(rules: Rules, size: int, random_state: np.random.RandomState) -> IntArray:
    """Groups drawn at random, in order; those that pins tie to a cluster are among them.

    Where pins are many they are drawn as often as others.
    """
    # A generator of its own draws a few of many without shuffling all.
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    pinned = np.unique(rules.pins[:, 0])
    if not len(pinned) or len(pinned) > MOST_PINNED * size:
        return np.sort(rng.choice(rules.n_groups, size, replace=False, shuffle=False))
    others = np.setdiff1d(np.arange(rules.n_groups), pinned, assume_unique=True)
    drawn = rng.choice(others, size - len(pinned), replace=False, shuffle=False)
    return np.sort(np.concatenate([pinned, drawn]))
