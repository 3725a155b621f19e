"""The methods: corral, other packages and reference methods, all from the same centres.

A method takes the data, the rules, the initial centres and a seed.  It returns labels, or None if
it found none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from reference import Rules, exact_kmeans
from scipy import sparse
from sklearn.cluster import KMeans

from corral import ConstrainedKMeans

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Data = Floats | sparse.csr_array
Method = Callable[[Data, Rules, Floats, int], Labels | None]

CORRAL = "corral"
KMC = "k-means-constrained"
KMC_TEN = "k-means-constrained, best of ten starts"
COP = "COP-Kmeans"
ACTIVE = "COPKMeans (active-semi-supervised)"
STAND_IN = "COP-KMEANS (corral.baselines, own seeds)"
ILP = "exact ILP assignment"
KMEANS = "scikit-learn KMeans (no rules)"


def by_corral(X: Data, rules: Rules, centers: Floats, seed: int) -> Labels:
    """corral with default parameters, from the given centres."""
    model = ConstrainedKMeans(rules.k, init=centers, random_state=seed)
    return model.fit(X, constraints=rules.constraints()).labels_


def by_k_means_constrained(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels:
    """Sizes only, one minimum and one maximum for all clusters."""
    return _k_means_constrained(X, rules, seed, init=centers, n_init=1)


def by_ten_k_means_constrained(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels:
    """The best of ten k-means++ starts, which take about as long as one small fit of corral."""
    return _k_means_constrained(X, rules, seed, init="k-means++", n_init=10)


def _k_means_constrained(X: Floats, rules: Rules, seed: int, **options: object) -> Labels:
    from k_means_constrained import KMeansConstrained

    low, high = rules.sizes
    bounds = {"size_min": int(low[0]), "size_max": int(high[0])}
    return KMeansConstrained(rules.k, random_state=seed, **bounds, **options).fit(X).labels_


def by_cop_kmeans(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """COP-Kmeans by Behrouz Babaki; its seeding is replaced, because it accepts no centres."""
    module = importlib.import_module("htcopkmeans.cop_kmeans")
    module.initialize_centers = lambda dataset, k, method: centers.tolist()
    pairs = {"ml": rules.must.tolist(), "cl": rules.cannot.tolist()}
    labels, _ = module.cop_kmeans(X, rules.k, **pairs)
    return None if labels is None else np.array(labels)


def by_active_cop_kmeans(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """COPKMeans of active-semi-supervised-clustering; its seeding is replaced too."""
    package = "active_semi_clustering.semi_supervised.pairwise_constraints.copkmeans"
    module = importlib.import_module(package)
    np.random.seed(seed)
    model = module.COPKMeans(rules.k)
    model._init_cluster_centers = lambda X: centers.copy()
    try:
        return model.fit(X, ml=rules.must.tolist(), cl=rules.cannot.tolist()).labels_
    except (module.ClusteringNotFoundException, module.EmptyClustersException):
        return None


def by_own_cop_kmeans(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """COP-KMEANS of corral.baselines, if COP-Kmeans is not installed; it draws its own seeds."""
    from corral.baselines import COPKMeans, DeadEndError

    try:
        return COPKMeans(rules.k, random_state=seed).fit(X, constraints=rules.constraints()).labels_
    except DeadEndError:
        return None


def by_ilp(X: Floats, rules: Rules, centers: Floats, seed: int) -> Labels | None:
    """k-means with exact ILP assignment, the reference of the tests."""
    return exact_kmeans(X, rules, centers)


def by_k_means(X: Data, rules: Rules, centers: Floats, seed: int) -> Labels:
    """Lloyd's algorithm without rules; it shows what the rules cost."""
    model = KMeans(rules.k, init=centers, n_init=1, algorithm="lloyd", random_state=seed)
    return model.fit(X).labels_


METHODS: dict[str, Method] = {
    CORRAL: by_corral,
    KMC: by_k_means_constrained,
    KMC_TEN: by_ten_k_means_constrained,
    COP: by_cop_kmeans,
    ACTIVE: by_active_cop_kmeans,
    STAND_IN: by_own_cop_kmeans,
    ILP: by_ilp,
    KMEANS: by_k_means,
}
#: Modules that methods need besides corral.
NEEDS = {
    KMC: "k_means_constrained",
    KMC_TEN: "k_means_constrained",
    COP: "htcopkmeans.cop_kmeans",
    ACTIVE: "active_semi_clustering.semi_supervised.pairwise_constraints.copkmeans",
}


def installed(name: str) -> bool:
    """Whether the module that the method needs can be imported."""
    try:
        return name not in NEEDS or isinstance(importlib.import_module(NEEDS[name]), ModuleType)
    except ImportError:
        return False


def present(names: Iterable[str]) -> list[str]:
    """Installed methods; corral.baselines replaces COP-Kmeans if that is not installed."""
    stood_in = (STAND_IN if name == COP and not installed(COP) else name for name in names)
    return [name for name in stood_in if installed(name)]
