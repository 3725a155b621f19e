"""Each action of the page, several pages at once, hostile files, and who is let in."""

from __future__ import annotations

import http.client
import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from playwright.sync_api import TimeoutError, expect
from steps import MOST, bound, downloaded, fit, lasso, rule, rules_of, select

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "browser"
COMMAND = (sys.executable, "-m", "corral.cli")


@pytest.fixture
def points(table):
    rng = np.random.default_rng(0)
    X = np.repeat([(0, 0, 0), (6, 0, 1), (0, 6, 2)], 12, axis=0) + rng.normal(size=(36, 3))
    kinds = ["red", "blue", "green"]
    rows = [(f"p{i}", *row.round(3), kinds[i % 3]) for i, row in enumerate(X)]
    return table("points.csv", ("id", "a", "b", "c", "kind"), rows)


def test_undo_redo_save_load_and_exports(studio, pages, points, tmp_path):
    page = pages(studio(points).url)
    rule(page, "together", "p0", "p1")
    rule(page, "apart", "p0", "p20")
    saved = downloaded(page, "save")
    page.click("#undo")
    expect(page.locator("#rules li")).to_have_count(1)
    page.click("#undo")
    expect(page.locator("#none")).to_be_visible()
    expect(page.locator("#undo")).to_be_disabled()
    page.click("#redo")
    expect(page.locator("#rules li")).to_have_count(1)
    path = tmp_path / "rules.json"
    path.write_text(saved, encoding="utf-8")
    page.set_input_files("#file", path)
    expect(page.locator("#rules li")).to_have_count(2)
    fit(page)
    page.click("#python")
    lines = page.locator("#lines")
    expect(lines).to_contain_text("MustLink([(0, 1)])")
    page.screenshot(path=KEPT / "python.png")
    page.click("#close")
    # The same file and the same lines elsewhere.
    labels, chosen = tmp_path / "labels.csv", ("--columns", "a,b,c", "--id-column", "id")
    done = subprocess.run(
        [*COMMAND, "fit", points, "-k", "3", *chosen, "--rules", path, "-o", labels],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ours = [line.split(",")[1] for line in downloaded(page, "labels").splitlines()]
    assert ours == [line.split(",")[1] for line in labels.read_text().splitlines()]


def test_a_file_that_is_no_file_of_rules_is_refused_in_words(studio, pages, points):
    page = pages(studio(points).url)
    page.set_input_files("#file", points)
    expect(page.locator("#message")).to_contain_text("not a JSON file")
    expect(page.locator("#none")).to_be_visible()


def test_soft_rules_that_are_broken_are_told_and_dropped(studio, pages, points):
    page = pages(studio(points).url)
    page.check("#soft")
    page.fill("#weight", "0.01")
    rule(page, "apart", "p0", "p1")
    fit(page)
    expect(page.locator("#broken")).to_contain_text("p0 and p1")
    expect(page.locator("#rules .is-broken")).to_have_count(1)
    page.screenshot(path=KEPT / "broken.png")
    page.get_by_role("button", name="Drop: Cannot-link p0-p1").click()
    expect(page.locator("#none")).to_be_visible()
    expect(page.locator("#broken")).to_be_hidden()


def test_clicks_axes_legend_and_clusters(studio, pages, points):
    page = pages(studio(points).url)
    page.locator("#view").select_option("columns")
    page.locator("#y").select_option("c")
    page.fill("#k", "4")
    page.keyboard.press("Tab")
    expect(page.locator("#message")).to_contain_text("4 clusters")
    fit(page)
    expect(page.locator("#clusters tbody tr")).to_have_count(4)
    page.get_by_role("button", name="Select the rows of cluster 2").click()
    size = page.locator("#clusters tbody tr").nth(2).locator("td").nth(1).inner_text()
    expect(page.locator("#selection")).to_contain_text(f"{size} selected")
    lasso(page, *MOST)
    expect(page.locator("#selection")).to_contain_text("36 selected")
    select(page, "p5")
    expect(page.locator("#values")).to_contain_text("kind")
    page.screenshot(path=KEPT / "columns.png", full_page=True)
    page.fill("#name", "nobody")
    page.click("#find button >> text=Add")
    expect(page.locator("#message")).to_contain_text("No row is called 'nobody'")


def test_a_click_on_a_point_selects_it(studio, pages):
    page = pages(studio(np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])).url)
    box = page.locator("#plot canvas").first.bounding_box()
    assert box
    # The frame of the picture holds the three points at its corners.
    for x in np.linspace(0.08, 0.2, 12):
        if "1 selected" in page.inner_text("#selection"):
            break
        for y in np.linspace(0.7, 0.92, 12):
            page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
    expect(page.locator("#selection")).to_contain_text("selected: row 0")


def test_what_changed_since_the_last_fit_is_said(studio, pages, points):
    page = pages(studio(points).url)
    fit(page)
    rule(page, "together", "p0", "p20")
    expect(page.locator("#stale")).to_be_visible()
    expect(page.locator("#broken")).to_contain_text("p0 and p20 must be together")
    fit(page)
    expect(page.locator("#stale")).to_be_hidden()
    said = page.inner_text("#message")
    assert int(re.search(r"(\d+) rows? changed", said)[1]) >= 1
    page.screenshot(path=KEPT / "changed.png")


def test_a_reload_and_a_second_page_show_the_same_rules(studio, pages, points):
    shown = studio(points)
    first = pages(shown.url)
    rule(first, "together", "p0", "p1")
    fit(first)
    second = pages(shown.url)
    expect(second.locator("#rules li")).to_have_count(1)
    rule(second, "apart", "p0", "p30")
    expect(first.locator("#rules li")).to_have_count(2)
    first.get_by_role("button", name="Drop: Must-link p0-p1").click()
    expect(second.locator("#rules li")).to_have_count(1)
    first.reload()
    first.wait_for_selector("body[data-drawn]")
    expect(first.locator("#rules li")).to_have_count(1)
    expect(first.locator("#clusters tbody tr")).to_have_count(3)
    second.click("#fit")
    expect(first.locator("#message")).to_contain_text("inertia")
    assert rules_of(first) == rules_of(second)


def test_a_fit_is_stopped(studio, pages, monkeypatch):
    """The fit waits, once it has an answer, until the user stops it."""
    from corral import CannotLink, ClusterSizes

    fitting = importlib.import_module("corral.studio.fitting")
    real = fitting.fitted

    def patient(task, callback, stopped):
        def wait(progress):
            callback(progress)
            while progress.best is not None and not stopped():
                time.sleep(0.05)
            return stopped()

        return real(task, wait, stopped)

    monkeypatch.setattr(fitting, "fitted", patient)
    rng = np.random.default_rng(0)
    pairs = rng.permutation(3000)[:600].reshape(-1, 2)
    rules = [ClusterSizes(minimum=145, maximum=155), CannotLink(pairs)]
    shown = studio(rng.normal(size=(3000, 4)), constraints=rules, n_clusters=20)
    page = pages(shown.url)
    page.click("#fit")
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#message")).to_contain_text("best")
    page.screenshot(path=KEPT / "running.png")
    page.click("#stop")
    expect(page.locator("#message")).to_contain_text("Stopped early")
    expect(page.locator("#stop")).to_be_hidden()
    sizes = np.bincount(shown.labels, minlength=20)
    assert 145 <= sizes.min() <= sizes.max() <= 155
    assert (shown.labels[pairs[:, 0]] != shown.labels[pairs[:, 1]]).all()


HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def test_a_hostile_file_stays_text(studio, pages, table):
    rows = [
        (f"{HOSTILE}{i}", i % 3, "NaN" if i == 4 else i, HOSTILE if i % 2 else "b")
        for i in range(9)
    ]
    path = table("hostile.csv", ("name", HOSTILE, "<b>x</b>", "group"), rows)
    page = pages(studio(path, "-k", "2").url)
    rule(page, "apart", f"{HOSTILE}0", f"{HOSTILE}1")
    bound(page, "shares", column="group", group=HOSTILE, most=90)
    bound(page, "totals", column=HOSTILE, most=100)
    fit(page)
    rule(page, "together", f"{HOSTILE}0", f"{HOSTILE}1")
    page.click("#fit")
    expect(page.locator("#conflict")).to_contain_text("<script>")
    select(page, f"{HOSTILE}3")
    box = page.locator("#plot").bounding_box()
    for x in np.linspace(0.1, 0.9, 9):  # names that appear where the pointer is
        page.mouse.move(box["x"] + x * box["width"], box["y"] + box["height"] * 0.5)
    page.screenshot(path=KEPT / "hostile.png", full_page=True)
    assert page.title().startswith("corral studio")
    assert page.locator("main img, main script").count() == 0
    expect(page.locator("#notices")).to_contain_text("mean of the column replaces 1 missing value")


def test_very_many_columns_are_cut_with_a_message(studio, pages, table):
    names = [f"c{j}" for j in range(100_000)]
    rows = np.random.default_rng(0).integers(0, 9, (4, 100_000)).tolist()
    page = pages(studio(table("wide.csv", names, rows), "-k", "2").url)
    expect(page.locator("#notices")).to_contain_text("100,000 columns")
    assert page.locator("#x option").count() == 200
    fit(page)


