"""Each action of the page, several pages at once, hostile files, and who is let in."""

from __future__ import annotations

import http.client
import importlib
import io
import json
import re
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from playwright.sync_api import expect
from steps import (
    AXE,
    KEPT,
    MOST,
    bound,
    choose,
    downloaded,
    fit,
    lasso,
    painted,
    press,
    rule,
    rules_of,
    select,
    serious_findings,
    settled,
    until,
)

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
    saved = downloaded(page, "#save")
    press(page, "#undo")
    expect(page.locator("#rules li")).to_have_count(1)
    press(page, "#undo")
    expect(page.locator("#none")).to_be_visible()
    expect(page.locator("#undo")).to_be_disabled()
    press(page, "#redo")
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
    ours = [line.split(",")[1] for line in downloaded(page, "#labels").splitlines()]
    assert ours == [line.split(",")[1] for line in labels.read_text().splitlines()]


def test_a_file_that_is_no_file_of_rules_is_refused_in_words(studio, pages, points):
    page = pages(studio(points).url)
    page.set_input_files("#file", points)
    expect(page.locator("#message")).to_contain_text("not a JSON file")
    expect(page.locator("#none")).to_be_visible()


def test_soft_rules_that_are_not_obeyed_are_wishes_and_dropped(studio, pages, points):
    page = pages(studio(points).url)
    page.check("#soft")
    page.fill("#weight", "0.01")
    rule(page, "apart", "p0", "p1")
    fit(page)
    expect(page.locator("#wishes")).to_contain_text("p0 and p1")
    expect(page.locator("#rules .is-missed")).to_have_count(1)
    page.screenshot(path=KEPT / "wishes.png")
    press(page, page.get_by_role("button", name="Drop: Cannot-link p0-p1"))
    expect(page.locator("#none")).to_be_visible()
    expect(page.locator("#wishes")).to_be_hidden()
    page.check("#soft-bounds")
    bound(page, "sizes", least=13)
    expect(page.locator("#rules")).to_contain_text("(soft)")
    fit(page)
    expect(page.locator("#wishes")).to_contain_text("13")


def test_clicks_axes_legend_and_clusters(studio, pages, points):
    page = pages(studio(points).url)
    choose(page, "#view", "columns")
    choose(page, "#y", "c")
    page.fill("#k", "4")
    page.keyboard.press("Tab")
    settled(page)
    expect(page.locator("#message")).to_contain_text("4 clusters")
    fit(page)
    expect(page.locator("#clusters tbody tr")).to_have_count(4)
    press(page, page.get_by_role("button", name="Select the rows of cluster 2"))
    size = page.locator("#clusters tbody tr").nth(2).locator("td").nth(1).inner_text()
    expect(page.locator("#selection")).to_contain_text(f"{size} selected")
    lasso(page, *MOST)
    expect(page.locator("#selection")).to_contain_text("36 selected")
    select(page, "p5")
    expect(page.locator("#values")).to_contain_text("kind")
    page.screenshot(path=KEPT / "columns.png", full_page=True)
    page.fill("#name", "nobody")
    press(page, "#find button >> text=Add")
    expect(page.locator("#message")).to_contain_text("No row is called 'nobody'")


def test_clicks_keys_and_zoom_select_what_is_there(studio, pages):
    X = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    page = pages(studio(X).url)
    selection = page.locator("#selection")

    def click(row):
        page.wait_for_timeout(500)  # else two clicks are a double click
        page.mouse.click(*place(page, *X[row]))

    click(0)
    expect(selection).to_contain_text("1 selected: row 0.")
    click(1)
    expect(selection).to_contain_text("2 selected: row 0, row 1.")
    click(0)  # again: no longer
    expect(selection).to_contain_text("1 selected: row 1.")
    page.keyboard.press("Escape")
    expect(selection).to_contain_text("Nothing")
    box(page, (-0.4, -0.4), (1, 10.4))
    expect(selection).to_contain_text("2 selected: row 0, row 2.")
    page.keyboard.down("Shift")
    box(page, (9, 9), (10.4, 10.4))
    page.keyboard.up("Shift")
    expect(selection).to_contain_text("3 selected")
    page.mouse.move(*place(page, *X[1]))
    page.mouse.wheel(0, -400)
    until(page, f"{RANGE}.start > 0")
    click(1)
    expect(selection).to_contain_text("2 selected: row 0, row 2.")


