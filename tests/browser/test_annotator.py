"""An annotator of texts and images: from the files of a fresh folder to the file of answers."""

from __future__ import annotations

import csv
import json
import urllib.error
import urllib.request

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="needs Playwright: make test-browser")

from playwright.sync_api import expect
from steps import AXE, KEPT, press, serious_findings, settled

KINDS = ("red leather shoe", "blue running shoe", "green rubber boot")
COLOURS = ((180, 40, 40), (40, 80, 190), (40, 130, 70))
N = 60


@pytest.fixture
def shoes(tmp_path):
    """Texts and images of three kinds with their embedding; one image is not there."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    rows = [["shoe", "description", "image", "price", *(f"e{j}" for j in range(9))]]
    for row in range(N):
        image.new("RGB", (240, 160), COLOURS[row % 3]).save(tmp_path / "images" / f"{row}.png")
        place = rng.normal(scale=0.7, size=9)
        place[row % 3] += 2.5
        text = f"A {KINDS[row % 3]} in size {36 + row % 9}, <b>hardly used</b>, with its box."
        rows.append([f"s{row:02}", text, f"images/{row}.png", 20 + row, *place.round(3)])
    path = tmp_path / "shoes.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def asked(shoes):
    """Open ``corral ask --page`` on the shoes, as its command does."""
    from corral.cli.ask import ask as command
    from corral.cli.options import Options
    from corral.cli.page import studio_of

    made = []

    def begin(show=("description,image",), by=None, goal=20, minutes=15.0, words=()):
        answers = str(shoes.parent / "answers.json")
        given = [str(shoes), "-k", "3", "--columns", "e*", "-o", answers, "--page", *words]
        params = command.make_context("ask", given).params
        options = Options(**{n: v for n, v in params.items() if n in Options.__dataclass_fields__})
        limits = {"goal": goal, "minutes": minutes}
        made.append(studio_of(options, answers, show, by, None, 0, 1.0, limits))
        return made[-1]

    yield begin
    for shown in made:
        shown.stop()


def saved(shoes):
    return json.loads((shoes.parent / "answers.json").read_text(encoding="utf-8"))


def waits(page):
    expect(page.locator("#annotate-same")).to_be_enabled()
    settled(page)


def right(page):
    """The key of the right answer to the pair that is shown."""
    waits(page)
    one, other = (int(name[1:]) % 3 for name in page.locator("#annotate .head").all_inner_texts())
    return "s" if one == other else "d"


def test_an_annotator_goes_from_the_files_to_the_answers(asked, shoes, pages):
    page = pages(asked().url)
    waits(page)
    card = page.locator("#annotate-pair")
    expect(card.locator("img")).to_have_count(2)
    images = "[...document.querySelectorAll('#annotate img')]"
    page.wait_for_function(f"() => {images}.every(image => image.naturalWidth == 240)")
    expect(card).to_contain_text("<b>hardly used</b>")  # texts are never HTML
    expect(page.locator("#annotate-undo")).to_be_disabled()
    page.keyboard.press("u")  # mistake 1: nothing to take back
    page.fill("#annotate-by", "Ann")  # mistake 2: keys while the name is typed
    page.keyboard.type("dss ")
    page.fill("#annotate-by", "Ann")
    page.keyboard.press("Enter")
    settled(page)
    assert not (shoes.parent / "answers.json").exists()
    expect(page.locator("#annotate-far")).to_contain_text("Question 1 · 0 of 20 answered")
    page.screenshot(path=KEPT / "annotate.png")
    page.locator("#annotate summary").click()
    for name in ("description", "image"):  # mistake 3: no column is left
        page.locator(f"#annotate-columns input[value={name}]").click()
        settled(page)
    expect(page.locator("#annotate-columns input:checked")).to_have_count(1)
    page.locator("#annotate-columns input[value=description]").check()
    settled(page)
    page.locator("#annotate summary").click()
    first = page.locator("#annotate .head").all_inner_texts()
    page.keyboard.press("s" if right(page) == "d" else "d")  # mistake 4: the wrong key
    settled(page)
    page.keyboard.press("u")
    waits(page)
    assert page.locator("#annotate .head").all_inner_texts() == first
    for number in range(20):
        page.keyboard.press("Space" if number == 4 else right(page))
        settled(page)
        if number < 19:
            waits(page)
            assert len(saved(shoes)["answers"]) == number + 1
    expect(page.locator("#annotate-why")).to_contain_text("That is enough: 18 answers, 1 not known")
    expect(page.locator("#annotate-why")).to_contain_text("earlier answers: 1 of 1")
    expect(page.locator("#annotate-saved")).to_contain_text("answers.json")
    found = saved(shoes)
    assert {said["by"] for said in found["answers"]} == {"Ann"}
    for rule in found["constraints"]:
        for one, other in rule["pairs"]:
            assert (one % 3 == other % 3) == (rule["kind"] == "MustLink")
    page.screenshot(path=KEPT / "annotate-end.png")


def test_the_next_day_goes_on_with_the_numbers_the_name_and_undo(asked, shoes, pages):
    shown = asked(by="Ann")
    page = pages(shown.url)
    for _ in range(3):
        page.keyboard.press(right(page))
        settled(page)
    waits(page)
    before = saved(shoes)["answers"]
    shown.stop()
    shown.wait()
    page.close()
    page = pages(asked().url)
    waits(page)
    expect(page.locator("#annotate-far")).to_contain_text("Question 4 · 0 of 20 answered")
    expect(page.locator("#annotate-by")).to_have_value("Ann")
    page.keyboard.press("u")
    waits(page)
    assert saved(shoes)["answers"] == before[:2]
    names = page.locator("#annotate .head").all_inner_texts()
    assert names == before[2]["pair"]


def test_the_minutes_end_the_questions_and_one_can_go_on(asked, pages):
    page = pages(asked(minutes=0.02).url)
    waits(page)
    expect(page.locator("#annotate-why")).to_contain_text("The time is over")
    page.keyboard.press("s")  # mistake 5: a key after the end
    settled(page)
    expect(page.locator("#annotate-far")).to_contain_text("Question 1")
    page.click("#annotate-on")
    page.keyboard.press(right(page))
    waits(page)
    expect(page.locator("#annotate-far")).to_contain_text("Question 2")


def test_a_path_that_leads_to_no_image_says_what_to_do(asked, shoes, pages):
    text = shoes.read_text(encoding="utf-8").replace("images/", "pictures/")
    shoes.write_text(text.replace("pictures/0.png", "../../0.png"), encoding="utf-8")
    page = pages(asked().url)
    waits(page)
    expect(page.locator("#annotate .fault")).to_have_count(2)
    expect(page.locator("#annotate .fault").first).to_contain_text("--images names another folder")


def status(url):
    try:
        with urllib.request.urlopen(url) as response:
            return response.status, response.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_images_are_sent_under_the_token_and_only_those_of_cells(asked, shoes):
    shown = asked()
    assert status(f"{shown.url}image/0/1") == (200, "image/png")
    token = shown.url.split("/")[-2]
    assert status(shown.url.replace(token, "x" * len(token)) + "image/0/1")[0] == 403
    for path in ("image/0/0", "image/999/1", "image/0/99", "image/../shoes.csv", "image/0/1/.."):
        assert status(shown.url + path)[0] in (403, 404)


def test_the_questions_on_a_phone_and_with_axe(asked, pages):
    page = pages(asked(show=()).url, width=390, height=844, has_touch=True)
    waits(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.screenshot(path=KEPT / "annotate-phone.png")
    if AXE.exists():
        assert serious_findings(page) == []
    press(page, "#annotate-close")
    expect(page.locator("#annotate")).to_be_hidden()
    page.locator("#large").click()
    expect(page.locator("#annotate")).to_be_visible()


def test_answers_about_other_rows_are_not_lost(asked, shoes):
    said = {"pair": ["s00", "elsewhere"], "says": "unknown"}
    path = shoes.parent / "answers.json"
    values = {"format": "corral constraints", "version": 1, "constraints": [], "answers": [said]}
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"1 answers about rows that shoes\.csv"):
        asked()
    assert json.loads(path.read_text()) == values
