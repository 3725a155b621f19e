"""The report: its HTML page is complete and valid, needs no other file, and shows the plan."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    MustLink,
    Pin,
    Report,
    audit,
)
from corral.audit import InMemory, examine
from corral.report import pictures
from corral.report.pictures import View
from corral.report.text import Prices

VOID = {"meta", "link", "img", "br", "input"}


class Page(HTMLParser):
    """Reads a page: checks that tags close in order, and keeps tables, texts and addresses."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tables, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script") and data.strip():
            self.texts.append(data.strip())
            if {"td", "th"} & set(self.open):
                self.tables[-1][-1].append(data)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(24, 3))


@pytest.fixture(scope="module")
def rules():
    return [
        MustLink([(0, 1), (2, 3)]),
        CannotLink([(4, 5)], weight=3.0),
        ClusterSizes(minimum=6, maximum=10),
        ClusterTotals(np.arange(24), maximum=130),
        GroupShares(["<a>", "b"] * 12, minimum=0.25),
    ]


@pytest.fixture(scope="module")
def report(X, rules):
    model = ConstrainedKMeans(3, random_state=0, n_init=1, record_x=(1, 5))
    return model.fit(X, constraints=rules).report_


@pytest.fixture(scope="module")
def text(report):
    return report.to_html()


