"""An answer where no descent gives one: any labels that obey the rules, improved by moves.

Groups are dealt to the clusters first, near the centres of the first maker; an exact solver is
asked if that gives no answer.
"""

from __future__ import annotations

from .. import numbers as at
from ..deadline import Deadline, OutOfTime
from ..exact import NoAssignment, broken, feasible, matching_order
from .descent import Answer, Descender


def any_answer(descender: Descender, deadline: Deadline) -> Answer:
    """An answer from any labels that obey the rules.

    Raises
    ------
    NoAssignment
        It is proven that no labels obey the hard rules.
    OutOfTime
        The deadline came before labels were found.
    """
    rules, shape = descender.rules, descender.shape
    placed = descender.placed(deadline)
    labels = feasible(rules, deadline) if placed is None else placed.labels
    if labels is None:
        raise NoAssignment
    if rules.sizes_vary and rules.sizes is not None:
        order = matching_order(rules.sizes, rules.sizes_of(labels))
        rules = rules if order is None else rules.with_sizes_in_order(order)
    descender.penalty = at.GROWTH**at.PENALTY_RISES
    found = descender.improved(labels, None, rules)
    if found is not None:
        return found
    if broken(rules, labels):
        raise OutOfTime
    clusters = shape.clusters(labels)
    objective = shape.objective(labels, clusters) + rules.soft_cost(labels)
    return Answer(labels, clusters, objective, rules, None)
