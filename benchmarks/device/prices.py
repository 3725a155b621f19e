"""f: sizes by prices on data of other shapes, beside free Lloyd from rows drawn at random."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from sklearn import config_context

from corral import ClusterSizes, ConstrainedKMeans

from .fits import equal_sizes
from .many import lloyd
from .short import check

#: Rounds of Lloyd.
ROUNDS = 25


@dataclass(frozen=True)
class Job:
    """A fit of float32 rows, the seconds that it may take, and its inertia in that of Lloyd."""

    rows: int
    features: int
    clusters: int
    data: str
    seconds: float
    ratio: float


JOBS = {
    "f1": Job(2_000_000, 64, 512, "heavy tails", 15.0, 1.04),
    "f2": Job(2_000_000, 64, 512, "Zipf populations", 15.0, 1.04),
    "f3": Job(1_000_000, 256, 1_024, "unit rows", 15.0, 1.01),
}


def points_of(job: Job, device: str) -> torch.Tensor:
    """Rows on the device, the same every time."""
    generator = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=device, generator=generator)

    points = normal(job.rows, job.features)
    if job.data == "heavy tails":  # Student's t with three degrees, one scale for a row
        return points / normal(job.rows, 3).square().mean(dim=1, keepdim=True).sqrt()
    if job.data == "Zipf populations":
        share = 1.0 / torch.arange(1, job.clusters + 1, device=device, dtype=torch.float64)
        drawn = torch.rand(job.rows, device=device, generator=generator, dtype=torch.float64)
        where = torch.searchsorted(torch.cumsum(share, 0) / share.sum(), drawn)
        return points + normal(job.clusters, job.features)[where.clamp(max=job.clusters - 1)]
    return points / torch.linalg.vector_norm(points, dim=1, keepdim=True)


def part_f(name: str, device: str = "cuda", shrink: int = 1, rounds: int = ROUNDS) -> None:
    """One job: seconds, inertia against Lloyd, and broken sizes.

    With ``shrink`` there are so many times fewer rows and clusters, for a try without a GPU.
    """
    full = JOBS[name]
    n, k = full.rows // shrink, max(full.clusters // shrink, 2)
    job = Job(n, full.features, k, full.data, full.seconds, full.ratio)
    points = points_of(job, device)
    cosine = job.data == "unit rows"
    most = int(1.2 * n / k)
    sizes = ClusterSizes(maximum=most) if cosine else ClusterSizes(equal_sizes(n, k))
    said = f"at most {most} rows each, by cosine" if cosine else "equal sizes"
    print(f"{name}. {n} x {job.features} float32, {job.data}, {k} clusters, {said}", flush=True)
    took, free = lloyd(points, k, rounds)
    print(f"    {rounds} rounds of Lloyd {took:.2f} s", flush=True)
    model = ConstrainedKMeans(
        k, random_state=0, metric="cosine" if cosine else "euclidean", verbose=False
    )
    _wait(device)
    began = time.perf_counter()
    with config_context(array_api_dispatch=device == "cpu"):
        model.fit(points, constraints=sizes)
    _wait(device)
    seconds = time.perf_counter() - began
    counted = np.bincount(model.labels_.cpu().numpy(), minlength=k)
    if cosine:
        broken = int(np.sum(counted > most))
        # One less the cosine is half the squared distance to the unit centre; Lloyd's centres are
        # means, which are shorter: its cost at unit centres is that of its labels.
        free = _cosine_cost(points, k, rounds)
    else:
        broken = int(np.abs(np.sort(counted) - np.sort(equal_sizes(n, k))).sum())
    ratio = float(model.inertia_) / free
    home = dict(model.report_.plan.table()).get("brought into memory because", "")
    print(
        f"    fit {seconds:.2f} s, {broken} broken sizes, inertia {ratio:.4f} of Lloyd's, "
        f"home: {home!r}",
        flush=True,
    )
    check(broken == 0, f"{name}: {broken} broken sizes")
    if shrink == 1:
        check(seconds <= job.seconds, f"{name}: {seconds:.1f} s, {job.seconds:g} wanted")
        check(ratio <= job.ratio, f"{name}: inertia {ratio:.4f} of Lloyd's")


def _cosine_cost(points: torch.Tensor, k: int, rounds: int) -> float:
    """Sum of one less the cosine after rounds of spherical Lloyd from the same rows."""
    rows = torch.as_tensor(np.random.default_rng(0).choice(len(points), k, replace=False))
    centers = points[rows.to(points.device)].clone()
    step = max((1 << 28) // k, 1)
    cost = 0.0
    for number in range(rounds + 1):
        sums, cost = torch.zeros_like(centers), 0.0
        for start in range(0, len(points), step):
            part = points[start : start + step]
            best, labels = (part @ centers.T).max(dim=1)
            sums.index_add_(0, labels, part)
            cost += float((1.0 - best).double().sum()) if number == rounds else 0.0
        length = torch.linalg.vector_norm(sums, dim=1, keepdim=True)
        centers = torch.where(length > 0.0, sums / length.clamp(min=1e-12), centers)
    return cost


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()
