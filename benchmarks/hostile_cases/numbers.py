"""Numbers at the ends of floats and outside: scales, parameters, weights, limits, new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .case import (
    RULES,
    Case,
    D,
    K,
    N,
    WrongError,
    made,
    obeys,
    points,
    refused,
    refused_or,
    same,
    sizes,
    totals,
)
from .data import ESTIMATORS, model

INF, NAN, HUGE = float("inf"), float("nan"), 10**400

#: Factors of all rows; whichever an estimator refuses, its answers obey the rules.
SCALES = (1e-320, 1e-308, 1e-200, 1e-160, 1e-20, 1e20, 1e100, 1e160, 1e300, 4e306)

#: Bad parameters of every estimator, and of some.
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "n_clusters": (0, -1, 2.5, "three", None, True, NAN, N + 1, HUGE),
    "time_limit": (-1, NAN, "1 s", True, -INF, INF, HUGE),
    "effort": (0, -1.0, NAN, INF, "much", HUGE),
    "random_state": (-1, 1.5, "seed", 2**32, HUGE),
    "verbose": ("loud",),
}
KMEANS = {
    "init": ("kmeans", 7, [["a", "b"]] * K, np.full((K, D), NAN), np.zeros((K, D + 1)), [HUGE] * N),
    "n_init": (0, -1, 1.5, "many"),
    "max_iter": (0, 1.5),
    "tol": (-1, NAN, HUGE),
    "rho": (0, NAN, INF, HUGE),
    "max_samples": (0, -1, "few"),
    "prove": (-1, NAN, HUGE),
    "device": ("tpu", "cuda:x", 5),
    "metric": ("manhattan", None, 3),
    "record_x": (5, (0,)),
    "on_infeasible": ("ignore",),
    "solver": ("lloyd",),
}

#: Sample weights that cannot be.
WEIGHTS = {
    "nan": [NAN] + [1.0] * (N - 1),
    "inf": [INF] + [1.0] * (N - 1),
    "minus": [-1.0] + [1.0] * (N - 1),
    "zeros": [0.0] * N,
    "few": [1.0] * (N - 1),
    "matrix": np.ones((N, 2)),
    "words": ["heavy"] * N,
    "huge": [HUGE] * N,
    "dates": np.array(["2020-01-01"] * N, dtype="M8[D]"),
}
#: Odd sample weights that can be.
SOUND_WEIGHTS = {
    "mostly-zero": [1.0] + [0.0] * (N - 1),
    "tiny": [1e-300] * N,
    "large": [1e300] * N,
    "mixed": [1e-150, 1e150] * (N // 2),
    "integers": list(range(N)),
    "one-number": 2.0,
}


def _scaled(kind: str, scale: float) -> None:
    X = points() * scale
    plain = model(kind)

    def check(fitted: Any) -> None:
        obeys(fitted.labels_, RULES)
        obeys(fitted.predict(X), [])

    refused_or(lambda: plain.fit(X, constraints=made(RULES)), check)


def _scale_changes_nothing(exponent: int) -> None:
    """A power of two times the rows gives the same labels by k-means."""
    X, rules = points(), made(RULES)
    scaled = model("kmeans").fit(np.ldexp(X, exponent), constraints=rules)
    same(scaled.labels_, model("kmeans").fit(X, constraints=rules).labels_, "labels by scale")


def _far(kind: str, offset: float) -> None:
    """Rows far from the origin."""
    X = points() + offset
    check = lambda fitted: obeys(fitted.labels_, RULES)  # noqa: E731
    refused_or(lambda: model(kind).fit(X, constraints=made(RULES)), check)


def _one_far(kind: str, place: float) -> None:
    """One row far from the others."""
    X = points()
    X[3] = place
    check = lambda fitted: obeys(fitted.labels_, RULES)  # noqa: E731
    refused_or(lambda: model(kind).fit(X, constraints=made(RULES)), check)


def _parameter(kind: str, name: str, value: Any) -> None:
    refused(lambda: model(kind).set_params(**{name: value}).fit(points()).labels_, name)


def _unused(kind: str) -> None:
    refused(lambda: model(kind).set_params(n_clusterz=3), "n_clusterz")


def _init_scale(scale: float) -> None:
    centres = np.full((K, D), scale) * np.arange(1, K + 1)[:, None]
    with np.errstate(over="ignore"):
        check = lambda fitted: obeys(fitted.labels_, RULES)  # noqa: E731
        fit = lambda: model("kmeans", init=centres).fit(points(), constraints=made(RULES))  # noqa: E731
        refused_or(fit, check)


def _weights(kind: str, weight: Any) -> None:
    fit = model(kind).fit
    refused(lambda: fit(points(), sample_weight=weight).labels_, "sample_weight")


def _sound_weights(kind: str, weight: Any) -> None:
    fit = lambda: model(kind).fit(points(), sample_weight=weight, constraints=made(RULES))  # noqa: E731
    refused_or(fit, lambda fitted: obeys(fitted.labels_, RULES))


def _limited(kind: str, limit: float) -> None:
    """In no time there is an answer that obeys the rules, or TimeoutError."""
    X, rules = points(600, 4), [sizes([300, 200, 100])]

    def fit() -> Any:
        return model(kind, time_limit=limit).fit(X, constraints=made(rules)).labels_

    refused_or(fit, lambda labels: obeys(labels, rules, 600), kind=TimeoutError)


def _prices(factor: float) -> None:
    """Soft rules at the ends of floats; hard ones are obeyed all the same."""
    import corral

    hard = RULES[:2]

    def fit() -> Any:
        soft = [corral.MustLink([(0, 1), (2, 3)], weight=[factor, factor])]
        soft += [corral.ClusterTotals([factor] * N, maximum=factor, weight=1.0)]
        soft += [corral.ClusterSizes([4, 4, 4], weight=factor)]
        return model("kmeans").fit(points(), constraints=[*made(hard), *soft]).labels_

    refused_or(fit, lambda labels: obeys(labels, hard))


def _price_report(factor: float) -> None:
    import corral

    def prices() -> Any:
        rules = made([totals([factor] * N, high=5 * factor), *RULES[:1]])
        fitted = model("kmeans").fit(points(), constraints=rules)
        return corral.price_rules(fitted, points(), constraints=rules, time_limit=2)

    def check(report: Any) -> None:
        if not np.isfinite(report.inertia):
            raise WrongError(f"inertia {report.inertia}")

    refused_or(prices, check)


def _new_rows(kind: str, factor: float) -> None:
    fitted = model(kind).fit(points())
    refused_or(lambda: fitted.predict(points() * factor), lambda labels: obeys(labels, []))


def _grown(kind: str) -> None:
    """More features than the fit saw."""
    fitted = model(kind).fit(points())
    refused(lambda: fitted.predict(points(d=D + 1)), "features")


def _unfitted(kind: str) -> None:
    refused(lambda: model(kind).predict(points()), "fit")


def _choices(numbers: Callable[[], Any]) -> None:
    import corral

    refused(lambda: corral.choose_n_clusters(points(), numbers()), "")


CHOICES: dict[str, Callable[[], Any]] = {
    "none": lambda: [],
    "zero": lambda: [0, 2],
    "more-than-rows": lambda: [N + 1, N + 2],
    "halves": lambda: [1.5],
    "words": lambda: "2:3",
    "huge": lambda: [HUGE],
    "number": lambda: 3,
}


def _named(value: Any) -> str:
    text = "array" if isinstance(value, np.ndarray | list) else str(value)
    return "huge" if len(text) > 40 else text.replace(" ", "-").replace("/", "-")


def cases() -> Iterator[Case]:
    """Scales, parameters, weights and limits."""
    for kind in ESTIMATORS:
        for scale in SCALES:
            yield Case("scales", f"{kind}-{scale:g}", partial(_scaled, kind, scale))
        for offset in (1e8, 1e15, 1e160):
            yield Case("scales", f"{kind}-from-{offset:g}", partial(_far, kind, offset))
        for place in (1e15, 1e155, 1e308):
            yield Case("scales", f"{kind}-one-at-{place:g}", partial(_one_far, kind, place))
        for factor in (1e155, 1e308):
            yield Case("scales", f"{kind}-new-{factor:g}", partial(_new_rows, kind, factor))
        yield Case("parameters", f"{kind}-more-features", partial(_grown, kind))
        yield Case("parameters", f"{kind}-unfitted", partial(_unfitted, kind))
        yield Case("parameters", f"{kind}-unknown", partial(_unused, kind))
        table = PARAMETERS | (KMEANS if kind == "kmeans" else {})
        for name, values in table.items():
            for i, value in enumerate(values):
                run = partial(_parameter, kind, name, value)
                yield Case("parameters", f"{kind}-{name}-{i}-{_named(value)}", run)
        for what, weight in WEIGHTS.items():
            yield Case("weights", f"{kind}-{what}", partial(_weights, kind, weight))
        for what, weight in SOUND_WEIGHTS.items():
            yield Case("weights", f"{kind}-{what}", partial(_sound_weights, kind, weight))
        for limit in (0.0, 1e-300, 1e-9, 0.001, 0.05):
            yield Case("limits", f"{kind}-{limit:g}", partial(_limited, kind, limit))
    for exponent in (-900, -300, 300, 450):
        run = partial(_scale_changes_nothing, exponent)
        yield Case("scales", f"kmeans-power-{exponent}", run)
    for scale in (1e19, 1e160, 1e307):
        yield Case("scales", f"kmeans-init-{scale:g}", partial(_init_scale, scale))
    for factor in (5e-324, 1e-160, 1e160, 1e308):
        yield Case("scales", f"prices-{factor:g}", partial(_prices, factor))
        yield Case("scales", f"price-report-{factor:g}", partial(_price_report, factor))
    for what, numbers in CHOICES.items():
        yield Case("parameters", f"choose-{what}", partial(_choices, numbers))
