"""How far it goes: time and memory of fits that stay where the rows are, and a model of the time.

    python benchmarks/reach.py measure   CPU: memory, a .npy file, Parquet and two Dask workers
    python benchmarks/reach.py model     the model at the points in POINTS, and what it predicts

A fit is passes over the rows.  Its time is about

    fixed + passes * max(bytes of the rows / speed of what holds them,
                         rows * clusters * features * 2 / arithmetic)

where ``speed`` is that of the memory, the disk or the network that the rows come from, and
``arithmetic`` that of products with the work for shares.  Both are of one unit: a core, a GPU.
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

#: Measured by ``measure`` on a shared machine of two cores, in seconds of the processor: rows,
#: where, rule, seconds.  See docs/reach.md.
POINTS: list[tuple[int, str, str, float]] = []


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
        "processor seconds of this process": round(used.user + used.system - cpu.user - cpu.system, 1),
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


def predicted(
    n: int, d: int, k: int, *, passes: float, speed: float, arithmetic: float, units: int = 1
) -> float:
    """Seconds of the passes of a fit in single precision."""
    moved, multiplied = 4.0 * n * d / speed, 2.0 * n * d * k / arithmetic
    return passes * max(moved, multiplied) / units


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
        show()


def show() -> None:
    """The model against the points, and a billion rows."""
    for n, where, rule, seconds in POINTS:
        print(n, where, rule, seconds)


if __name__ == "__main__":
    main()
