"""What a person does in the page, in words of the page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from playwright.sync_api import expect


def select(page, *names):
    """Select exactly these rows, by their names."""
    if page.is_enabled("#clear"):
        page.click("#clear")
        expect(page.locator("#selection")).to_contain_text("Nothing")
    page.fill("#name", ", ".join(names))
    page.click("#find button >> text=Add")
    expect(page.locator("#selection")).to_contain_text(f"{len(names)} selected")


def rule(page, button, *names):
    """Select rows and say together or apart."""
    before = page.locator("#rules li").count()
    select(page, *names)
    page.click(f"#{button}")
    expect(page.locator("#rules li")).to_have_count(before + 1)


def bound(page, form, **fields):
    """Fill in a form for sizes, totals or shares."""
    for name, value in fields.items():
        field = page.locator(f"#{form} [name={name}]")
        if name in ("column", "group"):
            field.select_option(value)
        else:
            field.fill(str(value))
    page.click(f"#{form} button")
    expect(page.locator("#message")).to_contain_text("set")


def fit(page):
    """Fit and wait for the answer."""
    page.click("#fit")
    expect(page.locator("#message")).to_contain_text("inertia")
    expect(page.locator("#fit")).to_be_enabled()


def downloaded(page, button):
    """The text of what a button downloads."""
    with page.expect_download() as waiting:
        page.click(f"#{button}")
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def labels_of(page):
    """The labels, by the names of the rows, from the file that the page exports."""
    rows = csv.DictReader(io.StringIO(downloaded(page, "labels")))
    return {row["id"]: int(row["label"]) for row in rows}


def rules_of(page):
    """The rules, from the file that the page saves."""
    return json.loads(downloaded(page, "save"))["constraints"]


def lasso(page, *corners):
    """Drag around an area of the picture; corners are parts of its width and height."""
    plot = page.locator("#plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in (*places[1:], places[0]):
        page.mouse.move(*place, steps=4)
    page.mouse.up()


MOST = ((0.1, 0.08), (0.985, 0.08), (0.985, 0.89), (0.1, 0.89))
"""Nearly all of the picture."""
