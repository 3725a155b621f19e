"""The first pass over groups that nothing pulls, without a pass.

Their x is linear in their points and their state, so ``sum_g t_g x_gj`` follows from the same sums
of the points, which never change, and of the state, which the pass before added up.
"""

from __future__ import annotations

import numpy as np
import torch

from .._typing import FloatArray
from ..admm.crew import START_SHARE, Setup
from ..admm.kernels import Step
from .layout import FACTOR, SHARE, VALUE, row_vectors
from .small import cluster_costs, coefficients, diagonal, fading, scaled_centers

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

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held less 1/2."""
        self.sphere = self.inside - 0.5 * self.total

    def totals(self, step: Step) -> FloatArray:
        """``sum t x`` of the x-system without totals, (k,)."""
        inverse, inside, dual, sphere, share = coefficients(step, 1.0 / diagonal(step), self.k)
        state = inside * self.inside + dual * self.dual + sphere * self.sphere
        costs = scaled_centers(step, inverse) @ self.points
        costs += self.factor * cluster_costs(step, inverse, self.shift)
        totals: FloatArray = costs + state - state.mean() + share * self.total
        return totals

    def gram(self, step: Step) -> float:
        """``sum t t / (r a)``."""
        return self.shared / diagonal(step)

    def move(
        self, step: Step, theta: FloatArray | None, inside: FloatArray, whole: FloatArray
    ) -> None:
        """Take over the sums of the new ``clip(v1)`` and ``v1``; v2 follows from x."""
        x = self.totals(step)
        if theta is not None:
            x -= self.gram(step) * theta[0]
        self.sphere = fading(step)[1] * self.sphere + x - 0.5 * self.total
        self.inside, self.dual = inside, whole - inside


def _weighted_sum(points: torch.Tensor, weight: FloatArray) -> FloatArray:
    """``sum w p``, (d,), in double precision."""
    summed = torch.zeros(points.shape[1], dtype=torch.float64, device=points.device)
    for start in range(0, len(points), ROWS):
        part = points[start : start + ROWS].double()
        summed += torch.as_tensor(weight[start : start + ROWS]).to(points.device) @ part
    total: FloatArray = summed.cpu().numpy()
    return total
