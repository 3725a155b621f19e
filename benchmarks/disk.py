"""Fits of Parquet and .npy files that are read block by block, with a limit on memory.

    python benchmarks/disk.py make      20,000,000 x 16 float32 in 20 Parquet files, 1.3 GB
    python benchmarks/disk.py fit       equal sizes and shares, k = 20, 1 GiB beyond the interpreter
    python benchmarks/disk.py compare   the same from memory, and how much longer the disk takes
    python benchmarks/disk.py clean

Each fit is a process of its own.  Its limit is that on the data of a process (RLIMIT_DATA, which
counts all private memory) over what Python and the imported libraries take.  Exits with 1 where a
rule is broken, a fit does not end, or a figure falls short of what it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

D, K = 16, 20
GIB = 2**30
#: Seconds of a fit from files, in those of the same fit from memory, at most.
MOST = 3.0


def rows(number: int, length: int) -> np.ndarray:
    """Some rows of overlapping blobs in single precision."""
    rng = np.random.default_rng([1, number])
    centers = np.random.default_rng(0).normal(0.0, 1.0, (K, D))
    return (centers[rng.integers(0, K, length)] + rng.normal(size=(length, D))).astype("f4")


def parties(n: int) -> np.ndarray:
    """Two groups of rows, 35 and 65 %."""
    return (np.random.default_rng(2).random(n, np.float32) < 0.35).astype(np.int8)


def make(folder: Path, n: int, files: int) -> None:
    """Write the Parquet files, and the same rows as one .npy file where that is asked for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for i in range(files):
        points = rows(i, n // files)
        table = pa.table({f"x{j}": points[:, j] for j in range(D)})
        pq.write_table(table, folder / f"part-{i:03}.parquet", compression="none")


def fitted(folder: Path, how: str, rule: str, limit: float) -> dict:
    """Fit in this process; what it took."""
    import pyarrow.parquet as pq
    from threadpoolctl import threadpool_limits

    from corral import ClusterSizes, ConstrainedKMeans, GroupShares, RowsOnDisk
    from corral.search.ready import make_ready

    make_ready()
    X = RowsOnDisk(folder)
    n = X.shape[0]
    rules = {"sizes": ClusterSizes([n // K] * K)}
    if rule == "shares":
        rules["shares"] = GroupShares(parties(n), minimum={1: 0.33}, maximum={1: 0.37})
    if how == "memory":
        X = np.concatenate([np.column_stack(pq.read_table(each).columns) for each in paths(folder)])
    base = status("VmRSS"), status("VmData")
    if limit:
        most = base[1] + int(limit * GIB)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    model = ConstrainedKMeans(K, random_state=0)
    began, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        model.fit(X, constraints=rules[rule])
    return {
        "how": how,
        "rule": rule,
        "rows": n,
        "seconds": round(time.perf_counter() - began, 1),
        "processor seconds": round(time.process_time() - cpu, 1),
        "before, MiB": base[0] >> 20,
        "peak beyond that, MiB": (status("VmHWM") - base[0]) >> 20,
        "feasible": model.report_.feasible,
        "inertia a row": round(model.inertia_ / n, 6),
        "how it went": [*model.report_.plan.table()],
    }


def paths(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def status(name: str) -> int:
    """A figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def apart(folder: Path, how: str, rule: str, limit: float) -> dict:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "one", "--folder", str(folder)]
    command += ["--how", how, "--rule", rule, "--limit", str(limit)]
    # One pool of memory, so that the limit is on what is used and not on what pools keep.
    own = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576"}
    own |= {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    found = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True)
    if found.returncode:
        return {"how": how, "rule": rule, "failed": found.stderr[-2000:], "feasible": False}
    return json.loads(found.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["make", "fit", "compare", "clean", "one"])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/corral-disk"))
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--how", default="disk", help="of one")
    parser.add_argument("--rule", default="", help="sizes or shares; both by default")
    parser.add_argument("--limit", type=float, default=1.0, help="GiB; 0 for none")
    given = parser.parse_args()
    rules = [given.rule] if given.rule else ["sizes", "shares"]
    if given.what == "make":
        make(given.folder, given.rows, given.files)
    elif given.what == "clean":
        shutil.rmtree(given.folder)
    elif given.what == "one":
        print(json.dumps(fitted(given.folder, given.how, given.rule, given.limit)))
    else:
        good = True
        for rule in rules:
            found = apart(given.folder, "disk", rule, given.limit)
            print(json.dumps(found, indent=1), flush=True)
            good &= found["feasible"]
            if given.what == "compare":
                near = apart(given.folder, "memory", rule, 0.0)
                print(json.dumps(near, indent=1), flush=True)
                good &= near["feasible"] and found["seconds"] <= MOST * near["seconds"]
        sys.exit(not good)


if __name__ == "__main__":
    main()
