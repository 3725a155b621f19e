"""Answers that are kept as parents, and what happened to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .. import numbers as at
from .budget import Budget
from .descent import Answer


@dataclass
class Population:
    """The best answers, and how many children had no success since the last one that had.

    As many as ``patience`` end the search; ``ended`` says what did.
    """

    random_state: np.random.RandomState
    patience: float
    most: int
    answers: list[Answer] = field(default_factory=list)
    tried: int = 0
    kept: int = 0
    without_success: int = 0
    best: Answer | None = None
    ended: str = "the deadline"

    def add(self, answer: Answer | None, parent: Answer | None = None) -> bool:
        """Keep an answer if it is good enough; whether it is the best so far.

        A child takes the place of its parent if its objective is lower.  An answer without a parent
        is kept unless an equal one is.
        """
        self.tried += parent is not None
        self.without_success += parent is not None
        if answer is None:
            return False
        improved = answer.beats(self.best)
        if improved:
            self.best, self.without_success = answer, 0
            self.kept += parent is not None
        if self.best is None:
            raise AssertionError("an answer beats none")
        if parent is not None and parent in self.answers:
            if answer.beats(parent):
                self.answers[self.answers.index(parent)] = answer
        elif not self.has(answer):
            self.answers = sorted([*self.answers, answer], key=lambda each: each.objective)
            self.answers = self.answers[: self.most]
        return improved

    def has(self, answer: Answer) -> bool:
        """Whether an answer of the same objective is kept, but for rounding."""
        return any(
            abs(answer.objective - each.objective) <= 1e-9 * abs(each.objective)
            for each in self.answers
        )

    @property
    def top(self) -> Answer:
        """The best answer, where there is one."""
        if self.best is None:
            raise AssertionError("a search has an answer before it goes on")
        return self.best

    def parent(self) -> Answer:
        """The better of two answers drawn."""
        drawn = self.random_state.randint(len(self.answers), size=2)
        chosen: Answer = min((self.answers[i] for i in drawn), key=lambda each: each.objective)
        return chosen

    def unfilled(self, budget: Budget) -> bool:
        """Whether the best answer has an empty cluster that the next children may fill.

        They go on after the work of the budget is done, but not after the deadline.
        """
        used = len(np.unique(self.top.labels))
        left = used < self.top.rules.n_clusters and self.without_success < at.WIDTH
        return left and not budget.deadline.passed

    @property
    def idle(self) -> bool:
        """Whether so many children had no success that others will hardly have any."""
        return self.without_success >= self.patience
