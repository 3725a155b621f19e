"""Eigenvalues for the proof: projections onto the spectral set, and sums that are safe.

A symmetric matrix Y belongs to the *spectral set* if ``Y v = v``, its other eigenvalues lie in
[0, 1], and these others add up to ``k - 1`` (or to at most that, where clusters may be empty).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._typing import FloatArray
from ..deadline import NEVER, Deadline

EPS = float(np.finfo(np.float64).eps)


@dataclass
class SpectralSet:
    """The spectral set of ``k`` clusters around the unit vector ``v``.

    ``may_be_empty`` says that the other eigenvalues may add up to less than ``k - 1``.
    ``lanczos_from`` is the number of groups above which a projection computes only the leading
    eigenvectors, by Lanczos' method.
    """

    v: FloatArray
    k: int
    may_be_empty: bool
    lanczos_from: int
    #: Eigenvectors beyond k that Lanczos' method computes; doubled whenever they were too few.
    _spare: int = 6
    _start: FloatArray | None = field(default=None, repr=False)

    def project(self, T: FloatArray, deadline: Deadline = NEVER) -> FloatArray:
        """The nearest matrix of the set; OutOfTime if the deadline came before."""
        values, vectors = self._leading(self._without_v(T), deadline)
        kept = self._cut(values)
        part = vectors[:, kept > 0]
        return np.asarray((part * kept[kept > 0]) @ part.T + np.outer(self.v, self.v))

    def _without_v(self, T: FloatArray) -> FloatArray:
        """``P T P`` with ``P = I - v v'``, and an eigenvalue below all others for v."""
        v = self.v
        Tv = T @ v
        w = Tv - (v @ Tv) / 2 * v
        low = 1.01 * float(np.abs(T).sum(axis=1).max())
        return np.asarray(T - np.outer(v, w + low / 2 * v) - np.outer(w + low / 2 * v, v))

    def _leading(self, T: FloatArray, deadline: Deadline) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors, at least all that the projection keeps."""
        m = len(T)

        deadline.check()
        while m > self.lanczos_from and self.k + self._spare < m // 4:
            few = self.k + self._spare
            try:
                values, vectors = eigsh(
                    _asking(T, deadline), few, which="LA", v0=self._start, tol=1e-7
                )
            except ArpackNoConvergence:
                break
            self._start = vectors.sum(axis=1)
            if self._cut(values).min() == 0.0:
                return values, vectors
            self._spare *= 2
        values, vectors = linalg.eigh(T, check_finite=False)
        return values, vectors

    def _cut(self, values: FloatArray) -> FloatArray:
        """The values moved down by one number and cut to [0, 1], so that they add up to k - 1."""
        wanted, cut = self.k - 1, np.clip(values, 0.0, 1.0)
        if self.may_be_empty and cut.sum() <= wanted:
            return cut
        low, high = float(values.min()) - 1.0, float(values.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.clip(values - middle, 0.0, 1.0).sum() > wanted:
                low = middle
            else:
                high = middle
        return np.clip(values - high, 0.0, 1.0)

    def least(self, M: FloatArray, error: float, deadline: Deadline = NEVER) -> float:
        """A number that is surely not above ``<M, Y>`` for any Y of the set.

        ``error`` bounds the Frobenius norm of the rounding errors that M has already.

        On the complement of v let q_1, ... be approximate eigenvectors of M for its smallest
        eigenvalues l_1, ..., l_(k-1), and t be about the next one.  If ``M - t I + sum_i (t - l_i)
        q_i q_i' + d I`` is positive semidefinite, then ``<M, Y> >= v'Mv + (k - 1) (t - d) - sum_i
        (t - l_i) |q_i|^2``.  A Cholesky decomposition shows that it is; no accuracy of the
        eigenvectors is needed.
        """
        m, v = len(M), self.v
        size = float(np.linalg.norm(M))
        others = -self._without_v(-M)
        values, vectors = self._smallest(others, deadline)
        t = float(values[-1]) if m > self.k else float(values[-1]) + 1.0
        t = min(t, 0.0) if self.may_be_empty else t
        below = np.minimum(values[: self.k - 1] - t, 0.0)
        q = vectors[:, : self.k - 1]
        raised = others - (q * below) @ q.T
        raised[np.diag_indices(m)] -= t
        margin = shown_semidefinite(raised, deadline)
        # The rounding of the matrices above, each entry of which is a sum of few products.
        margin += 8 * (self.k + 8) * EPS * (size + float(np.linalg.norm(others)))
        lengths = np.square(q).sum(axis=0) * (1.0 + 4 * m * EPS)
        along = float(v @ M @ v) - 4 * m * EPS * size
        # Every Y has a Frobenius norm of at most the root of its trace.
        return along + (self.k - 1) * (t - margin) + float(below @ lengths) - error * self.k**0.5

    def _smallest(self, M: FloatArray, deadline: Deadline) -> tuple[FloatArray, FloatArray]:
        """The k smallest eigenvalues, about, and their vectors."""
        m = len(M)
        wanted = min(self.k, m)
        if m > self.lanczos_from:
            with suppress(ArpackNoConvergence):
                values, vectors = eigsh(_asking(M, deadline), wanted, which="SA", tol=1e-10)
                order = np.argsort(values)
                return values[order], vectors[:, order]
        deadline.check()
        values, vectors = linalg.eigh(M, subset_by_index=(0, wanted - 1), check_finite=False)
        return values, vectors


def _asking(M: FloatArray, deadline: Deadline) -> LinearOperator:
    """The matrix as an operator that asks the deadline at every product."""

    def times(x: FloatArray) -> FloatArray:
        deadline.check()
        return np.asarray(M @ x)

    return LinearOperator(M.shape, matvec=times, dtype=M.dtype)


def shown_semidefinite(M: FloatArray, deadline: Deadline = NEVER) -> float:
    """A number d for which ``M + d I`` is surely positive semidefinite.

    If the decomposition of Cholesky ends without a negative pivot, the matrix it was given differs
    from a semidefinite one by at most ``(m + 2) eps`` times its trace (Rump).
    """
    m = len(M)
    shifted = M.copy()
    trace = float(np.abs(np.diag(M)).sum())
    margin = 2 * (m + 2) * EPS * trace
    while True:
        deadline.check()
        shifted[np.diag_indices(m)] = np.diag(M) + margin
        try:
            linalg.cholesky(shifted, lower=True, check_finite=False)
        except linalg.LinAlgError:
            margin = 10.0 * margin + EPS
            continue
        return margin + 2 * (m + 2) * EPS * (trace + m * margin)
