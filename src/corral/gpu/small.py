"""The few numbers of an iteration as the kernels take them."""

from __future__ import annotations

import numpy as np
import torch

from .._typing import FloatArray
from ..admm.kernels import Step
from ..admm.schedule import GRADUATE

#: What a cluster that is not there has in x, so that it has nothing in z1.
NOWHERE = -1e30


def diagonal(step: Step) -> float:
    """``a`` of the x-system, for a group that nothing pulls."""
    now = step.now
    return now.box + now.ridge + (now.sphere if now.phase > GRADUATE else 0.0)


def coefficients(step: Step, inverse: float, k: int) -> tuple[float, float, float, float, float]:
    """``1 / a``, then what ``clip(v1)``, ``v1 - clip(v1)`` and v2 count in x; then ``1 / k``."""
    before, now = step.before, step.now
    sphere = (now.sphere + before.sphere) * step.shrink - before.sphere
    sphere = sphere if now.phase > GRADUATE else 0.0
    return inverse, inverse * now.box, -inverse * before.box, inverse * sphere, 1.0 / k


def fading(step: Step) -> tuple[float, float]:
    """What stays of the box's dual and of the sphere's."""
    before, now = step.before, step.now
    return before.box / now.box, before.sphere / now.sphere * (1.0 - step.shrink)


def scaled_centers(step: Step, inverse: float) -> FloatArray:
    """``2 / a`` times the centres less their mean, (k, d).

    Over all clusters a group's costs then sum to nothing.
    """
    centers = np.asarray(step.centers, np.float64)
    scaled: FloatArray = 2.0 * inverse * (centers - centers.mean(axis=0))
    return scaled


def cluster_costs(step: Step, inverse: float, shift: FloatArray) -> FloatArray:
    """What clusters add to x at all points, (k,), if points are taken less ``shift``."""
    centers = np.asarray(step.centers, np.float64)
    norms = np.asarray(step.norms, np.float64)[:, 0] - 2.0 * centers @ shift
    costs: FloatArray = inverse * (norms.mean() - norms)
    return costs


def split_centers(step: Step, inverse: float, K: int, D: int) -> torch.Tensor:
    """:func:`scaled_centers` in halves, (2, K, D)."""
    centers = scaled_centers(step, inverse)
    scaled = torch.zeros((K, D), dtype=torch.float64)
    scaled[: centers.shape[0], : centers.shape[1]] = torch.as_tensor(centers)
    high = scaled.to(torch.bfloat16)
    return torch.stack([high, (scaled - high).to(torch.bfloat16)])


def cluster_columns(
    step: Step, theta: FloatArray | None, inverse: float, shift: FloatArray, K: int
) -> torch.Tensor:
    """Numbers a cluster, (2, 3, K), for plain groups and for groups with numbers of their own.

    They are: what is added to the costs, then to x, and the totals' multiplier.  Plain groups have
    all of it in the first.
    """
    base = cluster_costs(step, inverse, shift)
    k = len(base)
    pull = np.zeros(k) if theta is None else inverse * theta[0]
    columns = np.zeros((2, 3, K))
    columns[:, :2, k:] = NOWHERE
    columns[0, 0, :k] = base + 1.0 / k - pull
    columns[1, :, :k] = base, np.full(k, 1.0 / k), pull
    columns[1, 0, k:] = 0.0
    return torch.as_tensor(columns, dtype=torch.float32)
