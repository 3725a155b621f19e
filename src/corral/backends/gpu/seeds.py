"""k-means++ on a device."""

from __future__ import annotations

import numpy as np
import torch


def plus_plus(
    points: torch.Tensor, weight: torch.Tensor, n_clusters: int, random_state: np.random.RandomState
) -> torch.Tensor:
    """Rows of the points to start from, each the best of a few drawn by their share of the costs.

    As scikit-learn draws them, with the same random numbers.

    Parameters
    ----------
    points : (m, d) tensor
        At least as many as clusters.
    weight : (m,) tensor
        In the dtype of the points, and not all zero.
    n_clusters : int
    random_state : RandomState
    """
    local = points - points.mean(dim=0)  # squares of what is far from the origin lose digits
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
    """Rows whose shares of the whole the random numbers from [0, 1) hit."""
    upto = torch.cumsum(share.double(), dim=0)
    wanted = torch.as_tensor(numbers).to(upto.device) * upto[-1]
    return torch.searchsorted(upto, wanted, right=right).clamp_(max=len(share) - 1)


def _distances(local: torch.Tensor, squares: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Squared distances of all points to some of them, (rows, m)."""
    inner = local[rows] @ local.T
    return (squares[rows][:, None] - 2.0 * inner + squares).clamp_(min=0.0)
