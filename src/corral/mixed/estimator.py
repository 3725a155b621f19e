"""MixedGroups: groups that are alike, under rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from .. import numbers as at
from .._typing import FloatArray, IntArray
from ..backends.disk import OnDisk, files_of
from ..constraints import ConstraintSet
from ..deal import deal
from ..inputs import brought, is_dask, on_gpu, outline
from ..proof.relaxation import memory_at
from ..report import Report
from ..rows import MemoryRows
from ..rows.distance import EUCLIDEAN
from ..rules import Rules
from ..search.engine import Maker
from ..settings import Limit, coarse_groups
from ..shapes.base import Found, ShapedClustering, Task, searched
from .balance import balance_of, least_loss
from .columns import Columns, read_columns, standardized
from .report import MixedReport
from .rules import default_rules, price_of, room_of
from .shape import NOISE, DiverseShape, MixedShape

#: What groups shall have in common.
OBJECTIVES = ("means", "moments", "diversity")
#: Part of the total sum of squares that is rounding.
ROUNDING = 1e-14
#: Values of a bounded sum up to which rows of the same value are dealt one after another.
FEW_VALUES = 8
#: Factor of the work of a search that spreads categories of rows which stay together.  320 samples
#: of whole patients in 20 batches have 13.2 rows too many or too few with 4, after 0.5 s of a core,
#: 11.8 with 8 after 0.9 s, and 10.1 with 16 after 1.7 s (mixed.py batches, mean of ten draws).
WHOLE_WORK = 8.0
#: Bytes of memory that a fit takes for each row, and for each value without squares and with them.
#: 400,000 rows of 2 and 16 columns took 321 and 746 a row, 200,000 of 64 took 2,284 and 3,820.
ROW_BYTES, VALUE_BYTES = 300, (40, 64)
#: Rows of a block of distances.
BLOCK = 1000


@dataclass(eq=False, repr=False)
class MixedGroups(ShapedClustering):
    """Groups that are alike and mixed inside, under rules: the opposite of clusters.

    For study groups, classes, batches of samples, folds and treatment arms.  Every answer obeys
    every hard constraint, as with ``ConstrainedKMeans``.

    Parameters
    ----------
    n_clusters : int or "fewest", default=8
        Number of groups.
    objective : {"means", "moments", "diversity"}, default="means"
        "means": the means of all columns are as equal as possible, which is where the inertia is
        largest.  "moments": those of the squares too, so that groups are spread alike.
        "diversity": the sum of the distances inside groups is largest.
    spread : "auto" or list of columns, default="auto"
        Categories of which every group gets its share, rounded up or down; where rules do not allow
        that, as nearly as possible.  "auto" takes all columns of strings, categoricals and
        booleans.  A column whose values are all different, such as names, is left out.
    standardize : bool, default=True
        Whether columns count in standard deviations.  False counts them as they are: those of large
        numbers decide.
    effort : float, default=1.0
        Factor of the work of the search.
    time_limit : float, default=None
        Seconds; as in ``ConstrainedKMeans``.
    random_state : int, RandomState or None, default=None
    verbose : bool or int, default=False
    constraints : Constraint, iterable of them, or None, default=None
        Used if ``fit`` is given none; as in ``ConstrainedKMeans``.

    Attributes
    ----------
    labels_ : (n_samples,) int array
    n_clusters_ : int
    inertia_ : float
        What is maximised: the sum of squared distances to the means of the groups, in the columns
        that the search sees (standardised, with their squares for "moments"); for "diversity" the
        sum of the distances inside groups.
    bound_ : float
        What no groups of these sizes can exceed.
    n_iter_ : int
        Answers that the search made.
    report_ : MixedReport
        The audit, the table of means and spreads, and the imbalance.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for data frames.

    Notes
    -----
    Sizes are as equal as possible unless ``ClusterSizes`` says otherwise.  This, and the spread of
    the categories, are soft rules at a high price: they yield to rules that are given.

    Any row may change places with any other, so all rows are brought into this process's memory:
    paths of ``.npy`` and Parquet files (whose columns may hold words), memory maps, Dask
    collections and arrays on a GPU have the groups that the same rows have in memory.

    The sum of the inertia and of ``|S|^2 / W`` of the groups is constant (S and W are the sums of
    their rows, about the mean of all, and of weights), so the search makes the latter small.

    References
    ----------
    M. Papenberg, G. W. Klau, "Using anticlustering to partition data sets into equivalent parts",
    Psychological Methods, 2021.
    M. Papenberg, "k-plus anticlustering", British Journal of Mathematical and Statistical
    Psychology, 2024: the squares.

    Examples
    --------
    >>> from corral import CannotLink, MixedGroups
    >>> scores = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]
    >>> model = MixedGroups(2, random_state=0).fit(scores, constraints=CannotLink([(0, 7)]))
    >>> [sum(scores[i][0] for i in range(8) if model.labels_[i] == j) for j in range(2)]
    [18.0, 18.0]
    >>> model.report_.imbalance, bool(model.labels_[0] != model.labels_[7])
    (0.0, True)
    """

    _limits: ClassVar[dict[str, Limit]] = {"objective": Limit(None, words=OBJECTIVES)}

    objective: str = "means"
    spread: Any = field(default="auto", kw_only=True)
    standardize: bool = field(default=True, kw_only=True)

    def _at_hand(self, X: Any) -> tuple[Any, str]:
        """X in this process's memory, if it fits, and why it was brought there, or nothing."""
        if not (OnDisk.takes(X, None) or is_dask(X) or on_gpu(X)):
            return X, ""
        files = files_of(X)
        if files is not None:
            shape = sum(file.n_rows for file in files.files), files.n_features
        else:  # the rows of a Dask frame are counted
            shape = (len(X), len(X.columns)) if hasattr(X, "columns") else X.shape
        needed = 0 if np.isnan(shape[0]) else self._memory(shape[0], shape[-1])
        if needed > (there := memory_at()):
            raise MemoryError(
                f"MixedGroups needs all rows in memory: {shape[0]:,} rows take about "
                f"{needed / 2**30:.1f} GiB, and this machine has {there / 2**30:.1f}.  Draw parts "
                "of the rows at random, and make groups of each part."
            )
        if files is not None:
            X = files.whole()
        elif is_dask(X):
            X = X.compute()  # a frame keeps its columns
        else:
            X = np.array(brought(X))
        memory = f"{self._memory(X.shape[0], X.shape[-1]) / 2**30:.2g} GiB"
        return X, f"mixed groups are made where all rows are at hand, in about {memory}"

    def _memory(self, n_rows: int, n_columns: int) -> int:
        """Bytes that a fit takes, about."""
        return n_rows * (ROW_BYTES + VALUE_BYTES[self.objective == "moments"] * n_columns)

    def _points(self, X: Any) -> FloatArray:
        """What the search sees: columns about their means, and squares of them."""
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise ValueError(f"`standardize` is {self.standardize!r}; it must be True or False.")
        return self._seen(self._columns(X))

    def _columns(self, X: Any) -> Columns:
        return read_columns(X, self.spread, self)

    def _seen(self, columns: Columns) -> FloatArray:
        """The columns that the objective is about."""
        _, measured = columns.measured
        points = standardized(measured, scales=self.standardize)
        if self.objective == "moments":
            squares = standardized(points**2, scales=self.standardize)
            points = np.hstack([points, squares])
        return points

    def _completed(
        self,
        given: ConstraintSet,
        X: Any,
        points: FloatArray,
        weight: FloatArray | None,
        n_clusters: int,
    ) -> ConstraintSet:
        n = len(points)
        mass = np.ones(n) if weight is None else weight
        price = price_of(points, mass)
        if self.objective == "diversity":
            price = float(np.sqrt(price)) * 2.0 * (1.0 + n / n_clusters)
        return given.with_(*default_rules(given, self._columns(X), n, n_clusters, price))

    def _search(self, task: Task) -> Found:
        rules, columns = task.rules, self._columns(task.X)
        rows = MemoryRows.of(task.points, task.weight, rules.group, EUCLIDEAN)
        dealt = _dealt(rules, rows)
        if self.objective == "diversity":
            distance = distances_of(task)
            shape: MixedShape = DiverseShape(rows, rules, *dealt, distance)
            perfect = -float(distance.sum()) / 2.0
        else:
            shape = MixedShape(rows, rules, *dealt)
            room = room_of(task.given, len(task.points), task.n_clusters)
            perfect = self._least(columns, task.weight, room) + ROUNDING * rows.spread
        task.events.note("groups", f"mixed, objective {self.objective!r}")
        makers = _makers(task, shape)
        # Rows that stay together are hard to spread, and few of them are quickly searched.
        hard = bool(rules.soft_totals) and rules.count.max() > 1
        work = WHOLE_WORK if hard and rules.n_groups <= coarse_groups(rules.n_clusters) else 1.0
        found = searched(task, rules, shape, makers, perfect=perfect, work=work)
        attributes = {"n_iter_": task.tally.answers}
        return Found(rules.to_rows(found.labels), attributes, tuple(task.events.table()))

    def _least(self, columns: Columns, weight: FloatArray, sizes: IntArray) -> float:
        """What the means of groups of these sizes miss at least, by counting."""
        if not np.all(weight == 1.0):
            return 0.0
        _, measured = columns.measured
        spreads = measured.std(axis=0) if self.standardize else np.ones(measured.shape[1])
        return least_loss(measured, spreads, sizes)

    def _audited(self, report: Report, task: Task, found: Found) -> Report:
        """The report with the balance of the groups and what could be reached."""
        columns, weight = self._columns(task.X), task.weight
        sizes = np.array(report.sizes)
        if self.objective == "diversity":
            reached = diversity_of(task.points, task.weight, found.labels, task.n_clusters)
            whole = np.zeros(len(found.labels), np.int64)
            # With squared distances that are these, the inertia of a group of s rows is the sum
            # of its distances by s, and all inertias add up to that of the whole at most.
            most = diversity_of(task.points, task.weight, whole, 1) * sizes.max() / sizes.sum()
            report = replace(report, inertia=reached, metric="distances inside groups")
        else:
            middle = np.average(task.points, axis=0, weights=weight if weight.any() else None)
            total = float(weight @ ((task.points - middle) ** 2).sum(axis=1))
            most = total - self._least(columns, weight, sizes)
        share = min(report.inertia / most, 1.0) if most > 0.0 else 1.0
        known = {each: value for each, value in vars(report).items() if each != "balance"}
        balance = balance_of(columns, found.labels, task.n_clusters, weight, share)
        return MixedReport(**known, balance=balance, most=most)

    def _store(self, X: Any, found: Found, report: Report) -> None:
        """Set all fitted attributes; the columns of X need not be numbers."""
        validate_data(self, outline(X), skip_check_array=True)
        for name, value in found.attributes.items():
            setattr(self, name, value)
        self.labels_ = found.labels.astype(np.int32)
        self.n_clusters_ = len(report.sizes)
        self.inertia_, self.report_ = report.inertia, report


