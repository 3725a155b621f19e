"""Eigenvalues for the proof: projections onto the spectral set, and sums that are safe.

A symmetric matrix Y belongs to the *spectral set* if ``Y v = v``, its other eigenvalues lie in
[0, 1], and these others add up to ``k - 1`` (or to at most that, where clusters may be empty).
Without v, all eigenvalues are others, and they add up to k.  Matrices are in memory or on a GPU.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._typing import FloatArray
from ..deadline import NEVER, Deadline
from .numbers import DENSE_SECONDS

#: Steps of the block method on a device, from the vectors of the matrix before and from random
#: ones.  The projection may be inexact: the bound is valid all the same.
WARM_STEPS, COLD_STEPS = 6, 60


def diagonals(stack: Any) -> Any:
    """The diagonals of a stack of square matrices, as a view that can be written to."""
    kinds, m, _ = stack.shape
    return stack.reshape(kinds, m * m)[:, :: m + 1]


class Matrices(Protocol):
    """Where the matrices of a relaxation are, and what differs there."""

    def put(self, a: Any) -> Any:
        """The array or sparse matrix there."""

    def largest(self, T: Any, count: int, start: Any, deadline: Deadline) -> tuple[FloatArray, Any]:
        """At least ``count`` largest eigenvalues, ascending, and their vectors.

        ``start`` holds the vectors of a similar matrix, or None.
        """

    def definite(self, M: Any) -> bool:
        """Whether the decomposition of Cholesky ends without a negative pivot."""


class InMemory:
    """NumPy's arrays.

    Above ``lanczos_from`` rows Lanczos' method computes only the eigenvectors that are wanted.
    """

    def __init__(self, lanczos_from: int) -> None:
        self.lanczos_from = lanczos_from

    def put(self, a: Any) -> Any:
        """As it is."""
        return a

    def largest(self, T: Any, count: int, start: Any, deadline: Deadline) -> tuple[FloatArray, Any]:
        """By Lanczos' method, or all that LAPACK computes."""
        m = len(T)
        deadline.check()
        if m > self.lanczos_from and count < m // 4:

            def times(x: FloatArray) -> FloatArray:
                deadline.check()
                return np.asarray(T @ x)

            first = None if start is None else start.sum(axis=1)
            asked = LinearOperator(T.shape, matvec=times, dtype=T.dtype)
            with suppress(ArpackNoConvergence):
                values, vectors = eigsh(asked, count, which="LA", v0=first, tol=1e-8)
                order = np.argsort(values)
                return values[order], vectors[:, order]
        deadline.check(DENSE_SECONDS * m**3)
        values, vectors = linalg.eigh(T, subset_by_index=(max(m - count, 0), m - 1))
        return values, vectors

    def definite(self, M: Any) -> bool:
        """By LAPACK."""
        try:
            linalg.cholesky(M, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        return True


class OnDevice:
    """PyTorch's tensors on a device, in double precision."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.device = torch, torch.device(device)

    def put(self, a: Any) -> Any:
        """A copy on the device."""
        if not sparse.issparse(a):
            return self.torch.as_tensor(a).to(self.device)
        places, values = (
            self.torch.as_tensor(part) for part in (np.array(a.tocoo().coords), a.tocoo().data)
        )
        made = self.torch.sparse_coo_tensor(places, values, a.shape, check_invariants=False)
        return made.coalesce().to(self.device)

    def largest(self, T: Any, count: int, start: Any, deadline: Deadline) -> tuple[FloatArray, Any]:
        """By the locally optimal block conjugate gradient method."""
        deadline.check()
        if 3 * count >= len(T):
            values, vectors = self.torch.linalg.eigh(T)
            return np.asarray(values.cpu())[-count:], vectors[:, -count:]
        steps = WARM_STEPS
        if start is None or start.shape[1] < count:
            steps = COLD_STEPS
            made = self.torch.Generator(device=self.device).manual_seed(0)
            shape = (len(T), count)
            start = self.torch.randn(shape, generator=made, dtype=T.dtype, device=self.device)
        values, vectors = self.torch.lobpcg(T, X=start[:, -count:], niter=steps, largest=True)
        return np.asarray(values.cpu())[::-1].copy(), vectors.flip(1)

    def definite(self, M: Any) -> bool:
        """By the device's own decomposition."""
        return int(self.torch.linalg.cholesky_ex(M).info) == 0


EPS = float(np.finfo(np.float64).eps)


@dataclass
class SpectralSet:
    """The spectral set of ``k`` clusters around the unit vector ``v``, or without one.

    ``may_be_empty`` says that the other eigenvalues may add up to less.
    """

    v: Any
    k: int
    may_be_empty: bool
    matrices: Matrices
    #: Eigenvectors beyond k that a projection computes; doubled whenever they were too few.
    _spare: int = 6
    _start: Any = field(default=None, repr=False)

    @property
    def others(self) -> int:
        """What the eigenvalues other than that of v add up to."""
        return self.k if self.v is None else self.k - 1

    def project(self, T: Any, deadline: Deadline = NEVER) -> Any:
        """The nearest matrix of the set; OutOfTime if the deadline came before."""
        lifted, m = self._without_v(T), len(T)
        while True:
            count = min(self.others + 1 + self._spare, m)
            values, vectors = self.matrices.largest(lifted, count, self._start, deadline)
            kept = self._cut(values)
            if kept.min() == 0.0 or len(kept) == m:
                break
            self._spare *= 2
        self._start = vectors
        first = int(np.flatnonzero(kept)[0]) if kept.any() else len(kept)
        part, weights = vectors[:, first:], self.matrices.put(kept[first:])
        nearest = (part * weights) @ part.T
        return nearest if self.v is None else nearest + self.v[:, None] * self.v

    def _without_v(self, T: Any) -> Any:
        """``P T P`` with ``P = I - v v'``, and an eigenvalue below all others for v."""
        v = self.v
        if v is None:
            return T
        Tv = T @ v
        low = 1.01 * float(abs(T).sum(axis=1).max())
        w = Tv - float(v @ Tv) / 2 * v + low / 2 * v
        return T - v[:, None] * w - w[:, None] * v

    def _cut(self, values: FloatArray) -> FloatArray:
        """The values moved down by one number and cut to [0, 1], so that they add up to k - 1."""
        wanted, cut = self.others, np.clip(values, 0.0, 1.0)
        if self.may_be_empty and cut.sum() <= wanted:
            return np.asarray(cut)
        low, high = float(values.min()) - 1.0, float(values.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.clip(values - middle, 0.0, 1.0).sum() > wanted:
                low = middle
            else:
                high = middle
        moved: FloatArray = np.clip(values - high, 0.0, 1.0)
        return moved

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
        size = _norm(M)
        others = -self._without_v(-M)
        count = min(self.others + 1, m)
        values, vectors = self.matrices.largest(-others, count, None, deadline)
        values, vectors = -values[::-1][:count], vectors[:, -count:]
        t = float(values[-1]) if m > self.k else float(values[-1]) + 1.0
        t = min(t, 0.0) if self.may_be_empty else t
        below = np.minimum(values[: self.others] - t, 0.0)
        # The vectors of the smallest values are the last ones, in the opposite order.
        q = vectors[:, count - len(below) :]
        raised = others - (q * self.matrices.put(below[::-1].copy())) @ q.T
        _raise_diagonal(raised, -t)
        margin = self._shown_semidefinite(raised, deadline)
        # The rounding of the matrices above, each entry of which is a sum of few products.
        margin += 8 * (self.k**2 + 8) * EPS * (size + _norm(others))
        longest = float((q * q).sum(axis=0).max()) if len(below) else 0.0
        along = 0.0 if v is None else float(v @ (M @ v)) - 4 * m * EPS * size
        drop = float(below.sum()) * longest * (1.0 + 4 * m * EPS)
        # Every Y has a Frobenius norm of at most the root of its trace.
        return float(along + self.others * (t - margin) + drop - error * self.k**0.5)

    def _shown_semidefinite(self, M: Any, deadline: Deadline) -> float:
        """A number d for which ``M + d I`` is surely positive semidefinite; M is changed.

        If the decomposition of Cholesky ends without a negative pivot, the matrix it was given
        differs from a semidefinite one by at most ``(m + 2) eps`` times its trace (Rump).
        """
        m = len(M)
        trace = float(abs(M.reshape(-1)[:: m + 1]).sum())
        margin = step = 2 * (m + 2) * EPS * trace
        _raise_diagonal(M, step)
        while True:
            deadline.check()
            if self.matrices.definite(M):
                return float(margin + 2 * (m + 2) * EPS * (trace + 2 * m * margin))
            step = 10.0 * step + EPS
            _raise_diagonal(M, step)
            margin += step


def _norm(M: Any) -> float:
    """The Frobenius norm."""
    return math.sqrt(float((M * M).sum()))


def _raise_diagonal(M: Any, by: float) -> None:
    """Add a number to the diagonal, in place."""
    M.reshape(-1)[:: len(M) + 1] += by
