"""``corral compare``: run all methods of the library on the user's data and rules."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from ..deadline import Deadline
from ..exceptions import InfeasibleConstraintsError, SolverTimeoutError
from . import options as opt
from .fit import load, with_ids
from .output import FINE, Written, check_output, check_printing, say

if TYPE_CHECKING:
    from .. import ConstrainedKMeans, Constraint, ConstraintSet
    from .._typing import FloatArray
    from ..baselines.base import Baseline
    from .data import Points

EPILOG = """\b
Examples:
  corral compare points.csv -k 3 --must-link ml.csv --cannot-link cl.csv
  corral compare iris.csv -k 3 --sizes 50,50,50 --truth species -o table.csv
  corral compare cities.csv -k 5 --columns lat,lon --metric haversine --max-size 40

A dash marks a method that does not take these rules or this metric. The inertia is that of the
labels by the metric, also for methods that minimise something else."""

HEAD = {
    "method": "method",
    "inertia": "inertia",
    "objective": "with soft",
    "broken": "broken",
    "agreement": "ARI",
    "seconds": "seconds",
    "note": "",
}


#: Largest number of points for COP-COBWEB, which is slow, and for the methods that store (n, n)
#: matrices: 200 MB each at 5,000 points.
MOST_POINTS = 5_000


@dataclass(frozen=True)
class Method:
    """A method of the table.

    ``make(n_clusters, seed, time_limit, metric, effort)`` gives the estimator.  The method is not
    run with kinds of constraints that it does not take, with soft links unless ``soft``, with more
    than ``most_points`` points, and by other metrics than the Euclidean unless ``any_metric``.
    """

    name: str
    make: Callable[[int, int, float | None, str, float], Any]
    kinds: tuple[type[Constraint], ...] | None = None
    soft: bool = False
    most_points: int | None = None
    any_metric: bool = False

    def refusal(
        self, rules: ConstraintSet, n_samples: int, metric: str = "euclidean"
    ) -> str | None:
        """Say in a few words why it cannot be run; None if it can."""
        kinds = self.kinds
        if metric != "euclidean" and not self.any_metric:
            return f"takes no metric {metric}"
        unknown = [] if kinds is None else [rule for rule in rules if not isinstance(rule, kinds)]
        if unknown:
            return f"takes no {type(unknown[0]).__name__}"
        if not self.soft and len(rules.soft):
            return "takes no soft links"
        if self.most_points is not None and n_samples > self.most_points:
            return f"takes at most {self.most_points} points"
        return None


def _own(
    name: str, kind: Callable[..., Any], most_points: int | None = None, *, any_metric: bool = False
) -> Method:
    """An estimator of corral."""

    def make(k: int, seed: int, time_limit: float | None, metric: str, effort: float) -> Any:
        more = {"metric": metric} if any_metric else {}
        return kind(k, random_state=seed, time_limit=time_limit, effort=effort, **more)

    return Method(name, make, soft=True, most_points=most_points, any_metric=any_metric)


def _algorithm1(k: int, seed: int, time_limit: float | None, metric: str, effort: float) -> Any:
    from .. import ConstrainedKMeans

    options: Any = {"random_state": seed, "time_limit": time_limit, "effort": effort}
    return ConstrainedKMeans(k, solver="algorithm1", **options)


@dataclass(frozen=True)
class Propagated:
    """k-means under the rules on the embedding of propagated links."""

    n_clusters: int
    random_state: int
    time_limit: float | None
    effort: float = 1.0

    def fit(self, X: FloatArray, *, constraints: ConstraintSet) -> ConstrainedKMeans:
        """Embed and cluster the points."""
        from .. import ConstrainedKMeans, LinkPropagation

        options: Any = {"random_state": self.random_state, "time_limit": self.time_limit}
        options["effort"] = self.effort
        embedding = LinkPropagation(self.n_clusters).fit_transform(X, constraints=constraints)
        return ConstrainedKMeans(self.n_clusters, **options).fit(embedding, constraints=constraints)


def _baseline(name: str, kind: type[Baseline], most_points: int | None = None) -> Method:
    """A method without a time limit, which takes the constraints that its class names."""

    def make(k: int, seed: int, time_limit: float | None, metric: str, effort: float) -> Any:
        return kind(k, random_state=seed)

    return Method(name, make, kind._kinds, kind._soft, most_points)


@cache
def methods() -> tuple[Method, ...]:
    """All methods of the table."""
    from .. import (
        ConstrainedGaussianMixture,
        ConstrainedKernelKMeans,
        ConstrainedKMeans,
        ConstrainedKMedoids,
        baselines,
    )

    return (
        _own("corral", ConstrainedKMeans, any_metric=True),
        _own("corral, Gaussians", ConstrainedGaussianMixture),
        _own("corral, medoids", ConstrainedKMedoids, MOST_POINTS, any_metric=True),
        _own("corral, rbf kernel", ConstrainedKernelKMeans),
        _own("corral, propagation", Propagated, MOST_POINTS),
        Method("corral, algorithm1", _algorithm1),
        _baseline("k-means, no rules", baselines.PlainKMeans),
        _baseline("COP-KMeans", baselines.COPKMeans),
        _baseline("COP-COBWEB", baselines.COPCobweb, MOST_POINTS),
        _baseline("complete link", baselines.ConstrainedCompleteLink, MOST_POINTS),
        _baseline("E2CP", baselines.E2CP, MOST_POINTS),
        _baseline("normalised cuts", baselines.ConstrainedNCut, MOST_POINTS),
        _baseline("PPC", baselines.PPC),
        _baseline("PCKMeans", baselines.PCKMeans),
        _baseline("MPCKMeans", baselines.MPCKMeans),
        _baseline("k-means, minimum sizes", baselines.MinSizeKMeans),
        _baseline("equi-sized c-means", baselines.EquiSizedFCM),
    )


@dataclass(frozen=True)
class Line:
    """Result of one method, a row of the table; None where there is no result."""

    method: str
    inertia: float | None = None
    objective: float | None = None
    broken: int | None = None
    agreement: float | None = None
    seconds: float | None = None
    note: str = ""

    def cells(self, names: Sequence[str]) -> list[str]:
        """The values as short texts; a dash for None."""
        values = asdict(self)
        values["seconds"] = None if self.seconds is None else round(self.seconds, 3)
        return [_text(values[name]) for name in names]


@click.command(epilog=EPILOG, short_help="Run all methods of the library and print a table.")
@opt.data_options
@opt.metric_option
@opt.clusters_option
@opt.rule_options
@opt.column_option("--truth", metavar="COLUMN", help="Known classes, for the adjusted Rand index.")
@opt.seed_option
@opt.effort_option
@opt.time_limit_option("For corral's own solvers; the other methods have no limit.")
@opt.option("-o", "--output", type=click.Path(), help="The table: .csv, .xlsx and others.")
@opt.force_option
@opt.printing_options
def compare(
    truth: str | None,
    seed: int,
    effort: float,
    time_limit: float | None,
    output: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Run all methods of the library on POINTS and print a table."""
    from ..audit.distances import check_places
    from .tables import write_table

    asked = opt.Options(**options)
    check_output("--output", output, force=force, inputs=asked.files)
    if as_json or not (quiet or output):
        check_printing("the table", "open it" if as_json else "give -o")
    written = Written(force=force)
    classes_in = () if truth is None else (truth,)
    points, rules, n_clusters = load(asked, quiet=quiet, not_coordinates=classes_in)
    check_places(points.X, asked.metric)
    classes = None if truth is None else points.table.texts(truth)
    talking = sys.stderr.isatty() and not quiet
    lines = []
    for method in methods():
        if talking:
            click.echo(f"{method.name} ...", err=True)
        refusal = method.refusal(rules, len(points.X), asked.metric)
        if refusal is None:
            model = method.make(n_clusters, seed, time_limit, asked.metric, effort)
            lines.append(_run(method.name, model, points, rules, classes))
        else:
            lines.append(Line(method.name, note=refusal))
    empty = {"objective": not len(rules.soft), "agreement": classes is None}
    names = [name for name in HEAD if not empty.get(name, False)]
    if output is not None:
        columns = {name: [getattr(line, name) for line in lines] for name in names}
        write_table(output, columns, asked.decimal, beside=written.beside(output))
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], allow_nan=False))
    elif not quiet:
        say(_as_text(lines, names))
    return written.code(FINE)