def _makers(task: Task, shape: MixedShape) -> Iterator[tuple[str, Maker]]:
    """Names and makers of labels: dealt in batches, several times if there are few rows."""
    rules = task.rules
    room = room_of(task.given, len(task.points), task.n_clusters)
    fixed = np.full(rules.n_groups, -1, np.int64)
    fixed[rules.pins[:, 0]] = rules.pins[:, 1]
    number = at.PARENTS if rules.n_groups <= coarse_groups(rules.n_clusters) else 1
    for turn in range(number):
        options: Any = {"fixed": fixed, "noise": NOISE * (turn > 1), "deadline": task.deadline}
        strata = shape.strata if turn % 2 == 0 else None
        start = partial(deal, shape.dealt, rules.count, room, task.random_state, strata, **options)
        yield "batches", start


def _dealt(rules: Rules, rows: MemoryRows) -> tuple[FloatArray, IntArray]:
    """What is dealt, times weights, and the combinations of bounded values that groups have.

    Bounded values count as much as a column each.
    """
    points: FloatArray = rows.weight[:, None] * (np.asarray(rows.given[0]) - rows.middle)
    values = [total.values for total in (*rules.totals, *rules.soft_totals)]
    if not values:
        return points, np.zeros(len(points), np.int64)
    bounded = np.column_stack(values)
    few = [column for column in bounded.T if len(np.unique(column)) <= FEW_VALUES]
    strata = np.zeros(len(points), np.int64)
    if few:
        strata = np.unique(np.column_stack(few), axis=0, return_inverse=True)[1].reshape(-1)
    bounded = bounded - np.outer(rules.count, bounded.sum(axis=0)) / rules.count.sum()
    spread = np.sqrt((bounded**2 / rules.count[:, None]).sum(axis=0) / rules.count.sum())
    unit = np.sqrt(rows.spread / max(rows.total_weight, 1e-300) / max(points.shape[1], 1))
    scaled = bounded * (unit * float(rows.weight.sum()) / rules.count.sum())
    scaled /= np.where(spread > 0.0, spread, 1.0)
    return np.hstack([points, scaled]), strata


