"""Bounds on the share of each group of rows in each cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._text import our_words, suggestion
from .._typing import FloatArray
from . import _checks
from ._checks import Names, shortened
from .base import Priced, Violations, as_price
from .clusters import (
    Cluster,
    check_clusters,
    cluster_name,
    numbers_of_clusters,
    of_names,
    refuse_names,
)
from .totals import FREE, WORDS, ClusterTotals, total_excess

Shares = Mapping[Any, float]

LARGEST_DENOMINATOR = 100_000
"""Shares that are fractions of whole numbers up to this one are compared exactly."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GroupShares(Priced):
    """Bounds on the share that each group of rows has in each cluster.

    Parameters
    ----------
    groups : (n_samples,) labels
        The group of each row: all strings, all integers or all booleans.
    minimum, maximum : float or {group: float}, optional
        Bounds on the share, in [0, 1]: one number for all groups, or a dict for some groups.
    clusters : list of clusters, optional
        Where the bounds hold: numbers, or names in ``cluster_names`` of the estimator; by default
        in all clusters.
    weight : float, default inf
        Price of each row of a group that a cluster has too many or too few, in units of the
        objective; the bounds are soft if it is finite.  With 0 they have no effect.

    Notes
    -----
    A minimum share p/q of group g is ``sum_i (q 1[i in g] - p) x_ij >= 0`` for every cluster j, and
    a maximum share is ``<= 0``.  Each is one :class:`ClusterTotals`.  A share such as 0.4 or 1/3 is
    a fraction of small whole numbers, and no rounding takes place.  An empty cluster obeys both.
    On a subset of the rows all bounds are kept, also those of groups without rows in it.

    Examples
    --------
    >>> fair = GroupShares(["a", "a", "b", "b"], minimum={"b": 0.4})
    >>> fair.violations([0, 0, 1, 1]).messages()
    ["cluster 0 has a share 0 of 'b', but should have at least 0.4"]
    >>> GroupShares(["a", "b"], minimum={"b": 0.4}, clusters=["north"]).phrase()
    "shares of at least 0.4 of 'b' in cluster north"
    >>> [total.values.tolist() for total in fair.expand(4, 2)]
    [[-2.0, -2.0, 3.0, 3.0]]
    """

    groups: NDArray[Any]
    minimum: Shares
    maximum: Shares
    weight: float
    clusters: tuple[Cluster, ...] | None

    _rows_by = "groups"
    _keys = ("groups", "minimum", "maximum", "weight", "clusters")

    @our_words
    def __init__(
        self,
        groups: Any,
        *,
        minimum: float | Mapping[Any, float] | None = None,
        maximum: float | Mapping[Any, float] | None = None,
        weight: float = math.inf,
        clusters: Iterable[Any] | None = None,
    ) -> None:
        array = _read_groups(groups)
        present = np.unique(array).tolist()
        low = _read_shares(minimum, present, "minimum")
        high = _read_shares(maximum, present, "maximum")
        for group, share in low.items():
            if share > high.get(group, 1.0):
                fault = f"above its maximum, which is {high[group]:.10g}"
                raise ValueError(f"minimum of group {group!r} is {share:.10g}, {fault}.")
        price = as_price(weight, "weight of group shares")
        if clusters is not None:
            clusters = [clusters] if isinstance(clusters, (str, int)) else list(clusters)
            clusters = check_clusters(clusters, "clusters of group shares")
        self._set(groups=array, minimum=low, maximum=high, weight=price, clusters=clusters)
        self._remember(_checks.index_of(groups))

    @property
    def clusters_named(self) -> bool:
        """Whether clusters are given by names that have not been looked up."""
        return any(of_names(self.clusters))

    def resolve_clusters(self, names: Sequence[str] | None) -> Self:
        """Return the constraint with numbers in place of names of clusters."""
        if not self.clusters_named or names is None or self.clusters is None:
            return self
        found = numbers_of_clusters(self.clusters, names, "group shares")
        return self._with(clusters=tuple(found))

    def _refuse_cluster_names(self) -> None:
        refuse_names(self.clusters if self.clusters_named else None, "group shares")

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless there is one group per row, and each named cluster."""
        _checks.one_per("row", n_samples, "group", groups=self.groups)
        self._refuse_cluster_names()
        wrong = next((j for j in self.clusters or () if int(j) >= n_clusters), None)
        if wrong is not None:
            raise ValueError(
                f"group shares hold in cluster {wrong}, but n_clusters is {n_clusters}; clusters "
                f"must lie in [0, {n_clusters - 1}]."
            )

    def _farthest(self, n_samples: int, n_clusters: int) -> float:
        return float(n_samples * n_clusters * self.n_parts)

    def expand(self, n_samples: int, n_clusters: int) -> tuple[ClusterTotals, ...]:
        """Return the equivalent totals, minimum shares first.

        One row of a group is ``q`` units of its total, so the price of a unit is ``weight / q``.
        """
        return tuple(self._totals(n_clusters))

    def _totals(self, n_clusters: int) -> Iterator[ClusterTotals]:
        """The totals one by one."""
        for side, group, share in self._rules() if self.groups.size else ():
            part, whole = _fraction(share)
            values = np.where(self.groups == group, float(whole - part), float(-part))
            zero: dict[str, Any] = {side: self._zero(n_clusters, FREE[side])}
            yield ClusterTotals(values, **zero, weight=self.weight / whole)

    def _zero(self, n_clusters: int, free: float) -> FloatArray | float:
        """The bound of the totals: 0, in the other clusters none."""
        if self.clusters is None:
            return 0.0
        self._refuse_cluster_names()
        bound: FloatArray = np.full(n_clusters, free)
        bound[[int(cluster) for cluster in self.clusters]] = 0.0
        return bound

    @property
    def n_parts(self) -> int:
        """Number of bounds."""
        return len(self.minimum) + len(self.maximum)

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint with only some of its bounds, numbered minimum shares first."""
        rules = list(self._rules())
        chosen = [rules[number] for number in np.asarray(which, np.int64)]
        return self._with(**{side: {g: s for at, g, s in chosen if at == side} for side in WORDS})

    def _rules(self) -> Iterator[tuple[str, Any, float]]:
        for side, shares in (("minimum", self.minimum), ("maximum", self.maximum)):
            for group, share in shares.items():
                yield side, group, share

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the violated bounds, and by how many rows of the group they are violated.

        Rule number ``r * n_clusters + j`` is bound r in cluster j; minimum shares come first.
        """
        found = _checks.as_labels(labels, n_exactly=len(self.groups) or None)
        k = _checks.clusters_in(found, n_clusters)
        unit = [[_fraction(share)[1]] for _, _, share in self._rules()]
        excess = np.array(
            [total_excess(each.values, found, *each.bounds(k))[1] for each in self._totals(k)]
        )
        excess = excess / unit if len(excess) else excess
        return self._outside(excess, partial(self._describe, labels=found, k=k))

    def _describe(self, rule: int, names: Names, *, labels: NDArray[Any], k: int) -> str:
        side, group, share = list(self._rules())[rule // k]
        inside = self.groups[labels == rule % k] == group
        has = (
            f"cluster {cluster_name(rule % k, names)} has a share {inside.mean():.3g} of {group!r}"
        )
        return f"{has}, but should have {WORDS[side]} {share:.10g}"

    def subset(self, rows: ArrayLike) -> Self:
        """Return the constraint for ``X[rows]``: the groups of these rows, the same bounds."""
        positions = _checks.rows_within(rows, len(self.groups), "groups")
        return self._with(groups=self.groups[positions])

    def phrase(self, names: Names = None) -> str:
        """Describe the bounds in a few words, such as ``shares of at least 0.4 of 'b'``."""
        rules = [f"{WORDS[side]} {share:.10g} of {group!r}" for side, group, share in self._rules()]
        bounds = f"shares of {shortened(rules, len(rules))}" if rules else "no bound on shares"
        if self.clusters is not None:
            inside = [j if isinstance(j, str) else cluster_name(j, names) for j in self.clusters]
            bounds += f" in cluster{'s' * (len(inside) != 1)} {shortened(inside, len(inside))}"
        return self._in_words(bounds)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        given = {side: dict(values[side]) for side in WORDS}
        read = {side: _read_shares(given[side], list(given[side]), side) for side in WORDS}
        # In a subset, bounds may name groups without rows, which the constructor refuses.
        weight = as_price(values.get("weight", math.inf), "weight of group shares")
        return cls(values["groups"], clusters=values.get("clusters"))._with(**read, weight=weight)

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports; ``clusters`` is there only if some are chosen."""
        values = super().to_dict()
        if self.clusters is None:
            del values["clusters"]
        return values

    def __repr__(self) -> str:
        rows = _checks.plural(len(self.groups), "row")
        return f"GroupShares({rows}, {_checks.plural(self.n_parts, 'bound')}{self._price})"


