"""All groups as one block on a CUDA device, an iteration one kernel.

The second pass is the kernel.  The first is a kernel for those groups alone that pairs pull; for
all the others :class:`~corral.admm.unpulled.Unpulled` knows what it would sum.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm.crew import START_SHARE, Setup
from ...admm.kernels import Step, Sums
from ...admm.schedule import GRADUATE
from ...admm.unpulled import Numbers, Unpulled
from . import kernels
from .launch import Backward, Forward
from .layout import SLAB, Layout
from .tuning import Tunings

#: Clusters and features that a tile has room for, and their product.
MOST_CLUSTERS, MOST_FEATURES, MOST_ENTRIES = 256, 128, 1 << 14
#: Entries of x up to which it is kept.
KEPT = 1 << 24
#: Rows whose points are added up at once.
ROWS = 1 << 20
#: From so many groups on their sums take the points in fewer bits: rounding averages out.
LEAN = 200_000


def fits(n_features: int, setup: Setup) -> bool:
    """Whether the kernels know a problem of this form."""
    K, D = _room(setup.n_clusters), _room(n_features)
    room = K <= MOST_CLUSTERS and D <= MOST_FEATURES and K * D <= MOST_ENTRIES
    totals = 1 if setup.values is None else len(setup.values)
    return room and totals == 1 and not len(setup.pins)


class Fused:
    """The state of all groups on a CUDA device, in float32.

    Parameters
    ----------
    points : (m, d) tensor
    setup : Setup
        For which :func:`fits` holds.
    keep_x : bool
        Whether :meth:`x` may be asked for even if it is large.
    tunings : Tunings, optional
    lean : bool, optional
        Whether sums of the points take them in fewer bits; by default where there are many.
    """

    def __init__(
        self,
        points: torch.Tensor,
        setup: Setup,
        *,
        keep_x: bool = False,
        tunings: Tunings | None = None,
        lean: bool | None = None,
    ) -> None:
        self.points, self.device = points.contiguous(), points.device
        self.d, self.k = points.shape[1], setup.n_clusters
        self.K, self.D = _room(self.k), _room(self.d)
        self.lean = len(points) >= LEAN if lean is None else lean
        self.shift = points.mean(0, dtype=torch.float64).float().double().cpu().numpy()
        self.unpulled = Unpulled(setup, self.shift, partial(_weighted_sum, points))
        self.layout = Layout(setup, self.device)
        self.keep_x = keep_x or self.layout.length * self.k <= KEPT
        self.v2: Any = None
        self._set_state(torch.as_tensor(setup.labels, dtype=torch.int64).to(self.device))
        self.tunings = Tunings() if tunings is None else tunings
        self._forward, self._backward = Forward(self), Backward(self)
        self._step: Step | None = None

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held less 1/2, at the box's."""
        if self.v2 is None:  # else in place: launches are repeated where they first were
            self.v2 = torch.empty_like(self.v1)
        torch.clamp(self.v1, 0.0, 1.0, out=self.v2).sub_(0.5)
        self.sums[2] = self.sums[1] - 0.5 * self.k
        self.unpulled.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """As :func:`corral.admm.kernels.forward`, but for x, which is not kept."""
        numbers = self._numbers_of(step)
        totals, gram = self.unpulled.totals(numbers), self.unpulled.gram(numbers)
        if self.layout.e:
            self._forward.start(step, numbers)
            summed = self._forward.sums()
            totals += summed[: self.k]
            gram += summed[self.K] * numbers.inverse
        return totals[None], np.array([[gram]])

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """As :func:`corral.admm.kernels.backward`; theta must sum to nothing over the clusters."""
        k, K, D = self.k, self.K, self.D
        numbers = self._numbers_of(step)
        self._backward.start(step, numbers, theta)
        self.unpulled.move(numbers, theta)  # while the device works
        summed, others = self._backward.sums()
        self.unpulled.project(others[K * (D + 1) :][:k])
        mass = summed[K * D :][:k]
        one = dict(zip(kernels.STATISTICS, summed[K * (D + kernels.COLUMNS) :], strict=False))
        metric = self.layout.metric_total
        # Clusters that are not there lie at 0 in v2, 1/2 from the sphere's middle.
        nowhere = 0.25 * (K - k) * metric if step.now.phase > GRADUATE else 0.0
        return Sums(
            points=summed[: K * D].reshape(K, D)[:k, : self.d] + mass[:, None] * self.shift,
            mass=mass,
            moved=float(one["moved"]),
            unbalanced=float(one["unbalanced"]),
            outside=float(one["outside"]),
            undecided=metric - float(one["squares"]),
            radius=float(one["radius"]) - nowhere,
        )

    def pulled_x(self) -> torch.Tensor:
        """X of the pulled groups, (k, e); rows of its transpose are contiguous."""
        pulled = self.kept[: self.layout.n_pulled * self.k]
        return self.layout.by_place(pulled)[: self.layout.e].T

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on the pulled groups."""
        pull = torch.as_tensor(pull, dtype=torch.float32, device=self.device)
        self.bonds[0, : self.layout.e] = torch.as_tensor(stiffening, device=self.device)
        self.bonds[1, : self.layout.e] = pull.sum(0)
        self.layout.put_pulled(pull, self.pull_state)

    def labels(self) -> IntArray:
        """The rounding of x where it is kept, else of v1, (m,).

        They differ in groups alone whose duals are about to move them.
        """
        slabs = (self.kept if self.keep_x else self.v1).view(-1, self.k, SLAB)
        labels: IntArray = slabs.argmax(1).view(-1)[self.layout.place].cpu().numpy()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k).

        Raises
        ------
        RuntimeError
            If it was not kept.
        """
        if not self.keep_x:
            m = self.layout.m
            raise RuntimeError(f"x of {m} groups and {self.k} clusters was not kept on the device.")
        x: FloatArray = self.layout.by_place(self.kept)[self.layout.place].cpu().numpy()
        return x

    def _numbers_of(self, step: Step) -> Numbers:
        """The same for both passes of an iteration."""
        if self._step is not step:
            self._step, self._numbers = step, Numbers.of(step, self.shift)
        return self._numbers

    def _set_state(self, labels: torch.Tensor) -> None:
        """Half at the start, half everywhere."""
        layout, k = self.layout, self.k
        uniform = 1.0 - START_SHARE
        self.v1 = torch.full((layout.length * k,), uniform / k, device=self.device)
        self.v1[layout.entry(labels)] += START_SHARE
        self.sums = torch.full((3, layout.length), uniform, device=self.device)
        self.sums[:, layout.place] = 1.0
        self.kept = self.v1[: (layout.length if self.keep_x else layout.n_pulled) * k].clone()
        self.pull_state = torch.zeros(layout.n_pulled * k, device=self.device)
        self.bonds = torch.zeros((2, layout.n_pulled), device=self.device)


def _room(n: int) -> int:
    """What holds n clusters or features in a tile: a power of two, 16 at least."""
    return int(max(16, 1 << (n - 1).bit_length()))


def _weighted_sum(points: torch.Tensor, weight: FloatArray) -> FloatArray:
    """``sum w p``, (d,), in double precision."""
    summed = torch.zeros(points.shape[1], dtype=torch.float64, device=points.device)
    for start in range(0, len(points), ROWS):
        part = points[start : start + ROWS].double()
        summed += torch.as_tensor(weight[start : start + ROWS]).to(points.device) @ part
    total: FloatArray = summed.cpu().numpy()
    return total
