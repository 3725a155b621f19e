"""``corral fit`` clusters a file under rules; ``corral check`` says whether they can be obeyed.

What takes long to import is imported by the functions that use it, so that ``--help`` and the
completion of the shell are quick.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np
from click.core import ParameterSource

import corral

from ..deadline import Deadline, OutOfTime
from ..exceptions import InfeasibleConstraintsError, SolverTimeoutError
from . import large
from . import options as opt
from .options import choice_option, stacked
from .output import (
    FINE,
    INFEASIBLE,
    INTERRUPTED,
    FitProgress,
    Written,
    check_output,
    check_printing,
    columns_before,
    label_columns,
    priced,
    print_report,
    say,
    spoken_warnings,
    told,
    write_labels,
)

if TYPE_CHECKING:
    from .. import Constraint, ConstraintSet, Report
    from .._typing import FloatArray, IntArray
    from ..constraints.previous import Previous
    from ..progress import Progress
    from .data import Points, Space
    from .tables import Table


#: Options that only some methods have, with the parameters of the estimators that they set; None
#: for those that set none.
OWN: dict[str, dict[str, str | None]] = {
    "kmeans": {
        "n_init": "n_init",
        "jobs": None,
        "on_infeasible": "on_infeasible",
        "prove": "prove",
        "metric": "metric",
        "keep_best": None,
        "model": None,
    },
    "gaussian": {"covariance": "covariance"},
    "medoids": {"n_init": "n_init", "metric": "metric"},
    "kernel": {"kernel": "kernel", "gamma": "gamma"},
}


def read_gamma(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """Read a number, or the word scale."""
    try:
        return value if value == "scale" else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither scale nor a number.") from None


method_options = stacked(
    choice_option(
        "--method",
        tuple(OWN),
        "Means of equal width; Gaussians of their own width and direction; rows as centres and "
        "plain distances; or a kernel's means.",
    ),
    choice_option(
        "--covariance",
        ("auto", "full", "tied", "diag", "spherical"),
        "With --method gaussian: what widths and directions clusters may have.",
    ),
    choice_option(
        "--kernel",
        ("rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2"),
        "With --method kernel: how similar two rows are.",
    ),
    opt.option(
        "--gamma",
        callback=read_gamma,
        default="scale",
        show_default=True,
        metavar="NUMBER|scale",
        help="With --method kernel: how fast the similarity falls.",
    ),
)


def make_estimator(method: str, n_clusters: int | str, **values: Any) -> Any:
    """The estimator of a method, with the values of its options.

    Raises
    ------
    ValueError
        If an option was given that the method does not have.
    """
    makers = {
        "kmeans": "ConstrainedKMeans",
        "gaussian": "ConstrainedGaussianMixture",
        "medoids": "ConstrainedKMedoids",
        "kernel": "ConstrainedKernelKMeans",
    }
    _refuse_others(method)
    own = {name: values[option] for option, name in OWN[method].items() if name is not None}
    common = {name: values[name] for name in ("effort", "time_limit", "cluster_names")}
    if values["init"] is not None:
        own["init"] = values["init"]
    maker = getattr(corral, makers[method])  # imports this one alone
    return maker(n_clusters, random_state=values["seed"], **common, **own)


def _refuse_others(method: str) -> None:
    context = click.get_current_context()
    for option in sorted({name for own in OWN.values() for name in own} - set(OWN[method])):
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            others = " or ".join(other for other, own in OWN.items() if option in own)
            raise ValueError(
                f"--{option.replace('_', '-')} is not for --method {method}; it is for --method "
                f"{others}."
            )


def as_lists(centers: FloatArray) -> list[list[float] | None]:
    """Centres for JSON; null for a cluster that has none because the rules leave it empty."""
    return [center.tolist() if np.isfinite(center).all() else None for center in centers]


#: Time limit, in seconds, for explaining a contradiction again with the user's ids; after it, the
#: message names row numbers.
RENAME_SECONDS = 5.0

FIT_EPILOG = """\b
Examples:
  corral fit points.csv -k 3 --must-link ml.csv --cannot-link cl.csv -o labels.csv
  corral fit shops.csv --id-column shop --columns x,y --sizes 40,40,20
  corral fit shops.csv -k 4 --id-column shop --total demand:100:500 --report report.html
  corral fit plants.csv -k 3 --method gaussian --must-link ml.csv --cannot-link cl.csv
  corral fit people.parquet -k 5 --scale standard --share sex:0.4: --min-size 10 --plot p.png
  corral fit cities.csv -k 6 --columns lat,lon --metric haversine --max-size 20 -o regions.csv
  corral fit stops.csv -k fewest --capacity load:900 --method medoids --metric haversine
  corral fit shops.csv --clusters reps.csv --total minutes --id-column shop -o labels.csv
  corral fit shops.csv --clusters reps.csv --total minutes --id-column shop --previous labels.csv \\
    --stay 0.5 -o new-labels.csv --changes moved.csv
  corral fit zones.geojson -k 8 --connected --total people:9000: --territories areas.gpkg
  corral fit parts/ -k 20 --max-size 60000 --columns x,y,z --labels-out labels.npy
  zcat big.csv.gz | corral fit - -k 8 --rules rules.json --model model.json > labels.csv

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
@opt.data_options
@opt.metric_option
@opt.weight_option
@opt.clusters_or_fewest_option
@opt.named_option
@opt.bases_option
@opt.rule_options
@opt.connected_options
@opt.previous_options
@method_options
@opt.solver_options
@opt.choice_option(
    "--on-infeasible",
    ("raise", "relax"),
    "Rules that contradict each other: end with exit code 3, or break them least.",
)
@opt.option(
    "--prove",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Seconds to spend on a proof of how good the answer is.",
)
@opt.option(
    "--prices",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Seconds to spend on the price of each rule: what the inertia would be without it.",
)
@opt.option("--describe", is_flag=True, help="Say what characterises each cluster.")
@opt.option("--keep-best", is_flag=True, help="Ctrl-C ends with the best answer so far.")
@opt.labels_options
@opt.option(
    "--labels-out",
    type=click.Path(),
    help="Labels alone, .npy or .parquet; POINTS, .npy, Parquet or a folder of it, is read in "
    "blocks.",
)
@opt.option("--model", type=click.Path(), help="JSON file of the clusters, for corral assign.")
@opt.map_options
@opt.picture_options
@opt.all_rows_option
@opt.option(
    "--sheets",
    is_flag=True,
    help="An Excel file has a sheet for each cluster, as it has where clusters have names.",
)
@opt.printing_options
def fit(
    method: str,
    covariance: str,
    kernel: str,
    gamma: float | str,
    seed: int,
    n_init: int | str,
    effort: float,
    time_limit: float | None,
    jobs: int | None,
    on_infeasible: str,
    prove: float | None,
    prices: float | None,
    describe: bool,
    keep_best: bool,
    output: str | None,
    keep_columns: bool,
    labels_out: str | None,
    model: str | None,
    report: str | None,
    plot: str | None,
    all_rows: bool,
    sheets: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    bases: str | None,
    territories: str | None,
    previous: str | None,
    previous_column: str,
    stay: float | None,
    changes: str | None,
    **options: Any,
) -> int:
    """Cluster the rows of POINTS (CSV, TSV, Excel, Parquet or npy) so that the rules are obeyed.

    A dash reads CSV from the standard input.
    """
    from .clusters import names_of
    from .data import write_model
    from .maps import base_of, frame_of, on_map, write_shapes
    from .tables import write_table

    output = None if output == "-" else output
    asked = opt.Options(**options)
    files = {"--output": output, "--model": model, "--report": report, "--plot": plot}
    files |= {"--changes": changes, "--territories": territories, "--labels-out": labels_out}
    if labels_out is not None:
        large.refuse_rows({"scale": asked.scale, "missing": asked.missing, "method": method})
    read = [*asked.files, *([] if previous is None else [previous])]
    for option, path in files.items():
        check_output(option, path, force=force, inputs=read)
    if (output is None and labels_out is None) or as_json:
        check_printing("JSON" if as_json else "the labels", "open it" if as_json else "give -o")
    written = Written(force=force)
    if previous is None:
        refuse_without_previous({"--stay": stay, "--changes": changes})
    refuse_other_kinds(output, method, sheets=sheets, prices=prices)
    points, rules, n_clusters = load(asked, quiet=quiet, whole=labels_out is None)
    if labels_out is None:
        if not quiet:
            warn_of_degrees(points)
        others = columns_before(points, asked.id_column, keep_columns)
    start = bases_of(asked, points, method, bases)
    if start is not None and bases != "fix":
        rules = rules.with_(near_bases(points, start, rules))
    before = previous_answer(asked, points, (previous, previous_column), stay, quiet=quiet)
    ground = base_of(asked.base_map, points)
    if territories is not None:
        frame_of(points)  # refuses rows without shapes before the fit
    clock = Deadline.after(None)
    fitted = make_estimator(
        method,
        opt.FEWEST if asked.fewest else n_clusters,
        covariance=covariance,
        kernel=kernel,
        gamma=gamma,
        seed=seed,
        n_init=n_init,
        effort=effort,
        time_limit=time_limit,
        jobs=jobs,
        on_infeasible=on_infeasible,
        prove=prove,
        metric=points.space.metric,
        cluster_names=names_of(asked),
        init=None if bases == "fix" else start,
    )
    stopped = False
    if bases == "fix":
        assign_to(start, fitted, points, rules, before)
    else:
        how: Any = {"quiet": quiet, "keep_best": keep_best, "previous": before}
        stopped = fit_model(fitted, points, rules, **how)
    seconds = clock.elapsed
    if jobs is not None and not quiet:
        say(opt.NO_JOBS, err=True)
    if stopped:
        click.echo("corral: interrupted; the answer is the best so far", err=True)
    centers = np.asarray(fitted.cluster_centers_)
    values = {"seconds": round(seconds, 3), "centers": as_lists(centers)}
    if method == "kmeans":
        values["n_iter"] = int(fitted.n_iter_)
    names = names_of(asked)
    if labels_out is not None:
        told_how: Any = {"quiet": quiet, "as_json": as_json}
        found = large.finish(fitted, points, labels_out, written, values, **told_how)
        if model is not None:
            write_model(model, points.space, centers, written.beside(model), names)
        if describe and not as_json:
            say(f"\n{found.describe()}")
        if report is not None:
            written.text(report, found.to_html(title=f"corral: {Path(asked.points).name}"))
        return written.code(INTERRUPTED if stopped else FINE)
    columns = {**others, **label_columns(fitted.labels_, points, centers, names)}
    # The labels come first: nothing that fails later can lose them.
    where: Any = {"output": output, "as_json": as_json}
    by = "label" if sheets or names is not None else None
    write_labels(columns, points, written, ids=asked.id_column, by=by, **where)
    if model is not None:
        write_model(model, points.space, centers, written.beside(model), names)
    found = replace(priced(fitted, points, rules, prices), **told(points))
    if found.changes is not None:
        found = replace(found, changes=replace(found.changes, names=points.called))
    found = on_map(found, points, ground)
    print_report(columns, points, found, quiet=quiet, values=values, **where)
    if describe and not as_json:
        say(f"\n{found.describe()}", err=output is None)
    if report is not None:
        title = f"corral: {Path(points.table.name).name}"
        written.text(report, found.to_html(title=title, all_rows=all_rows))
    if changes is not None and found.changes is not None:
        rows = found.changes.columns()
        write_table(changes, rows, points.table.decimal, "id", beside=written.beside(changes))
    if territories is not None:
        own: Any = {"names": names, "beside": written.beside(territories)}
        own["tolerance"] = asked.tolerance
        write_shapes(territories, points, columns, fitted.labels_, **own)
    if plot is not None and found.map is not None:
        written.picture(plot, map_picture(found, names))
    elif plot is not None:
        look: Any = {
            "metric": points.space.metric,
            "features": points.space.columns,
            "names": names,
        }
        written.picture(plot, picture_of(points.X, rules, fitted.labels_, centers, **look))
    return written.code(INTERRUPTED if stopped else FINE)