RANGE = "Bokeh.documents[0].get_model_by_name('figure').x_range"
PLACE = """([x, y]) => {
  const frame = Bokeh.index.get_one(Bokeh.documents[0].roots()[0]).child_views[0].frame;
  const canvas = document.querySelector("#plot").getBoundingClientRect();
  return [canvas.x + frame.x_scale.compute(x), canvas.y + frame.y_scale.compute(y)];
}"""


def place(page, x, y):
    """Where a point of the plane is on the screen."""
    return page.evaluate(PLACE, [float(x), float(y)])


def box(page, *corners):
    """Drag along the border of a rectangle of the plane."""
    (left, low), (right, high) = corners
    around = [(left, low), (right, low), (right, high), (left, high), (left, low)]
    first, *others = (place(page, *corner) for corner in around)
    page.mouse.move(*first)
    page.mouse.down()
    for other in others:
        page.mouse.move(*other, steps=3)
    page.mouse.up()


def test_few_changes_are_asked_for_by_soft_pins(studio, pages):
    X = np.random.default_rng(0).normal(size=(120, 2))
    changes = []
    for how in ("any", "very few"):
        page = pages(studio(X).url)
        fit(page)
        choose(page, "#calm", how)
        bound(page, "sizes", exact="20, 40, 60")
        fit(page)
        changes.append(int(re.search(r"(\d+) rows? changed", page.inner_text("#message"))[1]))
        page.click("#python")
        expect(page.locator("#lines")).to_contain_text("ClusterSizes")
        assert ("Pin(before" in page.inner_text("#lines")) == (how == "very few")
    assert 0 < changes[1] <= changes[0]


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
    press(first, first.get_by_role("button", name="Drop: Must-link p0-p1"))
    expect(second.locator("#rules li")).to_have_count(1)
    first.reload()
    first.wait_for_selector("body[data-drawn]")
    expect(first.locator("#rules li")).to_have_count(1)
    expect(first.locator("#clusters tbody tr")).to_have_count(3)
    fit(second)
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
    press(page, "#fit")
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#message")).to_contain_text("best")
    page.screenshot(path=KEPT / "running.png")
    press(page, "#stop")
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
    press(page, "#fit")
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
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120)
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


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core in build/npm: make test-browser")
def test_the_page_has_no_serious_finding_of_axe(studio, pages, points):
    page = pages(studio(points, "-k", "2").url)
    rule(page, "together", "p0", "p1")
    rule(page, "apart", "p0", "p1")
    press(page, "#fit")
    expect(page.locator("#conflict")).to_be_visible()
    found = [serious_findings(page)]
    press(page, page.get_by_role("button", name="Drop: Cannot-link p0-p1").first)
    expect(page.locator("#conflict")).to_be_hidden()
    fit(page)
    select(page, "p3")
    found.append(serious_findings(page))
    page.click("#python")
    expect(page.locator("#code")).to_be_visible()
    found.append(serious_findings(page))
    assert found == [[], [], []]


def colours_in(page, *names):
    """How many pixels of the picture have these colours."""
    from PIL import Image

    shot = Image.open(io.BytesIO(page.locator("#plot").screenshot())).convert("RGB")
    pixels = np.asarray(shot).reshape(-1, 3)
    return [int((pixels == tuple(bytes.fromhex(name[1:]))).all(axis=1).sum()) for name in names]


