"""A random instance for each seed: data, weights, rules and the form in which they are given."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .kinds import KINDS, spoil
from .rules import Rule, build, source

#: Forms of the data, and how often each is drawn.
FORMS = {
    "float64": 0.5,
    "float32": 0.1,
    "csr": 0.1,
    "frame": 0.12,
    "list": 0.06,
    "fortran": 0.06,
    "int": 0.06,
}

#: Number of clusters up to which all labels of n rows are enumerated.
ENUMERABLE = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 5, 8: 4, 9: 3}


@dataclass
class Instance:
    """One problem; ``planted`` are labels that obey the rules, if such are known."""

    seed: int
    X: Any
    k: int
    rules: list[Rule]
    form: str = "float64"
    weights: list[float] | None = None
    planted: list[int] | None = None
    names: list[str] | None = None
    extreme: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def small(self) -> bool:
        """Whether all labels can be enumerated."""
        return self.n <= 9 and self.k <= ENUMERABLE[self.n]

    def data(self) -> Any:
        """X in its form."""
        scope: dict[str, Any] = {"X": self.X.tolist(), "np": np, "names": self.names}
        if self.form == "csr":
            from scipy import sparse

            scope["sparse"] = sparse
        if self.form == "frame":
            import pandas as pd

            scope["pd"] = pd
        return eval(WRITTEN[self.form], scope)

    def constraints(self) -> list[Any]:
        """The rules as constraints of corral."""
        return [build(rule, self.names) for rule in self.rules]

    def what(self) -> str:
        """A few words."""
        kinds = " ".join(
            ("soft" if rule["kind"].endswith("Link") and rule["weight"] != math.inf else "")
            + rule["kind"]
            for rule in self.rules
        )
        return f"n={self.n} k={self.k} {self.form} {kinds or 'no rules'}"

    def script(self) -> str:
        """A program that repeats the fit."""
        used = sorted({"ConstrainedKMeans", *(rule["kind"] for rule in self.rules)})
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        lines = [
            "import numpy as np",
            "import pandas as pd",
            "from scipy import sparse",
            "from math import inf",
            f"from corral import {', '.join(used)}",
            f"names = {self.names}",
            f"X = {self.X.tolist()}",
            f"X = {WRITTEN[self.form]}",
            "rules = [",
            *(f"    {source(rule, self.names)}," for rule in self.rules),
            "]",
            f"model = ConstrainedKMeans({self.k}, random_state={self.seed}{options})",
            f"model.fit(X, constraints=rules, sample_weight={self.weights})",
            "print(model.labels_.tolist(), model.report_)",
        ]
        return "\n".join(lines)


WRITTEN = {
    "float64": "np.array(X)",
    "float32": "np.array(X, dtype=np.float32)",
    "csr": "sparse.csr_array(np.array(X))",
    "frame": "pd.DataFrame(X, index=names, columns=[f'f{i}' for i in range(len(X[0]))])",
    "list": "X",
    "fortran": "np.asfortranarray(X)",
    "int": "np.array(X).astype(int)",
}


def make(seed: int) -> Instance:
    """The instance of this seed."""
    rng = np.random.default_rng(seed)
    n, k = _shape(rng)
    form = str(rng.choice(list(FORMS), p=list(FORMS.values())))
    X, extreme = _points(rng, n, form)
    planted = _planted(rng, X, k)
    kind = rng.choice(["planted", "free", "spoiled"], p=[0.55, 0.15, 0.3])
    scale = float(np.var(X, axis=0).sum()) or 1.0
    goal = planted if kind != "free" else rng.integers(k, size=n).tolist()
    rules = [
        rule
        for name in _names_of_kinds(rng)
        if (rule := KINDS[name](rng, goal, k, scale, loose=kind == "free")) is not None
    ]
    if kind == "spoiled" and rules:
        spoil(rng, rules, planted, k)
    rules = _one_order(rules)
    return Instance(
        seed,
        X,
        k,
        rules,
        form,
        _weights(rng, n),
        planted if kind == "planted" else None,
        [f"r{i}" for i in range(n)] if form == "frame" else None,
        extreme,
        {"on_infeasible": "relax"} if rng.uniform() < 0.08 else {},
    )


def _one_order(rules: list[Rule]) -> list[Rule]:
    """Leave out lists of sizes that corral refuses: unordered lists together with other lists."""
    lists = [
        rule
        for rule in rules
        if rule["kind"] == "ClusterSizes"
        and any(isinstance(rule[field], list) for field in ("sizes", "minimum", "maximum"))
    ]
    if all(rule["ordered"] for rule in lists):
        return rules
    return [rule for rule in rules if not any(rule is other for other in lists[1:])]


def _shape(rng: Any) -> tuple[int, int]:
    n = int(rng.choice([rng.integers(1, 10), rng.integers(10, 21), rng.integers(21, 41)], p=P_N))
    most = ENUMERABLE.get(n, min(6, n))
    k = int(rng.integers(1, most + 1)) if rng.uniform() < 0.15 else int(rng.integers(2, 4))
    if rng.uniform() < 0.04:
        k = most if n <= 9 else n
    return n, max(1, min(k, most if n <= 9 else n))


#: Shares of instances with up to 9, 20 and 40 rows.
P_N = [0.7, 0.25, 0.05]


def _names_of_kinds(rng: Any) -> list[str]:
    count = int(rng.choice([0, 1, 2, 3, 4, 5], p=[0.04, 0.3, 0.32, 0.2, 0.1, 0.04]))
    return [str(name) for name in rng.choice(list(KINDS), size=count)]


def _points(rng: Any, n: int, form: str) -> tuple[Any, bool]:
    """The points, and whether their scale is beyond what must be solved."""
    d = int(rng.integers(1, 5))
    kind = rng.choice(
        ["normal", "blobs", "uniform", "grid", "copies", "constant", "column", "line", "far"],
        p=[0.25, 0.2, 0.1, 0.15, 0.12, 0.04, 0.05, 0.05, 0.04],
    )
    X = rng.normal(size=(n, d))
    if kind == "blobs":
        X += 5 * rng.integers(3, size=(n, 1))
    elif kind == "uniform":
        X = rng.uniform(size=(n, d))
    elif kind == "grid":
        X = rng.integers(3, size=(n, d)).astype(float)
    elif kind == "copies":
        X = X[rng.integers(max(1, n // 2), size=n)]
    elif kind == "constant":
        X[:] = X[0]
    elif kind == "column":
        X[:, 0] = 7.0
    elif kind == "line":
        X = np.outer(np.arange(n), np.ones(d))
    elif kind == "far":
        X += 1000.0
    X = np.round(X, 3)
    if form == "csr":
        X[rng.uniform(size=X.shape) < 0.4] = 0.0
    if form == "int":
        return np.round(3 * X), False
    draw = rng.uniform()
    if draw < 0.15:
        X = X * 10.0 ** int(rng.integers(-20, 16))
    elif draw < 0.17:
        X = X * 10.0 ** int(rng.choice([-155, -40, 19, 80] if form != "float32" else [-20, 19]))
    return X, bool(0.15 <= draw < 0.17 and form != "int")


def _planted(rng: Any, X: Any, k: int) -> list[int]:
    if rng.uniform() < 0.5:
        return [int(j) for j in rng.integers(k, size=len(X))]
    centres = X[rng.integers(len(X), size=k)]
    scale = float(np.abs(X).max()) or 1.0
    far = (((X[:, None] - centres) / scale) ** 2).sum(axis=2)
    return [int(j) for j in far.argmin(axis=1)]


def _weights(rng: Any, n: int) -> list[float] | None:
    draw = rng.uniform()
    if draw < 0.65:
        return None
    weights = rng.integers(1, 6, size=n).astype(float)
    if draw < 0.75:
        weights = np.round(rng.uniform(0.1, 3, size=n), 2)
    elif draw < 0.87:
        weights[rng.uniform(size=n) < 0.4] = 0.0
        weights[rng.integers(n)] = 1.0
    elif draw < 0.94:
        weights *= 10.0 ** int(rng.integers(-12, 13))
    return [float(w) for w in weights]
