"""Contradictions among constraints that can be seen without solving, in the user's words.

Every finder gives a sentence that names the user's rows, and the few constraints that clash.
"""

from __future__ import annotations

from .._typing import IntArray
from ..constraints import ConstraintSet
from ..constraints._checks import Names
from ..exceptions import InfeasibleConstraintsError
from .facts import Facts
from .links import apart_in_group, too_many_apart
from .pins import pinned_together, pinned_twice
from .sizes import group_too_large, pinned_too_many, sizes_do_not_add_up

__all__ = ["raise_contradictions"]

FINDERS = (
    sizes_do_not_add_up,
    apart_in_group,
    pinned_twice,
    pinned_together,
    group_too_large,
    pinned_too_many,
    too_many_apart,
)


def raise_contradictions(
    rules: ConstraintSet, group: IntArray, n_clusters: int, names: Names = None
) -> None:
    """Raise the first contradiction found.

    Parameters
    ----------
    rules : ConstraintSet
        Primitive constraints that fit the data.
    group : (n,) int array
        The must-link group of each row.
    n_clusters : int
    names : sequence, optional
        What to call the rows.

    Raises
    ------
    InfeasibleConstraintsError
    """
    facts = Facts(rules, group, n_clusters, names)
    # With one cluster a cannot-link is a contradiction by itself, and any chain beside the point.
    first = [too_many_apart] if n_clusters == 1 else []
    for find in (*first, *FINDERS):
        found = find(facts)
        if found is not None:
            raise InfeasibleConstraintsError(*found)