def test_many_points_show_clusters_and_selections(studio, pages):
    """More points than have markers: the picture is one image."""
    from corral.plots._style import GREY, colour

    rng = np.random.default_rng(0)
    middles = np.repeat([(0, 0), (9, 0), (0, 9)], 4000, axis=0)
    shown = studio(middles + rng.uniform(-1, 1, (12_000, 2)))
    page = pages(shown.url)
    three = [colour(j) for j in range(3)]
    assert colours_in(page, GREY)[0] > 1000
    assert colours_in(page, *three) == [0, 0, 0]
    fit(page)
    painted(page)
    assert min(colours_in(page, *three)) > 1000
    assert colours_in(page, GREY)[0] < 50
    for row, corner in enumerate([(0, 0), (9, 0), (0, 9)]):
        box(page, np.subtract(corner, 1.1), np.add(corner, 1.1))
        expect(page.locator("#selection")).to_contain_text(f"4,000 selected: row {4000 * row},")
        own = shown.labels[4000 * row]
        painted(page)
        counts = colours_in(page, *three)
        assert [j for j in range(3) if counts[j]] == [own], "the others are pale"
    press(page, "#clear")
    # Zoomed in until one cluster fills the frame: larger discs, and no other colour.
    page.mouse.move(*place(page, 0, 0))
    while page.evaluate(f"{RANGE}.end - {RANGE}.start") > 1.8:
        page.mouse.wheel(0, -200)
        painted(page)
    page.screenshot(path=KEPT / "zoomed.png")
    counts = colours_in(page, *three)
    assert [j for j in range(3) if counts[j]] == [shown.labels[0]]
    assert max(counts) > 5_000


def test_200000_points_are_measured(studio, pages):
    """Reported, not asserted: the machine decides.  The page's own clock has no test in it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2)) + 6 * rng.integers(0, 3, (200_000, 2))
    page = pages()
    page.add_init_script("addEventListener('pointerup', () => performance.mark('up'), true)")
    page.goto(studio(X).url)
    page.wait_for_selector("body[data-drawn]")
    first, last = (
        f"performance.getEntriesByName('points drawn').at({n}).startTime" for n in (0, -1)
    )
    since = f"{last} - performance.getEntriesByName('up').at(-1).startTime"
    picture = page.evaluate(first)
    times = []
    for size in (0.2, 0.3, 0.4):
        low, high = 0.5 - size, 0.5 + size
        lasso(page, (low, low), (high, low), (high, high))
        expect(page.locator("#selection")).to_contain_text("selected:")
        until(page, f"{since} > 0")
        times.append(page.evaluate(since))
        if size == 0.4:
            page.screenshot(path=KEPT / "many.png")
        press(page, "#clear")
    figures = {
        "first picture, s": round(picture / 1000, 2),
        "selection, ms": [round(t) for t in times],
    }
    (KEPT / "measured.json").write_text(json.dumps(figures) + "\n")


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
        assert process.wait(120) == 0
    finally:
        process.kill()


def test_the_page_asks_once_whether_to_keep_answers_beside_the_data(pages, tmp_path):
    from corral import ConstraintSet
    from corral.studio import Studio
    from corral.studio.autosave import Autosave
    from corral.studio.data import data_of

    X = np.random.default_rng(0).normal(size=(8, 2))
    for answer in ("yes", "no"):
        autosave = Autosave.beside(tmp_path / f"{answer}.csv")
        shown = Studio(data_of(X), None, 2, 0, 0, autosave=autosave)
        try:
            page = pages(shown.url)
            expect(page.locator("#keep")).to_be_hidden()
            rule(page, "together", "0", "1")
            expect(page.locator("#keep")).to_contain_text(autosave.path.name)
            page.screenshot(path=KEPT / f"keep-{answer}.png")
            if AXE.exists():
                assert serious_findings(page) == []
            assert not autosave.path.exists()
            press(page, f"#keep-{answer}")
            expect(page.locator("#keep")).to_be_hidden()
            rule(page, "apart", "0", "2")
            expect(page.locator("#keep")).to_be_hidden()
            assert autosave.path.exists() == (answer == "yes")
        finally:
            shown.stop()
    kept = ConstraintSet.from_json(tmp_path / "yes.csv.studio.json")
    assert [len(one.pairs) for one in kept] == [1, 1]
