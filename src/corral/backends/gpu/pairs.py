"""Copies of pairs on a device, see :mod:`corral.admm.copies`.

Copies and duals are held end by end, (2, p, k), and worked on some pairs at a time, in place.  The
ends of each group are summed in one order, so that the sums are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm.copies import all_pairs
from ...presolve import Rules

#: Entries of a work array.
ENTRIES = 1 << 25


class PairCopies:
    """Copies and duals of all pairs of a rules.

    Parameters
    ----------
    rules : Rules
    groups : (e,) array
        The groups that take part, in order; arrays here are about them alone.
    metric : (e,) array
        Their weights in the norms.
    x : (k, e) tensor
        Their start.
    unit : float
        What a price of one is in the units of the costs: the mean weight.

    Attributes
    ----------
    degree : (e,) tensor
        Pairs of each group.
    residual : float
        Largest gap between x and a copy.
    """

    def __init__(
        self, rules: Rules, groups: IntArray, metric: FloatArray, x: torch.Tensor, unit: float
    ) -> None:
        def here(a: Any, dtype: Any = x.dtype) -> torch.Tensor:
            return torch.as_tensor(a, dtype=dtype).to(x.device)

        ends = np.searchsorted(groups, all_pairs(rules).T.reshape(-1))
        hard = len(rules.apart)
        price = np.concatenate([np.full(hard, np.inf), rules.soft.price / unit])
        together = np.concatenate([np.zeros(hard, bool), rules.soft.together])
        degree = np.bincount(ends, minlength=len(groups))
        self._ends = here(ends, torch.int64).view(2, -1)
        self._by_group = here(np.argsort(ends, kind="stable"), torch.int64)
        self._firsts = np.concatenate([[0], np.cumsum(degree)])
        self._inverse = here(1.0 / metric[ends]).view(2, -1, 1)
        self._all_hard = len(price) == hard
        self._price, self._together = here(price)[:, None], here(together, torch.bool)[:, None]
        self.degree = here(degree)
        self._copy = x.T[self._ends]
        self._dual = torch.zeros_like(self._copy)
        self._width = max(ENTRIES // max(x.shape[0], 1), 1)
        self.residual = 0.0

    def __len__(self) -> int:
        """Number of pairs."""
        return int(self._ends.shape[1])

    def pull(self, rho: float) -> torch.Tensor:
        """Sum of ``rho z - y`` over the pairs of each group, (k, e)."""
        shape = (len(self.degree), self._copy.shape[2])
        summed = torch.zeros(shape, dtype=self._copy.dtype, device=self._copy.device)
        copy, dual = (a.view(-1, a.shape[2]) for a in (self._copy, self._dual))
        for groups in self._runs():
            first, last = self._firsts[groups.start], self._firsts[groups.stop]
            ends = self._by_group[first:last]
            force = copy[ends].mul_(rho).sub_(dual[ends])
            offsets = torch.as_tensor(self._firsts[groups.start : groups.stop + 1] - first)
            summed[groups] = torch.segment_reduce(
                force, "sum", offsets=offsets.to(force.device), axis=0, initial=0.0
            )
        return summed.T

    def update(self, x: torch.Tensor, rho: float) -> None:
        """Move the copies by the prox of their prices, and take the dual step."""
        rows, largest = x.T, torch.zeros((), dtype=x.dtype, device=x.device)
        for start in range(0, len(self), self._width):
            part = slice(start, start + self._width)
            ends, dual = rows[self._ends[:, part]], self._dual[:, part]
            copy = torch.add(ends, dual, alpha=1.0 / rho, out=self._copy[:, part])
            copy -= self._forces(copy[0], copy[1], part, rho)
            ends -= copy
            dual.add_(ends, alpha=rho)
            largest = torch.maximum(largest, ends.abs().max())
        self.residual = float(largest)

    def _forces(self, a: torch.Tensor, b: torch.Tensor, part: slice, rho: float) -> torch.Tensor:
        """How far the prox of the prices moves both ends, (2, p, k)."""
        inverse = self._inverse[:, part]
        step = 1.0 / (inverse[0] + inverse[1])
        force = (a + b).sub_(1.0).mul_(step).clamp_(min=0.0)
        if self._all_hard:
            return inverse * force
        most, together = self._price[part] / rho, self._together[part]
        closer = torch.clamp((a - b) * step, -most / 2.0, most / 2.0)
        force = torch.where(together, closer, torch.minimum(force, most))
        return inverse * torch.stack([force, torch.where(together, -force, force)])

    def _runs(self) -> Iterator[slice]:
        """Runs of groups whose ends fill a work array, or of one group with more."""
        start, n = 0, len(self.degree)
        while start < n:
            stop = int(np.searchsorted(self._firsts, self._firsts[start] + self._width, "right"))
            stop = min(max(stop - 1, start + 1), n)
            yield slice(start, stop)
            start = stop