def are_degrees(points: Points) -> bool:
    """Whether rows are compared as plain numbers by columns called latitude and longitude."""
    from .clusters import HEADINGS

    called = [name.strip().lower() for name in points.space.columns]
    sides = [
        side for name in called for side in ("latitude", "longitude") if name in HEADINGS[side]
    ]
    return points.space.metric == "euclidean" and sorted(sides) == ["latitude", "longitude"]


def refuse_without_previous(given: dict[str, Any]) -> None:
    """Raise ValueError for options that need an earlier answer, of which there is none."""
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} is {value!r}, but --previous is not given; give both.")


def refuse_other_kinds(
    output: str | None, method: str, *, sheets: bool, prices: float | None
) -> None:
    """Raise ValueError for options that are for another kind of file or of clusters."""
    if sheets and not (output or "").lower().endswith(".xlsx"):
        raise ValueError(
            f"--sheets is for Excel files, but --output is {output!r}; give -o NAME.xlsx."
        )
    if prices is not None and method != "kmeans":
        raise ValueError(f"--prices is for --method kmeans, but --method is {method}.")


def warn_of_degrees(points: Points) -> None:
    """Say that degrees are compared as plain numbers, if they are."""
    if are_degrees(points):
        first, second = map(repr, points.space.columns)
        fault = f"{first} and {second} are compared as plain numbers"
        more = "--metric haversine compares places on the ground"
        say(f"corral: warning: {fault}; {more}", err=True)


