"""Launches of the kernels over the segments of a layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._typing import FloatArray
from ..admm.kernels import Step
from ..admm.schedule import GRADUATE
from . import kernels
from .layout import TILE, Segment
from .small import cluster_columns, coefficients, diagonal, fading, split_centers

if TYPE_CHECKING:
    from .fused import Fused


@dataclass(frozen=True)
class Tuning:
    """How a kernel is laid out on the device.

    Attributes
    ----------
    tile : int
        Groups of a tile, a multiple of 16.
    warps : int
    registers : int or None
        The most that a thread may have; None for as many as the compiler likes.
    programs : int
        On each multiprocessor.
    ahead : {0, 1, 2}
        Whether a program asks for its next tile before it works on one: not at all, into the
        device's cache, into registers.
    run : int
        Tiles that the matrix units add up.
    """

    tile: int = 32
    warps: int = 8
    registers: int | None = None
    programs: int = 4
    ahead: int = 0
    run: int = 16


@dataclass(frozen=True)
class Tunings:
    """Those of all kernels.

    Attributes
    ----------
    forward : Tuning
    graduate, settle : Tuning
        Of the second pass over plain groups, without and with the sphere.
    rows : Tuning
        Of the second pass over groups with numbers of their own.
    """

    forward: Tuning = Tuning()
    graduate: Tuning = Tuning(warps=4, programs=2, ahead=1)
    settle: Tuning = Tuning(tile=64, programs=1, ahead=1)
    rows: Tuning = Tuning(programs=1, ahead=1)

    def backward(self, step: Step, segment: Segment) -> Tuning:
        """Of the second pass over a segment."""
        if segment.rows is not None:
            return self.rows
        return self.settle if step.now.phase > GRADUATE else self.graduate


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
        self.state, self.kernel, self.segments = state, kernel, segments
        self.width = width
        shift = torch.zeros(state.D)
        shift[: state.d] = torch.as_tensor(state.shift)
        self.shift = shift.to(state.device)

    def tuning(self, step: Step, segment: Segment) -> Tuning:
        """How to run over a segment."""
        raise NotImplementedError

    def run(self, step: Step, theta: FloatArray | None = None) -> list[torch.Tensor]:
        """What the programs of each segment sum, (programs, width)."""
        state = self.state
        inverse = 1.0 / diagonal(step)
        centers = split_centers(step, inverse, state.K, state.D).to(state.device)
        columns = cluster_columns(step, theta, inverse, state.shift, state.K).to(state.device)
        summed = []
        for segment in self.segments:
            tuning = self.tuning(step, segment)
            n_tiles = (segment.last - segment.first) * (TILE // tuning.tile)
            n_programs = min(n_tiles, tuning.programs * _multiprocessors(state.device))
            partial = torch.zeros((n_programs, self.width), device=state.device)
            self.kernel[(n_programs,)](
                *self._arrays(step, segment),
                centers,
                columns[0 if segment.rows is None else 1],
                partial,
                *self._own_arrays(),
                *self._integers(segment, TILE // tuning.tile),
                *coefficients(step, inverse, state.k),
                *self._own_numbers(step),
                **self._constants(step, segment, tuning),
                **self._own_constants(segment, tuning),
            )
            summed.append(partial)
        return summed

    def _own_arrays(self) -> tuple[Any, ...]:
        return ()

    def _own_numbers(self, step: Step) -> tuple[float, ...]:
        return ()

    def _own_constants(self, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        return {}

    def _arrays(self, step: Step, segment: Segment) -> tuple[Any, ...]:
        """One array stands for those that this variant does not look at."""
        state = self.state
        order = state.layout.order
        return (
            state.points,
            self.shift,
            state.sums if order is None else order,
            state.v1,
            state.v2 if step.now.phase > GRADUATE else state.sums,
            state.sums,
            state.sums if segment.rows is None else segment.rows,
            state.pull_state,
            state.bonds,
        )

    def _integers(self, segment: Segment, tiles: int) -> tuple[int, ...]:
        layout = self.state.layout
        span = (layout.m, segment.first * tiles, segment.last * tiles, layout.length)
        return (*span, self.state.d, self.state.k, layout.n_pulled)

    def _constants(self, step: Step, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        state = self.state
        return {
            "SPHERE": step.now.phase > GRADUATE,
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

    def __call__(self, step: Step) -> FloatArray:
        """Sums over all programs: the totals, then the gram."""
        (partial,) = self.run(step)
        return _added(partial)

    def tuning(self, step: Step, segment: Segment) -> Tuning:
        """The same for all."""
        return self.state.tunings.forward


class Backward(Launcher):
    """The second pass."""

    def __init__(self, state: Fused) -> None:
        width = state.K * (state.D + kernels.COLUMNS) + kernels.SPARE
        super().__init__(state, kernels.backward, state.layout.segments, width)

    def __call__(self, step: Step, theta: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Sums over all groups, then over those that nothing pulls."""
        sums = [_added(partial) for partial in self.run(step, theta)]
        others = [own for own, s in zip(sums, self.segments, strict=True) if not s.pulled]
        return np.sum(sums, axis=0), np.sum(others, axis=0) if others else np.zeros(self.width)

    def tuning(self, step: Step, segment: Segment) -> Tuning:
        """By phase, and by what groups have."""
        return self.state.tunings.backward(step, segment)

    def _own_arrays(self) -> tuple[Any, ...]:
        return (self.state.kept,)

    def _own_numbers(self, step: Step) -> tuple[float, ...]:
        return fading(step)

    def _own_constants(self, segment: Segment, tuning: Tuning) -> dict[str, Any]:
        return {
            "KEEP": segment.pulled or self.state.keep_x,
            "LEAN": self.state.lean,
            "AHEAD": 0 if tuning.ahead == 1 and not self.state.points.is_cuda else tuning.ahead,
            "RUN": tuning.run,
        }


def _added(partial: torch.Tensor) -> FloatArray:
    """Sums of all programs, in one order and in double precision."""
    added: FloatArray = partial.sum(0, dtype=torch.float64).cpu().numpy()
    return added


def _multiprocessors(device: torch.device) -> int:
    """How many there are; 1 where kernels are interpreted."""
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
