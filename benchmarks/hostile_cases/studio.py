"""Requests to the studio's server without its token, with large bodies, and bad actions."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from .case import Case, UnclearError, WrongError, needs, points, refused

#: First lines of requests that must not be answered with the page.
REQUESTS = {
    "no-token": "GET / HTTP/1.1",
    "wrong-token": "GET /AAAA/ HTTP/1.1",
    "token-in-query": "GET /?token=AAAA HTTP/1.1",
    "parent": "GET /../../etc/passwd HTTP/1.1",
    "post": "POST / HTTP/1.1",
    "put": "PUT /{token}/ HTTP/1.1",
    "delete": "DELETE /{token}/ HTTP/1.1",
    "no-http": "\x00\x01\x02",
    "long": "GET /" + "A" * 100_000 + " HTTP/1.1",
    "large-body": "POST /{token}/ HTTP/1.1\r\nContent-Length: 99999999999",
    "minus-body": "POST /{token}/ HTTP/1.1\r\nContent-Length: -5",
    "chunks": "POST /{token}/ HTTP/1.1\r\nTransfer-Encoding: chunked",
    "other-host": "GET /{token}/ HTTP/1.1\r\nHost: evil.example",
    "other-origin": "GET /{token}/ws HTTP/1.1\r\nOrigin: http://evil.example\r\nUpgrade: websocket"
    "\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
}


def _request(text: str) -> None:
    needs("bokeh")
    import corral

    shown = corral.studio(points())
    place = urlsplit(shown.url)
    token = place.path.strip("/")
    lines = text.replace("{token}", token)
    if "Host:" not in lines:
        lines += f"\r\nHost: {place.netloc}"
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        connection.sendall(f"{lines}\r\n\r\n".encode())
        try:
            answer = connection.recv(200).split(b"\r\n")[0]
        except TimeoutError:
            answer = b""
        except ConnectionResetError:
            answer = b"reset"
    if b" 200 " in answer or b" 101 " in answer:
        raise WrongError(f"answered with {answer!r}")
    with urllib.request.urlopen(shown.url, timeout=20) as page:
        if page.status != 200:
            raise UnclearError("the page is gone after the request")
    shown.stop()


#: Actions of the page that must change nothing but the message.
ACTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "unknown": {"do": "explode"},
    "list": {"do": ["together"]},
    "clusters-none": {"do": "clusters"},
    "clusters-huge": {"do": "clusters", "n": "1" + "0" * 400},
    "clusters-integer": {"do": "clusters", "n": 10**400},
    "clusters-nan": {"do": "clusters", "n": "nan"},
    "sizes-words": {"do": "sizes", "exact": "a, b"},
    "sizes-huge": {"do": "sizes", "least": 10**400},
    "totals-unknown": {"do": "totals", "column": "z", "most": "1"},
    "shares-none": {"do": "shares"},
    "together-none": {"do": "together"},
    "drop-none": {"do": "drop", "number": 99},
    "load-text": {"do": "load", "text": "{"},
}


def _action(action: dict[str, Any]) -> None:
    """An action that cannot be done says why, and the rules stay as they are."""
    from corral.studio.actions import do
    from corral.studio.data import data_of
    from corral.studio.session import Session

    session = Session(data_of(points()))
    before = repr(session.document)
    do(session, action)
    if not (session.failed and session.message):
        raise WrongError(f"no message for {action!r:.100}")
    if repr(session.document) != before:
        raise WrongError("the rules changed")


def _data(value: Any) -> None:
    from corral.studio.data import data_of

    refused(lambda: data_of(value))


def cases() -> Iterator[Case]:
    """Requests, actions and rows."""
    for what, text in REQUESTS.items():
        yield Case("studio", f"request-{what}", partial(_request, text))
    for what, action in ACTIONS.items():
        yield Case("studio", f"action-{what}", partial(_action, action))
    rows = {"none": None, "text": "a", "no-rows": points()[:0], "inf": points() * float("inf")}
    for what, value in rows.items():
        yield Case("studio", f"rows-{what}", partial(_data, value))
