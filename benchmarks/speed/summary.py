"""Summaries of the runs of a job: one line for each method, and the best peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .methods import CORRAL, KMEANS

Run = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """The runs of one method on one job."""

    method: str
    runs: tuple[Run, ...]

    @property
    def answered(self) -> list[Run]:
        """Runs that returned labels."""
        return [run for run in self.runs if "inertia" in run]

    @property
    def feasible(self) -> list[Run]:
        """Runs whose labels break no rule."""
        return [run for run in self.answered if run["broken"] == 0]

    @property
    def limit(self) -> float | None:
        """Seconds after which a run was stopped; None if none was."""
        return next((run["limit"] for run in self.runs if "limit" in run), None)

    @property
    def seconds(self) -> float:
        """Median over the feasible runs, else over all that ended, else the limit."""
        ended = self.feasible or [run for run in self.runs if "seconds" in run]
        if not ended:
            return float("nan") if self.limit is None else float(self.limit)
        return float(np.median([run["seconds"] for run in ended]))

    @property
    def memory(self) -> float:
        """Largest peak memory, in bytes."""
        peaks = [run["memory"] for run in self.runs if run.get("memory") is not None]
        return max(peaks, default=float("nan"))

    @property
    def solved(self) -> bool:
        """Whether every run returned labels that break no rule."""
        return len(self.feasible) == len(self.runs) > 0

    def gaps(self, other: Line) -> list[float]:
        """Relative difference of this inertia to the other's, for each common start."""
        theirs = {run["start"]: run["inertia"] for run in other.feasible}
        mine = {run["start"]: run["inertia"] for run in self.feasible}
        return [mine[start] / theirs[start] - 1.0 for start in mine if start in theirs]


def lines(runs: list[Run]) -> dict[str, Line]:
    """The line of each method, in the order of their first runs."""
    methods = dict.fromkeys(run["method"] for run in runs)
    return {
        name: Line(name, tuple(run for run in runs if run["method"] == name)) for name in methods
    }


def best_peer(found: dict[str, Line]) -> Line | None:
    """The fastest other method that obeyed the rules, else one that was stopped at the limit.

    k-means without rules is not a peer.
    """
    others = [line for name, line in found.items() if name not in (CORRAL, KMEANS)]
    obeying = [line for line in others if line.feasible]
    stopped = [line for line in others if line.limit is not None]
    return min(obeying or stopped, key=lambda line: line.seconds, default=None)


def ratio(found: dict[str, Line], other: Line) -> tuple[float, bool]:
    """Time of the other method divided by corral's, and whether this is only a lower bound."""
    only_bound = not any("seconds" in run for run in other.runs)
    return other.seconds / found[CORRAL].seconds, only_bound
