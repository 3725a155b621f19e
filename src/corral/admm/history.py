"""What a relaxed solver is asked, what it did in each iteration, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .._typing import FloatArray, IntArray
from ..deadline import NEVER, Deadline


@dataclass(frozen=True, eq=False)
class History:
    """Arrays over the iterations of a solver; entry ``t`` belongs to iteration ``t + 1``.

    Attributes
    ----------
    objective : (T,) array
        ``sum_ij x_ij cost_ij``, where the cost of point i in cluster j includes its weight; for
        k-means it is the squared distance to the centre.  Algorithm 1: with the x and the centres
        of that iteration.  Projected solver: with the box copy of x and the centres that x was
        found for.
    rho : (T,) array
        The penalty that the iteration used; in the projected solver, that of the box.
    residuals : dict of (T,) arrays
        By the name of the constraint, how far x is from fulfilling it.  Algorithm 1: the Euclidean
        norm of the gap, for must-links and cannot-links the absolute value of their one equation.
        Projected solver: a root mean square for the simplex and the box, the absolute value of a
        mean for the sphere, the largest gap for totals, pairs and linear rows.
    card_violations, must_link_violations, cannot_link_violations : (T,) int arrays
        The paper's CardV, MLV and CLV of the rounded labels (the largest entry of each row of x):
        points that have to change cluster for the sizes to fit, must-links across clusters, and
        cannot-links inside one.  The projected solver keeps must-links by construction and counts
        cannot-links between contracted groups once each.  The larger the problem, the fewer
        iterations are counted, and always the last; in between, the last counts are repeated.
    x : dict of (n, k) arrays
        The relaxed assignment at the iterations asked for, counted from 1.
    """

    objective: FloatArray
    rho: FloatArray
    residuals: dict[str, FloatArray]
    card_violations: IntArray
    must_link_violations: IntArray
    cannot_link_violations: IntArray
    x: dict[int, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.objective)

    def __repr__(self) -> str:
        if not len(self):
            return "History(0 iterations)"
        return (
            f"History({len(self)} iterations, objective {self.objective[-1]:.6g}, "
            f"CardV {self.card_violations[-1]}, MLV {self.must_link_violations[-1]}, "
            f"CLV {self.cannot_link_violations[-1]})"
        )


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a relaxed solver runs.

    The projected solver has converged when every residual is at most ``tol``; Algorithm 1, when the
    standard deviation of the last 10 objectives is.  At the deadline both end with what they have.
    """

    #: Penalty: of the box in scales of the costs for the projected solver, of every constraint in
    #: units of the costs for Algorithm 1.
    rho: float = 1.0
    #: Factor by which the penalty grows, in Algorithm 1 after every ``rho_every`` iterations.
    rho_growth: float = 1.03
    rho_every: int = 1
    tol: float = 0.01
    max_iter: int = 1000
    deadline: Deadline = NEVER
    #: Iterations, counted from 1, whose x the history keeps.
    record_x: Iterable[int] = ()
    #: Called with iteration, objective, residual and number of broken rules.
    progress: Callable[[int, float, float, int], None] | None = None
    #: Whether x is to become almost binary; otherwise the projected solver ends with its first
    #: phase, when it knows where the clusters are.
    hardens: bool = True
    #: Iterations of the projected solver between two counts of the violations.
    count_every: int = 1


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The answer of a relaxed solver."""

    labels: IntArray  # the plain rounding of x: the largest entry of each row, (n,)
    centers: FloatArray  # (k, d)
    history: History
    n_iter: int
    converged: bool  # whether the stop rule ended it, rather than max_iter
    x: FloatArray | None = None  # (n, k); None where a copy would take too much memory


class Recorder:
    """Collects a :class:`History`; one call costs O(n k + pairs).

    It counts violations of the pairs of rows ``must_link`` and ``cannot_link``, (p, 2), and of the
    lower and upper ``sizes``, (k,) each; without ``ordered`` these go to the clusters in the order
    that fits best.  A solver that works on contracted points gives the point of each row as
    ``group`` (n,).  x is kept at the iterations ``record_x``, counted from 1.

    Examples
    --------
    >>> import numpy as np
    >>> recorder = Recorder(2, cannot_link=np.array([[0, 1]]), record_x=(1,))
    >>> recorder.record(np.array([[0.9, 0.1], [0.6, 0.4]]), 3.5, 20.0, {"box": 0.0})
    >>> recorder.history()
    History(1 iterations, objective 3.5, CardV 0, MLV 0, CLV 1)
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        must_link: IntArray | None = None,
        cannot_link: IntArray | None = None,
        sizes: tuple[IntArray, IntArray] | None = None,
        ordered: bool = True,
        group: IntArray | None = None,
        record_x: Iterable[int] = (),
    ) -> None:
        no_pairs = np.empty((0, 2), np.int64)
        self._n_clusters = n_clusters
        self._must_link = no_pairs if must_link is None else must_link
        self._cannot_link = no_pairs if cannot_link is None else cannot_link
        if sizes is not None and not ordered:  # from the smallest up, to compare with sorted sizes
            order = np.lexsort(sizes[::-1])
            sizes = sizes[0][order], sizes[1][order]
        self._sizes, self._ordered = sizes, ordered
        self._group = group
        self._keep = frozenset(record_x)
        self._objective: list[float] = []
        self._rho: list[float] = []
        self._violations: list[tuple[int, int, int]] = []
        self._residuals: dict[str, list[float]] = {}
        self._x: dict[int, FloatArray] = {}

    def __len__(self) -> int:
        return len(self._objective)

    @property
    def wants_x(self) -> bool:
        """Whether the x of the next iteration is to be kept."""
        return len(self) + 1 in self._keep

    def record(
        self,
        x: FloatArray | None,
        objective: float,
        rho: float,
        residuals: Mapping[str, float],
        labels: IntArray | None = None,
    ) -> None:
        """Add one iteration; every call must name the same residuals.

        A solver that does not hold x as one array gives its rounded labels instead.  If it gives
        neither, the last counts are repeated.

        Raises
        ------
        FloatingPointError
            If the objective is not finite.
        """
        iteration = len(self) + 1
        if not np.isfinite(objective):
            raise FloatingPointError(
                f"the objective is {objective} at iteration {iteration} with rho = {rho:g}; "
                "it must stay finite: scale the data to about [-1, 1] or change rho"
            )
        self._objective.append(objective)
        self._rho.append(rho)
        for name, value in residuals.items():
            self._residuals.setdefault(name, []).append(value)
        if labels is None and x is not None:
            labels = x.argmax(axis=1)
        last = self._violations[-1] if labels is None else self._count(labels)
        self._violations.append(last)
        if iteration in self._keep and x is not None:
            self._x[iteration] = np.array(x if self._group is None else x[self._group], order="C")

    def recount(self, labels: IntArray) -> None:
        """Replace the counts of the last iteration by those of its rounded labels."""
        if self._violations:
            self._violations[-1] = self._count(labels)

    @property
    def broken(self) -> int:
        """Rules that the last recorded x breaks when rounded: CardV + MLV + CLV."""
        return sum(self._violations[-1]) if self._violations else 0

    def steady(self, tol: float, window: int) -> bool:
        """Whether the last ``window`` objectives have a standard deviation of at most ``tol``."""
        return len(self) >= window and float(np.std(self._objective[-window:])) <= tol

    def history(self) -> History:
        """Return what was recorded so far."""
        card, must, cannot = np.array(self._violations, np.int64).reshape(-1, 3).T
        return History(
            objective=np.array(self._objective),
            rho=np.array(self._rho),
            residuals={name: np.array(values) for name, values in self._residuals.items()},
            card_violations=card.copy(),
            must_link_violations=must.copy(),
            cannot_link_violations=cannot.copy(),
            x=dict(self._x),
        )

    def _count(self, labels: IntArray) -> tuple[int, int, int]:
        """CardV, MLV and CLV of the labels."""
        rows = labels if self._group is None else labels[self._group]
        must, cannot = rows[self._must_link], rows[self._cannot_link]
        return (
            self._misplaced(rows),
            int(np.count_nonzero(must[:, 0] != must[:, 1])),
            int(np.count_nonzero(cannot[:, 0] == cannot[:, 1])),
        )

    def _misplaced(self, labels: IntArray) -> int:
        """Fewest points that have to change cluster for the sizes to fit.

        Every point too many has to leave a cluster, every missing point has to arrive, and one move
        can do both.  For exact sizes it is half of ``sum_j |size_j - u_j|``.
        """
        if self._sizes is None:
            return 0
        lower, upper = self._sizes
        size = np.bincount(labels, minlength=self._n_clusters)
        if not self._ordered:
            size = np.sort(size)
        too_many = np.maximum(size - upper, 0).sum()
        too_few = np.maximum(lower - size, 0).sum()
        return int(max(too_many, too_few))
