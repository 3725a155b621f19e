"""Algorithm 1 as the paper prints it (errata mended), with every selection matrix built.

Vectors and matrices only, O(n^3 k^3) an iteration: the reference that the fast solver has to
equal, and the slow side of the benchmark.  It shares no code with the package.  Vectors are
ordered by points (``x[i k + j]``), only w by clusters (``w[j n + i]``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.floating[Any]]


def select(rows: NDArray[np.int64], n: int, k: int) -> Vector:
    """The selection matrix E with ``E x`` the k labels of each of the rows in turn."""
    E = np.zeros((len(rows) * k, n * k))
    for t, row in enumerate(rows):
        E[t * k : (t + 1) * k, row * k : (row + 1) * k] = np.eye(k)
    return E


@dataclass(frozen=True)
class Variables:
    """All variables of the augmented Lagrangian; those of absent constraints stay unused."""

    x: Vector
    w: Vector
    z1: Vector
    z2: Vector
    z3: Vector
    z4: Vector
    y1: Vector
    y2: Vector
    y3: Vector
    y4: Vector
    y5: Vector
    y6: float
    y7: Vector
    y8: float
    y9: Vector
    y10: Vector


@dataclass(frozen=True)
class Literal:
    """A problem with its matrices; ``S`` is d x n here, as in the paper."""

    S: Vector
    k: int
    must_link: NDArray[np.int64] | None = None
    cannot_link: NDArray[np.int64] | None = None
    sizes: Vector | None = None
    A: Vector | None = None
    b: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def n(self) -> int:
        return int(self.S.shape[1])

    @cached_property
    def Psi(self) -> Vector:
        return np.kron(np.eye(self.n), np.ones((self.k, 1)))

    @cached_property
    def P(self) -> Vector:
        """``(P w)[i k + j] = w[j n + i]``."""
        order = np.arange(self.n * self.k).reshape(self.k, self.n).T.ravel()
        return np.eye(self.n * self.k)[order]

    @cached_property
    def Q(self) -> Vector:
        return np.kron(np.eye(self.k), np.ones((1, self.n)))

    @cached_property
    def C(self) -> Vector:
        return np.kron(np.ones((self.n, self.n)), np.eye(self.k))

    @cached_property
    def Lambda(self) -> list[Vector]:
        return [np.kron(np.eye(self.k)[[j]], np.eye(self.n)) for j in range(self.k)]

    @cached_property
    def E(self) -> list[Vector]:
        """E1, E2, E3, E4."""
        none = np.empty((0, 2), np.int64)
        must = none if self.must_link is None else self.must_link
        cannot = none if self.cannot_link is None else self.cannot_link
        return [select(pairs[:, c], self.n, self.k) for pairs in (must, cannot) for c in (0, 1)]

    @cached_property
    def E21(self) -> Vector:
        return self.E[1].T @ self.E[0]

    @cached_property
    def E43(self) -> Vector:
        return self.E[3].T @ self.E[2]

    @cached_property
    def v(self) -> int:
        return 0 if self.must_link is None else len(self.must_link)

    @cached_property
    def constant_x_matrix(self) -> Vector:
        """The part of the x-system, over rho, that no iteration changes."""
        copies = 2 + (self.must_link is not None) + (self.cannot_link is not None)
        matrix = self.Psi @ self.Psi.T + copies * np.eye(self.n * self.k)
        if self.sizes is not None:
            matrix += self.P @ self.Q.T @ self.Q @ self.P.T
        if self.A is not None:
            matrix += self.A.T @ self.A
        return matrix

    @cached_property
    def gram_blocks(self) -> list[Vector]:
        """``Lambda_j' S'S Lambda_j``."""
        return [Lj.T @ self.S.T @ self.S @ Lj for Lj in self.Lambda]

    def start(self, labels: NDArray[np.int64]) -> Variables:
        """One-hot x, w = x / c by clusters, all else zero."""
        x = np.eye(self.k)[labels].ravel()
        w = self.P.T @ (x / (self.C @ x))
        o = np.zeros(self.n * self.k)
        return Variables(
            x,
            w,
            o,
            o,
            o,
            o,
            np.zeros(self.n),
            o,
            o,
            np.zeros(self.k),
            o,
            0.0,
            o,
            0.0,
            o,
            np.zeros(len(self.b)),
        )

    def costs(self, w: Vector) -> Vector:
        """``vect(B)``."""
        gaps = [self.S - (self.S @ (Lj @ w))[:, None] for Lj in self.Lambda]
        return np.stack([(gap**2).sum(axis=0) for gap in gaps], axis=1).ravel()

    def step(self, v: Variables, rho: float) -> Variables:
        """One iteration of Algorithm 1."""
        v = replace(v, x=self.update_x(v, rho))
        v = replace(v, w=self.update_w(v, rho))
        v = replace(v, z1=np.minimum(np.maximum(v.x + v.y2 / rho, 0), 1))
        shifted = v.x + v.y3 / rho - 0.5
        radius = np.sqrt(self.n * self.k) / 2
        v = replace(v, z2=radius * shifted / np.linalg.norm(shifted) + 0.5)
        if self.must_link is not None:
            v = replace(v, z3=self.update_z3(v, rho))
        if self.cannot_link is not None:
            v = replace(v, z4=self.update_z4(v, rho))
        return self.update_y(v, rho)

    def update_x(self, v: Variables, rho: float) -> Vector:
        Pw, ones = self.P @ v.w, np.ones(self.n)
        mean = np.eye(self.n * self.k) - Pw[:, None] * self.C
        matrix = self.constant_x_matrix + mean.T @ mean
        right = -(
            self.costs(v.w)
            + self.Psi @ v.y1
            + v.y2
            + v.y3
            - rho * self.Psi @ ones
            - rho * v.z1
            - rho * v.z2
            + v.y5
            - self.C.T @ (Pw * v.y5)
        )
        if self.must_link is not None:
            a = self.E21 @ v.z3
            matrix += np.outer(a, a)
            right -= v.y6 * a - rho * self.v * a + v.y7 - rho * v.z3
        if self.cannot_link is not None:
            a = self.E43 @ v.z4
            matrix += np.outer(a, a)
            right -= v.y8 * a + v.y9 - rho * v.z4
        if self.sizes is not None:
            right -= self.P @ (self.Q.T @ (v.y4 - rho * self.sizes))
        if self.A is not None:
            right -= self.A.T @ (v.y10 - rho * self.b)
        return np.linalg.solve(rho * matrix, right)

    def update_w(self, v: Variables, rho: float) -> Vector:
        c = self.Q @ (self.P.T @ v.x)
        Cx = self.C @ v.x
        matrix = np.diag(rho * (self.P.T @ (Cx * Cx)))
        right = self.P.T @ (Cx * v.y5) + rho * self.P.T @ (Cx * v.x)
        for j, Lj in enumerate(self.Lambda):
            matrix += 2 * c[j] * self.gram_blocks[j]
            right += 2 * Lj.T @ (self.S.T @ (self.S @ v.x[j :: self.k]))
        return np.linalg.solve(matrix, right)

    def update_z3(self, v: Variables, rho: float) -> Vector:
        a = self.E21.T @ v.x
        right = v.y7 + rho * v.x - v.y6 * a + rho * self.v * a
        return np.linalg.solve(rho * np.outer(a, a) + rho * np.eye(len(a)), right)

    def update_z4(self, v: Variables, rho: float) -> Vector:
        a = self.E43.T @ v.x
        right = v.y9 + rho * v.x - v.y8 * a
        return np.linalg.solve(rho * np.outer(a, a) + rho * np.eye(len(a)), right)

    def update_y(self, v: Variables, rho: float) -> Variables:
        changes: dict[str, Any] = {
            "y1": v.y1 + rho * (self.Psi.T @ v.x - 1),
            "y2": v.y2 + rho * (v.x - v.z1),
            "y3": v.y3 + rho * (v.x - v.z2),
            "y5": v.y5 + rho * (v.x - (self.P @ v.w) * (self.C @ v.x)),
        }
        if self.sizes is not None:
            changes["y4"] = v.y4 + rho * (self.Q @ (self.P.T @ v.x) - self.sizes)
        if self.must_link is not None:
            changes["y6"] = v.y6 + rho * float(v.z3 @ (self.E21.T @ v.x) - self.v)
            changes["y7"] = v.y7 + rho * (v.x - v.z3)
        if self.cannot_link is not None:
            changes["y8"] = v.y8 + rho * float(v.z4 @ (self.E43.T @ v.x))
            changes["y9"] = v.y9 + rho * (v.x - v.z4)
        if self.A is not None:
            changes["y10"] = v.y10 + rho * (self.A @ v.x - self.b)
        return replace(v, **changes)
