"""An answer where no descent gives one: any labels that obey the rules, improved by moves.

Many connected clusters are looked for in descents from the labels that broke the rules by least.
Then groups are dealt to the clusters, near the centres of the first maker; an exact solver is asked
if that gives no answer.
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
    large = rules.n_groups * rules.n_clusters > at.PROGRAM_ENTRIES
    until = deadline.share(1.0 - at.STEP)
    # Exact solvers hardly connect so many; the nearest labels at a low penalty are a new start.
    near = descender.nearest if large and rules.adjacency is not None and until.finite else None
    while near is not None and not until.passed:
        found, near = descender.from_labels(near[1]), descender.nearest
        if found is not None:
            return found
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
