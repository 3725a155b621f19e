"""One page of the studio: its picture, and the values that travel between page and session.

The controls of the page are plain HTML in ``page/``.  They send an action as the ``command`` of the
:class:`Bridge`, and show its other values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.properties import String
from bokeh.document import Document
from bokeh.events import SelectionGeometry
from bokeh.layouts import column
from bokeh.model import DataModel
from jinja2 import Template

from .._typing import IntArray
from .actions import do, sentence_of
from .picture import Picture
from .plane import plane_of, views_of
from .session import Session
from .state import Told, about, selection

PAGE = Path(__file__).parent / "page"

#: Names of the files that the page downloads.
FILES = {"save": "rules.json", "labels": "labels.csv", "python": "fit.py"}


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
        key = (session.revision, id(session.answer), id(session.conflict))
        if key != self._drawn:
            self._drawn = key
            self._picture.draw(session)
        self._bridge.state = self._told.text()
        self._bridge.done = self._stamp

    def _draw_anew(self, x: str, y: str = "") -> None:
        """Make a picture with other axes."""
        self._picture = Picture(self._session.data, plane_of(self._session.data, x, y))
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
        action = json.loads(new)
        self._stamp = str(action.get("stamp", ""))
        self._soon()
        own = {"find": self._find, "clear": self._clear, "axes": self._axes, "cluster": self._pick}
        step = own.get(action.get("do"))
        if step is None:
            text = do(self._session, action, self._rows)
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
    for place in ("style.css", "raster.js", "page.js"):
        part = (PAGE / place).read_text(encoding="utf-8")
        # Braces of styles and scripts are not those of the template.
        text = text.replace(f"/* {place} */", f"{{% raw %}}{part}{{% endraw %}}")
    return Template(text)
