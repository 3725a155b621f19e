"""One NVIDIA GPU: correctness against the CPU, bandwidth of an iteration, whole fits.

Parts, all by default (``--parts a,b,c``):

- a: the passes on the device against threads in NumPy with float64, on the same small inputs;
- b: time of an iteration against the bandwidth that a copy reaches;
- c: fits of blobs with equal sizes, then with must-links and cannot-links too.

Exits with 1 where a figure falls short of what it should be.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
import torch

from corral.admm.crew import Setup, Threads
from corral.admm.kernels import Step
from corral.admm.schedule import GRADUATE, SETTLE, Schedule
from corral.gpu.fused import BACKWARD, FORWARD, Fused, Tuning
from corral.gpu.passes import Blocks, start_sums
from corral.gpu.small import fading

#: Largest error of the passes in float32, in the largest entry of each result.
CLOSE = 1e-4
#: Part of the bound that an iteration should reach.
SHARE = 0.6

NO_PINS = np.empty((0, 2), np.int64)

failures: list[str] = []


def check(good: bool, what: str) -> None:
    """Note what falls short."""
    if not good:
        failures.append(what)
        print(f"    SHORT: {what}")


# --- a: correctness ----------------------------------------------------------------------------


def make_setup(m, k, weighted, pulled, rng):
    """What a run knows of its groups."""
    weight = rng.uniform(0.2, 3.0, m) if weighted else None
    metric = np.maximum(weight, 0.9) if weighted else None
    ends = np.sort(rng.choice(m, m // 3, replace=False)) if pulled else np.empty(0, np.int64)
    values = rng.integers(1, 5, (1, m)).astype(float) if weighted else None
    if pulled and values is None:
        values = np.ones((1, m))
    return Setup(k, rng.integers(0, k, m), weight, metric, values, NO_PINS, ends)


def errors_of(m, d, k, weighted, pulled, make, seed=0, n_steps=6):
    """Largest errors of some iterations through all phases, by name."""
    rng = np.random.default_rng(seed)
    points = (rng.normal(size=(m, d)) + rng.normal(size=d)).astype(np.float32)
    setup = make_setup(m, k, weighted, pulled, rng)
    on_device = torch.as_tensor(points).cuda()
    crew, device = Threads(points.astype(np.float64), 1), make(on_device, setup)
    worst: dict[str, float] = {}

    def see(name, got, wanted):
        got, wanted = (np.asarray(a.cpu() if hasattr(a, "cpu") else a) for a in (got, wanted))
        gap = float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-12))
        worst[name] = max(worst.get(name, 0.0), gap if np.isfinite(gap) else np.inf)

    started, mine = crew.begin(setup), start_sums(on_device, setup)
    see("start", mine[0], started[0])
    centers = started[0] / started[1][:, None] + 0.5 * rng.normal(size=(k, d))
    before, shrink = Schedule.start(2.0, k, 1.0, 1.2, False), 1.0
    for number in range(n_steps):
        now = replace(
            before,
            phase=GRADUATE if number < n_steps // 2 else SETTLE,
            box=before.box * rng.uniform(0.7, 1.3),
            sphere=1.0 + 0.2 * number,
            ridge=before.ridge / 5.0,
        )
        if now.phase > before.phase:
            crew.start_sphere()
            device.start_sphere()
        if pulled:
            pull = rng.normal(size=(k, len(setup.pulled)))
            stiffening = rng.uniform(0.0, 2.0, len(setup.pulled))
            crew.pull(pull, stiffening)
            device.pull(pull, stiffening)
        middle = points.mean(axis=0, dtype=np.float64)
        own = centers - middle
        norms = ((own * own).sum(axis=1) + 2.0 * own @ middle)[:, None]
        step = Step(own, norms, before, now, shrink)
        single = replace(step, centers=own.astype(np.float32), norms=norms.astype(np.float32))
        totals, gram = crew.forward(step)
        for name, got, wanted in zip(
            ("totals", "gram"), device.forward(single), (totals, gram), strict=True
        ):
            see(name, got, wanted)
        theta = rng.normal(size=(1, k)) * now.box / 20.0
        theta -= theta.mean()
        sums, got = crew.backward(step, theta), device.backward(single, theta)
        for name in ("points", "mass", "moved", "unbalanced", "outside", "undecided", "radius"):
            see(name, getattr(got, name), getattr(sums, name))
        see("x", device.x(), crew.x())
        if pulled:
            see("pulled_x", device.pulled_x(), crew.pulled_x())
        differ = float((device.labels() != crew.labels()).mean())
        worst["labels"] = max(worst.get("labels", 0.0), differ)
        centers, before = sums.points / sums.mass[:, None], now
        shrink = 0.8 if now.phase > GRADUATE else 1.0
    return worst


def part_a() -> None:
    print("a. errors against float64 on the CPU, in the largest entry of each result")
    cases = [
        (20_000, 64, 100, False, False),
        (20_011, 64, 100, False, False),
        (20_011, 64, 100, True, False),
        (20_011, 64, 100, False, True),
        (20_011, 64, 100, True, True),
        (5_003, 5, 3, True, True),
        (5_003, 20, 37, True, True),
        (5_003, 33, 64, False, False),
        (5_003, 128, 128, True, True),
        (5_003, 64, 256, True, True),
    ]
    for m, d, k, weighted, pulled in cases:
        for kind, make in (("fused", Fused), ("blocks", Blocks)):
            worst = errors_of(m, d, k, weighted, pulled, make)
            print(
                f"  m {m} d {d} k {k} weights {int(weighted)} pulls {int(pulled)} {kind:6}: "
                + ", ".join(f"{name} {error:.0e}" for name, error in worst.items())
            )
            largest = max(error for name, error in worst.items() if name != "labels")
            check(largest < CLOSE, f"{kind} {m} {d} {k}: error {largest:.1e}")
            check(worst["labels"] < 1e-3, f"{kind} {m} {d} {k}: labels {worst['labels']:.1e}")
    same = repeat_bits()
    print(f"  two runs give the same bits: {same}")
    check(same, "two runs differ")


def repeat_bits() -> bool:
    """Whether all sums of an iteration are the same bits when made again."""
    results = []
    for _ in range(2):
        setup = make_setup(200_003, 100, True, True, np.random.default_rng(3))
        generator = torch.Generator("cuda").manual_seed(0)
        points = torch.randn((200_003, 64), device="cuda", generator=generator)
        state, (step, theta) = Fused(points, setup), some_step(points, 100, False)
        for _ in range(3):
            totals, _ = state.forward(step)
            sums = state.backward(step, theta)
        results.append(np.concatenate([totals.ravel(), sums.points.ravel(), [sums.moved]]))
    return bool(np.array_equal(*results))


# --- b: bandwidth ------------------------------------------------------------------------------


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


def times(points, setup, forward, backward, sphere):
    """Milliseconds of the forward kernel, of the backward kernel, and of a whole iteration."""
    from triton.testing import do_bench

    state = Fused(points, setup, forward=forward, backward=backward)
    if sphere:
        state.start_sphere()
    step, theta = some_step(points, setup.n_clusters, sphere)
    for _ in range(2):
        state.forward(step)
        state.backward(step, theta)
    ahead = do_bench(
        lambda: state._forward.launch(step, None), warmup=20, rep=150, return_mode="median"
    )
    back = do_bench(
        lambda: state._backward.launch(step, theta, state.kept, fading(step)),
        warmup=20,
        rep=200,
        return_mode="median",
    )
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(10):
        state.forward(step)
        state.backward(step, theta)
    whole = (time.perf_counter() - began) * 100.0
    return ahead, back, whole


TUNINGS: list[tuple[str, Tuning, Tuning]] = [
    ("default", FORWARD, BACKWARD),
    ("more programs", replace(FORWARD, programs=3), replace(BACKWARD, programs=4)),
    (
        "free registers",
        replace(FORWARD, registers=64),
        replace(BACKWARD, registers=None, programs=1),
    ),
    (
        "tile 64",
        Tuning(tile=64, programs=2),
        Tuning(tile=64, registers=None, programs=1),
    ),
    (
        "4 warps",
        Tuning(warps=4, programs=4),
        Tuning(warps=4, registers=168, programs=3),
    ),
    (
        "tile 16",
        Tuning(tile=16, programs=4),
        Tuning(tile=16, registers=80, programs=3),
    ),
    (
        "2 stages",
        Tuning(stages=2, programs=3),
        Tuning(stages=2, registers=128, programs=2),
    ),
    (
        "tile 16, 4 warps",
        Tuning(tile=16, warps=4, programs=8),
        Tuning(tile=16, warps=4, registers=168, programs=3),
    ),
]


def part_b(m: int, d: int, k: int) -> None:
    bandwidth = copy_bandwidth()
    print(f"b. copy {bandwidth / 1e12:.2f} TB/s; {m} x {d} float32, {k} clusters")
    points = torch.randn((m, d), device="cuda")
    labels = np.random.default_rng(0).integers(0, k, m)
    setup = Setup(k, labels, None, None, None, NO_PINS, np.empty(0, np.int64))
    best: dict[str, tuple[float, float]] = {}
    for sphere in (False, True):
        phase = "settle" if sphere else "graduate"
        states = 2 if sphere else 1
        needed = [4 * m * (d + states * k), 4 * m * (d + 2 * states * k)]
        bounds = [n / bandwidth * 1e3 for n in needed]
        print(
            f"  {phase}: forward reads {needed[0] / 1e9:.2f} GB, bound {bounds[0]:.2f} ms; "
            f"backward moves {needed[1] / 1e9:.2f} GB, bound {bounds[1]:.2f} ms"
        )
        for name, forward, backward in TUNINGS:
            try:
                ahead, back, whole = times(points, setup, forward, backward, sphere)
            except Exception as error:  # a layout that the device has no room for
                print(f"    {name:18} {type(error).__name__}: {str(error)[:120]}")
                continue
            share = sum(bounds) / (ahead + back)
            print(
                f"    {name:18} forward {ahead:6.2f} ms ({bounds[0] / ahead:4.0%}), backward "
                f"{back:6.2f} ms ({bounds[1] / back:4.0%}), kernels {share:4.0%}, iteration "
                f"{whole:6.2f} ms ({sum(bounds) / whole:4.0%})"
            )
            if name == "default":
                best[phase] = share, sum(bounds) / whole
            torch.cuda.empty_cache()
    for phase, (share, whole) in best.items():
        check(whole >= SHARE, f"{phase}: {whole:.0%} of the bound, the kernels alone {share:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="a,b,c", help="parts to run")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--clusters", type=int, default=100)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs an NVIDIA GPU that PyTorch can use.")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    parts = options.parts.split(",")
    if "a" in parts:
        part_a()
    if "b" in parts:
        part_b(options.rows, options.features, options.clusters)
    for failure in failures:
        print(f"SHORT: {failure}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
