"""Eigenvalues for the proof: projections onto the spectral set, and sums that are safe.

A symmetric matrix Y belongs to the *spectral set* if ``Y v = v``, its other eigenvalues lie in
[0, 1], and these others add up to ``k - 1`` (or to at most that, where clusters may be empty).
"""

from __future__ import annotations

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
        low = float(np.abs(T).sum(axis=1).max()) + 1.0
        return np.asarray(T - np.outer(v, w + low / 2 * v) - np.outer(w + low / 2 * v, v))

    def _leading(self, T: FloatArray, deadline: Deadline) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors, at least all that the projection keeps."""
        m = len(T)

        def times(x: FloatArray) -> FloatArray:
            deadline.check()
            return np.asarray(T @ x)

        deadline.check()
        while m > self.lanczos_from and self.k + self._spare < m // 4:
            matrix = LinearOperator(T.shape, matvec=times, dtype=T.dtype)
            try:
                values, vectors = eigsh(
                    matrix, self.k + self._spare, which="LA", v0=self._start, tol=1e-7
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

    def least(self, M: FloatArray, error: float) -> float:
        """A number that is surely not above ``<M, Y>`` for any Y of the set.

        The minimum is ``v'Mv`` plus the k - 1 smallest eigenvalues of M on the complement of v, or
        the negative ones of them where clusters may be empty.  ``error`` bounds the Frobenius norm
        of the rounding errors that M has already.
        """
        v, size = self.v, float(np.linalg.norm(M))
        # Without v its eigenvalue is above all others, so that the first are those wanted.
        others = -self._without_v(-M)
        values, vectors = linalg.eigh(others, check_finite=False)
        top = float(np.abs(values).max())
        smallest = values[: self.k - 1] - eigenvalue_error(others, values, vectors)
        smallest -= 20 * EPS * (size + top)  # the rounding of `others`
        if self.may_be_empty:
            smallest = np.minimum(smallest, 0.0)
        along = float(v @ M @ v) - 4 * len(v) * EPS * size
        # Every Y has a Frobenius norm of at most the root of its trace.
        return along + float(smallest.sum()) - error * self.k**0.5


def eigenvalue_error(M: FloatArray, values: FloatArray, vectors: FloatArray) -> float:
    """A bound on the error of every computed eigenvalue of a symmetric matrix.

    With ``E = M - Q D Q'`` and ``F = Q'Q - I`` the eigenvalues of M and D differ by at most
    ``|E| + |F| |D|`` (Weyl's and Ostrowski's inequalities).  Frobenius norms bound the norms; the
    rounding of the products is added.
    """
    m = len(M)
    top = float(np.abs(values).max())
    rest = float(np.linalg.norm(M - (vectors * values) @ vectors.T))
    skew = float(np.linalg.norm(vectors.T @ vectors - np.eye(m)))
    return rest + skew * top + 4 * m**1.5 * EPS * top