def bases_of(
    asked: opt.Options, points: Points, method: str, bases: str | None
) -> FloatArray | None:
    """Where the clusters start, or stay, as points; None if the file of clusters does not say."""
    from .clusters import clusters_of

    named = clusters_of(asked)
    if bases is not None and method != "kmeans":
        raise ValueError(f"--bases is for --method kmeans, but --method is {method}.")
    if named is None or method != "kmeans":
        if bases is not None:
            raise ValueError("--bases is given without --clusters, whose table has the bases.")
        return None
    columns = points.space.columns
    found = named.bases(columns, degrees=points.space.metric == "haversine")
    if found is None:
        if bases is not None:
            wanted = " and ".join(map(repr, columns))
            raise ValueError(
                f"--bases is {bases!r}, but {named.table.name} has no columns {wanted} with a base "
                "for each cluster."
            )
        return None
    return points.space.points(found)


def near_bases(points: Points, bases: FloatArray, rules: ConstraintSet) -> Constraint:
    """Pins of the row nearest to each base, so that each cluster is where its base is.

    Rows that have a pin of their own, or are the nearest to an earlier base, are left out.
    """
    from .. import Pin
    from ..rows import METRICS, distances_to

    far = distances_to(points.X, bases, METRICS[points.space.metric])
    taken = [row for rule in rules.of_kind(Pin) for row in rule.rows.tolist()]
    far[taken] = np.inf
    pins: dict[int, int] = {}
    for cluster in range(len(bases)):
        row = int(np.argmin(far[:, cluster]))
        if np.isfinite(far[row, cluster]):
            pins[row] = cluster
            far[row] = np.inf
    return Pin(pins, n_samples=len(points.X))


