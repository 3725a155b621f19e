"""Rules of the project: one version, no package indexes, imports in one direction."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

import corral

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "corral"

# The way of the data.  A module may import from the layers above its own line, never from its
# own layer (but a package from itself) or below.  The numbers and the events of the search know
# nothing of it, so that settings and solutions may have them.
LAYERS = [
    {"numbers"},
    {"_arrays", "_text", "_typing", "deadline", "exceptions", "sheets", "versions"},
    {"_scale", "progress", "search.events"},
    {"constraints", "deal", "settings"},
    {"rules", "audit", "metrics", "datasets", "inputs", "geo"},
    {"named"},
    {"rows"},
    {"problem", "admm", "backends", "search.compiled"},
    {"search.prices"},
    {"exact", "plots", "solution"},
    {"search", "report"},
    {"solve", "infeasible"},
    {"feasibility"},
    {"new_rows", "proof", "active"},
    {"streams"},
    {"estimator", "baselines"},
    {"shapes", "choose", "pricing"},
    {"mixed"},
    {"studio"},
    {"__init__"},
    {"cli"},
]
# The audit checks what solvers claim, so it and the reports on it know nothing of solvers.
ONLY = {name: {"_text", "_typing", "constraints"} for name in ("metrics", "datasets", "plots")}
ONLY["plots"] = ONLY["plots"] | {"_arrays", "geo"}
ONLY["audit"] = {"_typing", "_arrays", "_scale", "constraints"}
ONLY["report"] = ONLY["audit"] | {"_text", "audit", "geo", "plots"}
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}

#: What comes with an extra; only the backends may import it.
EXTRAS = {
    "backends": {"torch", "cupy", "array_api_compat", "dask", "distributed"},
    "constraints": {"shapely"},
    "proof": {"torch"},
    "studio": {"bokeh", "tornado", "jinja2"},
    "geo": {"geopandas", "shapely", "pandas"},
}


def unit_of(parts):
    """The unit, a line of the layers, that a full name without ``corral`` belongs to."""
    both = ".".join(parts[:2])
    return both if both in DEPTH else parts[0]


def unit(path):
    """The module or subpackage of corral that a file belongs to."""
    return unit_of(path.relative_to(PACKAGE).with_suffix("").parts)


def for_types_only(node):
    """Whether it is ``if TYPE_CHECKING:``, whose imports never happen."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(path, node=None):
    """Full names that a file imports, as lists of their parts, wherever in the file it does."""
    node = node or ast.parse(path.read_text(encoding="utf-8"))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.split(".") for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            package = ["corral", *path.relative_to(PACKAGE).parent.parts]
            base = package[: len(package) - child.level + 1] if child.level else []
            module = child.module.split(".") if child.module else []
            yield from ([*base, *module, alias.name] for alias in child.names)
        elif not for_types_only(child):
            yield from imports(path, child)


def imported_units(path):
    """Units of corral that a file imports."""
    for top, *rest in imports(path):
        if top == "corral":
            yield unit_of(rest) if rest and rest[0] in DEPTH else "__init__"


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_a_layer():
    assert {unit(path) for path in SOURCES} <= set(DEPTH)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    own = unit(path)
    for other in set(imported_units(path)) - {own}:
        assert DEPTH[other] < DEPTH[own], f"{own} imports {other}, which comes after it"
        assert other in ONLY.get(own, {other}), f"{own} may not import {other}"


def test_no_solver_calls_the_code_of_the_audited_inertia():
    """docs/how.md promises it; that the audit calls no solver follows from ONLY."""
    tree = ast.parse((PACKAGE / "audit" / "inertia.py").read_text(encoding="utf-8"))
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {"piece_sums", "piece_inertia"} <= own
    outside = [path for path in SOURCES if unit(path) not in ("audit", "report")]
    for path in outside:
        for top, *rest in imports(path):
            of_audit = top == "corral" and rest[:1] == ["audit"]
            assert not (of_audit and {*rest[1:]} & {*own, "inertia"}), path


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_declared_dependencies_are_imported(path):
    # threadpoolctl is what scikit-learn itself requires.
    declared = {
        "corral",
        "numpy",
        "scipy",
        "sklearn",
        "joblib",
        "numba",
        "threadpoolctl",
        "ortools",
        "highspy",
        "matplotlib",
        "click",
        "pyarrow",
        "openpyxl",
    }
    declared |= EXTRAS.get(unit(path), set())
    assert {top for top, *_ in imports(path)} <= declared | set(sys.stdlib_module_names)


#: The steps of ``fit`` in CONTRIBUTING's list, and the call in ``fit`` that takes each.
WAY = {
    "inputs": "backend_of",
    "rules": "presolve",
    "problem": "Problem.of",
    "solve": "solve",
    "proof": "prover.proven",
    "audit": "Report.of",
}


def test_fit_is_the_way_of_the_data():
    """The functions that ``fit`` calls, in order, are the list in CONTRIBUTING."""
    tree = ast.parse((PACKAGE / "estimator.py").read_text(encoding="utf-8"))
    (fit,) = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "fit")
    calls = [n for n in ast.walk(fit) if isinstance(n, ast.Call)]
    names = [ast.unparse(n.func) for n in sorted(calls, key=lambda n: (n.lineno, n.col_offset))]
    assert [name for name in names if name in WAY.values()] == list(WAY.values())
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ +-> (\w+)", page, flags=re.MULTILINE)
    assert listed == list(WAY)


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    versions = {corral.__version__, metadata.version(project["name"]), project["version"]}
    assert versions == {str(citation["version"])}


def test_citation_names_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Bibi",
        "Alqahtani",
        "Ghanem",
    ]


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_package_index_is_named():
    """Where packages come from is a matter of the machine's own settings."""
    index = re.compile(rb"(index-url|find-links|trusted-host|/simple/|registry\s*=)\S*\s*https?:")
    for path in tracked_files():
        assert not index.search(path.read_bytes()), f"{path} names a package index"


def test_no_lock_file():
    locks = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pylock.toml"}
    assert not locks & {path.name for path in tracked_files()}


def test_wheel_holds_the_data_and_the_type_marker(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = {f"corral/datasets/data/{name}" for name in ("glass.csv", "hepatitis.csv", "README.md")}
    assert data | {"corral/py.typed", "corral/datasets/data/ionosphere.csv"} <= names
    assert {f"corral/{path.relative_to(PACKAGE)}" for path in SOURCES} <= names


README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL))
def test_examples_of_the_readme_run(example):
    exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/notation.md"])
def test_links_to_files_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{name} links to {target}"
