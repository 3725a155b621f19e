"""Algorithm 1 of the paper, to the letter: ADMM on the relaxed, constrained k-means problem.

The rules decide which of the paper's four methods it is: lpKm without rules, lpKm-Car with sizes,
lpKm-Pair with pairs, lpKm-Mix with both.  z3 and z4 with their duals exist only if there are
must-links and cannot-links.

Each update is a closed form that costs O(n k (k + d)).  All penalties are the same number rho, as
in the paper.  Equation names are those of the paper; its errata (``docs/notation.md``) are
corrected.  ``1`` is a vector of ones, ``e_j`` the j-th unit vector of length k, and an outer
product such as ``w_j e_j'`` is an n x k array with one filled column.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from ..._typing import FloatArray, IntArray, Matrix
from ..history import Options, Recorder, Relaxation
from .data import NO_RULES, Copy, Data, Equalities, Links, PaperRules, State, inner

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
        converged = recorder.steady(options.tol, window=10)
        if len(recorder) % options.rho_every == 0:
            rho = min(rho * options.rho_growth, LARGEST_RHO)
        if options.deadline.passed:
            break
    return Relaxation(
        labels=state.x.argmax(axis=1),
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


logger = logging.getLogger(__name__)

#: Sum of a column of x, in points, up to which the cluster is empty and has no mean.  A larger
#: number treats more clusters as empty; zero would divide by numbers of rounding size.
EMPTY = 1e-6
#: Relative residual at which conjugate gradients stop.  A larger number saves products and leaves
#: the updates less exact than the closed forms.
CG_TOLERANCE = 1e-13


@dataclass(frozen=True)
class XSystem:
    """The matrix of the x-update, divided by rho, and its inverse by Woodbury's formula.

    It is ``D + U M U'`` with ``D X = a X + (X 1) 1'`` and, as columns of U, ``1 e_j'`` and
    ``w_j e_j'`` for each cluster, then ``E2'E1 z3`` and ``E4'E3 z4``.  M is block diagonal:
    ``[[s + w_j'w_j, -1], [-1, 0]]`` for each cluster, with s = 1 if there are sizes, then ones.
    So ``(D + U M U')^-1 = D^-1 - D^-1 U (I + M G)^-1 M U' D^-1`` with ``G = U'D^-1 U``.
    """

    w: FloatArray
    directions: tuple[FloatArray, ...]  # E2'E1 z3 and E4'E3 z4
    a: float
    core: FloatArray  # (I + M G)^-1 M

    @classmethod
    def of(cls, w: FloatArray, directions: tuple[FloatArray, ...], sized: bool) -> XSystem:
        """Build and invert the small system."""
        k = w.shape[1]
        order = 2 * k + len(directions)
        bare = cls(w, directions, 3.0 + len(directions), np.zeros((order, order)))
        j = np.arange(k)
        M = np.eye(order)
        M[j, j] = float(sized) + np.einsum("ij,ij->j", w, w)
        M[j, k + j] = M[k + j, j] = -1.0
        M[k + j, k + j] = 0.0
        return replace(bare, core=np.linalg.solve(np.eye(order) + M @ bare._gram(), M))

    def solve(self, R: FloatArray) -> FloatArray:
        """Compute ``(D + U M U')^-1 R``."""
        Y = self._solve_rows(R)
        return Y - self._solve_rows(self._combine(self.core @ self._coordinates(Y)))

    def _solve_rows(self, R: FloatArray) -> FloatArray:
        """Compute ``D^-1 R = (R - beta (R 1) 1') / a``, with beta = 1 / (a + k)."""
        Y: FloatArray = (R - R.sum(axis=1, keepdims=True) / (self.a + R.shape[1])) / self.a
        return Y

    def _coordinates(self, Y: FloatArray) -> FloatArray:
        """Compute ``U'Y``."""
        along = [inner(A, Y) for A in self.directions]
        return np.concatenate([Y.sum(axis=0), np.einsum("ij,ij->j", self.w, Y), along])

    def _combine(self, theta: FloatArray) -> FloatArray:
        """Compute ``U theta``."""
        k = self.w.shape[1]
        total = self.w * theta[k : 2 * k] + theta[:k]
        for A, weight in zip(self.directions, theta[2 * k :], strict=True):
            total += weight * A
        return total

    def _gram(self) -> FloatArray:
        """Compute ``G = U'D^-1 U``, ``(<u, v> - beta <u 1, v 1>) / a`` for columns u, v of U."""
        n, k = self.w.shape
        j = np.arange(k)
        order = 2 * k + len(self.directions)
        products = np.zeros((order, order))
        products[j, j] = n
        products[j, k + j] = products[k + j, j] = self.w.sum(axis=0)
        products[k + j, k + j] = np.einsum("ij,ij->j", self.w, self.w)
        for t, A in enumerate(self.directions, start=2 * k):
            products[:, t] = products[t, :] = self._coordinates(A)
        # The row sums u 1 are 1 for each of the first k columns, then w_j, then those of A.
        row_sums = np.vstack([np.ones(n), self.w.T, *(A.sum(axis=1) for A in self.directions)])
        column = np.concatenate([np.zeros(k, int), np.arange(1, len(row_sums))])
        overlaps = (row_sums @ row_sums.T)[np.ix_(column, column)]
        G: FloatArray = (products - overlaps / (self.a + k)) / self.a
        return G


def update_x(state: State, data: Data, rho: float) -> FloatArray:
    """Minimise over x: Eq. (update_x), both sides divided by rho."""
    directions = tuple(
        links.forward(copy.z) for links, copy in zip(data.links, state.copies, strict=True)
    )
    system = XSystem.of(state.w, directions, data.sizes is not None)
    R = _right_side(state, data, rho, directions)
    if data.equalities is None:
        return system.solve(R)
    return _solve_with_rows(system, data.equalities, R)


def _right_side(
    state: State, data: Data, rho: float, directions: tuple[FloatArray, ...]
) -> FloatArray:
    """Collect what does not multiply x in the gradient, sign changed."""
    per_point = 1.0 - state.y1 / rho
    per_cluster = (np.einsum("ij,ij->j", state.w, state.y5) - state.y4) / rho
    if data.sizes is not None:
        per_cluster = per_cluster + data.sizes
    R = state.z1 + state.z2 - (state.costs + state.y2 + state.y3 + state.y5) / rho
    R += per_point[:, None] + per_cluster
    for links, copy, A in zip(data.links, state.copies, directions, strict=True):
        R += copy.z - copy.y_copy / rho
        R += (links.target - copy.y / rho) * A
    if data.equalities is not None:
        R += data.equalities.adjoint(data.equalities.b - state.y10 / rho)
    return R


def _solve_with_rows(system: XSystem, rows: Equalities, R: FloatArray) -> FloatArray:
    """Solve ``(K + A'A) X = R`` where K is the closed form and A the linear rows.

    ``X = K^-1 (R - A'mu)`` with ``(I + A K^-1 A') mu = A K^-1 R``.  Conjugate gradients on this
    small system span the same space as on the large one with K^-1 as preconditioner, on vectors
    of length r.  They need at most r products with K^-1, where a dense Woodbury would need all r
    of them in every iteration (K follows w) and n k r numbers of memory.
    """

    def schur(mu: FloatArray) -> FloatArray:
        return mu + rows.apply(system.solve(rows.adjoint(mu)))

    mu = _conjugate_gradients(schur, rows.apply(system.solve(R)))
    return system.solve(R - rows.adjoint(mu))


def update_w(x: FloatArray, state: State, data: Data, rho: float) -> FloatArray:
    """Minimise over w: Eq. (update_w), cluster by cluster.

    ``(2 c S S' + rho c^2 I) w = 2 S S'x + c (y5 + rho x)`` with ``c = 1'x``; as x / c solves it
    but for y5, ``w = x / c + (2 S S' + rho c I)^-1 y5``.  For c <= 0, where the paper is silent,
    the Lagrangian has no minimum in w; the cluster is empty and gets the w of an empty cluster at
    the start, 1 / n.
    """
    c = x.sum(axis=0)
    live = c > EMPTY
    w = np.full_like(x, 1.0 / len(x))
    w[:, live] = x[:, live] / c[live] + _solve_ridge(data, rho * c[live], state.y5[:, live])
    return w


def _solve_ridge(data: Data, ridge: FloatArray, Y: FloatArray) -> FloatArray:
    """Compute ``(2 S S' + ridge_j I)^-1 y_j`` for each column of Y."""
    S = data.points
    if data.spectrum is None:
        return _solve_ridge_iteratively(S, ridge, Y)
    # Woodbury: (Y - S V diag(2 / (ridge + 2 L)) V'S'Y) / ridge.
    L, V = data.spectrum
    damped = (V.T @ (S.T @ Y)) * (2.0 / (ridge + 2.0 * L[:, None]))
    return (Y - S @ (V @ damped)) / ridge


def _solve_ridge_iteratively(S: Matrix, ridge: FloatArray, Y: FloatArray) -> FloatArray:
    """Do the same by conjugate gradients, for data with too many features to decompose S'S.

    The ridge grows with the cluster and with rho, so that few iterations are enough.
    """

    def apply(v: FloatArray) -> FloatArray:
        V = v.reshape(Y.shape)
        product: FloatArray = (2.0 * (S @ (S.T @ V)) / ridge + V).ravel()
        return product

    return _conjugate_gradients(apply, (Y / ridge).ravel()).reshape(Y.shape)


def _conjugate_gradients(
    apply: Callable[[FloatArray], FloatArray], right: FloatArray
) -> FloatArray:
    """Solve a symmetric positive definite system to rounding; warn if it does not converge."""
    size = len(right)
    if size == 0:
        return right
    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    solution, steps = cg(operator, right, rtol=CG_TOLERANCE)
    if steps:
        logger.warning("conjugate gradients stopped after %d steps before they converged", steps)
    answer: FloatArray = solution
    return answer


def update_z1(x: FloatArray, state: State, rho: float) -> FloatArray:
    """Project onto the box: Eq. (update_z1)."""
    return project_box(x + state.y2 / rho)


def update_z2(x: FloatArray, state: State, rho: float) -> FloatArray:
    """Project onto the sphere: Eq. (update_z2)."""
    return project_sphere(x + state.y3 / rho)


def project_box(a: FloatArray) -> FloatArray:
    """Nearest point of the box ``S_b = {a : 0 <= a <= 1}``."""
    return np.clip(a, 0.0, 1.0)


def project_sphere(a: FloatArray) -> FloatArray:
    """Nearest point of the sphere ``S_2`` about 1/2 that passes through every binary vector.

    Its radius is half the square root of the number of entries.  Every point of the sphere is
    nearest to the centre; the centre moves along the vector of ones.
    """
    shifted = a - 0.5
    # Dividing by the largest entry first keeps squares of entries near 1e-200 from vanishing.
    largest = np.max(np.abs(shifted), initial=0.0)
    if largest == 0.0:
        shifted, largest = np.ones_like(shifted), 1.0
    scaled = shifted / largest
    radius = 0.5 * np.sqrt(a.size)
    nearest: FloatArray = scaled * (radius / np.linalg.norm(scaled)) + 0.5
    return nearest


def update_z34(x: FloatArray, copy: Copy, links: Links, rho: float) -> FloatArray:
    """Minimise over z3 or z4: Eqs. (update_z3) and (update_z4), divided by rho.

    With ``A = E1'E2 x`` and the target v, ``(A A' + I) z = x + y7 / rho + (v - y6 / rho) A``,
    by Sherman and Morrison.
    """
    A = links.backward(x)
    R = x + copy.y_copy / rho + (links.target - copy.y / rho) * A
    z: FloatArray = R - (inner(A, R) / (1.0 + inner(A, A))) * A
    return z


def update_y(state: State, data: Data, rho: float) -> State:
    """Ascend in every dual: Eq. (all_ys); the gaps are the primal residuals."""
    x, c = state.x, state.x.sum(axis=0)
    simplex = x.sum(axis=1) - 1.0
    box, sphere, mean = x - state.z1, x - state.z2, x - state.w * c
    residuals = _norms(simplex=simplex, box=box, sphere=sphere, mean=mean)
    y4, y10, copies = state.y4, state.y10, []
    if data.sizes is not None:
        cardinality = c - data.sizes
        residuals |= _norms(cardinality=cardinality)
        y4 = y4 + rho * cardinality
    for name, links, copy in zip(data.link_names, data.links, state.copies, strict=True):
        bilinear = links.product(copy.z, x) - links.target
        apart = x - copy.z
        residuals |= {name: abs(bilinear), **_norms(**{f"{name}_copy": apart})}
        copies.append(Copy(copy.z, copy.y + rho * bilinear, copy.y_copy + rho * apart))
    if data.equalities is not None:
        linear = data.equalities.apply(x) - data.equalities.b
        residuals |= _norms(linear=linear)
        y10 = y10 + rho * linear
    return replace(
        state,
        y1=state.y1 + rho * simplex,
        y2=state.y2 + rho * box,
        y3=state.y3 + rho * sphere,
        y4=y4,
        y5=state.y5 + rho * mean,
        copies=tuple(copies),
        y10=y10,
        residuals=residuals,
    )


def _norms(**gaps: FloatArray) -> dict[str, float]:
    """Take the Euclidean norm of each gap."""
    return {name: float(np.linalg.norm(gap)) for name, gap in gaps.items()}
