"""Fits over Dask's workers: memory and time, on a local cluster of two processes.

    python benchmarks/dask_scale.py --chunk 250000    5,000,000 rows, workers of 2 GiB

Run on an idle machine with two cores.  Exits with 1 where a rule is broken.
"""

from __future__ import annotations

import argparse
import resource
import sys
import threading
import time
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from corral import ClusterSizes, ConstrainedKMeans

D, K = 16, 20
MIB = 2**20


def rows(number: int, length: int) -> np.ndarray:
    """A chunk of overlapping blobs in single precision."""
    rng = np.random.default_rng([1, number])
    centers = np.random.default_rng(0).normal(0.0, 1.0, (K, D))
    return (centers[rng.integers(0, K, length)] + rng.normal(size=(length, D))).astype("f4")


def table(n: int, chunk: int) -> da.Array:
    delayed = dask.delayed(rows)
    return da.concatenate(
        [da.from_delayed(delayed(i, chunk), (chunk, D), "f4") for i in range(n // chunk)]
    )


@contextmanager
def two_workers(memory: str):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Watch(threading.Thread):
    """Looks at the workers once a second: most bytes on disk at a time."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client, self.spilled, self.stopped = client, 0, threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(1.0):
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            disk = sum(worker["metrics"]["spilled_bytes"]["disk"] for worker in workers)
            self.spilled = max(self.spilled, disk)


def peak() -> int:
    """Most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit(n: int, chunk: int, memory: str) -> bool:
    """Print what a fit takes; whether all rules hold."""
    with two_workers(memory) as client:
        base = client.run(peak).values()
        watch, model = Watch(client), ConstrainedKMeans(K, random_state=0)
        watch.start()
        began = time.perf_counter()
        model.fit(table(n, chunk), constraints=ClusterSizes([n // K] * K))
        seconds = time.perf_counter() - began
        watch.stopped.set()
        peaks = client.run(peak).values()
    print(f"\n{n:,} rows, d = {D}, k = {K}, equal sizes, workers of {memory}")
    print(f"| seconds | {seconds:.0f} |")
    print(f"| iterations of ADMM | {model.n_iter_} |")
    broken = sum(entry.violations.count for entry in model.report_.entries)
    print(f"| rules broken | {broken} |")
    print(f"| sizes | {sorted(set(model.report_.sizes))} |")
    print(f"| inertia a row | {model.inertia_ / n:.4f} |")
    print(f"| peak of a worker, MiB | {', '.join(f'{p / MIB:.0f}' for p in peaks)} |")
    print(f"| of which before the fit | {', '.join(f'{p / MIB:.0f}' for p in base)} |")
    print(f"| most bytes on disk, MiB | {watch.spilled / MIB:.0f} |")
    print(f"| peak of the client, MiB | {peak() / MIB:.0f} |")
    return broken == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--chunk", type=int, default=125_000)
    parser.add_argument("--memory", default="2 GiB")
    given = parser.parse_args()
    good = fit(given.rows, given.chunk, given.memory)
    sys.exit(not good)


if __name__ == "__main__":
    main()
