"""What Algorithm 1 works on: the paper's rules, the data of a problem, the state of an iteration.

The paper has exact sizes, must-links, cannot-links and "any other linear equality"; pins and totals
that must be met exactly are such equalities.  Other rules are refused with a message.

Every n x k array is held cluster by cluster (Fortran order): row sums and broadcasts then run along
the long axis, which is several times faster in NumPy, and the formulas are the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._typing import FloatArray, IntArray, Matrix
from ...rules import LinearRows, Rules

#: What an error message recommends for a rule that the paper does not have.
ADVICE = 'solver="projected" handles it'


#: Features up to which the Gram matrix of the points is decomposed; with more, w is solved for by
#: conjugate gradients.  At 1,024 features the decomposition takes 0.7 s and makes an iteration 1.4
#: times (300 points) to 3.3 times (2,000) as fast; at 2,048 it takes 4 to 6 s.
LARGEST_GRAM = 1024


@dataclass(frozen=True)
class PaperRules:
    """The rules of the paper's model; one that is None does not exist, nor do its copies and duals.

    A repeated pair of rows counts repeatedly.  ``linear`` holds equalities ``A vec(x) = b``: lower
    and upper bounds are the same.
    """

    must_link: IntArray | None = None  # (p, 2)
    cannot_link: IntArray | None = None  # (p, 2)
    sizes: IntArray | None = None  # exact size of each cluster, (k,)
    linear: LinearRows | None = None

    @classmethod
    def of(cls, rules: Rules, weight: FloatArray) -> PaperRules:
        """The paper's rules from rules whose must-links were not contracted; others are refused."""
        if len(rules.soft.price):
            raise ValueError(
                f'solver="algorithm1" has no soft pairs, and {len(rules.soft.price)} pairs have '
                f"a finite weight; weights must be infinite, or {ADVICE}."
            )
        if len(rules.soft_sums) or len(rules.soft_pins):
            raise ValueError(
                'solver="algorithm1" has no soft pins, sizes, totals and shares, and some have a '
                f"finite weight; weights must be infinite, or {ADVICE}."
            )
        if rules.adjacency is not None:
            raise ValueError(f'solver="algorithm1" has no connected clusters; {ADVICE}.')
        if np.ptp(weight) > 0:
            raise ValueError(
                'solver="algorithm1" has no sample weights, and they range from '
                f"{weight.min():g} to {weight.max():g}; they must be equal, or {ADVICE}."
            )
        sizes = rules.sizes
        return cls(
            must_link=rules.together if len(rules.together) else None,
            cannot_link=rules.apart if len(rules.apart) else None,
            sizes=None if sizes is None else _exact(sizes.lower, sizes.upper, "size of cluster"),
            linear=_equalities(rules),
        )


NO_RULES = PaperRules()


