"""Loaders of the seven UCI data sets of the paper's table 1.

Iris, wine and breast cancer come from scikit-learn.  The others are files in ``data/``; the README
there gives their sources.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from importlib import resources
from typing import TypeAlias

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.utils import Bunch

from .._typing import FloatArray, IntArray

Loaded: TypeAlias = Bunch | tuple[FloatArray, IntArray]

_GLASS_TYPES = {
    "1": "building windows, float processed",
    "2": "building windows, not float processed",
    "3": "vehicle windows, float processed",
    "5": "containers",
    "6": "tableware",
    "7": "headlamps",
}
SCALED = "Every feature is scaled to [-1, 1] by its minimum and maximum; scaled=False does not."
UNSCALED = "The values are as measured, not scaled."
_HEPATITIS = ({"1": "die", "2": "live"}, "Hepatitis (UCI; 1983).")


def load_wine(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load wines of three growers, scaled to [-1, 1]: 178 points, 13 features, 3 classes.

    Parameters
    ----------
    scaled : bool, default=True
        Scale every feature to [-1, 1] by its minimum and maximum, as the paper does.  With False
        the values are as measured, as in scikit-learn.
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0, 1, ...), ``feature_names``, ``target_names`` and ``DESCR``,
        which begins by saying whether the data are scaled.

    Examples
    --------
    >>> wine = load_wine()
    >>> wine.data.shape, float(wine.data.min()), float(wine.data.max())
    ((178, 13), -1.0, 1.0)
    """
    return _finish(sklearn_datasets.load_wine(), scaled, return_X_y)


def load_iris(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load iris flowers, scaled to [-1, 1]: 150 points, 4 features, 3 classes.

    Parameters and result are those of :func:`load_wine`.

    Examples
    --------
    >>> X, y = load_iris(return_X_y=True)
    >>> X.shape, y.shape
    ((150, 4), (150,))
    """
    return _finish(sklearn_datasets.load_iris(), scaled, return_X_y)


def load_breast_cancer(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load Breast Cancer Wisconsin (Diagnostic), scaled: 569 points, 30 features, 2 classes.

    Parameters and result are those of :func:`load_wine`.

    Examples
    --------
    >>> load_breast_cancer().data.shape
    (569, 30)
    """
    return _finish(sklearn_datasets.load_breast_cancer(), scaled, return_X_y)


def load_glass(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load glass fragments (chemistry), scaled to [-1, 1]: 214 points, 9 features, 6 classes.

    UCI numbers seven types of glass, and table 1 of the paper says 7 classes.  No fragment is of
    type 4, so there are six classes.  Parameters and result are those of :func:`load_wine`.

    Examples
    --------
    >>> len(load_glass().target_names)
    6
    """
    bunch = _read("glass.csv", _GLASS_TYPES, "Glass Identification (UCI; B. German, 1987).")
    return _finish(bunch, scaled, return_X_y)


def load_ionosphere(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load radar returns from the ionosphere, scaled: 351 points, 33 features, 2 classes.

    The file has 34 features.  The second feature is constant and is dropped, as in the paper.
    Parameters and result are those of :func:`load_wine`.

    Examples
    --------
    >>> load_ionosphere().data.shape
    (351, 33)
    """
    source = "Ionosphere (UCI; Sigillito, Wing, Hutton and Baker, 1989)"
    classes = {"b": "bad", "g": "good"}
    bunch = _read("ionosphere.csv", classes, f"{source}, without its constant feature.", ("a02",))
    return _finish(bunch, scaled, return_X_y)


def load_hepatitis(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load hepatitis patients with fewer features, scaled: 142 points, 14 features, 2 classes.

    The five features with most missing values are dropped, then every patient with a missing
    value.  Parameters and result are those of :func:`load_wine`.

    Examples
    --------
    >>> load_hepatitis().data.shape
    (142, 14)
    """
    incomplete = ("BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME")
    return _finish(_read("hepatitis.csv", *_HEPATITIS, incomplete), scaled, return_X_y)


def load_hepatitis1(*, scaled: bool = True, return_X_y: bool = False) -> Loaded:
    """Load hepatitis patients with all features, scaled: 80 points, 19 features, 2 classes.

    Every patient with a missing value is dropped.  Parameters and result are those of
    :func:`load_wine`.

    Examples
    --------
    >>> load_hepatitis1().data.shape
    (80, 19)
    """
    return _finish(_read("hepatitis.csv", *_HEPATITIS), scaled, return_X_y)


def _read(name: str, classes: dict[str, str], source: str, without: Collection[str] = ()) -> Bunch:
    """Read a file of ``data/``: a header, numbers or empty cells, the class in the last column.

    Some features are dropped, then the points with missing values.
    """
    path = resources.files(__package__).joinpath("data", name)
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    kept = [column for column, feature in enumerate(header[:-1]) if feature not in without]
    complete = [row for row in rows if all(row[column] for column in kept)]
    codes = list(classes)
    return Bunch(
        data=np.array([[float(row[column]) for column in kept] for row in complete]),
        target=np.array([codes.index(row[-1]) for row in complete], dtype=np.int64),
        feature_names=[header[column] for column in kept],
        target_names=np.array(list(classes.values())),
        DESCR=f"{source}\nUCI Machine Learning Repository, CC BY 4.0.",
    )


def _finish(bunch: Bunch, scaled: bool, return_X_y: bool) -> Loaded:
    """Scale the data if asked, and return the five fields that all loaders have."""
    data = bunch.data
    if scaled:
        low, high = data.min(axis=0), data.max(axis=0)
        data = 2.0 * ((data - low) / (high - low)) - 1.0
    if return_X_y:
        return data, bunch.target
    rest = {key: bunch[key] for key in ("target", "target_names")}
    rest["DESCR"] = f"{SCALED if scaled else UNSCALED}\n\n{bunch.DESCR}"
    return Bunch(data=data, feature_names=list(bunch.feature_names), **rest)
