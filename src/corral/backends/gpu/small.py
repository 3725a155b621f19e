"""The few numbers of an iteration on their way to the device, and its sums on their way back."""

from __future__ import annotations

import torch
import triton

from ..._typing import FloatArray
from ...admm.unpulled import Numbers
from .tiles import unpack

#: Numbers that a program takes over.
UNPACKED = 512


class Outbox:
    """The numbers of an iteration on their way to the device, all at once.

    Parameters
    ----------
    K, D : int
        Clusters and features that there is room for.
    device : torch.device

    Attributes
    ----------
    centers : (2, K, D) tensor
        In halves of bfloat16.
    plain, own : (3, K) tensors
        Numbers a cluster, for plain groups and for groups with numbers of their own: what is added
        to the costs, ``1 / k``, and the totals' multiplier.  Plain groups have all of it in the
        first.
    scalars : (16,) tensor
    """

    def __init__(self, K: int, D: int, device: torch.device) -> None:
        parts = [K * D, 3 * K, 3 * K, 16]
        self._packed = torch.zeros(sum(parts), pin_memory=device.type == "cuda")
        self._write = [part.numpy() for part in self._packed.split(parts)]
        self.centers = torch.zeros((2, K, D), dtype=torch.bfloat16, device=device)
        self._others = torch.zeros(sum(parts[1:]), device=device)
        self.plain, self.own, self.scalars = self._others.split(parts[1:])
        self.K, self.D = K, D

    def write(self, numbers: Numbers, theta: FloatArray | None) -> None:
        """Have numbers ready to be sent; those before must have arrived."""
        centers, plain, own, scalars = self._write
        k, d = numbers.centers.shape
        centers.reshape(self.K, self.D)[:k, :d] = numbers.centers
        pull = 0.0 if theta is None else numbers.inverse * theta[0]
        plain, own = plain.reshape(3, self.K)[:, :k], own.reshape(3, self.K)[:, :k]
        plain[0], plain[1] = numbers.costs + (1.0 / k - pull), 1.0 / k
        own[0], own[1], own[2] = numbers.costs, 1.0 / k, pull
        # In the order in which the kernels read them.
        n = numbers
        scalars[:6] = n.inverse, n.inside, n.dual, n.sphere, n.ratio, n.fade

    def send(self) -> None:
        """Have the device take what is written."""
        n_centers, n = self.K * self.D, len(self._packed)
        unpack[(triton.cdiv(n, UNPACKED),)](
            self._packed, self.centers, self._others, n_centers, n, BLOCK=UNPACKED
        )


class Inbox:
    """Sums on their way from the device.

    Parameters
    ----------
    rows, width : int
    device : torch.device
    """

    def __init__(self, rows: int, width: int, device: torch.device) -> None:
        self.device, pinned = device, device.type == "cuda"
        self._here = torch.zeros((rows, width), dtype=torch.float64, pin_memory=pinned)
        self._read: FloatArray = self._here.numpy()

    def send(self, partial: list[torch.Tensor]) -> None:
        """Bring the sums over the first axis of each, in one order and in double precision."""
        for row, own in zip(self._here, partial, strict=True):
            row.copy_(own.sum(0, dtype=torch.float64), non_blocking=True)

    def take(self) -> FloatArray:
        """Wait for what was sent, (rows, width); what is sent next overwrites it."""
        if self.device.type == "cuda":
            stream = torch.cuda.current_stream(self.device)
            # Who asks again and again goes on sooner than who waits to be woken.
            while not stream.query():
                pass
        return self._read
