"""One page of the studio: its picture, and the values that travel between page and session.

The controls of the page are plain HTML in ``page/``.  They send an action as the ``command`` of the
:class:`Bridge`, and show its other values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.properties import String
from bokeh.document import Document
from bokeh.events import SelectionGeometry
from bokeh.layouts import column
from bokeh.model import DataModel
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    HoverTool,
    LassoSelectTool,
    MetricLength,
    Range1d,
    ScaleBar,
    TapTool,
)
from bokeh.models.formatters import MercatorTickFormatter
from bokeh.models.tickers import MercatorTicker
from bokeh.plotting import figure
from jinja2 import Template

from .._typing import IntArray
from ..geo.shapes import outlines, shells_of
from ..plots._style import GREY, INK, MISSED, colour
from .actions import OF_SELECTION, do, sentence_of
from .data import EARTH, Data, Plane, drawn_lines, plane_of, views_of
from .fitting import Answer
from .session import Session
from .state import DETAILED, Marks, Told, about, marks_of, middles, selection

RED, CHANGED, LINE = "#B3261E", "#7A4B00", "#6B6B6B"
#: The markers of the clusters, in the order of ``SHAPES``.
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "star")
#: Opacity of points, and of those outside the selection.
FULL, PALE = 0.85, 0.25
#: Pixels beside a point at which a click still means it.
NEAR = 5.0

#: What becomes of the rows that are selected already, by the mode of Bokeh's tools.
MODES: dict[str, Callable[[IntArray, IntArray], IntArray]] = {
    "replace": lambda rows, found: found,
    "append": np.union1d,
    "intersect": np.intersect1d,
    "subtract": np.setdiff1d,
    "xor": np.setxor1d,
    "toggle": np.setxor1d,
}


class Picture:
    """A figure with its sources: points, pairs, and marks around points.

    Up to ``DETAILED`` points are Bokeh's markers.  More are one image, which the page draws from
    the source ``points`` for each part of the plane that is looked at (``page/raster.js``).
    """

    def __init__(self, data: Data, plane: Plane) -> None:
        self.data, self.plane = data, plane
        self._shown, n = data.shown, len(data.shown)
        self._detailed = n <= DETAILED
        places = {"x": plane.x[self._shown], "y": plane.y[self._shown]}
        points: dict[str, Any] = {name: v.astype(np.float32) for name, v in places.items()}
        self.points = ColumnDataSource(points, name="points")
        ends = ("x0", "y0", "x1", "y1", "colour", "width")
        self._together, self._apart = _empty(*ends), _empty(*ends)
        self._pins, self._changed, self._red = (_empty("x", "y") for _ in range(3))
        self._middles = _empty("x", "y", "text")
        self._dot = float(np.clip(160.0 / np.sqrt(n), 2.5, 12.0))
        self.figure = self._axes()
        self._draw_map()
        self._draw_rings(self._changed, CHANGED, 3, name="changed")  # the points lie on them
        self._draw_lines()
        if self._detailed:
            self._draw_markers()
        else:
            self._draw_image()
        self._draw_marks()
        self._colour(None)
        self.show(np.zeros(0, np.int64))

    def _axes(self) -> Any:
        plane = self.plane
        made = figure(
            name="figure",
            tools="pan,wheel_zoom,reset",
            active_scroll="wheel_zoom",
            sizing_mode="stretch_both",
            min_height=300,
            toolbar_location="above",
            match_aspect=plane.is_map or plane.is_plane,
            x_axis_label=plane.x_name,
            y_axis_label=plane.y_name,
        )
        # The tools say where; which rows are there is found here, among all rows.
        self._tools = {
            "poly": LassoSelectTool(continuous=False, renderers=[]),
            "rect": BoxSelectTool(continuous=False, renderers=[]),
            "point": TapTool(mode="xor", renderers=[]),
        }
        made.add_tools(*self._tools.values())
        made.toolbar.active_drag, made.toolbar.logo = self._tools["poly"], None
        made.grid.grid_line_color, made.outline_line_color = "#E6E6E6", None
        made.axis.axis_label_text_font_style = "normal"
        if plane.is_map:
            for axis, side in ((made.xaxis[0], "lon"), (made.yaxis[0], "lat")):
                axis.ticker = MercatorTicker(dimension=side)
                axis.formatter = MercatorTickFormatter(dimension=side)
        # Only the corners of the data move the ranges of the axes, not lines and marks.
        (left, right), (low, high) = plane.ends(self.data)
        corners = made.scatter([left, right], [low, high], alpha=0.0)
        made.x_range.renderers = made.y_range.renderers = [corners]
        return made

    def _draw_map(self) -> None:
        """Shapes of the rows, their base map, and a scale bar; territories come with a fit."""
        data, plane = self.data, self.plane
        self._areas, self._outlines = _empty("xs", "ys", "colour"), _empty("xs", "ys")
        if data.map is None or not (plane.is_map or plane.is_plane):
            return
        base = drawn_lines(data, plane, data.map.base_geometry) if data.map.base else []
        look: Any = {"line_color": "#A8A8A8", "line_width": 0.8}
        if base:
            self.figure.multi_line(*map(list, zip(*base, strict=True)), **look)
        self.figure.patches(
            "xs", "ys", source=self._areas, fill_color="colour", fill_alpha=0.25, line_color=None
        )
        rows = drawn_lines(data, plane, data.map.geometry) if not data.map.of_points else []
        if rows:
            look = {"line_color": "#9A9A9A", "line_width": 0.5}
            self.figure.multi_line(*map(list, zip(*rows, strict=True)), **look)
        self.figure.multi_line("xs", "ys", source=self._outlines, line_color=INK, line_width=1.2)
        self._draw_bar()

    def _draw_bar(self) -> None:
        """A scale bar: of Mercator's map for its middle latitude."""
        plane, shown = self.plane, self.figure.x_range
        middle = 2 * np.arctan(np.exp((plane.y.min() + plane.y.max()) / 2 / EARTH)) - np.pi / 2
        metres = float(np.cos(middle)) if plane.is_map else 1.0
        ground = Range1d(0.0, metres * float(np.ptp(plane.x)) or 1.0)

        def follow(name: str, old: Any, new: Any) -> None:
            if shown.start is not None and shown.end is not None:
                ground.update(start=metres * shown.start, end=metres * shown.end)

        for side in ("start", "end"):
            shown.on_change(side, follow)
        bar = ScaleBar(range=ground, unit="m", dimensional=MetricLength())
        bar.update(location="bottom_left", background_fill_alpha=0.8, border_line_color=None)
        self.figure.add_layout(bar)

    def _draw_territories(self, answer: Answer) -> None:
        data, plane = self.data, self.plane
        if data.map is None or not (plane.is_map or plane.is_plane):
            return
        areas = outlines(data.map, answer.labels, answer.task.n_clusters)
        filled: dict[str, list[Any]] = {"xs": [], "ys": [], "colour": []}
        for cluster, area in enumerate(areas):
            for part in drawn_lines(data, plane, shells_of(area)):
                filled["xs"].append(part[0])
                filled["ys"].append(part[1])
                filled["colour"].append(colour(cluster))
        self._areas.data = filled
        lines = drawn_lines(data, plane, areas)
        self._outlines.data = {"xs": [x for x, _ in lines], "ys": [y for _, y in lines]}

    def _draw_lines(self) -> None:
        ends: dict[str, Any] = {name: name for name in ("x0", "y0", "x1", "y1")}
        look = {**ends, "color": "colour", "line_width": "width"}
        self.figure.segment(source=self._together, **look)
        self.figure.segment(source=self._apart, line_dash="dashed", **look)

    def _draw_markers(self) -> None:
        names = [self.data.name_of(int(row)) for row in self._shown]
        self.points.data["name"] = np.array(names)
        drawn = self.figure.scatter(
            "x",
            "y",
            source=self.points,
            size=self._dot,
            marker={"field": "marker"},
            fill_color="colour",
            fill_alpha="alpha",
            line_alpha="alpha",
            line_color="edge",
            line_width="width",
        )
        self.figure.add_tools(HoverTool(renderers=[drawn], tooltips=[("", "@name")]))

    def _draw_image(self) -> None:
        """An empty image; the page fills it in, and keeps it to itself."""
        source = ColumnDataSource(
            {"image": [np.zeros((1, 1), np.uint32)], "x": [0], "y": [0], "dw": [0], "dh": [0]},
            name="image",
            syncable=False,
        )
        self.figure.image_rgba("image", "x", "y", "dw", "dh", source=source)

    def _draw_marks(self) -> None:
        self._draw_rings(self._red, RED, 8)
        self._draw_rings(self._pins, INK, 6, marker="square")
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

    def _draw_rings(self, source: Any, line: str, more: int, **how: Any) -> None:
        """Rings around rows, by so many pixels wider than these."""
        look: Any = {"size": self._dot + more, "fill_color": None, "line_color": line}
        self.figure.scatter("x", "y", source=source, line_width=1.5, **look, **how)

    def chosen(self, rows: IntArray, geometry: Any, keys: str) -> IntArray:
        """The selection after a gesture of Bokeh's tools, with the keys that are held down.

        Parameters
        ----------
        rows : (m,) ints
            The selection before.
        geometry : mapping
            A place or an area, as Bokeh's event has it.
        keys : str
            "shift", "ctrl", both with a space between, or "".
        """
        kind = geometry["type"]
        if kind == "point":
            found = self.plane.nearest(geometry["x"], geometry["y"], self._reach())
        elif kind == "rect":
            (left, right), (low, high) = ((geometry[f"{v}0"], geometry[f"{v}1"]) for v in "xy")
            corners = [left, right, right, left], [low, low, high, high]
            found = self.plane.inside(*map(np.array, corners))
        else:
            found = self.plane.inside(np.array(geometry["x"]), np.array(geometry["y"]))
        by_keys = {"shift": "append", "ctrl": "intersect", "shift ctrl": "subtract"}
        mode = by_keys.get(keys, self._tools[kind].mode)
        return MODES[mode](rows, found)

    def _reach(self) -> tuple[float, float]:
        """How far from a point a click still means it, in units of the axes."""
        drawn, pixels = self.figure, self._dot / 2 + NEAR
        sides = ((drawn.x_range, drawn.inner_width), (drawn.y_range, drawn.inner_height))
        across, up = (pixels * abs(axis.end - axis.start) / size for axis, size in sides)
        return across, up

    def show(self, rows: IntArray) -> None:
        """Draw these rows as selected; without any, no row is pale."""
        among = np.zeros(len(self.data), bool)
        among[rows] = True
        chosen = among[self._shown]
        if not self._detailed:
            self.points.data["full"] = (chosen | (not len(rows))).astype(np.uint8)
            return
        self.points.data.update(
            alpha=np.where(chosen | (not len(rows)), FULL, PALE),
            edge=np.where(chosen, INK, "white"),
            width=np.where(chosen, 1.5, 0.5),
        )

    def draw(self, session: Session) -> None:
        """Colours, markers and marks of the current state."""
        answer, plane = session.answer, self.plane
        self._colour(answer)
        if answer is not None:
            x, y, some = middles(answer.labels, plane.x, plane.y, answer.task.n_clusters)
            self._middles.data = {
                "x": x,
                "y": y,
                "text": [self.data.cluster_name(int(j)) for j in some],
            }
            self._draw_territories(answer)
        marks = marks_of(session)
        self._together.data = self._lines(marks, marks.together)
        self._apart.data = self._lines(marks, ~marks.together)
        ringed = ((self._pins, marks.pins), (self._changed, marks.changed))
        for source, rows in (*ringed, (self._red, marks.red_rows)):
            source.data = {"x": plane.x[rows], "y": plane.y[rows]}

    def _colour(self, answer: Answer | None) -> None:
        """Give each point the colour and the marker of its cluster."""
        names = [GREY]
        labels: IntArray = np.zeros(len(self.data), np.int64)
        if answer is not None:
            names, labels = [colour(j) for j in range(answer.task.n_clusters)], answer.labels
        label = labels[self._shown]
        if not self._detailed:
            self.points.data["colour"] = np.array([_pixel(name) for name in names])[label]
            return
        markers = np.array(MARKERS)[label % len(MARKERS)]
        self.points.data.update(colour=np.array(names)[label], marker=markers)

    def _lines(self, marks: Marks, chosen: Any) -> dict[str, Any]:
        (one, other), red, plane = marks.pairs[chosen].T, marks.red[chosen], self.plane
        ends = {"x0": plane.x[one], "y0": plane.y[one], "x1": plane.x[other], "y1": plane.y[other]}
        hue = np.where(red, RED, np.where(marks.missed[chosen], MISSED, LINE))
        return {**ends, "colour": hue, "width": np.where(hue == LINE, 1.2, 2.5)}


