"""Pictures of a report, as data that a page can hold, and the sample of points they show."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._arrays import namespace, to_host
from .._text import in_digits
from .._typing import FloatArray, IntArray, Matrix
from ..audit import Entry, Findings, PointPieces
from ..constraints import CannotLink, Constraint, ConstraintSet, MustLink
from ..constraints.clusters import ClusterNames
from ..geo.shapes import Map
from ..plots import plot_assignment, plot_clusters, plot_convergence
from ..plots.bounds import draw_measure, measure_sizes, measure_totals
from ..plots.maps import draw_map, size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..admm.history import History

#: Most rows in the sample of the points.  Fewer leave holes in the picture of many points that the
#: data do not have; more make the model larger.
MOST_ROWS = 20_000
#: Most stored numbers in the sample, 8 bytes each: 8 MB.  With wide rows it holds fewer of them.
MOST_ENTRIES = 1_000_000

#: Width and height of a picture, and of a panel of several, in inches.  The page makes them larger
#: where there is room; a phone shows them nearly as they are, so that their words can be read.
PICTURE, PANEL = (4.6, 4.4), (4.4, 2.9)
#: Characters of a title over a picture, and of names along and beside its axes.
TITLE, ALONG, BESIDE = 54, 60, 40

MISSING = "The pictures need matplotlib: pip install 'corral-clustering[plot]'."


@dataclass(frozen=True, eq=False)
class View:
    """What pictures need of an answer: the labels of all rows, and a sample of the points."""

    labels: IntArray  # of all rows, (n,)
    centers: FloatArray  # (k, d)
    rows: IntArray  # which rows the sample holds, in ascending order, (m,)
    points: Matrix  # copies of these rows, (m, d)

    @classmethod
    def of(
        cls, points: PointPieces, labels: IntArray, entries: Sequence[Entry], centers: FloatArray
    ) -> View:
        """Take a sample of the rows; the same arguments give the same sample.

        Up to half of it are ends of links, those of broken links first; the others are any rows, so
        that the picture has no holes where rows have no links.  ``entries`` are what the audit
        found of each constraint.
        """
        n, room = len(labels), _room(points)
        rows = np.arange(n) if n <= room else _sample(n, room, entries)
        return cls(labels, centers, rows, _fetch(points, rows))

    def links(self, constraints: Any) -> tuple[Constraint, ...]:
        """The links between rows of the sample, by their position in the sample."""
        inside = (link.subset(self.rows) for link in _links(ConstraintSet(constraints)))
        return tuple(link for link in inside if link is not None)


def _links(rules: ConstraintSet) -> tuple[MustLink | CannotLink, ...]:
    return (*rules.of_kind(MustLink), *rules.of_kind(CannotLink))


def _room(points: PointPieces) -> int:
    """How many rows the sample may hold."""
    n, per_row = max(sum(points.lengths), 1), float(points.n_features)
    if min(n, MOST_ROWS) * per_row > MOST_ENTRIES:  # sparse rows may be shorter than they look
        per_row = sum(points.map_points(stored_entries)) / n
    return int(np.clip(MOST_ENTRIES / max(per_row, 1.0), 1, MOST_ROWS))


def _sample(n: int, room: int, entries: Sequence[Entry]) -> IntArray:
    """As many rows as there is room for, in ascending order."""
    links = _links(ConstraintSet([entry.constraint for entry in entries]))
    broken_of = {id(entry.constraint): entry.violations.where for entry in entries}
    enough = room  # of each kind
    broken = [link.pairs[broken_of[id(link)][:enough]].ravel() for link in links]
    linked = [link.pairs[:enough].ravel() for link in links]
    others = np.random.default_rng(0).choice(n, min(n, enough), replace=False)
    ends = _first_of(np.concatenate([*broken, *linked, others[:0]]), -(-room // 2))
    return np.sort(_first_of(np.concatenate([ends, others]), room))


def _first_of(rows: IntArray, most: int) -> IntArray:
    """The first so many different rows, in the order given."""
    first = np.unique(rows, return_index=True)[1]
    return rows[np.sort(first)[:most]]


def _fetch(points: PointPieces, rows: IntArray) -> Matrix:
    """Copies of some rows, given in ascending order."""
    starts = np.concatenate([[0], np.cumsum(points.lengths)])
    own = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    each = [(part - start,) for part, start in zip(own, starts[:-1], strict=True)]
    parts = points.map_points(take_rows, each=each)
    is_sparse = sparse.issparse(parts[0])
    return sparse.csr_array(sparse.vstack(parts)) if is_sparse else np.concatenate(parts)


def stored_entries(points: Any) -> int:
    """Numbers that a piece of the points stores."""
    return int(points.nnz if sparse.issparse(points) else np.prod(points.shape))


def take_rows(points: Any, rows: IntArray) -> Matrix:
    """Some rows of a piece of the points, in this process's memory."""
    xp = namespace(points)
    own = rows if xp is np else xp.asarray(rows, device=points.device)
    taken: Matrix = points[own] if xp is np else to_host(points[own])
    return taken


@dataclass(frozen=True)
class Pictures:
    """The pictures of a report as HTML; empty where there is nothing to draw."""

    clusters: str = ""
    map: str = ""
    bounds: str = ""
    solver: str = ""


