"""PPC: a Gaussian mixture with a prior on pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax, xlogy
from sklearn.cluster import KMeans

from .._typing import FloatArray, IntArray
from ..constraints import ConstraintSet
from .base import COUNT, NOT_NEGATIVE, Answer, Baseline, Limit, Links, limits
from .gaussians import COVARIANCE_TYPES, Mixture

#: The mean field has settled when no share moves by more, or after so many sweeps.
SETTLED = 1e-4
MAX_SWEEPS = 50


class PPC(Baseline):
    r"""Penalised probabilistic clustering of Lu and Leen, with a mean-field E-step.

    A Gaussian mixture whose labels have the prior

    .. math:: P(z) \propto \prod_i \pi_{z_i} \prod_{(i,j)} \exp(w_{ij} [z_i = z_j])

    with a positive weight for a must-link and a negative one for a cannot-link.  The E-step
    approximates the posterior by independent labels with the shares

    .. math:: q_{ik} \propto \pi_k N(x_i; \mu_k, \Sigma_k) \exp(\sum_j w_{ij} q_{jk}).

    With zero weights it is EM for Gaussian mixtures.

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
        Restarts, each from a k-means of one start; the one with the highest bound is kept.
    max_iter : int, default=100
    tol : float, default=1e-3
        Stop when the bound, per point, gains less.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int array
    responsibilities_ : (n_samples, n_clusters) array
        The shares q.
    weights_, means_, covariances_ : arrays
        Of the mixture; the covariances are variances unless they are full.
    lower_bound_ : float
        Variational bound on the log likelihood per point, but for the constant of the prior.
    n_iter_ : int
    converged_ : bool
    report_ : Report
        Links may be broken.

    Notes
    -----
    As in the paper, the mixing weights are re-estimated as if the prior's constant did not depend
    on them.  The mean field is swept in blocks of points that have no link with each other, which
    is the one-by-one update and so never lowers the bound.

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
    _limits = limits(
        weight=NOT_NEGATIVE,
        covariance_type=Limit(words=COVARIANCE_TYPES, number=False),
        reg_covar=NOT_NEGATIVE,
        n_init=COUNT,
        max_iter=COUNT,
        tol=NOT_NEGATIVE,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 10.0,
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _cluster(
        self, X: FloatArray, rules: ConstraintSet, random_state: np.random.RandomState
    ) -> Answer:
        field = _Field.of(len(X), Links.of(rules, self.weight))
        runs = (self._run(X, field, random_state) for _ in range(self.n_init))
        best = max(runs, key=lambda run: run.bound)
        attributes = {
            "responsibilities_": best.shares,
            "weights_": best.mixture.weights,
            "means_": best.mixture.means,
            "covariances_": best.mixture.covariances,
            "lower_bound_": best.bound,
            "n_iter_": best.n_iter,
            "converged_": best.converged,
        }
        return Answer(best.shares.argmax(axis=1), attributes)

    def _run(self, X: FloatArray, field: _Field, random_state: np.random.RandomState) -> _Run:
        """EM from the clusters of one k-means."""
        start = KMeans(self.n_clusters, n_init=1, random_state=random_state).fit(X).labels_
        shares = np.eye(self.n_clusters)[start]
        bound, gain = -np.inf, np.inf
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007 - kept as n_iter_
            mixture = Mixture.estimate(X, shares, self.covariance_type, self.reg_covar)
            shares, reached = field.settle(mixture.log_densities(X), shares)
            bound, gain = reached, abs(reached - bound)
            if gain < self.tol:
                break
        return _Run(shares, mixture, bound, n_iter, gain < self.tol)


@dataclass(frozen=True)
class _Run:
    shares: FloatArray
    mixture: Mixture
    bound: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class _Field:
    """The signed weights of the pairs, and the linked points in blocks without inner links."""

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

    def settle(self, log_density: FloatArray, shares: FloatArray) -> tuple[FloatArray, float]:
        """The E-step: mean-field shares, from those of before, and the bound per point."""
        settled = softmax(log_density, axis=1)
        linked = np.concatenate([np.empty(0, np.int64), *self.blocks])
        settled[linked] = shares[linked]
        for _ in range(MAX_SWEEPS):
            before = settled[linked]
            for block in self.blocks:
                settled[block] = softmax(log_density[block] + self.weight[block] @ settled, axis=1)
            if np.abs(settled[linked] - before).max(initial=0.0) < SETTLED:
                break
        pull = 0.5 * (settled * (self.weight @ settled)).sum()
        bound = (settled * log_density).sum() - xlogy(settled, settled).sum() + pull
        return settled, float(bound) / len(settled)


def _coloured(graph: sparse.csr_array) -> IntArray:
    """Greedy colours of the vertices with an edge, -1 for the others: no edge in a colour."""
    colour = np.full(graph.shape[0], -1)
    degree = np.diff(graph.indptr)
    for vertex in np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]:
        near = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
        colour[vertex] = np.setdiff1d(np.arange(len(near) + 1), colour[near])[0]
    return colour
