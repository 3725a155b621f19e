"""``corral fit`` clusters a file under rules; ``corral check`` says whether they can be obeyed."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import (
    ConstrainedKMeans,
    ConstraintSet,
    InfeasibleConstraintsError,
    Report,
    SolverTimeoutError,
)
from .._typing import FloatArray
from ..constraints.files import atomic_writer
from ..deadline import Deadline, OutOfTime
from ..feasibility import check as decide
from ..infeasible.conflict import explain
from ..plots import plot_clusters
from .data import Points, load_points
from .options import (
    Options,
    data_options,
    picture_options,
    printing_options,
    rule_options,
    solver_options,
    time_limit_option,
)
from .output import (
    FINE,
    INFEASIBLE,
    WRITERS,
    FitProgress,
    Labels,
    check_output,
    check_pictures,
    write_csv,
    write_labels,
    write_text,
)
from .rules import columns_of_rules, count_clusters, make_rules

#: Time limit, in seconds, for explaining a contradiction again with the user's ids; after it, the
#: message names row numbers.
RENAME_SECONDS = 5.0

FIT_EPILOG = """\b
Examples:
  corral fit points.csv -k 3 --must-link ml.csv --cannot-link cl.csv -o labels.csv
  corral fit shops.csv --id-column shop --columns x,y --sizes 40,40,20
  corral fit shops.csv -k 4 --id-column shop --capacity demand:500 --report report.html
  corral fit people.parquet -k 5 --scale standard --share sex:0.4: --min-size 10 --plot p.png

The labels are written to the output file, or to the standard output if there is none: id, label,
and distance to the centre of the cluster. Distances and the report are in the scale of --scale.
Files are written completely or not at all."""

CHECK_EPILOG = """\b
Examples:
  corral check points.csv -k 3 --must-link ml.csv --cannot-link cl.csv --sizes 59,71,48
  corral check shops.csv -k 4 --capacity demand:500 --time-limit 10

\b
Exit codes: 0 feasible, 2 bad input, 3 infeasible, 4 not decided within the time limit."""


@click.command(epilog=FIT_EPILOG, short_help="Cluster a file under rules.")
@data_options
@rule_options
@solver_options
@click.option("-o", "--output", type=click.Path(), help="Labels: .csv, .tsv, .parquet or .npy.")
@picture_options
@printing_options
def fit(
    seed: int,
    n_init: int | str,
    time_limit: float | None,
    jobs: int | None,
    output: str | None,
    report: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Cluster the rows of POINTS (CSV, TSV, Parquet or npy) so that the rules are obeyed."""
    check_output(output, tuple(WRITERS), "--output")
    check_pictures(report, plot)
    points, rules, n_clusters = load(options)
    clock = Deadline.after(None)
    model = ConstrainedKMeans(
        n_clusters, n_init=n_init, time_limit=time_limit, n_jobs=jobs, random_state=seed
    )
    fit_model(model, points, rules, quiet=quiet)
    seconds = clock.elapsed
    own = points.X - model.cluster_centers_[model.labels_]
    labels = Labels(points.names, model.labels_, np.linalg.norm(own, axis=1))
    found = replace(model.report_, names=points.ids)
    if report is not None:
        write_text(report, found.to_html(title=f"corral: {Path(points.table.path).name}"))
    if plot is not None:
        save_picture(plot, points.X, rules, model)
    if output is not None:
        write_labels(output, labels)
    elif not as_json:
        buffer = io.StringIO()
        write_csv(buffer, labels)
        click.echo(buffer.getvalue(), nl=False)
    if as_json:
        click.echo(_as_json(model, found, labels if output is None else None, seconds))
    elif not quiet:
        # If the labels are on the standard output, nothing else is.
        click.echo(str(found), err=output is None)


@click.command(epilog=CHECK_EPILOG, short_help="Say whether the rules can be obeyed, or why not.")
@data_options
@rule_options
@time_limit_option("After it the question is left undecided, with exit code 4.")
@printing_options
def check(time_limit: float | None, quiet: bool, as_json: bool, **options: Any) -> int:
    """Say whether the rules can be obeyed, or which of them contradict each other."""
    points, rules, n_clusters = load(options)
    found = decide(len(points.X), rules, n_clusters, time_limit=time_limit, index=points.ids)
    if found.feasible is None:
        raise SolverTimeoutError(found.message, time_limit or 0.0, "undecided")
    if as_json:
        conflict = [rule.to_dict() for rule in found.conflict or ()]
        reason = None if found else found.message
        values = {"feasible": found.feasible, "reason": reason, "conflict": conflict}
        click.echo(json.dumps(values, allow_nan=False))
    elif not quiet:
        click.echo(repr(found))
    return FINE if found else INFEASIBLE


def load(
    options: dict[str, Any], not_coordinates: Sequence[str] = ()
) -> tuple[Points, ConstraintSet, int]:
    """Read the points, the rules and the number of clusters, and check them."""
    asked = Options(**options)
    n_clusters = count_clusters(asked)
    points = load_points(asked, [*columns_of_rules(asked), *not_coordinates])
    if n_clusters > len(points.X):
        raise ValueError(
            f"-k is {n_clusters}, but {points.table.path} has {len(points.X)} rows; every cluster "
            "needs one."
        )
    return points, make_rules(asked, points, n_clusters), n_clusters


def fit_model(
    model: ConstrainedKMeans, points: Points, rules: ConstraintSet, *, quiet: bool
) -> None:
    """Fit with a progress bar; print warnings; name the user's ids in contradictions."""
    with (
        FitProgress(sys.stderr, enabled=not quiet) as progress,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", UserWarning)
        try:
            model.fit(points.X, constraints=rules, callback=progress)
        except InfeasibleConstraintsError as clash:
            raise with_ids(clash, points, model.n_clusters) from clash
    for warning in caught if not quiet else ():
        if issubclass(warning.category, UserWarning):
            click.echo(f"corral: warning: {warning.message}", err=True)


def with_ids(
    clash: InfeasibleConstraintsError, points: Points, n_clusters: int
) -> InfeasibleConstraintsError:
    """The same contradiction with the user's ids, if there are ids and the time is enough."""
    if points.ids is None:
        return clash
    n, deadline = len(points.X), Deadline.after(RENAME_SECONDS)
    try:
        again = explain(n, n_clusters, clash.conflict, deadline=deadline, names=points.ids)
    except OutOfTime:
        return clash
    return again or clash


def save_picture(path: str, X: FloatArray, rules: ConstraintSet, model: Any) -> None:
    """Write a picture of the clusters."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    plot_clusters(X, model.labels_, rules, centers=model.cluster_centers_, ax=figure.subplots())
    with atomic_writer(path) as file:
        figure.savefig(file.buffer, format=Path(path).suffix[1:].lower(), dpi=150)


def _as_json(
    model: ConstrainedKMeans, report: Report, labels: Labels | None, seconds: float
) -> str:
    values = {
        **report.to_dict(),
        "n_iter": int(model.n_iter_),
        "seconds": round(seconds, 3),
        "centers": model.cluster_centers_.tolist(),
    }
    if labels is not None:
        values["labels"] = [
            {"id": name, "label": label, "distance": distance}
            for name, label, distance in labels.rows()
        ]
    return json.dumps(values, allow_nan=False)
