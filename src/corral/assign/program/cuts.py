"""Rows added to a model after it was written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..._typing import FloatArray
from .model import Model


def with_row(model: Model, row: FloatArray, upper: float) -> Model:
    """The model with one more row, ``row @ v <= upper``."""
    return replace(
        model,
        A=sparse.vstack([model.A, sparse.csr_array(row[None, :])], format="csr"),
        lower=np.append(model.lower, -np.inf),
        upper=np.append(model.upper, upper),
    )


def forbid(model: Model, values: FloatArray, n_binary: int) -> Model:
    """Add cuts against an answer that breaks rows by less than the solver's tolerance.

    A row that is over its upper bound stays so until one of the chosen columns with a positive
    entry is given up or one of the others with a negative entry is chosen; so at least one
    must be.  Likewise below.  If no row is broken on paper, the answer itself is forbidden.
    """
    x = np.zeros(model.A.shape[1])
    x[:n_binary] = values[:n_binary]
    pure = np.asarray(abs(model.A[:, n_binary:]).sum(axis=1) == 0).ravel()
    activity = model.A @ x
    over = np.flatnonzero(pure & (activity > model.upper))
    under = np.flatnonzero(pure & (activity < model.lower))
    picked = [(model.A[[row]], 1.0) for row in over] + [(model.A[[row]], -1.0) for row in under]
    if not picked:
        everything = sparse.csr_array(np.ones((1, n_binary)))
        everything.resize((1, model.A.shape[1]))
        picked = [(everything, 1.0)]
    cuts, limits = [], []
    for row, sign in picked:
        sides = np.sign(row.data) * sign
        chosen = x[row.indices] > 0.5
        useful = (sides > 0) == chosen
        shape = (1, model.A.shape[1])
        column = row.indices[useful]
        cuts.append(sparse.csr_array((sides[useful], (np.zeros_like(column), column)), shape=shape))
        limits.append(float((sides[useful] > 0).sum()) - 1.0)
    return replace(
        model,
        A=sparse.vstack([model.A, *cuts], format="csr"),
        lower=np.concatenate([model.lower, np.full(len(limits), -np.inf)]),
        upper=np.concatenate([model.upper, limits]),
    )
