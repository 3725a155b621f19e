"""``import corral`` stays quick: it loads nothing heavy that scikit-learn does not load anyway."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(module):
    """Top-level packages that a fresh interpreter holds after the import."""
    code = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def extra():
    """What corral loads beyond scikit-learn's cluster module."""
    return loaded_by("corral") - loaded_by("sklearn.cluster") - set(sys.stdlib_module_names)


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
