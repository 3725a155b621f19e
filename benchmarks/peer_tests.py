"""Tests of scikit-learn and k-means-constrained, run on corral through a shim.

``python benchmarks/peer_tests.py`` runs scikit-learn's estimator checks on corral's estimators, and
those of its tests of ``KMeans`` that use the class.  ``--kmc FOLDER`` also runs the tests of
k-means-constrained in a checkout of its repository; its releases ship none.  Every failure is
listed with the reason why corral differs.  The exit code is 1 if one has none, or if a reason is
stale: its tests pass now.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.estimator_checks import check_estimator

import corral

REPOSITORY = "https://github.com/joshlk/k-means-constrained"

#: Attributes of corral's fits that the shim has, too.
FITTED = ("cluster_centers_", "labels_", "inertia_", "n_iter_", "n_features_in_")

#: Tests that fail, by name: a pattern of the message, and why corral differs.  A failure with
#: another message is not explained.
LLOYD = (
    r"assert \d+ == [23]$",
    "asks for the number of Lloyd's iterations; n_iter_ has the search's",
)
NUMBERS = (
    "not equivalent|^$",  # the message of NumPy begins with an empty line
    "the same clusters with other numbers: of equally heavy ones that with the earliest row comes "
    "first, and the check shuffles rows",
)
PRIVATE_METHOD = ("_init_centroids", "calls the private method _init_centroids")
WORDS = ("did not match|does not match", "the same kind of error or warning with other words")
REASONS = {
    "check_sample_weight_equivalence_on_dense_data[ConstrainedKMedoids]": NUMBERS,
    "check_sample_weight_equivalence_on_sparse_data[ConstrainedKMedoids]": NUMBERS,
    "test_kmeans_results": LLOYD,
    "test_kmeans_relocated_clusters": LLOYD,
    "test_k_means_1_iteration": ("^AssertionError", "asks for the result of one Lloyd iteration"),
    "test_kmeans_init_auto_with_initial_centroids": (
        "'_n_init'",
        "reads the private attribute _n_init",
    ),
    "test_n_init_auto": ("'_n_init'", "reads the private attribute _n_init"),
    "test_sample_weight_init": PRIVATE_METHOD,
    "test_sample_weight_zero": PRIVATE_METHOD,
    "test_kmeans_verbose": ("assert None", "asks for lines that Lloyd's iterations print"),
    "test_warning_n_init_precomputed_centers": WORDS,
    "test_kmeans_warns_less_centers_than_unique_points": (
        "DID NOT WARN",
        "equal rows fill the other clusters",
    ),
    "test_relocating_with_duplicates": WORDS,
    "test_warning_elkan_1_cluster": ("DID NOT WARN", "there is no algorithm elkan"),
    "test_wrong_params": WORDS,
    "test_feature_names_out": ("^AssertionError", "names begin with the name of corral's class"),
    "test_k_means_explicit_init_shape": WORDS,
    "test_max_iter_error": WORDS,
    "test_score": ("assert", "max_iter=1 does not cut the search: both fits are equally good"),
    "test_spare_not_implemented": ("DID NOT RAISE", "sparse rows are clustered"),
}


class KMeans(ClusterMixin, TransformerMixin, BaseEstimator):
    """scikit-learn's parameters on top of ``ConstrainedKMeans``."""

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: Any = 300,
        tol: Any = 1e-4,
        verbose: Any = 0,
        random_state: Any = None,
        copy_x: Any = True,
        algorithm: Any = "lloyd",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _rules(self, n_samples: int) -> Any:
        return None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Fit ``ConstrainedKMeans`` and take over what it found."""
        names = ("init", "n_init", "max_iter", "tol", "verbose", "random_state")
        model = corral.ConstrainedKMeans(
            self.n_clusters, **{name: getattr(self, name) for name in names}
        )
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        model.fit(X, sample_weight=sample_weight, constraints=self._rules(rows))
        self._model = model
        for name in FITTED:
            setattr(self, name, getattr(model, name))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Labels of the fitted rows, which obey the rules."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Distances to the centres of a fit."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> Any:
        """The nearest centre of each row."""
        return self._model.predict(X)

    def transform(self, X: Any) -> Any:
        """Distances to the centres."""
        return self._model.transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Minus the inertia of the nearest centres."""
        return self._model.score(X, sample_weight=sample_weight)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the distances."""
        return self._model.get_feature_names_out(input_features)


class KMeansConstrained(KMeans):
    """k-means-constrained's parameters: sizes of all clusters between two bounds."""

    def __init__(
        self,
        n_clusters: Any = 8,
        size_min: Any = None,
        size_max: Any = None,
        init: Any = "k-means++",
        n_init: Any = 10,
        max_iter: Any = 300,
        tol: Any = 1e-4,
        verbose: Any = False,
        random_state: Any = None,
        copy_x: Any = True,
        n_jobs: Any = 1,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            copy_x=copy_x,
        )
        self.size_min = size_min
        self.size_max = size_max
        self.n_jobs = n_jobs

    def _rules(self, n_samples: int) -> Any:
        bounds = {"minimum": self.size_min, "maximum": self.size_max}
        given = {name: value for name, value in bounds.items() if value is not None}
        return corral.ClusterSizes(**given) if given else None