def previous_answer(
    asked: opt.Options,
    points: Points,
    file: tuple[str | None, str],
    stay: float | None,
    *,
    quiet: bool,
) -> Previous | None:
    """The labels of ``--previous``, from a file and its column."""
    from .clusters import clusters_of, read_previous_labels

    path, column = file
    if path is None:
        return None
    with spoken_warnings(quiet):
        named = clusters_of(asked)
        return read_previous_labels(path, column, points, asked.id_column, named, stay)


def assign_to(
    centers: FloatArray | None,
    model: Any,
    points: Points,
    rules: ConstraintSet,
    before: Previous | None = None,
) -> None:
    """Make a fitted model of given centres, to which the rows are assigned under the rules."""
    from .. import audit

    if centers is None:  # not reached: the bases are there
        raise ValueError("--bases fix needs bases.")
    model.cluster_centers_, model.n_features_in_ = centers, centers.shape[1]
    names, weight, k = model.cluster_names, points.weight, len(centers)
    given = rules if before is None else rules.with_(before.pins)
    try:
        labels = model.assign(points.X, constraints=given, sample_weight=weight)
    except InfeasibleConstraintsError as clash:
        raise with_ids(clash, points, k, names) from clash
    found = audit(points.X, labels, given, k, weight, centers, model.metric, names)
    model.labels_, model.n_iter_, model.n_clusters_ = labels, 0, k
    model.report_ = found.named(points.called, names, before)


