"""The Gaussians of a mixture: their estimates and their densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from .._typing import FloatArray

COVARIANCE_TYPES = ("full", "diag", "spherical")


@dataclass(frozen=True)
class Mixture:
    """Weights (k,), means (k, d), and covariances: (k, d, d) if full, else variances (k, d)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @classmethod
    def estimate(cls, X: FloatArray, shares: FloatArray, kind: str, floor: float) -> Mixture:
        """The M-step: the most likely mixture if point i belongs to component j by its share.

        ``floor`` is added to the variances.
        """
        count = shares.sum(axis=0) + 10.0 * np.finfo(float).eps
        means = shares.T @ X / count[:, None]
        parts = [
            _scatter(X - mean, share, kind) for mean, share in zip(means, shares.T, strict=True)
        ]
        covariances = np.stack(parts) / count.reshape(-1, *[1] * parts[0].ndim)
        covariances += floor * (np.eye(X.shape[1]) if kind == "full" else 1.0)
        return cls(count / count.sum(), means, covariances)

    def log_densities(self, X: FloatArray) -> FloatArray:
        """``log(weight_j N(x_i; mean_j, covariance_j))`` as an (n, k) array."""
        parts = [
            _log_normal(X - mean, covariance)
            for mean, covariance in zip(self.means, self.covariances, strict=True)
        ]
        return np.stack(parts, axis=1) + np.log(self.weights)


def _scatter(step: FloatArray, share: FloatArray, kind: str) -> FloatArray:
    if kind == "full":
        return np.asarray((share * step.T) @ step)
    variances = share @ step**2
    return variances if kind == "diag" else np.full_like(variances, variances.mean())


def _log_normal(step: FloatArray, covariance: FloatArray) -> FloatArray:
    """Log density of a normal from the steps away from its mean."""
    if covariance.ndim == 2:
        root = cholesky(covariance, lower=True)
        whitened = solve_triangular(root, step.T, lower=True).T
        log_root = np.log(np.diag(root)).sum()
    else:
        whitened = step / np.sqrt(covariance)
        log_root = 0.5 * np.log(covariance).sum()
    square = (whitened**2).sum(axis=1)
    return np.asarray(-0.5 * (square + step.shape[1] * np.log(2.0 * np.pi)) - log_root)
