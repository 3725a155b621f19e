"""The points, weights and rules of a job, from its name alone."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .jobs import Job
from .rules import Floats, Ints, Rules, draw_rules


@dataclass
class Case:
    """A job's points (dense or CSR), hidden labels, rules, weights and start."""

    job: Job
    X: Any
    y: Ints
    rules: Rules
    weight: Floats | None
    init: Any

    def digest(self) -> str:
        """Tells whether two environments draw the same case."""
        X, rules = self.X, self.rules
        dense = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
        links = [array for link in (*rules.must, *rules.cannot) for array in link]
        sizes = [array for low, high, _ in rules.sizes for array in (low, high)]
        totals = [array for total in rules.totals for array in total]
        arrays = [*dense, *links, *rules.pins, *rules.labels, *sizes, *totals]
        text = hashlib.sha1()
        for array in arrays:
            text.update(np.ascontiguousarray(array).tobytes())
        return text.hexdigest()


def make_case(job: Job) -> Case:
    """Everything that the fit of a job is given."""
    rng = np.random.default_rng(zlib.crc32(job.name.encode()))
    X, y = _points(job, rng)
    dense = X.toarray() if sparse.issparse(X) else X
    scale = float(dense.var(axis=0).sum())
    rules = draw_rules(job.rules, y, job.k, scale, rng)
    weight = rng.lognormal(0.0, 0.7, job.n) if job.weights else None
    init: Any = None
    if job.init == "centers":
        init = dense[rng.choice(job.n, job.k, replace=False)].copy()
    elif job.init == "labels":
        init = rng.permutation(np.arange(job.n) % job.k)
    return Case(job, _stored(X, job.form), y, rules, weight, init)


def _points(job: Job, rng: np.random.Generator) -> tuple[Any, Ints]:
    """Points and hidden labels; every cluster has a point."""
    if job.data in ("blobs", "uniform", "normal"):
        y = _hidden(job, rng)
        if job.data == "blobs":
            middles = rng.normal(0.0, 3.0, (job.k, job.d))
            return middles[y] + rng.normal(0.0, 1.5, (job.n, job.d)), y
        X = rng.normal(size=(job.n, job.d)) if job.data == "normal" else rng.random((job.n, job.d))
        # Hidden clusters are slabs, so that the rules have something to do with the points.
        return X[np.argsort(X[:, 0])[np.argsort(np.argsort(y, kind="stable"))]], y
    if job.data == "text":
        return _texts(job, rng)
    return _loaded(job.data)


def _hidden(job: Job, rng: np.random.Generator) -> Ints:
    """Equal sizes where the rules ask for them, else uneven ones."""
    y = np.arange(job.n) % job.k
    if "sizes-equal" not in job.rules and "bounds" not in job.rules.split("+"):
        shares = rng.dirichlet(np.full(job.k, 8.0))
        y[job.k :] = rng.choice(job.k, job.n - job.k, p=shares)
    return rng.permutation(y)


def _texts(job: Job, rng: np.random.Generator) -> tuple[sparse.csr_array, Ints]:
    """Rows of ten words, most of them from the part of the words that a cluster prefers."""
    y = _hidden(job, rng)
    own = rng.integers(0, job.d // job.k, (job.n, 10)) + (y * (job.d // job.k))[:, None]
    word = np.where(rng.random((job.n, 10)) < 0.6, own, rng.integers(0, job.d, (job.n, 10)))
    rows = np.repeat(np.arange(job.n), 10)
    X = sparse.csr_array((np.ones(10 * job.n), (rows, word.ravel())), (job.n, job.d))
    X.sum_duplicates()
    return X, y


def _loaded(name: str) -> tuple[Floats, Ints]:
    from corral import datasets

    if name.endswith("balanced"):
        X, y = getattr(datasets, f"make_{name}")(random_state=0)
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.asarray(X), np.unique(y, return_inverse=True)[1]


def _stored(X: Any, form: str) -> Any:
    """The points as the fit sees them: precision and layout, but not yet the library."""
    if form == "integer":
        return np.round(10 * X).astype(np.int64)
    if form.endswith("32"):
        X = X.astype(np.float32)
    if form.startswith("csr"):
        return sparse.csr_array(X)
    return np.asfortranarray(X) if form == "fortran" else X
