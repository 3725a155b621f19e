"""Rules that cannot be, given to the library: wrong numbers, names, lengths, lists and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .case import Case, K, N, link, made, obeys, points, refused, refused_or, sizes, totals
from .data import ESTIMATORS, model

INF, NAN, HUGE = float("inf"), float("nan"), 10**400


def _masked(values: Any) -> Any:
    array = np.ma.array(values)
    array[1] = np.ma.masked
    return array


def _csr() -> Any:
    array = sparse.csr_array(np.ones((1, N * K)))
    array.indices[-1] = 10**6
    return array


#: What the constructor refuses: the expression in the names of corral, and words of the error.
MADE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "link-huge": (lambda c: c.MustLink([(0, HUGE)]), "pair"),
    "link-negative": (lambda c: c.MustLink([(0, -1)]), "negative"),
    "link-itself": (lambda c: c.CannotLink([(3, 3)]), "itself"),
    "link-three": (lambda c: c.MustLink([(0, 1, 2)]), "2"),
    "link-float": (lambda c: c.MustLink([(0.5, 1)]), "integers"),
    "link-nan": (lambda c: c.MustLink([(NAN, 1)]), "integers"),
    "link-bool": (lambda c: c.MustLink([(True, False)]), "bool"),
    "link-masked": (lambda c: c.MustLink(_masked([[0, 1], [2, 3]])), "masked"),
    "link-text": (lambda c: c.MustLink("ab"), "pairs"),
    "link-none": (lambda c: c.MustLink(None), "pairs"),
    "link-weight-nan": (lambda c: c.MustLink([(0, 1)], weight=NAN), "weight"),
    "link-weight-zero": (lambda c: c.MustLink([(0, 1)], weight=0), "weight"),
    "link-weight-minus": (lambda c: c.MustLink([(0, 1)], weight=-INF), "weight"),
    "link-weight-huge": (lambda c: c.MustLink([(0, 1)], weight=HUGE), "weight"),
    "link-weights-few": (lambda c: c.MustLink([(0, 1), (1, 2)], weight=[1.0]), "weight"),
    "link-unknown-name": (lambda c: c.MustLink([("a", "z")], index=["a", "b"]), "'z'"),
    "link-names-twice": (lambda c: c.MustLink([("a", "b")], index=["a", "b", "a"]), "unique"),
    "link-empty-names": (lambda c: c.MustLink([("a", "b")], index=[]), "'a'"),
    "sizes-negative": (lambda c: c.ClusterSizes([5, -1]), "negative"),
    "sizes-huge": (lambda c: c.ClusterSizes([HUGE, 1, 1]), "sizes"),
    "sizes-half": (lambda c: c.ClusterSizes([1.5, 1, 1]), "whole"),
    "sizes-nan": (lambda c: c.ClusterSizes([NAN, 1, 1]), "NaN"),
    "sizes-scalar": (lambda c: c.ClusterSizes(4), "sizes"),
    "sizes-crossed": (lambda c: c.ClusterSizes(minimum=4, maximum=3), "minimum"),
    "sizes-bound-huge": (lambda c: c.ClusterSizes(minimum=HUGE), "minimum"),
    "sizes-both": (lambda c: c.ClusterSizes([4, 4, 4], minimum=1), "either"),
    "sizes-price-nan": (lambda c: c.ClusterSizes([4, 4, 4], weight=NAN), "weight"),
    "totals-nan": (lambda c: c.ClusterTotals([1, NAN], maximum=2), "NaN"),
    "totals-huge": (lambda c: c.ClusterTotals([1, HUGE], maximum=2), "values"),
    "totals-masked": (lambda c: c.ClusterTotals(_masked([1.0, 2.0]), maximum=2), "masked"),
    "totals-crossed": (lambda c: c.ClusterTotals([1, 2], minimum=2, maximum=1), "minimum"),
    "totals-bound-nan": (lambda c: c.ClusterTotals([1, 2], maximum=NAN), "NaN"),
    "totals-words": (lambda c: c.ClusterTotals(["a", "b"], maximum=1), "numbers"),
    "shares-above-one": (lambda c: c.GroupShares(["a", "b"], minimum=1.5), "[0, 1]"),
    "shares-unknown": (lambda c: c.GroupShares(["a", "b"], minimum={"c": 0.5}), "'c'"),
    "shares-missing": (lambda c: c.GroupShares(["a", None], minimum=0.1), "missing"),
    "shares-nan": (lambda c: c.GroupShares(["a", "b", NAN], minimum=0.1), "missing"),
    "shares-mixed": (lambda c: c.GroupShares(["a", 1], minimum=0.1), "strings"),
    "shares-crossed": (lambda c: c.GroupShares(["a"], minimum=0.6, maximum=0.5), "0.6"),
    "pin-negative": (lambda c: c.Pin({0: -2}), "-2"),
    "pin-huge": (lambda c: c.Pin({0: HUGE}), "cluster"),
    "pin-float": (lambda c: c.Pin({0: 1.5}), "integers"),
    "pin-masked": (lambda c: c.Pin(_masked([0, 1])), "masked"),
    "linear-indices": (lambda c: c.LinearConstraint(_csr(), upper=1), "indices"),
    "linear-nan": (lambda c: c.LinearConstraint(np.full((1, N * K), NAN), upper=1), "finite"),
    "linear-crossed": (lambda c: c.LinearConstraint(np.ones((1, 6)), lower=2, upper=1), "lower"),
    "set-of-words": (lambda c: c.ConstraintSet(["sizes"]), "constraint"),
    "set-of-itself": (lambda c: c.ConstraintSet(_circle()), "itself"),
}


def _circle() -> list[Any]:
    rules: list[Any] = []
    rules.append(rules)
    return rules


#: What ``fit`` refuses, with words of the error.
FITTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "row-outside": (lambda c: c.MustLink([(0, N)]), str(N)),
    "rows-of-more": (lambda c: c.MustLink([(0, 1)], n_samples=N + 1), str(N + 1)),
    "totals-of-fewer": (lambda c: c.ClusterTotals([1.0] * (N - 1), maximum=20), str(N - 1)),
    "totals-of-more": (lambda c: c.ClusterTotals([1.0] * (N + 1), maximum=20), str(N + 1)),
    "groups-of-fewer": (lambda c: c.GroupShares(["a"] * 3, minimum=0.1), "3"),
    "sizes-of-four": (lambda c: c.ClusterSizes([3, 3, 3, 3]), "4"),
    "sizes-too-few": (lambda c: c.ClusterSizes([1, 1, 1]), "3"),
    "sizes-too-many": (lambda c: c.ClusterSizes([9, 9, 9]), "27"),
    "pin-outside": (lambda c: c.Pin({0: K}), str(K)),
    "pin-row-outside": (lambda c: c.Pin({N: 0}), str(N)),
    "names-unknown-to-rows": (lambda c: c.MustLink([("a", "b")], index=["a", "b"]), ""),
    "must-and-cannot": (lambda c: [c.MustLink([(0, 1)]), c.CannotLink([(1, 0)])], "0"),
    "apart-clique": (lambda c: c.CannotLink([(i, j) for i in range(4) for j in range(i)]), ""),
    "chain": (lambda c: [c.MustLink([(0, 1), (1, 2)]), c.CannotLink([(0, 2)])], ""),
    "pins-apart": (lambda c: [c.Pin({0: 0, 1: 1}), c.MustLink([(0, 1)])], ""),
    "total-too-much": (lambda c: c.ClusterTotals([5.0] * N, maximum=10), ""),
    "share-impossible": (lambda c: c.GroupShares(["a"] * N, maximum={"a": 0.5}), ""),
    "linear-width": (lambda c: c.LinearConstraint(np.ones((1, N)), upper=1), str(N * K)),
    "linear-impossible": (lambda c: c.LinearConstraint(np.ones((1, N * K)), upper=1), ""),
    "huge-minimum": (lambda c: c.ClusterSizes(minimum=10**15), ""),
    "word": (lambda c: "equal", "constraint"),
    "number": (lambda c: 5, "constraint"),
    "class": (lambda c: c.MustLink, "constraint"),
    "pairs-alone": (lambda c: [(0, 1)], "constraint"),
    "circle": (lambda c: _circle(), "itself"),
    "dictionary": (lambda c: {"must": c.MustLink([(0, 1)])}, ""),
    "array-of-rules": (lambda c: np.array(["a", None], dtype=object), "constraint"),
    "deep": (lambda c: _deep(c, 5000), ""),
}


def _deep(c: Any, depth: int) -> Any:
    rules = [c.ClusterSizes([9, 9, 9])]
    for _ in range(depth):
        rules = [rules]
    return rules


#: Odd rules that can be obeyed.
OBEYED = {
    "sizes-zero": [sizes([N, 0, 0])],
    "one-row-each": [sizes(low=1), link("CannotLink", (0, 3))],
    "all-together": [link("MustLink", *((0, i) for i in range(1, N)))],
    "links-doubled": [link("MustLink", (0, 1), (1, 0), (0, 1)), sizes([4, 4, 4])],
    "totals-negative": [totals([-1.0, 2.0] * (N // 2), low=1.0)],
    "totals-zero": [totals([0.0] * N, low=0.0, high=0.0), sizes([4, 4, 4])],
    "totals-huge": [totals([1e300] * N, high=5e300)],
    "totals-tiny": [totals([1e-300] * N, high=5e-300)],
    "totals-mixed": [totals([1e-9, 1e9] * (N // 2), high=3e9)],
    "totals-infinite": [totals([1.0] * N, low=-INF, high=INF), sizes([6, 5, 1])],
    "bound-beyond-rows": [sizes(high=10**15), link("MustLink", (0, 1))],
}


def _made(make: Callable[[Any], Any], word: str) -> None:
    import corral

    refused(lambda: make(corral), word)


def _fitted(kind: str, make: Callable[[Any], Any], word: str) -> None:
    import corral

    errors = (ValueError, TypeError)
    refused(lambda: model(kind).fit(points(), constraints=make(corral)).labels_, word, kind=errors)


def _obeyed(kind: str, rules: list[Any]) -> None:
    obeys(model(kind).fit(points(), constraints=made(rules)).labels_, rules)


#: Texts of files that hold no rules.
FILES = {
    "empty": b"",
    "no-json": b"{",
    "null": b"null",
    "number": b"5",
    "list": b"[]",
    "utf16": '{"constraints": []}'.encode("utf-16"),
    "latin": b'{"constraints": [], "\xff": 1}',
    "nul": b"\x00" * 100,
    "deep": b"[" * 100_000,
    "unknown-kind": b'{"constraints": [{"kind": "Nearby"}]}',
    "huge-number": b'{"constraints": [{"kind": "ClusterSizes", "sizes": [1' + b"0" * 5000 + b"]}]}",
}


def _written(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A file of rules that corral wrote, changed."""
    import json

    import corral

    rules = corral.ConstraintSet(made([link("MustLink", (0, 1)), sizes([5, 4, 3])]))
    rules.to_json("rules.json")
    document = json.loads(Path("rules.json").read_text(encoding="utf-8"))
    change(document)
    return json.dumps(document).encode()