def answer(url, path, **headers):
    """Status and body of a request by hand."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    body = reply.read().decode("utf-8", "replace")
    connection.close()
    return reply, body


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "bokeh, x",
}


def test_only_its_own_pages_with_the_token_are_let_in(studio, points):
    url = studio(points).url
    place = urlsplit(url)
    home = place.path
    reply, body = answer(url, home)
    assert reply.status == 200
    assert "corral studio" in body
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    script = re.search(r'src="([^"]*bokeh.min.js[^"]*)"', body)[1]
    assert script.startswith(home)
    assert answer(url, script)[0].status == 200
    without = script.replace(home, "/")
    for path in ("/", "/ws", "/wrong/", without, "/favicon.ico", f"{home[:-2]}/", "//", "/%2e%2e/"):
        assert answer(url, path)[0].status == 403, path
    foreign = {"Origin": "http://evil.example"}
    for extra in (foreign, {"Origin": "null"}, {"Host": "evil.example"}):
        assert answer(url, home, **extra)[0].status == 403, extra
        assert answer(url, f"{home}ws", **UPGRADE, **extra)[0].status == 403, extra
    own = {"Origin": f"http://{place.netloc}"}
    assert answer(url, f"{home}ws", **UPGRADE, **own)[0].status != 403


def test_a_foreign_page_cannot_use_the_studio(studio, pages, points, tmp_path):
    """Even with the token, a page of another origin gets no connection."""
    url = studio(points).url
    page = pages()
    foreign = tmp_path / "foreign.html"
    foreign.write_text("<!doctype html><title>foreign</title>")
    page.goto(foreign.as_uri())
    said = page.evaluate(
        """async (url) => {
          const fetched = await fetch(url).then(() => "read", () => "refused");
          const socket = new WebSocket(url.replace("http", "ws") + "ws", ["bokeh", "x"]);
          const opened = await new Promise((tell) => {
            socket.onopen = () => tell("open");
            socket.onerror = () => tell("refused");
          });
          return [fetched, opened];
        }""",
        url,
    )
    assert said == ["refused", "refused"]
    pages.errors.clear()  # the browser logs what was refused
    pages.asked.remove(foreign.as_uri())


def axe():
    found = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
    return found if found.exists() else None


@pytest.mark.skipif(axe() is None, reason="needs axe-core in build/npm: make test-browser")
def test_the_page_has_no_serious_finding_of_axe(studio, pages, points):
    page = pages(studio(points, "-k", "2").url)
    rule(page, "together", "p0", "p1")
    rule(page, "apart", "p0", "p1")
    page.click("#fit")
    expect(page.locator("#conflict")).to_be_visible()
    found = [axe_findings(page)]
    page.get_by_role("button", name="Drop: Cannot-link p0-p1").first.click()
    expect(page.locator("#conflict")).to_be_hidden()
    fit(page)
    select(page, "p3")
    found.append(axe_findings(page))
    page.click("#python")
    expect(page.locator("#code")).to_be_visible()
    found.append(axe_findings(page))
    assert found == [[], [], []]


def axe_findings(page):
    page.evaluate(axe().read_text(encoding="utf-8"))
    violations = page.evaluate("() => axe.run(document).then((done) => done.violations)")
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]])
        for rule in violations
        if rule["impact"] in ("serious", "critical")
    ]


def test_200000_points_are_measured(studio, pages):
    """Reported, not asserted: the machine decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2)) + 6 * rng.integers(0, 3, (200_000, 2))
    shown = studio(X)
    began = time.perf_counter()
    try:
        page = pages(shown.url)
    except TimeoutError:
        pytest.skip("this machine is too busy: there was no picture in a minute")
    picture = time.perf_counter() - began
    times = []
    for size in (0.2, 0.3, 0.4):
        corners = ((0.5 - size, 0.5 - size), (0.5 + size, 0.5 - size), (0.5 + size, 0.5 + size))
        lasso(page, *corners)
        began = time.perf_counter()
        expect(page.locator("#selection")).to_contain_text("selected:")
        times.append(time.perf_counter() - began)
        page.click("#clear")
        expect(page.locator("#selection")).to_contain_text("Nothing")
    page.screenshot(path=KEPT / "many.png")
    figures = {
        "first picture, s": round(picture, 2),
        "selection, ms": [round(1000 * t) for t in times],
    }
    (KEPT / "measured.json").write_text(json.dumps(figures) + "\n")
    sys.__stdout__.write(f"\n200,000 points: {figures}\n")


def test_the_command_serves_until_ctrl_c(points, pages):
    import signal

    process = subprocess.Popen(
        [*COMMAND, "studio", points, "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        page = pages(line.split()[-1])
        expect(page.locator("#title")).to_contain_text("36 rows")
        page.context.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
