"""``corral studio``: a page on this machine to look at points, set rules and fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options as opt
from .output import asks_here, rescued, say

if TYPE_CHECKING:
    from .. import ConstraintSet
    from ..studio.data import Data
    from ..studio.session import Session
    from .data import Points
    from .tables import Table

#: Number of clusters unless ``-k`` or ``--sizes`` gives it.
CLUSTERS = 3

EPILOG = """\b
Examples:
  corral studio points.csv
  corral studio class.csv -k 5 --id-column name --share sex:0.4:
  corral studio shops.csv -k 4 --rules rules.json --no-browser
  corral studio cities.csv -k 6 --metric haversine

The page is served to this machine only, at an address with a secret token; Ctrl-C ends it. Columns
without numbers are not clustered by; they serve for names and shares. --metric haversine clusters
by the columns called lat and lon, or latitude and longitude, unless --columns names others. After
the first change the page asks once whether changes are to be saved to POINTS.studio.json, a new
file beside POINTS. The page saves rules as a JSON file, too; --rules reads both, here and in corral
fit."""


@click.command(epilog=EPILOG, short_help="Look, set rules and fit in a page on this machine.")
@opt.data_options
@opt.metric_option
@opt.weight_option
@opt.clusters_option
@opt.named_option
@opt.rule_options
@opt.connected_options
@opt.base_option
@opt.seed_option
@opt.effort_option
@opt.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; 0: a free one."
)
@opt.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@opt.debug_option
def studio(seed: int, effort: float, port: int, browser: bool, **options: Any) -> int:
    """Open a page in which to look at POINTS, set rules, fit, and see what changed.

    Missing numbers become the mean of their column, and the page says so, unless --missing drop.
    """
    from ..studio import Studio
    from ..studio.autosave import Autosave
    from .rules import pairs_not_known

    asked = opt.Options(**options)
    data, rules, n_clusters = read(asked)
    autosave = None if asked.points == "-" else Autosave.beside(Path(asked.points))
    unknown = tuple(pairs_not_known(asked.constraints, len(data)))
    own: Any = {"effort": effort, "unknown": unknown, "autosave": autosave}
    shown = Studio(data, rules, n_clusters, seed, port, **own)
    click.echo(f"The studio is at {shown.url}\nCtrl-C ends it.")
    say(data.using())
    if browser:
        shown.open()
    shown.wait()
    _keep_the_rest(shown._session)
    if shown.saved is not None:
        click.echo(f"All changes are saved in {shown.saved}; --rules reads it.")
    return 0


def _keep_the_rest(session: Session) -> None:
    """Ask about changes that no file holds, if the page got no answer; lose none in silence."""
    if session.question and asks_here():
        with suppress(click.Abort):
            session.answer_keep(click.confirm(session.question, default=True, err=True))
    autosave = session.autosave
    if autosave is not None and autosave.agreed is not False and session.unkept:
        where = rescued(session.text, "studio.json", printed=True)
        say(f"Rules and answers are not saved beside the data; {where}.")


def read(asked: opt.Options) -> tuple[Data, ConstraintSet, int]:
    """The data, the rules and the number of clusters that the options name."""
    from ..constraints import Connected
    from ..geo.shapes import map_of
    from ..studio.data import HAVERSINE
    from .clusters import names_of
    from .data import load_points
    from .maps import base_of, frame_of, written_graph
    from .rules import columns_of_rules, count_clusters, make_rules, number_columns
    from .tables import names_column, read_table

    if asked.missing == "drop":
        raise click.UsageError(
            "--missing drop is not possible in the studio, because its rules are for all rows of "
            "the file; drop the rows from the file, or let the mean stand in for missing numbers."
        )
    given = any(each is not None for each in (asked.n_clusters, asked.sizes, asked.clusters))
    n_clusters = count_clusters(asked) if given else CLUSTERS
    table = read_table(asked.points, asked.header, asked.decimal)
    numbers, notices = _numeric(table)
    id_column = asked.id_column or names_column(table)
    asked = replace(asked, id_column=id_column, missing="mean")
    if table.frame is not None:
        asked = replace(asked, missing="error" if not asked.columns else asked.missing)
    elif asked.metric == HAVERSINE:
        asked = _of_places(asked, table, numbers)
    others = [*(name for name in table.columns if name not in numbers), *columns_of_rules(asked)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        points = load_points(asked, others, number_columns(asked), table=table)
        rules = make_rules(asked, points, n_clusters)
    notices += [str(warning.message) for warning in said]
    data = _data(points, numbers, asked, notices)
    if points.table.frame is not None or asked.base_map is not None:
        data = replace(data, map=map_of(frame_of(points), base_of(asked.base_map, points)))
    graph = rules.of_kind(Connected)
    if graph and asked.connected is not None:
        data = replace(data, written=((graph[-1], written_graph(asked, points)),))
    return replace(data, clusters=names_of(asked)), rules, n_clusters


def _of_places(asked: opt.Options, table: Table, numbers: dict[str, Any]) -> opt.Options:
    """Latitude and longitude as the columns to cluster by, unless some are named; no gaps."""
    from ..studio.data import degrees_of

    columns = asked.columns or degrees_of(numbers, table.name)
    return replace(asked, columns=columns, missing="error")


def _numeric(table: Table) -> tuple[dict[str, Any], list[str]]:
    """The columns of numbers, with NaN in gaps, and a sentence on each that is only nearly one."""
    import numpy as np

    from .tables import as_numbers

    found, notices = {}, []
    for name, cells in table.columns.items():
        values = as_numbers(cells, table.decimal)
        finite = np.isfinite(values)
        if finite.all():
            found[name] = values
        elif finite.any():
            try:
                found[name] = table.numbers(name, gaps=True)
            except ValueError as error:
                if finite.mean() > 0.5:
                    notices.append(f"Not clustered by {name!r}. {error}")
    return found, notices


def _data(
    points: Points, numbers: dict[str, Any], asked: opt.Options, notices: Sequence[str]
) -> Data:
    import numpy as np

    from ..studio.data import Data, without_gaps
    from ..studio.images import Images

    columns = {
        name: numbers[name] if name in numbers else np.array(points.table.texts(name), object)
        for name in points.table.columns
        if name != asked.id_column
    }
    names = None if points.ids is None else tuple(points.ids)
    columns, gaps, _ = without_gaps(columns)
    return Data(
        title=Path(points.table.name).name,
        X=points.X,
        features=points.space.columns,
        columns=columns,
        names=names,
        weight=points.weight,
        notices=tuple(notices),
        lines=tuple(_reading(points, asked)),
        frame="table",
        scale=asked.scale,
        gaps=gaps,
        id_name=asked.id_column or "id",
        metric=points.space.metric,
        images=None if asked.points == "-" else Images(Path(asked.points).parent),
    )


def _reading(points: Points, asked: opt.Options) -> Iterator[str]:
    """Python lines that read the file as the studio did."""
    from ..studio.data import GEO
    from .tables import ending_of

    path, ending = asked.points, ending_of(asked.points)
    first = points.table.lines[0] if points.table.lines else 1
    headless = ", header=None" if first == 1 else ""
    marks = "" if asked.decimal == "." else f", decimal={asked.decimal!r}"
    reads = {
        ".parquet": f"pd.read_parquet({path!r})",
        ".pq": f"pd.read_parquet({path!r})",
        ".xlsx": f"pd.read_excel({path!r}{headless})",
        ".npy": f"pd.DataFrame(np.load({path!r}))",
    }
    text = f"pd.read_csv({path!r}, sep=None, engine='python'{headless}{marks})"
    if points.table.frame is not None:
        yield "import geopandas"
        yield GEO
        yield ""
        yield f"table = geopandas.read_file({path!r})"
        yield "table = table.assign(**coordinates(table))"
    else:
        yield "import pandas as pd"
        yield ""
        yield f"table = {reads.get(ending, text)}.rename(columns=str)"
    if asked.weight is not None:
        yield f"weight = table[{asked.weight!r}]"
