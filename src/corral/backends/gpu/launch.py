"""Launches of the kernels over the segments of a layout."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ..._typing import FloatArray
from ...admm.kernels import Step
from ...admm.schedule import GRADUATE
from ...admm.unpulled import Numbers
from . import kernels
from .layout import TILE, Segment
from .replay import Replay
from .small import Inbox, Outbox
from .tuning import Tuning

if TYPE_CHECKING:
    from .fused import Fused


class Launcher:
    """Runs one kernel over segments; its programs write what they sum.

    Parameters
    ----------
    state : Fused
    kernel : Triton kernel
    segments : list of Segment
    width : int
        Numbers that a program sums.
    """

    def __init__(self, state: Fused, kernel: Any, segments: list[Segment], width: int) -> None:
        # Without a cycle the state goes as soon as nobody needs it.
        self.state: Fused = weakref.proxy(state)
        self.kernel, self.segments, self.width = kernel, segments, width
        shift = torch.zeros(state.D)
        shift[: state.d] = torch.as_tensor(state.shift)
        self.shift = shift.to(state.device)
        self.outbox = Outbox(state.K, state.D, state.device)
        self.inbox = Inbox(len(segments), width, state.device)
        self.multiprocessors, self.shared_bytes = _capacity(state.device)
        self._replays = {sphere: Replay(state.device) for sphere in (False, True)}

    def start(self, step: Step, numbers: Numbers, theta: FloatArray | None = None) -> None:
        """Have the device make the pass; does not wait for it."""
        self.outbox.write(numbers, theta)
        sphere = step.now.phase > GRADUATE
        self._replays[sphere](partial(self._work, sphere))

    def run(self, sphere: bool) -> list[torch.Tensor]:
        """What the programs of each segment sum, (programs, width)."""
        state, outbox = self.state, self.outbox
        summed = []
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
        """All that the device does."""
        self.outbox.send()
        self.inbox.send(self.run(sphere))

    def _own_arrays(self) -> tuple[Any, ...]:
        return ()

    def _own_constants(self, sphere: bool, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        return {}

    def _arrays(self, sphere: bool, segment: Segment) -> tuple[Any, ...]:
        """One array stands for those that this variant does not look at."""
        state = self.state
        order = state.layout.order
        return (
            state.points,
            self.shift,
            state.sums if order is None else order,
            state.v1,
            state.v2 if sphere else state.sums,
            state.sums,
            state.sums if segment.rows is None else segment.rows,
            state.pull_state,
            state.bonds,
        )

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

    def __init__(self, state: Fused) -> None:
        pulled = [segment for segment in state.layout.segments if segment.pulled]
        super().__init__(state, kernels.forward, pulled, state.K + kernels.SPARE)

    def sums(self) -> FloatArray:
        """The totals, then the gram."""
        sums: FloatArray = self.inbox.take()[0]
        return sums

    def tuning(self, sphere: bool, segment: Segment) -> Tuning:
        """The same for all."""
        return self.state.tunings.forward


class Backward(Launcher):
    """The second pass."""

    def __init__(self, state: Fused) -> None:
        width = state.K * (state.D + kernels.COLUMNS) + kernels.SPARE
        super().__init__(state, kernels.backward, state.layout.segments, width)
        self._others = [not segment.pulled for segment in self.segments]

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Over all groups, then over those that nothing pulls."""
        sums = self.inbox.take()
        if self._others == [True]:
            alone = sums[0].copy()
            return alone, alone
        return sums.sum(axis=0), sums[self._others].sum(axis=0)

    def tuning(self, sphere: bool, segment: Segment) -> Tuning:
        """By phase, and by what groups have."""
        return self.state.tunings.backward(sphere, segment)

    def _own_arrays(self) -> tuple[Any, ...]:
        return (self.state.kept,)

    def _own_constants(self, sphere: bool, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        state = self.state
        return {
            "KEEP": segment.pulled or state.keep_x,
            "LEAN": state.lean,
            "AHEAD": tuning.ahead and state.points.is_cuda,
            "STAGES": tuning.stages if self._has_room(sphere, tuning) else 1,
            "RUN": tuning.run,
        }

    def _has_room(self, sphere: bool, tuning: Tuning) -> bool:
        """Whether the tiles that stages hold fit beside the centres, the points and some room."""
        K, D, tile = self.state.K, self.state.D, tuning.tile
        held = 4 * tile * (tuning.stages - 1) * ((1 + sphere) * K + D)
        return held + 4 * D * (K + tile) + (1 << 14) <= self.shared_bytes


def _capacity(device: torch.device) -> tuple[int, int]:
    """Multiprocessors, and bytes that the threads of a program may share; none if interpreted."""
    if device.type != "cuda":
        return 1, 0
    properties = torch.cuda.get_device_properties(device)
    shared = getattr(properties, "shared_memory_per_block_optin", 0)
    return int(properties.multi_processor_count), int(shared)
