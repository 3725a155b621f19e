"""What characterises each cluster: where its centre differs most from the mean of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._text import in_digits
from .._typing import FloatArray, Matrix
from .pictures import View

#: Differences that are told of each cluster.
MOST_DIFFERENCES = 4
#: Differences below this part of the standard deviation of a column are not told.
LEAST_EFFECT = 0.2


@dataclass(frozen=True)
class Difference:
    """A column in which a cluster differs: its mean there, that of all rows, and by how much.

    ``effect`` is the difference in standard deviations of the column.
    """

    column: str
    mean: float
    overall: float
    effect: float

    def __str__(self) -> str:
        word = "higher" if self.effect > 0 else "lower"
        return f"{self.column} {short(self.mean)} ({word}; all rows {short(self.overall)})"


@dataclass(frozen=True)
class Profile:
    """A cluster with its size and the columns in which it differs most, the largest first."""

    cluster: int
    size: int
    differences: tuple[Difference, ...]


def profiles(
    view: View, sizes: Sequence[int], features: Sequence[Any] | None = None, scaler: Any = None
) -> list[Profile]:
    """Compare the centre of each cluster with the mean of all rows, in the user's units.

    ``scaler`` takes points back to these units, by ``inverse_transform`` or as a function.
    """
    size = np.asarray(sizes, float)
    centers = np.asarray(view.centers, float)
    overall = np.average(centers, axis=0, weights=size)[None]
    effect = (centers - overall) / _spread(view.points)
    told, all_rows = _in_units(centers, scaler), _in_units(overall, scaler)[0]
    if told.shape[1] != effect.shape[1]:  # the scaler changes the columns too
        spread = told.std(axis=0)
        effect = (told - all_rows) / np.where(spread > 0, spread, np.inf)
    names = list(map(str, features)) if features is not None else []
    if len(names) != told.shape[1]:
        names = [f"feature {j}" for j in range(told.shape[1])]
    found = []
    for cluster, row in enumerate(effect if len(effect) else ()):
        best = np.argsort(-np.abs(row), kind="stable")[:MOST_DIFFERENCES]
        best = best[np.abs(row[best]) >= LEAST_EFFECT] if size[cluster] else best[:0]
        each = (
            Difference(names[j], float(told[cluster, j]), float(all_rows[j]), float(row[j]))
            for j in best
        )
        found.append(Profile(cluster, int(size[cluster]), tuple(each)))
    return found


def short(value: float) -> str:
    """A value of a column with few digits."""
    return in_digits(value, 4)


def _in_units(points: FloatArray, scaler: Any) -> FloatArray:
    if scaler is None:
        return points
    back = getattr(scaler, "inverse_transform", scaler)
    told: FloatArray = np.asarray(back(points), float)
    return told


def _spread(points: Matrix) -> FloatArray:
    """Standard deviation of each column; infinite for constant columns."""
    if sparse.issparse(points):
        mean = np.asarray(points.mean(axis=0)).ravel()
        squares = np.asarray(sparse.csr_array(points).power(2).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - np.square(mean), 0.0))
    else:
        spread = np.asarray(points, float).std(axis=0)
    return np.where(spread > 0, spread, np.inf)
