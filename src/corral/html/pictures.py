"""Pictures of a report, as data that a page can hold."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from ..plots import plot_assignment, plot_clusters, plot_convergence
from ..plots.bounds import draw_measure
from ..plots.measures import measure_sizes, measure_totals
from .view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..admm.history import History
    from ..audit import Report

MISSING = "The pictures need matplotlib: pip install 'corral[plot]'."


def pictures(report: Report, view: View | None, history: History | None) -> str:
    """All pictures that can be drawn, or a sentence if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError:
        return f'<p class="note">{escape(MISSING)}</p>'
    drawn = "\n".join(
        f'<figure><img alt="{escape(caption)}" src="{_data(figure)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, figure in _figures(report, view, history)
    )
    return f'<section><h2>Pictures</h2>\n<div class="pictures">\n{drawn}\n</div></section>'


def _figures(
    report: Report, view: View | None, history: History | None
) -> Iterator[tuple[str, Figure]]:
    rules = [entry.constraint for entry in report.entries]
    if view is not None:
        figure = _figure(7.2, 4.8)
        labels = view.labels[view.rows]
        plot_clusters(
            view.points, labels, view.links(rules), centers=view.centers, ax=figure.subplots()
        )
        caption = "Clusters, with must-links solid, cannot-links dashed and broken ones red"
        if len(view.rows) < len(view.labels):
            caption += f" ({len(view.rows)} of the {len(view.labels)} points)"
        yield caption, figure
    figure = _figure(5.4, 3.2)
    draw_measure(figure.subplots(), measure_sizes(report.sizes, rules))
    yield "Sizes of the clusters, with their bounds", figure
    if view is not None:
        yield from _totals(view, rules, len(report.sizes))
    if history is not None and len(history):
        yield from _courses(history, None if view is None else view.labels)


def _totals(view: View, rules: Any, n_clusters: int) -> Iterator[tuple[str, Figure]]:
    for measure in measure_totals(view.labels, rules, n_clusters):
        figure = _figure(5.4, 3.2)
        draw_measure(figure.subplots(), measure)
        yield f"Per cluster: {measure.title}", figure


def _courses(history: History, labels: Any) -> Iterator[tuple[str, Figure]]:
    figure = _figure(12.0, 3.4)
    plot_convergence(history, ax=figure.subplots(1, 3))
    yield "Convergence: objective, residuals, and rules that the rounded x breaks", figure
    if history.x:
        count = len(history.x)
        figure = _figure(12.0, 2.8 * -(-count // 2))
        axes = figure.subplots(-(-count // 2), min(count, 2), squeeze=False).ravel()
        for spare in axes[count:]:
            spare.set_axis_off()
        plot_assignment(history, order=labels, ax=axes[:count])
        yield "The relaxed assignment x, samples sorted by their final cluster", figure


def _figure(width: float, height: float) -> Figure:
    """A figure of its own, which no window system knows about."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _data(figure: Figure) -> str:
    """The figure as SVG inside an address; the same figure gives the same text."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "corral", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
