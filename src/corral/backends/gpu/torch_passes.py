"""ADMM's passes on a device in PyTorch, and the crew that chooses them or the Triton kernels.

:class:`.fused.Fused` makes the passes for float32 on CUDA devices.  :class:`Blocks` makes them for
everything else, block by block, with the functions of :mod:`corral.admm.updates`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from importlib.util import find_spec
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm import updates
from ...admm.blocks import Block
from ...admm.copies import Ties
from ...admm.crew import START_SHARE, Setup
from ...admm.updates import Step, Sums

#: Bytes of one (k, b) array of a block; larger blocks need more work memory on the device.
BLOCK_BYTES = 1 << 28
#: Entries of a work array for pairs; more of them make fewer launches and need more memory.
PAIR_ENTRIES = 1 << 25
#: Rows whose start is summed at once; more of them need a larger work array.
START_ROWS = 1 << 18
#: Lowest compute capability of a device whose matrix units multiply bfloat16, as the kernels do.
LEAST_CAPABILITY = (8, 0)


@contextmanager
def full_products() -> Iterator[None]:
    """Keep PyTorch from multiplying float32 with fewer bits."""
    asked = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(asked)


class DeviceCrew:
    """Makes ADMM's passes over tensors; see :class:`corral.admm.crew.Crew`.

    With ``keep_x``, :meth:`x` may be asked for even if it is large.
    """

    def __init__(self, points: torch.Tensor, keep_x: bool = False) -> None:
        self.points, self.keep_x, self.dtype = points, keep_x, numpy_dtype(points)
        self._passes: Any = None

    @contextmanager
    def running(self) -> Iterator[DeviceCrew]:
        """Multiply with all bits meanwhile."""
        with full_products():
            yield self

    def begin(self, setup: Setup) -> tuple[FloatArray, FloatArray]:
        """Set up the state on the device."""
        self._passes = None  # frees the state of an earlier run before the new one takes memory
        self._passes = passes(self.points, setup, self.keep_x)
        with full_products():
            return start_sums(self.points, setup)

    def start_sphere(self) -> None:
        """Begin the sphere's copy."""
        self._passes.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """The first pass."""
        result: tuple[FloatArray, FloatArray] = self._passes.forward(step)
        return result

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """The second pass."""
        sums: Sums = self._passes.backward(step, theta)
        return sums

    def ties(self, ties: Ties) -> DeviceTies:
        """On the device too."""
        return DeviceTies(ties, self.pulled_x())

    def pulled_x(self) -> torch.Tensor:
        """X of the groups that pairs pull, (k, e)."""
        x: torch.Tensor = self._passes.pulled_x()
        return x

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on these groups."""
        self._passes.pull(pull, stiffening)

    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        labels: IntArray = self._passes.labels()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        x: FloatArray = self._passes.x()
        return x


def numpy_dtype(a: torch.Tensor) -> Any:
    """NumPy's dtype of a tensor of floats."""
    return np.dtype(str(a.dtype).removeprefix("torch."))


def passes(points: torch.Tensor, setup: Setup, keep_x: bool = False) -> Any:
    """The state of a run: the Triton kernels' if they can work on it, else blocks of PyTorch's."""
    if points.is_cuda and points.dtype == torch.float32 and find_spec("triton") is not None:
        from .fused import Fused, fits

        capable = torch.cuda.get_device_capability(points.device) >= LEAST_CAPABILITY
        if capable and fits(points.shape[1], setup):
            return Fused(points, setup, keep_x=keep_x)
    return Blocks(points, setup)


