"""How far it goes: time and memory of fits that stay where the rows are, and a model of the time.

    python benchmarks/reach.py measure   CPU: memory, a .npy file, Parquet and two Dask workers
    python benchmarks/reach.py model     the model at the points in POINTS, and what it predicts

A fit is passes over the rows, and each pass multiplies all rows with all centres.  Its seconds are

    fixed + rows * each + passes * 2 * rows * features * clusters / speed

on a GPU; more GPUs share the rows.  On a core they are ``rows * clusters * both``, for 16 features:
exponentials and sums take longer there than products.  Rows that are read in every pass need at
least the bytes of a pass by the speed of what they are read from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

D, K = 16, 10

#: Rows, clusters, rule, where, and processor seconds of a fit on a shared machine with two cores.
CORE = [
    (20_000_000, 20, "sizes", "Parquet", 136.6),
    (20_000_000, 20, "shares", "Parquet", 127.4),
    (2_000_000, 20, "sizes", "Parquet", 12.9),
    (2_000_000, 20, "shares", "Parquet", 10.6),
    (2_000_000, 10, "shares", ".npy", 6.0),
]
#: Seconds of a core for each row and cluster, from the first two.
BOTH = 3.4e-7
#: Rows, features, clusters and seconds of fits on one H200, equal sizes (docs/gpu.md).
GPU = [
    (1_000_000, 128, 1_024, 4.4),
    (10_000_000, 96, 4_096, 37.5),
    (50_000_000, 32, 64, 12.3),
    (10_000_000, 16, 32, 3.4),
    (10_000_000, 64, 100, 6.4),
]
#: Seconds of the sample, seconds of a row, passes, and products a second of one H200.
FIXED, EACH, PASSES, SPEED = 2.0, 2e-7, 30, 8e12


def rows(n: int) -> np.ndarray:
    """Overlapping blobs in single precision."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(K, D))
    return (centers[rng.integers(0, K, n)] + rng.normal(size=(n, D))).astype("f4")


def rules_of(n: int, rule: str):
    from corral import ClusterSizes, ClusterTotals, GroupShares

    rng = np.random.default_rng(1)
    if rule == "sizes":
        return ClusterSizes([n // K] * K)
    if rule == "shares":
        party = (rng.random(n) < 0.35).astype(np.int8)
        return GroupShares(party, minimum={1: 0.33}, maximum={1: 0.37})
    values = rng.lognormal(0.0, 0.7, n)
    return ClusterTotals(values, minimum=0.95 * values.sum() / K, maximum=1.05 * values.sum() / K)


def one(where: str, rule: str, n: int) -> dict:
    """A fit in this process."""
    from corral import ConstrainedKMeans
    from corral.rows import passes
    from corral.search.ready import make_ready

    make_ready()
    counted = dict.fromkeys(("soft_loads", "place", "measured"), 0)
    for name in counted:
        setattr(passes, name, _counted(getattr(passes, name), name, counted))
    X, rule_ = rows(n), rules_of(n, rule)
    model = ConstrainedKMeans(K, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path, pieces = Path(folder) / "x.npy", 1
        if where == "npy":
            np.save(path, X)
            X = path
        if where == "parquet":
            import pyarrow as pa
            from pyarrow import parquet

            path = Path(folder) / "x.parquet"
            parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(D)}), path)
            X = path
        if where == "dask":
            import dask.array as da
            from distributed import Client

            pieces = 8
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
                X = da.from_array(X, chunks=(n // pieces, D))
                began, cpu = time.perf_counter(), os.times()
                model.fit(X, constraints=rule_)
                seconds = time.perf_counter() - began
        else:
            began, cpu = time.perf_counter(), os.times()
            model.fit(X, constraints=rule_)
            seconds = time.perf_counter() - began
        used = os.times()
    return {
        "where": where,
        "rule": rule,
        "rows": n,
        "seconds": round(seconds, 1),
        "processor seconds here": round(used.user + used.system - cpu.user - cpu.system, 1),
        "passes over blocks": counted,
        "feasible": bool(model.report_.feasible),
        "inertia a row": round(float(model.inertia_) / n, 6),
        "home": dict(model.report_.plan.table()).get("brought into memory because", ""),
    }


def _counted(function, name: str, counted: dict):
    def call(*args):
        counted[name] += 1
        return function(*args)

    call.__name__ = name
    return call


def measure(n: int, wheres: list[str], kinds: list[str]) -> bool:
    """Each fit in a process of its own; whether all keep their rules."""
    good = True
    for rule in kinds:
        for where in wheres:
            command = [sys.executable, __file__, "one", "--where", where, "--rule", rule]
            done = subprocess.run(
                [*command, "--rows", str(n)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(where, rule, "failed:", done.stderr[-1500:], flush=True)
                good = False
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            print(json.dumps(found), flush=True)
            good &= found["feasible"]
    return good


def on_gpus(n: int, d: int, k: int, gpus: int = 1) -> float:
    """Seconds of a fit by the model."""
    return FIXED + (n * EACH + PASSES * 2.0 * n * d * k / SPEED) / gpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "one", "model"])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--where", default="memory,npy,parquet,dask")
    parser.add_argument("--rule", default="shares,totals")
    given = parser.parse_args()
    if given.what == "one":
        print(json.dumps(one(given.where, given.rule, given.rows)))
    elif given.what == "measure":
        sys.exit(not measure(given.rows, given.where.split(","), given.rule.split(",")))
    else:
        sys.exit(not show())


def show() -> bool:
    """The model at the points, and a billion rows; whether it is right within a factor of 2.5."""
    worst = 1.0
    for n, k, rule, where, seconds in CORE:
        said = n * k * BOTH
        worst = max(worst, said / seconds, seconds / said)
        print(f"{n:>11,} x {D}, k = {k}, {rule}, {where}: {seconds:.0f} s, model {said:.0f} s")
    for n, d, k, seconds in GPU:
        said = on_gpus(n, d, k)
        worst = max(worst, said / seconds, seconds / said)
        print(f"{n:>11,} x {d}, k = {k}, H200: {seconds:.0f} s, model {said:.0f} s")
    print(f"largest ratio {worst:.2f}")
    n, d, k = 1_000_000_000, 128, 1_000
    for gpus in (4, 8, 16, 64):
        print(f"{n:,} x {d}, k = {k}, {gpus} GPUs: {on_gpus(n, d, k, gpus):.0f} s (never run)")
    return worst < 2.5


if __name__ == "__main__":
    main()
