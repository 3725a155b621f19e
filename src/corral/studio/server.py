"""The local server: bound to 127.0.0.1, with a token in each address, for its own origin only."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.resources import Resources
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import OutputTransform, RequestHandler

ADDRESS = "127.0.0.1"
#: Bytes of random numbers in the token.
TOKEN_BYTES = 24
#: Largest message of a page, in bytes: a file of rules.
MOST_BYTES = 64 * 2**20
#: Largest body of a request, in bytes.  Pages send none; a larger one is refused before it is read.
MOST_BODY = 1024
#: Seconds that the start of the server may take.
START_SECONDS = 60.0

#: What each answer says: scripts, styles and connections of this server only.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Headers(OutputTransform):
    """Adds the headers to each answer."""

    def transform_first_chunk(
        self, status_code: int, headers: Any, chunk: bytes, finishing: bool
    ) -> tuple[int, Any, bytes]:
        """Add them before anything is sent."""
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


class Refusal(RequestHandler):
    """Refuses a request, whatever its method."""

    def prepare(self) -> None:
        """Answer before the method is looked at."""
        self.set_status(403)
        self.finish("refused")


#: Gives the kind and the content of the image of a row and a column; None if there is none.
Pictures: TypeAlias = Callable[[int, int], "tuple[str, bytes] | None"]


class Image(RequestHandler):
    """Sends the image that a cell of the data names; the request has the cell and no path."""

    def initialize(self, pictures: Pictures) -> None:
        """Remember where images are from."""
        self._pictures = pictures

    def get(self, row: str, column: str) -> None:
        """Send it."""
        found = self._pictures(int(row), int(column))
        if found is None:
            self.set_status(404)
            self.finish("no image")
            return
        self.set_header("Content-Type", found[0])
        self.finish(found[1])


class Guarded(BokehTornado):
    """Bokeh's application behind a token, for requests of its own pages only."""

    def __init__(
        self,
        open_page: Callable[[Document], None],
        token: str,
        port: int,
        pictures: Pictures,
    ) -> None:
        self._token = token
        self._hosts = {f"{ADDRESS}:{port}", f"localhost:{port}"}
        super().__init__(
            {"/": Application(FunctionHandler(open_page))},
            prefix=f"/{token}",
            extra_websocket_origins=sorted(self._hosts),
            websocket_max_message_size_bytes=MOST_BYTES,
            use_index=False,
            extra_patterns=[(r"/image/(\d{1,9})/(\d{1,6})", Image, {"pictures": pictures})],
        )
        self.add_transform(Headers)

    def find_handler(self, request: Any, **values: Any) -> Any:
        """Refuse what lacks the token, names another host, or comes from another origin.

        Another host is refused since a foreign page may have a name that leads to this address.
        Bokeh checks the origin of web sockets too, but its environment variables can change that.
        """
        given = request.path.split("/")[1] if request.path.startswith("/") else ""
        origin = request.headers.get("Origin")
        mine = {f"http://{host}" for host in self._hosts}
        if (
            not secrets.compare_digest(given.encode(), self._token.encode())
            or request.host.lower() not in self._hosts
            or not (origin is None or origin.lower() in mine)
        ):
            return self.get_handler_delegate(request, Refusal)
        return super().find_handler(request, **values)

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        """Bokeh's scripts from this server, whatever the environment says."""
        return Resources(mode="server", root_url=f"/{self._token}/", components=["bokeh"])


class Server:
    """A server in a thread of its own.

    Parameters
    ----------
    port : int
        0 chooses a free one.
    pictures : callable
        Where images of rows are from.
    """

    def __init__(self, port: int = 0, pictures: Pictures = lambda row, column: None) -> None:
        self._pictures = pictures
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._sockets = bind_sockets(port, ADDRESS)
        self.port = self._sockets[0].getsockname()[1]
        self._ready, self._ended = threading.Event(), threading.Event()
        self._loop: IOLoop | None = None

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    def post(self, function: Callable[[], None]) -> None:
        """Run a function in the thread of the server."""
        if self._loop is not None:
            self._loop.add_callback(function)

    def start(self, open_page: Callable[[Document], None]) -> None:
        """Serve pages, each made by ``open_page``."""
        thread = threading.Thread(
            target=self._run, args=(open_page,), name="corral studio", daemon=True
        )
        thread.start()
        if not self._ready.wait(START_SECONDS):
            raise RuntimeError("the studio's server did not start.")

    def _run(self, open_page: Callable[[Document], None]) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        application = Guarded(open_page, self.token, self.port, self._pictures)
        http = HTTPServer(application, max_body_size=MOST_BODY)
        http.add_sockets(self._sockets)
        server = BaseServer(self._loop, http.request_callback, http)
        server.start()
        self._loop.add_callback(self._ready.set)
        self._loop.start()
        server.stop()
        http.stop()
        self._ended.set()

    def stop(self) -> None:
        """End the server and its pages."""
        if self._loop is not None and not self._ended.is_set():
            self._loop.add_callback(self._loop.stop)

    def wait(self) -> None:
        """Wait until it is stopped; Ctrl-C stops it."""
        try:
            while not self._ended.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.stop()
