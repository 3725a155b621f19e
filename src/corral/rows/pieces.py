"""Candidates of a piece of all rows, and the passes over them.

A piece has the candidates of the rows of this process, or of one shard.  It is made of a *request*,
wherever and whenever that is needed, and then kept: the candidates at some prices, then those of
the rows that other prices leave in doubt, and so on.  Each function here takes a piece first and
gives small NumPy arrays; :class:`.choices.Choices` adds up what they give for all pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from .._arrays import to_host
from .._typing import FloatArray, IntArray
from ..constraints._checks import sums_by
from .candidates import Candidates, Preferred

#: Gives candidates at prices: so many for each row, of all rows of a piece or of those given.
Look = Callable[[FloatArray, int, Any], Candidates]
#: Rows of a piece that are not where they are cheapest, and their clusters.
Patch = tuple[IntArray, IntArray]

#: Entries of a work array on a device, (m, t).  More of them need more memory.
ENTRIES = 1 << 27
#: Levels of a share of one row.  On a device shares are added as whole numbers, whose sum does not
#: depend on the order.
LEVELS = 2.0**32


@dataclass(frozen=True)
class Request:
    """Candidates so many a row, at the first prices; doubtful rows then have those at later ones.

    Prices are kept because a worker that is lost has to make its piece again.
    """

    number: int
    prices: tuple[FloatArray, ...]
    key: str = field(default_factory=lambda: uuid4().hex)

    @property
    def name(self) -> tuple[str, int]:
        """Different for every request."""
        return self.key, len(self.prices)

    @property
    def before(self) -> Request:
        """The request without the last prices."""
        return replace(self, prices=self.prices[:-1])

    def then(self, prices: FloatArray) -> Request:
        """The request with further prices."""
        return replace(self, prices=(*self.prices, prices))


class Piece:
    """Candidates of some rows, and where these would be at the last prices asked about.

    ``gain`` is what the last prices of the request made some row save by a cluster that was not
    among its candidates before.
    """

    def __init__(self, table: Candidates, gain: float = 0.0) -> None:
        self.table, self.gain = table, gain
        self._last: tuple[FloatArray, Preferred] | None = None

    def choice(self, prices: FloatArray) -> Preferred:
        """The cheapest candidate of each row."""
        if self._last is None or not np.array_equal(self._last[0], prices):
            self._last = prices, self.table.preferred(prices)
        return self._last[1]


def piece_of(memo: dict[str, Any], look: Look, request: Request) -> Piece:
    """The piece of a request, from the memo or made anew."""
    found = memo.get("piece")
    if found is not None and found[0] == request.name:
        piece: Piece = found[1]
        return piece
    if len(request.prices) == 1:
        piece = Piece(look(request.prices[0], request.number, None))
    else:
        piece = _renewed(piece_of(memo, look, request.before), look, request)
    memo["piece"] = request.name, piece
    return piece


def _renewed(piece: Piece, look: Look, request: Request) -> Piece:
    """The piece with new candidates for the rows that the last prices leave in doubt."""
    table, prices = piece.table, request.prices[-1]
    best = piece.choice(prices).best
    doubtful = table.doubtful(prices, best)
    if not len(doubtful):
        return Piece(table)
    others = look(prices, request.number, doubtful)
    least = table.xp.min(others.priced(prices), axis=1)
    gain = float(table.xp.max(best[doubtful] - least))
    return Piece(table.replaced(doubtful, others), max(gain, 0.0))


class Opened(NamedTuple):
    """Rows of small margin with their candidates, in this process's memory."""

    rows: IntArray  # counted in their piece, (r,)
    cluster: IntArray  # (r, t)
    cost: FloatArray  # infinite for moves that take no part, (r, t)
    labels: IntArray  # (r,)


def counted(piece: Piece, prices: FloatArray) -> IntArray:
    """Rows that prefer each cluster, (k,)."""
    return _counts(piece.choice(prices).labels, len(prices))


