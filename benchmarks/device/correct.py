"""a: the passes on the device in float32 against NumPy in float64; b: what they take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from corral.backends.gpu.device import DeviceShards
from corral.rows import LocalShards, Shard, ShardRows

from .short import check

#: Largest error of sums and loads in float32, as a part of the largest entry.
CLOSE = 1e-4
#: Part of the rows that may be elsewhere than in float64: those whose costs are equal to rounding.
ASTRAY = 1e-3


def part_a(n: int = 200_000, d: int = 32) -> None:
    """Soft loads, places, sums, means and inertia of the same rows."""
    print("a. passes on the device in float32 against NumPy in float64")
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(n, d)) + rng.normal(size=d)).astype(np.float32)
    for k in (20, 700, 5_000):
        for kind, amounts in (
            ("sizes", np.ones((1, n))),
            ("two sums", np.stack([rng.lognormal(0.0, 0.7, n), rng.normal(size=n)])),
        ):
            there = ShardRows(DeviceShards(Shard(torch.as_tensor(points).cuda())), np.ones(n))
            here = ShardRows(LocalShards([Shard(points.astype(np.float64))]), np.ones(n))
            centers, prices = points[:k] - here.middle, 0.1 * rng.normal(size=(k, len(amounts)))
            got, wanted = (
                _results(rows.with_amounts(amounts), centers, prices) for rows in (there, here)
            )
            astray = float(np.mean(got.pop("labels") != wanted.pop("labels")))
            errors = {
                name: float(np.abs(got[name] - wanted[name]).max() / np.abs(wanted[name]).max())
                for name in got
            }
            told = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
            print(f"  {k} clusters, {kind}: {told}, {astray:.1e} of the rows elsewhere", flush=True)
            worst = max(errors["load"], errors.get("curvature", 0.0))
            check(worst < CLOSE, f"a: {k} clusters, {kind}: loads off by {worst:.1e}")
            check(astray < ASTRAY, f"a: {k} clusters, {kind}: {astray:.1e} elsewhere")


def _results(rows: ShardRows, centers: np.ndarray, prices: np.ndarray) -> dict[str, Any]:
    at = rows.at(centers)
    look = at.soft_loads(prices, 2.0)
    found = at.place(prices)
    means, inertia = rows.measured(found.labels, len(centers), centers)
    every = {"load": look.load, "sums": found.sums, "means": means}
    if isinstance(look.curvature, np.ndarray):  # in factors it is that of some rows, not the same
        every["curvature"] = look.curvature
    return {**every, "inertia": np.array(inertia), "labels": found.labels()}


def part_b(n: int, d: int, k: int) -> None:
    """Milliseconds of a pass, beside those of one product of all rows and centres."""
    print(f"b. passes over {n} x {d} float32 rows, {k} clusters")
    generator = torch.Generator("cuda").manual_seed(0)
    points = torch.randn((n, d), device="cuda", generator=generator)
    rows = ShardRows(DeviceShards(Shard(points)), np.ones(n)).with_amounts(np.ones((1, n)))
    at, prices = rows.at(points[:k].double().cpu().numpy() - rows.middle), np.zeros((k, 1))
    labels = at.place(prices).labels
    works: dict[str, Callable[[], Any]] = {
        "product alone": lambda: _products(points, k),
        "soft loads": lambda: at.soft_loads(prices, 2.0),
        "place": lambda: at.place(prices),
        "means and inertia": lambda: rows.measured(labels, k, at.centers),
    }
    for name, work in works.items():
        work()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(5):
            work()
        torch.cuda.synchronize()
        print(f"  {name}: {200.0 * (time.perf_counter() - began):.1f} ms", flush=True)


def _products(points: torch.Tensor, k: int) -> None:
    step = max((1 << 25) // k, 1)
    for start in range(0, len(points), step):
        points[start : start + step] @ points[:k].T