def to_pictures(
    findings: Findings,
    view: View | None,
    history: History | None,
    features: Any = None,
    clusters: ClusterNames = None,
    shapes: Map | None = None,
) -> Pictures:
    """Draw all pictures that can be drawn; without matplotlib there is a sentence instead."""
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError:
        return Pictures(f'<p class="note">{escape(MISSING)}</p>')
    drawn = [] if history is None or not len(history) else list(_courses(history, view))
    return Pictures(
        ""
        if _is_place(findings, shapes)
        else picture_of_clusters(findings, view, features, clusters),
        picture_of_map(findings, view, shapes, clusters),
        _framed(BOUNDS, *_bounds(findings, view, clusters)),
        "\n".join(_framed(caption, *figures) for caption, figures in drawn),
    )


def picture_of_clusters(
    findings: Findings, view: View | None, features: Any = None, clusters: ClusterNames = None
) -> str:
    """The clusters in the plane, as HTML."""
    if view is None or not len(view.rows):
        return ""
    return _framed(*_clusters(findings, view, features, clusters))


def _is_place(findings: Findings, shapes: Map | None) -> bool:
    """Whether the map shows all that the picture of the points would."""
    links = ConstraintSet([entry.constraint for entry in findings.entries])
    return shapes is not None and findings.metric == "haversine" and not _links(links)


def picture_of_map(
    findings: Findings, view: View | None, shapes: Map | None, clusters: ClusterNames = None
) -> str:
    """The territories, as HTML; a sentence where shapely is missing."""
    if view is None or shapes is None:
        return ""
    try:
        wide, high = size_of(shapes)
        part = min(1.0, PICTURE[0] / wide)
        figure = _figure(part * wide, part * high)
        labels, k = view.labels, len(findings.sizes)
        draw_map(figure.subplots(), shapes, labels, k, names=clusters)
    except ModuleNotFoundError as missing:
        return f'<p class="note">{escape(str(missing))}</p>'
    return _framed("The territories", figure)


def _framed(caption: str, *figures: Figure) -> str:
    """Pictures with a caption; several stand side by side where there is room."""
    kind = ' class="panels"' if len(figures) > 1 else ""
    images = "".join(
        f'<img alt="{escape(_title(figure) or caption)}" src="{_data(figure)}">'
        for figure in figures
    )
    return f"<figure{kind}><div>{images}</div><figcaption>{escape(caption)}</figcaption></figure>"


def _title(figure: Figure) -> str:
    return " ".join(figure.axes[0].get_title(loc="left").split())


BOUNDS = "Sizes and totals of the clusters, with their bounds"


def _bounds(findings: Findings, view: View | None, clusters: ClusterNames) -> Iterator[Figure]:
    """Sizes, totals and shares against their bounds, a picture each."""
    rules = [entry.constraint for entry in findings.entries]
    measures = [measure_sizes(findings.sizes, rules)]
    if view is not None:
        measures += measure_totals(view.labels, rules, len(findings.sizes), clusters)
    for measure in measures:
        figure = _figure(*PANEL)
        draw_measure(figure.subplots(), measure, clusters)
        yield figure


def _clusters(
    findings: Findings, view: View, features: Any, clusters: ClusterNames
) -> tuple[str, Figure]:
    figure = _figure(*PICTURE)
    rules = [entry.constraint for entry in findings.entries]
    labels, links = view.labels[view.rows], view.links(rules)
    own: Any = {"centers": view.centers, "features": features, "ax": figure.subplots()}
    own |= {"sizes": findings.sizes, "names": clusters}
    _narrow(plot_clusters(view.points, labels, links, **own, metric=findings.metric))
    caption = "The clusters"
    if links:
        caption += (
            "; must-links are solid, cannot-links dashed, broken ones red, wishes not met blue"
        )
    if len(view.rows) < len(view.labels):
        shown, n = in_digits(len(view.rows)), in_digits(len(view.labels))
        caption += f" ({shown} of the {n} points are drawn)"
    return caption, figure


def _narrow(ax: Axes) -> None:
    """Lines of words that fit a narrow picture, and the legend below it."""
    ax.set_title(fill(ax.get_title(loc="left"), TITLE), loc="left", fontsize=10)
    ax.set_xlabel(fill(ax.get_xlabel(), ALONG))
    ax.set_ylabel(fill(ax.get_ylabel(), BESIDE))
    legend = ax.get_legend()
    if legend is not None:
        handles = legend.legend_handles
        legend.remove()
        below: Any = {"loc": "outside lower center", "ncols": 3, "fontsize": 8, "frameon": False}
        ax.figure.legend(handles=handles, **below)


def _courses(history: History, view: View | None) -> Iterator[tuple[str, list[Figure]]]:
    """What the solver did in its iterations."""
    labels = None if view is None else view.labels
    figures = [_figure(*PANEL) for _ in range(3)]
    plot_convergence(history, ax=[figure.subplots() for figure in figures])
    yield "Convergence: objective, residuals, and rules that the rounded x breaks", figures
    if history.x:
        figures = [_figure(*PANEL) for _ in history.x]
        plot_assignment(history, order=labels, ax=[figure.subplots() for figure in figures])
        yield "The relaxed assignment x, samples sorted by their final cluster", figures


def _figure(width: float, height: float) -> Figure:
    """A figure without a window, which pyplot does not keep."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _data(figure: Figure) -> str:
    """The figure as an SVG image in a data URL; the same figure gives the same text."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "corral", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