class Results:
    """A plugin of pytest: keeps the tests that use the shim, and how each ended."""

    def __init__(self, shim: type) -> None:
        self.shim = shim
        self.ended: dict[str, tuple[str, str]] = {}
        self.left_out = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out the tests of other classes and of private functions."""
        kept = [item for item in items if self._uses(item)]
        self.left_out += len(items) - len(kept)
        items[:] = kept

    def _uses(self, item: Any) -> bool:
        given = getattr(item, "callspec", None)
        if given is not None and any(value is self.shim for value in given.params.values()):
            return True
        module, seen, waiting = item.module, set(), [item.function]
        while waiting:  # the function, and those of its module that it calls
            function = waiting.pop()
            names = set(inspect.unwrap(function).__code__.co_names) - seen
            seen |= names
            if self.shim.__name__ in names:
                return True
            found = (getattr(module, name, None) for name in names)
            waiting += [one for one in found if inspect.isfunction(one)]
        return False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the outcome; an error before the test is one of the test."""
        if report.when == "call" or report.outcome != "passed":
            text = getattr(report.longrepr, "reprcrash", None)
            message = text.message.splitlines()[0] if text is not None else str(report.longrepr)
            self.ended[report.nodeid.rpartition("::")[2]] = (report.outcome, message)


def run(paths: list[Path], shim: type) -> Results:
    """Run the tests of some files, in a folder without settings of pytest."""
    results = Results(shim)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\nxfail_strict = false\n", encoding="utf-8")
        options = ["-p", "no:cacheprovider", "-c", str(settings), "--rootdir", folder]
        with redirect_stdout(StringIO()):
            pytest.main([*options, *map(str, paths)], [results])
    return results


def of_scikit_learn() -> Results:
    """The tests of ``KMeans``, with the shim in its place before they are imported."""
    import sklearn.cluster

    sklearn.cluster.KMeans = KMeans
    module = find_spec("sklearn.cluster.tests.test_k_means")
    if module is None or module.origin is None:
        raise SystemExit("this scikit-learn is installed without its tests; install its wheel")
    # The fixture of the seed is scikit-learn's own, in a file that pytest would find in its folder.
    os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "42")
    return run([Path(module.origin)], KMeans)


def of_k_means_constrained(folder: Path) -> Results:
    """The tests of a checkout, with the shim in place of the class."""
    package = import_module("k_means_constrained")
    package.KMeansConstrained = KMeansConstrained
    import_module("k_means_constrained.k_means_constrained_").KMeansConstrained = KMeansConstrained
    return run(sorted((folder / "tests").glob("test_*.py")), KMeansConstrained)


def of_checks() -> dict[str, tuple[str, str]]:
    """scikit-learn's estimator checks on each estimator."""
    ended = {}
    for name in (
        *("ConstrainedKMeans", "ConstrainedKMedoids", "ConstrainedKernelKMeans"),
        *("ConstrainedGaussianMixture", "LinkPropagation"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(getattr(corral, name)(), on_skip=None, on_fail=None)
        for check in found:
            message = str(check["exception"] or "").splitlines()[:1]
            ended[f"{check['check_name']}[{name}]"] = (check["status"], "".join(message))
    return ended


def table(rows: dict[str, dict[str, tuple[str, str]]]) -> list[str]:
    """Print counts by package and the failures; give those without a reason."""
    unexplained = []
    print(f"{'tests':<34}  passed  failed  skipped")
    for name, ended in rows.items():
        count = Counter(outcome for outcome, _ in ended.values())
        failed = count["failed"] + count["xfail"]
        print(f"{name:<34}  {count['passed']:6d}  {failed:6d}  {count['skipped']:7d}")
    for name, ended in rows.items():
        failures = {
            test: said for test, (outcome, said) in ended.items() if outcome in ("failed", "xfail")
        }
        by_reason: dict[str, list[str]] = {}
        for test in failures:
            function = test.partition("[")[0]
            pattern, reason = REASONS.get(test) or REASONS.get(function) or (None, "")
            if pattern is None or not re.search(pattern, failures[test]):
                unexplained.append(f"{name}: {test}: {failures[test]}")
            else:
                by_reason.setdefault(f"{function}: {reason}", []).append(test)
        print(f"\n{name}:" if failures else f"\n{name}: no failures")
        for reason, tests in by_reason.items():
            print(f"  {len(tests)} x {reason}")
    return unexplained


def stale(rows: dict[str, dict[str, tuple[str, str]]]) -> list[str]:
    """The reasons of tests that ran, none of which failed."""
    failed: dict[str, bool] = {}
    for ended in rows.values():
        for test, (outcome, _) in ended.items():
            for name in (test, test.partition("[")[0]):
                failed[name] = failed.get(name, False) or outcome in ("failed", "xfail")
    return [name for name in REASONS if not failed.get(name, True)]


def main() -> int:
    """Run all that can be run here; print a table and every failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kmc", type=Path, metavar="FOLDER", help=f"a checkout of {REPOSITORY}")
    options = parser.parse_args()
    rows, left_out = {"scikit-learn, estimator checks": of_checks()}, {}
    results = of_scikit_learn()
    rows["scikit-learn, test_k_means.py"] = results.ended
    left_out["scikit-learn"] = results.left_out
    if options.kmc is None or find_spec("k_means_constrained") is None:
        print(
            "k-means-constrained is left out: pip install k-means-constrained, git clone "
            f"{REPOSITORY}, and give its folder by --kmc\n"
        )
    else:
        results = of_k_means_constrained(options.kmc)
        rows["k-means-constrained"] = results.ended
        left_out["k-means-constrained"] = results.left_out
    unexplained = table(rows)
    for name, count in left_out.items():
        print(f"\n{name}: {count} tests of other classes or private functions are left out")
    wrong = {"unexplained": unexplained, "stale reasons": stale(rows)}
    for name, lines in wrong.items():
        print(
            "\n".join([f"\n{name}: " + ("" if lines else "none"), *(f"  {one}" for one in lines)])
        )
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
