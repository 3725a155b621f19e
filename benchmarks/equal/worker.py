"""One version of corral at work: ``python -m equal.worker`` in the folder ``benchmarks``.

It says where corral comes from; then for each line with the name of a job it fits once and answers
with a line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from contextlib import contextmanager
from functools import lru_cache
from typing import IO, Any

import numpy as np
from sklearn import config_context

import corral

from .cases import Case, make_case
from .check import excesses, inertia, prices_paid
from .jobs import Job, all_jobs
from .rules import in_corral

#: Words of an error message that are compared.
WORDS = 6


def own_output() -> IO[str]:
    """The pipe to the script, as nobody else's: what libraries print goes to the errors."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


@lru_cache(maxsize=1)
def present(name: str) -> tuple[Case, Any, list[Any]]:
    """The case of the job, its points in their library, and its constraints."""
    case = make_case(JOBS[name])
    return case, as_given(case.X, case.job.form), in_corral(case.rules)


@lru_cache(maxsize=1)
def cluster() -> Any:
    """Two Dask workers for all jobs that need them."""
    from distributed import Client, LocalCluster

    started = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="2GiB"
    )
    return Client(started)


def as_given(X: Any, form: str) -> Any:
    """The points in the library that the job names."""
    if form.startswith("dask"):
        import dask.array as da

        cluster()
        return da.from_array(X, chunks=(-(-len(X) // 4), X.shape[1]))
    if form.startswith("tensor"):
        import torch

        return torch.from_numpy(X)
    return X.tolist() if form == "list" else X


@contextmanager
def dispatching(form: str) -> Any:
    """scikit-learn's dispatch to tensors, which wants a variable of SciPy's to be set."""
    if not form.startswith("tensor"):
        yield
        return
    os.environ["SCIPY_ARRAY_API"] = "1"
    try:
        with config_context(array_api_dispatch=True):
            yield
    finally:
        del os.environ["SCIPY_ARRAY_API"]


def fit(case: Case, X: Any, constraints: Any) -> corral.ConstrainedKMeans:
    """The fit of a job."""
    job, weight = case.job, case.weight
    options = {"random_state": job.seed, **job.options}
    if case.init is not None:
        options["init"] = case.init
    if job.form == "tensor-cpu":
        options["device"] = "cpu"
    if job.fault:
        X, constraints, weight = spoilt(job, X, options)
    model = corral.ConstrainedKMeans(job.k, **options)
    return model.fit(X, constraints=constraints, sample_weight=weight)


def spoilt(job: Job, X: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Arguments that ``fit`` should refuse: points, constraints and weights."""
    constraints, weight = None, None
    if job.fault == "nan":
        X = np.where(np.arange(job.n)[:, None] == 3, np.nan, X)
    elif job.fault == "few-points":
        X = X[: job.k - 1]
    elif job.fault == "pin-outside":
        constraints = corral.Pin({job.n: 0})
    elif job.fault == "sizes-sum":
        constraints = corral.ClusterSizes([1] * job.k)
    elif job.fault == "weight-negative":
        weight = np.full(job.n, -1.0)
    else:
        options[job.fault] = "no such thing"
    return X, constraints, weight


def run(name: str) -> dict[str, Any]:
    """One fit of a job, timed, and what came of it."""
    case, X, constraints = present(name)
    answer: dict[str, Any] = {"digest": case.digest()}
    with warnings.catch_warnings(record=True) as caught, dispatching(case.job.form):
        warnings.simplefilter("always")
        began = time.perf_counter()
        try:
            model = fit(case, X, constraints)
        except Exception as error:
            answer["seconds"] = time.perf_counter() - began
            answer["error"] = type(error).__name__
            answer["message"] = " ".join(str(error).split()[:WORDS])
        else:
            answer["seconds"] = time.perf_counter() - began
            answer |= checked(case, model)
    answer["warnings"] = sorted({warning.category.__name__ for warning in caught})
    return answer


def checked(case: Case, model: corral.ConstrainedKMeans) -> dict[str, Any]:
    """What the labels break and cost."""
    given = model.labels_
    labels = np.asarray(given.compute() if hasattr(given, "compute") else given, np.int64)
    X, k, weight = case.X, case.job.k, case.weight
    broken = excesses(case.rules, labels)
    own = inertia(X, labels, k, weight)
    first = np.unique(labels, return_index=True, return_inverse=True)
    return {
        "labels": digest(labels),
        "partition": digest(np.argsort(np.argsort(first[1]))[first[2]]),
        "objective": own + prices_paid(case.rules, labels),
        "scatter": inertia(X, np.zeros(len(labels), np.int64), 1, weight),
        "broken": int((broken > 0).sum()),
        "violation": float(broken.sum()),
        "inertia": own,
        "inertia_": float(model.inertia_),
        "n_iter": int(model.n_iter_),
    }


def digest(labels: Any) -> str:
    return hashlib.sha1(labels.astype(np.int64).tobytes()).hexdigest()


JOBS = {job.name: job for job in all_jobs()}

#: Fits before the first that counts, so that no job pays for what is imported when needed.
FIRST = ("none", "must+cannot", "sizes-equal", "bounds", "totals", "shares", "soft-must", "linear")


def main() -> None:
    channel = own_output()
    warm = [job for job in JOBS.values() if job.group == "small" and job.rules in FIRST]
    for job in warm:
        if job.n == 40:
            run(job.name)
    print(json.dumps({"corral": corral.__file__}), file=channel)
    for line in sys.stdin:
        print(json.dumps(run(line.strip())), file=channel)


if __name__ == "__main__":
    main()
