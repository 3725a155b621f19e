"""What is chosen in the page: columns and metric, mixed groups, rings; and what leaves it."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from pdf import Pdf
from playwright.sync_api import expect
from steps import (
    AXE,
    KEPT,
    bound,
    choose,
    downloaded,
    fit,
    labels_of,
    painted,
    press,
    rule,
    serious_findings,
    settled,
    until,
)

FIGURE = "Bokeh.documents[0].get_model_by_name('plot').children[0]"


@pytest.fixture
def school(table):
    """24 pupils with marks, of whom few need something."""
    rng = np.random.default_rng(7)
    rows = [
        (f"p{i}", "fm"[i % 2], "glasses" if i % 6 == 0 else "", *rng.integers(30, 100, 2))
        for i in range(24)
    ]
    return table("class.csv", ("pupil", "sex", "needs", "maths", "art"), rows)


@pytest.fixture
def towns(table):
    """Places on both sides of the date line, with people."""
    rng = np.random.default_rng(0)
    middles = np.array([(60.0, 179.5), (-40.0, 0.0), (10.0, 90.0)])
    places = np.repeat(middles, 10, axis=0) + rng.normal(scale=0.9, size=(30, 2))
    places[:, 1] = (places[:, 1] + 180.0) % 360.0 - 180.0
    rows = [(f"t{i}", *p.round(3), int(rng.integers(1, 99))) for i, p in enumerate(places)]
    return table("towns.csv", ("town", "lat", "lon", "people"), rows)


def pixels(page):
    from PIL import Image

    shot = Image.open(io.BytesIO(page.locator("#plot").screenshot())).convert("RGB")
    return np.asarray(shot, float).reshape(-1, 3)


def test_columns_and_metric_are_chosen_and_undone(studio, pages, school):
    page = pages(studio(school, "-k", "3").url)
    using = page.locator("#using")
    expect(using).to_contain_text("maths, art; left out: sex (text), needs (text).")
    expect(page.locator("#metric option")).to_have_count(2)  # there are no places
    page.click("#choose summary")
    page.uncheck("#features input[value=art]")
    page.select_option("#metric", "cosine")
    press(page, "#by button")
    expect(using).to_contain_text("Clustering by 1 of 4 columns: maths, by cosine distance")
    assert "maths" in page.evaluate(f"() => {FIGURE}.below[0].axis_label")
    fit(page)
    press(page, "#undo")
    expect(using).to_contain_text("maths, art;")
    expect(page.locator("#features input[value=art]")).to_be_checked()
    expect(page.locator("#metric")).to_have_value("euclidean")
    expect(page.locator("#stale")).to_be_visible()
    page.uncheck("#features input[value=art]")
    page.uncheck("#features input[value=maths]")
    press(page, "#by button")
    expect(page.locator("#message")).to_contain_text("choose among maths, art")


def test_places_are_asked_about_and_compared_on_the_ground(studio, pages, towns):
    page = pages(studio(towns, "-k", "3").url)
    asked = page.locator("#ground")
    expect(asked).to_contain_text("'lat' and 'lon'")
    page.screenshot(path=KEPT / "ground.png")
    press(page, "#ground-yes")
    expect(asked).to_be_hidden()
    expect(page.locator("#metric")).to_have_value("haversine")
    fit(page)
    label = labels_of(page)
    groups = [label[f"t{i}"] for i in range(30)]
    assert [len(set(groups[i : i + 10])) for i in (0, 10, 20)] == [1, 1, 1]
    expect(page.locator("#clusters thead")).not_to_contain_text("lon")  # no mean of degrees
    expect(page.locator("#clusters thead")).to_contain_text("people")
    press(page, "#undo")
    expect(asked).to_be_hidden()  # asked once


def test_mixed_groups_and_back(studio, pages, school):
    page = pages(studio(school, "-k", "4").url)
    rule(page, "together", "p0", "p1")
    choose(page, "#kind", "mixed")
    expect(page.locator("#using")).to_contain_text("spread evenly: sex, needs.")
    expect(page.locator("#questions")).to_be_hidden()
    press(page, "#fit")
    page.wait_for_selector("#fit:enabled")
    expect(page.locator("#message")).to_contain_text("as alike as is possible")
    label = labels_of(page)
    assert label["p0"] == label["p1"]
    for some in (range(0, 24, 2), range(0, 24, 6)):  # a sex, and those who need glasses
        counts = np.bincount([label[f"p{i}"] for i in some], minlength=4)
        assert counts.max() - counts.min() <= 1
    maths = page.locator("#clusters tbody td:nth-child(3)").all_inner_texts()
    assert np.ptp([float(mean) for mean in maths]) < 5
    page.screenshot(path=KEPT / "mixed.png", full_page=True)
    assert "mixed groups" in downloaded(page, "#report")
    choose(page, "#kind", "similar")
    fit(page)
    maths = page.locator("#clusters tbody td:nth-child(3)").all_inner_texts()
    assert np.ptp([float(mean) for mean in maths]) > 10


def test_the_report_and_the_excel_file_hold_what_the_page_shows(studio, pages, school):
    openpyxl = pytest.importorskip("openpyxl")
    page = pages(studio(school, "-k", "3").url)
    for button in ("#sheets", "#report", "#labels"):
        expect(page.locator(button)).to_be_disabled()
    bound(page, "sizes", least=7)
    fit(page)
    label = labels_of(page)
    with page.expect_download() as waiting:
        page.click("#sheets")
    assert waiting.value.suggested_filename == "clusters.xlsx"
    book = openpyxl.load_workbook(io.BytesIO(waiting.value.path().read_bytes()))
    head, *rows = book["labels"].iter_rows(values_only=True)
    assert head == ("pupil", "sex", "needs", "maths", "art", "label")
    assert {row[0]: row[5] for row in rows} == label
    assert book.sheetnames == ["labels", "group 0", "group 1", "group 2"]
    text = downloaded(page, "#report")
    own = pages()
    own.set_content(text)
    for j, card in enumerate(own.locator(".roster").all()):
        names = card.locator("li").all_inner_texts()
        assert names == [name for name, k in label.items() if k == j]


def test_the_table_says_what_is_out_of_sight(studio, pages):
    X = np.random.default_rng(0).normal(size=(60, 12))
    page = pages(studio(X, n_clusters=20).url, width=390, height=844)
    fit(page)
    further = page.locator("#further")
    expect(further).to_contain_text(re.compile(r"\d+ more columns to the right, more rows below"))
    page.locator("#table").screenshot(path=KEPT / "table.png")
    page.evaluate("() => { const t = document.querySelector('#table'); t.scrollTo(9999, 9999); }")
    expect(further).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_rings_of_what_changed_lie_below_the_points_and_can_be_switched_off(studio, pages):
    X = np.random.default_rng(1).normal(size=(300, 2))
    page = pages(studio(X, n_clusters=3).url)
    fit(page)
    page.fill("#k", "5")
    page.keyboard.press("Tab")
    settled(page)
    fit(page)
    painted(page)
    # No renderer of points is below the rings.
    below = page.evaluate(
        f"() => {{ const all = {FIGURE}.renderers;"
        " const names = all.map((each) => each.data_source.name);"
        " return all.findIndex((each) => each.name === 'changed') < names.indexOf('points'); }"
    )
    assert below
    page.mouse.move(5, 5)
    painted(page)
    ring = np.array([0x7A, 0x4B, 0x00])

    def rings():
        return int((np.abs(pixels(page) - ring).max(axis=1) < 40).sum())

    assert rings() > 100
    page.screenshot(path=KEPT / "rings.png")
    page.uncheck("#rings")
    painted(page)
    assert rings() == 0
    choose(page, "#view", "columns")  # also in another picture
    until(page, "document.querySelector('#columns').hidden === false")
    painted(page)
    assert rings() == 0


@pytest.mark.parametrize("width", [1200, 390])
def test_dark_pages_are_dark_and_readable(studio, pages, school, width):
    page = pages(studio(school, "-k", "3").url, width=width, color_scheme="dark")
    rule(page, "together", "p0", "p1")
    page.check("#soft")
    page.fill("#weight", "0.001")
    rule(page, "apart", "p0", "p1")
    fit(page)
    expect(page.locator("#wishes")).to_be_visible()
    painted(page)
    assert np.median(pixels(page)) < 60
    page.screenshot(path=KEPT / f"dark-{width}.png", full_page=True)
    if AXE.exists():
        assert serious_findings(page) == []
    page.click("#large")
    page.wait_for_selector("#annotate-pair .cell")
    page.screenshot(path=KEPT / f"dark-questions-{width}.png")
    if AXE.exists():
        assert serious_findings(page) == []


def test_paper_has_the_picture_the_table_and_the_rules(studio, pages, school):
    page = pages(studio(school, "-k", "3").url, width=794, height=1123, color_scheme="dark")
    rule(page, "together", "p0", "p1")
    bound(page, "sizes", least=7)
    fit(page)
    page.emulate_media(media="print")
    painted(page)
    page.screenshot(path=KEPT / "studio-print.png", full_page=True)
    for shown in ("#plot", "#clusters", "#rules", "#message", "#title"):
        expect(page.locator(shown)).to_be_visible()
    for button in page.locator("button:not(#clusters button)").all():
        expect(button).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 794
    assert np.median(pixels(page)) > 240, "paper is white"
    assert len(Pdf(page.pdf(path=KEPT / "studio.pdf", format="A4")).pages()) == 1


@pytest.mark.parametrize("width", [1920, 390])
def test_the_picture_fits_the_paper_whatever_the_screen(studio, pages, school, width):
    page = pages(studio(school, "-k", "3").url, width=width)
    fit(page)
    before = page.locator("#plot").bounding_box()
    found = Pdf(page.pdf(format="A4")).images()
    assert found
    for left, right in found:
        assert 0.0 < left < 0.1
        assert 0.85 < right < 1.0
    assert page.locator("#plot").bounding_box() == before


def test_territories_are_drawn_named_and_follow_the_rules(studio, pages, tmp_path):
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    x, y = (each.ravel() for each in np.meshgrid(np.arange(6), np.arange(5)))
    boxes = shapely.box(
        500_000 + 1000 * x, 5_600_000 + 1000 * y, 501_000 + 1000 * x, 5_601_000 + 1000 * y
    )
    people = np.random.default_rng(0).integers(10, 30, 30)
    names = [f"z{row}" for row in range(30)]
    frame = geopandas.GeoDataFrame({"zone": names, "people": people}, geometry=boxes, crs=25832)
    frame.to_crs(4326).to_file(tmp_path / "zones.geojson")
    reps = tmp_path / "reps.csv"
    least = int(people.sum() * 0.29)
    reps.write_text(f"name,minimum\nAnn,{least}\nBob,{least}\nEve,{least}\n", encoding="utf-8")
    words = ("--connected", "--id-column", "zone", "--clusters", str(reps), "--total", "people")
    shown = studio(tmp_path / "zones.geojson", *words)
    page = pages(shown.url)
    expect(page.locator("#view")).to_have_value("map")
    fit(page)
    painted(page)
    assert page.locator("#clusters tbody button").all_inner_texts() == ["Ann", "Bob", "Eve"]
    totals = page.locator("#clusters tbody td:nth-child(3)").all_inner_texts()
    assert all(int(text.split()[0]) >= least for text in totals)
    drawn = page.evaluate(
        f"() => {FIGURE}.renderers"
        ".filter((each) => each.glyph.type === 'Patches')"
        ".map((each) => each.data_source.data.xs.length)"
    )
    assert drawn == [3], "each territory is in one piece"
    page.screenshot(path=KEPT / "territories.png")
    page.click("#python")
    expect(page.locator("#lines")).to_contain_text(
        "Connected.from_polygons(table.geometry, 'edge')"
    )
    expect(page.locator("#lines")).to_contain_text("cluster_names=['Ann', 'Bob', 'Eve']")
