"""The picture of the studio: Bokeh's figure of the points, and what is marked on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, LassoSelectTool, LinearColorMapper, TapTool
from bokeh.models.formatters import MercatorTickFormatter
from bokeh.models.tickers import MercatorTicker
from bokeh.plotting import figure

from .._typing import IntArray
from ..plots._style import GREY, INK, colour
from .data import Data
from .plane import Plane
from .session import Session
from .state import DETAILED, Marks, marks_of, middles

RED, CHANGED, LINE = "#B3261E", "#7A4B00", "#6B6B6B"
#: The markers of the clusters, in the order of ``SHAPES``.
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "star")


class Picture:
    """A figure with its sources: points, pairs, and marks around points."""

    def __init__(self, data: Data, plane: Plane) -> None:
        self.data, self.plane = data, plane
        shown, n = data.shown, len(data.shown)
        points: dict[str, Any] = {
            "x": plane.x[shown].astype(np.float32),
            "y": plane.y[shown].astype(np.float32),
            "cluster": np.full(n, -1, np.int32),
        }
        self._detailed = n <= DETAILED
        if self._detailed:
            points["name"] = np.array([data.name_of(int(row)) for row in shown])
            points["marker"] = np.full(n, MARKERS[0])
        self.points = ColumnDataSource(points)
        ends = ("x0", "y0", "x1", "y1", "colour", "width")
        self._together, self._apart = _empty(*ends), _empty(*ends)
        self._pins, self._changed, self._red = (_empty("x", "y") for _ in range(3))
        self._middles = _empty("x", "y", "text")
        self._colours = LinearColorMapper(palette=[GREY], low=-0.5, high=0.5, low_color=GREY)
        self._dot = float(np.clip(160.0 / np.sqrt(n), 2.5, 12.0))
        self.figure = self._axes()
        self._draw_lines()
        self._draw_points()
        self._draw_marks()

    def _axes(self) -> Any:
        plane = self.plane
        made = figure(
            output_backend="webgl",
            tools="pan,wheel_zoom,box_select,reset",
            active_scroll="wheel_zoom",
            sizing_mode="stretch_both",
            min_height=300,
            toolbar_location="above",
            match_aspect=plane.is_map,
            x_axis_label=plane.x_name,
            y_axis_label=plane.y_name,
        )
        lasso = LassoSelectTool(continuous=False)
        made.add_tools(lasso, TapTool(mode="xor"))
        made.toolbar.active_drag, made.toolbar.logo = lasso, None
        made.grid.grid_line_color, made.outline_line_color = "#E6E6E6", None
        made.axis.axis_label_text_font_style = "normal"
        if plane.is_map:
            for axis, side in ((made.xaxis[0], "lon"), (made.yaxis[0], "lat")):
                axis.ticker = MercatorTicker(dimension=side)
                axis.formatter = MercatorTickFormatter(dimension=side)
        return made

    def _draw_lines(self) -> None:
        ends: dict[str, Any] = {name: name for name in ("x0", "y0", "x1", "y1")}
        look = {**ends, "color": "colour", "line_width": "width"}
        self.figure.segment(source=self._together, **look)
        self.figure.segment(source=self._apart, line_dash=[6, 4], **look)

    def _draw_points(self) -> None:
        detailed = self._detailed
        drawn = self.figure.scatter(
            "x",
            "y",
            source=self.points,
            size=self._dot,
            marker={"field": "marker"} if detailed else "circle",
            fill_color={"field": "cluster", "transform": self._colours},
            fill_alpha=0.85,
            line_color="white" if detailed else None,
            line_width=0.5,
            nonselection_fill_alpha=0.3 if detailed else 0.1,
            nonselection_line_alpha=0.3,
            selection_line_color=INK if detailed else None,
            selection_line_width=1.5,
        )
        # Lines and marks do not move the ranges of the axes.
        self.figure.x_range.renderers = self.figure.y_range.renderers = [drawn]
        if detailed:
            self.figure.add_tools(HoverTool(renderers=[drawn], tooltips=[("", "@name")]))

    def _draw_marks(self) -> None:
        rings = (
            (self._changed, CHANGED, 5, "circle"),
            (self._red, RED, 8, "circle"),
            (self._pins, INK, 6, "square"),
        )
        for source, line, more, marker in rings:
            self.figure.scatter(
                "x",
                "y",
                source=source,
                size=self._dot + more,
                marker=marker,
                fill_color=None,
                line_color=line,
                line_width=2,
            )
        self.figure.text(
            "x",
            "y",
            "text",
            source=self._middles,
            text_align="center",
            text_baseline="middle",
            text_font_size="13px",
            text_font_style="bold",
            text_color=INK,
            background_fill_color="white",
            background_fill_alpha=0.85,
            border_line_color=INK,
            border_radius=8,
            padding=4,
        )

    @property
    def rows(self) -> IntArray:
        """The selected rows."""
        chosen: IntArray = self.data.shown[np.array(self.points.selected.indices, np.int64)]
        return chosen

    def select(self, rows: IntArray) -> None:
        """Select these rows instead."""
        places = np.searchsorted(self.data.shown, rows)
        seen = np.append(self.data.shown, -1)[places] == rows
        if not seen.all():
            missing = self.data.name_of(int(rows[~seen][0]))
            raise ValueError(f"{missing} is not in the sample that the picture shows.")
        self.points.selected.indices = np.unique(places).tolist()

    def draw(self, session: Session) -> None:
        """Colours, markers and marks of the current state."""
        answer, plane = session.answer, self.plane
        if answer is not None:
            k = answer.task.n_clusters
            self._colours.update(palette=[colour(j) for j in range(k)], high=k - 0.5)
            label = answer.labels[self.data.shown]
            self.points.data["cluster"] = label.astype(np.int32)
            if self._detailed:
                self.points.data["marker"] = np.array(MARKERS)[label % len(MARKERS)]
            x, y, some = middles(answer.labels, plane.x, plane.y, k)
            self._middles.data = {"x": x, "y": y, "text": [str(int(j)) for j in some]}
        marks = marks_of(session)
        self._together.data = self._lines(marks, marks.together)
        self._apart.data = self._lines(marks, ~marks.together)
        ringed = ((self._pins, marks.pins), (self._changed, marks.changed))
        for source, rows in (*ringed, (self._red, marks.red_rows)):
            source.data = {"x": plane.x[rows], "y": plane.y[rows]}

    def _lines(self, marks: Marks, chosen: Any) -> dict[str, Any]:
        (one, other), red, plane = marks.pairs[chosen].T, marks.red[chosen], self.plane
        ends = {"x0": plane.x[one], "y0": plane.y[one], "x1": plane.x[other], "y1": plane.y[other]}
        return {**ends, "colour": np.where(red, RED, LINE), "width": np.where(red, 2.5, 1.2)}


def _empty(*names: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in names})
