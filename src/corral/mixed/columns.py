"""The columns of a table: numbers, whose means groups shall share, and categories to spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .._arrays import sound
from .._text import shown, suggestion
from .._typing import FloatArray, IntArray
from ..constraints._checks import shortened
from ..inputs import brought, check_magnitude, column_names, library

#: What stands for a category that is missing.
MISSING = "missing"


@dataclass(frozen=True)
class Category:
    """A column of categories: its name, the categories, and which one each row has, (n,)."""

    name: str
    levels: tuple[str, ...]
    codes: IntArray

    @property
    def indicators(self) -> FloatArray:
        """One where a row has the category, (n, levels)."""
        return np.equal(self.codes[:, None], np.arange(len(self.levels))).astype(np.float64)


class Frame:
    """Named columns where no data frame is at hand: numbers, and lists of words."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.columns = list(values)
        self.shape = len(next(iter(values.values()))), len(values)

    def __getitem__(self, name: str) -> Any:
        """Give a column."""
        return self._values[name]

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True)
class Columns:
    """A table in columns.

    Attributes
    ----------
    names : tuple of str
        Of the columns of numbers.
    numbers : (n, d) array
        As they were given.
    categories : tuple of Category
        Columns to spread; those whose values are all different, such as names, are left out.
    """

    names: tuple[str, ...]
    numbers: FloatArray
    categories: tuple[Category, ...]

    @property
    def measured(self) -> tuple[tuple[str, ...], FloatArray]:
        """What the objective is about: the numbers, or without any the categories as 0 and 1."""
        if self.names:
            return self.names, self.numbers
        names = tuple(f"{each.name}={level}" for each in self.categories for level in each.levels)
        return names, np.hstack([each.indicators for each in self.categories])

    @property
    def strata(self) -> IntArray:
        """Number of the combination of categories of each row."""
        n = len(self.numbers)
        if not self.categories:
            return np.zeros(n, np.int64)
        codes = np.column_stack([each.codes for each in self.categories])
        found: IntArray = np.unique(codes, axis=0, return_inverse=True)[1]
        return found.reshape(n)


def read_columns(X: Any, spread: Any, estimator: BaseEstimator) -> Columns:
    """The columns of a data frame or array, checked.

    ``spread`` is "auto" for all columns that hold no numbers, or the names or numbers of columns.
    """
    table = _columns_of(X)
    if table is None:
        points: FloatArray = check_array(
            sound(brought(X)), dtype=np.float64, input_name="X", estimator=estimator
        )
        names = [f"x{j}" for j in range(points.shape[1])]
        table = {name: points[:, j] for j, name in enumerate(names)}
        chosen = _chosen(spread, names, [])
        if not chosen:
            check_magnitude(points, type(estimator).__name__)
            return Columns(tuple(names), points, ())
    texts = [name for name, values in table.items() if _as_numbers(values) is None]
    chosen = _chosen(spread, list(table), texts)
    kept = [name for name in table if name not in chosen and name not in texts]
    read = [found for name in kept if (found := _as_numbers(table[name])) is not None]
    numbers: FloatArray = np.empty((len(next(iter(table.values()))), 0))
    if kept:
        numbers = np.column_stack(read)
        check_array(numbers, dtype=np.float64, input_name="X", estimator=estimator)
        check_magnitude(numbers, type(estimator).__name__)
    categories = tuple(filter(None, (category_of(name, table[name]) for name in chosen)))
    if not kept and not categories:
        raise ValueError(
            f"X has no column of numbers and none of categories that come twice; its columns are "
            f"{shortened(map(repr, table), len(table))}."
        )
    return Columns(tuple(kept), numbers, categories)


def _columns_of(X: Any) -> dict[str, Any] | None:
    """Columns by name, of a data frame or an array of objects; None for arrays of numbers."""
    names = column_names(X)
    if sparse.issparse(X) or library(X) == "torch":
        return None
    if names is not None:
        return {str(name): _values(X[name]) for name in names}
    array = np.asarray(sound(X))
    if array.ndim != 2 or array.dtype.kind not in "OUS":
        return None
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def _values(column: Any) -> Any:
    """A column as an array; categories as what they stand for."""
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _as_numbers(values: Any) -> FloatArray | None:
    """Numbers as floats; None for anything else."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O" or not len(array):
        return None
    plain = all(isinstance(v, Real) and not isinstance(v, (bool, np.bool_)) for v in array)
    return array.astype(np.float64) if plain else None


def category_of(name: str, values: Any) -> Category | None:
    """A column of categories; None if no category has two rows."""
    wrong = next((value for value in values if isinstance(value, (dict, list, set, tuple))), None)
    if wrong is not None:
        raise TypeError(
            f"column {name!r} of X holds {shown(wrong)}; each argument must be a string or a "
            "number."
        )
    words = [MISSING if v is None or v != v or str(v) == "<NA>" else str(v) for v in values]
    levels, codes = np.unique(np.array(words, dtype=str), return_inverse=True)
    if len(levels) == len(words) or len(levels) < 2:
        return None
    return Category(name, tuple(levels.tolist()), codes.astype(np.int64))


def _chosen(spread: Any, names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The columns to spread."""
    if isinstance(spread, str) and spread == "auto":
        return list(texts)
    listed = [spread] if isinstance(spread, str) else spread
    try:
        wanted = list(listed)
    except TypeError:
        raise ValueError(
            f"`spread` is {spread!r}; it must be 'auto', or names or numbers of columns."
        ) from None
    found = []
    for each in wanted:
        if isinstance(each, (int, np.integer)) and not isinstance(each, bool):
            if not -len(names) <= each < len(names):
                raise ValueError(
                    f"`spread` names column {each}, but X has {len(names)} columns; numbers must "
                    f"lie in [0, {len(names) - 1}]."
                )
            found.append(names[int(each)])
            continue
        if str(each) not in names:
            known = shortened(map(repr, names), len(names))
            raise ValueError(
                f"`spread` names the column {each!r}{suggestion(str(each), names)}; the columns of "
                f"X are {known}."
            )
        found.append(str(each))
    return list(dict.fromkeys(found))


def standardized(
    points: FloatArray, weight: FloatArray | None = None, *, scales: bool = True
) -> FloatArray:
    """Columns about their means, in standard deviations unless they keep their scales.

    A column that is constant is 0 everywhere.
    """
    some = weight is not None and weight.any()
    middle = np.average(points, axis=0, weights=weight if some else None)
    moved = points - middle
    spread = np.sqrt(np.average(moved**2, axis=0, weights=weight if some else None))
    # Rounding makes a constant column differ from its mean.
    constant = spread <= 1e-13 * np.abs(middle)
    moved[:, constant] = 0.0
    if scales:
        moved /= np.where(constant | (spread == 0.0), 1.0, spread)
    return moved