def _empty(*names: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in names})


def _pixel(name: str) -> np.uint32:
    """A colour such as "#B3261E" as the page has it in an image: red in the lowest byte."""
    red, green, blue = bytes.fromhex(name.removeprefix("#"))
    return np.uint32(0xFF000000 | blue << 16 | green << 8 | red)


PAGE = Path(__file__).parent / "page"

#: Names of the files that the page downloads.
FILES = {"save": "rules.json", "labels": "labels.csv", "python": "fit.py", "report": "report.html"}
FILES["sheets"] = "clusters.xlsx"


class Bridge(DataModel):
    """Texts between the page and the session.

    ``command`` is an action of the page, and ``done`` the stamp of the last one that the state
    holds.  ``keys`` are those that were down at the last gesture.  The others are JSON documents
    that the page shows.
    """

    command = String("")
    done = String("")
    keys = String("")
    about = String("")
    state = String("")
    selection = String("")
    reply = String("")


class View:
    """One page: shows the session, and does what its user asks for."""

    def __init__(self, session: Session, document: Document) -> None:
        self._session, self._document = session, document
        self._told, self._waiting, self._stamp = Told(session), False, ""
        self._drawn: tuple[Any, ...] = ()
        self._rows: IntArray = np.zeros(0, np.int64)
        self._bridge = Bridge(name="bridge", about=about(session.data))
        self._root = column(name="plot", sizing_mode="stretch_both")
        self._draw_anew(views_of(session.data)[0])
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
        session = self._session
        if session.data is not self._picture.data:
            self._bridge.about = about(session.data)
            self._draw_anew(*self._looked_at)
            return
        key = (session.revision, id(session.answer), id(session.conflict))
        if key != self._drawn:
            self._drawn = key
            self._picture.draw(session)
        self._bridge.state = self._told.text()
        self._bridge.done = self._stamp

    def _draw_anew(self, x: str, y: str = "") -> None:
        """Make a picture with other axes."""
        self._picture = Picture(self._session.data, plane_of(self._session.data, x, y))
        self._looked_at = x, y
        self._picture.figure.on_event(SelectionGeometry, self._gesture)
        self._drawn = ()
        self._refresh()
        self._select(self._rows)
        self._root.tags = [self._bridge, self._picture.points]
        self._root.children = [self._picture.figure]

    @property
    def _labels(self) -> IntArray | None:
        return None if self._session.answer is None else self._session.answer.labels

    def _select(self, rows: IntArray) -> None:
        """Select these rows instead."""
        self._rows = rows
        self._picture.show(rows)
        self._bridge.selection = selection(self._session.data, rows, self._labels)

    # From the page to the session.

    def _gesture(self, event: SelectionGeometry) -> None:
        """Select by a click, a box or a lasso."""
        if event.final:
            self._select(self._picture.chosen(self._rows, event.geometry, self._bridge.keys))

    def _command(self, name: str, old: str, new: str) -> None:
        try:
            action = json.loads(new)
        except ValueError as error:  # such as a number of too many digits
            self._session.message, self._session.failed = sentence_of(error), True
            self._soon()
            return
        self._stamp = str(action.get("stamp", ""))
        self._soon()
        own = {"find": self._find, "clear": self._clear, "axes": self._axes, "cluster": self._pick}
        step = own.get(action.get("do"))
        if step is None:
            text = do(self._session, action, self._rows)
            if action.get("do") in OF_SELECTION and not self._session.failed:
                self._clear(action)  # or the next rule would be about these rows too
            if text:
                reply = {"stamp": action.get("stamp"), "name": FILES[action["do"]], "text": text}
                self._bridge.reply = json.dumps(reply)
            return
        try:
            step(action)
        except ValueError as error:
            self._session.message, self._session.failed = sentence_of(error), True

    def _find(self, action: Any) -> None:
        """Add rows to the selection by their names."""
        found = self._session.data.find(str(action.get("text", "")))
        self._select(np.union1d(self._rows, found))

    def _clear(self, action: Any) -> None:
        self._select(np.zeros(0, np.int64))

    def _pick(self, action: Any) -> None:
        """Select the rows of a cluster."""
        if self._labels is not None:
            self._select(np.flatnonzero(self._labels == action.get("number")))

    def _axes(self, action: Any) -> None:
        """Draw other columns, or the map, or principal components."""
        self._draw_anew(str(action.get("x", "")), str(action.get("y", "")))


def page_template() -> Template:
    """The page, with its style and its script in it."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    for place in ("style.css", "questions.css", "raster.js", "questions.js", "page.js"):
        part = (PAGE / place).read_text(encoding="utf-8")
        # Braces of styles and scripts are not those of the template.
        text = text.replace(f"/* {place} */", f"{{% raw %}}{part}{{% endraw %}}")
    return Template(text)
