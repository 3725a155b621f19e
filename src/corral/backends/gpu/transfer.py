"""Between host and device: numbers of an iteration there, sums back, and repeated launches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import triton

from ..._typing import FloatArray
from ...admm.unpulled import Numbers
from .triton_tiles import unpack

#: Numbers that one program of the kernel ``unpack`` copies.
UNPACKED = 512


class Outbox:
    """Numbers of an iteration, sent to the device in one transfer.

    ``centers`` are in halves of bfloat16.  ``plain`` and ``own`` are numbers of each cluster, for
    plain groups and for groups with numbers of their own: the term added to the costs, ``1 / k``,
    and the totals' multiplier.  For plain groups the first contains all three.
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
        """Write numbers to be sent; those of the step before must have arrived."""
        centers, plain, own, scalars = self._write
        k, d = numbers.centers.shape
        centers.reshape(self.K, self.D)[:k, :d] = numbers.centers
        pull = 0.0 if theta is None else numbers.inverse * theta[0]
        plain, own = plain.reshape(3, self.K)[:, :k], own.reshape(3, self.K)[:, :k]
        plain[0], plain[1] = numbers.costs + (1.0 / k - pull), 1.0 / k
        own[0], own[1], own[2] = numbers.costs, 1.0 / k, pull
        n = numbers  # in the order in which the kernels read them:
        scalars[:6] = n.inverse, n.inside, n.dual, n.sphere, n.ratio, n.fade

    def send(self) -> None:
        """Copy the written numbers to the device."""
        n_centers, n = self.K * self.D, len(self._packed)
        unpack[(triton.cdiv(n, UNPACKED),)](
            self._packed, self.centers, self._others, n_centers, n, BLOCK=UNPACKED
        )


class Inbox:
    """Sums of a pass, brought from the device."""

    def __init__(self, rows: int, width: int, device: torch.device) -> None:
        self.device, pinned = device, device.type == "cuda"
        self._here = torch.zeros((rows, width), dtype=torch.float64, pin_memory=pinned)
        self._read: FloatArray = self._here.numpy()

    def send(self, partial: list[torch.Tensor]) -> None:
        """Copy the sums over the first axis of each, in a fixed order and in double precision."""
        for row, own in zip(self._here, partial, strict=True):
            row.copy_(own.sum(0, dtype=torch.float64), non_blocking=True)

    def take(self) -> FloatArray:
        """Wait for the sums, (rows, width); the next transfer overwrites them."""
        if self.device.type == "cuda":
            stream = torch.cuda.current_stream(self.device)
            # Polling returns sooner than waiting for the device to wake this thread.
            while not stream.query():
                pass
        return self._read


class Replay:
    """Records some work as a CUDA graph, and repeats the graph.

    The host launches the graph once instead of every copy and kernel in it, which takes it a tenth
    of the time.  The work must use the same memory every time and must not wait for the device.
    Without CUDA the work is done again every time.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._here: Any = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
        self._compiled = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do the work, which must be the same in every call."""
        with self._here:
            if self._graph is not None:
                self._graph.replay()
            elif self._compiled and self.device.type == "cuda":
                self._graph = self._record(work)
                self._graph.replay()
            else:  # kernels cannot be compiled and loaded while recording
                work()
                self._compiled = True

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            # Other threads may go on allocating.
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        return graph
