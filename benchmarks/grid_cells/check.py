"""What labels break, and what they cost: NumPy on labels and rows, without corral."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

if TYPE_CHECKING:
    from .rules import Rules

Labels = NDArray[np.int64]

#: Sums may be outside their bounds by this part of the total: rounding of floating-point sums.
ROUNDING = 1e-9


def loads(values: NDArray[Any], labels: Labels, k: int) -> NDArray[np.float64]:
    """The sum of the values in each cluster."""
    return np.bincount(labels, weights=values, minlength=k)


def broken(rules: Rules, labels: Any, n: int, k: int) -> list[str]:
    """Every rule that the labels break, in words."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        return [f"labels have shape {labels.shape}"]
    if not np.issubdtype(labels.dtype, np.integer):
        return [f"labels are {labels.dtype}"]
    if labels.min() < 0 or labels.max() >= k:
        return [f"labels are from {labels.min()} to {labels.max()}"]
    return [
        *_sizes(rules, labels, k),
        *_totals(rules, labels, k),
        *_shares(rules, labels, k),
        *_rows(rules, labels),
    ]


def _sizes(rules: Rules, labels: Labels, k: int) -> list[str]:
    counts, found = np.bincount(labels, minlength=k), []
    if rules.sizes is not None and not np.array_equal(np.sort(counts), np.sort(rules.sizes)):
        found.append(f"sizes are {np.sort(counts)[:10].tolist()}, ...")
    if rules.least is not None and counts.min() < rules.least:
        found.append(f"a cluster has {counts.min()} rows, at least {rules.least}")
    if rules.most is not None and counts.max() > rules.most:
        found.append(f"a cluster has {counts.max()} rows, at most {rules.most}")
    return found


def _totals(rules: Rules, labels: Labels, k: int) -> list[str]:
    found = []
    for number, (values, least, most) in enumerate(rules.totals):
        load, slack = loads(values, labels, k), ROUNDING * values.sum()
        if least is not None and load.min() < least - slack:
            found.append(f"total {number} of a cluster is {load.min():.9g}, at least {least:.9g}")
        if most is not None and load.max() > most + slack:
            found.append(f"total {number} of a cluster is {load.max():.9g}, at most {most:.9g}")
    return found


def _shares(rules: Rules, labels: Labels, k: int) -> list[str]:
    found = []
    counts = np.bincount(labels, minlength=k)
    for group, (least, most) in rules.shares.items():
        of_group = np.bincount(labels[rules.groups == group], minlength=k)
        low = of_group < least * counts - ROUNDING * (1 + counts)
        high = of_group > most * counts + ROUNDING * (1 + counts)
        if low.any() or high.any():
            found.append(f"{low.sum() + high.sum()} clusters outside the share of group {group}")
    return found


def _rows(rules: Rules, labels: Labels) -> list[str]:
    found = []
    apart = int((labels[rules.must[:, 0]] != labels[rules.must[:, 1]]).sum())
    if apart:
        found.append(f"{apart} must-links")
    together = int((labels[rules.cannot[:, 0]] == labels[rules.cannot[:, 1]]).sum())
    if together:
        found.append(f"{together} cannot-links")
    moved = int((labels[rules.pinned] != rules.pins).sum())
    if moved:
        found.append(f"{moved} pins")
    return found


def members(labels: Labels, k: int) -> sparse.csr_matrix:
    """The (k, n) matrix with 1 where a row is in a cluster."""
    n = len(labels)
    return sparse.csr_matrix((np.ones(n), (labels, np.arange(n))), shape=(k, n))


def as_wide(X: Any) -> Any:
    """Rows in double precision; dense ones less their mean, as a large offset costs digits."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    X = X - X[0]
    return X - X.mean(axis=0)


def lengths(X: Any) -> NDArray[np.float64]:
    """Squared length of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def unit_rows(X: Any) -> Any:
    """Rows divided by their lengths."""
    scale = 1.0 / np.maximum(np.sqrt(lengths(X)), 1e-300)
    if sparse.issparse(X):
        return sparse.csr_matrix(sparse.diags(scale) @ X)
    return X * scale[:, None]


def means(X: Any, labels: Labels, k: int) -> NDArray[np.float64]:
    """The mean of each cluster; zeros for an empty one."""
    sums = members(labels, k) @ X
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    return sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None]


def objective(X: Any, labels: Any, k: int, variant: str) -> float:
    """What the estimator of the variant minimises, at the labels' best centres."""
    labels = np.asarray(labels)
    if variant == "cosine":
        units = unit_rows(X.astype(np.float64))
        counts = np.bincount(labels, minlength=k)
        sums = means(units, labels, k) * counts[:, None]
        return float((counts - np.sqrt(lengths(sums))).sum())
    X = as_wide(X)
    if variant == "medoids":
        X = X.toarray() if sparse.issparse(X) else X
        clusters = (X[labels == j] for j in np.unique(labels))
        return float(sum(cdist(rows, rows).sum(axis=0).min() for rows in clusters))
    centres = means(X, labels, k)
    if sparse.issparse(X):
        counts = np.bincount(labels, minlength=k)
        return float(lengths(X).sum() - (counts * lengths(centres)).sum())
    return float(lengths(X - centres[labels]).sum())
