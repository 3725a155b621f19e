"""All groups as one block on a CUDA device, each pass of an iteration one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._typing import FloatArray, IntArray
from ..admm.crew import START_SHARE, Setup
from ..admm.kernels import Step, Sums
from ..admm.schedule import GRADUATE
from . import kernels
from .layout import SLAB, Layout, Segment
from .small import cluster_columns, coefficients, diagonal, fading, split_centers

#: Clusters and features that a tile has room for, and their product.
MOST_CLUSTERS, MOST_FEATURES, MOST_ENTRIES = 256, 128, 1 << 14
#: Entries of x up to which it is kept.
KEPT = 1 << 24


@dataclass(frozen=True)
class Tuning:
    """How a kernel is laid out on the device.

    Attributes
    ----------
    tile : int
        Groups of a tile, a multiple of 16.
    warps, stages : int
    registers : int or None
        The most that a thread may have; None for as many as the compiler likes.
    programs : int
        On each multiprocessor.
    """

    tile: int = 32
    warps: int = 8
    stages: int = 1
    registers: int | None = None
    programs: int = 4


FORWARD = Tuning()
BACKWARD = Tuning(registers=128, programs=2)


def fits(n_features: int, setup: Setup) -> bool:
    """Whether the kernels know a problem of this form."""
    K, D = _room(setup.n_clusters), _room(n_features)
    room = K <= MOST_CLUSTERS and D <= MOST_FEATURES and K * D <= MOST_ENTRIES
    totals = 1 if setup.values is None else len(setup.values)
    return room and totals == 1 and not len(setup.pins)


class Fused:
    """The state of all groups on a CUDA device, in float32.

    Parameters
    ----------
    points : (m, d) tensor
    setup : Setup
        For which :func:`fits` holds.
    keep_x : bool
        Whether :meth:`x` may be asked for even if it is large.
    forward, backward : Tuning
        With the same tile.
    """

    def __init__(
        self,
        points: torch.Tensor,
        setup: Setup,
        *,
        keep_x: bool = False,
        forward: Tuning = FORWARD,
        backward: Tuning = BACKWARD,
    ) -> None:
        self.points, self.device = points.contiguous(), points.device
        self.d, self.k = points.shape[1], setup.n_clusters
        self.K, self.D = _room(self.k), _room(self.d)
        self.layout = Layout(setup, forward.tile, self.device)
        self.keep_x = keep_x or self.layout.length * self.k <= KEPT
        self.v2: Any = None
        self._set_state(torch.as_tensor(setup.labels, dtype=torch.int64).to(self.device))
        self._forward = _Launcher(self, kernels.forward, forward, self.K)
        self._backward = _Launcher(self, kernels.backward, backward, self.K * (self.D + 5))

    def start_sphere(self) -> None:
        """Begin the sphere's copy, held less 1/2, at the box's."""
        self.v2 = torch.clamp(self.v1, 0.0, 1.0).sub_(0.5)
        self.sums[2] = self.sums[1] - 0.5 * self.k

    def forward(self, step: Step) -> tuple[FloatArray, FloatArray]:
        """As :func:`corral.admm.kernels.forward`, but for x, which is not kept."""
        summed = self._forward(step, None)
        plain = sum(s.last - s.first for s in self.layout.segments if s.rows is None)
        gram = (summed[self.K] + plain * self.layout.tile) / diagonal(step)
        return summed[None, : self.k], np.array([[gram]])

    def backward(self, step: Step, theta: FloatArray | None) -> Sums:
        """As :func:`corral.admm.kernels.backward`; theta must sum to nothing over the clusters."""
        summed = self._backward(step, theta, self.kept, fading(step))
        k, K, D = self.k, self.K, self.D
        mass, moved, outside, squares, radius = summed[K * D : K * (D + 5)].reshape(5, K)[:, :k]
        return Sums(
            points=summed[: K * D].reshape(K, D)[:k, : self.d],
            mass=mass,
            moved=float(moved.sum()),
            unbalanced=float(summed[K * (D + 5)]),
            outside=float(outside.sum()),
            undecided=self.layout.metric_total - float(squares.sum()),
            radius=float(radius.sum()),
        )

    def pulled_x(self) -> torch.Tensor:
        """X of the pulled groups, (k, e); rows of its transpose are contiguous."""
        pulled = self.kept[: self.layout.n_pulled * self.k]
        return self.layout.by_place(pulled)[: self.layout.e].T

    def pull(self, pull: Any, stiffening: Any) -> None:
        """Hold the pull on the pulled groups."""
        pull = torch.as_tensor(pull, dtype=torch.float32, device=self.device)
        self.bonds[0, : self.layout.e] = torch.as_tensor(stiffening, device=self.device)
        self.bonds[1, : self.layout.e] = pull.sum(0)
        self.layout.put_pulled(pull, self.pull_state)

    def labels(self) -> IntArray:
        """The rounding of x where it is kept, else of v1, (m,).

        They differ in groups alone whose duals are about to move them.
        """
        slabs = (self.kept if self.keep_x else self.v1).view(-1, self.k, SLAB)
        labels: IntArray = slabs.argmax(1).view(-1)[self.layout.place].cpu().numpy()
        return labels

    def x(self) -> FloatArray:
        """The relaxed assignment, (m, k).

        Raises
        ------
        RuntimeError
            If it was not kept.
        """
        if not self.keep_x:
            m = self.layout.m
            raise RuntimeError(f"x of {m} groups and {self.k} clusters was not kept on the device.")
        x: FloatArray = self.layout.by_place(self.kept)[self.layout.place].cpu().numpy()
        return x

    def _set_state(self, labels: torch.Tensor) -> None:
        """Half at the start, half everywhere."""
        layout, k = self.layout, self.k
        uniform = 1.0 - START_SHARE
        self.v1 = torch.full((layout.length * k,), uniform / k, device=self.device)
        self.v1[layout.entry(labels)] += START_SHARE
        self.sums = torch.full((3, layout.length), uniform, device=self.device)
        self.sums[:, layout.place] = 1.0
        self.kept = self.v1[: (layout.length if self.keep_x else layout.n_pulled) * k].clone()
        self.pull_state = torch.zeros(layout.n_pulled * k, device=self.device)
        self.bonds = torch.zeros((2, layout.n_pulled), device=self.device)


class _Launcher:
    """Runs one kernel over all segments and adds up what its programs sum.

    Parameters
    ----------
    state : Fused
    kernel : Triton kernel
    tuning : Tuning
    width : int
        Numbers that a program sums, but for single ones.
    """

    def __init__(self, state: Fused, kernel: Any, tuning: Tuning, width: int) -> None:
        self.state, self.kernel, self.tuning = state, kernel, tuning
        most = tuning.programs * _multiprocessors(state.device)
        self.sizes = [min(s.last - s.first, most) for s in state.layout.segments]
        shape = (sum(self.sizes), width + kernels.SPARE)
        self.partial = torch.zeros(shape, device=state.device)

    def __call__(self, step: Step, theta: FloatArray | None, *own: Any) -> FloatArray:
        """Sums over all programs."""
        self.launch(step, theta, *own)
        summed: FloatArray = self.partial.sum(0, dtype=torch.float64).cpu().numpy()
        return summed

    def launch(
        self, step: Step, theta: FloatArray | None, kept: Any = None, numbers: tuple[Any, ...] = ()
    ) -> None:
        """Run the kernel; ``kept`` and ``numbers`` are the backward pass's own."""
        state, done = self.state, 0
        inverse = 1.0 / diagonal(step)
        centers = split_centers(step, inverse, state.K, state.D).to(state.device)
        columns = cluster_columns(step, theta, inverse, state.K).to(state.device)
        for segment, n_programs in zip(state.layout.segments, self.sizes, strict=True):
            flags = {} if kept is None else {"KEEP": segment.pulled or state.keep_x}
            self.kernel[(n_programs,)](
                *self._arrays(step, segment),
                centers,
                columns[0 if segment.rows is None else 1],
                self.partial[done:],
                *(() if kept is None else (kept,)),
                *self._integers(segment),
                *coefficients(step, inverse, state.k),
                *numbers,
                **self._constants(step, segment),
                **flags,
            )
            done += n_programs

    def _arrays(self, step: Step, segment: Segment) -> tuple[Any, ...]:
        """One array stands for those that this variant does not look at."""
        state = self.state
        order = state.layout.order
        return (
            state.points,
            state.sums if order is None else order,
            state.v1,
            state.v2 if step.now.phase > GRADUATE else state.sums,
            state.sums,
            state.sums if segment.rows is None else segment.rows,
            state.pull_state,
            state.bonds,
        )

    def _integers(self, segment: Segment) -> tuple[int, ...]:
        layout = self.state.layout
        span = (layout.m, segment.first, segment.last, layout.length)
        return (*span, self.state.d, self.state.k, layout.n_pulled)

    def _constants(self, step: Step, segment: Segment) -> dict[str, Any]:
        state, tuning = self.state, self.tuning
        return {
            "SPHERE": step.now.phase > GRADUATE,
            "ROWS": segment.rows is not None,
            "PULLED": segment.pulled,
            "GATHER": state.layout.order is not None,
            "K": state.K,
            "TILE": tuning.tile,
            "D": state.D,
            "WARPS": min(tuning.warps, state.K // 16),
            "STAGES": tuning.stages,
            "num_warps": tuning.warps,
            "maxnreg": tuning.registers,
            "enable_fp_fusion": True,
        }


def _room(n: int) -> int:
    """What holds n clusters or features in a tile: a power of two, 16 at least."""
    return int(max(16, 1 << (n - 1).bit_length()))


def _multiprocessors(device: torch.device) -> int:
    """How many there are; 1 where kernels are interpreted."""
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
