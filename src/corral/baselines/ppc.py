"""PPC: a Gaussian mixture with a prior on pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.special import softmax, xlogy
from sklearn.cluster import KMeans

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from ..settings import COUNT, NOT_NEGATIVE, Limit
from .base import Answer, BestOfRuns, Links, Run, parameter

#: The mean field has converged when no probability changes by more in one sweep.
TOLERANCE = 1e-4
#: Largest number of sweeps of the mean field in one E-step; the next E-step continues from there.
MAX_SWEEPS = 50


@dataclass(eq=False, repr=False, kw_only=True)
class PPC(BestOfRuns):
    r"""Penalised probabilistic clustering of Lu and Leen, with a mean-field E-step.

    A Gaussian mixture whose labels have the prior

    .. math:: P(z) \propto \prod_i \pi_{z_i} \prod_{(i,j)} \exp(w_{ij} [z_i = z_j])

    with a positive weight for a must-link and a negative one for a cannot-link.  The E-step
    approximates the posterior by independent labels with the probabilities

    .. math:: q_{ik} \propto \pi_k N(x_i; \mu_k, \Sigma_k) \exp(\sum_j w_{ij} q_{jk}).

    With zero weights this is EM for Gaussian mixtures.

    Parameters
    ----------
    n_clusters : int, default=8
    weight : float, default=10.0
        Weight, in units of log probability, of links that are hard; links with a finite weight
        of their own keep it.
    covariance_type : {"full", "diag", "spherical"}, default="full"
    reg_covar : float, default=1e-6
        Added to the variances.
    n_init : int, default=10
        Restarts, each from one k-means run; the one with the highest bound is kept.
    max_iter : int, default=100
    tol : float, default=1e-3
        Stop when the bound per point increases by less.
    random_state : int, RandomState or None, default=None
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    responsibilities_ : (n_samples, n_clusters) array
        The probabilities q.
    weights_, means_, covariances_ : arrays
        Parameters of the mixture; without full covariances, ``covariances_`` holds variances.
    lower_bound_ : float
        Variational bound on the log likelihood per point, without the constant of the prior.
    n_iter_ : int
    converged_ : bool
    report_ : Report
        Links may be broken.

    Notes
    -----
    As in the paper, the mixing weights are estimated as if the constant of the prior did not
    depend on them.  The mean field is updated in blocks of points that have no link with each
    other.  This is the same as updating point by point, which never lowers the bound.

    References
    ----------
    Z. Lu, T. Leen, "Penalized probabilistic clustering", Neural Computation 19(6), 2007.

    Examples
    --------
    >>> from corral import MustLink
    >>> from corral.baselines import PPC
    >>> X = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]
    >>> model = PPC(n_clusters=2, random_state=0).fit(X, constraints=MustLink([(0, 2)]))
    >>> bool(model.labels_[0] == model.labels_[2] != model.labels_[3])
    True
    """

    _soft = True

    weight: float = parameter(10.0, NOT_NEGATIVE)
    covariance_type: str = parameter("full", Limit(None, words=("full", "diag", "spherical")))
    reg_covar: float = parameter(1e-6, NOT_NEGATIVE)
    max_iter: int = parameter(100, COUNT)
    tol: float = parameter(1e-3, NOT_NEGATIVE)

    def _prepare(self, X: FloatArray, rules: ConstraintSet) -> Run:
        field = _Field.of(len(X), Links.of(rules, self.weight))

        def run(random_state: np.random.RandomState) -> Answer:
            start = KMeans(self.n_clusters, n_init=1, random_state=random_state).fit(X).labels_
            shares = np.eye(self.n_clusters)[start]
            bound, gain = -np.inf, np.inf
            for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
                mixture = Mixture.estimate(X, shares, self.covariance_type, self.reg_covar)
                shares, reached = field.fixed_point(mixture.log_densities(X), shares)
                bound, gain = reached, abs(reached - bound)
                if gain < self.tol:
                    break
            attributes = {
                "responsibilities_": shares,
                "weights_": mixture.weights,
                "means_": mixture.means,
                "covariances_": mixture.covariances,
                "lower_bound_": bound,
                "n_iter_": n_iter,
                "converged_": gain < self.tol,
            }
            return Answer(shares.argmax(axis=1), attributes, -bound)

        return run


@dataclass(frozen=True)
class _Field:
    """The signed weights of the pairs, and the linked points in blocks without links inside."""

    weight: sparse.csr_array
    blocks: tuple[IntArray, ...]

    @classmethod
    def of(cls, n: int, links: Links) -> _Field:
        pairs = np.concatenate([links.must, links.cannot])
        signed = np.concatenate([links.must_weight, -links.cannot_weight])
        ends = np.concatenate([pairs, pairs[:, ::-1]])
        weight = sparse.csr_array((np.tile(signed, 2), (ends[:, 0], ends[:, 1])), shape=(n, n))
        weight.eliminate_zeros()
        colour = _coloured(weight)
        return cls(weight, tuple(np.flatnonzero(colour == c) for c in range(colour.max() + 1)))

    def fixed_point(self, log_density: FloatArray, shares: FloatArray) -> tuple[FloatArray, float]:
        """The E-step: mean-field probabilities, from the previous ones, and the bound per point."""
        found = softmax(log_density, axis=1)
        linked = np.concatenate([np.empty(0, np.int64), *self.blocks])
        found[linked] = shares[linked]
        for _ in range(MAX_SWEEPS):
            before = found[linked]
            for block in self.blocks:
                found[block] = softmax(log_density[block] + self.weight[block] @ found, axis=1)
            if np.abs(found[linked] - before).max(initial=0.0) < TOLERANCE:
                break
        pull = 0.5 * (found * (self.weight @ found)).sum()
        bound = (found * log_density).sum() - xlogy(found, found).sum() + pull
        return found, float(bound) / len(found)


def _coloured(graph: sparse.csr_array) -> IntArray:
    """Greedy colouring: no edge joins two vertices of a colour; -1 for vertices without edges."""
    colour = np.full(graph.shape[0], -1)
    degree = np.diff(graph.indptr)
    for vertex in np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]:
        near = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
        colour[vertex] = np.setdiff1d(np.arange(len(near) + 1), colour[near])[0]
    return colour


@dataclass(frozen=True)
class Mixture:
    """Weights (k,), means (k, d), and covariances: (k, d, d) if full, else variances (k, d)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @classmethod
    def estimate(cls, X: FloatArray, shares: FloatArray, kind: str, floor: float) -> Mixture:
        """The M-step for the probabilities ``shares`` (n, k); ``floor`` is added to variances."""
        count = shares.sum(axis=0) + 10.0 * np.finfo(float).eps
        means = shares.T @ X / count[:, None]
        pairs = zip(means, shares.T, strict=True)
        parts = [_scatter(X - mean, share, kind) for mean, share in pairs]
        covariances = np.stack(parts) / count.reshape(-1, *[1] * parts[0].ndim)
        covariances += floor * (np.eye(X.shape[1]) if kind == "full" else 1.0)
        return cls(count / count.sum(), means, covariances)

    def log_densities(self, X: FloatArray) -> FloatArray:
        """``log(weight_j N(x_i; mean_j, covariance_j))`` as an (n, k) array."""
        pairs = zip(self.means, self.covariances, strict=True)
        parts = [_log_normal(X - mean, covariance) for mean, covariance in pairs]
        return np.stack(parts, axis=1) + np.log(self.weights)


def _scatter(step: FloatArray, share: FloatArray, kind: str) -> FloatArray:
    if kind == "full":
        return np.asarray((share * step.T) @ step)
    variances = share @ step**2
    return variances if kind == "diag" else np.full_like(variances, variances.mean())


def _log_normal(step: FloatArray, covariance: FloatArray) -> FloatArray:
    """Log density of a normal distribution, from the differences to its mean."""
    if covariance.ndim == 2:
        root = cholesky(covariance, lower=True)
        whitened = solve_triangular(root, step.T, lower=True).T
        log_root = np.log(np.diag(root)).sum()
    else:
        whitened = step / np.sqrt(covariance)
        log_root = 0.5 * np.log(covariance).sum()
    square = (whitened**2).sum(axis=1)
    return np.asarray(-0.5 * (square + step.shape[1] * np.log(2.0 * np.pi)) - log_root)
