"""How much is run: the paper's numbers of repetitions, or a small version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Scale:
    """Seed and size of a run.

    Attributes
    ----------
    seed : int
    quick : bool
        Two repetitions instead of ten, and fewer rows.
    """

    seed: int = 0
    quick: bool = False

    @property
    def draws(self) -> range:
        """Numbers of the repetitions."""
        return range(2 if self.quick else 10)

    def some(self, items: Sequence[Item], quick: Sequence[Item]) -> Sequence[Item]:
        """All items, or those of the quick version."""
        return quick if self.quick else items
