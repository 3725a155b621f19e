"""Constraints: the rules that a clustering must obey, as immutable values."""

from __future__ import annotations

from .base import Constraint, Violations
from .collection import ConstraintSet
from .connected import Connected
from .files import read_pairs, write_pairs
from .linear import LinearConstraint
from .links import CannotLink, MustLink
from .pins import Pin, from_labels
from .shares import GroupShares
from .sizes import ClusterSizes
from .totals import ClusterTotals

__all__ = [
    "CannotLink",
    "ClusterSizes",
    "ClusterTotals",
    "Connected",
    "Constraint",
    "ConstraintSet",
    "GroupShares",
    "LinearConstraint",
    "MustLink",
    "Pin",
    "Violations",
    "from_labels",
    "read_pairs",
    "write_pairs",
]
