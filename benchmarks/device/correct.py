"""a: the passes on the device against threads in NumPy with float64, on the same inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from corral.backends.gpu.fused import Fused
from corral.backends.gpu.torch_passes import Blocks, start_sums

from corral.admm.crew import Setup, Threads
from corral.admm.schedule import GRADUATE, SETTLE, Schedule
from corral.admm.updates import Step

from .bandwidth import some_step
from .short import check

#: Largest error of the passes in float32, in units of the largest entry of each result; and that
#: where the points are summed with 8 bits, whose errors cancel less with the few points here.
CLOSE, CLOSE_LEAN = 1e-4, 1e-3

KINDS = (("fused", Fused), ("lean", partial(Fused, lean=True)), ("blocks", Blocks))

NO_PINS = np.empty((0, 2), np.int64)


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

    def see(name, got, wanted, scale=None):
        got, wanted = (np.asarray(a.cpu() if hasattr(a, "cpu") else a) for a in (got, wanted))
        scale = np.abs(wanted).max() if scale is None else scale
        gap = float(np.abs(got - wanted).max() / max(scale, 1e-12))
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
        single = replace(step, centers=own.astype(np.float32), offsets=norms.astype(np.float32))
        totals, gram = crew.forward(step)
        got_totals, got_gram = device.forward(single)
        # Sums of x over the groups cancel: their errors are small in what they would be without.
        see("totals", got_totals, totals, np.abs(crew.x()).sum(axis=0).max())
        see("gram", got_gram, gram)
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
        for kind, make in KINDS:
            worst = errors_of(m, d, k, weighted, pulled, make)
            print(
                f"  m {m} d {d} k {k} weights {int(weighted)} pulls {int(pulled)} {kind:6}: "
                + ", ".join(f"{name} {error:.0e}" for name, error in worst.items())
            )
            largest = max(error for name, error in worst.items() if name != "labels")
            close = CLOSE_LEAN if kind == "lean" else CLOSE
            check(largest < close, f"{kind} {m} {d} {k}: error {largest:.1e}")
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
