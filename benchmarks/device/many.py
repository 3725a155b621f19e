"""e: many clusters, and many rows, of exact sizes beside plain Lloyd from the same seeds."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from corral import ClusterSizes

from .fits import blobs, chunks, equal_sizes, inertia_of, timed_fit, violations
from .sampled import Sampled
from .short import check

#: Rounds of Lloyd, and the inertia that a fit may have, in that of Lloyd.
ROUNDS, RATIO = 25, 1.01


@dataclass(frozen=True)
class Job:
    """A fit of float32 rows, and the seconds that it may take."""

    rows: int
    features: int
    clusters: int
    data: str
    seconds: float


JOBS = {
    "e1": Job(1_000_000, 128, 1_024, "normal", 8.0),
    "e2": Job(10_000_000, 96, 4_096, "normal", 90.0),
    "e3": Job(5_000_000, 96, 65_536, "normal", 180.0),
    "e4": Job(50_000_000, 32, 64, "blobs", 20.0),
    "e5": Job(10_000_000, 16, 32, "normal", 8.0),
    "e6": Job(1_000_000, 128, 1_024, "blobs", 8.0),
}


def points_of(job: Job) -> torch.Tensor:
    """Rows on the device, the same every time."""
    if job.data == "blobs":
        return blobs(job.rows, job.features, job.clusters)[0]
    generator = torch.Generator("cuda").manual_seed(0)
    return torch.randn((job.rows, job.features), device="cuda", generator=generator)


def nearest(points: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """The nearest centre of each row."""
    squares, labels = (centers * centers).sum(dim=1), []
    step = max((1 << 28) // len(centers), 1)
    for start in range(0, len(points), step):
        part = points[start : start + step]
        labels.append(torch.addmm(squares, part, centers.T, alpha=-2.0).argmin(dim=1))
    return torch.cat(labels)


def lloyd(points: torch.Tensor, k: int, rounds: int) -> tuple[float, float]:
    """Seconds and inertia of plain Lloyd, with products in TF32, from rows drawn at random."""
    torch.backends.cuda.matmul.allow_tf32 = True
    wait = torch.cuda.synchronize if points.is_cuda else lambda: None
    wait()
    began = time.perf_counter()
    rows = torch.as_tensor(np.random.default_rng(0).choice(len(points), k, replace=False))
    centers = points[rows.to(points.device)].clone()
    for _ in range(rounds):
        labels = nearest(points, centers)
        sums = torch.zeros_like(centers)
        for part in chunks(len(points)):
            sums.index_add_(0, labels[part], points[part])
        counted = torch.bincount(labels, minlength=k)
        centers = torch.where((counted > 0)[:, None], sums / counted.clamp(min=1)[:, None], centers)
    wait()
    seconds = time.perf_counter() - began
    torch.backends.cuda.matmul.allow_tf32 = False
    return seconds, inertia_of(points, nearest(points, centers), k)


def flash_round(points: torch.Tensor, k: int) -> str:
    """Seconds of one round of flash-kmeans, if it is installed."""
    try:
        from flash_kmeans import batch_kmeans_Euclid
    except ImportError:
        return "flash-kmeans is not installed"
    batch = points[None]
    batch_kmeans_Euclid(batch, k, max_iters=1)
    torch.cuda.synchronize()
    began = time.perf_counter()
    batch_kmeans_Euclid(batch, k, max_iters=1)
    torch.cuda.synchronize()
    return f"one round of flash-kmeans {time.perf_counter() - began:.3f} s"


def part_e(name: str, rounds: int = ROUNDS) -> None:
    """One job: exact sizes, seconds, and inertia against Lloyd."""
    job = JOBS[name]
    n, k, points = job.rows, job.clusters, points_of(job)
    print(
        f"{name}. {n} x {job.features} float32, {job.data}, {k} clusters of equal sizes", flush=True
    )
    began, free = lloyd(points, k, rounds)
    print(f"    {rounds} rounds of Lloyd {began:.2f} s; {flash_round(points, k)}", flush=True)
    sizes, none = equal_sizes(n, k), np.empty((0, 2), np.int64)
    few = n // 50
    some = min(k, few // 20)
    _, first = timed_fit(points[:few], some, ClusterSizes(equal_sizes(few, some)))
    print(f"    a first fit of {few} rows in {some} clusters {first:.2f} s", flush=True)
    with Sampled() as sampled:
        model, seconds = timed_fit(points, k, ClusterSizes(sizes))
    held = torch.cuda.max_memory_allocated() / 2**30
    broken, inertia = (
        violations(model.labels_, sizes, none, none),
        inertia_of(points, model.labels_, k),
    )
    print(
        f"    fit {seconds:.2f} s, {broken} violations, inertia {inertia / free:.5f} of Lloyd's, "
        f"{held:.1f} GiB at most",
        flush=True,
    )
    sampled.show()
    check(broken == 0, f"{name}: {broken} violations")
    check(seconds <= job.seconds, f"{name}: {seconds:.1f} s, {job.seconds:g} wanted")
    check(inertia <= RATIO * free, f"{name}: inertia {inertia / free:.4f} of Lloyd's")
