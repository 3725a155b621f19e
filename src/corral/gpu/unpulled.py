"""The first pass over groups that nothing pulls, without a pass.

Their x is linear in their points and their state, so ``sum_g t_g x_gj`` follows from the same sums
of the points, which never change, and of the state, which the pass before added up.
"""

from __future__ import annotations

import numpy as np
import torch

from .._typing import FloatArray
from ..admm.crew import START_SHARE, Setup
from .layout import FACTOR, SHARE, VALUE, row_vectors
from .small import Numbers

#: Rows whose points are added up at once.
ROWS = 1 << 20


class Unpulled:
    """Sums over the groups that nothing pulls, each times what it counts in the total.

    Parameters
    ----------
    points : (m, d) tensor
    shift : (d,) array
        What points are taken less.
    setup : Setup
    """

    def __init__(self, points: torch.Tensor, shift: FloatArray, setup: Setup) -> None:
        self.k, self.shift = setup.n_clusters, shift
        vectors = row_vectors(setup)
        value = vectors[VALUE].astype(np.float64)
        value[setup.pulled] = 0.0
        self.total, self.shared = float(value.sum()), float(value @ vectors[SHARE])
        factor = value * vectors[FACTOR]
        self.factor = float(factor.sum())
        self.points = _weighted_sum(points, factor) - self.factor * shift
        started = np.bincount(setup.labels, value, minlength=self.k)
        self.inside: FloatArray = START_SHARE * started + (1.0 - START_SHARE) / self.k * self.total
        self.dual: FloatArray = np.zeros(self.k)
        self.sphere: FloatArray = np.zeros(self.k)
        self._whole = self.inside

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held less 1/2."""
        self.sphere = self.inside - 0.5 * self.total

    def totals(self, numbers: Numbers) -> FloatArray:
        """``sum t x`` of the x-system without totals, (k,)."""
        state = numbers.inside * self.inside + numbers.dual * self.dual
        state += numbers.sphere * self.sphere
        costs = numbers.centers @ self.points + self.factor * numbers.costs
        totals: FloatArray = costs + state + (self.total - state.sum()) / self.k
        return totals

    def gram(self, numbers: Numbers) -> float:
        """``sum t t / (r a)``."""
        return self.shared * numbers.inverse

    def move(self, numbers: Numbers, theta: FloatArray | None) -> None:
        """Take the dual steps, which follow from x."""
        x = self.totals(numbers)
        if theta is not None:
            x -= self.gram(numbers) * theta[0]
        self.sphere = numbers.fade * self.sphere + x - 0.5 * self.total
        self._whole = numbers.ratio * self.dual + x

    def project(self, inside: FloatArray) -> None:
        """Take over the sums of the new ``clip(v1)``; the dual's is what is left of v1."""
        self.inside, self.dual = inside, self._whole - inside


def _weighted_sum(points: torch.Tensor, weight: FloatArray) -> FloatArray:
    """``sum w p``, (d,), in double precision."""
    summed = torch.zeros(points.shape[1], dtype=torch.float64, device=points.device)
    for start in range(0, len(points), ROWS):
        part = points[start : start + ROWS].double()
        summed += torch.as_tensor(weight[start : start + ROWS]).to(points.device) @ part
    total: FloatArray = summed.cpu().numpy()
    return total
