"""The list of fits: what each job is, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: One kind of rule each; ``rules.py`` has a function for every name between the plus signs.
SINGLE = (
    "none",
    "must",
    "cannot",
    "must+cannot",
    "soft-must",
    "soft-cannot",
    "soft-must+soft-cannot",
    "sizes-equal",
    "sizes-unequal",
    "sizes-ordered",
    "bounds",
    "bounds-list",
    "totals",
    "totals-several",
    "shares",
    "pins",
    "from-labels",
    "linear",
)
MIXED = (
    "must+cannot+soft-must+soft-cannot",
    "must+cannot+sizes-equal",
    "must+cannot+sizes-unequal",
    "must+bounds",
    "cannot+bounds",
    "pins+sizes-ordered",
    "must+cannot+totals",
    "shares+bounds",
    "pins+must+cannot+totals",
    "soft-must+soft-cannot+sizes-equal",
    "linear+must",
    "shares+totals+pins",
    "soft-cannot+pins+bounds",
)
#: Rules whose exact assignment is an integer programme, as it is for links together with sizes.
#: These jobs are smaller, so that time cuts no assignment short.
HARD = {"totals", "totals-several", "shares", "linear"}
LINKS = {"must", "cannot", "soft-must", "soft-cannot"}
SIZES = {"sizes-equal", "sizes-unequal", "sizes-ordered", "bounds"}
#: Points, clusters and features of small jobs.
SMALL = ((10, 2, 2), (40, 3, 2), (150, 4, 3), (500, 5, 6), (1500, 4, 4))
SMALL_HARD = ((10, 2, 2), (24, 2, 2), (40, 3, 2), (80, 3, 3), (160, 3, 3))
#: Rules that no labels obey.
IMPOSSIBLE = (
    "clique",
    "must-against-cannot",
    "pins-against-must",
    "minimum-too-large",
    "totals-too-small",
    "group-too-large",
)
#: Arguments that ``fit`` refuses.
FAULTS = ("nan", "few-points", "pin-outside", "sizes-sum", "weight-negative", "solver", "device")


@dataclass(frozen=True)
class Job:
    """One fit.

    ``data`` is a name of ``cases.py``, ``form`` says what holds the points, ``rules`` are names of
    ``rules.py`` with plus signs between them, ``options`` are parameters of the estimator, ``init``
    is "centers" or "labels" where the job gives a start, ``weights`` whether points have weights,
    ``fault`` what is wrong with the arguments.  Answers may break rules only if ``may_break``.
    """

    group: str
    rules: str
    n: int
    k: int
    d: int
    data: str = "blobs"
    form: str = "array"
    options: Mapping[str, Any] = field(default_factory=dict)
    init: str = ""
    weights: bool = False
    fault: str = ""
    seed: int = 0

    @property
    def name(self) -> str:
        """All that tells the job from the others."""
        given = [f"{key}={value}" for key, value in self.options.items()]
        given += [f"init={self.init}"] * bool(self.init) + ["weights"] * self.weights
        given += [f"fault={self.fault}"] * bool(self.fault)
        shape = f"{self.n}x{self.d}k{self.k}"
        parts = [self.group, self.rules, shape, self.data, self.form, *given, f"s{self.seed}"]
        return "/".join(parts)

    @property
    def may_break(self) -> bool:
        """Whether the answer may break hard rules."""
        impossible = self.rules.split("+")[0] in IMPOSSIBLE
        return impossible or self.options.get("repair") is False

    @property
    def least_violation(self) -> bool:
        """Whether the answer breaks as little as possible."""
        return self.may_break and self.options.get("on_infeasible") == "relax"


def all_jobs() -> list[Job]:
    """Every job once, those that need Dask last."""
    parts = (_small, _medium, _large, _forms, _options, _solvers, _real, _refused, _dask)
    jobs = [job for part in parts for job in part()]
    twice = [name for name, count in Counter(job.name for job in jobs).items() if count > 1]
    if twice:
        raise ValueError(f"several jobs have the same name: {twice}")
    return jobs


def _data(number: int) -> str:
    """Blobs twice as often as data without clusters."""
    return ("blobs", "uniform", "blobs", "normal")[number % 4]


def _small() -> Iterator[Job]:
    for i, rules in enumerate(SINGLE + MIXED):
        names = set(rules.split("+"))
        hard = names & HARD or (names & LINKS and names & SIZES)
        for j, (n, k, d) in enumerate(SMALL_HARD if hard else SMALL):
            # One restart where a fit would be long.
            options = {"n_init": 1} if hard and n > 30 else {}
            yield Job("small", rules, n, k, d, _data(i + j), options=options)


def _medium() -> Iterator[Job]:
    for rules in SINGLE:
        if rules not in ("linear", "shares", "totals-several"):
            yield Job("medium", rules, 8000, 5, 4)
    for rules in ("must+bounds", "cannot+bounds", "pins+sizes-ordered", "must+cannot+sizes-equal"):
        yield Job("medium", rules, 5000, 4, 4)
    for rules in ("none", "must", "sizes-equal", "bounds"):
        yield Job("medium", rules, 3000, 60, 6)
        yield Job("medium", rules, 6000, 10, 50, "normal")


def _large() -> Iterator[Job]:
    for rules in ("none", "must", "must+cannot", "sizes-equal", "bounds", "pins"):
        yield Job("large", rules, 40_000, 10, 4)
    for rules in ("none", "sizes-equal", "soft-must"):
        yield Job("large", rules, 100_000, 5, 3)
    for rules in ("none", "must", "must+cannot", "sizes-equal", "bounds"):
        yield Job("large", rules, 200_000, 5, 3)


def _forms() -> Iterator[Job]:
    several = ("none", "must+cannot", "sizes-equal", "bounds", "totals", "pins", "soft-must")
    for form in ("csr", "float32", "tensor"):
        for rules in several:
            yield Job("form", rules, 400, 5, 6, form=form)
    for rules in ("none", "must+cannot", "sizes-equal", "bounds", "soft-cannot"):
        yield Job("form", rules, 2000, 6, 400, "text", "csr")
        yield Job("form", rules, 5000, 5, 4, form="float32")
    for form in ("csr32", "tensor32", "tensor-cpu", "fortran", "integer", "list"):
        for rules in ("none", "sizes-equal", "must+cannot"):
            yield Job("form", rules, 300, 4, 4, form=form)
    for form in ("tensor", "tensor32"):
        for rules in ("none", "must", "sizes-equal", "must+cannot", "bounds", "pins"):
            yield Job("form", rules, 40_000, 10, 4, form=form)
    for rules in ("none", "must+cannot", "sizes-equal", "totals"):
        yield Job("form", rules, 500, 4, 4, options={"device": "cpu"})


def _options() -> Iterator[Job]:
    for rules in ("none", "must+cannot", "sizes-equal", "bounds", "totals", "soft-must", "pins"):
        yield Job("weights", rules, 300, 4, 3, weights=True)
        yield Job("weights", rules, 300, 4, 3, "uniform", "csr", weights=True)
    for rules in ("none", "sizes-equal", "must"):
        yield Job("weights", rules, 40_000, 10, 4, weights=True)
    for rules in ("none", "must+cannot", "sizes-equal", "sizes-ordered", "totals"):
        for init in ("centers", "labels"):
            yield Job("init", rules, 500, 5, 4, init=init)
        yield Job("init", rules, 500, 5, 4, options={"init": "random"})
    yield Job("init", "sizes-equal", 40_000, 10, 4, init="centers")
    yield Job("init", "must+cannot", 40_000, 10, 4, init="labels")
    for rules in ("none", "must", "sizes-equal", "bounds", "shares"):
        yield Job("n_init", rules, 400, 5, 4, "normal", options={"n_init": 1})
        yield Job("n_init", rules, 400, 5, 4, "normal", options={"n_init": 5})
    for rules in ("none", "sizes-equal", "must+cannot", "bounds"):
        for most in (500, None):
            yield Job("max_samples", rules, 8000, 5, 4, options={"max_samples": most})
    yield Job("max_samples", "sizes-equal", 60_000, 8, 4, options={"max_samples": 5000})
    yield Job("max_samples", "none", 60_000, 8, 4, options={"max_samples": None})


def _solvers() -> Iterator[Job]:
    exact = {"solver": "algorithm1"}
    for rules in ("none", "must", "cannot", "sizes-equal", "sizes-unequal", "linear-equal"):
        yield Job("algorithm1", rules, 60, 3, 3, options=exact)
        yield Job("algorithm1", rules, 300, 4, 4, "uniform", options=exact)
    for rules in ("none", "must+cannot", "sizes-equal"):
        yield Job("algorithm1", rules, 150, 3, 3, options={**exact, "repair": False})
    yield Job("algorithm1", "sizes-equal", 200, 4, 3, form="csr", options=exact)
    yield Job("algorithm1", "bounds", 60, 3, 3, options=exact)
    for rules in ("none", "must+cannot", "sizes-equal", "bounds", "totals", "linear", "soft-must"):
        yield Job("no-repair", rules, 300, 4, 3, options={"repair": False})
    for rules in ("none", "sizes-equal", "must+cannot"):
        yield Job("no-repair", rules, 5000, 5, 4, options={"repair": False})
        yield Job("no-repair", rules, 300, 4, 3, options={"max_iter": 7})
        yield Job("no-repair", rules, 300, 4, 3, options={"tol": 1e-3, "rho": 2.0})
        yield Job("no-repair", rules, 300, 4, 3, options={"rho_growth": 1.2, "rho_every": 3})
    for rules in ("must+cannot", "sizes-equal", "totals"):
        yield Job("relax", rules, 200, 4, 3, options={"on_infeasible": "relax"})
    for rules in IMPOSSIBLE:
        yield Job("relax", rules, 40, 3, 2, options={"on_infeasible": "relax"})
        if rules != "group-too-large":  # which takes minutes with more must-links
            yield Job("relax", f"{rules}+must", 100, 4, 3, options={"on_infeasible": "relax"})


def _real() -> Iterator[Job]:
    for data, n, d, k in (
        ("iris", 150, 4, 3),
        ("wine", 178, 13, 3),
        ("glass", 214, 9, 6),
        ("ionosphere", 351, 34, 2),
        ("breast_cancer", 569, 30, 2),
        ("balanced", 700, 2, 2),
        ("imbalanced", 700, 2, 2),
    ):
        for rules in ("none", "sizes-unequal", "links"):
            yield Job("real", rules, n, k, d, data)


def _refused() -> Iterator[Job]:
    for rules in IMPOSSIBLE:
        yield Job("refused", rules, 40, 3, 2)
        yield Job("refused", f"{rules}+cannot", 200, 4, 3)
    for fault in FAULTS:
        yield Job("refused", "none", 40, 3, 2, fault=fault)


def _dask() -> Iterator[Job]:
    for form in ("dask", "dask32"):
        for rules in ("none", "sizes-equal", "must+cannot", "totals"):
            yield Job("dask", rules, 600, 4, 3, form=form)
        for rules in ("none", "sizes-equal", "must+cannot", "bounds", "must"):
            yield Job("dask", rules, 40_000, 10, 4, form=form)
    yield Job("dask", "sizes-equal", 200_000, 5, 3, form="dask")
    yield Job("dask", "pins", 40_000, 10, 4, form="dask")
    yield Job("dask", "sizes-equal", 40_000, 10, 4, form="dask", weights=True)
    yield Job("dask", "clique", 2000, 3, 2, form="dask")
