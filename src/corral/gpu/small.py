"""The few numbers of an iteration: what the host makes of a step, and its way to the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton

from .._typing import FloatArray
from ..admm.kernels import Step
from ..admm.schedule import GRADUATE
from .tiles import unpack

#: Numbers that a program takes over.
UNPACKED = 512


@dataclass(frozen=True)
class Numbers:
    """A step as the kernels take it.

    Attributes
    ----------
    inverse : float
        ``1 / a`` of the x-system, for a group that nothing pulls.
    inside, dual, sphere : float
        What ``clip(v1)``, ``v1 - clip(v1)`` and v2 count in x.
    ratio, fade : float
        What stays of the box's dual and of the sphere's.
    centers : (k, d) array
        ``2 / a`` times the centres less their mean: over all clusters a group's costs then sum to
        nothing.
    costs : (k,) array
        What clusters add to x at all points, if points are taken less a shift.
    """

    inverse: float
    inside: float
    dual: float
    sphere: float
    ratio: float
    fade: float
    centers: FloatArray
    costs: FloatArray

    @classmethod
    def of(cls, step: Step, shift: FloatArray) -> Numbers:
        """Those of a step."""
        before, now = step.before, step.now
        spherical = now.phase > GRADUATE
        inverse = 1.0 / (now.box + now.ridge + (now.sphere if spherical else 0.0))
        sphere = (now.sphere + before.sphere) * step.shrink - before.sphere
        centers = np.asarray(step.centers, np.float64)
        norms = np.asarray(step.norms, np.float64)[:, 0] - 2.0 * (centers @ shift)
        k = len(centers)
        return cls(
            inverse=inverse,
            inside=inverse * now.box,
            dual=-inverse * before.box,
            sphere=inverse * sphere if spherical else 0.0,
            ratio=before.box / now.box,
            fade=before.sphere / now.sphere * (1.0 - step.shrink),
            centers=(2.0 * inverse) * (centers - centers.sum(axis=0) / k),
            costs=inverse * (norms.sum() / k - norms),
        )

    @property
    def scalars(self) -> tuple[float, ...]:
        """In the order in which the kernels read them."""
        return self.inverse, self.inside, self.dual, self.sphere, self.ratio, self.fade


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
        scalars[:6] = numbers.scalars

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
