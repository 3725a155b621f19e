"""Questions about pairs of rows: which comes next, and what an answer adds to the rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._typing import IntArray
from ..active import answer, next_pairs
from ..constraints import ConstraintSet
from ..constraints._checks import plural

Pair = tuple[int, int]

#: Questions between two fits: more wait less often, fewer are better chosen.
BATCH = 3

#: What can be said to a question, and what it means for the pair.
REPLIES: dict[str, bool | None] = {"same": True, "different": False, "unknown": None}


@dataclass(frozen=True)
class Interview:
    """Questions that were asked, and those that wait.

    Attributes
    ----------
    waiting : tuple of pairs
        The first one is asked now.
    unknown : tuple of pairs
        Nobody could answer these; they are not asked again.
    answered : int
    ended : bool
        Whether there is nothing more to ask.
    """

    waiting: tuple[Pair, ...] = ()
    unknown: tuple[Pair, ...] = ()
    answered: int = 0
    ended: bool = False

    def given(self, pairs: IntArray) -> Interview:
        """With the next questions."""
        waiting = tuple((int(row), int(other)) for row, other in pairs)
        return replace(self, waiting=waiting, ended=not waiting)

    def replied(self, says: str) -> Interview:
        """After the reply to the first question."""
        pair, *rest = self.waiting
        if REPLIES[says] is None:
            return replace(self, waiting=tuple(rest), unknown=(*self.unknown, pair))
        return replace(self, waiting=tuple(rest), answered=self.answered + 1)

    @property
    def words(self) -> str:
        """How far it is."""
        if self.ended:
            return "Nothing more can be learned by questions."
        if not self.answered and not self.unknown:
            return "Judge pairs of rows, the most helpful first."
        said = plural(self.answered, "answer")
        return f"{said}, {len(self.unknown)} not known." if self.unknown else f"{said}."


def next_questions(model: Any, X: Any, rules: ConstraintSet, unknown: tuple[Pair, ...]) -> IntArray:
    """The pairs to ask about after a fit."""
    return next_pairs(model, X, constraints=rules, n=BATCH, skip=list(unknown) or ())


def with_reply(rules: ConstraintSet, pair: Pair, says: str) -> ConstraintSet:
    """Rules with a reply."""
    return answer(rules, [pair], [REPLIES[says]])
