"""The process that makes a cell, runs the references and fits.

It reads one JSON line a cell from standard input and writes JSON lines to standard output: what is
known before the fit, and the result.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from .cells import Cell, number
from .check import broken, objective, unit_rows
from .greedy import greedy
from .kinds import KINDS
from .rules import Rules, make


def main() -> None:
    """Serve cells until the input ends.  Whatever else is printed does not reach the output."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
    warnings.simplefilter("ignore")
    _warm_up()
    pipe.write(json.dumps({"stage": "ready"}) + "\n")
    for line in sys.stdin:
        order = json.loads(line)
        cell, seed = Cell.named(order["cell"]), int(order["seed"])
        try:
            prepared = Prepared(cell, seed)
            before = {} if order["bare"] else prepared.references()
            pipe.write(json.dumps({"stage": "fit", "record": before}) + "\n")
            record = prepared.fitted(order["time_limit"])
        except Exception as error:  # a fault of the benchmark itself, or a package is missing
            record = {"status": f"benchmark: {type(error).__name__}: {error}"[:300]}
        pipe.write(json.dumps({"stage": "done", "record": record}) + "\n")


def _warm_up() -> None:
    """Import and compile everything before the first fit is timed."""
    from corral import CannotLink, ClusterSizes, ClusterTotals, ConstrainedKMeans

    X = np.random.default_rng(0).standard_normal((200, 3))
    KMeans(4, n_init=1, random_state=0).fit(X)
    rules = [ClusterSizes(minimum=30, maximum=80), ClusterTotals(np.ones(200), maximum=80)]
    for some in ([], rules[:1], rules, [CannotLink([(0, 1)])]):
        ConstrainedKMeans(4, random_state=0, time_limit=20).fit(X, constraints=some)


class Prepared:
    """A cell with its data and rules."""

    def __init__(self, cell: Cell, seed: int) -> None:
        self.cell, self.seed = cell, seed
        self.n, self.k = cell.shape
        self.X = KINDS[cell.kind](self.n, self.k, cell.rng("data", seed))
        self.rules: Rules = make(cell.rules, self.X, self.k, cell.rng("rules", seed))
        if cell.variant == "float32":
            self.X = self.X.astype(np.float32)
        self.state = number("fit", cell.name, seed) % 2**31

    def references(self) -> dict[str, Any]:
        """k-means without rules, and the greedy Lloyd under the rules."""
        X = unit_rows(self.X) if self.cell.variant == "cosine" else self.X
        runs: list[float] = []
        while not runs or (len(runs) < 5 and sum(runs) < 0.5):
            begun = time.perf_counter()
            free = KMeans(self.k, n_init=1, random_state=self.state).fit(X)
            runs.append(time.perf_counter() - begun)
        record: dict[str, Any] = {
            "kmeans": round(min(runs), 5),
            "kmeans_inertia": float(free.inertia_),
        }
        begun = time.perf_counter()
        variant = self.cell.variant
        if self.cell.rules == "none":
            value = objective(self.X, free.labels_, self.k, variant)
            record |= {"greedy": value, "greedy_seconds": record["kmeans"]}
        else:
            found = greedy(self.X, self.rules, self.k, variant, self.state)
            took = round(time.perf_counter() - begun, 4)
            record |= {"greedy": None if found is None else found[0], "greedy_seconds": took}
        return record

    def fitted(self, time_limit: float | None) -> dict[str, Any]:
        """The fit by default settings, judged."""
        import corral

        X, model = self._input(), self._model(corral)
        if time_limit is not None:
            model.set_params(time_limit=time_limit)
        constraints = self.rules.constraints()
        begun, processor = time.perf_counter(), time.process_time()
        labels, status = None, "ok"
        try:
            labels = model.fit(X, constraints=constraints).labels_
        except Exception as error:
            status = f"{type(error).__name__}: {error}"[:300]
        seconds = time.perf_counter() - begun
        record: dict[str, Any] = {
            "status": status,
            "version": corral.__version__,
            "seconds": round(seconds, 4),
            "processor": round(time.process_time() - processor, 4),
            "broken": [],
            "objective": None,
        }
        if labels is not None:
            labels = np.asarray(labels.cpu() if hasattr(labels, "cpu") else labels)
            record["broken"] = broken(self.rules, labels, self.n, self.k)
            record["objective"] = objective(self.X, labels, self.k, self.cell.variant)
            record["empty"] = self.k - len(np.unique(labels))
        return record

    def _model(self, corral: Any) -> Any:
        variant = self.cell.variant
        if variant == "medoids":
            return corral.ConstrainedKMedoids(self.k, random_state=self.state)
        options: dict[str, Any] = {"random_state": self.state}
        if variant == "cosine":
            options["metric"] = "cosine"
        if variant == "tensor":
            options["device"] = "cpu"
        return corral.ConstrainedKMeans(self.k, **options)

    def _input(self) -> Any:
        """The data as the variant hands them over."""
        variant = self.cell.variant
        if variant == "csr":
            return sparse.csr_matrix(self.X)
        if variant == "tensor":
            import torch

            return torch.from_numpy(self.X)
        if variant == "dask":
            import dask.array

            return dask.array.from_array(self.X, chunks=(-(-self.n // 4), -1))
        return self.X


if __name__ == "__main__":
    main()
