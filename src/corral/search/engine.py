"""The search: makers give answers, children vary them, the best are kept, one budget ends it.

Every answer comes from a descent (:mod:`.descent`), which makes labels obey the rules before it
improves them; so the first maker gives an answer that a deadline can return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..deadline import OutOfTime
from . import numbers as at
from .budget import Budget
from .descent import Answer, Descender
from .population import Population
from .vary import Variation

#: Makes clusters to start from, or labels.
Maker = Callable[[], Any]


def search(
    descender: Descender,
    variation: Variation,
    makers: Iterable[tuple[str, Maker]],
    budget: Budget,
    tell: Callable[[str, Answer | None], None],
    enough: Callable[[float], bool],
    prices: FloatArray | None = None,
    patience: int = at.IDLE,
) -> Population:
    """Make, descend, vary and select until the budget is spent or children have no success.

    ``prices`` are those that the makers' clusters were found at, if they are known.  The search
    also ends when the objective of the makers' best answer is ``enough``, and after ``patience``
    children in a row without success.
    """
    answers = Population(descender.random_state, patience)
    try:
        _make(answers, descender, makers, budget, tell, prices)
        if answers.best is not None and not enough(answers.best.objective):
            _vary(answers, descender, variation, budget)
    except OutOfTime:
        if answers.best is None:
            raise
    return answers


def _make(
    answers: Population,
    descender: Descender,
    makers: Iterable[tuple[str, Maker]],
    budget: Budget,
    tell: Callable[[str, Answer | None], None],
    prices: FloatArray | None,
) -> None:
    """The answers of the makers."""
    for name, make in makers:
        if answers.answers and budget.over:
            break
        made = make()
        known = isinstance(made, np.ndarray) and made.ndim == 1
        found = descender.from_labels(made) if known else descender.from_clusters(made, prices)
        answers.add(found)
        tell(name, found)


def _vary(
    answers: Population, descender: Descender, variation: Variation, budget: Budget
) -> None:
    """Children of the answers, until the budget is spent or none has success."""
    random_state = descender.random_state
    crossing = at.CROSSED * min(at.CROSSED_CLUSTERS / descender.rules.n_clusters, 1.0)
    while answers.answers and not (budget.over or answers.idle):
        parent, slack = answers.parent(), at.SLACK * (1.0 - budget.part)
        best = answers.best.objective if answers.best else np.inf
        target = best + slack * abs(best)
        if len(answers.answers) > 1 and random_state.uniform() < crossing:
            clusters, prices = variation.crossed(parent, answers.parent())
            child = descender.from_clusters(clusters, prices, target=target)
            answers.add(child, None if child is None else parent, slack)
        else:
            varied = variation.local(parent)
            child = descender.from_varied(varied, parent, target)
            answers.add(child, parent, slack)
