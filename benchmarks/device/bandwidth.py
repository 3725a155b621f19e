"""b: time of an iteration against the bandwidth that a copy reaches."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
from corral.backends.gpu.fused import Fused
from corral.backends.gpu.launch import Tuning, Tunings

from corral.admm.blocks import one_blas_thread
from corral.admm.crew import Setup
from corral.admm.schedule import GRADUATE, SETTLE, Schedule
from corral.admm.updates import Step

from .short import check

#: Part of the bound that an iteration should reach.
SHARE = 0.6
#: Iterations that are timed together.
ITERATIONS = 20

NO_PINS = np.empty((0, 2), np.int64)


def some_step(points, k, sphere):
    """A step with centres at some of the points."""
    middle = points.mean(dim=0, dtype=torch.float64).cpu().numpy()
    own = points[:k].double().cpu().numpy() - middle
    norms = ((own * own).sum(axis=1) + 2.0 * own @ middle)[:, None]
    before = Schedule.start(2.0, k, 1.0, 1.03, False)
    before = replace(before, ridge=10.0, box=10.0, sphere=1.0)
    now = replace(before, ridge=9.0, sphere=1.03, phase=SETTLE if sphere else GRADUATE)
    step = Step(own.astype(np.float32), norms.astype(np.float32), before, now, 0.9)
    return step, np.random.default_rng(0).normal(size=(1, k)) * 0.01


def copy_bandwidth(n_bytes=1 << 33) -> float:
    """Bytes a second, read and written, of a copy on the device."""
    from triton.testing import do_bench

    a = torch.randn(n_bytes // 4, device="cuda")
    b = torch.empty_like(a)
    return 2 * n_bytes / (do_bench(lambda: b.copy_(a), return_mode="median") * 1e-3)


def times(points, setup, tuning, sphere, lean=None):
    """Milliseconds of the kernel, and of a whole iteration with what the host does for it."""
    from triton.testing import do_bench

    tunings = Tunings() if tuning is None else Tunings(*[tuning] * 4)
    state = Fused(points, setup, tunings=tunings, lean=lean)
    if sphere:
        state.start_sphere()
    step, theta = some_step(points, setup.n_clusters, sphere)
    iterate(state, step, theta, 2)
    kernel = do_bench(lambda: state._backward.run(sphere), warmup=20, rep=200, return_mode="median")
    torch.cuda.synchronize()
    began = time.perf_counter()
    iterate(state, step, theta, ITERATIONS)
    return kernel, (time.perf_counter() - began) * 1e3 / ITERATIONS


def iterate(state, step, theta, n_iter):
    """Both passes, each time of a step of its own."""
    with one_blas_thread():  # as in a fit
        for _ in range(n_iter):
            own = replace(step)
            state.forward(own)
            state.backward(own, theta)


#: Name, how, and whether sums take the points in fewer bits.
VARIANTS: list[tuple[str, Tuning | None, bool | None]] = [
    ("default", None, None),
    ("default, all bits", None, False),
    ("4 warps", Tuning(warps=4, programs=2, ahead=True, run=32), None),
    ("4 warps, nothing ahead", Tuning(warps=4, programs=2, run=32), None),
    ("8 warps, tile 64", Tuning(tile=64, programs=1, ahead=True), None),
    ("8 warps, tile 64, 2 stages", Tuning(tile=64, programs=1, ahead=True, stages=2), None),
]


def part_b(m: int, d: int, k: int) -> None:
    """Print the table of all variants."""
    bandwidth = copy_bandwidth()
    print(f"b. copy {bandwidth / 1e12:.2f} TB/s; {m} x {d} float32, {k} clusters")
    generator = torch.Generator("cuda").manual_seed(0)
    points = torch.randn((m, d), device="cuda", generator=generator)
    labels = np.random.default_rng(0).integers(0, k, m)
    setup = Setup(k, labels, None, None, None, NO_PINS, np.empty(0, np.int64))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, m)
    weighted = replace(setup, weight=weight, metric=weight, values=np.ones((1, m)))
    for sphere in (False, True):
        phase, states = ("settle", 2) if sphere else ("graduate", 1)
        needed = 4 * m * (d + 2 * states * k)
        bound = needed / bandwidth * 1e3
        print(f"  {phase}: an iteration moves {needed / 1e9:.2f} GB, bound {bound:.2f} ms")
        for name, tuning, lean in VARIANTS:
            try:
                kernel, whole = times(points, setup, tuning, sphere, lean)
            except Exception as error:  # a layout that the device has no room for
                print(f"    {name:29} {type(error).__name__}: {str(error)[:120]}")
                continue
            print(
                f"    {name:29} kernel {kernel:6.2f} ms ({bound / kernel:4.0%}), iteration "
                f"{whole:6.2f} ms ({bound / whole:4.0%})",
                flush=True,
            )
            if name == "default":
                share = bound / whole
            torch.cuda.empty_cache()
        kernel, whole = times(points, weighted, None, sphere)
        print(f"    with weights: kernel {kernel:.2f} ms, iteration {whole:.2f} ms", flush=True)
        torch.cuda.empty_cache()
        check(share >= SHARE, f"{phase}: an iteration at {share:.0%} of the bound")
