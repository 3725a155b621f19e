"""Mixed groups: groups that are alike, under rules, and splits of data made of them."""

from __future__ import annotations

from .estimator import MixedGroups

__all__ = ["MixedGroups"]
