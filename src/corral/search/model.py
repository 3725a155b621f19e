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
from ..numbers import FOLLOWED
from ..rows import MemoryRows
from ..rows.sphere import Chord
from ..rules import Adjacency, Rules

#: How the cost of a cluster follows from its members: the sum of squared distances to their mean,
#: to the best centre on a sphere, a table of costs that does not change with the members, or the
#: costs at the best medoid among the members.  Weights are in the costs of the last two.  Of mixed
#: groups it is the squared distance of their mean from that of all, by the weight of the group, or
#: the distances between its members with the sign turned.
MIXED, MEANS, CHORDS, TABLE, MEDOIDS, DIVERSE = 0, 1, 2, 3, 4, 5


class Model(NamedTuple):
    """A problem of m groups, k clusters, d features and q bounded sums.

    Compilation takes longer with every array, so what belongs together is in one.  Dense points are
    in ``points``, sparse ones in ``data``, ``indices`` and ``indptr`` (CSR); the others are then
    empty.  The edges of group g are ``ptr[g]`` to ``ptr[g + 1]``.  Linear rows have the entries of
    ``x_gj`` at ``column[g * k + j]``.  The candidates for a medoid that are rows of group g are
    ``first[g]`` to ``first[g + 1] - 1``.  Where clusters are connected, group g has the nodes
    ``node[g]`` to ``node[g + 1] - 1`` of a graph; node v belongs to group ``graph[1, v]``, and its
    neighbours begin at ``graph[0, v]`` in ``adjacent``.  A model is *rare* unless its points are
    dense, its clusters have means, and its only rules are hard pins and bounded sums.
    """

    rare: bool
    kind: int
    followed: int  # most members of a cluster whose medoid follows a move while it is valued
    radius: float
    points: FloatArray  # (m, d); costs in clusters, (m, k), or at candidates; distances, (m, m)
    data: FloatArray
    indices: IntArray
    indptr: IntArray
    group: FloatArray  # weight, and squared length of the point, (2, m)
    first: IntArray  # (m + 1,)
    home: IntArray  # the group of each candidate, (c,)
    amount: FloatArray  # (m, q)
    bound: FloatArray  # lower and upper, (2, k, q)
    price: FloatArray  # of a unit outside the bounds, and 1 if the sum is hard, (2, q)
    ptr: IntArray
    other: IntArray  # the group at the other end of each edge
    tie: FloatArray  # what agreeing costs more than differing, and 1 if it is barred, (2, e)
    pin: IntArray  # the cluster of a pinned group, and the place of soft pins, or -1, (2, m)
    paid: FloatArray  # what groups pay for soft pins in each cluster, (u, k)
    column: IntArray
    row: IntArray
    value: FloatArray
    row_bound: FloatArray  # lower, upper and price of linear rows, (3, r)
    node: IntArray  # (m + 1,); (1,) if clusters need not be connected
    graph: IntArray  # first neighbour and group of each node, (2, p + 1)
    adjacent: IntArray  # neighbours


