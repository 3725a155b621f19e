"""Points and rules that belong together, and the calls of the solvers with options by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corral.admm.algorithm1 import DEFAULTS, PaperRules, solve_algorithm1
from corral.admm.history import Options, Relaxation
from corral.admm.projected import solve_projected
from corral.rows import MemoryRows
from corral.rules import Pairs, Rules


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem of the projected solver; what is not given does not exist."""

    points: Any
    weight: Any = None
    count: Any = None
    n_clusters: int
    apart: Any = None
    soft: Any = None
    pins: Any = None
    sizes: Any = None
    totals: Any = ()
    linear: Any = None

    @property
    def rules(self) -> Rules:
        m = self.points.shape[0]
        pairs = {"apart": self.apart, "soft": self.soft}
        given = {"pins": self.pins, "sizes": self.sizes, "linear": self.linear}
        return Rules(
            n_clusters=self.n_clusters,
            count=np.ones(m, np.int64) if self.count is None else self.count,
            pairs=Pairs(m, **{name: value for name, value in pairs.items() if value is not None}),
            totals=self.totals,
            **{name: value for name, value in given.items() if value is not None},
        )

    @property
    def rows(self) -> MemoryRows:
        return MemoryRows(self.points, self.weight)


def projected(case: Case, labels: Any, **options: Any) -> Relaxation:
    """The projected solver's answer."""
    return solve_projected(case.rules, case.rows, labels, Options(**options))


RULES = ("must_link", "cannot_link", "sizes", "linear")


def algorithm1(points: Any, labels: Any, n_clusters: int, **given: Any) -> Relaxation:
    """The answer of Algorithm 1; rules and options are told apart by their names."""
    rules = PaperRules(**{name: given.pop(name) for name in RULES if name in given})
    return solve_algorithm1(points, labels, n_clusters, rules, replace(DEFAULTS, **given))
