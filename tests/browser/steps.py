"""What a person does in the page, in words of the page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from playwright.sync_api import expect

BUILD = Path(__file__).parents[2] / "build"
AXE = BUILD / "npm" / "node_modules" / "axe-core" / "axe.min.js"
KEPT = BUILD / "browser"
"""Where screenshots and recordings are kept."""


def settled(page):
    """Wait until the page shows what the last command led to."""
    page.wait_for_selector("body:not([data-waits])")


def until(page, condition):
    """Wait for a condition of the page, in JavaScript."""
    step = "await new Promise(requestAnimationFrame);"
    page.evaluate(f"async () => {{ while (!({condition})) {step} }}")


def painted(page):
    """Wait until the picture is drawn of what the page knows: some frames later."""
    page.evaluate(
        "async () => { for (let n = 0; n < 4; n++) await new Promise(requestAnimationFrame); }"
    )


def press(page, button):
    """Click, and wait until the page shows what that led to."""
    (page.locator(button) if isinstance(button, str) else button).click()
    settled(page)


def choose(page, field, value):
    """Choose from a list that the page answers to."""
    page.locator(field).select_option(value)
    settled(page)


def select(page, *names):
    """Select exactly these rows, by their names."""
    if page.is_enabled("#clear"):
        press(page, "#clear")
    page.fill("#name", ", ".join(names))
    press(page, "#find button >> text=Add")
    expect(page.locator("#selection")).to_contain_text(f"{len(names)} selected")


def rule(page, button, *names):
    """Select rows and say together or apart."""
    before = page.locator("#rules li").count()
    select(page, *names)
    press(page, f"#{button}")
    expect(page.locator("#rules li")).to_have_count(before + 1)


def bound(page, form, **fields):
    """Fill in a form for sizes, totals or shares."""
    for name, value in fields.items():
        field = page.locator(f"#{form} [name={name}]")
        if name in ("column", "group"):
            field.select_option(value)
        else:
            field.fill(str(value))
    press(page, f"#{form} button")
    expect(page.locator("#message")).to_contain_text("set")


def fit(page):
    """Fit and wait for the answer."""
    press(page, "#fit")
    page.wait_for_selector("#fit:enabled")
    expect(page.locator("#message")).to_contain_text("inertia")


def downloaded(page, button):
    """The text of what a button downloads."""
    with page.expect_download() as waiting:
        page.click(button)
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def labels_of(page):
    """The labels, by the names of the rows, from the file that the page exports."""
    _, *rows = csv.reader(io.StringIO(downloaded(page, "#labels")))
    return {name: int(label) for name, label in rows}


def rules_of(page):
    """The rules, from the file that the page saves."""
    return json.loads(downloaded(page, "#save"))["constraints"]


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


def serious_findings(page):
    """What axe-core finds in the page that is serious or worse."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("() => axe.run(document).then((done) => done.violations)")
    return [
        (rule["id"], [node["html"] for node in rule["nodes"]])
        for rule in violations
        if rule["impact"] in ("serious", "critical")
    ]