class Priced(NamedTuple):
    """A model with what it takes to set the penalty of its hard rules."""

    model: Model
    unit: FloatArray  # one by the mean amount of a column, (q,)
    row_unit: FloatArray  # the same of linear rows, (r,)
    scale: float  # mean cost of a group: the unit of the penalty

    def at(self, penalty: float, least: FloatArray | float = 0.0) -> Model:
        """The model with a penalty for hard rules, in units of ``scale``; of sums, at least (q,).

        Below its dual price, a bound is broken by moves that gain more than they pay.
        """
        model, hard = self.model, penalty * self.scale
        price, tie, row_bound = model.price.copy(), model.tie.copy(), model.row_bound.copy()
        price[0] = np.where(price[1] > 0.0, np.maximum(hard * self.unit, least), price[0])
        tie[0, tie[1] > 0.0] = hard
        row_bound[2] = hard * self.row_unit
        return model._replace(price=price, tie=tie, row_bound=row_bound)

    def with_table(self, table: FloatArray) -> Priced:
        """The same with other costs of the groups."""
        table = np.ascontiguousarray(table)
        return self._replace(model=self.model._replace(points=table), scale=_mean_least(table))

    def with_bounds(self, rules: Rules) -> Priced:
        """The same with the bounds on sizes in the order that these rules have."""
        sums = rules.sums().and_(rules.soft_sums)
        bound = np.ascontiguousarray(np.stack([sums.lower.T, sums.upper.T]))
        return self._replace(model=self.model._replace(bound=bound))

    def part(self, groups: IntArray, some: IntArray, labels: IntArray) -> Priced:
        """The problem of some clusters and all groups in them; all other groups stay."""
        model, k = self.model, self.model.bound.shape[1]
        place = np.full(len(labels), -1, np.int64)
        place[groups] = np.arange(len(groups))
        cluster = np.full(k + 1, -1, np.int64)
        cluster[some] = np.arange(len(some))
        pin = model.pin[:, groups]
        pin[0], soft = cluster[pin[0]], pin[1] >= 0
        paid = model.paid[pin[1, soft]][:, some]
        pin[1, soft] = np.arange(len(paid))
        parts: dict[str, Any] = {
            "group": model.group[:, groups],
            "amount": model.amount[groups],
            "bound": model.bound[:, some],
            "pin": pin,
            "paid": paid,
        }
        if len(model.other):
            edges, number = spans(model.ptr, groups)
            inside = place[model.other[edges]] >= 0
            owner = np.repeat(np.arange(len(groups)), number)[inside]
            parts |= {
                "ptr": _starts(np.bincount(owner, minlength=len(groups))),
                "other": place[model.other[edges[inside]]],
                "tie": model.tie[:, edges[inside]],
            }
        else:
            parts["ptr"] = model.ptr[: len(groups) + 1]
        if len(model.column) > 1:
            parts |= _linear_part(model, groups, some, labels, place < 0)
        if len(model.node) > 1:
            parts |= _graph_part(model, groups, place)
        parts = {name: np.ascontiguousarray(value) for name, value in parts.items()}
        return self._replace(model=model._replace(**parts, **_points_part(model, groups, some)))


def _starts(number: IntArray) -> IntArray:
    """Where runs of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(number)]).astype(np.int64)


def spans(start: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Entries of some runs of a compressed table, which begin at ``start``; and their lengths."""
    number = start[chosen + 1] - start[chosen]
    before = np.cumsum(number) - number
    return np.repeat(start[chosen] - before, number) + np.arange(number.sum()), number


def _points_part(model: Model, groups: IntArray, some: IntArray) -> dict[str, Any]:
    """What some groups cost."""
    if model.kind in (TABLE, DIVERSE):
        chosen = some if model.kind == TABLE else groups
        return {"points": np.ascontiguousarray(model.points[np.ix_(groups, chosen)])}
    if model.kind == MEDOIDS:
        candidates, number = spans(model.first, groups)
        return {
            "points": np.ascontiguousarray(model.points[np.ix_(groups, candidates)]),
            "home": np.repeat(np.arange(len(groups)), number),
            "first": _starts(number),
        }
    if len(model.points):
        return {"points": model.points[groups]}
    entries, number = spans(model.indptr, groups)
    data, indices = model.data[entries], model.indices[entries]
    return {"data": data, "indices": indices, "indptr": _starts(number)}


def _linear_part(
    model: Model, groups: IntArray, some: IntArray, labels: IntArray, outside: BoolArray
) -> dict[str, Any]:
    """Linear rows of some groups and clusters, with bounds less what the groups outside add."""
    k, others = model.bound.shape[1], np.flatnonzero(outside)
    stay, _ = spans(model.column, others * k + labels[others])
    n_rows = model.row_bound.shape[1]
    bound = model.row_bound.copy()
    bound[:2] -= np.bincount(model.row[stay], model.value[stay], minlength=n_rows)
    entries, number = spans(model.column, (groups[:, None] * k + some).ravel())
    return {
        "column": _starts(number),
        "row": model.row[entries],
        "value": model.value[entries],
        "row_bound": bound,
    }


