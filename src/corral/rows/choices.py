"""Candidates of all rows, wherever these are: what assignments ask of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol, Self

import numpy as np

from .._typing import FloatArray, IntArray, Matrix
from ..deadline import NEVER, Deadline
from . import pieces
from .algebra import sums_by_cluster
from .candidates import Candidates
from .pieces import Look, Opened, Patch, Piece, Request
from .shard import Each

#: Rows whose margins give the quantiles of all margins.
MARGINS = 400_000


class Source(Protocol):
    """Where pieces are."""

    far: bool  # whether that is outside this process's memory
    n_pieces: int

    def map(
        self, function: Callable[..., Any], request: Request, *args: Any, each: Each = None
    ) -> list[Any]:
        """``function(piece, *args, *own)`` for every piece of the request, in order.

        OutOfTime is raised after the deadline.
        """

    def placed(self, request: Request, prices: FloatArray, patches: Sequence[Patch]) -> Any:
        """Labels of all rows: cheapest at the prices, but for the patches.

        They are an array in this process, or stay where the rows are.
        """


class Here:
    """One piece in this process, which ``look`` makes."""

    far, n_pieces = False, 1

    def __init__(self, look: Look) -> None:
        self.look = look
        self._memo: dict[str, Any] = {}

    def map(
        self, function: Callable[..., Any], request: Request, *args: Any, each: Each = None
    ) -> list[Any]:
        """As :class:`Source`; the look asks the deadline."""
        (own,) = [()] if each is None else each
        return [function(self.piece(request), *args, *own)]

    def placed(self, request: Request, prices: FloatArray, patches: Sequence[Patch]) -> IntArray:
        """As :class:`Source`."""
        labels: IntArray = pieces.settled(self.piece(request), prices, *patches[0])
        return labels

    def piece(self, request: Request) -> Piece:
        """The one piece."""
        return pieces.piece_of(self._memo, self.look, request)

    def latest(self) -> Candidates | None:
        """The candidates that were last asked for."""
        return self._memo["piece"][1].table if "piece" in self._memo else None


@dataclass(frozen=True)
class Choices:
    """Candidates of all rows, wherever these are; each method is one pass over them."""

    source: Any  # a :class:`Source`
    request: Request
    n_rows: int
    n_clusters: int
    eps: float  # relative rounding of the costs

    @property
    def number(self) -> int:
        """Candidates of each row."""
        return min(self.request.number, self.n_clusters)

    @property
    def far(self) -> bool:
        """Whether they are outside this process's memory."""
        return bool(self.source.far)

    def _pass(self, function: Callable[..., Any], *args: Any, each: Each = None) -> list[Any]:
        found: list[Any] = self.source.map(function, self.request, *args, each=each)
        return found

    def counted(self, prices: FloatArray) -> IntArray:
        """Rows that prefer each cluster at the prices, (k,)."""
        total: IntArray = reduce(add, self._pass(pieces.counted, prices))
        return total

    def held(self, prices: FloatArray, temperature: float) -> FloatArray:
        """Rows that each cluster holds in shares, (k,)."""
        total: FloatArray = reduce(add, self._pass(pieces.held, prices, temperature))
        return total

    def spent(self) -> float:
        """What all rows cost in their cheapest clusters."""
        return float(sum(self._pass(pieces.spent)))

    def soft_cost(self, prices: FloatArray, temperature: float) -> float:
        """What the shares cost, without prices."""
        return float(sum(self._pass(pieces.soft_cost, prices, temperature)))

    def mean_margin(self, prices: FloatArray) -> float:
        """Mean of what the next best candidates cost more; 0 if no row has two."""
        total, number = map(sum, zip(*self._pass(pieces.mean_margin, prices), strict=True))
        return total / number if number else 0.0

    def margins(self, prices: FloatArray) -> tuple[FloatArray, IntArray, int]:
        """Margins and labels of some rows, evenly spaced, and how many rows each stands for."""
        stride = max(1, self.n_rows // MARGINS)
        columns = zip(*self._pass(pieces.margins, prices, stride), strict=True)
        found, labels = (np.concatenate(column) for column in columns)
        return found, labels, stride

    def near_moves(self, prices: FloatArray, reach: FloatArray, farthest: float) -> list[Opened]:
        """Rows of each piece whose margin is within reach, and moves up to so many times that."""
        return self._pass(pieces.near_moves, prices, reach, farthest)

    def least_moves(self, prices: FloatArray, each: int) -> list[Opened]:
        """Rows of each piece with the cheapest moves between two clusters; 0 for all moves."""
        return self._pass(pieces.least_moves, prices, each)

    def missed(
        self, before: FloatArray, after: FloatArray, patches: Sequence[Patch]
    ) -> tuple[float, float]:
        """The most that a row would save by another of its candidates, and the largest cost."""
        worst, largest = zip(*self._pass(pieces.missed, before, after, each=patches), strict=True)
        return max(worst), max(largest)

    def cost(self, prices: FloatArray, patches: Sequence[Patch]) -> float:
        """What all rows cost without prices, those of the patches there."""
        return float(sum(self._pass(pieces.cost, prices, each=patches)))

    def placed(self, prices: FloatArray, patches: Sequence[Patch]) -> Any:
        """Labels of all rows, :meth:`Source.placed`."""
        return self.source.placed(self.request, prices, patches)

    def labels(self, prices: FloatArray) -> IntArray:
        """Cheapest candidates of all rows at the prices, in this process's memory."""
        none = np.empty(0, np.int64)
        return np.concatenate(self._pass(pieces.settled_here, prices, none, none))

    def renewed(self, prices: FloatArray) -> tuple[Choices, float]:
        """The same with new candidates where the prices leave doubt, and what these save a row."""
        same = replace(self, request=self.request.then(prices))
        return same, max(same._pass(pieces.gain))

    def anew(self, prices: FloatArray, number: int) -> Choices:
        """Other candidates of all rows."""
        return replace(self, request=Request(number, (prices,)))


class ChoosesHere:
    """Rows in this process that choose among candidates; see :class:`.protocol.Rows`."""

    points: Matrix
    weight: FloatArray
    free: IntArray | None = None  # groups that :meth:`choices` has; None for all

    def candidates(
        self,
        centers: FloatArray,
        prices: FloatArray,
        number: int,
        *,
        groups: IntArray | None = None,
        count: IntArray | None = None,
        like: Candidates | None = None,
        deadline: Deadline = NEVER,
    ) -> Candidates:
        """As :class:`.protocol.Rows`."""
        raise NotImplementedError

    def centres(self, sums: Any, mass: FloatArray, fallback: FloatArray | None) -> FloatArray:
        """As :class:`.protocol.Rows`."""
        raise NotImplementedError

    def marked(self, free: IntArray) -> Self:
        """The same rows, of which :meth:`choices` has only those given by number."""
        same = copy(self)
        same.free = free
        return same

    def choices(
        self,
        centers: FloatArray,
        prices: FloatArray,
        number: int,
        *,
        count: IntArray | None = None,
        like: Choices | None = None,
        deadline: Deadline = NEVER,
    ) -> Choices:
        """One piece in this process."""
        groups = np.arange(len(self.weight)) if self.free is None else self.free
        before = None if like is None else like.source.latest()
        uneven = count if count is not None and np.ptp(count) else None

        def look(prices: FloatArray, number: int, some: Any) -> Candidates:
            which, known = (groups, before) if some is None else (groups[some], None)
            found = self.candidates(
                centers, prices, number, groups=which, count=count, like=known, deadline=deadline
            )
            return replace(found, count=None if uneven is None else uneven[which])

        eps = float(np.finfo(self.points.dtype).eps)
        return Choices(Here(look), Request(number, (prices,)), len(groups), len(prices), eps)

    def soft_means(
        self, choices: Choices, prices: FloatArray, temperature: float, fallback: FloatArray
    ) -> FloatArray:
        """By a sparse matrix of the shares of all groups."""
        table = choices.source.piece(choices.request).table
        share = table.soft(prices, temperature) * self.weight[:, None]
        share = share.astype(self.points.dtype, copy=False)
        sums, mass = sums_by_cluster(self.points, table.cluster, share, len(fallback))
        return self.centres(sums, mass, fallback)
