"""An experiment: what to run, and how to show the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .cells import Cell, Record

Item = TypeVar("Item")


@dataclass(frozen=True)
class Scale:
    """Seed and size of a run: the numbers of the paper, or a small version.

    Attributes
    ----------
    seed : int
    quick : bool
        Two repetitions instead of ten, and fewer data sets.
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


@dataclass(frozen=True)
class Results:
    """Results of an experiment.

    Attributes
    ----------
    scale : Scale
    folder : Path
        Folder of the page and its pictures.
    records : sequence of (Cell, Record)
    """

    scale: Scale
    folder: Path
    records: Sequence[tuple[Cell, Record]]

    def select(self, **wanted: Any) -> list[Record]:
        """Records of the cells whose attributes have these values, in order."""
        return [
            record
            for cell, record in self.records
            if all(getattr(cell, name) == value for name, value in wanted.items())
        ]


@dataclass(frozen=True)
class Demand:
    """A number of the paper that the default solver should reach, and its own results.

    Attributes
    ----------
    row : str
    paper : float
        Mean ARI in the paper.
    records : sequence of Record
        Results of the default solver.
    expected : bool
        False if the number is known to be out of reach.
    """

    row: str
    paper: float
    records: Sequence[Record]
    expected: bool = True

    #: The mean ARI, in per cent, may be lower than in the paper by this much.
    SLACK = 2.0

    @property
    def ours(self) -> float:
        """Mean ARI of the default solver."""
        return float(np.mean([record["ari"] for record in self.records]))

    @property
    def broken(self) -> int:
        """Number of rules broken in all runs together."""
        return sum(broken(record) for record in self.records)

    @property
    def reached(self) -> bool:
        """Whether our mean is at least that of the paper minus the slack."""
        return self.ours >= self.paper - self.SLACK

    @property
    def cheaper_than_truth(self) -> float:
        """Share of the runs whose objective is lower than that of the classes themselves."""
        return float(np.mean([record["objective"] < record["truth"] for record in self.records]))


def broken(record: Record) -> int:
    """Number of rules that the labels break: CardV + MLV + CLV of the paper."""
    return int(record["cardv"] + record["mlv"] + record["clv"])


@dataclass(frozen=True)
class Experiment:
    """A table or a figure.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        Heading of its section.
    group : str
        Name of the store; experiments of one group have the same cells.
    cells : callable(Scale) -> list of Cell
    render : callable(Results) -> str
        Makes the markdown of the section and draws the pictures.
    demands : callable(Results) -> list of Demand
    """

    name: str
    title: str
    group: str
    cells: Callable[[Scale], Sequence[Cell]]
    render: Callable[[Results], str]
    demands: Callable[[Results], list[Demand]] = lambda results: []
