"""Reports that earlier versions have pickled: names of classes that were moved since.

A pickle names a class by its module.  The modules of this list are gone; the names lead to the
classes of today, and what these lack is left out.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..audit import Entry
from .pictures import View


class Plan:
    """The decisions of a solver that is gone; nothing of it can be told."""

    def table(self) -> list[tuple[str, str]]:
        """Say so."""
        return [("found by", "an earlier version of corral, whose steps are not known here")]


def know_old_names(report: type[Any]) -> None:
    """Let pickles of the versions 0.2.0 to 0.6.0 find their classes."""
    moved: dict[str, tuple[type[Any], ...]] = {
        "corral.audit.report": (report, Entry),  # until 0.2.0
        "corral.html.view": (View,),  # until 0.2.0
        "corral.plan.decisions": (Plan,),  # from 0.3.0 until 0.6.0
    }
    for name, classes in moved.items():
        module = ModuleType(name, "Names of earlier versions, for pickles.")
        vars(module).update({each.__name__: each for each in classes})
        sys.modules.setdefault(name, module)
