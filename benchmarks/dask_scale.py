"""Fits over Dask's workers: memory, time, tasks and bytes, on a local cluster of two processes.

    python benchmarks/dask_scale.py fit --chunk 250000    5,000,000 rows, workers of 2 GiB
    python benchmarks/dask_scale.py iteration             an iteration of 1,000,000 rows

An iteration is compared with one of threads.  Run on an idle machine with two cores.  Exits with 1
where a rule is broken, an iteration takes twice as long as with threads, or has four tasks a
partition.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, SchedulerPlugin

from corral import ClusterSizes, ConstrainedKMeans
from corral.admm.blocks import Threads
from corral.admm.history import Options
from corral.admm.projected import ProjectedSolver
from corral.backends.dask import hold
from corral.rows import MemoryRows
from corral.rules import Pairs, Rules, SizeBounds

D, K = 16, 20
MIB = 2**20
#: Most time of an iteration, in units of that of threads, and most tasks of one for each partition.
TIMES, TASKS = 2.0, 4.0


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


def fit(n: int, chunk: int, memory: str, max_samples: int | str | None) -> bool:
    """Print what a fit takes; whether all rules hold."""
    with two_workers(memory) as client:
        base = client.run(peak).values()
        watch, model = Watch(client), ConstrainedKMeans(K, random_state=0, max_samples=max_samples)
        watch.start()
        began = time.perf_counter()
        model.fit(table(n, chunk), constraints=ClusterSizes([n // K] * K))
        seconds = time.perf_counter() - began
        watch.stopped.set()
        peaks = client.run(peak).values()
    sample = "all rows" if max_samples is None else "a sample"
    print(f"\n{n:,} rows, d = {D}, k = {K}, equal sizes, workers of {memory}, ADMM on {sample}")
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


class Tasks(SchedulerPlugin):
    """Counts tasks that workers have finished."""

    name = "corral-tasks"

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    def transition(self, key, start, finish, *args, **kwargs) -> None:
        if start == "processing" and finish == "memory":
            self.done[str(key).rsplit("-", 2)[0]] += 1


def counted(dask_scheduler) -> Counter[str]:
    return dask_scheduler.plugins["corral-tasks"].done


def fetched(dask_worker) -> int:
    """Bytes that a worker had from others."""
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def loopback() -> int:
    """Bytes that this machine has sent to itself."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def run_steps(solver: ProjectedSolver, n_steps: int) -> float:
    """Milliseconds an iteration, the median."""
    times = []
    with solver.crew.running():
        for _ in range(n_steps):
            began = time.perf_counter()
            solver.step()
            times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times)


def iteration(n: int, chunk: int, n_links: int = 0, n_steps: int = 40) -> bool:
    """Print what an iteration takes; whether that is little enough."""
    source, sizes = table(n, chunk), np.full(K, n // K)
    X = source.compute(scheduler="sync")
    rules = Rules(
        n_clusters=K,
        count=np.ones(n, np.int64),
        pairs=Pairs(n, apart=np.arange(2 * n_links).reshape(-1, 2)),
        sizes=SizeBounds(sizes, sizes, True),
    )
    points, start = MemoryRows(X), np.arange(n) % K

    def solver(crew, growth: float) -> ProjectedSolver:
        return ProjectedSolver(rules, points, start, crew, Options(rho=1.0, rho_growth=growth))

    good = True
    # With a fast growth the ridge ends soon, and the sphere's copy begins.
    for phase, growth in (("graduate", 1.01), ("later", 2.0)):
        in_memory = solver(Threads(X, 2), growth)
        run_steps(in_memory, 22)
        threads = run_steps(in_memory, n_steps)
        with two_workers("4 GiB") as client, hold(source) as shards:
            client.register_plugin(Tasks())
            held, parts = solver(shards.crew(), growth), len(shards.lengths)
            run_steps(held, 22)  # includes a checkpoint; Dask learns how long each task takes
            between = sum(client.run(fetched).values())
            before, bytes_before = client.run_on_scheduler(counted), loopback()
            spent = run_steps(held, n_steps)
            moved = (loopback() - bytes_before) / n_steps
            done = client.run_on_scheduler(counted) - before
            between = sum(client.run(fetched).values()) - between
            memory = [peak / MIB for peak in client.run(peak).values()]
        done.pop("corral-forget", None)
        tasks = sum(done.values()) / n_steps / parts
        good &= spent < TIMES * threads and tasks < TASKS
        print(
            f"\n{n:,} rows, d = {D}, k = {K}, {n_links} cannot-links, {parts} partitions, {phase}"
        )
        print(f"| threads, ms an iteration | {threads:.0f} |")
        print(f"| Dask, ms an iteration | {spent:.0f} |")
        print(f"| ratio | {spent / threads:.2f} |")
        print(f"| tasks an iteration and partition | {tasks:.2f} |")
        print(f"| of them | {dict(done)} |")
        print(f"| KiB moved an iteration | {moved / 1024:.0f} |")
        print(f"| KiB moved an iteration and partition | {moved / 1024 / parts:.1f} |")
        print(f"| of which between workers | {between / 1024 / n_steps:.0f} |")
        print(f"| peak of a worker, MiB | {', '.join(f'{m:.0f}' for m in memory)} |")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["fit", "iteration"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--chunk", type=int, default=125_000)
    parser.add_argument("--memory", default="2 GiB")
    parser.add_argument("--links", type=int, default=0, help="cannot-links, for iteration")
    parser.add_argument("--all", action="store_true", help="ADMM on all rows, not on a sample")
    given = parser.parse_args()
    if given.what == "fit":
        samples = None if given.all else "auto"
        good = fit(given.rows or 5_000_000, given.chunk, given.memory, samples)
    else:
        good = iteration(given.rows or 1_000_000, given.chunk, given.links)
    sys.exit(not good)


if __name__ == "__main__":
    main()
