"""Linear constraints on the assignment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._arrays import sound
from .._text import our_words
from .._typing import FloatArray, IntArray
from . import _checks
from ._checks import FOLDS, Names, allowances, excess_of, plural, refuse, refuse_overflow, shortened
from .base import Constraint, Violations, numbers_from_json, plain


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LinearConstraint(Constraint):
    """Linear constraints ``lower <= A vec(x) <= upper`` on the assignment ``x``.

    Parameters
    ----------
    A : (r, n_samples * n_clusters) array or sparse
        Column ``i * n_clusters + j`` belongs to ``x_ij``, which is 1 if row i is in cluster j.
    lower, upper : float or (r,) floats
        Bounds.  Equal bounds make an equality; an infinite bound has no effect.
    n_clusters : int, optional
        Needed only for a subset given by positions, to find the columns of each sample.

    Notes
    -----
    A row is violated if its value exceeds a bound by more than rounding: 1e-9 times the sum of the
    magnitudes of its coefficients, and at most 0.25 if these are whole numbers.  On a subset of the
    samples, a row of ``A`` is kept if it is zero for all samples outside the subset, and dropped if
    it is zero for all samples inside.  Other rows raise ``ValueError``.

    Examples
    --------
    Two samples, two clusters; the samples must not both be in cluster 0:

    >>> rule = LinearConstraint([[1, 0, 1, 0]], upper=1)
    >>> rule.violations([0, 0]).messages()
    ['linear row 0 is 2, but should be at most 1']
    """

    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    n_clusters: int | None

    _keys = ("shape", "row", "column", "value", "lower", "upper", "n_clusters")

    @our_words
    def __init__(
        self,
        A: Any,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
        *,
        n_clusters: int | None = None,
    ) -> None:
        matrix = _read_matrix(A)
        low, high = (
            _checks.as_column(side, what, matrix.shape[0], "row", "A has")
            for side, what in ((lower, "lower"), (upper, "upper"))
        )
        refuse(low == math.inf, low, "lower", "no value can reach it")
        refuse(high == -math.inf, high, "upper", "no value can stay below it")
        _checks.ordered_bounds(lower=low, upper=high)
        whole = isinstance(n_clusters, Integral) and not isinstance(n_clusters, bool)
        n_clusters = int(n_clusters) if n_clusters is not None and whole else n_clusters
        if n_clusters is not None and not (
            whole and n_clusters >= 1 and matrix.shape[1] % n_clusters == 0
        ):
            raise ValueError(
                f"n_clusters is {n_clusters!r}, but A has {matrix.shape[1]} columns; it must be "
                "an integer of at least 1 that divides their number."
            )
        self._set(A=matrix, lower=low, upper=high, n_clusters=n_clusters)

    def sides(self) -> IntArray:
        """Row and side, 0 lower and 1 upper, of each finite bound."""
        return np.argwhere(np.isfinite(np.column_stack([self.lower, self.upper])))

    def allowed(self) -> FloatArray:
        """By how much each row may miss its bounds because of rounding."""
        row = np.repeat(np.arange(self.A.shape[0]), np.diff(self.A.indptr))
        return allowances(self.A.data, row, self.A.shape[0])

    @property
    def n_parts(self) -> int:
        """Number of finite bounds."""
        return len(self.sides())

    def take(self, which: ArrayLike) -> Self:
        """Return only some bounds, row by row and lower before upper, and the rows they need."""
        row, side = self.sides()[np.asarray(which, np.int64)].T
        rows, place = np.unique(row, return_inverse=True)
        bounds = np.tile([-math.inf, math.inf], (len(rows), 1))
        bounds[place, side] = np.where(side == 0, self.lower[row], self.upper[row])
        return type(self)(self.A[rows], *bounds.T, n_clusters=self.n_clusters)

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless ``A`` has one column for every sample and cluster."""
        if self.n_clusters not in (None, n_clusters):
            raise ValueError(
                f"the linear constraint is for {self.n_clusters} clusters, "
                f"but n_clusters is {n_clusters}."
            )
        needed = int(n_samples) * int(n_clusters)
        if self.A.shape[0] and self.A.shape[1] != needed:
            raise ValueError(
                f"A has {self.A.shape[1]} columns, but X has {n_samples} samples and n_clusters "
                f"is {n_clusters}; it must have {needed}{FOLDS}."
            )

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the rows of ``A`` that are out of bounds."""
        found = _checks.as_labels(labels)
        k = int(n_clusters or self.n_clusters or self.A.shape[1] // max(len(found), 1))
        self.check(len(found), k)
        x = np.zeros(self.A.shape[1])
        if self.A.shape[0]:
            _checks.clusters_in(found, k)
            x[np.arange(len(found)) * k + found] = 1.0
        value = self.A @ x
        excess = excess_of(value, self.allowed(), self.lower, self.upper)
        where = np.flatnonzero(excess)
        text = partial(self._describe, value=value)
        return Violations(len(where), float(excess[where].sum()), where, text)

    def _describe(self, row: int, names: Names, *, value: FloatArray) -> str:
        bound = _checks.missed_bound(value[row], self.lower[row], self.upper[row])
        return f"linear row {row} is {value[row]:.10g}, but should be {bound}"

    def subset(self, rows: ArrayLike) -> Self | None:
        """Return the rows of ``A`` that concern only the samples ``rows``; see the notes."""
        if not self.A.shape[0]:
            return None
        k = self._clusters(_checks.as_rows(rows)[1])
        n_samples = self.A.shape[1] // k
        positions = _checks.rows_within(rows, n_samples, "the linear constraint")
        new = _checks.renumbering(positions, n_samples)
        entries = self.A.tocoo()
        row, column = entries.coords
        inside = new[column // k] >= 0
        has_inside, has_outside = np.zeros((2, self.A.shape[0]), bool)
        has_inside[row[inside]] = has_outside[row[~inside]] = True
        if (has_inside & has_outside).any():
            first = int(np.argmax(has_inside & has_outside))
            raise ValueError(
                f"linear row {first} has coefficients for samples inside and outside the subset; "
                "give linear constraints for the subset."
            )
        moved = new[column[inside] // k] * k + column[inside] % k
        shape = self.A.shape[0], len(positions) * k
        A = sparse.csr_array((entries.data[inside], (row[inside], moved)), shape)
        kept = np.flatnonzero(~has_outside)
        if not len(kept):
            return None
        return type(self)(A[kept], self.lower[kept], self.upper[kept], n_clusters=k)

    def _clusters(self, total: int | None) -> int:
        """Return the number of clusters, known or from ``total``, the length of a mask."""
        if self.n_clusters is None and not total:
            raise ValueError(
                "a LinearConstraint does not know which columns belong to a sample; "
                "make it with n_clusters=..., or take the subset by a mask over all rows."
            )
        k = self.n_clusters or self.A.shape[1] // (total or 1)
        if total is not None and total * k != self.A.shape[1]:
            raise ValueError(
                f"rows is a mask of {total} entries, but A has {self.A.shape[1]} columns."
            )
        return k

    def phrase(self, names: Names = None) -> str:
        """Give the rows by their bounds, such as ``linear rows of at most 1, at least 3``."""
        rows = zip(self.lower, self.upper, strict=True)
        bounds = shortened((_in_words(low, high) for low, high in rows), len(self.lower))
        noun = "linear row" if len(self.lower) == 1 else "linear rows"
        return f"{noun} of {bounds}" if bounds else "no linear rows"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``A`` is stored as coordinates and values."""
        entries = self.A.tocoo()
        row, column = entries.coords
        return {
            "kind": "LinearConstraint",
            "shape": list(self.A.shape),
            "row": row.tolist(),
            "column": column.tolist(),
            "value": entries.data.tolist(),
            "lower": plain(self.lower),
            "upper": plain(self.upper),
            "n_clusters": self.n_clusters,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        _refuse_unlisted_rows(values)
        place = (np.asarray(values["row"], np.int64), np.asarray(values["column"], np.int64))
        A = sparse.csr_array((values["value"], place), shape=tuple(values["shape"]))
        lower, upper = (numbers_from_json(values[side]) for side in ("lower", "upper"))
        return cls(A, lower, upper, n_clusters=values["n_clusters"])

    def __repr__(self) -> str:
        return f"LinearConstraint({plural(self.A.shape[0], 'row')}, {self.A.shape[1]} columns)"


def _refuse_unlisted_rows(values: Mapping[str, Any]) -> None:
    """Refuse a shape with more rows than are listed, before there is memory for them."""
    n_rows, lists = values["shape"][0], [values[key] for key in ("row", "lower", "upper")]
    most = max((len(each) for each in lists if isinstance(each, list)), default=0)
    if n_rows > most:
        raise ValueError(
            f"shape has {plural(n_rows, 'row')}, but coefficients and bounds are listed for at "
            f"most {most}; it must have one bound, or one coefficient at least, for each."
        )


def _in_words(low: float, high: float) -> str:
    """Write the bounds of a row: ``3``, ``at least 3``, ``at least 3 and at most 5``."""
    sides = [f"at least {low:.10g}"] * math.isfinite(low)
    sides += [f"at most {high:.10g}"] * math.isfinite(high)
    return f"{low:.10g}" if low == high else " and ".join(sides) or "any value"


def _read_matrix(A: Any) -> sparse.csr_array:
    if sparse.issparse(A):
        sound(A, "A")
    else:
        A = np.atleast_2d(_checks.as_array(A, "A"))
        if A.size == 0:
            A = np.empty((0, 0))
        if A.ndim > 2 or A.dtype.kind not in "iufb":
            raise ValueError(f"A must be a matrix of numbers, not {A.dtype} of shape {A.shape}.")
    matrix = sparse.csr_array(A, dtype=np.float64, copy=True)
    if not np.isfinite(matrix.data).all():
        raise ValueError("A has entries that are not finite; each must be a finite number.")
    refuse_overflow(matrix.data, "A")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix
