"""A browser for the tests of the studio, the studios that they open, and what they keep.

``make test-browser`` runs them; elsewhere they are skipped unless Playwright, Bokeh and a Chromium
are installed.  Screenshots and recordings are kept in ``build/browser``.
"""

from __future__ import annotations

import csv
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: No name leads anywhere: what a page would fetch from elsewhere fails, and the test with it.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ALONE]

#: Milliseconds to wait for what a page should show.  Only a test that fails waits so long.
PATIENCE = 120_000


def chromium():
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("bokeh", reason="needs Bokeh: make test-browser")
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")
    if chromium() is None:
        pytest.skip("needs Chromium")
    from steps import KEPT

    KEPT.mkdir(parents=True, exist_ok=True)
    api.expect.set_options(timeout=PATIENCE)
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield started
        started.close()


class Pages:
    """Opens pages, and remembers what they complained about and asked for."""

    def __init__(self, browser):
        self._browser, self._contexts = browser, []
        self.errors, self.asked = [], []

    def __call__(self, url=None, width=1200, height=800, **options):
        size = {"width": width, "height": height}
        context = self._browser.new_context(viewport=size, accept_downloads=True, **options)
        context.set_default_timeout(PATIENCE)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        if url:
            page.goto(url)
            page.wait_for_selector("body[data-drawn]")
        return page

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def close(self):
        for context in self._contexts:
            context.close()


@pytest.fixture
def pages(browser):
    """Opens pages; no one may log an error, or ask another machine for anything."""
    made = Pages(browser)
    yield made
    made.close()
    assert made.errors == []
    own = ("http://127.0.0.1", "blob:http://127.0.0.1", "data:", "about:")
    assert [url for url in made.asked if not url.startswith(own)] == []


@pytest.fixture
def studio():
    """Opens studios, on files by the options of the command line or on arrays."""
    import corral
    from corral.cli.options import Options
    from corral.cli.studio import read
    from corral.cli.studio import studio as command
    from corral.studio import Studio

    made = []

    def open_studio(source, *words, **options):
        if not isinstance(source, (str, Path)):
            shown = corral.studio(source, **options)
        else:
            context = command.make_context("studio", [str(source), *words])
            seed, port = context.params.pop("seed"), context.params.pop("port")
            context.params.pop("browser")
            context.params.pop("effort")
            shown = Studio(*read(Options(**context.params)), seed, port)
        made.append(shown)
        return shown

    yield open_studio
    for shown in made:
        shown.stop()


@pytest.fixture
def served():
    """Serves a text as a page of another origin than the studio's, as Jupyter does."""
    servers = []

    def serve(text):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *words):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def table(tmp_path):
    """Writes a CSV file."""

    def write(name, header, rows):
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    return write


class Recording:
    """Frames of a page that become a moving picture."""

    def __init__(self, name):
        self._name, self._frames = name, []

    def __call__(self, page, seconds=1.2):
        """Keep what the page shows now."""
        from steps import KEPT, painted

        painted(page)
        shot = KEPT / f"{self._name}-{len(self._frames)}.png"
        page.screenshot(path=shot)
        self._frames.append((shot, int(1000 * seconds)))

    def save(self):
        from PIL import Image
        from steps import KEPT

        images, times = [], []
        for shot, time in self._frames:
            image = Image.open(shot).convert("RGB")
            image.thumbnail((800, 800), Image.Resampling.LANCZOS)
            # Of all methods, this one keeps colours that few pixels have, such as those of points.
            method = Image.Quantize.MAXCOVERAGE
            images.append(image.quantize(160, method, dither=Image.Dither.NONE))
            times.append(time)
        folder = Path(os.environ.get("RECORDINGS", KEPT))
        images[0].save(
            folder / f"{self._name}.gif",
            save_all=True,
            append_images=images[1:],
            duration=times,
            loop=0,
            optimize=True,
        )


@pytest.fixture
def record():
    """Makes recordings; each is saved if its test passes."""
    made = []

    def begin(name):
        made.append(Recording(name))
        return made[-1]

    yield begin
    for recording in made:
        recording.save()
