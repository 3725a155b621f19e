"""All rows as one shard of PyTorch tensors on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.random import RandomState

from ..._typing import FloatArray
from ...rows import Each, Shard, plus_plus
from .torch_passes import DeviceCrew, full_products, numpy_dtype


class DeviceShards:
    """One shard on one device, of float32 or float64; see :class:`corral.rows.Shards`."""

    quick = True

    def __init__(self, points: torch.Tensor, weight: Any = None, free: Any = None) -> None:
        self.shard, self.dtype = Shard(points, weight, free), numpy_dtype(points)
        self.lengths: Sequence[int] = [len(points)]
        self.n_features = int(points.shape[1])

    def map(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        """The result for the one shard."""
        (own,) = [()] if each is None else list(each)
        with full_products():
            return [function(self.shard, *args, *own)]

    def transform(
        self, function: Callable[..., Shard], *args: Any, each: Each = None
    ) -> DeviceShards:
        """The shard that the function makes."""
        (made,) = self.map(function, *args, each=each)
        return DeviceShards(made.points, made.weight, made.free)

    def crew(self, points: FloatArray | None = None) -> DeviceCrew:
        """The device makes ADMM's passes over all rows, and over a few that were fetched."""
        if points is None:
            return DeviceCrew(self.shard.points)
        return DeviceCrew(torch.as_tensor(points).to(self.shard.points.device))

    def seeds(
        self, points: FloatArray, weight: FloatArray, n_clusters: int, random_state: RandomState
    ) -> FloatArray:
        """k-means++ centres, drawn on the device."""
        if len(points) < n_clusters or not weight.any():
            return plus_plus(points, weight, n_clusters, random_state)
        own = self.shard.points
        there, mass = (torch.as_tensor(a, dtype=own.dtype).to(own.device) for a in (points, weight))
        with full_products():
            seeds = device_plus_plus(there, mass, n_clusters, random_state)
        return np.asarray(seeds.double().cpu())


def device_plus_plus(
    points: torch.Tensor, weight: torch.Tensor, n_clusters: int, random_state: RandomState
) -> torch.Tensor:
    """k-means++: rows of the points, each the best of a few drawn by their share of the costs.

    scikit-learn draws the same rows from the same random numbers.  There must be at least as many
    points as clusters, and weights, in the same dtype, that are not all zero.
    """
    local = points - points.mean(dim=0)  # squares of points far from the origin lose digits
    squares = (local * local).sum(dim=1)
    trials = 2 + int(np.log(n_clusters))
    seed = _drawn(weight, random_state.random_sample(1), right=True)
    seeds, closest = [seed], _distances(local, squares, seed)[0]
    for _ in range(n_clusters - 1):
        drawn = _drawn(weight * closest, random_state.uniform(size=trials), right=False)
        nearer = torch.minimum(closest, _distances(local, squares, drawn))
        best = torch.argmin(nearer @ weight)
        seeds.append(drawn[best].reshape(1))
        closest = nearer[best]
    return points[torch.cat(seeds)]


def _drawn(share: torch.Tensor, numbers: np.ndarray, right: bool) -> torch.Tensor:
    """Rows drawn by random numbers from [0, 1), each row with its share as probability."""
    upto = torch.cumsum(share.double(), dim=0)
    wanted = torch.as_tensor(numbers).to(upto.device) * upto[-1]
    return torch.searchsorted(upto, wanted, right=right).clamp_(max=len(share) - 1)


def _distances(local: torch.Tensor, squares: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Squared distances of all points to some of them, (rows, m)."""
    inner = local[rows] @ local.T
    return (squares[rows][:, None] - 2.0 * inner + squares).clamp_(min=0.0)