def _first(document: dict[str, Any]) -> dict[str, Any]:
    return next(v for v in document.values() if isinstance(v, list))[0]  # type: ignore[no-any-return]


CHANGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "unknown-key": lambda d: _first(d).update(colour="red"),
    "key-missing": lambda d: _first(d).pop("pairs"),
    "kind-missing": lambda d: _first(d).pop("kind"),
    "kind-of-list": lambda d: _first(d).update(kind=[]),
    "pairs-text": lambda d: _first(d).update(pairs="01"),
    "pairs-nan": lambda d: _first(d).update(pairs=[[0, NAN]]),
    "pairs-huge": lambda d: _first(d).update(pairs=[[0, 10**30]]),
    "weight-text": lambda d: _first(d).update(weight="heavy"),
    "version-new": lambda d: d.update(version=10**6),
    "other-format": lambda d: d.update(format="another"),
}


def _file(text: bytes | Callable[[dict[str, Any]], Any]) -> None:
    import corral

    data = text if isinstance(text, bytes) else _written(text)
    Path("given.json").write_bytes(data)
    refused(lambda: corral.ConstraintSet.from_json("given.json"), "given.json")


def _bom() -> None:
    """A byte order mark, which some editors write, is no error or is named."""
    import corral

    Path("given.json").write_bytes(b"\xef\xbb\xbf" + _written(lambda d: None))

    def check(rules: Any) -> None:
        obeys(
            model("kmeans").fit(points(), constraints=rules).labels_,
            [link("MustLink", (0, 1)), sizes([5, 4, 3])],
        )

    refused_or(lambda: corral.ConstraintSet.from_json("given.json"), check)


def cases() -> Iterator[Case]:
    """Constructors, fits and files."""
    for what, (make, word) in MADE.items():
        yield Case("bad-rules", what, partial(_made, make, word))
    for kind in ESTIMATORS:
        for what, (make, word) in FITTED.items():
            yield Case("bad-rules", f"{kind}-{what}", partial(_fitted, kind, make, word))
        for what, rules in OBEYED.items():
            yield Case("odd-rules", f"{kind}-{what}", partial(_obeyed, kind, rules))
    for what, text in FILES.items():
        yield Case("rules-files", what, partial(_file, text))
    for what, change in CHANGED.items():
        yield Case("rules-files", what, partial(_file, change))
    yield Case("rules-files", "bom", _bom)
