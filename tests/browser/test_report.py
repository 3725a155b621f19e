"""The report as people see it: light and dark, on a phone, on paper, and without a mouse."""

from __future__ import annotations

import csv
import io
import re
from functools import cache

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from pdf import Pdf
from playwright.sync_api import expect
from steps import AXE, KEPT, downloaded, serious_findings

A4 = {"width": 794, "height": 1123}
"""Paper, in pixels of style sheets."""


@cache
def page_of_wines():
    """The report on 178 wines in six clusters, with rules of each kind, one of them broken."""
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    from corral import (
        CannotLink,
        ClusterSizes,
        ClusterTotals,
        ConstrainedKMeans,
        GroupShares,
        MustLink,
        price_rules,
    )

    wine = load_wine(as_frame=True)
    scaler = StandardScaler().set_output(transform="pandas")
    X = scaler.fit_transform(wine.data)
    X.index = [f"bottle {row} of <b>{row % 7}</b> & co." for row in range(len(X))]
    rng = np.random.default_rng(0)
    pairs = rng.permutation(178)[:20].reshape(-1, 2)
    rules = [
        MustLink(pairs),
        CannotLink(pairs[:1], weight=0.01),
        ClusterSizes(minimum=20, maximum=40),
        ClusterTotals(wine.data["proline"], maximum=30_000, name="proline"),
        GroupShares(np.array(["north", "south"])[rng.integers(0, 2, 178)], minimum={"north": 0.3}),
    ]
    model = ConstrainedKMeans(6, random_state=0).fit(X, constraints=rules)
    report = price_rules(model, X, constraints=rules, time_limit=2.0)
    return report.in_units(scaler).to_html(title="corral: 178 wines"), model.labels_


@pytest.fixture
def report(pages, served):
    """Opens the report."""

    def open_report(**options):
        page = pages(**options)
        page.goto(served(page_of_wines()[0]))
        return page

    return open_report


def too_wide(page):
    """Elements that reach beyond the page and cannot be scrolled to."""
    return page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((element) => {
          const box = element.getBoundingClientRect();
          const scrolls = element.closest("section, details");
          const moves = scrolls && getComputedStyle(scrolls).overflowX === "auto";
          return box.right > document.documentElement.clientWidth + 1 && !moves;
        }).map((element) => element.outerHTML.slice(0, 80))"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_is_cut_off_or_serious(report, scheme, width):
    page = report(width=width, color_scheme=scheme)
    page.locator("summary").click()
    # No column of a table is cut, or has to be scrolled to.
    assert page.evaluate(
        "() => [...document.querySelectorAll('section table')].every((table) => "
        "table.getBoundingClientRect().right <= document.documentElement.clientWidth + 1)"
    )
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert too_wide(page) == []
    page.screenshot(path=KEPT / f"report-{scheme}-{width}.png", full_page=True)
    if AXE.exists():
        assert serious_findings(page) == []


def test_paper_has_all_that_the_screen_has(report):
    page = report(**A4)
    page.emulate_media(media="print")
    page.screenshot(path=KEPT / "report-print.png", full_page=True)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= A4["width"]
    assert too_wide(page) == []
    expect(page.locator(".tools button")).to_be_hidden()
    members = page.locator("section", has=page.locator("input[type=search]")).locator("tbody tr")
    expect(members.first).to_be_hidden()  # the rosters have all rows
    expect(page.locator(".roster li")).to_have_count(178)
    page.pdf(path=KEPT / "report.pdf", format="A4")


def test_rows_are_searched_sorted_and_downloaded(report):
    page, labels = report(), page_of_wines()[1]
    rows = page.locator("section", has=page.locator("input[type=search]")).locator("tbody tr")
    page.fill("input[type=search]", "bottle 17 of")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(str(labels[17]))
    page.fill("input[type=search]", "cluster 2")
    expect(page.locator(".count")).to_have_text(f"{(labels == 2).sum()} rows")
    table = list(csv.DictReader(io.StringIO(downloaded(page, ".download"))))
    assert [int(row["label"]) for row in table] == labels.tolist()
    assert table[3]["id"] == "bottle 3 of <b>3</b> & co."
    assert page.locator("main td b b").count() == 0
    points = page.locator(".profiles thead button", has_text="points")
    points.click()
    sizes = page.locator(".profiles tbody td:nth-child(2)").all_inner_texts()
    assert list(map(int, sizes)) == sorted(np.bincount(labels).tolist())


def test_words_of_pictures_can_be_read_on_a_phone(report):
    page = report(width=390)
    page.locator("summary").click()
    scales = page.evaluate(
        "() => [...document.querySelectorAll('figure img')]"
        ".map((image) => image.getBoundingClientRect().width / image.naturalWidth)"
    )
    # The least letters of the pictures have 8 points, which are 10.7 pixels.
    assert len(scales) >= 5
    assert 10.7 * min(scales) > 7.5


@pytest.mark.parametrize("n_rows", [390, 2000])
def test_each_printed_page_names_the_clusters_of_its_rows(pages, n_rows):
    from corral import ConstrainedKMeans

    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    names = ["North", "South", "East"]
    model = ConstrainedKMeans(3, random_state=0, cluster_names=names).fit(X)
    page = pages()
    page.set_content(model.report_.to_html(names=[f"w{row:04}x" for row in range(n_rows)]))
    printed = Pdf(page.pdf(path=KEPT / f"roster-{n_rows}.pdf", format="A4")).pages()
    assert len(printed) <= 6
    seen = []
    for text in printed:
        rows = [int(number) for number in re.findall(r"w(\d{4})x", text)]
        seen += rows
        for cluster in set(model.labels_[rows].tolist()):
            assert names[cluster] in text
    assert sorted(seen) == list(range(n_rows))
