"""Mixed groups: groups that are alike, under rules, and splits of data made of them."""

from __future__ import annotations

from .estimator import MixedGroups
from .report import MixedReport
from .splits import MixedKFold, split

__all__ = ["MixedGroups", "MixedKFold", "MixedReport", "split"]
