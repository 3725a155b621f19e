"""The studio: look at points, say rules, fit, and look again, in a page on this machine.

The page needs Bokeh, the extra ``studio``; importing this package does not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..constraints.clusters import read_cluster_names
from .autosave import Autosave
from .data import Data, data_of

if TYPE_CHECKING:
    from .._typing import IntArray
    from ..constraints import ConstraintSet
    from .questions import Annotation

MISSING = "the studio needs Bokeh, which is not installed: pip install 'corral-clustering[studio]'"

#: Height of the page in a notebook, in pixels.
HEIGHT = 760

#: A page that leads to another one.
REDIRECT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}"><title>corral studio</title></head>
<body><p><a href="{url}">corral studio</a></p></body></html>
"""


def private_redirect(url: str) -> Path:
    """A file that leads a browser to an address, in a new folder; only this user can read it.

    All users of a machine can see the arguments of its processes.  A browser that is started with
    the name of this file does not show them the address.
    """
    path = Path(tempfile.mkdtemp(prefix="corral-studio-")) / "studio.html"  # for this user alone
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(REDIRECT.format(url=escape(url)))
    return path


class Studio:
    """A page that is being served.  In a notebook it shows itself.

    Attributes
    ----------
    url : str
        Address of the page.  It holds a secret token: whoever has it can use the page.
    """

    def __init__(
        self,
        data: Data,
        constraints: Any,
        n_clusters: int,
        seed: int,
        port: int,
        *,
        effort: float = 1.0,
        unknown: tuple[tuple[int, int], ...] = (),
        autosave: Autosave | None = None,
        annotation: Annotation | None = None,
    ) -> None:
        try:
            from .server import Server
            from .view import View
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in ("bokeh", "tornado", "jinja2"):
                raise
            raise ModuleNotFoundError(MISSING, name="bokeh") from error
        from .questions import Annotation as Begun
        from .questions import image_of
        from .session import Session

        self._session = Session(
            data,
            constraints,
            n_clusters,
            seed=seed,
            effort=effort,
            unknown=unknown,
            autosave=autosave,
            annotation=annotation or Begun(),
            post=lambda function: server.post(function),
        )
        self._server = server = Server(port, lambda row, place: image_of(data, row, place))

        self._redirects: list[weakref.finalize[..., Studio]] = []

        def open_page(document: Any) -> None:
            View(self._session, document)
            self._remove_redirects()

        self._server.start(open_page)
        self.url = self._server.url

    @property
    def constraints(self) -> ConstraintSet:
        """The rules as they are now."""
        return self._session.document.rules

    @property
    def n_clusters(self) -> int:
        """The number of clusters as it is now."""
        return self._session.document.n_clusters

    @property
    def labels(self) -> IntArray | None:
        """Labels of the last fit; None before the first."""
        return None if self._session.answer is None else self._session.answer.labels

    @property
    def saved(self) -> Path | None:
        """The file that holds all changes; None if there is none, as without a file of data."""
        autosave = self._session.autosave
        return autosave.path if autosave is not None and autosave.written else None

    def open(self) -> None:
        """Open the page in the browser.

        The browser is given a private file that leads to the page, and that is removed as soon as
        the page is there, or with the studio.  A browser that may not read it needs ``url``.
        """
        import webbrowser

        path = private_redirect(self.url)
        # Also if nobody ever stops the studio.
        self._redirects.append(weakref.finalize(self, shutil.rmtree, path.parent, True))
        webbrowser.open(path.as_uri())

    def _remove_redirects(self) -> None:
        while self._redirects:
            self._redirects.pop()()

    def wait(self) -> None:
        """Wait until Ctrl-C, which ends the studio."""
        self._server.wait()
        self._remove_redirects()

    def stop(self) -> None:
        """End the studio."""
        self._server.stop()
        self._remove_redirects()

    def __repr__(self) -> str:
        return f"Studio({len(self._session.data)} rows, {self.url})"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="corral studio" src="{escape(self.url)}" width="100%" '
            f'height="{HEIGHT}" style="border: 1px solid #ccc"></iframe>'
        )


def studio(
    X: Any,
    *,
    constraints: Any = None,
    n_clusters: int = 3,
    names: Any = None,
    random_state: int = 0,
    port: int = 0,
    effort: float = 1.0,
    metric: str = "euclidean",
    save: str | os.PathLike[str] | None = None,
    cluster_names: Sequence[str] | None = None,
) -> Studio:
    """Open the studio on data: see the clusters, set rules, fit, and look at what changed.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Of a GeoDataFrame the page shows the map.  Columns of a data frame that hold no numbers are
        not clustered by; they can be used for shares.  The mean of a column stands in for its
        missing numbers, and the page says so.
    constraints : Constraint, iterable of them, or None
        Rules to begin with.
    n_clusters : int, default=3
        Number of clusters to begin with.
    names : sequence of str, optional
        Names of the rows; by default the index of a data frame.
    random_state : int, default=0
        Seed of all fits.
    port : int, default=0
        Port on 127.0.0.1; 0 chooses a free one.
    effort : float, default=1.0
        Work of all fits, as in :class:`ConstrainedKMeans`.
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        As in :class:`ConstrainedKMeans`.  By haversine the studio clusters by the columns that are
        called latitude and longitude, or lat and lon, or by the only two.
    save : path, optional
        JSON file that rules and answers are saved to after each change.  If it exists, it stays as
        it is, and the next free name like it is taken.  Without it they live in the session:
        ``constraints`` has the rules, and the page can save them.
    cluster_names : sequence of str, optional
        Names of the clusters, as in :class:`ConstrainedKMeans`.

    Returns
    -------
    Studio
        In a notebook, its value as the last line of a cell is the page.  Elsewhere ``open()`` opens
        it in the browser and ``wait()`` keeps it until Ctrl-C.  ``constraints`` and ``labels`` are
        what it holds now.

    Examples
    --------
    >>> from corral import studio
    >>> shown = studio([[0.0, 1.0], [5.0, 6.0]], n_clusters=2)  # doctest: +SKIP
    >>> shown.open()  # doctest: +SKIP
    """
    data, autosave = data_of(X, names, metric), None if save is None else Autosave(Path(save))
    data = replace(data, clusters=read_cluster_names(cluster_names, n_clusters))
    own: Any = {"effort": effort, "autosave": autosave}
    return Studio(data, constraints, n_clusters, random_state, port, **own)
