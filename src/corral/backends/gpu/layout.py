"""The state of all groups on a device, and where each group is in it.

The state is stored in slabs of 16 groups, (slab, cluster, group in the slab).  Groups that pairs
pull come first, then all others, in order.  The last tiles of both parts are filled with places
that have no weight in any sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray
from ...admm.crew import START_SHARE, Setup
from ...admm.unpulled import METRIC, row_vectors

#: Groups of a slab, and of a tile of a segment; the tiles of a kernel may be smaller.
SLAB, TILE = 16, 64


@dataclass(frozen=True)
class Segment:
    """Tiles of one launch."""

    first: int
    last: int  # not included
    rows: Any  # numbers of each group, (5, n); None where all are one
    pulled: bool


class Layout:
    """Places of the groups of a run.

    There are ``length`` places in all, ``n_pulled`` of them for pulled groups, both filled up to
    whole tiles.  ``place`` is that of each group, and ``order`` the group at each place, None where
    group and place have the same number.
    """

    def __init__(self, setup: Setup, device: torch.device) -> None:
        self.device, self.k = device, setup.n_clusters
        self.m, self.e = len(setup.labels), len(setup.pulled)
        self.n_pulled = _up(self.e)
        self.length = self.n_pulled + _up(self.m - self.e)
        self.place, self.order = self._places(setup)
        self.segments = self._segments(setup)

    def entry(self, labels: torch.Tensor) -> torch.Tensor:
        """Place in the state of each group's entry of one cluster, (m,)."""
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
        """Pulled groups; then groups whose numbers are all one, in full tiles; then the others."""
        vectors = row_vectors(setup)
        self.metric_total = float(np.sum(vectors[METRIC], dtype=np.float64))
        first = self.n_pulled // TILE
        plain = all(np.all(vector == 1.0) for vector in vectors)
        full = first + ((self.m - self.e) // TILE if plain else 0)
        rows: Any = self._by_row(vectors) if first or full * TILE < self.length else None
        cuts = [
            (0, first, False, True),
            (first, full, True, False),
            (full, self.length // TILE, False, False),
        ]
        return [
            Segment(a, b, None if ones else rows[:, a * TILE : b * TILE].contiguous(), pulled)
            for a, b, ones, pulled in cuts
            if b > a
        ]

    def _by_row(self, vectors: list[FloatArray]) -> torch.Tensor:
        """Vectors over the groups, (5, length); zero where there is no group."""
        rows = torch.zeros((len(vectors), self.length), device=self.device)
        for own, vector in zip(rows, vectors, strict=True):
            own[self.place] = torch.as_tensor(vector, dtype=torch.float32).to(self.device)
        return rows


def _up(n: int) -> int:
    """The next multiple of a tile."""
    return -(-n // TILE) * TILE


class FusedState:
    """ADMM's state of all groups on a device, in float32.

    ``D`` and ``K`` are the features and clusters that a tile has room for.  ``v1`` and ``v2`` are
    the copies with their duals; ``v2``, less 1/2, is None before the sphere begins.  ``kept`` is x
    of all groups if that has at most ``most_kept`` entries, else of the pulled ones.
    """

    def __init__(self, points: torch.Tensor, setup: Setup, most_kept: int) -> None:
        self.points, self.device = points.contiguous(), points.device
        self.d, self.k = points.shape[1], setup.n_clusters
        self.K, self.D = room(self.k), room(self.d)
        # The kernels subtract the mean of the points.
        self.shift = points.mean(0, dtype=torch.float64).float().double().cpu().numpy()
        self.layout = layout = Layout(setup, self.device)
        self.keep_x = layout.length * self.k <= most_kept
        uniform = 1.0 - START_SHARE
        self.v1 = torch.full((layout.length * self.k,), uniform / self.k, device=self.device)
        labels = torch.as_tensor(setup.labels, dtype=torch.int64).to(self.device)
        self.v1[layout.entry(labels)] += START_SHARE
        self.v2: Any = None
        # Sums of v1, clip(v1) and v2 over the clusters.
        self.sums = torch.full((3, layout.length), uniform, device=self.device)
        self.sums[:, layout.place] = 1.0
        n_kept = layout.length if self.keep_x else layout.n_pulled
        self.kept = self.v1[: n_kept * self.k].clone()
        self.pull = torch.zeros(layout.n_pulled * self.k, device=self.device)
        # What the pull adds to the diagonal of pulled groups, and its sum over the clusters.
        self.bonds = torch.zeros((2, layout.n_pulled), device=self.device)

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held less 1/2, at the box's."""
        if self.v2 is None:  # later in place: recorded launches use the same memory
            self.v2 = torch.empty_like(self.v1)
        torch.clamp(self.v1, 0.0, 1.0, out=self.v2).sub_(0.5)
        self.sums[2] = self.sums[1] - 0.5 * self.k

    def set_pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on the pulled groups, (k, e), and what it adds to their diagonal, (e,)."""
        pull = torch.as_tensor(pull, dtype=torch.float32, device=self.device)
        self.bonds[0, : self.layout.e] = torch.as_tensor(stiffening, device=self.device)
        self.bonds[1, : self.layout.e] = pull.sum(0)
        self.layout.put_pulled(pull, self.pull)

    def pulled_x(self) -> torch.Tensor:
        """X of the pulled groups, (k, e); rows of its transpose are contiguous."""
        pulled = self.kept[: self.layout.n_pulled * self.k]
        return self.layout.by_place(pulled)[: self.layout.e].T


def room(n: int) -> int:
    """Room for n clusters or features in a tile: a power of two, at least 16."""
    return int(max(16, 1 << (n - 1).bit_length()))