@click.command(epilog=CHECK_EPILOG, short_help="Say whether the rules can be obeyed, or why not.")
@opt.data_options
@opt.weight_option
@opt.clusters_option
@opt.named_option
@opt.rule_options
@opt.connected_options
@opt.time_limit_option("After it the question is left undecided, with exit code 4.")
@opt.printing_options
def check(time_limit: float | None, quiet: bool, as_json: bool, **options: Any) -> int:
    """Say whether the rules can be obeyed, or which of them contradict each other."""
    from ..feasibility import check as decide
    from .clusters import names_of

    asked = opt.Options(**options)
    points, rules, n_clusters = load(asked, quiet=quiet)
    own: Any = {"index": points.called, "cluster_names": names_of(asked)}
    found = decide(len(points.X), rules, n_clusters, time_limit=time_limit, **own)
    if found.feasible is None:
        raise SolverTimeoutError(found.message, time_limit or 0.0, "undecided")
    if as_json:
        click.echo(verdict(None if found else found.message, found.conflict or ()))
    elif not quiet:
        say(repr(found))
    return FINE if found else INFEASIBLE


def verdict(reason: str | None, conflict: Iterable[Constraint]) -> str:
    """Whether the rules can be obeyed, why not, and the rules of the conflict, as JSON."""
    rules = [rule.to_dict() for rule in conflict]
    values = {"feasible": reason is None, "reason": reason, "conflict": rules}
    return json.dumps(values, allow_nan=False)


def load(
    asked: opt.Options,
    *,
    quiet: bool,
    not_coordinates: Sequence[str] = (),
    space: Space | None = None,
    may_be_empty: bool = False,
    any_number: bool = False,
    whole: bool = True,
    table: Table | None = None,
) -> tuple[Points, ConstraintSet, int]:
    """Read the points, the rules and the number of clusters, and check them.

    ``table`` is the file if it has been read before, and ``space`` is that of a fitted model.
    Points that are not wanted ``whole`` are not read, but for the columns that the rules use.
    ``may_be_empty`` allows more clusters than rows, and ``any_number`` rules that are for another
    number of clusters.  If the number is to be the fewest, that of the rows stands for it.
    """
    from .data import load_points
    from .large import open_points
    from .rules import columns_of_rules, count_clusters, make_rules, number_columns

    n_clusters = 1 if asked.fewest else count_clusters(asked)
    with spoken_warnings(quiet):
        used = [*columns_of_rules(asked), *not_coordinates]
        if not whole:
            points = open_points(asked, used)
        else:
            points = load_points(asked, used, number_columns(asked), space, table)
            if points.using and not quiet:
                say(points.using, err=True)
        if n_clusters > len(points.X) and not may_be_empty:
            raise ValueError(
                f"-k is {n_clusters}, but {points.table.name} has {len(points.X)} rows; every "
                "cluster needs one."
            )
        if asked.fewest:
            n_clusters, any_number = len(points.X), True
        return points, make_rules(asked, points, n_clusters, any_number), n_clusters


