"""The studio's server and how a browser is led to it; these tests need Bokeh, but no browser."""

from __future__ import annotations

import http.client
import io
import itertools
import json
import os
import re
import socket
import stat
import webbrowser
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest

import corral
from corral import ConstraintSet, MustLink
from corral.studio.actions import do
from corral.studio.session import Session

pytest.importorskip("bokeh", reason="needs Bokeh: make test-browser")

X = [[0.0, 1.0], [5.0, 6.0], [7.0, 2.0]]


@pytest.fixture
def started(monkeypatch):
    """The arguments of the browsers that were started."""
    found = []
    monkeypatch.setattr(webbrowser, "open", lambda url, *more: found.append(url))
    return found


def file_of(url):
    assert url.startswith("file:"), url
    return Path(url2pathname(urlsplit(url).path))


def get(url, method="GET"):
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    connection.request(method, place.path)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_arguments_of_the_browser_hold_no_token(studio, started):
    shown = studio(X)
    token = urlsplit(shown.url).path.strip("/")
    shown.open()
    (url,) = started
    assert token not in url
    file = file_of(url)
    assert f'url={shown.url}"' in file.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert get(shown.url) == 200
    assert not file.parent.exists(), "it is removed as soon as the page is there"


def test_a_file_that_no_browser_opened_is_removed_with_the_studio(studio, started):
    shown = studio(X)
    shown.open()
    shown.open()
    files = [file_of(url) for url in started]
    assert all(file.exists() for file in files)
    shown.stop()
    assert not any(file.parent.exists() for file in files)


@pytest.mark.parametrize("path", ["/", "token"])
@pytest.mark.parametrize("length", ["Content-Length: 99999999", "Transfer-Encoding: chunked"])
def test_a_large_body_is_refused_before_it_is_read(studio, path, length):
    place = urlsplit(studio(X).url)
    path = place.path if path == "token" else path
    head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\n{length}\r\n\r\n"
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        connection.sendall(head.encode())
        if "chunked" in length:
            connection.sendall(b"100000\r\n")  # the size of a chunk that never comes
        assert connection.recv(64).split()[1] in (b"400", b"413")
        assert b"200 OK" not in connection.recv(4096), "and the connection ends"


@pytest.fixture
def view():
    """A page without a browser: what it is told, and a way to command it."""
    from bokeh.document import Document

    from corral.studio.data import data_of
    from corral.studio.view import View

    session, document = Session(data_of(np.arange(12.0).reshape(6, 2))), Document()
    shown = View(session, document)
    bridge, stamps = shown._bridge, itertools.count(1)

    def command(name, **values):
        bridge.command = json.dumps({"do": name, "stamp": next(stamps), **values})
        return json.loads(bridge.selection)["count"]

    command.session, command.bridge = session, bridge
    return command


@pytest.mark.parametrize("name", ["together", "apart", "pin"])
def test_a_rule_is_of_the_rows_that_were_selected_for_it(view, name):
    for pair in ("0, 1", "2, 3"):
        assert view("find", text=pair) == 2
        assert view(name, cluster=1) == 0, "the selection ends with the rule"
    found = [rule.phrase() for rule in view.session.document.rules]
    alone = []
    for rows in ([0, 1], [2, 3]):
        other = Session(view.session.data)
        do(other, {"do": name, "cluster": 1}, rows)
        alone += [rule.phrase() for rule in other.document.rules]
    assert found == alone


def test_a_rule_that_is_refused_keeps_the_selection(view):
    assert view("find", text="0, 1") == 2
    assert view("pin", cluster=99) == 2
    assert view.session.failed


def test_a_command_that_is_no_json_is_said(view):
    view.bridge.command = "{"
    assert view.session.failed
    view.bridge.command = f'{{"do": "calm", "factor": {"9" * 5000}}}'
    assert view.session.failed


def test_what_the_page_asks_for_to_see_if_the_server_lives(studio):
    script = (Path(corral.__file__).parent / "studio" / "page" / "page.js").read_text("utf-8")
    (asked,) = re.findall(r'fetch\("([^"]*)"', script)
    shown = studio(X)
    assert get(shown.url + asked, "HEAD") == 200
    assert get(shown.url.replace(shown.url[-9:], "other/") + asked, "HEAD") == 403
    shown.stop()
    shown.wait()
    with pytest.raises(OSError, match="refused"):
        get(shown.url + asked, "HEAD")


def test_ctrl_c_loses_nothing(tmp_path, monkeypatch, capsys):
    """The command, with a person who answers a question, gives a rule and presses Ctrl-C."""
    from corral.cli.app import run
    from corral.studio import Studio

    points = tmp_path / "points.csv"
    points.write_text("name,a,b\nx,1,2\ny,3,4\nz,5,6\n", encoding="utf-8")
    seen = []

    def person(studio):
        session = studio._session
        seen.append((session.interview.unknown, session.document.rules))
        do(session, {"do": "keep", "says": "yes"})
        do(session, {"do": "together"}, [0, 2])
        session.interview = replace(session.interview, waiting=((0, 1), (1, 2)))
        do(session, {"do": "reply", "says": "unknown", "pair": [0, 1]})
        studio.stop()

    monkeypatch.setattr(Studio, "wait", person)
    words = ["studio", str(points), "--no-browser"]
    assert run(words) == 0
    kept = tmp_path / "points.csv.studio.json"
    assert f"saved in {kept}" in capsys.readouterr().out
    assert run([*words, "--rules", str(kept)]) == 0
    assert seen[0] == ((), ConstraintSet())
    assert seen[1] == (((0, 1),), ConstraintSet(MustLink([(0, 2)])))


@pytest.mark.parametrize("typed", [None, "y", "n", "\x04"], ids=["nobody", "yes", "no", "end"])
def test_who_did_not_answer_the_page_is_asked_at_the_end(tmp_path, monkeypatch, capsys, typed):
    """At a terminal; elsewhere, or at the end of the input, a temporary file takes the rules."""
    from corral.cli import output
    from corral.cli.app import run
    from corral.studio import Studio

    points, folder = tmp_path / "points.csv", tmp_path / "temporary"
    points.write_text("name,a,b\nx,1,2\ny,3,4\nz,5,6\n", encoding="utf-8")
    folder.mkdir()

    def person(studio):
        do(studio._session, {"do": "together"}, [0, 2])
        studio.stop()

    monkeypatch.setattr(Studio, "wait", person)
    monkeypatch.setattr(output.tempfile, "tempdir", str(folder))
    monkeypatch.setattr("sys.stdin", io.StringIO("" if typed == "\x04" else f"{typed}\n"))
    monkeypatch.setattr("corral.cli.studio.asks_here", lambda: typed is not None)
    assert run(["studio", str(points), "--no-browser"]) == 0
    kept, elsewhere = tmp_path / "points.csv.studio.json", list(folder.glob("corral-studio-*"))
    assert kept.exists() == (typed == "y")
    assert len(elsewhere) == (typed in (None, "\x04"))
    for path in [kept] if typed == "y" else elsewhere:
        assert ConstraintSet.from_json(path) == ConstraintSet(MustLink([(0, 2)]))
        said = capsys.readouterr()
        assert str(path) in said.out + said.err
