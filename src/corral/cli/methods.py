"""The methods that ``corral compare`` runs, and which rules each takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import CannotLink, ClusterSizes, ConstrainedKMeans, Constraint, ConstraintSet, MustLink
from .. import baselines as others

LINKS: tuple[type[Constraint], ...] = (MustLink, CannotLink)
ANY: tuple[type[Constraint], ...] = (Constraint,)
#: Methods that hold a number for every two points stop here.
MOST_POINTS = 5_000


@dataclass(frozen=True)
class Method:
    """A way to cluster.

    Attributes
    ----------
    name : str
    make : callable(n_clusters, seed, time_limit) -> estimator
    kinds : tuple of Constraint classes
        What it takes; anything else and it is not run.
    soft : bool
        Whether links may have a price.
    most_points : int, optional
        It is not run on more.
    """

    name: str
    make: Callable[[int, int, float | None], Any]
    kinds: tuple[type[Constraint], ...]
    soft: bool = False
    most_points: int | None = None

    def refusal(self, rules: ConstraintSet, n_samples: int) -> str | None:
        """Why it cannot be run, in a few words; None if it can."""
        unknown = [rule for rule in rules if not isinstance(rule, self.kinds)]
        if unknown:
            return f"takes no {type(unknown[0]).__name__}"
        if not self.soft and len(rules.soft):
            return "takes no soft links"
        if self.most_points is not None and n_samples > self.most_points:
            return f"takes at most {self.most_points} points"
        return None


def _corral(solver: str) -> Callable[[int, int, float | None], Any]:
    def make(n_clusters: int, seed: int, time_limit: float | None) -> Any:
        return ConstrainedKMeans(
            n_clusters, solver=solver, random_state=seed, time_limit=time_limit
        )

    return make


def _plain(kind: type[Any]) -> Callable[[int, int, float | None], Any]:
    """One that has no time limit."""

    def make(n_clusters: int, seed: int, time_limit: float | None) -> Any:
        return kind(n_clusters, random_state=seed)

    return make


METHODS = (
    Method("corral", _corral("projected"), ANY, soft=True),
    Method("corral, algorithm1", _corral("algorithm1"), ANY),
    Method("k-means, no rules", _plain(others.PlainKMeans), ANY, soft=True),
    Method("COP-KMeans", _plain(others.COPKMeans), LINKS),
    Method("COP-COBWEB", _plain(others.COPCobweb), LINKS, most_points=MOST_POINTS),
    Method("complete link", _plain(others.ConstrainedCompleteLink), LINKS, most_points=MOST_POINTS),
    Method("E2CP", _plain(others.E2CP), LINKS, most_points=MOST_POINTS),
    Method("normalised cuts", _plain(others.ConstrainedNCut), LINKS, most_points=MOST_POINTS),
    Method("PPC", _plain(others.PPC), LINKS, soft=True),
    Method("PCKMeans", _plain(others.PCKMeans), LINKS, soft=True),
    Method("MPCKMeans", _plain(others.MPCKMeans), LINKS, soft=True),
    Method("k-means, minimum sizes", _plain(others.MinSizeKMeans), (ClusterSizes,)),
    Method("equi-sized c-means", _plain(others.EquiSizedFCM), (ClusterSizes,)),
)