@dataclass(frozen=True)
class Scatter:
    """The map ``out[target[p]] += values[source[p]]`` over pairs p, sorted once by target."""

    source: IntArray
    rows: IntArray
    starts: IntArray

    @classmethod
    def of(cls, source: IntArray, target: IntArray) -> Scatter:
        """Sort the pairs by target, so that the sums are over consecutive runs."""
        order = np.argsort(target, kind="stable")
        rows, starts = np.unique(target[order], return_index=True)
        return cls(source[order], rows, starts)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Sum the rows of ``values``; rows that no pair has as its target are zero."""
        out = np.zeros_like(values)
        out.T[:, self.rows] = np.add.reduceat(values.T[:, self.source], self.starts, axis=1)
        return out


@dataclass(frozen=True)
class Links:
    """Pairs (p, q) of rows and the value that ``sum_pq z[p]'x[q]`` has to take.

    Must-links have the target v, the number of pairs; cannot-links have the target 0.
    """

    pairs: IntArray
    forward: Scatter  # z -> E2'E1 z (E4'E3 z): row q gets z[p]
    backward: Scatter  # x -> E1'E2 x (E3'E4 x): row p gets x[q]
    target: float

    @classmethod
    def of(cls, pairs: IntArray, target: float) -> Links:
        """Prepare both directions."""
        p, q = pairs[:, 0], pairs[:, 1]
        return cls(pairs, Scatter.of(p, q), Scatter.of(q, p), target)

    def product(self, z: FloatArray, x: FloatArray) -> float:
        """Compute ``(E1 z)'E2 x``, the sum of ``z[p]'x[q]`` over the pairs."""
        return inner(z.T[:, self.pairs[:, 0]], x.T[:, self.pairs[:, 1]])


@dataclass(frozen=True)
class Equalities:
    """Rows ``A vec(x) = b``, the columns of A reordered to match arrays held by cluster."""

    A: sparse.csr_array
    b: FloatArray
    n_clusters: int

    @classmethod
    def of(cls, rows: LinearRows, n_clusters: int) -> Equalities:
        """Equalities from rows whose bounds are equal; column ``i k + j`` becomes ``j n + i``."""
        A = sparse.csr_array(rows.A, dtype=np.float64)
        n = A.shape[1] // n_clusters
        by_cluster = np.arange(n * n_clusters).reshape(n, n_clusters).T.ravel()
        b = _exact(rows.lower, rows.upper, "linear row")
        return cls(A[:, by_cluster], np.asarray(b, np.float64), n_clusters)

    def apply(self, x: FloatArray) -> FloatArray:
        """Compute ``A vec(x)``."""
        value: FloatArray = self.A @ x.T.ravel()
        return value

    def adjoint(self, y: FloatArray) -> FloatArray:
        """Compute ``A'y`` as an n x k array."""
        product: FloatArray = self.A.T @ y
        return product.reshape(self.n_clusters, -1).T


@dataclass(frozen=True)
class Data:
    """Everything that stays the same over the iterations.

    The paper's model has squared Euclidean distances: ``costs`` and ``spectrum`` are made of them.
    """

    points: Matrix
    squared_norms: FloatArray
    spectrum: tuple[FloatArray, FloatArray] | None  # L and V of S'S = V diag(L) V'
    n_clusters: int
    sizes: FloatArray | None
    links: tuple[Links, ...]  # those of z3 and of z4, where given
    link_names: tuple[str, ...]
    equalities: Equalities | None

    @classmethod
    def of(cls, points: Matrix, n_clusters: int, rules: PaperRules = NO_RULES) -> Data:
        """Compute what does not change from iteration to iteration; sparse points stay sparse."""
        points, squared_norms = _in_double(points)
        must_link, cannot_link, sizes = rules.must_link, rules.cannot_link, rules.sizes
        links = {}
        if must_link is not None and len(must_link):
            links["must_link"] = Links.of(must_link, float(len(must_link)))
        if cannot_link is not None and len(cannot_link):
            links["cannot_link"] = Links.of(cannot_link, 0.0)
        return cls(
            points=points,
            squared_norms=squared_norms,
            spectrum=_spectrum(points) if points.shape[1] <= LARGEST_GRAM else None,
            n_clusters=n_clusters,
            sizes=None if sizes is None else np.asarray(sizes, np.float64),
            links=tuple(links.values()),
            link_names=tuple(links),
            equalities=None if rules.linear is None else Equalities.of(rules.linear, n_clusters),
        )

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return len(self.squared_norms)

    def centers(self, w: FloatArray) -> FloatArray:
        """Compute the centres ``S'w_j``, k x d."""
        centers: FloatArray = (self.points.T @ w).T
        return centers

    def costs(self, w: FloatArray) -> FloatArray:
        """Compute the paper's ``B_ij = |s_i - S'w_j|^2``, n x k."""
        centers = self.centers(w)
        cross = np.asfortranarray(self.points @ centers.T)
        norms = np.einsum("jd,jd->j", centers, centers)
        # Rounding may make the sum of the three terms slightly negative.
        costs: FloatArray = np.maximum(self.squared_norms[:, None] - 2.0 * cross + norms, 0.0)
        return costs


