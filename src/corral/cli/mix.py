"""``corral mix`` makes groups that are alike: study groups, classes, batches.

What takes long to import is imported by the functions that use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..deadline import Deadline
from . import options as opt
from .fit import with_ids
from .output import (
    FINE,
    Written,
    check_output,
    check_printing,
    columns_before,
    print_report,
    say,
    spoken_warnings,
    write_labels,
)

if TYPE_CHECKING:
    from .. import ConstraintSet
    from .data import Points
    from .tables import Table

MIX_EPILOG = """\b
Examples:
  corral mix students.csv -k 6 --together friends.csv --apart rivals.csv
  corral mix students.csv -k 6 --spread gender,needs --report groups.html -o groups.xlsx
  corral mix samples.csv -k 20 --id-column sample --together patients.csv --max-size 16
  corral mix people.parquet --sizes 80,10,10 --objective moments -o parts.csv

Columns of words are spread: each group gets its share of every category. The first column whose
words are all different has the names, unless --id-column says otherwise. An Excel file has a sheet
for each group."""


@click.command(epilog=MIX_EPILOG, short_help="Make groups that are alike.")
@opt.file_options
@opt.column_option(
    "--columns",
    multiple=True,
    metavar="NAME,...",
    help="Columns that groups are alike in; by default all that no other option names.",
)
@opt.weight_option
@opt.clusters_or_fewest_option
@opt.mix_rule_options
@opt.option(
    "--spread",
    multiple=True,
    metavar="NAME,...",
    help="Columns whose categories are spread evenly; by default all columns of words.",
)
@opt.choice_option(
    "--objective",
    ("means", "moments", "diversity"),
    "What groups have in common: means, means and spreads; or the largest distances inside.",
)
@opt.seed_option
@opt.effort_option
@opt.time_limit_option("After it the best answer so far is given.")
@opt.labels_options
@opt.report_option
@opt.all_rows_option
@opt.force_option
@opt.printing_options
def mix(
    spread: tuple[str, ...],
    objective: str,
    seed: int,
    effort: float,
    time_limit: float | None,
    output: str | None,
    keep_columns: bool,
    report: str | None,
    all_rows: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Make groups of the rows of POINTS that are alike and mixed inside, so that rules are obeyed.

    It is the opposite of corral fit, which puts rows together that are similar.
    """
    from .. import InfeasibleConstraintsError, MixedGroups

    output = None if output == "-" else output
    asked = opt.Options(**options)
    for option, path in {"--output": output, "--report": report}.items():
        check_output(option, path, force=force, inputs=asked.files)
    if output is None and as_json:
        check_printing("JSON", "open it")
    asked, points, frame, spreads, rules, k = _load(asked, spread, quiet=quiet)
    others = columns_before(points, asked.id_column, keep_columns)
    written, clock = Written(force=force), Deadline.after(None)
    number = opt.FEWEST if asked.fewest else k
    limits: Any = {"effort": effort, "time_limit": time_limit, "random_state": seed}
    model = MixedGroups(number, objective, spread=spreads, **limits)
    try:
        with spoken_warnings(quiet):
            model.fit(frame, constraints=rules, sample_weight=points.weight)
    except InfeasibleConstraintsError as clash:
        raise with_ids(clash, points, k) from clash
    columns = {**others, "label": model.labels_}
    where: Any = {"output": output, "as_json": as_json}
    if output is not None:
        write_labels(columns, points, written, ids=asked.id_column, by="label", **where)
    found = replace(model.report_, names=points.called)
    if not (quiet or as_json):
        say(f"{found.describe()}\n")
    elif output is None and not as_json:
        write_labels(columns, points, written, ids=asked.id_column, **where)
    values = {"seconds": round(clock.elapsed, 3)}
    shown = {**where, "output": output or (None if as_json else "")}
    print_report(columns, points, found, quiet=quiet, values=values, **shown)
    if report is not None:
        title = f"corral: {Path(points.table.name).name}"
        written.text(report, found.to_html(title=title, all_rows=all_rows))
    return written.code(FINE)


def _load(
    asked: opt.Options, spread: Sequence[str], *, quiet: bool
) -> tuple[opt.Options, Points, Any, list[str], ConstraintSet, int]:
    """What was asked with the names that were found, and what it takes to mix.

    The points, their columns, which of these are spread, the rules and the number of groups.
    """
    from ..mixed.columns import Frame
    from .data import load_points
    from .rules import columns_of_rules, count_clusters, make_rules, number_columns
    from .tables import read_table

    with spoken_warnings(quiet):
        table = read_table(asked.points, asked.header, asked.decimal)
        wanted = [name.strip() for given in spread for name in given.split(",")]
        chosen = [name.strip() for given in asked.columns for name in given.split(",")]
        for name in [*wanted, *chosen]:
            table.column(name)
        if asked.id_column is None:
            asked = replace(asked, id_column=_names_of(table, [*wanted, *chosen]))
        used = {asked.id_column, asked.weight, *columns_of_rules(asked)}
        free = chosen or [name for name in table.columns if name not in used]
        words = [name for name in free if _is_words(table, name)]
        words = list(dict.fromkeys([*wanted, *(words if not wanted else [])]))
        numbers = [name for name in free if name not in words and not _is_words(table, name)]
        k = 1 if asked.fewest else count_clusters(asked)
        table, taken = _with_indicators(table, words, numbers)
        own = replace(asked, columns=tuple(taken))
        points = load_points(own, [], number_columns(asked), table=table)
        if k > len(points.X):
            raise ValueError(
                f"-k is {k}, but {points.table.name} has {len(points.X)} rows; every group needs "
                "one."
            )
        values: dict[str, Any] = {}
        if numbers:
            values = {name: points.X[:, place] for place, name in enumerate(numbers)}
        values |= {name: np.array(points.table.texts(name), dtype=str) for name in words}
        k = len(points.X) if asked.fewest else k
        rules = make_rules(asked, points, k, any_number=asked.fewest)
    return asked, points, Frame(values), words, rules, k


def _is_words(table: Table, name: str) -> bool:
    """Whether most cells of a column that have a value hold no number."""
    from .tables import BLANK, as_numbers

    cells = [cell for cell in table.texts(name) if cell.lower() not in BLANK]
    found = np.isfinite(as_numbers(cells, table.decimal)) if cells else np.zeros(1, bool)
    return bool(np.mean(found) < 0.5)


def _names_of(table: Table, taken: Sequence[str]) -> str | None:
    """The first column of words that are all different; None if there is none."""
    for name in table.columns:
        if name not in taken and _is_words(table, name):
            cells = table.texts(name)
            if len(set(cells)) == len(cells) and all(cells):
                return name
    return None


def _with_indicators(
    table: Table, words: Sequence[str], numbers: Sequence[str]
) -> tuple[Table, list[str]]:
    """The table and its columns of numbers; without any, one that is constant."""
    if numbers:
        return table, list(numbers)
    if not words:
        raise ValueError(f"{table.name} has no column left to mix by; see --columns and --spread.")
    n = len(next(iter(table.columns.values())))
    return replace(table, columns={**table.columns, "": [0.0] * n}), [""]
