"""Beyond the paper: every method on every data set with the same draws of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import rankdata

from . import paper
from .cells import Cell, Fit, Record
from .experiment import Experiment, Results, Scale, broken
from .inputs import FloatArray
from .page import NONE, picture, table
from .pictures import draw_contest

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
#: Estimators of corral with their defaults.
ESTIMATORS = ("projected", "Gaussian", "kernel", "propagation", "medoids")
#: Methods of corral, which take several kinds of rules; a name in the tables tells which.
OURS = (*ESTIMATORS, "algorithm1")
#: Methods and the rules that they get.
CONTESTANTS: tuple[tuple[str, str], ...] = (
    ("projected", "mix"),
    ("projected", "pair"),
    ("projected", "car"),
    ("Gaussian", "mix"),
    ("Gaussian", "pair"),
    ("Gaussian", "car"),
    ("kernel", "mix"),
    ("kernel", "pair"),
    ("propagation", "mix"),
    ("propagation", "pair"),
    ("medoids", "mix"),
    ("medoids", "pair"),
    ("medoids", "car"),
    ("algorithm1", "mix"),
    ("algorithm1", "pair"),
    ("algorithm1", "car"),
    *((method, "pair") for method in LINK_METHODS),
    ("min-size K-means", "car"),
    ("equi-sized FCM", "car"),
    ("K-means, best of 10", "free"),
)
#: Number of links of each kind: as in table 6; 60, the middle of table 4; 20 for synthetic sets.
CONTEST_LINKS = {
    "wine": 60,
    "iris": 60,
    "glass": 60,
    **paper.TABLE6_PAIRS,
    "Balanced (2, 2)": 20,
    "ImBalanced 0.1": 20,
    "ImBalanced 0.3": 20,
}
RULES = {"mix": "sizes and links", "pair": "links", "car": "sizes", "free": "none"}
SUFFIX = {"mix": "-Mix", "pair": "-Pair", "car": "-Car", "free": ""}

REASONS = (
    "The reasons: all methods that minimise the K-means objective, `projected` included, assume "
    "round clusters of equal width. So does `medoids`, which minimises distances that are not "
    "squared. If the classes are long, oblique or of different width, as on "
    "iris, ionosphere and ImBalanced, methods that fit covariances or metrics are better: "
    "`Gaussian`, PPC, MPCKMeans. If the classes are neighbourhoods of another shape, so are the "
    "graph methods: `propagation`, which clusters the embedding of E2CP under the rules, E2CP and "
    "NCut. Of these methods, those of corral break no rule, and can use sizes too.\n"
)


def contest_data(scale: Scale) -> Sequence[str]:
    """The data sets of the contest."""
    return scale.some(tuple(CONTEST_LINKS), ("Hepatitis1",))


def table7(scale: Scale) -> list[Cell]:
    """Every method on every data set, draw by draw."""
    return [
        Fit(data, method, variant, CONTEST_LINKS[data], CONTEST_LINKS[data], draw, scale.seed)
        for draw in scale.draws
        for data in contest_data(scale)
        for method, variant in CONTESTANTS
    ]


def _name(method: str, variant: str) -> str:
    """Name in the tables; the estimators of corral have several variants, the others one."""
    return method + (SUFFIX[variant] if method in OURS else "")


class Contest:
    """The records as arrays over contestants, data sets and draws.

    Attributes
    ----------
    contestants : sequence of (method, rules)
    data : sequence of str
    ari : (m, s, r) array
        NaN if no answer was found.
    obeys : (m, s, r) bool array
        Whether an answer was found that breaks none of the method's rules.
    seconds, objective : (m, s, r) arrays
    """

    def __init__(self, results: Results) -> None:
        self.contestants = CONTESTANTS
        self.data = contest_data(results.scale)
        runs: list[list[list[Record]]] = [
            [results.select(method=method, variant=variant, data=data) for data in self.data]
            for method, variant in CONTESTANTS
        ]
        self.ari = _array(runs, lambda record: record.get("ari", np.nan))
        self.objective = _array(runs, lambda record: record.get("objective", np.inf))
        self.seconds = _array(runs, lambda record: record["seconds"])
        self.obeys = _array(runs, lambda r: float("ari" in r and broken(r) == 0)).astype(bool)

    @property
    def names(self) -> list[str]:
        """Names of the contestants."""
        return [_name(*contestant) for contestant in self.contestants]

    def ranks(self, rows: Sequence[int], *, strict: bool = False) -> FloatArray:
        """Mean rank of each of these rows among them; 1 is the best ARI, ties share a rank.

        A run without an answer is last; with ``strict``, so is one that breaks a rule.
        """
        score = np.nan_to_num(self.ari[rows], nan=-np.inf)
        if strict:
            score = np.where(self.obeys[rows], score, -np.inf)
        ranked: FloatArray = rankdata(-score, axis=0).mean(axis=(1, 2))
        return ranked

    def wins(self, own: int, rows: Sequence[int]) -> float:
        """Share of the runs in which no feasible answer in these rows has a lower objective."""
        best = np.where(self.obeys[rows], self.objective[rows], np.inf).min(axis=0)
        # The objectives of equal answers may differ by rounding.
        return float(np.mean(self.objective[own] <= best * (1.0 + 1e-9)))

    def rows(self, variant: str) -> list[int]:
        """Rows of the contestants with these rules."""
        return [row for row, (_, rules) in enumerate(self.contestants) if rules == variant]


def _array(runs: list[list[list[Record]]], value: Callable[[Record], float]) -> FloatArray:
    return np.array([[[value(record) for record in draws] for draws in sets] for sets in runs])


def render_table7(results: Results) -> str:
    """Ranks, feasibility and time, then ARI by data set."""
    contest = Contest(results)
    order = np.argsort(contest.ranks(range(len(CONTESTANTS))), kind="stable").tolist()
    return "\n".join(
        [
            _intro(results),
            _ranking(contest, order),
            _account(contest),
            REASONS,
            _scores(contest, order),
            _picture(results, contest, order),
        ]
    )


def _intro(results: Results) -> str:
    links = ", ".join(f"{data} {CONTEST_LINKS[data]}" for data in contest_data(results.scale))
    return (
        f"There are {len(results.scale.draws)} draws; in each, all methods get the same links and "
        f"sizes, as far as they can use them. Links of each kind: {links}. All methods have the "
        "default parameters of the library (`projected` with several starts, `algorithm1` as in "
        "table 4). `Gaussian` is `ConstrainedGaussianMixture`, `kernel` is "
        "`ConstrainedKernelKMeans`, `propagation` is `LinkPropagation` with as many components as "
        "clusters, then `projected`, and `medoids` is `ConstrainedKMedoids` with Euclidean "
        "distances. Some of these defaults were chosen on the same "
        "data sets (the weight of PPC, the similarities of NCut, the acuity of COP-COBWEB), which "
        "favours these methods.\n\n"
        "Ranks are by ARI within each draw of each data set, then averaged; ties share a rank, and "
        "a run without an answer is last. *All* ranks all methods; *equal rules* ranks the methods "
        "with the same rules; *strict* is *equal rules* with answers that break a rule in last "
        "place.\n"
    )


def _ranking(contest: Contest, order: Sequence[int]) -> str:
    overall = contest.ranks(range(len(CONTESTANTS)))
    equal, strict = np.full(len(overall), np.nan), np.full(len(overall), np.nan)
    for variant in ("pair", "car"):
        rows = contest.rows(variant)
        equal[rows], strict[rows] = contest.ranks(rows), contest.ranks(rows, strict=True)
    body = []
    for row in order:
        rules = contest.contestants[row][1]
        body.append(
            [
                contest.names[row],
                RULES[rules],
                f"{overall[row]:.2f}",
                _or_dash(equal[row], 2),
                _or_dash(strict[row], 2),
                "-" if rules == "free" else f"{100 * contest.obeys[row].mean():.0f} %",
                _average(contest.ari[row]),
                f"{contest.seconds[row].mean():.2f}",
            ]
        )
    head = ["method", "rules", "mean rank, all", "equal rules", "strict", "obeys its rules"]
    return table([*head, "mean ARI (%)", "seconds"], body)


def _average(values: FloatArray) -> str:
    """Mean over the runs that found an answer, or an x."""
    alive = values[~np.isnan(values)]
    return f"{alive.mean():.1f}" if alive.size else NONE


def _or_dash(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _account(contest: Contest) -> str:
    """The methods that are better than the default solver with the same rules, and where."""
    return "\n".join(
        line
        for lines in (
            _rivals(contest, "pair", "links alone"),
            _best(contest),
            _rivals(contest, "car", "sizes alone"),
        )
        for line in lines
    )


def _best(contest: Contest) -> list[str]:
    """The ranks of Gaussian clusters among the methods with links alone."""
    names, rows = contest.names, contest.rows("pair")
    own = names.index(_name("Gaussian", "pair"))
    ranks = dict(zip(rows, contest.ranks(rows), strict=True))
    second = min((row for row in rows if row != own), key=lambda row: ranks[row])
    return [
        f"With links alone, the mean rank of `{names[own]}` is {ranks[own]:.2f} and its mean ARI "
        f"{_average(contest.ari[own])}; the best of the others is {names[second]} "
        f"({ranks[second]:.2f}, {_average(contest.ari[second])}).",
        "",
    ]


def _rivals(contest: Contest, variant: str, what: str) -> list[str]:
    names, rows = contest.names, contest.rows(variant)
    own = names.index(_name("projected", variant))
    ranks = dict(zip(rows, contest.ranks(rows), strict=True))
    better = sorted((row for row in rows if ranks[row] < ranks[own]), key=lambda row: ranks[row])
    text = ", ".join(f"{names[row]} ({ranks[row]:.2f})" for row in better) or "none"
    lines = [
        f"With {what}, the mean rank by ARI of `{names[own]}` is {ranks[own]:.2f}; better: {text}. "
        f"In {100 * contest.wins(own, rows):.0f} % of the runs, no answer that obeys these rules "
        "has a lower objective, which is what it minimises. Methods with a mean ARI that is higher "
        "by more than one point:",
        "",
    ]
    score = np.nan_to_num(contest.ari, nan=-100.0).mean(axis=2)
    for row in rows:
        where = [
            f"{data} ({score[row, s]:.0f} against {score[own, s]:.0f})"
            for s, data in enumerate(contest.data)
            if score[row, s] > score[own, s] + 1.0
        ]
        lines += [f"- {names[row]} on {', '.join(where)}."] if where else []
    return [*lines, ""]


def _scores(contest: Contest, order: Sequence[int]) -> str:
    body = []
    for row in order:
        cells = []
        for draws in contest.ari[row]:
            failed = int(np.isnan(draws).sum())
            note = f" ({failed} x)" if 0 < failed < len(draws) else ""
            cells.append(_average(draws) + note)
        body.append([contest.names[row], *cells])
    return f"**Mean ARI (%) by data set**\n\n{table(['method', *contest.data], body)}"


def _picture(results: Results, contest: Contest, order: Sequence[int]) -> str:
    overall = contest.ranks(range(len(CONTESTANTS)))
    alive = ~np.isnan(contest.ari)
    total = np.where(alive, contest.ari, 0.0).sum(axis=2)
    scores = np.where(alive.any(axis=2), total / np.maximum(alive.sum(axis=2), 1), np.nan)
    feasible = [
        None if rules == "free" else float(contest.obeys[row].mean())
        for row, (_, rules) in enumerate(contest.contestants)
    ]
    draw_contest(
        results.folder / "methods.png",
        [contest.names[row] for row in order],
        contest.data,
        scores[order],
        overall[order],
        [feasible[row] for row in order],
        [contest.contestants[row][0] in ESTIMATORS for row in order],
    )
    return picture(
        "methods.png",
        "Every method on every data set: mean ARI, mean rank, and how often the answer obeys its "
        "rules. Orange are the estimators of corral; an x means that no answer was found.",
    )


TABLE7 = Experiment(
    "table7", "Beyond the paper: every method on every data set", "table7", table7, render_table7
)
