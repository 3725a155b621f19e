"""Launches of the kernels over the segments of a state, and how the kernels are tuned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..._typing import FloatArray
from ...admm.schedule import GRADUATE
from ...admm.unpulled import Numbers
from ...admm.updates import Step
from . import triton_kernels
from .layout import TILE, FusedState, Segment
from .transfer import Inbox, Outbox, Replay


@dataclass(frozen=True)
class Tuning:
    """How a kernel is distributed over the device."""

    tile: int = 32  # groups of a tile, a multiple of 16
    warps: int = 8
    registers: int | None = None  # most of a thread; None leaves the choice to the compiler
    programs: int = 4  # on each multiprocessor
    ahead: bool = False  # whether a program loads its next tile into the cache before it works
    stages: int = 1  # tiles in the shared memory of a program, where they fit
    run: int = 16  # tiles whose sums the matrix units add


@dataclass(frozen=True)
class Tunings:
    """The tunings of all kernels (measured: gpu.py part b on an H200).

    ``graduate`` and ``settle`` are those of the second pass over plain groups, without and with the
    sphere; ``rows`` is that over groups with numbers of their own.
    """

    forward: Tuning = Tuning()
    graduate: Tuning = Tuning(warps=4, programs=2, ahead=True, run=32)
    settle: Tuning = Tuning(tile=64, programs=1, ahead=True, stages=2)
    rows: Tuning = Tuning(programs=1, ahead=True, stages=3)


class Launcher:
    """Runs one kernel over segments; its programs write ``width`` sums each."""

    def __init__(
        self, state: FusedState, tunings: Tunings, kernel: Any, segments: list[Segment], width: int
    ) -> None:
        self.state, self.tunings = state, tunings
        self.kernel, self.segments, self.width = kernel, segments, width
        shift = torch.zeros(state.D)
        shift[: state.d] = torch.as_tensor(state.shift)
        self.shift = shift.to(state.device)
        self.outbox = Outbox(state.K, state.D, state.device)
        self.inbox = Inbox(len(segments), width, state.device)
        self.multiprocessors, self.shared_bytes = _capacity(state.device)
        self._replays = {sphere: Replay(state.device) for sphere in (False, True)}

    def start(self, step: Step, numbers: Numbers, theta: FloatArray | None = None) -> None:
        """Launch the pass; does not wait for it."""
        self.outbox.write(numbers, theta)
        sphere = step.now.phase > GRADUATE
        self._replays[sphere](partial(self._work, sphere))

    def run(self, sphere: bool) -> list[torch.Tensor]:
        """Sums of the programs of each segment, (programs, width)."""
        state, outbox, summed = self.state, self.outbox, []
        for segment in self.segments:
            tuning = self.tuning(sphere, segment)
            n_tiles = (segment.last - segment.first) * (TILE // tuning.tile)
            n_programs = min(n_tiles, tuning.programs * self.multiprocessors)
            sums = torch.zeros((n_programs, self.width), device=state.device)
            self.kernel[(n_programs,)](
                *self._arrays(sphere, segment),
                outbox.centers,
                outbox.plain if segment.rows is None else outbox.own,
                outbox.scalars,
                sums,
                *self._own_arrays(),
                *self._integers(segment, TILE // tuning.tile),
                **self._constants(sphere, segment, tuning),
                **self._own_constants(sphere, segment, tuning),
            )
            summed.append(sums)
        return summed

    def tuning(self, sphere: bool, segment: Segment) -> Tuning:
        """How to run over a segment."""
        raise NotImplementedError

    def _work(self, sphere: bool) -> None:
        """All work of the device in one pass."""
        self.outbox.send()
        self.inbox.send(self.run(sphere))

    def _own_arrays(self) -> tuple[Any, ...]:
        return ()

    def _own_constants(self, sphere: bool, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        return {}

    def _arrays(self, sphere: bool, segment: Segment) -> tuple[Any, ...]:
        """The kernel's arrays; ``sums`` replaces those that this variant does not read."""
        state, sums = self.state, self.state.sums
        order = sums if state.layout.order is None else state.layout.order
        rows = sums if segment.rows is None else segment.rows
        copies = state.v1, state.v2 if sphere else sums
        return (state.points, self.shift, order, *copies, sums, rows, state.pull, state.bonds)

    def _integers(self, segment: Segment, tiles: int) -> tuple[int, ...]:
        layout = self.state.layout
        span = (layout.m, segment.first * tiles, segment.last * tiles, layout.length)
        return (*span, self.state.d, self.state.k, layout.n_pulled)

    def _constants(self, sphere: bool, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        state = self.state
        return {
            "SPHERE": sphere,
            "ROWS": segment.rows is not None,
            "PULLED": segment.pulled,
            "GATHER": state.layout.order is not None,
            "K": state.K,
            "TILE": tuning.tile,
            "D": state.D,
            "WARPS": min(tuning.warps, state.K // 16),
            "num_warps": tuning.warps,
            "num_stages": 1,
            "maxnreg": tuning.registers,
            "enable_fp_fusion": True,
        }


class Forward(Launcher):
    """The first pass over the groups that pairs pull."""

    def __init__(self, state: FusedState, tunings: Tunings) -> None:
        pulled = [segment for segment in state.layout.segments if segment.pulled]
        width = state.K + triton_kernels.SPARE
        super().__init__(state, tunings, triton_kernels.forward, pulled, width)

    def sums(self) -> FloatArray:
        """The totals, then the gram."""
        sums: FloatArray = self.inbox.take()[0]
        return sums

    def tuning(self, sphere: bool, segment: Segment) -> Tuning:
        """The same for all."""
        return self.tunings.forward


class Backward(Launcher):
    """The second pass."""

    def __init__(self, state: FusedState, tunings: Tunings, lean: bool) -> None:
        width = state.K * (state.D + triton_kernels.COLUMNS) + triton_kernels.SPARE
        segments = state.layout.segments
        super().__init__(state, tunings, triton_kernels.backward, segments, width)
        self.lean = lean
        self._others = [not segment.pulled for segment in self.segments]

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums over all groups, then over those that nothing pulls."""
        sums = self.inbox.take()
        if self._others == [True]:
            alone = sums[0].copy()
            return alone, alone
        return sums.sum(axis=0), sums[self._others].sum(axis=0)

    def tuning(self, sphere: bool, segment: Segment) -> Tuning:
        """By phase, and by whether groups have numbers of their own."""
        if segment.rows is not None:
            return self.tunings.rows
        return self.tunings.settle if sphere else self.tunings.graduate

    def _own_arrays(self) -> tuple[Any, ...]:
        return (self.state.kept,)

    def _own_constants(self, sphere: bool, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        state = self.state
        return {
            "KEEP": segment.pulled or state.keep_x,
            "LEAN": self.lean,
            "AHEAD": tuning.ahead and state.points.is_cuda,
            "STAGES": tuning.stages if self._has_room(sphere, tuning) else 1,
            "RUN": tuning.run,
        }

    def _has_room(self, sphere: bool, tuning: Tuning) -> bool:
        """Whether the tiles of all stages fit into shared memory, with 16 KiB to spare."""
        K, D, tile = self.state.K, self.state.D, tuning.tile
        held = 4 * tile * (tuning.stages - 1) * ((1 + sphere) * K + D)
        return held + 4 * D * (K + tile) + (1 << 14) <= self.shared_bytes


def _capacity(device: torch.device) -> tuple[int, int]:
    """Multiprocessors, and bytes of shared memory of a program; 1 and 0 without CUDA."""
    if device.type != "cuda":
        return 1, 0
    properties = torch.cuda.get_device_properties(device)
    shared = getattr(properties, "shared_memory_per_block_optin", 0)
    return int(properties.multi_processor_count), int(shared)