def _graph_part(model: Model, groups: IntArray, place: IntArray) -> dict[str, Any]:
    """The graph of the nodes of some groups, and the edges between these."""
    nodes, number = spans(model.node, groups)
    here = np.full(model.graph.shape[1], -1, np.int64)
    here[nodes] = np.arange(len(nodes))
    edges, degree = spans(model.graph[0], nodes)
    near = here[model.adjacent[edges]]
    owner = np.repeat(np.arange(len(nodes)), degree)[near >= 0]
    ptr = _starts(np.bincount(owner, minlength=len(nodes)))
    return {
        "node": _starts(number),
        "graph": np.stack([ptr, np.append(place[model.graph[1, nodes]], -1)]),
        "adjacent": near[near >= 0],
    }


def model_of(rules: Rules, rows: MemoryRows) -> Priced:
    """The model of clusters around centres, the points about the middle of the rows."""
    return _assembled(rules, _points(rows), rows.weight, rows.spread / max(rules.n_groups, 1))


def table_model(rules: Rules) -> Priced:
    """The model of costs in a table, which every descent fills."""
    table = np.zeros((rules.n_groups, rules.n_clusters))
    parts = _no_points(rules.n_groups) | {"kind": TABLE, "points": table}
    return _assembled(rules, parts, np.ones(rules.n_groups), 1.0)


def medoid_model(rules: Rules, cost: FloatArray, home: IntArray) -> Priced:
    """The model of clusters around medoids that are their members.

    ``cost`` (m, c) is what groups cost at candidates, and ``home`` the group of each candidate.
    """
    m, order = rules.n_groups, np.argsort(home, kind="stable")
    number = np.bincount(home, minlength=m)
    sorted_cost = cost if np.all(np.diff(order) == 1) else np.ascontiguousarray(cost[:, order])
    parts = _no_points(m) | {
        "kind": MEDOIDS,
        "points": sorted_cost,
        "home": home[order].astype(np.int64),
        "first": np.concatenate([[0], np.cumsum(number)]).astype(np.int64),
    }
    return _assembled(rules, parts, np.ones(m), float(cost.sum(axis=0).min()) / max(m, 1))


def mixed_model(rules: Rules, rows: MemoryRows) -> Priced:
    """The model of groups whose means are alike; the points are dense."""
    parts = _points(rows) | {"kind": MIXED, "rare": True}
    return _assembled(rules, parts, rows.weight, rows.spread / max(rules.n_groups, 1))


def diverse_model(rules: Rules, distance: FloatArray) -> Priced:
    """The model of groups whose members are far apart, by distances (m, m) of what is joined."""
    m = rules.n_groups
    parts = _no_points(m) | {"kind": DIVERSE, "points": np.ascontiguousarray(distance)}
    mean = float(distance.sum()) / max(m * rules.n_clusters, 1)
    return _assembled(rules, parts, np.ones(m), mean)


def _assembled(rules: Rules, parts: dict[str, Any], weight: FloatArray, mean: float) -> Priced:
    """Put the rules into plain arrays; ``parts`` tell what groups cost, ``mean`` of one group."""
    m = rules.n_groups
    sums = rules.sums().and_(rules.soft_sums)
    hard = np.isinf(sums.price[:, 0])
    pin = np.full((2, m), -1, np.int64)
    pin[0, rules.pins[:, 0]] = rules.pins[:, 1]
    paid: FloatArray = np.zeros((0, rules.n_clusters))
    if len(rules.soft_pins):
        groups, paid = rules.soft_pins.of_groups(rules.n_clusters)
        pin[1, groups] = np.arange(len(groups))
    ptr, other, tie = _edges(rules)
    square = parts.pop("square")
    net = rules.adjacency
    parts["rare"] |= len(paid) + len(other) > 0 or rules.linear is not None or net is not None
    arrays: dict[str, Any] = dict(
        **parts,
        group=np.stack([weight, square]),
        amount=np.ascontiguousarray(sums.values.T),
        bound=np.stack([sums.lower.T, sums.upper.T]),
        price=np.stack([np.where(hard, 0.0, sums.price[:, 0]), hard.astype(np.float64)]),
        ptr=ptr,
        other=other,
        tie=tie,
        pin=pin,
        paid=paid,
        **_linear(rules),
        node=np.zeros(1, np.int64) if net is None else net.first,
        graph=np.zeros((2, 1), np.int64) if net is None else _graph(net),
        adjacent=np.zeros(0, np.int64) if net is None else net.near,
    )
    # Another layout of one array would compile all kernels anew.
    arrays |= {
        name: np.ascontiguousarray(value)
        for name, value in arrays.items()
        if isinstance(value, np.ndarray)
    }
    model = Model(**arrays)
    row_unit = 1.0 / _row_size(model)
    return Priced(model, 1.0 / sums.unit[:, 0], row_unit, mean if mean > 0.0 else 1.0)


