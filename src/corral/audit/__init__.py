"""Audit: everything an answer claims, recomputed from its labels and the rules alone."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array

from .._typing import FloatArray, IntArray, Matrix
from ..constraints import Constraint, ConstraintSet
from ..constraints._checks import as_numbers, refuse
from ..html import View
from .inertia import inertia_of, means_of
from .report import Entry, Report

__all__ = ["Entry", "Report", "audit"]


def audit(
    X: Any,
    labels: ArrayLike,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int,
    sample_weight: ArrayLike | None = None,
    centers: ArrayLike | None = None,
) -> Report:
    """Recompute from the labels alone what an answer is worth and which rules it breaks.

    Parameters
    ----------
    X : array-like, sparse or data frame of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        The cluster of each row, 0 to ``n_clusters - 1``.
    constraints : Constraint, iterable of them, or None
    n_clusters : int
    sample_weight : array-like of shape (n_samples,), default=None
        All ones unless given.
    centers : array-like of shape (n_clusters, n_features), default=None
        The weighted means of the clusters unless given.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the points, labels, weights or centres do not fit each other or the constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import ClusterSizes, MustLink
    >>> from corral.audit import audit
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> report = audit(X, [0, 0, 1, 1], [MustLink([(1, 2)]), ClusterSizes([2, 2])], n_clusters=2)
    >>> report.inertia, report.sizes, report.feasible
    (4.0, (2, 2), False)
    >>> [entry.violations.count for entry in report.entries]
    [1, 0]
    """
    points = _checked_points(X)
    k = _checked_count(n_clusters)
    label = _checked_labels(labels, points.shape[0], k)
    weight = _checked_weights(sample_weight, len(label))
    rules = ConstraintSet(constraints)
    rules.check(len(label), k)
    if centers is None:
        mean = means_of(points, label, weight, k)
    else:
        mean = _checked_centers(centers, (k, points.shape[1]))
    return Report(
        inertia=inertia_of(points, label, weight, mean),
        sizes=tuple(np.bincount(label, minlength=k).tolist()),
        entries=tuple(Entry.of(rule, label, k) for rule in rules),
        view=View.of(points, label, rules, mean),
    )


def _checked_points(X: Any) -> Matrix:
    kinds = [np.float64, np.float32]
    points = check_array(X, accept_sparse="csr", dtype=kinds, input_name="X")
    return sparse.csr_array(points) if sparse.issparse(points) else points


def _checked_count(n_clusters: Any) -> int:
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool) or n_clusters < 1:
        raise ValueError(f"`n_clusters` is {n_clusters!r}; it must be an integer of at least 1.")
    return int(n_clusters)


def _checked_labels(labels: ArrayLike, n_samples: int, n_clusters: int) -> IntArray:
    try:
        label = np.asarray(labels)
    except ValueError:
        raise ValueError("`labels` is ragged; it must be one integer per sample.") from None
    if label.shape != (n_samples,):
        raise ValueError(
            f"`labels` has shape {label.shape}, but X has {n_samples} samples; "
            f"the shape must be ({n_samples},)."
        )
    if not np.issubdtype(label.dtype, np.integer):
        raise ValueError(f"`labels` has dtype {label.dtype}; labels must be integers.")
    outside = np.flatnonzero((label < 0) | (label >= n_clusters))
    if outside.size:
        row = outside[0]
        raise ValueError(
            f"`labels` of sample {row} is {label[row]}; labels must lie in [0, {n_clusters - 1}]."
        )
    return label


def _checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_samples)
    weight = as_numbers(sample_weight, "`sample_weight`")
    if weight.shape not in ((), (n_samples,)):
        raise ValueError(
            f"`sample_weight` has shape {weight.shape}, but X has {n_samples} samples; "
            f"the shape must be ({n_samples},)."
        )
    wrong = ~np.isfinite(weight) | (weight < 0)
    refuse(wrong, weight, "`sample_weight`", "weights must be finite and not negative")
    return np.broadcast_to(weight, (n_samples,))


def _checked_centers(centers: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    mean = as_numbers(centers, "`centers`")
    if mean.shape != shape:
        raise ValueError(
            f"`centers` has shape {mean.shape}; with these clusters and features it must be "
            f"{shape}."
        )
    if not np.isfinite(mean).all():
        raise ValueError("`centers` has an entry that is infinite; each must be finite.")
    return mean
