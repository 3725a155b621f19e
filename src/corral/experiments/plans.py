"""What is run for each table and figure: lists of cells."""

from __future__ import annotations

from collections.abc import Sequence

from . import paper
from .cells import Cell, Fit
from .scale import Scale
from .sources import SYNTHETIC, UCI
from .traces import Trace

FREE_METHODS = (
    "K-means",
    "projected, random start",
    "algorithm1, random start",
    "algorithm1, random start, small rho",
)
SIZE_METHODS = ("K-means", "projected, random start", "algorithm1, random start")
PAIR_METHODS = ("COP-KMEANS", "E2CP", "PPC", "CCL", "projected, one start", "algorithm1")
MIX_METHODS = ("projected, one start", "algorithm1")
LINK_METHODS = (
    "COP-KMEANS",
    "COP-COBWEB",
    "CCL",
    "E2CP",
    "NCut",
    "PPC",
    "PCKMeans",
    "MPCKMeans",
)
#: Of the last table: method and the rules it is given.
CONTESTANTS: tuple[tuple[str, str], ...] = (
    ("projected", "mix"),
    ("projected", "pair"),
    ("projected", "car"),
    ("algorithm1", "mix"),
    ("algorithm1", "pair"),
    ("algorithm1", "car"),
    *((method, "pair") for method in LINK_METHODS),
    ("min-size K-means", "car"),
    ("equi-sized FCM", "car"),
    ("K-means, best of 10", "free"),
)
#: Links of each kind in the last table: table 6's, and as many as table 4 has in the middle.
CONTEST_LINKS = {
    "wine": 60,
    "iris": 60,
    "glass": 60,
    **paper.TABLE6_PAIRS,
    "Balanced (2, 2)": 20,
    "ImBalanced 0.1": 20,
    "ImBalanced 0.3": 20,
}

MIX_TRACE = (1, 15, 25, 200)
FREE_TRACE = {
    "projected": (1, 15, 25, 5000),
    "algorithm1": (1, 15, 25, 5000),
    "algorithm1, small rho": (1, 200, 500, 5000),
}


def uci(scale: Scale) -> Sequence[str]:
    """The data sets of table 1."""
    return scale.some(UCI, ("iris", "Hepatitis1"))


def free_data(scale: Scale) -> Sequence[str]:
    """The data sets of table 2."""
    return scale.some(("wine", "iris", "glass"), ("iris",))


def table2(scale: Scale) -> list[Cell]:
    """K-means and lpKm from random starts."""
    return [
        Fit(data, method, draw=draw, seed=scale.seed)
        for data in free_data(scale)
        for method in FREE_METHODS
        for draw in scale.draws
    ]


def size_data(scale: Scale) -> Sequence[str]:
    """The data sets of table 3."""
    return scale.some(SYNTHETIC, ("Balanced (2, 2)", "ImBalanced 0.1"))


def table3(scale: Scale) -> list[Cell]:
    """K-means and lpKm-Car from random starts; K-means from ten times as many.

    On Balanced it either finds the clusters or misses them altogether, so that the mean of ten
    starts is as much luck as ten throws of a coin.
    """
    many = range(10 * len(scale.draws))
    return [
        Fit(data, method, variant="car", draw=draw, seed=scale.seed)
        for data in size_data(scale)
        for method in SIZE_METHODS
        for draw in (many if method == "K-means" else scale.draws)
    ]


def pair_rows(scale: Scale) -> list[tuple[str, int]]:
    """Data sets and numbers of links of tables 4 and 5."""
    counts = scale.some((20, 40, 60, 80, 100), (20,))
    return [(data, count) for data in scale.some(("wine", "iris"), ("iris",)) for count in counts]


def table4(scale: Scale) -> list[Cell]:
    """Five methods and Algorithm 1 with the same links."""
    return [
        Fit(data, method, "pair", count, count, draw, scale.seed)
        for data, count in pair_rows(scale)
        for draw in scale.draws
        for method in PAIR_METHODS
    ]


def mix_data(scale: Scale) -> Sequence[str]:
    """The data sets of table 6."""
    return scale.some(tuple(paper.TABLE6_PAIRS), ("Hepatitis1",))


def table6(scale: Scale) -> list[Cell]:
    """Sizes, links, and both."""
    return [
        Fit(data, method, variant, count, count, draw, scale.seed)
        for data in mix_data(scale)
        for count in (paper.TABLE6_PAIRS[data],)
        for draw in scale.draws
        for variant in ("car", "pair", "mix")
        for method in MIX_METHODS
    ]


def growth_rows(scale: Scale) -> list[tuple[str, str, int]]:
    """Data sets, kinds of link and their numbers of the figure of growing links."""
    return [
        (data, kind, count)
        for data in scale.some(("ImBalanced 0.1", "wine"), ("Hepatitis1",))
        for kind in ("must", "cannot")
        for count in scale.some((0, 20, 40, 60, 80, 100), (0, 20))
    ]


def growth(scale: Scale) -> list[Cell]:
    """Links of one kind, with the sizes and without, and K-means."""
    cells: list[Cell] = []
    for data, kind, count in growth_rows(scale):
        must, cannot = (count, 0) if kind == "must" else (0, count)
        for draw in scale.draws:
            cells += [
                Fit(data, "projected, one start", variant, must, cannot, draw, scale.seed)
                for variant in ("mix", "pair")
            ]
    sets = dict.fromkeys(data for data, _, _ in growth_rows(scale))
    cells += [
        Fit(data, "K-means", draw=draw, seed=scale.seed) for data in sets for draw in scale.draws
    ]
    return cells


def ionosphere_counts(scale: Scale) -> Sequence[int]:
    """Numbers of links of each kind on ionosphere."""
    return scale.some((20, 50, 100, 150, 200, 300, 400), (20,))


def ionosphere(scale: Scale) -> list[Cell]:
    """Ever more links on ionosphere."""
    return [
        Fit("ionosphere", "projected, one start", variant, count, count, draw, scale.seed)
        for count in ionosphere_counts(scale)
        for draw in scale.draws
        for variant in ("pair", "mix")
    ]


def trace_data(scale: Scale) -> str:
    """The data set whose x is drawn."""
    return "iris" if scale.quick else "wine"


def mix_traces(scale: Scale) -> list[Trace]:
    """Runs with sizes and links from a random start that has the sizes."""
    data = trace_data(scale)
    return [
        Trace(data, solver, "mix", 20, MIX_TRACE, scale.seed)
        for solver in ("projected", "algorithm1")
    ]


def free_traces(scale: Scale) -> list[Trace]:
    """Runs without rules."""
    return [
        Trace(trace_data(scale), solver, "free", 0, record, scale.seed)
        for solver, record in FREE_TRACE.items()
    ]


def traces(scale: Scale) -> list[Cell]:
    """All runs whose way is drawn."""
    return [*mix_traces(scale), *free_traces(scale)]


def contest_data(scale: Scale) -> Sequence[str]:
    """The data sets of the last table."""
    return scale.some(tuple(CONTEST_LINKS), ("Hepatitis1",))


def table7(scale: Scale) -> list[Cell]:
    """Every method on every data set, draw by draw."""
    return [
        Fit(data, method, variant, CONTEST_LINKS[data], CONTEST_LINKS[data], draw, scale.seed)
        for draw in scale.draws
        for data in contest_data(scale)
        for method, variant in CONTESTANTS
    ]
