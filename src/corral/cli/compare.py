"""``corral compare``: run all methods of the library on the user's data and rules."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from sklearn.metrics import adjusted_rand_score

from .. import (
    CannotLink,
    ClusterSizes,
    ConstrainedKMeans,
    Constraint,
    ConstraintSet,
    InfeasibleConstraintsError,
    MustLink,
    SolverTimeoutError,
    audit,
    baselines,
)
from ..deadline import Deadline
from .data import Points
from .fit import load, with_ids
from .options import (
    data_options,
    debug_option,
    json_option,
    quiet_option,
    rule_options,
    seed_option,
    time_limit_option,
)
from .output import check_output, write_text

EPILOG = """\b
Examples:
  corral compare points.csv -k 3 --must-link ml.csv --cannot-link cl.csv
  corral compare iris.csv -k 3 --sizes 50,50,50 --truth species -o table.csv

A dash marks a method that does not take these rules."""

HEAD = {
    "method": "method",
    "inertia": "inertia",
    "objective": "with soft",
    "broken": "broken",
    "agreement": "ARI",
    "seconds": "seconds",
    "note": "",
}


LINKS: tuple[type[Constraint], ...] = (MustLink, CannotLink)
ANY: tuple[type[Constraint], ...] = (Constraint,)
#: Largest number of points for COP-COBWEB, which is slow, and for the methods that store (n, n)
#: matrices: 200 MB each at 5,000 points.
MOST_POINTS = 5_000


@dataclass(frozen=True)
class Method:
    """A method of the table.

    Attributes
    ----------
    name : str
    make : callable(n_clusters, seed, time_limit) -> estimator
    kinds : tuple of Constraint classes
        Constraints that it takes; with others it is not run.
    soft : bool
        Whether links may have a finite weight.
    most_points : int, optional
        With more points it is not run.
    """

    name: str
    make: Callable[[int, int, float | None], Any]
    kinds: tuple[type[Constraint], ...]
    soft: bool = False
    most_points: int | None = None

    def refusal(self, rules: ConstraintSet, n_samples: int) -> str | None:
        """Say in a few words why it cannot be run; None if it can."""
        unknown = [rule for rule in rules if not isinstance(rule, self.kinds)]
        if unknown:
            return f"takes no {type(unknown[0]).__name__}"
        if not self.soft and len(rules.soft):
            return "takes no soft links"
        if self.most_points is not None and n_samples > self.most_points:
            return f"takes at most {self.most_points} points"
        return None


def _corral(solver: str) -> Callable[[int, int, float | None], Any]:
    def make(n_clusters: int, seed: int, time_limit: float | None) -> Any:
        return ConstrainedKMeans(
            n_clusters, solver=solver, random_state=seed, time_limit=time_limit
        )

    return make


def _plain(kind: type[Any]) -> Callable[[int, int, float | None], Any]:
    """A method without a time limit."""

    def make(n_clusters: int, seed: int, time_limit: float | None) -> Any:
        return kind(n_clusters, random_state=seed)

    return make


METHODS = (
    Method("corral", _corral("projected"), ANY, soft=True),
    Method("corral, algorithm1", _corral("algorithm1"), ANY),
    Method("k-means, no rules", _plain(baselines.PlainKMeans), ANY, soft=True),
    Method("COP-KMeans", _plain(baselines.COPKMeans), LINKS),
    Method("COP-COBWEB", _plain(baselines.COPCobweb), LINKS, most_points=MOST_POINTS),
    Method(
        "complete link", _plain(baselines.ConstrainedCompleteLink), LINKS, most_points=MOST_POINTS
    ),
    Method("E2CP", _plain(baselines.E2CP), LINKS, most_points=MOST_POINTS),
    Method("normalised cuts", _plain(baselines.ConstrainedNCut), LINKS, most_points=MOST_POINTS),
    Method("PPC", _plain(baselines.PPC), LINKS, soft=True),
    Method("PCKMeans", _plain(baselines.PCKMeans), LINKS, soft=True),
    Method("MPCKMeans", _plain(baselines.MPCKMeans), LINKS, soft=True),
    Method("k-means, minimum sizes", _plain(baselines.MinSizeKMeans), (ClusterSizes,)),
    Method("equi-sized c-means", _plain(baselines.EquiSizedFCM), (ClusterSizes,)),
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
@data_options
@rule_options
@click.option("--truth", metavar="COLUMN", help="Known classes, for the adjusted Rand index.")
@seed_option
@time_limit_option("For corral's own solvers; the other methods have no limit.")
@click.option("-o", "--output", type=click.Path(), help="The table as .csv.")
@quiet_option
@json_option
@debug_option
def compare(
    truth: str | None,
    seed: int,
    time_limit: float | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run all methods of the library on POINTS and print a table."""
    check_output(output, (".csv",), "--output")
    points, rules, n_clusters = load(options, () if truth is None else (truth,))
    classes = None if truth is None else points.table.texts(truth)
    talking = sys.stderr.isatty() and not quiet
    lines = []
    for method in METHODS:
        if talking:
            click.echo(f"{method.name} ...", err=True)
        lines.append(_run(method, points, rules, n_clusters, seed, time_limit, classes))
    names = [name for name in HEAD if _has_values(name, rules, classes)]
    if output is not None:
        write_text(output, _as_csv(lines, names))
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], allow_nan=False))
    elif not quiet:
        click.echo(_as_text(lines, names))


def _run(
    method: Method,
    points: Points,
    rules: ConstraintSet,
    n_clusters: int,
    seed: int,
    time_limit: float | None,
    classes: list[str] | None,
) -> Line:
    """Fit one method and audit its labels under the user's rules."""
    refusal = method.refusal(rules, len(points.X))
    if refusal is not None:
        return Line(method.name, note=refusal)
    clock = Deadline.after(None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = (
                method.make(n_clusters, seed, time_limit).fit(points.X, constraints=rules).labels_
            )
    except InfeasibleConstraintsError as clash:
        raise with_ids(clash, points, n_clusters) from clash
    except SolverTimeoutError:
        return Line(method.name, seconds=clock.elapsed, note="out of time")
    except baselines.DeadEndError:
        return Line(method.name, seconds=clock.elapsed, note="found no answer")
    except (ValueError, FloatingPointError) as error:
        # The rules were checked before, so this method cannot use one of them.
        return Line(method.name, note=_first_words(error))
    seconds = clock.elapsed
    report = audit(points.X, labels, rules, n_clusters)
    return Line(
        method.name,
        inertia=report.inertia,
        objective=report.objective,
        broken=sum(entry.violations.count for entry in report.entries),
        agreement=None if classes is None else float(adjusted_rand_score(classes, labels)),
        seconds=seconds,
    )


def _has_values(name: str, rules: ConstraintSet, classes: list[str] | None) -> bool:
    if name == "objective":
        return bool(len(rules.soft))
    return name != "agreement" or classes is not None


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _first_words(error: Exception) -> str:
    text = " ".join(str(error).split()).partition(";")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_csv(lines: Sequence[Line], names: Sequence[str]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    for line in lines:
        values = asdict(line)
        writer.writerow(["" if values[name] is None else values[name] for name in names])
    return buffer.getvalue()


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
