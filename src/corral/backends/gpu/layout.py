"""Where groups lie in the state on a device, and which of them one launch takes.

The state lies in slabs of 16 groups, (slab, cluster, group in the slab).  Groups that pairs pull
come first, so that the others never ask for a pull, then all the others, in order.  The last tiles
of both parts are filled up with places that have no weight in any sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray
from ...admm.crew import Setup
from ...admm.unpulled import METRIC, row_vectors

#: Groups of a slab, and of the tiles that segments are made of; a kernel's may be smaller.
SLAB, TILE = 16, 64


@dataclass(frozen=True)
class Segment:
    """Tiles that one launch takes.

    Attributes
    ----------
    first, last : int
        Tiles; the last is not taken.
    rows : (5, n) tensor or None
        Numbers a group; None where all are one.
    pulled : bool
    """

    first: int
    last: int
    rows: Any
    pulled: bool


class Layout:
    """Places of the groups of a run.

    Parameters
    ----------
    setup : Setup
    device : torch.device

    Attributes
    ----------
    length, n_pulled : int
        Places in all, and those of pulled groups, filled up to whole tiles.
    place : (m,) tensor
        Of each group.
    order : (length,) tensor or None
        The group at each place; None where group and place have the same number.
    segments : list of Segment
    metric_total : float
    """

    def __init__(self, setup: Setup, device: torch.device) -> None:
        self.device, self.k = device, setup.n_clusters
        self.m, self.e = len(setup.labels), len(setup.pulled)
        self.n_pulled = _up(self.e)
        self.length = self.n_pulled + _up(self.m - self.e)
        self.place, self.order = self._places(setup)
        self.segments = self._segments(setup)

    def entry(self, labels: torch.Tensor) -> torch.Tensor:
        """Where the state holds each group's entry of one cluster, (m,)."""
        slab = self.place // SLAB * (SLAB * self.k)
        return slab + labels * SLAB + self.place % SLAB

    def by_place(self, state: torch.Tensor) -> torch.Tensor:
        """A state as (place, cluster), copied."""
        n_places = state.numel() // self.k
        slabs = state.view(n_places // SLAB, self.k, SLAB)
        return slabs.transpose(1, 2).reshape(n_places, self.k)

    def put_pulled(self, a: torch.Tensor, state: torch.Tensor) -> None:
        """Write (k, e) numbers of the pulled groups into a state of these."""
        slabs, whole = state.view(-1, self.k, SLAB), self.e // SLAB
        done = whole * SLAB
        slabs[:whole] = a.T[:done].reshape(whole, SLAB, self.k).transpose(1, 2)
        if done < self.e:
            slabs[whole, :, : self.e - done] = a[:, done:]

    def _places(self, setup: Setup) -> tuple[Any, Any]:
        if not self.e:
            return torch.arange(self.m, device=self.device), None
        place = np.empty(self.m, np.int64)
        rest = np.delete(np.arange(self.m), setup.pulled)
        place[setup.pulled] = np.arange(self.e)
        place[rest] = self.n_pulled + np.arange(len(rest))
        order = np.zeros(self.length, np.int32)
        order[place] = np.arange(self.m)
        return torch.as_tensor(place).to(self.device), torch.as_tensor(order).to(self.device)

    def _segments(self, setup: Setup) -> list[Segment]:
        """What is pulled; then what is plain and fills tiles; then the others."""
        vectors = row_vectors(setup)
        self.metric_total = float(np.sum(vectors[METRIC], dtype=np.float64))
        first = self.n_pulled // TILE
        plain = all(np.all(vector == 1.0) for vector in vectors)
        full = first + ((self.m - self.e) // TILE if plain else 0)
        rows = self._by_row(vectors) if first or full * TILE < self.length else None
        cuts = [
            (0, first, False, True),
            (first, full, True, False),
            (full, self.length // TILE, False, False),
        ]
        return [
            Segment(a, b, None if ones else self._of_tiles(rows, a, b), pulled)
            for a, b, ones, pulled in cuts
            if b > a
        ]

    def _by_row(self, vectors: list[FloatArray]) -> torch.Tensor:
        """Vectors over the groups, (5, length); zero where there is no group."""
        rows = torch.zeros((len(vectors), self.length), device=self.device)
        for own, vector in zip(rows, vectors, strict=True):
            own[self.place] = torch.as_tensor(vector, dtype=torch.float32).to(self.device)
        return rows

    def _of_tiles(self, rows: Any, first: int, last: int) -> torch.Tensor:
        return rows[:, first * TILE : last * TILE].contiguous()


def _up(n: int) -> int:
    """The next multiple of a tile."""
    return -(-n // TILE) * TILE
