"""What candidates of all rows can tell, wherever the rows are.

:class:`Choices` are the candidates, and :class:`Standing` puts every row into one of its own.
:mod:`.candidates` has those of rows in memory, :mod:`.shard_candidates` those of shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Open:
    """Rows whose clusters are open, in this process's memory."""

    rows: IntArray  # their numbers, (r,)
    slot: IntArray  # the candidate that each is in, (r,)
    cluster: IntArray  # their candidates, (r, t)
    cost: FloatArray  # what these cost without prices, (r, t)

    @property
    def labels(self) -> IntArray:
        """The clusters that they are in."""
        return self.cluster[np.arange(len(self.slot)), self.slot].astype(np.int64)


@dataclass(frozen=True)
class Border:
    """Sums over the rows of the products of their two largest shares, for pairs of clusters."""

    one: IntArray
    other: IntArray
    weight: FloatArray


class Choices(Protocol):
    """Candidates of all rows, wherever these are."""

    @property
    def prices(self) -> FloatArray:
        """Prices at which the candidates were chosen, (k,)."""

    @property
    def eps(self) -> float:
        """Relative rounding of the costs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and candidates of each."""

    @property
    def n_free(self) -> int:
        """Rows that are to be placed."""

    @property
    def home(self) -> IntArray | None:
        """Candidates of labels that obey the sizes, if some are known, (m,)."""

    @property
    def far(self) -> bool:
        """Whether the rows are outside this process's memory, where flows cost more than passes."""

    def named(self, clusters: IntArray) -> Choices:
        """The same with other numbers of the clusters; they can only stand beside others."""

    def beside(self, others: Choices) -> Choices:
        """The same with the candidates of others as more of each row."""

    def mean_margin(self, prices: FloatArray) -> float:
        """Mean of the finite margins between the best candidate and the next; 0 without any."""

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """Rows that each cluster holds, in shares ``exp(-(cost + price) / temperature)``, (k,)."""

    def borders(self, prices: FloatArray, temperature: float) -> tuple[FloatArray, Border]:
        """What :meth:`held` gives, and how many rows lie between each two clusters."""

    def at(self, prices: FloatArray) -> Standing:
        """Every row in its cheapest candidate."""

    def merged(self, part: IntArray, prices: FloatArray) -> Choices:
        """Candidates among parts of the clusters, each as cheap as its cheapest at these prices."""


class Standing(Protocol):
    """Rows in one of their candidates each."""

    @property
    def prices(self) -> FloatArray:
        """Prices at which the rows chose, (k,)."""

    @property
    def counted(self) -> IntArray:
        """Rows in each cluster, (k,)."""

    @property
    def scale(self) -> float:
        """The largest cost of a row in absolute value, price included."""

    def brought(self) -> IntArray:
        """The cluster of each row, in this process's memory, (m,)."""

    def reach(self, number: int, each: IntArray) -> FloatArray:
        """Margins up to which about so many rows lie, in all, and of each cluster, (k,)."""

    def near(self, reach: FloatArray) -> Open:
        """The rows whose margin is within the reach of their cluster."""

    def moved(self, opened: Open, slot: IntArray) -> Standing:
        """The same with these rows in other candidates."""

    def astray(self, prices: FloatArray) -> float:
        """The most that a row would save at these prices by another of its candidates."""

    def renewed(self, prices: FloatArray, number: int) -> tuple[Choices, float]:
        """Other candidates for rows that a cluster beyond theirs suits better at these prices.

        Also the most that one of them saves there.
        """