def _run(
    name: str, model: Any, points: Points, rules: ConstraintSet, classes: list[str] | None
) -> Line:
    """Fit a model and audit its labels under the user's rules."""
    from sklearn.metrics import adjusted_rand_score

    from .. import audit, baselines

    clock = Deadline.after(None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(points.X, constraints=rules).labels_
    except InfeasibleConstraintsError as clash:
        raise with_ids(clash, points, int(model.n_clusters)) from clash
    except SolverTimeoutError:
        return Line(name, seconds=clock.elapsed, note="out of time")
    except baselines.DeadEndError:
        return Line(name, seconds=clock.elapsed, note="found no answer")
    except (ValueError, FloatingPointError) as error:
        # The rules were checked before, so this method cannot use one of them.
        return Line(name, note=_first_words(error))
    seconds = clock.elapsed
    report = audit(points.X, labels, rules, model.n_clusters, metric=points.space.metric)
    return Line(
        name,
        inertia=report.inertia,
        objective=report.objective,
        broken=sum(entry.violations.count for entry in report.entries),
        agreement=None if classes is None else float(adjusted_rand_score(classes, labels)),
        seconds=seconds,
    )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _first_words(error: Exception) -> str:
    text = " ".join(str(error).split()).partition(";")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_text(lines: Sequence[Line], names: Sequence[str]) -> str:
    """Aligned columns: texts to the left, numbers to the right."""
    table = [[HEAD[name] for name in names], *(line.cells(names) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    shown = [
        "  ".join(
            cell.ljust(width) if name in ("method", "note") else cell.rjust(width)
            for cell, width, name in zip(row, widths, names, strict=True)
        ).rstrip()
        for row in table
    ]
    return "\n".join(shown)
