"""What people do with the studio, from the file to the labels."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from playwright.sync_api import expect
from steps import KEPT, MOST, bound, fit, labels_of, lasso, press, rule, rules_of

STUDENTS = (
    *("Ada", "Ben", "Cem", "Dana", "Eli", "Fay", "Gus", "Hana", "Ian", "Jo"),
    *("Kim", "Lea", "Max", "Nia", "Oz", "Pam", "Quin", "Ray", "Sue", "Tom"),
    *("Uma", "Val", "Wes", "Xia", "Yan", "Zoe", "Abe", "Bea", "Cal", "Dee"),
    *("Eve",),
)


@pytest.fixture
def school(table):
    """31 students with marks."""
    marks = np.random.default_rng(3).integers(40, 100, (31, 3)).tolist()
    sexes = ["f" if row % 2 else "m" for row in range(31)]
    rows = [(name, sex, *row) for name, sex, row in zip(STUDENTS, sexes, marks, strict=True)]
    return table("class.csv", ("name", "sex", "maths", "reading", "sport"), rows)


@pytest.fixture
def shops(table):
    """Shops of a country, with their demand."""
    rng = np.random.default_rng(1)
    towns = np.repeat([(47.4, 8.5), (46.2, 6.1), (46.9, 7.4), (47.0, 9.5)], 30, axis=0)
    places = (towns + rng.normal(scale=0.25, size=towns.shape)).round(4).tolist()
    demand = rng.integers(5, 40, len(places)).tolist()
    rows = [(f"shop {i}", *place, demand[i]) for i, place in enumerate(places)]
    return table("shops.csv", ("shop", "lat", "lon", "demand"), rows)


def test_teacher_makes_groups(studio, pages, record, school):
    page, seen = pages(studio(school, "-k", "4").url), record("studio-teacher")
    seen(page)
    rule(page, "together", "Ada", "Zoe")
    rule(page, "together", "Ben", "Kim", "Tom")
    seen(page)
    rule(page, "apart", "Gus", "Max")
    bound(page, "sizes", least=7, most=8)
    bound(page, "shares", column="sex", group="f", least=40, most=60)
    seen(page)
    fit(page)
    seen(page, 2.5)
    label = labels_of(page)
    groups = [[name for name in STUDENTS if label[name] == j] for j in range(4)]
    assert label["Ada"] == label["Zoe"]
    assert label["Ben"] == label["Kim"] == label["Tom"]
    assert label["Gus"] != label["Max"]
    assert sorted(map(len, groups)) == [7, 8, 8, 8]
    for group in groups:
        girls = sum(STUDENTS.index(name) % 2 for name in group)
        assert 0.4 <= girls / len(group) <= 0.6
    rule(page, "apart", "Ada", "Eve")
    fit(page)
    seen(page, 2.5)
    assert labels_of(page)["Ada"] != labels_of(page)["Eve"]


def test_planner_draws_on_the_map(studio, pages, record, shops):
    page, seen = pages(studio(shops, "-k", "4", "--columns", "lat,lon").url), record("studio-map")
    expect(page.locator("#view")).to_have_value("map")
    total = sum(int(line.split(",")[3]) for line in shops.read_text().splitlines()[1:])
    seen(page)
    press(page, "#ground-yes")
    fit(page)
    seen(page, 1.8)
    most = int(total / 4 * 1.08)
    bound(page, "totals", column="demand", most=most)
    fit(page)
    seen(page, 2.5)
    cells = page.locator("#clusters tbody tr td:nth-child(3)").all_inner_texts()
    assert all(float(cell.replace(",", "")) <= most for cell in cells)
    lasso(page, *MOST)
    expect(page.locator("#selection")).to_contain_text("120 selected")
    press(page, "#clear")
    expect(page.locator("#selection")).to_contain_text("Nothing")
    lasso(page, (0.1, 0.5), (0.4, 0.5), (0.4, 0.88), (0.1, 0.88))
    expect(page.locator("#selection")).to_contain_text("selected:")
    seen(page)
    page.locator("#cluster").select_option("2")
    press(page, "#pin")
    expect(page.locator("#rules li")).to_have_count(2)
    fit(page)
    seen(page, 2.5)
    (pins,) = (found for found in rules_of(page) if found["kind"] == "Pin")
    label = labels_of(page)
    assert {label[f"shop {row}"] for row in pins["rows"]} == {2}


def test_a_conflict_is_shown_and_solved_by_a_click(studio, pages, record, school):
    page, seen = pages(studio(school, "-k", "3").url), record("studio-conflict")
    rule(page, "together", "Ada", "Ben", "Cem")
    rule(page, "apart", "Ada", "Cem")
    rule(page, "apart", "Dee", "Eve")
    seen(page)
    press(page, "#fit")
    conflict = page.locator("#conflict")
    expect(conflict).to_be_visible()
    expect(conflict).to_contain_text("Ada and Cem")
    expect(page.locator("#parts li")).to_have_count(3)
    seen(page, 2.5)
    press(page, page.locator("#parts li", has_text="Cannot-link").get_by_role("button"))
    expect(conflict).to_be_hidden()
    fit(page)
    seen(page, 2.0)
    label = labels_of(page)
    assert label["Ada"] == label["Ben"] == label["Cem"]
    assert label["Dee"] != label["Eve"]


def test_annotator_answers_twenty_questions(studio, pages, record, table):
    rng = np.random.default_rng(2)
    truth = np.repeat(range(3), 40)
    X = np.array([(0, 0, 0), (3, 0, 1), (0, 3, 2)])[truth] + rng.normal(size=(120, 3))
    rows = [(f"r{i}", *row.round(2)) for i, row in enumerate(X)]
    page = pages(studio(table("rows.csv", ("row", "a", "b", "c"), rows)).url)
    seen = record("studio-questions")
    press(page, "#ask")
    for number in range(20):
        card = page.locator("#card")
        expect(card).to_be_visible()
        names = page.locator("#sides thead th").all_inner_texts()[1:]
        if number in (0, 1, 7, 19):
            card.scroll_into_view_if_needed()
            seen(page, 1.5)
        one, other = (truth[int(name[1:])] for name in names)
        press(page, "#unknown" if number == 5 else "#same" if one == other else "#different")
    # The last question asked an earlier pair again.
    asked = page.locator("#asked")
    expect(asked).to_contain_text("18 answers, 1 not known")
    expect(asked).to_contain_text("Agreement with your own earlier answers: 1 of 1.")
    pairs = [pair for rule in rules_of(page) for pair in rule["pairs"]]
    assert len(pairs) == 18
    for found in rules_of(page):
        for one, other in found["pairs"]:
            assert (truth[one] == truth[other]) == (found["kind"] == "MustLink")


CELLS = (
    """\
