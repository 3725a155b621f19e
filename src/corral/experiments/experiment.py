"""An experiment: what to run, and how to show what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .cells import Cell, Record
from .scale import Scale
from .store import Store


@dataclass(frozen=True)
class Results:
    """What the cells of an experiment came to.

    Attributes
    ----------
    scale : Scale
    folder : Path
        Where the page is, and where pictures go.
    records : sequence of (Cell, Record)
    """

    scale: Scale
    folder: Path
    records: Sequence[tuple[Cell, Record]]

    @classmethod
    def of(cls, scale: Scale, folder: Path, cells: Sequence[Cell], store: Store) -> Results:
        """Collect the records of cells that were all run."""
        return cls(scale, folder, [(cell, store[cell]) for cell in cells])

    def select(self, **wanted: Any) -> list[Record]:
        """Records of the cells whose attributes have these values, in the order of the plan."""
        return [
            record
            for cell, record in self.records
            if all(getattr(cell, name) == value for name, value in wanted.items())
        ]


@dataclass(frozen=True)
class Demand:
    """A figure of the paper that the default solver should reach, and what it reached.

    Attributes
    ----------
    row : str
    paper : float
        Mean ARI in the paper.
    records : sequence of Record
        Of the default solver.
    expected : bool
        Whether the row is to be reached; some are known to be out of reach.
    """

    row: str
    paper: float
    records: Sequence[Record]
    expected: bool = True

    #: The mean may be lower than the paper's by this much.
    SLACK = 2.0

    @property
    def ours(self) -> float:
        """Mean ARI of the default solver."""
        return float(np.mean([record["ari"] for record in self.records]))

    @property
    def broken(self) -> int:
        """Rules broken in all the runs."""
        return sum(broken(record) for record in self.records)

    @property
    def reached(self) -> bool:
        """Whether ours is at least the paper's less the slack."""
        return self.ours >= self.paper - self.SLACK

    @property
    def cheaper_than_truth(self) -> float:
        """Share of the runs whose answer costs less than the classes themselves."""
        return float(np.mean([record["objective"] < record["truth"] for record in self.records]))


def broken(record: Record) -> int:
    """Rules that an answer breaks: the paper's CardV + MLV + CLV."""
    return int(record["cardv"] + record["mlv"] + record["clv"])


@dataclass(frozen=True)
class Experiment:
    """A table or a figure.

    Attributes
    ----------
    name : str
        What one types.
    title : str
        Heading of its section.
    group : str
        Name of the store; experiments of one group share their cells.
    cells : callable(Scale) -> list of Cell
    render : callable(Results) -> str
        Markdown of the section; it also draws the pictures.
    demands : callable(Results) -> list of Demand
    """

    name: str
    title: str
    group: str
    cells: Callable[[Scale], Sequence[Cell]]
    render: Callable[[Results], str]
    demands: Callable[[Results], list[Demand]] = lambda results: []
