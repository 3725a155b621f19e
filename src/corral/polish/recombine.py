"""New answers from others: by some centres of each of two, and by labels that are shaken.

Restarts that disagree have usually found different clusters well.  A child takes each centre from
one of two answers, the clusters being matched by their distance; then a random centre is moved to
a point drawn as k-means++ draws.  It is refined as every answer is (Gribel and Vidal, 2019).

Where cannot-links tangle, labels have many local optima at about the same centres.  There, children
also come from one answer: some random chains of cannot-links change sides before it is improved by
exchanges again (iterated local search).  Half of them come from the best answer.  Where all of the
first ones end there again, labels have one optimum and no more are made.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._typing import FloatArray
from ..assign import Assignment, NoAssignment
from ..deadline import OutOfTime
from ..plan.thresholds import CALM, MOST_FLIPS
from ..problem import Problem
from .kempe import shaken
from .refine import Answer, evaluate, refine
from .search import exchange, settled

#: Answers that are kept as parents, at most.  More keep more variety and find the best later.
PARENTS = 10
#: Relative difference up to which two refined answers are one.
SAME = 1e-10


def recombine(
    problem: Problem, answers: list[Answer], random_state: np.random.RandomState
) -> Answer:
    """The best of some answers and of children as many as the plan allows.

    Children end sooner after so many without a better answer as the plan says.  Where assignments
    were rough the best answer is refined exactly, and has children anew if that improves it.
    """
    family = Family()
    for answer in answers:
        family.keep(answer)
    left = problem.plan.children
    while True:
        left = _breed(problem, family, left, random_state)
        best = family.kept[0]
        exact = settled(problem, best) if problem.plan.rough else best
        if left == 0 or not family.keep(exact):
            return exact


def _breed(problem: Problem, family: Family, most: int, random_state: np.random.RandomState) -> int:
    """Add children to the family; how many more there may be."""
    idle, roughly = 0, replace(problem, plan=replace(problem.plan, rough=True))
    for left in range(most, 0, -1):
        over = problem.deadline.passed if problem.plan.rough else problem.deadline.spent
        if over or idle >= problem.plan.idle:
            return left
        best = family.kept[0]
        mother, father = family.parents(random_state)
        own = problem.with_rules(mother.rules)
        child = _grown(own, _crossed(own, mother, father, random_state), mother, family)
        if child is not None:
            family.keep(child)
        for number in range(0 if family.calm else problem.plan.shakes):
            parent = family.kept[0] if (left + number) % 2 else family.parents(random_state)[0]
            child = _shaken(roughly, parent, random_state)
            family.look(child)
            if child.beats(parent):
                family.keep(child if problem.plan.rough else exchange(problem, child))
        idle = 0 if family.kept[0].beats(best) else idle + 1
    return 0


def _shaken(problem: Problem, answer: Answer, random_state: np.random.RandomState) -> Answer:
    """The answer after exchanges from labels in which some chains have changed sides."""
    rules = problem.rules
    labels = shaken(rules, answer.labels, random_state.randint(1, MOST_FLIPS + 1), random_state)
    return exchange(problem, evaluate(problem, Assignment(labels, np.nan), answer.centers))


class Family:
    """Answers that have children, the best first, and what is known of earlier children."""

    def __init__(self) -> None:
        self.kept: list[Answer] = []
        self._refined: list[float] = []  # objectives before exchanges
        self._drops: list[float] = []  # what exchanges gained, relative
        self._shaken = self._elsewhere = 0  # shaken answers, and those that are not the best

    @property
    def calm(self) -> bool:
        """Whether enough shaken answers are known, and all of them are the best one."""
        return self._shaken >= CALM and not self._elsewhere

    def look(self, shaken: Answer) -> None:
        """Count a shaken answer."""
        self._shaken += 1
        self._elsewhere += self.kept[0].beats(shaken) or shaken.beats(self.kept[0])

    def parents(self, random_state: np.random.RandomState) -> tuple[Answer, Answer]:
        """Two answers, each the better of two drawn at random."""
        drawn = random_state.randint(len(self.kept), size=(2, 2)).min(axis=1)
        return self.kept[drawn[0]], self.kept[drawn[1]]

    def keep(self, answer: Answer) -> bool:
        """Put an answer in its place; False if it is there already or worse than all."""
        worse = len(self.kept) >= PARENTS and not answer.beats(self.kept[-1])
        if worse or not all(answer.beats(each) or each.beats(answer) for each in self.kept):
            return False
        self.kept.append(answer)
        self.kept.sort(key=lambda each: each.objective)
        del self.kept[PARENTS:]
        return True

    def is_new(self, child: Answer) -> bool:
        """Whether exchanges may make the child one of the answers kept.

        A child with the objective of an earlier one is that one.  Once the family is complete,
        exchanges have to gain as much as they usually do, or twice that.
        """
        objective = child.objective
        if any(abs(objective - other) <= SAME * other for other in self._refined):
            return False
        self._refined.append(objective)
        return objective < self.to_beat

    @property
    def to_beat(self) -> float:
        """The objective from which on exchanges are not worth their time."""
        if len(self.kept) < PARENTS or not self._drops:
            return np.inf
        return self.kept[-1].objective / max(1.0 - 2.0 * float(np.mean(self._drops)), 1e-9)

    def learn(self, before: float, after: float) -> None:
        """Remember what exchanges gained."""
        self._drops.append(1.0 - after / before if before > 0.0 else 0.0)


def _crossed(
    problem: Problem, mother: Answer, father: Answer, random_state: np.random.RandomState
) -> FloatArray:
    """Centres of a child, in the order of the mother's clusters."""
    k, data = problem.n_clusters, problem.near
    match = np.arange(k)
    if not problem.rules.numbered:
        gaps = data.distance.between(mother.centers, father.centers)
        match = np.asarray(linear_sum_assignment(gaps)[1])
    hers = random_state.random_sample(k) < 0.5
    centers: FloatArray = np.where(hers[:, None], mother.centers, father.centers[match])
    moved = random_state.randint(k)
    chance = data.distances(np.delete(centers, moved, axis=0)).min(axis=1) * data.weight
    if chance.sum() > 0.0:
        point = random_state.choice(len(chance), p=chance / chance.sum())
        centers[moved] = data.row(int(point))
    return centers


def _grown(problem: Problem, centers: FloatArray, mother: Answer, family: Family) -> Answer | None:
    """The child refined from its centres; its mother's labels obey the rules."""
    try:
        rough = problem.plan.rough
        child = refine(
            problem, centers, incumbent=mother.labels, to_beat=family.to_beat, rough=rough
        )
    except (NoAssignment, OutOfTime):
        return None
    if child is None or not family.is_new(child):
        return None
    grown = exchange(problem, child)
    family.learn(child.objective, grown.objective)
    return grown