class KeepBest:
    """Ctrl-C during a fit: the first asks the solver to stop, the second interrupts it.

    It is the callback of the fit, and ``shown`` is called with the progress.
    """

    def __init__(self, shown: Callable[[Progress], Any]) -> None:
        self._shown, self.asked = shown, False

    def __enter__(self) -> Self:
        """Take over the signal."""
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        """Give the signal back."""
        signal.signal(signal.SIGINT, self._before)

    def __call__(self, progress: Progress) -> bool:
        """Show the progress, and say whether to stop with the best answer so far."""
        self._shown(progress)
        return self.asked

    def _interrupt(self, *signal_and_frame: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def fit_model(
    model: Any,
    points: Points,
    rules: ConstraintSet,
    *,
    quiet: bool,
    keep_best: bool = False,
    previous: Previous | None = None,
) -> bool:
    """Fit with a progress bar; print warnings; name the user's ids in contradictions.

    Only k-means tells its progress.  Returns whether Ctrl-C ended it, which ``keep_best`` allows.
    """
    from .. import ConstrainedKMeans

    with (
        FitProgress(sys.stderr, enabled=not quiet) as progress,
        spoken_warnings(quiet),
        KeepBest(progress) if keep_best else nullcontext() as stop,
    ):
        try:
            given: Any = {"constraints": rules, "sample_weight": points.weight}
            if previous is not None:
                given |= {"previous": previous, "stay": previous.stay}
            if isinstance(model, ConstrainedKMeans):
                given["callback"] = stop or progress
            model.fit(points.X, **given)
        except SolverTimeoutError:
            if stop and stop.asked:  # there is no answer yet
                raise KeyboardInterrupt from None
            raise
        except InfeasibleConstraintsError as clash:
            fewest = model.n_clusters == opt.FEWEST
            k = len(points.X) if fewest else int(model.n_clusters)
            raise with_ids(clash, points, k, model.cluster_names) from clash
    return stop is not None and stop.asked


def with_ids(
    clash: InfeasibleConstraintsError,
    points: Points,
    n_clusters: int,
    clusters: tuple[str, ...] | None = None,
) -> InfeasibleConstraintsError:
    """The same contradiction with the user's ids, if there are ids and the time is enough."""
    from ..constraints.clusters import called
    from ..infeasible import explain

    if points.called is None:
        return clash
    n, deadline = len(points.X), Deadline.after(RENAME_SECONDS)
    try:
        names = called(points.called, clusters, n)
        again = explain(n, n_clusters, clash.conflict, deadline=deadline, names=names)
    except OutOfTime:
        return clash
    return again or clash


def map_picture(report: Report, names: Sequence[str] | None) -> Any:
    """A figure of the territories."""
    from matplotlib.figure import Figure

    from ..plots.maps import draw_map, size_of

    size = (8.0, 6.8) if report.map is None else size_of(report.map)
    figure = Figure(figsize=size, layout="constrained")
    if report.map is not None and report.view is not None:
        own = report.view.labels, len(report.sizes)
        draw_map(figure.subplots(), report.map, *own, names=names)
    return figure


def picture_of(
    X: FloatArray,
    rules: ConstraintSet,
    labels: IntArray,
    centers: FloatArray,
    metric: str = "euclidean",
    features: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """A figure of the clusters."""
    from matplotlib.figure import Figure

    from ..plots import plot_clusters

    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    own: Any = {"centers": centers, "metric": metric, "features": features, "names": names}
    plot_clusters(X, labels, rules, **own, ax=figure.subplots())
    return figure
