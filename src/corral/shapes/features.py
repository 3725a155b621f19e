"""Feature vectors of a kernel: k-means on them is kernel k-means.

A kernel is an inner product ``K[i, l] = <phi(x_i), phi(x_l)>`` of unknown vectors.  k-means needs
only their differences, hence only the centred kernel ``Q K Q`` with ``Q = I - 11'/n``, and this has
to be positive semidefinite.  The rows of ``U sqrt(L)``, of its eigenvectors U and eigenvalues L,
have the same inner products, so they can stand for the phi(x_i).

For many rows, the vectors are projected onto the span of those of a sample of the rows (Nystroem):
``k(x, sample) U / sqrt(L)`` with U and L of the sample's own centred kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import gen_batches

from .._typing import FloatArray, IntArray
from ..deadline import Deadline

#: Entries of a kernel, and calls of a callable one, between two looks at the clock.  More have less
#: overhead and end later; 0.1 s or less each.
BLOCK_ENTRIES, BLOCK_CALLS = 1 << 22, 1 << 14

#: Part of the trace of the kernel that feature vectors may leave out.  The objective is off by at
#: most that.  A larger part leaves fewer features.  It is a limit on an error.
KERNEL_TAIL = 1e-10
#: Smallest eigenvalue of a kernel, in units of the largest, that counts as a rounding error.  A
#: kernel in single precision has some of -1e-7.
LEAST_EIGENVALUE = -1e-6

#: Kernels whose gamma "scale" depends on the variance of the features; chi2 has one of its own.
SCALED = ("rbf", "laplacian", "poly", "polynomial", "sigmoid")


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Attributes
    ----------
    metric : str or callable
        As in scikit-learn's ``pairwise_kernels``.
    options : dict
        Parameters of the kernel.
    """

    metric: str | Callable[..., Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, metric: Any, parameters: dict[str, Any], others: Any, gamma: float) -> Kernel:
        """A named kernel takes those of the parameters that it has; a callable only the others.

        ``gamma`` is what "scale" means.
        """
        options = dict(others or {})
        if isinstance(metric, str):
            named = KERNEL_PARAMS.get(metric, ())
            options = {name: parameters[name] for name in named if name in parameters} | options
        if isinstance(options.get("gamma"), str):
            del options["gamma"]
            options |= {"gamma": gamma} if metric in SCALED else {}
        return cls(metric, options)

    def __call__(self, X: FloatArray, Y: FloatArray, deadline: Deadline) -> FloatArray:
        """The kernel of the rows of X and of Y, (n, m), checked.

        Raises
        ------
        OutOfTime
            If the deadline comes first.
        """
        values = np.empty((len(X), len(Y)))
        entries = BLOCK_ENTRIES if isinstance(self.metric, str) else BLOCK_CALLS
        for block in gen_batches(len(X), max(entries // len(Y), 1)):
            deadline.first.check()
            values[block] = self._block(X[block], Y)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"the kernel of rows {i} and {j} is {values[i, j]}; a kernel must be finite."
            )
        return values

    def _block(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        try:
            values: FloatArray = pairwise_kernels(X, Y, metric=self.metric, **self.options)
        except (TypeError, ValueError) as error:
            if isinstance(self.metric, str):
                raise
            raise ValueError(
                f"`kernel` {self.metric!r} failed: {error}  A callable kernel takes two rows, and "
                "the `kernel_params` by keyword, and gives a number."
            ) from error
        return values


def scale_gamma(points: FloatArray, weight: FloatArray) -> float:
    """``1 / (d v)`` with the variance v of all entries of the points; 1 if that is 0."""
    share = weight / (weight.sum() * points.shape[1])
    spread = float((share @ (points - (share @ points).sum()) ** 2).sum())
    return 1.0 / (points.shape[1] * spread) if spread > 0.0 else 1.0


def check_symmetric(kernel: FloatArray) -> FloatArray:
    """The kernel of all pairs of some rows, averaged with its transpose.

    Raises
    ------
    ValueError
        If it is not square, or differs from its transpose by more than rounding errors.
    """
    if kernel.shape[0] != kernel.shape[1]:
        raise ValueError(
            f"the precomputed kernel has shape {kernel.shape}; it must be square, the kernel of "
            "every row and every row."
        )
    difference = np.abs(kernel - kernel.T)
    i, j = np.unravel_index(difference.argmax(), difference.shape)
    if difference[i, j] > -LEAST_EIGENVALUE * np.abs(kernel).max():
        raise ValueError(
            f"the kernel of rows {i} and {j} is {kernel[i, j]:.6g}, that of {j} and {i} is "
            f"{kernel[j, i]:.6g}; a kernel must be symmetric."
        )
    return (kernel + kernel.T) / 2.0


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of the weighted, centred kernel of some rows.

    With weights w of mean 1 and ``s = sqrt(w)`` they are those of ``A = Q (s K s) Q``, where
    ``Q = I - ss'/|s|^2``.  So they do not depend on whether a row is given twice, or once with
    twice the weight.

    Attributes
    ----------
    values : (r,) array
        The largest, in falling order.
    vectors : (m, r) array
        U.
    root : (m,) array
        s.
    """

    values: FloatArray
    vectors: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, kernel: FloatArray, weight: FloatArray, shift: float | str) -> Spectrum:
        """Decompose, with the shift that is wanted added to the eigenvalues.

        That is the same as to add ``shift / w_i`` to the kernel of row i with itself, which adds
        the constant ``shift (n - k)`` to the objective of k non-empty clusters.

        Raises
        ------
        ValueError
            If there are negative eigenvalues.
        """
        root = np.sqrt(weight / weight.mean())
        weighted = root * kernel * root[:, None]
        values, vectors = eigh(_centred(weighted, root))
        least, most = float(values[0]), max(float(values[-1]), 0.0)
        enough = max(-least, 0.0)
        added = enough if shift == "auto" else float(shift)
        # Centring rounds in units of the kernel itself, whose centred part may be much smaller.
        noise = len(kernel) * np.finfo(np.float64).eps * float(np.linalg.norm(weighted))
        if least + added < min(LEAST_EIGENVALUE * (most + added), -noise):
            raise ValueError(
                "the kernel is not positive semidefinite: its centred matrix has the eigenvalue "
                f"{least:.3g}, and the largest is {most:.3g}.  A shift of the diagonal makes it so "
                f"and changes no optimum: give shift={_rounded_up(enough)}, or shift='auto'."
            )
        values = np.maximum(values[::-1] + added, 0.0)
        # At least one vector stays, also of a kernel that is 0.
        tail = np.cumsum(values[::-1])[::-1]
        rank = max(int(np.sum(tail > KERNEL_TAIL * tail[0])), 1)
        vectors = vectors[:, ::-1][:, :rank]
        # Of the two signs of a vector the one whose largest entry is positive.
        largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(rank)]
        return cls(values[:rank], vectors * np.where(largest < 0.0, -1.0, 1.0), root)

    def features(self, kernel: FloatArray) -> FloatArray:
        """Feature vectors ``U sqrt(L) / s`` of the rows that were decomposed, (m, r).

        Rows without weight are projected, by their kernels with all rows.
        """
        counted = self.root > 0.0
        found = kernel @ self.projection() if not counted.all() else np.empty_like(self.vectors)
        found[counted] = self.vectors[counted] * np.sqrt(self.values) / self.root[counted, None]
        return found

    def projection(self) -> FloatArray:
        """``s U / sqrt(L)``, which makes feature vectors of kernels with these rows, (m, r)."""
        length = np.sqrt(self.values)
        return self.root[:, None] * self.vectors / np.where(length > 0.0, length, np.inf)


@dataclass(frozen=True)
class Machine:
    """Nearest centre of new rows: the least of ``offset_j - 2 sum_i k(x, sample_i) dual_ij``.

    Attributes
    ----------
    rows : (m,) array
        The rows of the fit whose kernels with x are needed.
    dual : (m, k) array
    offset : (k,) array
    """

    rows: IntArray
    dual: FloatArray
    offset: FloatArray

    def nearest(self, kernel: FloatArray) -> IntArray:
        """Nearest centres of rows by their kernels with the rows of the machine, (n, m)."""
        return np.asarray((self.offset - 2.0 * kernel @ self.dual).argmin(axis=1))


def machine_of_members(
    kernel: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> Machine:
    """Centres that are means of the vectors of all rows."""
    n = len(labels)
    members = np.zeros((n, n_clusters))
    members[np.arange(n), labels] = weight
    mass = members.sum(axis=0)
    dual = members / np.where(mass > 0.0, mass, 1.0)
    offset = np.einsum("ij,ij->j", dual, kernel @ dual)
    return Machine(np.arange(n), dual, np.where(mass > 0.0, offset, np.inf))


def machine_of_centers(rows: IntArray, projection: FloatArray, centers: FloatArray) -> Machine:
    """Centres that are given as feature vectors of a projection."""
    return Machine(rows, projection @ centers.T, (centers**2).sum(axis=1))


def _rounded_up(value: float) -> str:
    """The number, which is positive, in three digits and not less."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return f"{np.ceil(value / unit) * unit:.3g}"


def _centred(matrix: FloatArray, root: FloatArray) -> FloatArray:
    """``Q A Q`` with ``Q = I - ss'/|s|^2``."""
    unit = root / np.linalg.norm(root)
    mean = matrix @ unit
    both = np.outer(mean - unit * (unit @ mean) / 2.0, unit)
    return np.asarray(matrix - both - both.T)
