"""Splits of data into parts that look alike: train, validation and test, or folds."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from .._text import shown
from .._typing import FloatArray, IntArray
from ..constraints import ClusterSizes, ConstraintSet, MustLink
from ..inputs import brought
from .columns import Category, category_of, read_columns, standardized
from .estimator import MixedGroups
from .rules import category_rules, price_of

#: Columns of more than so many are seen by as many principal components.
MOST_COLUMNS = 100


def split(
    X: Any,
    parts: Any = 2,
    *,
    groups: Any = None,
    y: Any = None,
    objective: str = "means",
    constraints: Any = None,
    effort: float = 1.0,
    time_limit: float | None = None,
    random_state: Any = None,
) -> list[IntArray]:
    """Split rows into parts that look alike.

    Parameters
    ----------
    X : array-like, sparse or data frame of shape (n_samples, n_features), or path
    parts : int or list of numbers, default=2
        Number of parts of equal size; or the sizes, as numbers of rows that add up to those of X,
        or as shares that add up to 1.
    groups : array-like of shape (n_samples,), optional
        Rows of the same group stay together, such as those of a patient.
    y : array-like of shape (n_samples,), optional
        A target whose classes are spread evenly, or whose mean is the same in all parts.
    objective : {"means", "moments", "diversity"}, default="means"
        As in :class:`MixedGroups`.
    constraints : Constraint, iterable of them, or None
        Other rules.
    effort, time_limit, random_state
        As in :class:`MixedGroups`.

    Returns
    -------
    list of int arrays
        The rows of each part, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from corral import split
    >>> X, patients = np.arange(20.0)[:, None], np.arange(20) // 2
    >>> train, valid, test = split(X, [0.6, 0.2, 0.2], groups=patients, random_state=0)
    >>> len(train), len(valid), len(test)
    (12, 4, 4)
    >>> sorted(set(patients[train]) & set(patients[test]))
    []
    """
    X, _ = MixedGroups(objective=objective)._at_hand(X)
    n = _num_samples(X)
    sizes = sizes_of_parts(parts, n)
    rules = list(ConstraintSet(constraints)) if constraints is not None else []
    if groups is None:
        rules.append(ClusterSizes(sizes, ordered=True))
    else:
        group = _one_each(groups, n, "groups")
        _, codes = np.unique(group, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        alike = np.diff(codes[order]) == 0
        rules.append(MustLink(np.column_stack([order[:-1], order[1:]])[alike]))
        # Whole groups need not add up to the sizes: these are as near as they can be.
        rules.append(ClusterSizes(sizes, ordered=True, weight=float(n)))
    points, categories = _seen(X, y, n)
    price = price_of(standardized(points), np.ones(n))
    rules += category_rules(categories, np.array(sizes), price)
    options: Any = {"effort": effort, "time_limit": time_limit, "random_state": random_state}
    model = MixedGroups(len(sizes), objective, **options).fit(points, constraints=rules)
    return [np.flatnonzero(model.labels_ == j) for j in range(len(sizes))]


class MixedKFold(BaseEstimator):
    """Folds that look alike, for cross-validation: their means are as equal as can be.

    Parameters
    ----------
    n_splits : int, default=5
    objective : {"means", "moments", "diversity"}, default="means"
        As in :class:`MixedGroups`.
    effort : float, default=1.0
        Factor of the work of the search.
    random_state : int, RandomState or None, default=None

    Notes
    -----
    The classes of y are spread evenly, as by ``StratifiedKFold``; of numbers the means are equal.
    With ``groups``, rows of the same group are in the same fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from corral import MixedKFold
    >>> X = np.arange(12.0)[:, None]
    >>> folds = MixedKFold(3, random_state=0)
    >>> [sorted(test.tolist()) == test.tolist() for _, test in folds.split(X)]
    [True, True, True]
    >>> cross_val_score(LinearRegression(), X, 2.0 * X[:, 0], cv=folds).round(6).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        objective: str = "means",
        effort: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.objective = objective
        self.effort = effort
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Give the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Give the rows to train on and to test on, for each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        groups : array-like of shape (n_samples,), optional

        Yields
        ------
        train, test : int arrays
        """
        if not isinstance(self.n_splits, Integral) or self.n_splits < 2:
            raise ValueError(
                f"`n_splits` is {shown(self.n_splits)}; it must be an integer above 1."
            )
        options: Any = {"effort": self.effort, "random_state": self.random_state}
        X, _ = MixedGroups(objective=self.objective)._at_hand(X)
        folds = split(
            X, int(self.n_splits), groups=groups, y=y, objective=self.objective, **options
        )
        for test in folds:
            inside = np.ones(_num_samples(X), bool)
            inside[test] = False
            yield np.flatnonzero(inside), test


def sizes_of_parts(parts: Any, n_rows: int) -> list[int]:
    """Sizes of parts in rows.

    Examples
    --------
    >>> sizes_of_parts(3, 10), sizes_of_parts([0.8, 0.2], 11), sizes_of_parts([7, 3], 10)
    ([4, 3, 3], [9, 2], [7, 3])
    """
    if isinstance(parts, Integral) and not isinstance(parts, bool):
        if not 1 <= int(parts) <= n_rows:
            raise ValueError(
                f"`parts` is {parts}, but X has {n_rows} rows; it must lie in [1, {n_rows}]."
            )
        return [n_rows // int(parts) + (j < n_rows % int(parts)) for j in range(int(parts))]
    try:
        wanted = np.asarray(list(parts), np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"`parts` is {shown(parts)}; it must be a number, or a list of sizes."
        ) from None
    if wanted.ndim != 1 or not len(wanted) or not np.all(np.isfinite(wanted)) or np.any(wanted < 0):
        raise ValueError(f"`parts` is {shown(parts)}; sizes must be finite and not negative.")
    if np.isclose(wanted.sum(), 1.0) and n_rows != 1:
        wanted = wanted * n_rows
        sizes = np.floor(wanted + 1e-9).astype(int)
        largest = np.argsort(sizes - wanted, kind="stable")
        sizes[largest[: n_rows - sizes.sum()]] += 1
        return [int(size) for size in sizes]
    if np.any(wanted != np.floor(wanted)) or wanted.sum() != n_rows:
        raise ValueError(
            f"`parts` is {shown(parts)}, which adds up to {wanted.sum():.10g}; sizes must be whole "
            f"and add up to the {n_rows} rows of X, or be shares that add up to 1."
        )
    return [int(size) for size in wanted]


def _one_each(values: Any, n_rows: int, name: str) -> Any:
    """One value a row."""
    array = np.asarray(brought(values))
    if array.shape != (n_rows,):
        raise ValueError(
            f"`{name}` has shape {array.shape}, but X has {n_rows} rows; there must be one value a "
            "row."
        )
    return array.astype(str) if array.dtype.kind == "O" else array


def _seen(X: Any, y: Any, n_rows: int) -> tuple[FloatArray, list[Category]]:
    """What parts shall have the same means of, and the categories to spread.

    Of many columns their principal components are taken: the means of all are near if those of the
    components of most variance are.
    """
    columns = read_columns(_dense(X), "auto", MixedGroups())
    _, points = columns.measured
    categories = list(columns.categories)
    if points.shape[1] > MOST_COLUMNS:
        points = _components(standardized(points))
    if y is not None:
        given = np.asarray(brought(y))
        target = _one_each(given[:, 0] if given.ndim == 2 else given, n_rows, "y")
        if type_of_target(target).startswith("continuous"):
            points = np.column_stack([points, target.astype(np.float64)])
        else:
            categories += filter(None, [category_of("y", target)])
    return points, categories


def _dense(X: Any) -> Any:
    """Sparse rows as their components, which dense methods can take."""
    if not sparse.issparse(X):
        return X
    if min(X.shape) <= MOST_COLUMNS:
        return X.toarray()
    from scipy.sparse.linalg import svds

    u, s, _ = svds(sparse.csr_array(X).astype(np.float64), MOST_COLUMNS, random_state=0)
    return u * s


def _components(points: FloatArray) -> FloatArray:
    """The principal components of most variance."""
    _, vectors = np.linalg.eigh(points.T @ points)
    return np.asarray(points @ vectors[:, -MOST_COLUMNS:])