def _fraction(share: float) -> tuple[float, float]:
    """Return whole numbers p, q with p/q the share; the share itself and 1 if q would be large."""
    near = Fraction(share).limit_denominator(LARGEST_DENOMINATOR)
    exact = math.isclose(near, share, rel_tol=1e-15)
    return (float(near.numerator), float(near.denominator)) if exact else (share, 1.0)


def _read_groups(groups: Any) -> NDArray[Any]:
    array = _checks.as_entries(groups, "groups")
    if array.ndim != 1:
        raise ValueError(f"groups has shape {array.shape}; it must be one group per row.")
    if array.dtype.kind == "O":
        texts = [isinstance(group, str) for group in array]
        if not all(texts):
            first = texts.index(False)
            raise ValueError(
                f"groups[{first}] is {array[first]!r}; groups must be all strings, all integers "
                "or all booleans, and none may be missing."
            )
        return array.astype(str)
    if array.size and array.dtype.kind not in "iubU":
        raise ValueError(
            f"groups are of type {array.dtype}; they must be strings, integers or booleans."
        )
    written = array.dtype.kind == "U" and hasattr(groups, "__array__")
    if written and (array == "nan").any():
        raise ValueError(
            f"groups[{int(np.argmax(array == 'nan'))}] is the text 'nan', as which NumPy writes a "
            "missing value; no group may be missing, give a list if it is a name."
        )
    return array.copy()


def _read_shares(
    shares: float | Mapping[Any, float] | None, groups: list[Any], what: str
) -> dict[Any, float]:
    if shares is None:
        return {}
    if not isinstance(shares, Mapping):
        shares = dict.fromkeys(groups, shares)
    unknown = [group for group in shares if group not in groups]
    if unknown:
        known = shortened(map(repr, groups), len(groups))
        meant = suggestion(unknown[0], groups)
        raise ValueError(f"{what} names the group {unknown[0]!r}{meant}; the groups are {known}.")
    read = {group: _checks.as_numbers(share, f"{what} share") for group, share in shares.items()}
    for group, share in read.items():
        if share.ndim or not 0 <= share <= 1:
            fault = "a share must lie in [0, 1]"
            raise ValueError(f"{what} of group {group!r} is {shares[group]}; {fault}.")
    return {group: float(share) for group, share in read.items()}
