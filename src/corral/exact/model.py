"""The rules as one sparse system over binary x and a few other columns.

Columns: ``x_gj`` at ``g * k + j``, then those that some rules need (slacks of soft rules, the
matching of size bounds to clusters, slacks of an elastic model).  Rows: first one per group,
``sum_j x_gj = 1``, then the rules.  No loop runs over groups or pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from .._typing import BoolArray, FloatArray, IntArray
from ..rules import Adjacency, Cliques, LinearRows, Rules, SizeBounds

#: Rows, columns and values of some entries.
Entries = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True)
class Model:
    """``lower <= A v <= upper``, ``0 <= v <= ceiling``; the first ``m * k`` of v are x.

    ``price`` is what each column costs beyond the assignment's own cost (soft rules), and
    ``violation`` how much of a hard rule each unit of it breaks, which is 0 unless elastic.
    """

    A: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    ceiling: FloatArray
    integral: BoolArray
    price: FloatArray
    violation: FloatArray

    def with_rows(self, A: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> Model:
        """The model with more rows, ``lower <= A v <= upper``."""
        return replace(
            self,
            A=sparse.vstack([self.A, A], format="csr"),
            lower=np.concatenate([self.lower, lower]),
            upper=np.concatenate([self.upper, upper]),
        )


def build(rules: Rules, *, match_sizes: bool = False, elastic: bool = False) -> Model:
    """Write all rules except the pins, which close columns instead.

    ``match_sizes`` lets the model choose which cluster gets which of the size bounds.  ``elastic``
    lets every hard rule be broken, at a price counted in ``violation``.
    """
    m, k = rules.n_groups, rules.n_clusters
    rows = _Rows(m, k)
    group, one = np.repeat(np.arange(m), k), np.ones(m * k)
    rows.add((group, np.arange(m * k), one), np.ones(m), np.ones(m))
    soft = rules.soft
    slack = rows.new_columns(np.repeat(soft.price, k))
    _add_pairs(rows, soft.pairs, soft.together, slack)
    if elastic:  # every pair may be broken alone
        _add_breakable(rows, rules.apart, together=False)
        _add_breakable(rows, rules.together, together=True)
    else:
        _add_cliques(rows, rules.pairs.cliques)
        _add_pairs(rows, rules.together, np.ones(len(rules.together), bool))
    if rules.sizes is not None:
        _add_sizes(rows, rules.count, rules.sizes, match_sizes and rules.sizes_vary, elastic)
    for total in rules.totals:
        _add_linear(rows, total.as_rows(k), mean_size(total.values), elastic)
    for total in rules.soft_totals:
        _add_soft(rows, total.values, total.lower, total.upper, total.price)
    if rules.linear is not None:
        _add_linear(rows, rules.linear, row_sizes(rules.linear), elastic)
    if rules.adjacency is not None:
        _add_connection(rows, rules.adjacency, elastic)
    return rows.model()


def forbid(model: Model, values: FloatArray, n_binary: int) -> Model:
    """Add cuts against an answer that breaks rows by less than the solver's tolerance.

    To bring a row below its upper bound, a chosen column with a positive entry must be left out or
    another column with a negative entry must be chosen.  The cut asks for at least one such change;
    likewise for the lower bound.  If no row is broken exactly, the answer itself is forbidden.
    """
    x = np.zeros(model.A.shape[1])
    x[:n_binary] = values[:n_binary]
    pure = np.asarray(abs(model.A[:, n_binary:]).sum(axis=1) == 0).ravel()
    activity = model.A @ x
    over = np.flatnonzero(pure & (activity > model.upper))
    under = np.flatnonzero(pure & (activity < model.lower))
    picked = [(model.A[[row]], 1.0) for row in over] + [(model.A[[row]], -1.0) for row in under]
    if not picked:
        everything = sparse.csr_array(np.ones((1, n_binary)))
        everything.resize((1, model.A.shape[1]))
        picked = [(everything, 1.0)]
    cuts, limits = [], []
    for row, sign in picked:
        sides = np.sign(row.data) * sign
        chosen = x[row.indices] > 0.5
        useful = (sides > 0) == chosen
        shape = (1, model.A.shape[1])
        column = row.indices[useful]
        cuts.append(sparse.csr_array((sides[useful], (np.zeros_like(column), column)), shape=shape))
        limits.append(float((sides[useful] > 0).sum()) - 1.0)
    lower = np.full(len(limits), -np.inf)
    return model.with_rows(sparse.vstack(cuts, format="csr"), lower, np.array(limits))


@dataclass
class _Rows:
    """Rows and columns of a model that is being written."""

    m: int
    k: int
    n_rows: int = 0
    n_columns: int = 0
    entries: list[Entries] = field(default_factory=list)
    bounds: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    columns: list[tuple[FloatArray, BoolArray, FloatArray, FloatArray]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        self.new_columns(np.zeros(self.m * self.k), integral=True)

    def new_columns(
        self,
        price: FloatArray,
        *,
        violation: FloatArray | None = None,
        integral: bool = False,
        ceiling: float = 1.0,
    ) -> IntArray:
        """Append columns and return their numbers."""
        size = len(price)
        broken = np.zeros(size) if violation is None else violation
        self.columns.append((np.full(size, ceiling), np.full(size, integral), price, broken))
        self.n_columns += size
        return np.arange(self.n_columns - size, self.n_columns)

    def add(self, entries: Entries, lower: FloatArray, upper: FloatArray) -> None:
        """Append rows, which the entries count from 0."""
        row, column, value = entries
        self.entries.append((row + self.n_rows, column, value))
        self.bounds.append((lower, upper))
        self.n_rows += len(lower)

    def model(self) -> Model:
        row, column, value = _joined(*self.entries)
        lower, upper = (np.concatenate(part) for part in zip(*self.bounds, strict=True))
        ceiling, integral, price, violation = (
            np.concatenate(part) for part in zip(*self.columns, strict=True)
        )
        shape = (self.n_rows, self.n_columns)
        A = sparse.coo_array((value, (row, column)), shape=shape).tocsr()
        return Model(A, lower, upper, ceiling, integral, price, violation)


def _joined(*parts: Entries) -> Entries:
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return row, column, value


def _add_pairs(
    rows: _Rows, pairs: IntArray, together: BoolArray, slack: IntArray | None = None
) -> None:
    """``x_aj + x_bj - s_pj <= 1`` to be apart, ``x_aj - x_bj - s_pj <= 0`` to be together.

    One slack per cluster instead of one per pair makes the linear relaxation tighter.  The meaning
    is the same: in whole numbers exactly one slack of a broken pair is 1.  Without slacks the rows
    to be together are equations.
    """
    clusters = np.arange(rows.k)
    first, second = ((end[:, None] * rows.k + clusters).ravel() for end in pairs.T)
    sign = np.repeat(np.where(together, -1.0, 1.0), rows.k)
    number, one = np.arange(len(first)), np.ones(len(first))
    entries = [(number, first, one), (number, second, sign)]
    lower = np.full(len(first), -np.inf)
    if slack is None:
        lower[sign < 0] = 0.0
    else:
        entries.append((number, slack, -one))
    rows.add(_joined(*entries), lower, (sign + 1) / 2)


def _add_breakable(rows: _Rows, pairs: IntArray, *, together: bool) -> None:
    """Hard pairs with slacks, of which each unit counts as one violation."""
    size = len(pairs) * rows.k
    broken = rows.new_columns(np.zeros(size), violation=np.ones(size))
    _add_pairs(rows, pairs, np.full(len(pairs), together), broken)


def _add_cliques(rows: _Rows, cliques: Cliques) -> None:
    """``sum over the clique of x_gj <= 1``, which is tighter than a row for each of its pairs."""
    clusters = np.arange(rows.k)
    row, column = (
        (part[:, None] * rows.k + clusters).ravel() for part in (cliques.of_member, cliques.members)
    )
    size = len(cliques) * rows.k
    rows.add((row, column, np.ones(len(row))), np.full(size, -np.inf), np.ones(size))


def _add_per_cluster(
    rows: _Rows, values: FloatArray | IntArray, lower: FloatArray, upper: FloatArray, *more: Entries
) -> None:
    """``lower[j] <= sum_g values[g] x_gj + more entries of row j <= upper[j]``."""
    group = np.flatnonzero(values)
    column = group[:, None] * rows.k + np.arange(rows.k)
    row = np.broadcast_to(np.arange(rows.k), column.shape)
    own = (row.ravel(), column.ravel(), np.repeat(values[group].astype(float), rows.k))
    rows.add(_joined(own, *more), lower, upper)


def _give(
    rows: _Rows, size: int, unit: FloatArray | float, sides: tuple[float, ...] = (1.0, -1.0)
) -> Entries:
    """Slack below (1) and above (-1) for rows 0 .. size - 1; each unit of it counts ``unit``."""
    number = len(sides) * size
    broken = np.tile(np.broadcast_to(unit, size), len(sides))
    slack = rows.new_columns(np.zeros(number), violation=broken, ceiling=np.inf)
    return np.tile(np.arange(size), len(sides)), slack, np.repeat(sides, size)


def _add_sizes(rows: _Rows, count: IntArray, sizes: SizeBounds, match: bool, elastic: bool) -> None:
    """Sizes in the order given, or with a matching of bounds to clusters by new binaries."""
    ends = _matched(rows, sizes) if match else [None] * len(sizes.columns)
    _add_soft_sizes(rows, count, sizes, ends[2:])
    if not match and not elastic:
        _add_per_cluster(rows, count, sizes.lower.astype(float), sizes.upper.astype(float))
        return
    # One row for each side, because the bounds of an elastic model may contradict each other.
    limitless = np.full(rows.k, np.inf)
    low, high = (0.0 if match else side for side in (sizes.lower, sizes.upper))
    for end, sign, lower, upper in (
        (ends[0], 1.0, low + np.zeros(rows.k), limitless),
        (ends[1], -1.0, -limitless, high + np.zeros(rows.k)),
    ):
        give = _give(rows, rows.k, 1.0, (sign,)) if elastic else None
        _add_per_cluster(rows, count, lower, upper, *(e for e in (end, give) if e is not None))


def _add_soft_sizes(
    rows: _Rows, count: IntArray, sizes: SizeBounds, ends: Sequence[Entries | None]
) -> None:
    """Soft sizes, or where ``ends`` has the bounds by the matching, what misses these."""
    if sizes.soft is None:
        return
    s, limitless = len(sizes.soft.price), np.full(rows.k, np.inf)
    for r, price in enumerate(sizes.soft.price):
        under, over = ends[r], ends[s + r]
        if over is None or under is None:
            low, high = sizes.soft.lower[r].astype(float), sizes.soft.upper[r].astype(float)
            _add_soft(rows, count, low, high, price)
        else:
            _add_soft(rows, count, np.zeros(rows.k), limitless, price, under)
            _add_soft(rows, count, -limitless, np.zeros(rows.k), price, over)


def _add_soft(
    rows: _Rows,
    values: FloatArray | IntArray,
    lower: FloatArray,
    upper: FloatArray,
    price: float,
    *more: Entries,
) -> None:
    """Sums of each cluster with slacks at a price; more entries are added to row j of cluster j."""
    bounds = np.concatenate([lower, upper, *(value for _, _, value in more)])
    farthest = float(np.abs(values).sum() + np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0))
    slack = rows.new_columns(np.full(2 * rows.k, price), ceiling=farthest)
    give = np.tile(np.arange(rows.k), 2), slack, np.repeat([1.0, -1.0], rows.k)
    _add_per_cluster(rows, values, lower, upper, give, *more)


def _matched(rows: _Rows, sizes: SizeBounds) -> list[Entries | None]:
    """Minus each of the bounds that clusters are given (``sizes.columns``), by binaries y.

    ``y[j, b] = 1`` when cluster j has bounds of kind b; equal bounds are one kind.
    """
    bounds, number = np.unique(sizes.columns.T, axis=0, return_counts=True)
    kinds = len(bounds)
    y = rows.new_columns(np.zeros(rows.k * kinds), integral=True)
    cluster, kind = np.divmod(np.arange(rows.k * kinds), kinds)
    one = np.ones(rows.k * kinds)
    rows.add((cluster, y, one), np.ones(rows.k), np.ones(rows.k))
    rows.add((kind, y, one), number.astype(float), number.astype(float))
    return [(cluster, y, bound) for bound in -bounds[kind].T.astype(float)]


def _add_connection(rows: _Rows, net: Adjacency, elastic: bool) -> None:
    """A flow of one commodity in each cluster, from its root to all of its nodes.

    ``inflow + supply - outflow = x`` at every node, ``inflow + supply <= p x`` and ``supply <= p
    root``, with one root at most; in an elastic model each further root counts one.
    """
    p, k, arcs = net.n_nodes, rows.k, len(net.near)
    root = rows.new_columns(np.zeros(p * k), integral=True)
    supply = rows.new_columns(np.zeros(p * k), ceiling=float(p))
    flow = rows.new_columns(np.zeros(arcs * k), ceiling=float(p))
    at = np.arange(p * k)
    own = (net.group[:, None] * k + np.arange(k)).ravel()
    out = (net.here[:, None] * k + np.arange(k)).ravel()
    into = (net.near[:, None] * k + np.arange(k)).ravel()
    one, many = np.ones(p * k), np.ones(arcs * k)
    arriving = [(into, flow, many), (at, supply, one)]
    rows.add(_joined(*arriving, (out, flow, -many), (at, own, -one)), 0.0 * one, 0.0 * one)
    least = np.full(p * k, -np.inf)
    rows.add(_joined(*arriving, (at, own, -p * one)), least, 0.0 * one)
    rows.add(_joined((at, supply, one), (at, root, -p * one)), least, 0.0 * one)
    more = [_give(rows, k, 1.0, (-1.0,))] if elastic else []
    rows.add(_joined((at % k, root, one), *more), np.full(k, -np.inf), np.ones(k))


def _add_linear(rows: _Rows, linear: LinearRows, unit: FloatArray | float, elastic: bool) -> None:
    """Linear rows; violations are counted in these units."""
    own, size = linear.A.tocoo(), linear.A.shape[0]
    scale = _row_scales(own.data, own.coords[0], size)
    give = [_give(rows, size, 1.0 / (unit * scale))] if elastic else []
    entries = _joined((*own.coords, own.data * scale[own.coords[0]]), *give)
    lower, upper = linear.lower - linear.give, linear.upper + linear.give
    rows.add(entries, lower * scale, upper * scale)


def mean_size(values: FloatArray) -> float:
    """Mean absolute value, 1 if all are 0: the unit in which violations of totals are counted."""
    return float(np.abs(values).mean()) or 1.0


def row_sizes(linear: LinearRows) -> FloatArray:
    """Mean absolute coefficient of each row, 1 if it has none: the unit of its violations."""
    size = abs(linear.A)
    mean = size.sum(axis=1) / np.maximum(np.diff(size.indptr), 1)
    return np.where(mean > 0.0, mean, 1.0)


def _row_scales(values: FloatArray, row: IntArray, n_rows: int) -> FloatArray:
    """Factors for rows that make the solver's absolute tolerance of 1e-6 negligible.

    Whole numbers of moderate size stay as they are: any tolerance below 1 is exact for them,
    and the solver finds better cutting planes.
    """
    largest, whole = np.zeros(n_rows), np.ones(n_rows, bool)
    np.maximum.at(largest, row, np.abs(values))
    whole[row[values != np.rint(values)]] = False
    keep = (whole & (largest < 1e6)) | (largest == 0)
    return np.where(keep, 1.0, 1e3 / np.where(keep, 1.0, largest))
