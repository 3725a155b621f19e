"""Imports stay quick: they load nothing heavy that scikit-learn does not load anyway."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(*statements):
    """Modules that a fresh interpreter holds after each of the statements, one after another."""
    each = "\nprint(*sys.modules)\n"
    code = "import sys\n" + "".join(statement + each for statement in statements)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


def packages(modules):
    """Their top-level packages."""
    return {name.split(".")[0] for name in modules}


@pytest.fixture(scope="module")
def loaded():
    """What is loaded by one import after another, and by all before it."""
    return loaded_by(
        "import sklearn.cluster",
        "from corral import ConstrainedKMeans",
        "from corral import *",
        "import corral.backends.dask.workers",
    )


@pytest.fixture(scope="module")
def extra(loaded):
    """What corral loads beyond scikit-learn's cluster module."""
    free, _, everything, _ = loaded
    return packages(everything) - packages(free) - set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    "package",
    [
        "ortools",
        "highspy",
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "torch",
        "cupy",
        "dask",
        "click",
    ],
)
def test_what_only_some_need_is_loaded_when_needed(package, extra):
    assert package not in extra


def test_nothing_but_itself_is_loaded(extra):
    # Compiled parts of SciPy register under names of their own; numba loads what it finds.
    numba = {"numba", "llvmlite", "yaml", "coverage", "colorama"}
    assert {name for name in extra if not name.startswith("_")} - numba == {"corral"}


def test_scikit_learn_is_loaded_when_needed():
    """``import corral`` and ``corral --help`` are quick."""
    for modules in loaded_by("import corral", "import corral.cli.app"):
        assert not {"sklearn", "scipy", "ortools", "pandas"} & packages(modules)


def test_a_fit_without_proof_does_not_load_it(loaded):
    assert "corral.proof" not in loaded[1]


def test_nobody_loads_dask_unasked(loaded):
    assert not {"dask", "distributed"} & packages(loaded[3])


def test_public_names_do_not_depend_on_what_was_imported_before():
    """The function ``audit`` has the name of a subpackage, which the solver imports."""
    code = (
        "import corral.estimator, corral, inspect\n"
        "assert inspect.isfunction(corral.audit), corral.audit\n"
        "from corral.audit import examine\n"
        "assert inspect.isfunction(corral.audit), corral.audit\n"
        "assert all(hasattr(corral, name) for name in corral.__all__)\n"
        "assert set(corral.__all__) <= set(dir(corral))\n"
        "assert not hasattr(corral, 'nothing')\n"
        "assert corral.metrics.__name__ == 'corral.metrics'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