class Blocks:
    """Blocks of groups with all of their state, worked on one after another."""

    def __init__(self, points: torch.Tensor, setup: Setup) -> None:
        self.device = points.device
        entries = max(BLOCK_BYTES // points.element_size() // setup.n_clusters, 1)
        pieces = -(-len(points) // entries)
        edges = np.linspace(0, len(points), pieces + 1).astype(int).tolist()
        with self.device:
            self.blocks = [setup.part(a, b).block(points[a:b]) for a, b in pairwise(edges)]

    def start_sphere(self) -> None:
        """In every block."""
        for block in self.blocks:
            block.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """Sum over the blocks."""
        step = self._here(step)
        with self.device:
            parts = [updates.update_x(block, step, _room(block)) for block in self.blocks]
        totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
        return totals, gram

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """Sum over the blocks."""
        step = self._here(step)
        with self.device:
            return reduce(
                add,
                (updates.update_copies(block, step, theta, _room(block)) for block in self.blocks),
            )

    def pulled_x(self) -> torch.Tensor:
        """X of the pulled groups, (k, e); rows of its transpose are contiguous."""
        return torch.cat([block.pulled_x().T for block in self.blocks]).T

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Each block its part."""
        like = self.blocks[0].x
        pull, stiffening = (
            torch.as_tensor(a, dtype=like.dtype, device=self.device) for a in (pull, stiffening)
        )
        done = 0
        for block in self.blocks:
            part = slice(done, done + len(block.pulled))
            block.pull, block.stiffening = pull[:, part], stiffening[part]
            done = part.stop

    def labels(self) -> IntArray:
        """The rounding of x, (m,)."""
        labels: IntArray = torch.cat([block.x.argmax(0) for block in self.blocks]).cpu().numpy()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        x: FloatArray = torch.cat([block.x.T for block in self.blocks]).cpu().numpy()
        return x

    def _here(self, step: Step) -> Step:
        """The same with its arrays on the device."""
        both = (step.centers, step.offsets)
        centers, offsets = (torch.as_tensor(a).to(self.device) for a in both)
        return replace(step, centers=centers, offsets=offsets)


def _room(block: Block) -> tuple[Any, Any]:
    """Two work arrays; PyTorch reuses the memory of those that are gone."""
    return torch.empty_like(block.x), torch.empty_like(block.x)


def start_sums(points: torch.Tensor, setup: Setup) -> tuple[FloatArray, FloatArray]:
    """``sum w x p`` (k, d) and ``sum w x`` (k,) at the start, some rows at a time."""
    k = setup.n_clusters
    sums = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
    mass = torch.zeros(k, dtype=torch.float64, device=points.device)
    uniform = (1.0 - START_SHARE) / k
    for a in range(0, len(points), START_ROWS):
        part = slice(a, a + START_ROWS)
        labels = torch.as_tensor(setup.labels[part], dtype=torch.int64).to(points.device)
        x = torch.full((k, len(labels)), uniform, dtype=points.dtype, device=points.device)
        x[labels, torch.arange(len(labels), device=points.device)] += START_SHARE
        if setup.weight is not None:
            x *= torch.as_tensor(setup.weight[part], dtype=x.dtype).to(x.device)
        sums += x @ points[part]
        mass += x.sum(1, dtype=torch.float64)
    return sums.cpu().numpy(), mass.cpu().numpy()


class DeviceTies:
    """Copies and duals of all ties on a device; see :class:`corral.admm.copies.TieCopies`.

    ``x``, (k, e), is the start of the groups that take part.
    """

    def __init__(self, ties: Ties, x: torch.Tensor) -> None:
        def here(a: Any) -> torch.Tensor:
            return torch.as_tensor(a, dtype=x.dtype).to(x.device)

        t, width = len(ties), max(PAIR_ENTRIES // max(x.shape[0], 1), 1)
        order = np.argsort(ties.groups, kind="stable")
        spread = ties.sign * ties.inverse[ties.groups]
        tie = np.repeat(np.arange(t), np.diff(ties.start))
        firsts = np.concatenate([[0], np.cumsum(ties.degree)])
        self._sum = SegmentSums(ties.start, ties.groups, here(ties.sign), width)
        self._apply = SegmentSums(firsts, tie[order], here(spread[order]), width)
        self._offset, self._lower, self._upper, self._share, self._reach = (
            here(column)[:, None]
            for column in (ties.offset, ties.lower, ties.upper, ties.share, ties.reach)
        )
        self.degree = here(ties.degree)
        self._x = x.T.contiguous()
        self._force = torch.zeros((t, x.shape[0]), dtype=x.dtype, device=x.device)
        self._change = torch.zeros_like(self._force)
        self.residual = 0.0

    def pull(self, rho: float) -> torch.Tensor:
        """Sum of ``rho z - y`` over the ties of each group, (k, e)."""
        summed = self._apply(rho * self._change - self._force)
        summed += rho * self.degree[:, None] * self._x
        return summed.T

    def update(self, x: torch.Tensor, rho: float) -> None:
        """Move the copies by the prox of their prices, and take the dual step."""
        before, self._x = self._force, x.T.contiguous()
        force = self._sum(self._x).sub_(self._offset).mul_(rho * self._share).add_(before)
        self._force = torch.clamp(force, self._lower, self._upper)
        self._change = (before - self._force).div_(rho)
        if len(self._change):
            self.residual = float((self._change.abs() * self._reach).max())


class SegmentSums:
    """``out[s] = sum factor[i] rows[index[i]]`` over the entries i of each segment s.

    The sums are made in a fixed order, so that they are always the same, and some segments at a
    time, so that the work array has about ``width`` rows.
    """

    def __init__(self, firsts: IntArray, index: IntArray, factor: torch.Tensor, width: int) -> None:
        self._firsts, self._width = firsts, width
        self._factor = factor[:, None]
        self._index = torch.as_tensor(index, dtype=torch.int64).to(factor.device)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """The sums, (s, k), of rows (n, k)."""
        out = torch.zeros(
            (len(self._firsts) - 1, rows.shape[1]), dtype=rows.dtype, device=rows.device
        )
        for part in self._runs():
            first, last = self._firsts[part.start], self._firsts[part.stop]
            some = rows[self._index[first:last]].mul_(self._factor[first:last])
            offsets = torch.as_tensor(self._firsts[part.start : part.stop + 1] - first)
            out[part] = torch.segment_reduce(
                some, "sum", offsets=offsets.to(some.device), axis=0, initial=0.0
            )
        return out

    def _runs(self) -> Iterator[slice]:
        """Runs of segments that fill a work array, or one segment with more entries."""
        start, n = 0, len(self._firsts) - 1
        while start < n:
            stop = int(np.searchsorted(self._firsts, self._firsts[start] + self._width, "right"))
            stop = min(max(stop - 1, start + 1), n)
            yield slice(start, stop)
            start = stop
