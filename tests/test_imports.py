"""Imports stay quick: they load nothing heavy that scikit-learn does not load anyway."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(statement):
    """Top-level packages that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def extra():
    """What corral loads beyond scikit-learn's cluster module."""
    everything, free = loaded_by("from corral import *"), loaded_by("import sklearn.cluster")
    return everything - free - set(sys.stdlib_module_names)


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
    # Compiled parts of SciPy register under names of their own.
    assert {name for name in extra if not name.startswith("_")} == {"corral"}


@pytest.mark.parametrize("module", ["corral", "corral.cli.app"])
def test_scikit_learn_is_loaded_when_needed(module):
    """``import corral`` and ``corral --help`` are quick."""
    assert not {"sklearn", "scipy", "ortools", "pandas"} & loaded_by(f"import {module}")


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