@pytest.fixture
def no_pictures(monkeypatch):
    """They take most of the time, and not every test is about them."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


def test_page_is_sound_and_self_contained(text):
    page = Page(text)
    assert page.addresses
    assert all(address.startswith("data:") for address in page.addresses)
    assert not re.search(r"https?://|url\(|@import", text)
    assert "<script src" not in text


def test_page_tells_all(report, no_pictures):
    page = Page(report.to_html(title="a <b> title"))
    assert "a <b> title" in page.texts
    assert "24 points in 3 clusters: every hard rule is obeyed." in page.texts
    constraints, profiles, clusters, totals, members, plan = page.tables
    assert [row[1] for row in constraints[1:]] == [
        "MustLink",
        "CannotLink",
        "ClusterSizes",
        "ClusterTotals",
        "GroupShares",
    ]
    assert [int(row[1]) for row in clusters[1:]] == list(report.sizes)
    # All clusters have the same bounds, which the table of the rules says.
    assert clusters[0] == ["cluster", "points", "share", "verdict"]
    assert "minimum cluster size 6 and maximum cluster size 10" in constraints[3][2]
    assert {row[0] for row in totals[1:]} == {
        "cluster totals of at most 130",
        "share of '<a>'",
        "share of 'b'",
    }
    assert [int(row[0]) for row in profiles[1:]] == [0, 1, 2]
    assert [int(row[1]) for row in members[1:]] == report.view.labels.tolist()
    iterations = ("iterations", str(len(report.history)))
    assert [tuple(row) for row in plan[1:]] == [*report.plan.table(), iterations]


def test_broken_rules_are_told_with_names(X, rules, no_pictures):
    labels = np.repeat([0, 1, 2], [2, 11, 11])
    labels[1] = 1
    broken = audit(X, labels, rules, 3)
    names = [f"<n{row}>" for row in range(24)]
    page = Page(broken.to_html(names=names))
    assert "samples <n0> and <n1> must be together, but are in clusters 0 and 1" in page.texts
    assert any("hard rules are broken" in text for text in page.texts)
    assert "broken" in [cell for row in page.tables[2] for cell in row]


def test_many_rules_of_a_kind_have_one_line(X, no_pictures):
    pairs = [(i, i + 12) for i in range(8)]
    rules = [
        *(MustLink([pair]) for pair in pairs),
        ClusterSizes(minimum=2),
        *(MustLink([pair], weight=2.0) for pair in pairs[:3]),
        Pin({3: 0}),
        Pin({5: 1}),
    ]
    labels = [0] * 12 + [1] * 12
    head, *rows = Page(audit(X, labels, rules, 2).to_html()).tables[0]
    assert [row[1:4] for row in rows] == [
        ["MustLink", "8 pairs", "hard"],
        ["ClusterSizes", "minimum cluster size 2", "hard"],
        ["MustLink", "3 pairs", "soft"],
        ["Pin", "2 rows", "hard"],
    ]
    broken, cost = head.index("broken"), head.index("soft cost")
    assert [row[broken] for row in rows] == ["8", "0", "3", "1"]
    assert [float(row[cost]) for row in rows] == [0.0, 0.0, 6.0, 0.0]


def test_pictures_are_all_there_and_drawn(report, text):
    pytest.importorskip("matplotlib")
    page = Page(text)
    pictures = [a for a in page.addresses if a.startswith("data:image/svg+xml;base64,")]
    # clusters; sizes, a total and the shares of two groups; convergence; assignments
    assert len(pictures) == 1 + 4 + 3 + len(report.history.x)
    for picture in pictures:
        drawn = ElementTree.fromstring(base64.b64decode(picture.partition(",")[2]))
        assert drawn.tag.endswith("svg")
        links = [v for node in drawn.iter() for k, v in node.attrib.items() if k.endswith("href")]
        assert all(link.startswith(("#", "data:")) for link in links)


def test_the_same_report_gives_the_same_page(report, text):
    assert report.to_html() == text


def test_without_matplotlib_the_tables_are_there(report, text, no_pictures):
    full = Page(text)
    bare = Page(report.to_html())
    assert bare.tables == full.tables
    assert "The pictures need matplotlib: pip install 'corral-clustering[plot]'." in bare.texts


def test_a_report_alone_makes_a_page(report):
    page = Page(Report(report.inertia, report.sizes, report.entries).to_html())
    assert len(page.tables) == 2  # rules and sizes


def test_no_constraints(X, no_pictures):
    page = Page(audit(X, np.arange(24) % 2, None, 2).to_html())
    assert "24 points in 2 clusters: there are no rules." in page.texts
    assert page.tables[1][0] == ["cluster", "points", "share"]


def test_notebooks_show_the_tables(report, text):
    fragment = report._repr_html_()
    assert Page(fragment).tables == Page(text).tables
    assert "<script" not in fragment
    # Styles of a report must not reach the rest of the notebook.
    style = re.sub(r"@media [^{]*\{((?:[^{}]*\{[^}]*\})*)\s*\}", r"\1", fragment)
    style = re.sub(r"\{[^}]*\}", "", re.search(r"<style>(.*?)</style>", style, re.S)[1])
    selectors = [part.strip() for part in re.split(r"[,\n]+", style) if part.strip()]
    assert all(selector.startswith(".corral-report") for selector in selectors)
    # Notebooks lay out definition lists in their own way, which prints names over values.
    assert not re.search(r"<d[dlt]\b", fragment)


def test_a_data_frame_gives_the_report_its_names(X, no_pictures):
    frame = pd.DataFrame(X, index=[f"r{row}" for row in range(24)])
    report = (
        ConstrainedKMeans(3, random_state=0, n_init=1)
        .fit(frame, constraints=MustLink([(0, 1)]))
        .report_
    )
    for shown in (report.to_html(), report._repr_html_()):
        assert "must-link r0-r1" in Page(shown).texts
    assert report.to_dict()["constraints"][0]["constraint"] == "must-link r0-r1"


def test_to_html_writes_a_file(report, no_pictures, tmp_path):
    path = tmp_path / "report.html"
    assert path.write_text("old")
    page = report.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    assert list(tmp_path.iterdir()) == [path]


def test_a_view_of_few_rows_holds_them_all(X):
    X = X.copy()
    labels = np.arange(24) % 3
    seen = View.of(InMemory(X), labels, (), np.zeros((3, 3)))
    np.testing.assert_array_equal(seen.rows, np.arange(24))
    before = seen.points.copy()
    X[:] = 0.0
    np.testing.assert_array_equal(seen.points, before)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_view_of_many_rows_is_a_sample_with_the_broken_links(X, convert, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_ROWS", 8)
    labels = np.arange(24) % 3
    obeyed, broken = [(0, 3), (6, 9), (12, 15), (18, 21)], [(1, 2), (4, 23)]
    rules = [MustLink(obeyed + broken), ClusterSizes([8, 8, 8])]
    pieces = InMemory(convert(X[:5]), convert(X[5:]))
    entries = examine(pieces, labels, rules, 3).entries
    seen = View.of(pieces, labels, entries, np.zeros((3, 3)))
    assert len(seen.rows) == 8
    assert {1, 2, 4, 23} <= set(seen.rows.tolist())
    points = seen.points.toarray() if sparse.issparse(seen.points) else seen.points
    np.testing.assert_array_equal(points, X[seen.rows])
    (links,) = seen.links(rules)
    pairs = {tuple(sorted(pair)) for pair in seen.rows[links.pairs].tolist()}
    assert set(broken) <= pairs
    assert links.violations(labels[seen.rows]).count == 2
    again = View.of(pieces, labels, entries, np.zeros((3, 3)))
    np.testing.assert_array_equal(again.rows, seen.rows)


def test_links_leave_room_for_other_rows(X, monkeypatch):
    """Otherwise the picture would have holes where rows have no links."""
    monkeypatch.setattr(pictures, "MOST_ROWS", 8)
    links = MustLink([(row, row + 1) for row in range(11)])
    entries = examine(InMemory(X), np.zeros(24, int), links, 1).entries
    seen = View.of(InMemory(X), np.zeros(24, int), entries, np.zeros((1, 3)))
    assert len(seen.rows) == 8
    assert np.count_nonzero(seen.rows >= 12) >= 1


def test_profiles_are_in_the_units_before_scaling(X):
    frame = pd.DataFrame(X * [1.0, 10.0, 1000.0] + [5.0, 0.0, 0.0], columns=["a", "b", "<c>"])
    labels = (X[:, 2] > 0).astype(int)
    scaler = StandardScaler().set_output(transform="pandas")
    report = audit(scaler.fit_transform(frame), labels, None, 2).in_units(scaler)
    means = frame.groupby(labels).mean()
    for profile in report.profiles():
        assert profile.differences[0].column == "<c>"  # the columns are unlike in this one
        for told in profile.differences:
            assert told.mean == pytest.approx(means.loc[profile.cluster, told.column])
            assert told.overall == pytest.approx(frame[told.column].mean(), abs=1e-9)
            assert (told.effect > 0) == (told.mean > told.overall)
        effects = [abs(told.effect) for told in profile.differences]
        assert effects == sorted(effects, reverse=True)
    assert "cluster 0" in report.describe()
    sparse_too = audit(sparse.csr_array(X), labels, None, 2).profiles()
    dense = audit(X, labels, None, 2).profiles()
    assert [[d.column for d in p.differences] for p in sparse_too] == [
        [d.column for d in p.differences] for p in dense
    ]


def test_prices_are_told_everywhere(report, rules, no_pictures):
    without = (report.objective - 1.5, None, report.objective + 1.0, *[report.objective] * 2)
    priced = replace(report, prices=Prices(report.objective, without, 0.5, 7, 24))
    assert [priced.prices.price(rule) for rule in range(3)] == [pytest.approx(1.5), None, 0.0]
    page = Page(priced.to_html())
    assert [row[7] for row in page.tables[0][1:3]] == [
        f"1.5 ({1.5 / report.objective:.1%})",
        "not computed in time",
    ]
    assert any("7 of 24 rows would be in another cluster" in text for text in page.texts)
    assert "7 of 24 rows" in str(priced)
    plain = priced.to_dict()
    assert plain["free"] == {"objective": 0.5, "moved": 7}
    assert plain["constraints"][1]["price"] is None


def test_hostile_names_stay_text(X, no_pictures):
    bad = "</script><script>alert(1)</script>"
    frame = pd.DataFrame(X, columns=[bad, "b", "c"], index=[f"{bad}{row}" for row in range(24)])
    report = replace(audit(frame, np.arange(24) % 2, None, 2), names=list(frame.index))
    for text in (report.to_html(title=bad), report._repr_html_()):
        assert "<script>alert" not in text
        assert f"{bad}3" in Page(text).texts


def test_a_view_holds_few_numbers(X, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_ENTRIES", 12)
    labels, centers = np.zeros(24, int), np.zeros((1, 3))
    assert View.of(InMemory(X), labels, (), centers).points.shape == (4, 3)
    # Sparse rows count what they store: one number each leaves room for twelve.
    thin = sparse.csr_array(X * [0, 1, 0])
    assert View.of(InMemory(thin), labels, (), centers).points.shape == (12, 3)


class Plan:
    """What a solver may say of itself."""

    def table(self):
        return [("sample", "all 24 points"), ("restarts <n>", "3")]


def test_a_plan_is_told_on_request_and_folded_in_the_page(report, no_pictures):
    planned = replace(report, plan=Plan())
    assert str(planned) == str(report)
    assert planned == report
    assert planned.how() == "sample        all 24 points\nrestarts <n>  3"
    assert planned.to_dict() == {**report.to_dict(), "plan": dict(Plan().table())}
    for text in (planned.to_html(), planned._repr_html_()):
        assert "<details><summary>How it was solved</summary>" in text
        assert Page(text).tables[-1][1:3] == [["sample", "all 24 points"], ["restarts <n>", "3"]]


def test_without_a_plan_the_report_says_so(report, text):
    assert "labels alone" in replace(report, plan=None).how()
    assert "plan" not in replace(report, plan=None).to_dict()
    assert "<details" not in replace(report, plan=None, history=None)._repr_html_()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Sorts the clusters by their sizes, twice, and writes down the order each time.
CLICKS = """
const table = document.querySelectorAll("table")[2];
const head = table.tHead.rows[0].cells[1];
const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent).join();
for (const id of ["rising", "falling"]) {
  head.querySelector("button").click();
  document.body.insertAdjacentHTML("beforeend", `<p id="${id}">${column()}</p>`);
}
const drawn = [...document.images].every((image) => image.complete && image.naturalWidth > 0);
document.body.insertAdjacentHTML("beforeend", `<p id="drawn">${drawn}</p>`);
const members = document.querySelectorAll("table")[4].tBodies[0].rows;
const search = document.querySelector("input");
for (const [id, text] of [["one", "23"], ["cluster", "cluster 1"], ["none", "zzz"]]) {
  search.value = text;
  search.dispatchEvent(new Event("input"));
  document.body.insertAdjacentHTML("beforeend", `<p id="${id}">${members.length}</p>`);
}
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_shows_and_sorts_it_without_complaint(report, text, tmp_path):
    waiting = f'addEventListener("load", () => {{{CLICKS}}});'
    page = tmp_path / "report.html"
    page.write_text(text.replace("</body>", f"<script>{waiting}</script></body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    done = subprocess.run(
        [
            *(CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}"),
            *("--enable-logging=stderr", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "CONSOLE" not in done.stderr
    found = dict(re.findall(r'<p id="(\w+)">(.*?)</p>', done.stdout))
    rising = sorted(report.sizes)
    assert found == {
        "rising": ",".join(map(str, rising)),
        "falling": ",".join(map(str, rising[::-1])),
        "drawn": "true",
        "one": "1",
        "cluster": str(report.sizes[1]),
        "none": "0",
    }


def test_rosters_are_first_and_name_every_row_once(report, no_pictures):
    names = [f"<{row}>" for row in range(24)]
    page = Page(report.to_html(names=names))
    for cluster, who in enumerate(replace(report, names=names).rosters()):
        assert who == [names[row] for row in np.flatnonzero(report.view.labels == cluster)]
        first = page.texts.index(f"Cluster {cluster}")
        assert page.texts[first + 2 : first + 2 + len(who)] == who
        assert first < page.texts.index("Rules")


def test_bounds_that_differ_are_said_once(X, no_pictures):
    values, most = np.arange(24.0), {"ann": 1234.0, "bob": 2345.0}
    rules = [ClusterTotals(values, maximum=most, name="minutes"), ClusterSizes([11, 13])]
    labels = np.repeat([0, 1], [11, 13])
    text = audit(X, labels, rules, 2, cluster_names=["ann", "bob"]).to_html()
    for bound in ("1,234", "2,345", "exactly 11", "exactly 13"):
        assert text.count(bound) == 1


def test_many_rows_have_rosters_where_they_are_asked_for(no_pictures):
    found = audit(np.zeros((3001, 1)), np.zeros(3001, int), None, 1)
    assert "<h2>Members</h2>" not in found.to_html()
    text = found.to_html(all_rows=True)
    assert "<li>3000</li>" in text
    assert '<section class="all-rows">' in text
    assert "<h2>Members</h2>" in audit(np.zeros((3000, 1)), np.zeros(3000, int), None, 1).to_html()


def test_a_printed_report_of_2000_rows_has_at_most_six_pages(no_pictures, tmp_path):
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    rng, names = np.random.default_rng(0), [f"Person {j} Long-Surname" for j in range(12)]
    values = rng.integers(10, 60, 2000)
    most = {name: 6000.0 + 100 * j for j, name in enumerate(names)}
    rules = [ClusterTotals(values, maximum=most, name="minutes"), ClusterSizes(minimum=50)]
    X, labels = rng.normal(size=(2000, 5)), np.arange(2000) % 12
    found = audit(X, labels, rules, 12, cluster_names=names)
    page, paper = tmp_path / "report.html", tmp_path / "report.pdf"
    found.to_html(page, names=[f"customer {row}" for row in range(2000)])
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    own = [f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={paper}", page.as_uri()]
    subprocess.run([CHROMIUM, *flags, *own], capture_output=True, timeout=120, check=True)
    assert 1 < len(re.findall(rb"/Type\s*/Page\b(?!s)", paper.read_bytes())) <= 6
