"""The real and synthetic data sets of the paper, and random links drawn from known classes."""

from __future__ import annotations

from .loaders import (
    load_breast_cancer,
    load_glass,
    load_hepatitis,
    load_hepatitis1,
    load_ionosphere,
    load_iris,
    load_wine,
)
from .synthetic import make_balanced, make_imbalanced, random_links

__all__ = [
    "load_breast_cancer",
    "load_glass",
    "load_hepatitis",
    "load_hepatitis1",
    "load_ionosphere",
    "load_iris",
    "load_wine",
    "make_balanced",
    "make_imbalanced",
    "random_links",
]
