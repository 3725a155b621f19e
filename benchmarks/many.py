"""Many clusters of exact sizes, beside scikit-learn's free KMeans and k-means-constrained.

``python benchmarks/many.py`` runs all jobs but the longest and prints time and inertia, relative to
those of KMeans from its own start.  ``--jobs index growth`` runs some, ``--quick`` all of them on a
tenth of the rows and clusters, ``--write`` writes the table to ``many.md`` and the picture of the
growth to ``many.png``.  ``--limit 5`` fits each with a time limit and prints when it ended.
``--peer PYTHON`` is a Python with k-means-constrained, for the job *peer*.

Jobs: *index* (100,000 x 64, k = 1,000), *peer* (20,000 x 10, k = 100), *large* (1,000,000 x 32,
k = 4,096; 15 minutes, only if asked for), *normal* and *links* (1,000,000 x 8 of one normal
distribution, k = 10, without and with 10,000 cannot-links), *growth* (50,000 x 32, k from 100 to
4,096), *dask* (*normal* over two local workers, beside memory).  The status is 1 if a target is
missed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from corral import CannotLink, ClusterSizes, ConstrainedKMeans, SolverTimeoutError

T = TypeVar("T")

HERE = Path(__file__).parent
#: Clusters of the job *growth*, and the largest power of k that its time may grow by.
GROWTH, POWER = (100, 256, 640, 1_600, 4_096), 1.1
#: Partitions of the job *dask*, and its most time in units of that in memory.
PARTITIONS, DASK_TIMES = 4, 2.0


@dataclass(frozen=True)
class Job:
    """A fit, and what it may take: times and inertias in those of KMeans, seconds, GB."""

    shape: tuple[int, int]
    k: int
    data: str
    most_times: float = np.inf
    most_inertia: float = np.inf
    most_seconds: float = np.inf
    most_gb: float = np.inf
    links: int = 0
    free: bool = True  # whether KMeans runs beside it

    def smaller(self, by: int) -> Job:
        """A job with a part of the rows, and of the clusters where these are many."""
        (n, d), k = self.shape, self.k
        fewer = k if k <= 10 else max(k // by, 10)
        return replace(self, shape=(n // by, d), k=fewer, links=self.links // by)

    def points(self) -> np.ndarray:
        """Points, the same every time."""
        (n, d), k = self.shape, self.k
        if self.data == "normal":
            return np.random.default_rng(0).normal(size=(n, d))
        centers = k if self.data == "blobs" else max(k // 10, 2)
        return make_blobs(n, d, centers=centers, cluster_std=3.0, random_state=0)[0]


JOBS = {
    "index-normal": Job((100_000, 64), 1_000, "normal", most_times=3.0, most_inertia=1.0),
    "index-blobs": Job((100_000, 64), 1_000, "blobs", most_times=3.0, most_inertia=1.0),
    "index-uneven": Job((100_000, 64), 1_000, "uneven", most_times=3.0, most_inertia=1.0),
    "peer": Job((20_000, 10), 100, "uneven"),
    "normal": Job((1_000_000, 8), 10, "normal", most_times=6.0, most_inertia=1.0005),
    "links": Job((1_000_000, 8), 10, "normal", most_times=15.0, links=10_000),
    "large": Job((1_000_000, 32), 4_096, "uneven", most_seconds=900.0, most_gb=3.0, free=False),
}


def sizes_of(n: int, k: int) -> ClusterSizes:
    """Sizes that differ by at most one."""
    return ClusterSizes(np.bincount(np.arange(n) % k))


def cannot_links(X: np.ndarray, number: int) -> CannotLink:
    """Random pairs of rows on two sides of the mean, which most answers obey."""
    rng = np.random.default_rng(1)
    side = X[:, 0] > np.median(X[:, 0])
    ends = [rng.choice(np.flatnonzero(part), number) for part in (side, ~side)]
    return CannotLink(np.column_stack(ends))


def fit(job: Job, limit: float | None = None) -> tuple[float, float]:
    """Seconds and inertia of corral; the inertia is NaN if the time was not enough."""
    X = job.points()
    rules = [sizes_of(len(X), job.k)] + ([cannot_links(X, job.links)] if job.links else [])
    model = ConstrainedKMeans(job.k, random_state=0, time_limit=limit)
    start = time.perf_counter()
    try:
        inertia = model.fit(X, constraints=rules).inertia_
    except SolverTimeoutError:
        inertia = np.nan
    return time.perf_counter() - start, inertia


def measured(job: Job) -> tuple[float, float, float]:
    """Seconds and inertia of corral, and GB beyond those that the points take."""
    fit(job.smaller(max(job.shape[0] // 1_000, 1)))  # what is imported once takes seconds
    X = job.points()
    before = peak()
    del X
    seconds, inertia = fit(job)
    return seconds, inertia, peak() - before


def peak() -> float:
    """Most GB that this process has held; that of its parent does not count."""
    held = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return np.nan if held is None else int(held[1]) / 2**20


def free(job: Job) -> tuple[float, float]:
    """Seconds and inertia of scikit-learn's KMeans."""
    X = job.points()
    start = time.perf_counter()
    inertia = KMeans(job.k, n_init=1, random_state=0).fit(X).inertia_
    return time.perf_counter() - start, inertia