@dataclass(frozen=True)
class Copy:
    """The variables that one kind of links adds: (z3, y6, y7) or (z4, y8, y9)."""

    z: FloatArray  # z3, z4
    y: float  # y6, y8: dual of the bilinear constraint
    y_copy: FloatArray  # y7, y9: dual of x = z


@dataclass(frozen=True, kw_only=True)
class State:
    """All variables after an iteration, in the paper's names; n x k unless noted."""

    x: FloatArray
    w: FloatArray
    costs: FloatArray  # B, of this w
    z1: FloatArray
    z2: FloatArray
    copies: tuple[Copy, ...]  # z3, y6, y7 and z4, y8, y9, in the order of Data.links
    y1: FloatArray  # n
    y2: FloatArray
    y3: FloatArray
    y4: FloatArray  # k
    y5: FloatArray
    y10: FloatArray  # one number for each linear row
    residuals: Mapping[str, float]

    @property
    def objective(self) -> float:
        """``sum_ij x_ij |s_i - S'w_j|^2``."""
        return inner(self.x, self.costs)


def _in_double(points: Matrix) -> tuple[Matrix, FloatArray]:
    """The points in float64, and their squared norms, whose sum must be finite."""
    with np.errstate(over="ignore"):
        if sparse.issparse(points):
            points = sparse.csr_array(points, dtype=np.float64)
            squared_norms = points.power(2).sum(axis=1)
        else:
            points = np.ascontiguousarray(points, np.float64)
            squared_norms = np.einsum("ij,ij->i", points, points)
        total = squared_norms.sum()
    if not np.isfinite(total):
        raise FloatingPointError(
            f"the squared norms of the points sum to {total}, which must be finite: "
            "scale the data to about [-1, 1]"
        )
    return points, squared_norms


def _spectrum(points: Matrix) -> tuple[FloatArray, FloatArray]:
    """``L, V`` of ``S'S = V diag(L) V'``; eigenvalues that rounding made negative are zero."""
    product: Matrix = points.T @ points
    gram = product if isinstance(product, np.ndarray) else product.toarray()
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, 0.0), vectors


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product of two matrices, without the copy that ``vdot`` makes of them."""
    return float(np.einsum("ij,ij->", a, b))


def _equalities(rules: Rules) -> LinearRows | None:
    """Pins ``x_ij = 1``, exact totals and linear rows, one below the other."""
    m, k = rules.n_groups, rules.n_clusters
    blocks: list[sparse.csr_array] = []
    values: list[FloatArray] = []
    if len(rules.pins):
        rows, columns = np.arange(len(rules.pins)), rules.pins @ [k, 1]
        shape = (len(rows), m * k)
        blocks.append(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape))
        values.append(np.ones(len(rows)))
    for number, total in enumerate(rules.totals):
        values.append(_exact(total.lower, total.upper, f"total {number} of cluster"))
        blocks.append(total.as_rows(k).A)
    if rules.linear is not None:
        given = rules.linear
        values.append(_exact(given.lower, given.upper, "linear row"))
        blocks.append(given.A)
    if not blocks:
        return None
    wanted = np.concatenate(values)
    return LinearRows(sparse.csr_array(sparse.vstack(blocks)), wanted, wanted)


def _exact(lower: Any, upper: Any, what: str) -> Any:
    """The bounds, which must be equal."""
    loose = np.flatnonzero(lower != upper)
    if len(loose):
        r = loose[0]
        raise ValueError(
            f'solver="algorithm1" has exact sizes and equalities only, and {what} {r} has bounds '
            f"[{lower[r]:.10g}, {upper[r]:.10g}]; they must be equal, or {ADVICE}."
        )
    return lower