def _mean_least(table: FloatArray) -> float:
    """Mean over the groups of the difference between the mean and the least of their costs."""
    mean = float(np.mean(table.mean(axis=1) - table.min(axis=1)))
    return mean if mean > 0.0 else 1.0


def _no_points(m: int) -> dict[str, Any]:
    """What groups cost, where neither points nor a table tell it."""
    none, no_rows = np.zeros(0), np.zeros(1, np.int64)
    return {
        "rare": True,
        "kind": MEANS,
        "followed": FOLLOWED,
        "radius": 1.0,
        "points": np.zeros((0, 0)),
        "data": none,
        "indices": np.zeros(0, np.int64),
        "indptr": no_rows,
        "square": np.zeros(m),
        "home": no_rows,
        "first": no_rows,
    }


def _points(rows: MemoryRows) -> dict[str, Any]:
    """Points about the middle of the rows; on a sphere, about its centre."""
    m, d = rows.shape
    given: Any = rows.given[0]
    chord = isinstance(rows.distance, Chord)
    rare = chord or sparse.issparse(given)
    parts = _no_points(m) | {"rare": rare, "points": np.zeros((0, d))}
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


def _edges(rules: Rules) -> tuple[IntArray, IntArray, FloatArray]:
    """The graph of pairs from both ends: first edges, other groups, ties and hard cannot-links."""
    graph, m = rules.pairs.graph, rules.n_groups
    bar = np.isinf(graph.same)
    tie = np.where(bar, 0.0, graph.same - graph.differ)
    here, there = np.concatenate([graph.a, graph.b]), np.concatenate([graph.b, graph.a])
    order = np.argsort(here, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=m))]).astype(np.int64)
    both = np.stack([tie, bar.astype(np.float64)])
    twice = np.concatenate([both, both], axis=1)[:, order]
    return ptr, there[order].astype(np.int64), twice


def _graph(net: Adjacency) -> IntArray:
    """First neighbour and group of each node."""
    return np.stack([net.ptr, np.append(net.group, -1)])


def _linear(rules: Rules) -> dict[str, Any]:
    """Linear rows by the entries of x."""
    if rules.linear is None:
        none = np.zeros(0, np.int64)
        return {
            "column": np.zeros(1, np.int64),
            "row": none,
            "value": np.zeros(0),
            "row_bound": np.zeros((3, 0)),
        }
    by_column = sparse.csc_array(rules.linear.A)
    give = np.broadcast_to(np.asarray(rules.linear.give, float), rules.linear.lower.shape)
    lower, upper = rules.linear.lower - give, rules.linear.upper + give
    return {
        "column": by_column.indptr.astype(np.int64),
        "row": by_column.indices.astype(np.int64),
        "value": by_column.data.astype(np.float64),
        "row_bound": np.stack([lower, upper, np.zeros(len(lower))]),
    }


def _row_size(model: Model) -> FloatArray:
    """Mean size of the coefficients of each linear row."""
    n_rows = model.row_bound.shape[1]
    number = np.maximum(np.bincount(model.row, minlength=n_rows), 1)
    size = np.bincount(model.row, np.abs(model.value), minlength=n_rows) / number
    return np.where(size > 0.0, size, 1.0)
