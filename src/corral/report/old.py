"""Names of classes that were moved since a version pickled them, and what is left of a plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from ..audit import Entry

#: Modules of earlier versions, and those that have their classes today.  A pickle names a class by
#: its module.
MOVED = {
    "corral.audit.report": "corral.report",  # until 0.2.0
    "corral.html.view": "corral.report.pictures",
    "corral.baselines.ccl": "corral.baselines",
    "corral.baselines.cop_kmeans": "corral.baselines",
    "corral.baselines.e2cp": "corral.baselines",
    "corral.baselines.min_size": "corral.baselines",
    "corral.baselines.ncut": "corral.baselines",
    "corral.baselines.mpckmeans": "corral.baselines",  # until 0.6.0
    "corral.choose.choice": "corral.choose",
    "corral.plan.decisions": "corral.report.old",
    "corral.proof.bound": "corral.proof",
}


class Plan:
    """The decisions of a solver that is gone; nothing of it can be told."""

    def table(self) -> list[tuple[str, str]]:
        """Say so."""
        return [("found by", "an earlier version of corral, whose steps are not known here")]


def know_old_names() -> None:
    """Let pickles of the versions 0.2.0 to 0.6.0 find their classes."""
    for name, today in MOVED.items():
        module = ModuleType(name, "Names of earlier versions, for pickles.")
        # Entry was in a module with Report, and is not in today's.
        vars(module).update(__getattr__=_names_of(today), Entry=Entry)
        sys.modules.setdefault(name, module)


def _names_of(today: str) -> Callable[[str], Any]:
    """A function that finds a name in a module, which is imported only then."""

    def found(name: str) -> Any:
        if name.startswith("__"):  # of the module itself
            raise AttributeError(name)
        return getattr(import_module(today), name)

    return found
