"""Algorithm 1 of the paper, to the letter: ADMM on the relaxed, constrained k-means problem.

The four methods of the paper come out of the constraints given: none is lpKm, sizes are
lpKm-Car, pairs are lpKm-Pair, both are lpKm-Mix.  No constraint, no variable: z3 and z4 with
their duals exist only where there are must-links and cannot-links.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from .._typing import FloatArray, IntArray, Matrix
from ..problem import LinearRows
from .algorithm1_data import Copy, Data, State
from .algorithm1_updates import update_w, update_x, update_y, update_z1, update_z2, update_z34
from .history import Recorder, Relaxation, round_to_labels

LARGEST_RHO = 1e30
"""Beyond this rho the costs are far below rounding; growing on would only overflow one day."""


def solve_algorithm1(
    points: Matrix,
    start_labels: IntArray,
    n_clusters: int,
    *,
    must_link: IntArray | None = None,
    cannot_link: IntArray | None = None,
    sizes: IntArray | None = None,
    linear: LinearRows | None = None,
    rho: float = 20.0,
    rho_growth: float = 1.1,
    rho_every: int = 5,
    tol: float = 1e-5,
    max_iter: int = 1000,
    deadline: float | None = None,
    record_x: Iterable[int] = (),
    progress: Callable[[int, float, float, int], None] | None = None,
) -> Relaxation:
    """Run Algorithm 1 from a labelling.

    Parameters
    ----------
    points : (n, d) array or CSR
        Sparse points are never made dense.
    start_labels : (n,) int array
    n_clusters : int
    must_link, cannot_link : (p, 2) int arrays, optional
        Pairs of rows; a repeated pair counts repeatedly.
    sizes : (k,) int array, optional
        Exact size of each cluster.
    linear : LinearRows, optional
        Equalities ``A vec(x) = b``: lower and upper bounds must be the same.
    rho : float
        The penalty of every constraint.
    rho_growth : float
        Factor on rho after every ``rho_every`` iterations.
    rho_every : int
    tol : float
        Stop when the standard deviation of the last 10 objectives is at most this.
    max_iter : int
    deadline : float, optional
        Instant of :func:`time.monotonic` after which it stops where it is.
    record_x : iterable of int
        Iterations, counted from 1, whose x the history keeps.
    progress : callable, optional
        Called after each iteration with its number, the objective and the Euclidean norm of all
        primal residuals together.

    Returns
    -------
    Relaxation

    Raises
    ------
    FloatingPointError
        If the iterates overflow.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[-1.0], [-0.9], [-0.8], [0.9], [1.0]])
    >>> answer = solve_algorithm1(
    ...     points, np.array([0, 0, 0, 1, 1]), 2, cannot_link=np.array([[1, 2]])
    ... )
    >>> answer.labels
    array([0, 0, 1, 1, 1])
    """
    data = Data.of(points, n_clusters, must_link, cannot_link, sizes, linear)
    state = start(data, start_labels)
    recorder = Recorder(
        n_clusters,
        must_link=must_link,
        cannot_link=cannot_link,
        sizes=None if sizes is None else (sizes, sizes),
        record_x=record_x,
    )
    converged = False
    while len(recorder) < max_iter and not converged:
        state = _guarded_step(state, data, rho, len(recorder) + 1)
        recorder.record(state.x, state.objective, rho, state.residuals)
        if progress is not None:
            residual = float(np.linalg.norm(list(state.residuals.values())))
            progress(len(recorder), state.objective, residual, recorder.broken)
        converged = recorder.settled(tol)
        if len(recorder) % rho_every == 0:
            rho = min(rho * rho_growth, LARGEST_RHO)
        if deadline is not None and time.monotonic() > deadline:
            break
    return Relaxation(
        labels=round_to_labels(state.x),
        x=np.ascontiguousarray(state.x),
        centers=np.ascontiguousarray(data.centers(state.w)),
        history=recorder.history(),
        n_iter=len(recorder),
        converged=converged,
    )


def step(state: State, data: Data, rho: float) -> State:
    """One iteration: every primal variable in turn, then all duals."""
    x = update_x(state, data, rho)
    w = update_w(x, state, data, rho)
    z1 = update_z1(x, state, rho)
    z2 = update_z2(x, state, rho)
    copies = tuple(
        replace(copy, z=update_z34(x, copy, links, rho))
        for copy, links in zip(state.copies, data.links, strict=True)
    )
    primal = replace(state, x=x, w=w, costs=data.costs(w), z1=z1, z2=z2, copies=copies)
    return update_y(primal, data, rho)


def _guarded_step(state: State, data: Data, rho: float, iteration: int) -> State:
    """Step, quiet on overflow: the recorder refuses an objective that is not finite."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return step(state, data, rho)
    except np.linalg.LinAlgError as error:
        raise FloatingPointError(
            f"w grew beyond what float64 can hold at iteration {iteration} with rho = {rho:g}; "
            "scale the data to about [-1, 1] or raise rho"
        ) from error


def start(data: Data, labels: IntArray) -> State:
    """Set x to the labels, w to x / c, every z and y to zero.

    An empty cluster has no x / c; its w is 1 / n, which puts its centre in the middle of the
    points.
    """
    n, k = data.n_points, data.n_clusters
    x = np.zeros((n, k), order="F")
    x[np.arange(n), labels] = 1.0
    c = x.sum(axis=0)
    w = np.where(c > 0, x / np.maximum(c, 1.0), 1.0 / n)
    return State(
        x=x,
        w=w,
        costs=data.costs(w),
        z1=_zeros(data),
        z2=_zeros(data),
        copies=tuple(Copy(_zeros(data), 0.0, _zeros(data)) for _ in data.links),
        y1=np.zeros(n),
        y2=_zeros(data),
        y3=_zeros(data),
        y4=np.zeros(k),
        y5=_zeros(data),
        y10=np.zeros(0 if data.equalities is None else len(data.equalities.b)),
        residuals={},
    )


def _zeros(data: Data) -> FloatArray:
    return np.zeros((data.n_points, data.n_clusters), order="F")
