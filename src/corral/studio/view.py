"""One page of the studio: Bokeh's figure, and the values that travel between page and session.

The controls of the page are plain HTML in ``page/``.  They send an action as the ``command`` of the
:class:`Bridge`, and show its other values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.properties import String
from bokeh.document import Document as BokehDocument
from bokeh.layouts import column
from bokeh.model import DataModel
from bokeh.models import ColumnDataSource, HoverTool, LassoSelectTool, LinearColorMapper, TapTool
from bokeh.models.formatters import MercatorTickFormatter
from bokeh.models.tickers import MercatorTicker
from bokeh.plotting import figure
from jinja2 import Template

from .._typing import IntArray
from ..plots._style import GREY, INK, colour
from .actions import do, sentence_of
from .plane import Plane, plane_of, views_of
from .session import Session
from .state import DETAILED, Told, about, marks_of, middles, selection

PAGE = Path(__file__).parent / "page"

RED, CHANGED = "#B3261E", "#7A4B00"
#: The markers of the clusters, in the order of ``SHAPES``.
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "star")
#: Names that downloads have.
FILES = {"save": "rules.json", "labels": "labels.csv", "python": "fit.py"}
NO_LINES: dict[str, list[Any]] = {key: [] for key in ("x0", "y0", "x1", "y1", "colour", "width")}
NO_POINTS: dict[str, list[Any]] = {"x": [], "y": []}


class Bridge(DataModel):
    """Texts between the page and the session, each a JSON document."""

    command = String("")
    about = String("")
    state = String("")
    selection = String("")
    reply = String("")


class View:
    """One page: draws the session, and does what its user asks for."""

    def __init__(self, session: Session, document: BokehDocument) -> None:
        self._session, self._document = session, document
        self._told, self._waiting = Told(session), False
        self._drawn: tuple[Any, ...] = ()
        self._bridge = Bridge(name="bridge", about=about(session.data))
        self._root = column(name="plot", sizing_mode="stretch_both")
        self._root.tags = [self._bridge]
        self._plane = plane_of(session.data, views_of(session.data)[0], "")
        self._rebuild()
        self._bridge.on_change("command", self._command)
        document.title = f"corral studio: {session.data.title}"
        document.template = page_template()
        document.add_root(self._root)
        stop = session.watch(self._soon)
        document.on_session_destroyed(lambda context: stop())

    # From the session to the page.

    def _soon(self) -> None:
        """Refresh when the current callback, of this page or another, has ended."""
        if not self._waiting:
            self._waiting = True
            self._document.add_next_tick_callback(self._refresh)

    def _refresh(self) -> None:
        self._waiting = False
        self._bridge.state = self._told.text()
        session = self._session
        key = (session.revision, id(session.answer), id(session.conflict))
        if key != self._drawn:
            self._drawn = key
            self._draw()

    def _rebuild(self) -> None:
        """Make the figure anew, as for other axes."""
        n, plane, shown = len(self._session.data.shown), self._plane, self._session.data.shown
        points = {"x": plane.x[shown].astype(np.float32), "y": plane.y[shown].astype(np.float32)}
        points["cluster"] = np.full(n, -1, np.int32)
        detailed = n <= DETAILED
        if detailed:
            points["name"] = np.array([self._session.data.name_of(int(row)) for row in shown])
            points["marker"] = np.full(n, MARKERS[0])
        self._points = ColumnDataSource(points)
        self._together, self._apart = ColumnDataSource(NO_LINES), ColumnDataSource(NO_LINES)
        self._pins, self._changed = ColumnDataSource(NO_POINTS), ColumnDataSource(NO_POINTS)
        self._red = ColumnDataSource(NO_POINTS)
        self._middles = ColumnDataSource({"x": [], "y": [], "text": []})
        self._colours = LinearColorMapper(palette=[GREY], low=-0.5, high=0.5, low_color=GREY)
        self._root.children = [self._figure(plane, detailed)]
        self._points.selected.on_change("indices", self._selected)
        self._refresh_all()

    def _refresh_all(self) -> None:
        self._drawn = ()
        self._refresh()
        self._bridge.selection = selection(self._session.data, self._rows, self._labels)

    def _figure(self, plane: Plane, detailed: bool) -> Any:
        dot = dot_size(len(self._points.data["x"]))
        made = figure(
            output_backend="webgl",
            tools="pan,wheel_zoom,box_select,reset",
            active_scroll="wheel_zoom",
            sizing_mode="stretch_both",
            min_height=320,
            toolbar_location="above",
            match_aspect=plane.is_map,
            x_axis_label=plane.x_name,
            y_axis_label=plane.y_name,
        )
        lasso = LassoSelectTool(continuous=False)
        made.add_tools(lasso, TapTool(mode="xor"))
        made.toolbar.active_drag, made.toolbar.logo = lasso, None
        made.grid.grid_line_color = "#E6E6E6"
        made.outline_line_color = None
        if plane.is_map:
            for axis, side in ((made.xaxis[0], "lon"), (made.yaxis[0], "lat")):
                axis.ticker = MercatorTicker(dimension=side)
                axis.formatter = MercatorTickFormatter(dimension=side)
        lines = {name: name for name in ("x0", "y0", "x1", "y1")}
        lines |= {"color": "colour", "line_width": "width"}
        made.segment(source=self._together, **lines)
        made.segment(source=self._apart, line_dash=[6, 4], **lines)
        points = made.scatter(
            "x",
            "y",
            source=self._points,
            size=dot,
            marker={"field": "marker"} if detailed else "circle",
            fill_color={"field": "cluster", "transform": self._colours},
            fill_alpha=0.85,
            line_color="white" if detailed else None,
            line_width=0.5,
            nonselection_fill_alpha=0.3,
            nonselection_line_alpha=0.3,
            selection_line_color=INK if detailed else None,
            selection_line_width=1.5,
        )
        made.x_range.renderers = made.y_range.renderers = [points]
        rings = ((self._changed, CHANGED, 5), (self._red, RED, 8))
        for source, line, more in rings:
            made.scatter(
                "x", "y", source=source, size=dot + more, fill_color=None, line_color=line,
                line_width=2, marker="circle",
            )  # fmt: skip
        made.scatter(
            "x", "y", source=self._pins, size=dot + 6, fill_color=None, line_color=INK,
            line_width=1.5, marker="square",
        )  # fmt: skip
        made.text(
            "x", "y", "text", source=self._middles, text_align="center", text_baseline="middle",
            text_font_size="13px", text_font_style="bold", text_color=INK,
            background_fill_color="white", background_fill_alpha=0.85, border_line_color=INK,
            border_radius=8, padding=4,
        )  # fmt: skip
        if detailed:
            made.add_tools(HoverTool(renderers=[points], tooltips=[("", "@name")]))
        return made

    def _draw(self) -> None:
        """Colours, markers and marks of the current state."""
        session, shown, plane = self._session, self._session.data.shown, self._plane
        answer = session.answer
        if answer is not None:
            k = answer.task.n_clusters
            self._colours.update(palette=[colour(j) for j in range(k)], high=k - 0.5)
            label = answer.labels[shown]
            self._points.data["cluster"] = label.astype(np.int32)
            if "marker" in self._points.data:
                self._points.data["marker"] = np.array(MARKERS)[label % len(MARKERS)]
            x, y, some = middles(answer.labels, plane.x, plane.y, k)
            self._middles.data = {"x": x, "y": y, "text": [str(int(j)) for j in some]}
        marks = marks_of(session)
        for source, chosen in ((self._together, marks.together), (self._apart, ~marks.together)):
            one, other = marks.pairs[chosen].T
            source.data = {
                "x0": plane.x[one],
                "y0": plane.y[one],
                "x1": plane.x[other],
                "y1": plane.y[other],
                "colour": np.where(marks.red[chosen], RED, "#6B6B6B"),
                "width": np.where(marks.red[chosen], 2.5, 1.2),
            }
        for source, rows in (
            (self._pins, marks.pins),
            (self._changed, marks.changed),
            (self._red, marks.red_rows),
        ):
            source.data = {"x": plane.x[rows], "y": plane.y[rows]}

    # From the page to the session.

    @property
    def _rows(self) -> IntArray:
        chosen: IntArray = self._session.data.shown[np.array(self._points.selected.indices, int)]
        return chosen

    @property
    def _labels(self) -> IntArray | None:
        return None if self._session.answer is None else self._session.answer.labels

    def _selected(self, name: str, old: Any, new: Any) -> None:
        self._bridge.selection = selection(self._session.data, self._rows, self._labels)

    def _command(self, name: str, old: str, new: str) -> None:
        action = json.loads(new)
        own = {"find": self._find, "clear": self._clear, "axes": self._axes, "cluster": self._pick}
        step = own.get(action.get("do"))
        if step is None:
            text = do(self._session, action, self._rows.tolist())
            if text:
                file = FILES.get(action["do"], "")
                self._bridge.reply = json.dumps(
                    {"stamp": action.get("stamp"), "name": file, "text": text}
                )
            return
        try:
            step(action)
        except ValueError as error:
            self._session.message, self._session.failed = sentence_of(error), True
            self._soon()

    def _find(self, action: Any) -> None:
        """Add rows to the selection by their names."""
        found = self._session.data.find(str(action.get("text", "")))
        places = np.searchsorted(self._session.data.shown, found)
        seen = np.append(self._session.data.shown, -1)[places] == found
        if not seen.all():
            missing = self._session.data.name_of(int(found[~seen][0]))
            raise ValueError(f"{missing} is not in the sample that the picture shows.")
        both = {*self._points.selected.indices, *places.tolist()}
        self._points.selected.indices = sorted(both)

    def _clear(self, action: Any) -> None:
        self._points.selected.indices = []

    def _pick(self, action: Any) -> None:
        """Select the rows of a cluster."""
        labels, shown = self._labels, self._session.data.shown
        if labels is not None:
            inside = np.flatnonzero(labels[shown] == action.get("number"))
            self._points.selected.indices = inside.tolist()

    def _axes(self, action: Any) -> None:
        """Draw other columns, or the map, or principal components."""
        self._plane = plane_of(self._session.data, str(action["x"]), str(action.get("y", "")))
        self._rebuild()


def dot_size(n: int) -> float:
    """Diameter of a point in pixels: many points are smaller than few."""
    return float(np.clip(160.0 / np.sqrt(max(n, 1)), 2.5, 12.0))


def page_template() -> Template:
    """The page, with its style and its script in it."""
    parts = {name: (PAGE / name).read_text(encoding="utf-8") for name in ("style.css", "page.js")}
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    text = text.replace("/* style.css */", parts["style.css"])
    # What Jinja reads in braces would be a mistake here, so the script is not part of the template.
    return Template(text.replace("/* page.js */", f"{{% raw %}}{parts['page.js']}{{% endraw %}}"))