def distances_of(task: Task) -> FloatArray:
    """Sums of the weighted distances between groups of rows, (m, m), 0 inside them."""
    n = len(task.points)
    check_pairs(n)
    distance: FloatArray = cdist(task.points, task.points)
    if not np.all(task.weight == 1.0):
        distance *= task.weight[:, None] * task.weight
    group = task.rules.group
    if group is not None and task.rules.n_groups < n:
        member = sparse.csr_array((np.ones(n), (group, np.arange(n))))
        distance = np.ascontiguousarray(member @ (member @ distance).T)
    np.fill_diagonal(distance, 0.0)
    return distance


def diversity_of(
    points: FloatArray, weight: FloatArray, labels: IntArray, n_clusters: int
) -> float:
    """Sum of the weighted distances inside groups, computed from the rows."""
    total = 0.0
    for j in range(n_clusters):
        own = np.flatnonzero(labels == j)
        for block in gen_batches(len(own), BLOCK):
            some = own[block]
            total += float(weight[some] @ cdist(points[some], points[own]) @ weight[own]) / 2.0
    return total


def check_pairs(n_rows: int) -> None:
    """Refuse distances of all pairs that do not fit into memory."""
    needed, there = 24 * n_rows**2, memory_at()
    if needed > there:
        raise MemoryError(
            f"objective='diversity' needs the distances of all pairs of {n_rows:,} rows, about "
            f"{needed / 2**30:.1f} GiB of memory, and this machine has {there / 2**30:.1f}; take "
            "objective='means' or 'moments', which need none."
        )