import numpy as np
import corral
X = np.random.default_rng(0).normal(size=(60, 3))
shown = corral.studio(X, n_clusters=3)
shown""",
    "print(np.bincount(shown.labels).sum(), len(shown.constraints))",
)


def test_a_notebook_cell_shows_the_page(pages, served, record):
    """A notebook runs in a kernel; its page is what Jupyter's own template makes of its outputs."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from nbformat import v4

    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    client = NotebookClient(notebook, kernel_name="python3", timeout=300)
    with client.setup_kernel():
        client.execute_cell(notebook.cells[0], 0)
        # Jupyter has its scripts; the page of its exporter would fetch them.
        none = dict.fromkeys(("require_js_url", "jquery_url", "mathjax_url", "mermaid_js_url"), "")
        html, _ = HTMLExporter(**none).from_notebook_node(notebook)
        page = pages(height=1000)
        page.goto(served(html))
        inside = page.frame_locator(".jp-OutputArea-output iframe")
        expect(inside.locator("#title")).to_contain_text("60 rows")
        inside.locator("body[data-drawn]").wait_for()
        seen = record("studio-notebook")
        seen(page)
        inside.locator("#fit").click()
        expect(inside.locator("#message")).to_contain_text("60 rows in 3 clusters")
        seen(page, 2.5)
        client.execute_cell(notebook.cells[1], 1)  # the next cell sees what was done in the page
        assert "60 0" in notebook.cells[1].outputs[0]["text"]
        page.goto("about:blank")  # the page would miss the kernel


def test_phone_width(studio, pages, record, school):
    page = pages(studio(school, "-k", "4").url, width=390, height=844, has_touch=True)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 390
    seen = record("studio-phone")
    seen(page)
    rule(page, "together", "Ada", "Ben")
    bound(page, "sizes", least=5)
    fit(page)
    seen(page)
    page.locator("#plot").scroll_into_view_if_needed()
    seen(page, 2.0)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    small = page.evaluate(
        "() => [...document.querySelectorAll('button')].filter(b => b.offsetParent)"
        ".filter(b => b.offsetHeight < 24).length"
    )
    assert small == 0, "buttons too small to touch"
    page.screenshot(path=KEPT / "phone.png", full_page=True)
    assert labels_of(page)["Ada"] == labels_of(page)["Ben"]
