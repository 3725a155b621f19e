"""Work on a device that is the same every time, launched as one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch


class Replay:
    """Records some work as a CUDA graph, and repeats that.

    The host asks for it once instead of for every copy and kernel in it, which takes it a tenth of
    the time.  The work must use the same memory every time and must not wait for the device.

    Parameters
    ----------
    device : torch.device
        Where there is no CUDA the work is done anew every time.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._here: Any = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
        self._compiled = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do the work, always the same."""
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
