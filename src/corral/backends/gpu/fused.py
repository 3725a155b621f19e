"""ADMM's passes over all groups on a CUDA device, an iteration one Triton kernel.

The kernel is the second pass.  The first pass is a kernel only for groups that pairs pull; for all
others :class:`~corral.admm.unpulled.Unpulled` knows its sums without a pass.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm.crew import Setup
from ...admm.schedule import GRADUATE
from ...admm.unpulled import Numbers, Unpulled
from ...admm.updates import Step, Sums
from ...plan.thresholds import DEVICE_X, LEAN_GROUPS
from . import triton_kernels
from .launch import Backward, Forward, Tunings
from .layout import SLAB, FusedState, room

#: Most clusters, most features, and most of their product that a tile of the kernels has room for.
MOST_CLUSTERS, MOST_FEATURES, MOST_ENTRIES = 256, 128, 1 << 14
#: Rows whose points are converted to double precision and summed at once.
ROWS = 1 << 20


def fits(n_features: int, setup: Setup) -> bool:
    """Whether the kernels can work on a problem of this form."""
    K, D = room(setup.n_clusters), room(n_features)
    small = K <= MOST_CLUSTERS and D <= MOST_FEATURES and K * D <= MOST_ENTRIES
    totals = 1 if setup.values is None else len(setup.values)
    return small and totals == 1 and not len(setup.pins)


class Fused:
    """ADMM's passes on a CUDA device, in float32, for a setup that :func:`fits`.

    With ``keep_x``, :meth:`x` may be asked for even if it is large.  With ``lean`` the points are
    summed with 8 bits instead of 16; by default where there are many.
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
        self.lean = len(points) >= LEAN_GROUPS if lean is None else lean
        self.state = state = FusedState(points, setup, sys.maxsize if keep_x else DEVICE_X)
        self.unpulled = Unpulled(setup, state.shift, partial(_weighted_sum, points))
        tunings = Tunings() if tunings is None else tunings
        self._forward = Forward(state, tunings)
        self._backward = Backward(state, tunings, self.lean)
        self._step: Step | None = None

    def start_sphere(self) -> None:
        """Begin the sphere's copy."""
        self.state.start_sphere()
        self.unpulled.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The sums of :func:`corral.admm.updates.update_x`; x is not kept."""
        state, numbers = self.state, self._numbers_of(step)
        totals, gram = self.unpulled.totals(numbers), self.unpulled.gram(numbers)
        if state.layout.e:
            self._forward.start(step, numbers)
            summed = self._forward.sums()
            totals += summed[: state.k]
            gram += summed[state.K] * numbers.inverse
        return totals[None], np.array([[gram]])

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """As :func:`corral.admm.updates.update_copies`; theta must sum to zero over clusters."""
        state, numbers = self.state, self._numbers_of(step)
        k, K, D = state.k, state.K, state.D
        self._backward.start(step, numbers, theta)
        self.unpulled.move(numbers, theta)  # while the device works
        summed, others = self._backward.sums()
        self.unpulled.project(others[K * (D + 1) :][:k])
        mass = summed[K * D :][:k]
        statistics = summed[K * (D + triton_kernels.COLUMNS) :]
        one = dict(zip(triton_kernels.STATISTICS, statistics, strict=False))
        metric = state.layout.metric_total
        # Clusters that only fill the tile are 0 in v2, at distance 1/2 from the sphere's middle.
        nowhere = 0.25 * (K - k) * metric if step.now.phase > GRADUATE else 0.0
        return Sums(
            points=summed[: K * D].reshape(K, D)[:k, : state.d] + mass[:, None] * state.shift,
            mass=mass,
            moved=float(one["moved"]),
            unbalanced=float(one["unbalanced"]),
            outside=float(one["outside"]),
            undecided=metric - float(one["squares"]),
            radius=float(one["radius"]) - nowhere,
        )

    def pulled_x(self) -> torch.Tensor:
        """X of the pulled groups, (k, e); rows of its transpose are contiguous."""
        return self.state.pulled_x()

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on the pulled groups."""
        self.state.set_pull(pull, stiffening)

    def labels(self) -> IntArray:
        """The rounding of x where it is kept, else of v1, (m,).

        The two differ only in groups that their duals are about to move.
        """
        state = self.state
        slabs = (state.kept if state.keep_x else state.v1).view(-1, state.k, SLAB)
        labels: IntArray = slabs.argmax(1).view(-1)[state.layout.place].cpu().numpy()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k); RuntimeError if it was not kept."""
        layout, m, k = self.state.layout, self.state.layout.m, self.state.k
        if not self.state.keep_x:
            raise RuntimeError(f"x of {m} groups and {k} clusters was not kept on the device.")
        x: FloatArray = layout.by_place(self.state.kept)[layout.place].cpu().numpy()
        return x

    def _numbers_of(self, step: Step) -> Numbers:
        """The numbers of a step, computed once for both passes of an iteration."""
        if self._step is not step:
            self._step, self._numbers = step, Numbers.of(step, self.state.shift)
        return self._numbers


def _weighted_sum(points: torch.Tensor, weight: FloatArray) -> FloatArray:
    """``sum w p``, (d,), in double precision."""
    summed = torch.zeros(points.shape[1], dtype=torch.float64, device=points.device)
    for start in range(0, len(points), ROWS):
        part = points[start : start + ROWS].double()
        summed += torch.as_tensor(weight[start : start + ROWS]).to(points.device) @ part
    total: FloatArray = summed.cpu().numpy()
    return total
