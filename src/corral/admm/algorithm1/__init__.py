"""Algorithm 1 of the paper, to the letter: ADMM on the relaxed, constrained k-means problem.

The rules decide which of the paper's four methods it is: lpKm without rules, lpKm-Car with sizes,
lpKm-Pair with pairs, lpKm-Mix with both.  z3 and z4 with their duals exist only if there are
must-links and cannot-links.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._typing import FloatArray, IntArray, Matrix
from ..history import Options, Recorder, Relaxation, round_to_labels
from .data import NO_RULES, Copy, Data, PaperRules, State
from .updates import update_w, update_x, update_y, update_z1, update_z2, update_z34

__all__ = ["DEFAULTS", "PaperRules", "solve_algorithm1", "start", "step"]

#: Largest penalty, in units of the costs.  There the costs are far below the rounding of the
#: penalties; a larger number would only overflow.
LARGEST_RHO = 1e30

DEFAULTS = Options(rho=20.0, rho_growth=1.1, rho_every=5, tol=1e-5)


def solve_algorithm1(
    points: Matrix,
    start_labels: IntArray,
    n_clusters: int,
    rules: PaperRules = NO_RULES,
    options: Options = DEFAULTS,
) -> Relaxation:
    """Run Algorithm 1 from a labelling; sparse points are never made dense.

    It raises FloatingPointError if the iterates overflow.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[-1.0], [-0.9], [-0.8], [0.9], [1.0]])
    >>> rules = PaperRules(cannot_link=np.array([[1, 2]]))
    >>> solve_algorithm1(points, np.array([0, 0, 0, 1, 1]), 2, rules).labels
    array([0, 0, 1, 1, 1])
    """
    data = Data.of(points, n_clusters, rules)
    state, rho = start(data, start_labels), options.rho
    recorder = Recorder(
        n_clusters,
        must_link=rules.must_link,
        cannot_link=rules.cannot_link,
        sizes=None if rules.sizes is None else (rules.sizes, rules.sizes),
        record_x=options.record_x,
    )
    converged = False
    while len(recorder) < options.max_iter and not converged:
        state = _guarded_step(state, data, rho, len(recorder) + 1)
        recorder.record(state.x, state.objective, rho, state.residuals)
        if options.progress is not None:
            residual = float(np.linalg.norm(list(state.residuals.values())))
            options.progress(len(recorder), state.objective, residual, recorder.broken)
        converged = recorder.steady(options.tol)
        if len(recorder) % options.rho_every == 0:
            rho = min(rho * options.rho_growth, LARGEST_RHO)
        if options.deadline.passed:
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
    """Step without warnings of overflow: the recorder refuses an objective that is not finite."""
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

    def zeros() -> FloatArray:
        return np.zeros((n, k), order="F")

    x = zeros()
    x[np.arange(n), labels] = 1.0
    c = x.sum(axis=0)
    w = np.where(c > 0, x / np.maximum(c, 1.0), 1.0 / n)
    return State(
        x=x,
        w=w,
        costs=data.costs(w),
        z1=zeros(),
        z2=zeros(),
        copies=tuple(Copy(zeros(), 0.0, zeros()) for _ in data.links),
        y1=np.zeros(n),
        y2=zeros(),
        y3=zeros(),
        y4=np.zeros(k),
        y5=zeros(),
        y10=np.zeros(0 if data.equalities is None else len(data.equalities.b)),
        residuals={},
    )
