"""Names of rows, looked up in the index of the data."""

from __future__ import annotations

import logging
from typing import Any

from ._checks import FOLDS, index_of
from .base import fingerprint
from .collection import ConstraintSet

logger = logging.getLogger(__name__)


def rules_for(X: Any, constraints: Any) -> tuple[ConstraintSet, int]:
    """The constraints with names looked up in the index of X, and how many of them do not apply.

    Rules that do not apply come from :meth:`ConstraintSet.for_folds` and name rows outside X.
    """
    given, index = ConstraintSet(constraints), index_of(X)
    _refuse_other_index(given, fingerprint(index))
    if not given.named:
        return given, 0
    if index is None:
        raise ValueError(
            f"{next(rule for rule in given if rule.named)!r} needs the names of the rows, but X "
            "has no index; give X as a pandas data frame whose index holds the names (a step of a "
            "pipeline keeps it with set_output(transform='pandas')), or pass index= to the rule."
        )
    found = given.resolve(list(index.compute() if hasattr(index, "compute") else index))
    outside = given.n_parts - found.n_parts
    if outside:
        logger.info("%d of %d rules name rows outside X and do not apply", outside, given.n_parts)
    return found, outside


def _refuse_other_index(given: ConstraintSet, found: str | None) -> None:
    """Refuse rules that were made for rows with other names, or with the names in another order."""
    for rule in given:
        if found is not None and rule.made_for not in (None, found):
            raise ValueError(
                f"{rule!r} was made for rows with another index than that of X, or in another "
                f"order{FOLDS}."
            )
