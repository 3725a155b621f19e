"""Bounds on the share of each group of rows in each cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from . import _checks
from ._checks import Names, frozen, shortened
from .base import Constraint, Violations
from .totals import ClusterTotals, total_excess

Shares = Mapping[Any, float]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GroupShares(Constraint):
    """Bounds on the share that each group of rows has in each cluster.

    Parameters
    ----------
    groups : (n_samples,) labels
        The group of each row: all strings, all integers or all booleans.
    minimum, maximum : float or {group: float}, optional
        Bounds on the share, in [0, 1]: one number for all groups, or a dict for some groups.

    Notes
    -----
    A minimum share s of group g is ``sum_i (1[i in g] - s) x_ij >= 0`` for every cluster j, and a
    maximum share is ``<= 0``.  Each is one :class:`ClusterTotals`.  An empty cluster obeys both.
    On a subset of the rows all bounds are kept, also those of groups without rows in it.

    Examples
    --------
    >>> fair = GroupShares(["a", "a", "b", "b"], minimum={"b": 0.4})
    >>> fair.violations([0, 0, 1, 1]).messages()
    ["cluster 0 has a share 0 of 'b', but should have at least 0.4"]
    >>> [total.values.tolist() for total in fair.expand(4, 2)]
    [[-0.4, -0.4, 0.6, 0.6]]
    """

    groups: NDArray[Any]
    minimum: Shares
    maximum: Shares

    def __init__(
        self,
        groups: Any,
        *,
        minimum: float | Mapping[Any, float] | None = None,
        maximum: float | Mapping[Any, float] | None = None,
    ) -> None:
        array = _read_groups(groups)
        present = np.unique(array).tolist()
        low = _read_shares(minimum, present, "minimum")
        high = _read_shares(maximum, present, "maximum")
        for group in low:
            if low[group] > high.get(group, 1.0):
                raise ValueError(
                    f"minimum of group {group!r} is {low[group]:.10g}, above its maximum, "
                    f"which is {high[group]:.10g}."
                )
        self._set(
            groups=frozen(array),
            minimum=MappingProxyType(low),
            maximum=MappingProxyType(high),
        )

    @classmethod
    def _unchecked(cls, groups: NDArray[Any], minimum: Shares, maximum: Shares) -> Self:
        """Create a constraint whose bounds may name groups without rows, as in a subset."""
        made = cls.__new__(cls)
        low, high = MappingProxyType(dict(minimum)), MappingProxyType(dict(maximum))
        made._set(groups=frozen(groups), minimum=low, maximum=high)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return plain dicts, because read-only views of them cannot be pickled."""
        state = {"minimum": dict(self.minimum), "maximum": dict(self.maximum)}
        return {"groups": self.groups, **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the bounds read-only again."""
        bounds = {side: MappingProxyType(state[side]) for side in ("minimum", "maximum")}
        super().__setstate__({**state, **bounds})

    def check(self, n_samples: int, n_clusters: int) -> None:
        """Raise ``ValueError`` unless there is one group per row."""
        _checks.one_per_row(self.groups, n_samples, "groups", "group")

    def expand(self, n_samples: int, n_clusters: int) -> tuple[Constraint, ...]:
        """Return the equivalent totals, minimum shares first."""
        if not self.groups.size:
            return ()
        return tuple(
            ClusterTotals(self._values(group, share), **{side: 0.0})
            for side, group, share in self._rules()
        )

    @property
    def n_parts(self) -> int:
        """Number of bounds."""
        return len(self.minimum) + len(self.maximum)

    def take(self, which: ArrayLike) -> Self:
        """Return the constraint with only some of its bounds, numbered minimum shares first."""
        rules = list(self._rules())
        chosen = [rules[number] for number in np.asarray(which, np.int64)]
        low, high = (
            {group: share for where, group, share in chosen if where == side}
            for side in ("minimum", "maximum")
        )
        return self._unchecked(self.groups, low, high)

    def _rules(self) -> Iterator[tuple[str, Any, float]]:
        for side, shares in (("minimum", self.minimum), ("maximum", self.maximum)):
            for group, share in shares.items():
                yield side, group, share

    def _values(self, group: Any, share: float) -> FloatArray:
        values: FloatArray = (self.groups == group) - share
        return values

    def violations(self, labels: ArrayLike, n_clusters: int | None = None) -> Violations:
        """Find the violated bounds, and by how many rows of the group they are violated.

        Rule number ``r * n_clusters + j`` is bound r in cluster j; minimum shares come first.
        """
        found = _checks.as_labels(labels, n_exactly=len(self.groups) or None)
        k = _checks.clusters_in(found, n_clusters)
        rules = list(self._rules()) if self.groups.size else []
        excess = np.zeros((len(rules), k))
        for row, (side, group, share) in enumerate(rules):
            lower = np.full(k, 0.0 if side == "minimum" else -np.inf)
            upper = np.full(k, 0.0 if side == "maximum" else np.inf)
            excess[row] = total_excess(self._values(group, share), found, lower, upper)[1]
        where = np.flatnonzero(excess)
        text = partial(self._describe, labels=found, k=k)
        return Violations(len(where), float(excess.sum()), where, text)

    def _describe(self, rule: int, names: Names, *, labels: NDArray[Any], k: int) -> str:
        side, group, share = list(self._rules())[rule // k]
        inside = self.groups[labels == rule % k] == group
        bound = f"at {'least' if side == 'minimum' else 'most'} {share:.10g}"
        return (
            f"cluster {rule % k} has a share {inside.mean():.3g} of {group!r}, "
            f"but should have {bound}"
        )

    def subset(self, rows: ArrayLike) -> Self:
        """Return the constraint for ``X[rows]``: the groups of these rows, the same bounds."""
        positions = _checks.rows_within(rows, len(self.groups), "groups")
        return self._unchecked(self.groups[positions], self.minimum, self.maximum)

    def phrase(self, names: Names = None) -> str:
        """Describe the bounds in a few words, such as ``shares of at least 0.4 of 'b'``."""
        rules = [
            f"at {'least' if side == 'minimum' else 'most'} {share:.10g} of {group!r}"
            for side, group, share in self._rules()
        ]
        return f"shares of {shortened(rules, len(rules))}" if rules else "no bound on shares"

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON supports."""
        return {
            "kind": "GroupShares",
            "groups": self.groups.tolist(),
            "minimum": [list(item) for item in self.minimum.items()],
            "maximum": [list(item) for item in self.maximum.items()],
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the constraint from the result of :meth:`to_dict`."""
        low, high = dict(values["minimum"]), dict(values["maximum"])
        groups = _read_groups(values["groups"])
        return cls._unchecked(
            groups,
            _read_shares(low, list(low), "minimum"),
            _read_shares(high, list(high), "maximum"),
        )

    def __repr__(self) -> str:
        """Show the number of rows and of bounds."""
        return f"GroupShares({len(self.groups)} rows, {self.n_parts} bounds)"


def _read_groups(groups: Any) -> NDArray[Any]:
    array = _checks.as_array(groups, "groups")
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
        raise ValueError(f"{what} names the group {unknown[0]!r}; the groups are {known}.")
    read = {group: _checks.as_numbers(share, f"{what} share") for group, share in shares.items()}
    for group, share in read.items():
        if share.ndim or not 0 <= share <= 1:
            raise ValueError(
                f"{what} of group {group!r} is {shares[group]}; a share must lie in [0, 1]."
            )
    return {group: float(share) for group, share in read.items()}