def peer(job: Job, python: str) -> tuple[float, float]:
    """Seconds and inertia of k-means-constrained, in another Python."""
    n, k = job.shape[0], job.k
    path = HERE / "many_points.npy"
    np.save(path, job.points())
    code = (
        "import json, sys, time, numpy as np\n"
        "from k_means_constrained import KMeansConstrained\n"
        f"X = np.load({str(path)!r}); start = time.perf_counter()\n"
        f"m = KMeansConstrained({k}, size_min={n // k}, size_max={-(-n // k)}, n_init=1,"
        " random_state=0).fit(X)\n"
        "print(json.dumps([time.perf_counter() - start, m.inertia_]))\n"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    path.unlink()
    seconds, inertia = json.loads(done.stdout)
    return seconds, inertia


def alone(function: Callable[[Job], T], job: Job) -> T:
    """What a function gives in a process of its own.

    The peak of a process never falls, and workers of Dask leave one thread to BLAS.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, job).result()


def run(name: str, job: Job, python: str | None) -> tuple[str, bool]:
    """A row of the table, and whether all targets were met."""
    seconds, inertia, memory = alone(measured, job)
    met = seconds <= job.most_seconds and memory <= job.most_gb
    other = ""
    if job.free:
        own_seconds, own_inertia = free(job)
        times, ratio = seconds / own_seconds, inertia / own_inertia
        met &= times <= job.most_times and ratio <= job.most_inertia
        other = f"{own_seconds:.1f} s, {times:.2f} times, inertia {ratio:.4f}"
    if name == "peer" and python:
        own_seconds, own_inertia = peer(job, python)
        met &= seconds * 30.0 <= own_seconds and inertia <= own_inertia
        other += f"; peer {own_seconds:.1f} s, inertia {inertia / own_inertia:.5f}"
    (n, d), word = job.shape, "yes" if met else "NO"
    size = f"{n:,} x {d}, k = {job.k:,}"
    return f"| {name} | {size} | {seconds:.1f} s | {memory:.2f} GB | {other} | {word} |", met


def growth(by: int, picture: Path | None) -> tuple[str, bool]:
    """Time against k at fixed n, and whether it grows slowly enough."""
    ks = [k for k in GROWTH if k <= GROWTH[-1] // by]
    seconds = [fit(Job((50_000 // by, 32), k, "normal"))[0] for k in ks]
    power = float(np.polyfit(np.log(ks), np.log(seconds), 1)[0])
    if picture is not None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
        ax.loglog(ks, seconds, "o-", label=f"corral, k^{power:.2f}")
        ax.loglog(ks, seconds[0] * (np.array(ks) / ks[0]) ** POWER, "--", label=f"k^{POWER}")
        ax.set(xlabel="clusters", ylabel="seconds", title="50,000 x 32, equal sizes")
        ax.legend()
        figure.savefig(picture, dpi=120)
    times = ", ".join(f"{k:,}: {s:.1f} s" for k, s in zip(ks, seconds, strict=True))
    return (
        f"| growth | {times} | k^{power:.2f} | | | {'yes' if power <= POWER else 'NO'} |",
        power <= POWER,
    )


def dask(job: Job) -> tuple[str, bool]:
    """The same points over two local workers of Dask and in memory."""
    import dask.array as da
    from dask_scale import two_workers
    from distributed import wait

    fit(job.smaller(10))  # what is imported once takes seconds, also in the workers
    seconds = fit(job)[0]
    with two_workers("2GiB"):
        for each in (job.smaller(10), job):
            X = each.points()
            table = da.from_array(X, chunks=(-(-len(X) // PARTITIONS), X.shape[1])).persist()
            wait(table)
            model = ConstrainedKMeans(job.k, random_state=0)
            start = time.perf_counter()
            model.fit(table, constraints=sizes_of(len(X), job.k))
            far = time.perf_counter() - start
    (n, d), met = job.shape, far <= DASK_TIMES * seconds
    size, times = f"{n:,} x {d}, k = {job.k:,}", f"{far / seconds:.2f} times"
    word = "yes" if met else "NO"
    return f"| dask | {size} | {far:.1f} s | | in memory {seconds:.1f} s, {times} | {word} |", met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = [*(name for name in JOBS if name != "large"), "growth", "dask"]
    parser.add_argument("--jobs", nargs="*", default=default)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--peer")
    asked = parser.parse_args()
    by = 10 if asked.quick else 1
    lines = ["| job | data | corral | memory beyond X | KMeans, peer | met |", "| --- " * 6 + "|"]
    print(*lines, sep="\n", flush=True)
    met = True
    for name in asked.jobs:
        if name == "growth":
            line, good = growth(by, HERE / "many.png" if asked.write else None)
        elif name == "dask":
            line, good = alone(dask, JOBS["normal"].smaller(by))
        elif asked.limit is not None:
            seconds, inertia = fit(JOBS[name].smaller(by), asked.limit)
            good = seconds <= asked.limit + 2.0
            line = (
                f"| {name} | limit {asked.limit:g} s | {seconds:.1f} s | | {inertia:.6g} | {good} |"
            )
        else:
            job = JOBS[name].smaller(by) if asked.quick else JOBS[name]
            line, good = run(name, job, asked.peer)
        met &= good
        lines.append(line)
        print(line, flush=True)
    if asked.write:
        (HERE / "many.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
