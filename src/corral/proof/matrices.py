"""Large symmetric matrices, in this process's memory or on a device, and their eigenvectors."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._typing import FloatArray
from ..deadline import Deadline
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
