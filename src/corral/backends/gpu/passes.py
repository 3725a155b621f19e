"""The passes of an iteration over tensors on any device, and the choice of who does them.

:class:`.fused.Fused` knows float32 on CUDA devices; everything else goes block by block through
the passes of :mod:`corral.admm.kernels`, in PyTorch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from importlib.util import find_spec
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import torch

from ..._typing import FloatArray, IntArray
from ...admm import kernels
from ...admm.blocks import Block
from ...admm.crew import START_SHARE, Setup
from ...admm.kernels import Step, Sums

#: Bytes of one (k, b) array of a block.
BLOCK_BYTES = 1 << 28
#: The kernels need bfloat16, which devices have from here on.
LEAST_CAPABILITY = (8, 0)


def passes(points: torch.Tensor, setup: Setup, keep_x: bool = False) -> Any:
    """Who makes the passes: the kernels where they can."""
    if points.is_cuda and points.dtype == torch.float32 and find_spec("triton") is not None:
        from .fused import Fused, fits

        capable = torch.cuda.get_device_capability(points.device) >= LEAST_CAPABILITY
        if capable and fits(points.shape[1], setup):
            return Fused(points, setup, keep_x=keep_x)
    return Blocks(points, setup)


class Blocks:
    """Blocks of groups, one after another, with all of the state.

    Parameters
    ----------
    points : (m, d) tensor
    setup : Setup
    """

    def __init__(self, points: torch.Tensor, setup: Setup) -> None:
        self.device = points.device
        entries = max(BLOCK_BYTES // points.element_size() // setup.n_clusters, 1)
        pieces = -(-len(points) // entries)
        edges = np.linspace(0, len(points), pieces + 1).astype(int).tolist()
        with self.device:
            self.blocks = [_block(points[a:b], setup.part(a, b)) for a, b in pairwise(edges)]

    def start_sphere(self) -> None:
        """In every block."""
        for block in self.blocks:
            block.start_sphere()

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """Sum over the blocks."""
        step = self._here(step)
        with self.device:
            parts = [kernels.forward(block, step, _room(block)) for block in self.blocks]
        totals, gram = (reduce(add, column) for column in zip(*parts, strict=True))
        return totals, gram

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """Sum over the blocks."""
        step = self._here(step)
        with self.device:
            return reduce(
                add, (kernels.backward(block, step, theta, _room(block)) for block in self.blocks)
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
        labels = torch.cat([block.x.argmax(0) for block in self.blocks])
        rounded: IntArray = labels.cpu().numpy()
        return rounded

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k)."""
        x: FloatArray = torch.cat([block.x.T for block in self.blocks]).cpu().numpy()
        return x

    def _here(self, step: Step) -> Step:
        """The same with its arrays on the device."""
        centers, offsets = (
            torch.as_tensor(a).to(self.device) for a in (step.centers, step.offsets)
        )
        return replace(step, centers=centers, offsets=offsets)


def start_sums(
    points: torch.Tensor, setup: Setup, rows: int = 1 << 18
) -> tuple[FloatArray, FloatArray]:
    """``sum w x p`` (k, d) and ``sum w x`` (k,) at the start, some rows at a time."""
    k = setup.n_clusters
    sums = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
    mass = torch.zeros(k, dtype=torch.float64, device=points.device)
    uniform = (1.0 - START_SHARE) / k
    for a in range(0, len(points), rows):
        labels = torch.as_tensor(setup.labels[a : a + rows], dtype=torch.int64).to(points.device)
        x = torch.full((k, len(labels)), uniform, dtype=points.dtype, device=points.device)
        x[labels, torch.arange(len(labels), device=points.device)] += START_SHARE
        if setup.weight is not None:
            x *= torch.as_tensor(setup.weight[a : a + rows], dtype=x.dtype).to(x.device)
        sums += x @ points[a : a + rows]
        mass += x.sum(1, dtype=torch.float64)
    return sums.cpu().numpy(), mass.cpu().numpy()


def _block(points: torch.Tensor, setup: Setup) -> Block:
    """A block of these groups, half at their start and half everywhere."""

    def here(a: Any, dtype: Any = points.dtype) -> Any:
        return None if a is None else torch.as_tensor(a, dtype=dtype).to(points.device)

    k, labels = setup.n_clusters, here(setup.labels, torch.int64)
    x = torch.full((k, len(labels)), (1.0 - START_SHARE) / k, dtype=points.dtype)
    x[labels, torch.arange(len(labels))] += START_SHARE
    block = Block(
        points=points,
        weight=here(setup.weight),
        metric=here(setup.metric),
        values=here(setup.values),
        pins=setup.pins,
        pulled=setup.pulled,
        x=x,
    )
    block.fix()
    block.v1[...] = block.x
    return block


def _room(block: Block) -> tuple[Any, Any]:
    """Two work arrays; PyTorch hands out the same memory again and again."""
    return torch.empty_like(block.x), torch.empty_like(block.x)
