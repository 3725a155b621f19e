"""Exact sizes on one NVIDIA GPU: many clusters, and many rows, beside free Lloyd.

Every job makes points on the device, fits clusters of equal sizes, checks the sizes, and runs 25
rounds of Lloyd's method without rules from random rows.  ``--jobs index large`` runs some of them,
``--profile`` prints where the host spends its time, ``--quick`` a hundredth of the rows and a tenth
of the clusters.  One line a job; the status is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from corral import ClusterSizes, ConstrainedKMeans

#: Entries of a block of distances.
BLOCK = 1 << 28


@dataclass(frozen=True)
class Job:
    """Points, clusters, and the seconds that a fit may take."""

    n: int
    d: int
    k: int
    seconds: float
    blobs: int = 0  # 0 for one normal distribution

    def points(self, device: str) -> torch.Tensor:
        """Blobs of different spread, or one of them, in float32."""
        draw = torch.Generator(device).manual_seed(0)
        points = torch.randn((self.n, self.d), generator=draw, device=device)
        if self.blobs:
            blob = torch.randint(self.blobs, (self.n,), generator=draw, device=device)
            means = 4.0 * torch.randn((self.blobs, self.d), generator=draw, device=device)
            spread = 0.5 + torch.rand(self.blobs, generator=draw, device=device)
            points.mul_(spread[blob, None]).add_(means[blob])
        return points


JOBS = {
    "index": Job(1_000_000, 128, 1_024, 8.0, blobs=100),
    "index-normal": Job(1_000_000, 128, 1_024, 8.0),
    "large": Job(10_000_000, 96, 4_096, 90.0, blobs=400),
    "tree": Job(5_000_000, 96, 65_536, 180.0, blobs=1_000),
    "rows": Job(50_000_000, 32, 64, 20.0, blobs=64),
    "normal": Job(10_000_000, 16, 32, 8.0),
}


def lloyd(points: torch.Tensor, k: int, rounds: int) -> tuple[float, float]:
    """Seconds and inertia of rounds of free k-means from random rows."""
    draw = torch.Generator(points.device).manual_seed(1)
    centers = points[torch.randperm(len(points), generator=draw, device=points.device)[:k]]
    _synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        labels, _ = _nearest(points, centers)
        order = torch.argsort(labels, stable=True)
        counts = labels.bincount(minlength=k)
        sums = torch.segment_reduce(points[order], "sum", lengths=counts, unsafe=True)
        centers = torch.where(counts[:, None] > 0, sums / counts[:, None].clamp(min=1), centers)
    _synchronize()
    return time.perf_counter() - start, _nearest(points, centers)[1]


def _nearest(points: torch.Tensor, centers: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Labels and inertia."""
    labels, total, norms = [], 0.0, (centers * centers).sum(1)
    step = max(BLOCK // len(centers), 1)
    for part in points.split(step):
        least, label = torch.addmm(norms, part, -2.0 * centers.T).min(1)
        labels.append(label)
        total += float(((part * part).sum(1) + least).double().sum())
    return torch.cat(labels), total


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def run(name: str, job: Job, profile: bool, rounds: int) -> bool:
    """Print the line of a job; whether all was as it should be."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    points = job.points(device)
    sizes = np.bincount(np.arange(job.n) % job.k)
    if job.k <= 256:  # ADMM's kernels are compiled at their first use
        few = ClusterSizes(np.bincount(np.arange(200_000) % job.k))
        ConstrainedKMeans(job.k, random_state=0).fit(points[:200_000], constraints=few)
    model = ConstrainedKMeans(job.k, random_state=0, time_limit=2 * job.seconds)
    _synchronize()
    watch = cProfile.Profile()
    if profile:
        watch.enable()
    start = time.perf_counter()
    model.fit(points, constraints=ClusterSizes(sizes))
    seconds = time.perf_counter() - start
    watch.disable()
    counted = torch.as_tensor(model.labels_).bincount(minlength=job.k).cpu().numpy()
    exact = np.array_equal(np.sort(counted), np.sort(sizes))
    own, free = lloyd(points, job.k, rounds)
    ratio = float(model.inertia_) / free
    good = exact and seconds <= job.seconds and ratio <= 1.01
    print(
        f"{name}: {job.n:,} x {job.d}, k = {job.k:,}: {seconds:.1f} s (target {job.seconds:g}), "
        f"exact {exact}, inertia {ratio:.4f} of Lloyd, {rounds} rounds in {own:.2f} s; "
        f"centres by {model.report_.plan.centers}; {'met' if good else 'MISSED'}",
        flush=True,
    )
    if profile:
        pstats.Stats(watch).sort_stats("tottime").print_stats(22)
        pstats.Stats(watch).sort_stats("cumtime").print_stats(45)
    return good


def main() -> int:
    """Run the jobs asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", nargs="*", default=list(JOBS))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=25)
    asked = parser.parse_args()
    good = True
    for name in asked.jobs:
        job = JOBS[name]
        if asked.quick:
            job = replace(job, n=job.n // 100, k=max(job.k // 10, 8), blobs=job.blobs // 10)
        try:
            good &= run(name, job, asked.profile, asked.rounds)
        except Exception as error:  # the other jobs go on
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            good = False
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