def _counts(labels: Any, k: int) -> IntArray:
    if isinstance(labels, np.ndarray):
        return np.bincount(labels, minlength=k)
    found: IntArray = to_host(labels.bincount(minlength=k))
    return found


def held(piece: Piece, prices: FloatArray, temperature: float) -> FloatArray:
    """Rows that each cluster holds in shares, (k,)."""
    table, k = piece.table, len(prices)
    if table.xp is np:
        share = table.soft(prices, temperature)
        share = share if table.count is None else share * table.count[:, None]
        found: FloatArray = sums_by(table.cluster.ravel(), share.ravel(), k)
        return found
    total = table.xp.zeros(k, dtype=table.xp.int64, device=table.cost.device)
    for part in _parts(table):
        whole = (part.soft(prices, temperature).double() * LEVELS).long()
        total.index_add_(0, part.cluster.ravel(), whole.ravel())
    return np.asarray(to_host(total) / LEVELS, np.float64)


def _parts(table: Candidates) -> list[Candidates]:
    """The candidates, cut where work arrays on a device would become too large."""
    m, t = table.shape
    step = max(ENTRIES // t, 1)
    return [table.part(slice(start, start + step)) for start in range(0, m, step)]


def spent(piece: Piece) -> float:
    """What all rows cost in their cheapest clusters, without prices."""
    xp, table = piece.table.xp, piece.table
    least = xp.astype(xp.min(table.cost, axis=1), xp.float64)
    return float(xp.sum(least if table.count is None else least * table.count))


def soft_cost(piece: Piece, prices: FloatArray, temperature: float) -> float:
    """What the shares cost, without prices."""
    total, xp = 0.0, piece.table.xp
    for part in [piece.table] if xp is np else _parts(piece.table):
        share = part.soft(prices, temperature)
        costs = share * xp.where(xp.isfinite(part.cost), part.cost, 0.0)
        rows = xp.sum(xp.astype(costs, xp.float64), axis=1)
        total += float(xp.sum(rows if part.count is None else rows * part.count))
    return total


def mean_margin(piece: Piece, prices: FloatArray) -> tuple[float, int]:
    """Sum and number of the margins that are finite."""
    xp, margin = piece.table.xp, piece.choice(prices).margin
    known = xp.isfinite(margin)
    return float(xp.sum(xp.where(known, margin, 0.0))), int(xp.sum(known))


def margins(piece: Piece, prices: FloatArray, stride: int) -> tuple[FloatArray, IntArray]:
    """Margins and labels of every ``stride``-th row."""
    now = piece.choice(prices)
    return to_host(now.margin[::stride]), to_host(now.labels[::stride])


def near_moves(piece: Piece, prices: FloatArray, reach: FloatArray, farthest: float) -> Opened:
    """Rows whose margin is within the reach of their cluster.

    Their moves cost up to ``farthest`` times that.
    """
    table, now = piece.table, piece.choice(prices)
    limit = table.put(reach)[now.labels]
    rows = table.xp.nonzero(now.margin <= limit)[0]
    allowed = _gaps(piece, prices)[rows] <= farthest * limit[rows][:, None]
    return _opened(piece, prices, rows, allowed)


def least_moves(piece: Piece, prices: FloatArray, each: int) -> Opened:
    """Rows with one of the cheapest moves, ``each`` from one cluster to another; 0 for all."""
    table, now = piece.table, piece.choice(prices)
    xp, (m, t) = table.xp, table.shape
    if not each:
        every = xp.arange(m, device=now.slot.device)
        return _opened(piece, prices, every, xp.isfinite(table.cost))
    gap = _gaps(piece, prices)
    entry = xp.nonzero(xp.reshape(xp.isfinite(gap), (-1,)))[0]
    own = xp.arange(m, device=now.slot.device) * t + now.slot
    leaving = xp.ones(m * t, dtype=xp.bool, device=now.slot.device)
    leaving[own] = False
    entry = entry[leaving[entry]]
    pair = xp.astype(now.labels, xp.int64)[entry // t] * len(prices)
    pair = pair + xp.reshape(table.cluster, (-1,))[entry]
    # A float that is not negative is ordered as the whole number of the same bits.
    gap = xp.astype(xp.reshape(gap, (-1,))[entry], xp.float32)
    key = (pair << 31) + xp.astype(gap.view(xp.int32), xp.int64)
    order = xp.argsort(key)
    pair = pair[order]
    place = xp.searchsorted(pair, pair)
    chosen = entry[order[xp.arange(len(pair), device=pair.device) - place < each]]
    allowed = xp.zeros(m * t, dtype=xp.bool, device=now.slot.device)
    allowed[chosen] = True
    allowed = xp.reshape(allowed, (m, t))
    rows = xp.nonzero(xp.any(allowed, axis=1))[0]
    return _opened(piece, prices, rows, allowed[rows])


def _gaps(piece: Piece, prices: FloatArray) -> Any:
    """What each candidate costs more than the best, prices included, (m, t)."""
    return piece.table.priced(prices) - piece.choice(prices).best[:, None]


def _opened(piece: Piece, prices: FloatArray, rows: Any, allowed: Any) -> Opened:
    """Rows in this process's memory; moves that are not allowed cost infinitely much."""
    table, now = piece.table, piece.choice(prices)
    allowed[table.xp.arange(len(rows), device=rows.device), now.slot[rows]] = True
    cost = table.xp.where(allowed, table.cost[rows], table.xp.inf)
    return Opened(*(to_host(a) for a in (rows, table.cluster[rows], cost, now.labels[rows])))


def missed(
    piece: Piece, before: FloatArray, after: FloatArray, rows: IntArray, labels: IntArray
) -> tuple[float, float]:
    """The most that a row would save elsewhere at later prices, and the largest cost there.

    ``rows`` were moved to ``labels``; all others are where they were cheapest before.
    """
    table, now = piece.table, piece.choice(before)
    if not table.shape[0]:
        return 0.0, 0.0
    xp, total = table.xp, table.priced(after)
    own = total[xp.arange(len(now.slot), device=now.slot.device), now.slot]
    some, where = table.put(rows), table.put(labels)
    own[some] = xp.min(xp.where(table.cluster[some] == where[:, None], total[some], xp.inf), axis=1)
    least = xp.min(total, axis=1)
    return float(xp.max(own - least)), float(xp.max(xp.abs(own)))


def settled(piece: Piece, prices: FloatArray, rows: IntArray, labels: IntArray) -> Any:
    """Labels where the piece is: of ``rows`` as given, of all others the cheapest candidates."""
    table = piece.table
    found = table.xp.astype(piece.choice(prices).labels, table.xp.int64)
    if len(rows):
        found = found + 0
        found[table.put(rows)] = table.put(labels)
    return found


def settled_here(piece: Piece, prices: FloatArray, rows: IntArray, labels: IntArray) -> IntArray:
    """The same labels in this process's memory."""
    found: IntArray = to_host(settled(piece, prices, rows, labels))
    return found


def cost(piece: Piece, prices: FloatArray, rows: IntArray, labels: IntArray) -> float:
    """What all rows cost without prices, ``rows`` in ``labels``, the others where cheapest."""
    table, now = piece.table, piece.choice(prices)
    xp, some, where = table.xp, table.put(rows), table.put(labels)
    own = table.cost[xp.arange(len(now.slot), device=now.slot.device), now.slot]
    own[some] = xp.min(
        xp.where(table.cluster[some] == where[:, None], table.cost[some], xp.inf), axis=1
    )
    return float(xp.sum(xp.astype(own, xp.float64)))


def gain(piece: Piece) -> float:
    """What a cluster outside the candidates saved, at the last prices of the request."""
    return piece.gain
