"""What the compiled moves see of a problem: points, bounded sums, pairs and pins in plain arrays.

All rules that bound sums over clusters are columns of one table: numbers of rows, totals, shares.
A unit outside the bounds costs a *price*: that of the rule if it is soft, and the *penalty* of the
search, in units of the column, if it is hard.  Pairs and linear rows are priced in the same way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..rows import MemoryRows
from ..rows.sphere import Chord
from ..rules import Rules

#: How the cost of a cluster follows from its members: the sum of squared distances to their mean,
#: to the best centre on a sphere, a table of costs that does not change with the members, or the
#: costs at the best medoid among the members.  Weights are in the costs of the last two.
MEANS, CHORDS, TABLE, MEDOIDS = 0, 1, 2, 3


class Model(NamedTuple):
    """A problem of m groups, k clusters, d features and q bounded sums.

    Dense points are in ``points``, sparse ones in ``data``, ``indices`` and ``indptr`` (CSR); the
    other arrays are then empty.  The edges of group g are ``ptr[g]`` to ``ptr[g + 1]``: the other
    group, what agreeing costs more than differing (``tie``), and whether the pair is a hard
    cannot-link (``bar``).  ``paid[paid_at[g]]`` is what group g pays for soft pins in each cluster.
    Linear rows have the entries of ``x_gj`` at ``column[g * k + j]``.  The candidates for a medoid
    that are rows of group g are ``candidate[first[g]]`` to ``candidate[first[g + 1] - 1]``.
    """

    kind: int
    radius: float
    points: FloatArray  # (m, d)
    data: FloatArray
    indices: IntArray
    indptr: IntArray
    square: FloatArray  # squared length of each point, (m,)
    weight: FloatArray  # (m,)
    table: FloatArray  # costs in clusters, (m, k), for TABLE; at candidates, (m, c), for MEDOIDS
    home: IntArray  # the group of each candidate, (c,), for MEDOIDS
    candidate: IntArray  # candidates by their groups, (c,)
    first: IntArray  # (m + 1,)
    amount: FloatArray  # (m, q)
    lower: FloatArray  # (k, q)
    upper: FloatArray  # (k, q)
    price: FloatArray  # (q,)
    hard: BoolArray  # (q,)
    ptr: IntArray
    other: IntArray
    tie: FloatArray
    bar: BoolArray
    pin: IntArray  # the cluster of a pinned group, -1 of others, (m,)
    paid_at: IntArray  # (m,), -1 without soft pins
    paid: FloatArray  # (u, k)
    column: IntArray
    row: IntArray
    value: FloatArray
    row_lower: FloatArray  # (r,)
    row_upper: FloatArray
    row_price: FloatArray


class Priced(NamedTuple):
    """A model with what it takes to set the penalty of its hard rules."""

    model: Model
    unit: FloatArray  # one by the mean amount of a column, (q,)
    row_unit: FloatArray  # the same of linear rows, (r,)
    scale: float  # mean cost of a group: the unit of the penalty

    def at(self, penalty: float) -> Model:
        """The model with a penalty for hard rules, in units of ``scale``."""
        model, hard = self.model, penalty * self.scale
        return model._replace(
            price=np.where(model.hard, hard * self.unit, model.price),
            tie=np.where(model.bar, hard, model.tie),
            row_price=hard * self.row_unit,
        )

    def with_table(self, table: FloatArray) -> Priced:
        """The same with other costs of the groups."""
        return self._replace(model=self.model._replace(table=table), scale=_mean_least(table))

    def with_bounds(self, rules: Rules) -> Priced:
        """The same with the bounds on sizes in the order that these rules have."""
        sums = rules.sums().and_(rules.soft_sums)
        lower, upper = np.ascontiguousarray(sums.lower.T), np.ascontiguousarray(sums.upper.T)
        return self._replace(model=self.model._replace(lower=lower, upper=upper))


def model_of(rules: Rules, rows: MemoryRows) -> Priced:
    """The model of clusters around centres, the points about the middle of the rows."""
    return _assembled(rules, _points(rows), rows.weight, rows.spread / max(rules.n_groups, 1))


def table_model(rules: Rules) -> Priced:
    """The model of costs in a table, which every descent fills."""
    table = np.zeros((rules.n_groups, rules.n_clusters))
    parts = _no_points(rules.n_groups) | {"kind": TABLE, "table": table}
    return _assembled(rules, parts, np.ones(rules.n_groups), 1.0)


def medoid_model(rules: Rules, cost: FloatArray, home: IntArray) -> Priced:
    """The model of clusters around medoids that are their members.

    ``cost`` (m, c) is what groups cost at candidates, and ``home`` the group of each candidate.
    """
    m = rules.n_groups
    number = np.bincount(home, minlength=m)
    parts = _no_points(m) | {
        "kind": MEDOIDS,
        "table": cost,
        "home": home.astype(np.int64),
        "candidate": np.argsort(home, kind="stable").astype(np.int64),
        "first": np.concatenate([[0], np.cumsum(number)]).astype(np.int64),
    }
    return _assembled(rules, parts, np.ones(m), float(cost.sum(axis=0).min()) / max(m, 1))


def _assembled(rules: Rules, parts: dict[str, Any], weight: FloatArray, mean: float) -> Priced:
    """Put the rules into plain arrays; ``parts`` tell what groups cost, ``mean`` of one group."""
    m = rules.n_groups
    sums = rules.sums().and_(rules.soft_sums)
    hard = np.isinf(sums.price[:, 0])
    pin = np.full(m, -1, np.int64)
    pin[rules.pins[:, 0]] = rules.pins[:, 1]
    paid_at = np.full(m, -1, np.int64)
    paid: FloatArray = np.zeros((0, rules.n_clusters))
    if len(rules.soft_pins):
        groups, paid = rules.soft_pins.of_groups(rules.n_clusters)
        paid_at[groups] = np.arange(len(groups))
    ptr, other, tie, bar = _edges(rules)
    unit = 1.0 / sums.unit[:, 0]
    model = Model(
        **parts,
        weight=weight,
        amount=np.ascontiguousarray(sums.values.T),
        lower=np.ascontiguousarray(sums.lower.T),
        upper=np.ascontiguousarray(sums.upper.T),
        price=np.where(hard, 0.0, sums.price[:, 0]),
        hard=hard,
        ptr=ptr,
        other=other,
        tie=tie,
        bar=bar,
        pin=pin,
        paid_at=paid_at,
        paid=paid,
        **_linear(rules),
    )
    row_unit = 1.0 / _row_size(model)
    return Priced(model, unit, row_unit, mean if mean > 0.0 else 1.0)


def _mean_least(table: FloatArray) -> float:
    """Mean over the groups of the difference between the mean and the least of their costs."""
    mean = float(np.mean(table.mean(axis=1) - table.min(axis=1)))
    return mean if mean > 0.0 else 1.0


def _no_points(m: int) -> dict[str, Any]:
    """What groups cost, where neither points nor a table tell it."""
    none, no_rows = np.zeros(0), np.zeros(1, np.int64)
    return {
        "kind": MEANS,
        "radius": 1.0,
        "points": np.zeros((0, 0)),
        "data": none,
        "indices": np.zeros(0, np.int64),
        "indptr": no_rows,
        "square": np.zeros(m),
        "table": np.zeros((0, 0)),
        "home": no_rows,
        "candidate": no_rows,
        "first": no_rows,
    }


def _points(rows: MemoryRows) -> dict[str, Any]:
    """Points about the middle of the rows; on a sphere, about its centre."""
    m, d = rows.shape
    parts = _no_points(m) | {"points": np.zeros((0, d))}
    given: Any = rows.given[0]
    chord = isinstance(rows.distance, Chord)
    if isinstance(rows.distance, Chord):
        parts |= {"kind": CHORDS, "radius": float(rows.distance.radius)}
    if sparse.issparse(given) and rows.off_centre and not chord:
        given = given.toarray()  # its digits would be lost in squares; few of its entries are zero
    if sparse.issparse(given):
        squares = np.zeros(m)
        np.add.at(squares, np.repeat(np.arange(m), np.diff(given.indptr)), given.data**2)
        return parts | {
            "data": given.data.astype(np.float64),
            "indices": given.indices.astype(np.int64),
            "indptr": given.indptr.astype(np.int64),
            "square": squares,
        }
    points = given.astype(np.float64) if chord else given - rows.middle
    points = np.ascontiguousarray(points, np.float64)
    return parts | {"points": points, "square": np.einsum("id,id->i", points, points)}


def _edges(rules: Rules) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """The graph of pairs from both ends: first edges, other groups, ties, hard cannot-links."""
    graph, m = rules.pairs.graph, rules.n_groups
    bar = np.isinf(graph.same)
    tie = np.where(bar, 0.0, graph.same - graph.differ)
    here, there = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
    order = np.argsort(here, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=m))]).astype(np.int64)
    twice = np.concatenate([tie, tie])[order], np.concatenate([bar, bar])[order]
    return ptr, there[order].astype(np.int64), *twice


def _linear(rules: Rules) -> dict[str, Any]:
    """Linear rows by the entries of x."""
    if rules.linear is None:
        none = np.zeros(0)
        where = {"column": np.zeros(1, np.int64), "row": np.zeros(0, np.int64)}
        return {**where, "value": none, **dict.fromkeys(("row_lower", "row_upper"), none)} | {
            "row_price": none
        }
    by_column = sparse.csc_array(rules.linear.A)
    give = np.broadcast_to(np.asarray(rules.linear.give, float), rules.linear.lower.shape)
    return {
        "column": by_column.indptr.astype(np.int64),
        "row": by_column.indices.astype(np.int64),
        "value": by_column.data.astype(np.float64),
        "row_lower": rules.linear.lower - give,
        "row_upper": rules.linear.upper + give,
        "row_price": np.zeros(len(rules.linear.lower)),
    }


def _row_size(model: Model) -> FloatArray:
    """Mean size of the coefficients of each linear row."""
    n_rows = len(model.row_lower)
    number = np.maximum(np.bincount(model.row, minlength=n_rows), 1)
    size = np.bincount(model.row, np.abs(model.value), minlength=n_rows) / number
    return np.where(size > 0.0, size, 1.0)
