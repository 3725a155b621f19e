"""How well two clusterings agree, and how many rules labels break.

The paper reports three indices: ARI, which is :func:`sklearn.metrics.adjusted_rand_score`, and
MI and HI, which are here.  Of the pairs of points, let R be the share on which two clusterings
agree (the Rand index: both put the pair together, or both apart).  Then MI = 1 - R is the share
of disagreement and HI = R - MI = 1 - 2 MI.  The paper gives no formula; the pairs of values in
its tables 2 and 3 fit this one to the digits printed (wine, K-means: MI 0.068, HI 86.4 %).  So do
those in table 6, except three, which are off by 0.011 at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from numpy.typing import ArrayLike
from sklearn.metrics.cluster import pair_confusion_matrix

from .constraints import Constraint, ConstraintSet

__all__ = ["hubert_index", "mirkin_index", "violations"]


def mirkin_index(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Share of the pairs of points on which two clusterings disagree: the paper's MI.

    .. math:: MI = (n_{10} + n_{01}) / \binom{n}{2}

    where :math:`n_{10}` pairs are together in the first clustering and apart in the second, and
    :math:`n_{01}` the other way round.  Names of clusters do not matter.  It takes
    :math:`O(n)` time, and memory for each pair of clusters that have points in common.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two clusterings of the same points.

    Returns
    -------
    float
        Between 0 (the same clustering) and 1; lower is better.

    References
    ----------
    Hubert and Arabie (1985), "Comparing partitions"; Meila (2007), "Comparing clusterings".
    Mirkin's metric is often left unscaled, as the number of ordered pairs: MI n (n - 1).

    Examples
    --------
    >>> mirkin_index([0, 0, 1, 1], [5, 5, 2, 2])
    0.0
    >>> mirkin_index([0, 0, 1, 1], [0, 0, 1, 2])  # one pair of six
    0.1666...
    """
    ((apart, split), (joined, together)) = pair_confusion_matrix(labels_true, labels_pred)
    pairs = int(apart) + int(split) + int(joined) + int(together)
    # A single point makes no pair, and all clusterings of it are the same.
    return (int(split) + int(joined)) / pairs if pairs else 0.0


def hubert_index(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of agreeing minus share of disagreeing pairs of points: the paper's HI.

    It is ``1 - 2 * mirkin_index(labels_true, labels_pred)`` (Hubert and Arabie, 1985).  The paper
    prints it in per cent.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    float
        Between -1 and 1 (the same clustering); higher is better.

    Examples
    --------
    >>> hubert_index([0, 0, 1, 1], [5, 5, 2, 2])
    1.0
    >>> hubert_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.6666...
    """
    return 1.0 - 2.0 * mirkin_index(labels_true, labels_pred)


def violations(
    labels: ArrayLike,
    constraints: Constraint | Iterable[Constraint] | None,
    n_clusters: int | None = None,
) -> dict[str, int]:
    """Count the rules that labels break, by kind of constraint.

    Each broken pair, cluster out of its bounds, pin and linear row counts as one, hard or soft.
    The counts under "MustLink" and "CannotLink" are the paper's MLV and CLV.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The cluster of each row, 0 to ``n_clusters - 1``.
    constraints : Constraint, iterable of them, or None
    n_clusters : int, default=None
        Number of clusters; needed where the last clusters may be empty.

    Returns
    -------
    dict of str to int
        One entry for each kind of constraint given, in the order given.

    Examples
    --------
    >>> from corral import CannotLink, ClusterSizes, MustLink
    >>> rules = [MustLink([(0, 1), (1, 2)]), CannotLink([(0, 3)]), ClusterSizes([2, 2])]
    >>> violations([0, 0, 1, 1], rules)
    {'MustLink': 1, 'CannotLink': 0, 'ClusterSizes': 0}
    """
    rules = ConstraintSet(constraints)
    counts: Counter[str] = Counter()
    for constraint, broken in zip(rules, rules.violations(labels, n_clusters), strict=True):
        counts[type(constraint).__name__] += broken.count
    return dict(counts)
