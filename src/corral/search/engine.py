"""The search: makers give answers, children vary them, the best are kept, one budget ends it.

Every answer comes from a descent (:mod:`.descent`), which makes labels obey the rules before it
improves them; so the first maker gives an answer that a deadline can return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import numbers as at
from ..deadline import OutOfTime
from .descent import Answer, Descender
from .population import Population
from .vary import Variation

#: Makes clusters to start from, labels, an answer of a sample with its prices, or None.
Maker = Callable[[], Any]


def search(
    descender: Descender,
    variation: Variation,
    makers: Iterable[tuple[str, Maker]],
    tell: Callable[[str, Answer | None], None],
    rescue: Callable[[], Answer],
    made: Callable[[], None] = lambda: None,
    making: float = at.STEP,
    repeats: bool = False,
    perfect: float = -np.inf,
) -> Population:
    """Make, descend, vary and select until the budget is spent or children have no success.

    Parameters
    ----------
    descender : Descender
    variation : Variation
    makers : iterable of (name, maker)
    tell : callable
        Told of each maker's answer, None if there was none.
    rescue : callable
        Gives an answer where no maker's obeys the rules, or raises.
    made : callable
        Told that children begin.
    making : float
        Part of the work after which no further maker begins.
    repeats : bool
        Whether makers go on after an answer that another has given; others mostly end there too.
    perfect : float
        An objective that is known to be the least one, but for rounding, ends the search.
    """
    budget, random_state = descender.budget, descender.random_state
    most = max(min(at.PARENTS, at.PARENT_CLUSTERS // descender.rules.n_clusters), 1)
    if descender.rules.adjacency is not None and descender.shape.follows:
        # There are many more local optima where clusters are connected.
        budget.work += (at.GROWTH - 1) * at.WORK
        budget.patience *= at.GROWTH
    given = budget.work
    answers, failed = Population(random_state, budget.patience, most), 0
    try:
        for name, make in makers:
            if answers.answers and budget.part >= making:
                break
            start = make()
            if start is None:
                continue
            found = descender.from_made(start, answers.best)
            again = found is not None and answers.has(found)
            answers.add(found)
            tell(name, found)
            descender.answered = answers.best is not None
            failed = failed + 1 if found is None else 0
            done = found is not None and found.objective <= perfect
            if done or (again and not repeats) or (failed > 1 and not answers.answers):
                break
        if answers.best is None:
            answers.add(rescue())
            tell("any labels that obey the rules", answers.best)
        made()
        while answers.top.objective > perfect and not answers.idle:
            if budget.over and not answers.unfilled(budget):
                break
            parent = answers.parent()
            several = len(answers.answers) > 1 and variation.crosses
            if several and not budget.over and random_state.randint(2):
                crossed = variation.crossed(parent, answers.parent())
                child = descender.from_crossed(crossed, parent)
            else:
                child = descender.from_varied(variation.local(parent, budget.over), parent)
            answers.add(child, parent)
        answers.ended = "the budget" if budget.over else "children without success"
        if answers.top.objective <= perfect:
            answers.ended = "an answer that cannot be better"
        elif variation.tells_apart:
            exchange(descender, variation, answers, given)
        answers.add(descender.finished(answers.top))
    except OutOfTime as late:
        if answers.best is None:
            placed = descender.placed()
            if placed is None:
                if descender.nearest is not None:
                    late.nearest = descender.rules.to_rows(descender.nearest[1])
                raise
            answers.add(placed)
            tell("groups placed where there is room", placed)
    return answers


def exchange(descender: Descender, variation: Variation, answers: Population, work: float) -> None:
    """Exchange the centres of clusters with bounds of their own, until no pair helps.

    It has so much work of its own: an answer with two of them in each other's place may be far from
    all that children try, and people see at once that it is wrong.
    """
    budget, helps = descender.budget, True
    budget.work = budget.spent + work
    while helps:
        helps = False
        for clusters in variation.exchanges(answers.top):
            if budget.over:
                return
            # Few rounds and many end in different local optima.
            for target in (answers.top.objective, np.inf):
                helps = helps or answers.add(descender.from_clusters(clusters, None, target))
            if helps:
                break
