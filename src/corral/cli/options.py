"""Options that the commands share, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

#: What stands for the least number of clusters that the rules allow.
FEWEST = "fewest"
#: Ways to find the neighbours of rows by their shapes; the first is for polygons, or for points
#: the next but one.
GRAPHS = ("auto", "edge", "corner", "delaunay", "gabriel", "knn")

Command = TypeVar("Command", bound=Callable[..., Any])


class Once(click.Option):
    """An option that is refused if it is given twice, unless it is made for many values.

    Of a flag only the opposite is refused.
    """

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser collect all values."""
        many, self.multiple = self.multiple, True
        super().add_to_parser(parser, ctx)
        self.multiple = many

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """The only value that was given."""
        if not self.multiple and self.name in opts:
            given = opts[self.name]
            often = len(set(given) if self.is_flag else given)
            if often > 1 and not ctx.resilient_parsing:
                said = "both ways" if self.is_flag else f"as {' and '.join(map(repr, given))}"
                raise click.BadParameter(f"it is given {said}; give it once.", ctx, self)
            opts = {**opts, self.name: given[-1]}
        return super().consume_value(ctx, opts)


#: ``click.option`` of this class; all commands use it.
option = partial(click.option, cls=Once)

_FILE = click.Path(exists=True, dir_okay=False)
_POINTS = click.Path(exists=True, allow_dash=True)


def read_sizes(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Read integers with commas between, such as 59,71,48."""
    try:
        return None if value is None else tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of integers such as 59,71,48.") from None


def count_or(word: str) -> Callable[[click.Context, click.Parameter, str | None], int | str | None]:
    """What reads an integer of at least 1, or the word."""

    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
        if value is None or value == word:
            return value
        if not value.isdecimal() or int(value) < 1:
            raise click.BadParameter(f"{value!r} is neither {word} nor an integer of at least 1.")
        return int(value)

    return read


def read_jobs(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Read a number of processes, which must not be 0 and has no effect."""
    if value == 0:
        raise click.BadParameter("0 is not allowed; leave --jobs out, which has no effect.")
    return value


#: What is said where ``--jobs`` is given.
NO_JOBS = "corral: warning: --jobs is deprecated and has no effect; leave it out."


def complete_columns(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a column from the file of points that stands on the line."""
    from .tables import read_table

    *before, part = incomplete.split(",") if param.name == "columns" else [incomplete]
    end = ":" if ":" in str(param.metavar) else ""
    values = ctx.params
    # An option without its value ends the parsing before the arguments are named.
    paths = [values["points"], *ctx.args]
    try:
        path = next(path for path in paths if path not in (None, "-"))
        table = read_table(path, values["header"], values["decimal"], head=True)
    except Exception:  # while a line is typed, errors would only disturb
        return []
    found = (name for name in table.columns if name.startswith(part))
    return [CompletionItem(",".join([*before, name]) + end) for name in found]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Values of ``data_options`` and of ``rule_options``; some commands lack some of them."""

    points: str
    id_column: str | None
    header: bool | None
    decimal: str
    missing: str
    columns: tuple[str, ...] = ()
    scale: str = "none"
    metric: str = "euclidean"
    weight: str | None = None
    n_clusters: int | str | None
    must_link: tuple[str, ...]
    cannot_link: tuple[str, ...]
    soft: float | None
    soft_sizes: float | None
    soft_totals: float | None
    soft_shares: float | None
    soft_pins: float | None
    sizes: tuple[int, ...] | None
    min_size: int | None
    max_size: int | None
    total: tuple[str, ...]
    capacity: tuple[str, ...]
    share: tuple[str, ...]
    pin: tuple[str, ...]
    constraints: tuple[str, ...]
    clusters: str | None = None
    connected: str | None = None
    longest: float | None = None
    border: float | None = None
    bridge: bool = False
    tolerance: float | None = None
    base_map: str | None = None
    together_column: tuple[str, ...] = ()
    apart_column: tuple[str, ...] = ()

    @property
    def fewest(self) -> bool:
        """Whether the rules say how many clusters there are."""
        return self.n_clusters == FEWEST

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the command reads, which it must not overwrite."""
        others = (
            self.base_map,
            self.clusters,
            self.connected if self.connected not in GRAPHS else None,
        )
        more = (path for path in others if path is not None)
        return (self.points, *self.must_link, *self.cannot_link, *self.constraints, *more)


def stacked(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator; ``--help`` lists them in this order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(options):
            command = decorator(command)
        return command

    return decorate


debug_option = option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
)


def column_option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """An option whose value begins with the name of a column, which shells complete."""
    return option(*names, shell_complete=complete_columns, **settings)


def choice_option(name: str, choices: Sequence[str], text: str) -> Callable[[Any], Any]:
    """An option with some allowed values, of which the first is the default."""
    kind = click.Choice(choices)
    return option(name, type=kind, default=choices[0], show_default=True, help=text)


def number_option(name: str, default: int, text: str) -> Callable[[Any], Any]:
    """An option with a number from one on."""
    kind = click.IntRange(1)
    return option(name, type=kind, default=default, show_default=True, metavar="N", help=text)


weight_option = column_option(
    "--weight", metavar="COLUMN", help="Weight of each row; sizes count rows all the same."
)

#: Which file, and how it is read.
file_options = stacked(
    click.argument("points", type=_POINTS),
    column_option(
        "--id-column", metavar="NAME", help="Column of unique ids; pair files then name ids."
    ),
    option(
        "--header/--no-header",
        default=None,
        help="Whether the first line names the columns; guessed by default.",
    ),
    choice_option(
        "--decimal",
        (".", ","),
        "Decimal mark of text files; with a comma, cells are separated by ; or tabs.",
    ),
    choice_option(
        "--missing",
        ("error", "drop", "mean"),
        "Rows without a value: refuse or drop them, or fill in the mean of the column.",
    ),
)

#: The columns to cluster by.
data_options = stacked(
    file_options,
    column_option(
        "--columns",
        multiple=True,
        metavar="NAME,...",
        help="Columns to cluster by; by default all that no other option names.",
    ),
    choice_option(
        "--scale",
        ("none", "standard", "minmax"),
        "Scale each column: to mean 0 and deviation 1, or to [0, 1].",
    ),
)

metric_option = choice_option(
    "--metric",
    ("euclidean", "cosine", "haversine"),
    "Distance; haversine takes two columns, latitude and longitude in degrees, and gives km.",
)

_K = ("-k", "--n-clusters", "n_clusters")
clusters_option = option(
    *_K, type=click.IntRange(1), metavar="K", help="Number of clusters; not needed with --sizes."
)
clusters_or_fewest_option = option(
    *_K,
    callback=count_or(FEWEST),
    metavar="K|fewest",
    help="Number of clusters, or the least for which the rules can be obeyed; not needed with "
    "--sizes.",
)


named_option = option(
    "--clusters",
    type=_FILE,
    help="Table of the clusters: name, minimum, maximum, latitude and longitude of a base. "
    "Minimum and maximum bound the rows, or the --total COLUMN without bounds; a column "
    "'maximum minutes' bounds that total.",
)


def _soft_option(name: str, text: str) -> Callable[[Any], Any]:
    """An option that makes rules soft."""
    return option(name, type=click.FloatRange(0), metavar="WEIGHT", help=text)


def _pair_options(together: Sequence[str], apart: Sequence[str]) -> Callable[[Any], Any]:
    """The options with files of pairs, by these names."""
    return stacked(
        option(
            *together,
            "must_link",
            type=_FILE,
            multiple=True,
            help="CSV or Excel file of pairs that belong together; a third column holds weights "
            "of soft pairs.",
        ),
        option(
            *apart,
            "cannot_link",
            type=_FILE,
            multiple=True,
            help="Such a file of pairs apart.",
        ),
        option(
            "--soft",
            type=click.FloatRange(0, min_open=True),
            metavar="WEIGHT",
            help="Weight of the pairs in files without weights; without it they are hard.",
        ),
    )


_sum_options = stacked(
    option(
        "--sizes",
        callback=read_sizes,
        metavar="N,N,...",
        help="Exact sizes of the clusters, in any order.",
    ),
    option("--min-size", type=click.IntRange(0), metavar="N", help="Minimum size of a cluster."),
    option("--max-size", type=click.IntRange(0), metavar="N", help="Maximum size of a cluster."),
    column_option(
        "--total",
        multiple=True,
        metavar="COLUMN:MIN:MAX",
        help="Total of a column in each cluster; MIN or MAX may be empty.",
    ),
    column_option(
        "--capacity",
        multiple=True,
        metavar="COLUMN:MAX",
        help="Maximum total of a column in a cluster.",
    ),
    column_option(
        "--share",
        multiple=True,
        metavar="COLUMN[=GROUP]:MIN:MAX",
        help="Share of each group of a column in each cluster, or of one group as in "
        "gender=f:0.4:0.6; MIN or MAX may be empty.",
    ),
    column_option(
        "--pin",
        multiple=True,
        metavar="COLUMN",
        help="Known clusters: numbers from 0, or names in sorted order; empty or -1 if unknown.",
    ),
    _soft_option("--soft-sizes", "Price of a row too many or too few, which makes sizes soft."),
    _soft_option("--soft-totals", "Price of a unit outside the bounds of --total and --capacity."),
    _soft_option("--soft-shares", "Price of a row of a group outside the bounds of --share."),
    _soft_option("--soft-pins", "Price of leaving a cluster of --pin."),
    option(
        "--rules",
        "--constraints",
        "constraints",
        type=_FILE,
        multiple=True,
        help="Rules of all kinds: a JSON file of ConstraintSet.to_json.",
    ),
    column_option(
        "--together-column",
        multiple=True,
        metavar="COLUMN",
        help="Column with names of rows that belong together with the row; several in a cell have "
        "; or , between.",
    ),
    column_option(
        "--apart-column",
        multiple=True,
        metavar="COLUMN",
        help="Column with names of rows that belong apart from the row.",
    ),
)

bases_option = option(
    "--bases",
    type=click.Choice(["start", "fix"]),
    help="Whether the clusters start at their bases in --clusters and have the row nearest to "
    "them, or have them as fixed centres; by default they start there, if the table has bases.",
)


def read_graph(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Read a way to find neighbours, or the name of a file of pairs."""
    if value is None or value in GRAPHS:
        return value
    if not Path(value).suffix:
        known = ", ".join(GRAPHS[1:])
        raise click.BadParameter(f"{value!r} is neither one of {known} nor a file of pairs.")
    return str(_FILE.convert(value, param, ctx))


#: Clusters that are connected on a map.
connected_options = stacked(
    option(
        "--connected",
        is_flag=False,
        flag_value=GRAPHS[0],
        callback=read_graph,
        metavar="[HOW|FILE]",
        help="Every cluster is connected. Neighbours: polygons with a common edge or corner; "
        "points by delaunay, gabriel or knn; or the pairs of a CSV file. By default edge of "
        "polygons, and delaunay of points.",
    ),
    option(
        "--longest",
        type=click.FloatRange(0, min_open=True),
        metavar="LENGTH",
        help="Longest way between neighbours: kilometres of degrees, else the unit of the columns.",
    ),
    option(
        "--border",
        type=click.FloatRange(0),
        metavar="PRICE",
        help="Price of each pair of neighbours in different clusters; makes clusters rounder.",
    ),
    option(
        "--bridge",
        is_flag=True,
        help="Join islands to what is nearest; without it they are an error.",
    ),
    option(
        "--tolerance",
        type=click.FloatRange(0),
        metavar="LENGTH",
        help="Gap up to which polygons touch all the same, in the unit of their coordinates.",
    ),
)

#: The answer before.
previous_options = stacked(
    option("--previous", type=_FILE, help="Labels of an earlier fit, by id; new rows are free."),
    option(
        "--previous-column",
        default="label",
        show_default=True,
        metavar="NAME",
        help="Column of --previous with the labels.",
    ),
    option(
        "--stay",
        type=click.FloatRange(0),
        metavar="PRICE",
        help="Price of each row that leaves its cluster of --previous; inf if none may.",
    ),
    option("--changes", type=click.Path(), help="Table of the rows that moved or are new."),
)

rule_options = stacked(_pair_options(["--must-link"], ["--cannot-link"]), _sum_options)
mix_rule_options = stacked(
    _pair_options(["--together", "--must-link"], ["--apart", "--cannot-link"]), _sum_options
)

seed_option = option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same answer.",
)


effort_option = option(
    "--effort",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="TIMES",
    help="Work of the search, in units of the default; 4 searches four times as long.",
)


def time_limit_option(text: str) -> Callable[[Any], Any]:
    """The option ``--time-limit``, whose help text is ``text``."""
    return option(
        "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=text
    )


solver_options = stacked(
    seed_option,
    option(
        "--n-init",
        callback=count_or("auto"),
        default="auto",
        show_default=True,
        metavar="N|auto",
        help="Sets of seeds that start the search.",
    ),
    effort_option,
    time_limit_option("After it the best answer so far is given."),
    option(
        "--jobs",
        type=int,
        callback=read_jobs,
        metavar="N",
        help="Deprecated, without effect: the search runs in one process.",
    ),
)

printing_options = stacked(
    option("-q", "--quiet", is_flag=True, help="No summary, no progress, no warnings."),
    option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    debug_option,
)
force_option = option("--force", is_flag=True, help="Overwrite files that exist.")
base_option = option(
    "--base-map",
    type=click.Path(exists=True, dir_okay=False),
    help="File of borders, coasts or roads to draw below the map; nothing is fetched.",
)

#: Territories as shapes.
map_options = stacked(
    option(
        "--territories",
        type=click.Path(),
        help="Territories as shapes: .gpkg, also with the rows, or .geojson.",
    ),
    base_option,
)

report_option = option("--report", type=click.Path(), help="HTML page with tables and pictures.")
all_rows_option = option(
    "--all-rows",
    is_flag=True,
    help="The report names and prints all rows, also of more than 3,000.",
)
picture_options = stacked(
    report_option,
    option("--plot", type=click.Path(), help="Picture of the clusters: .png, .pdf, .svg."),
    force_option,
)
labels_options = stacked(
    option(
        "-o",
        "--output",
        type=click.Path(allow_dash=True),
        help="Labels: .csv, .tsv, .csv.gz, .xlsx, .parquet, .npy; with shapes .geojson, .gpkg; - "
        "is the standard output.",
    ),
    option("--keep-columns", is_flag=True, help="Write all columns of POINTS before the labels."),
)
