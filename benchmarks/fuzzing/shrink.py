"""Make an instance smaller while it fails in the same way."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .conflict import reduced
from .instances import Instance
from .rules import Rule, each
from .trial import run


def shrink(instance: Instance, kind: str, seconds: float) -> Instance:
    """A smaller instance with a failure of this kind, found within about this time."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for tried in candidates(instance):
            if time.monotonic() > end:
                break
            if fails(tried, kind):
                instance, smaller = tried, True
                break
    return instance


def fails(instance: Instance, kind: str) -> bool:
    """Whether the instance fails in this way."""
    try:
        outcome = run(instance)
    except Exception:  # a cut that makes no instance
        return False
    if kind == "not optimal":
        return outcome.optimal is False
    return any(found == kind for found, _ in outcome.failures)


def candidates(instance: Instance) -> Iterator[Instance]:
    """Instances with a rule, a row, a part of a rule, a weight or a feature less."""
    for at in range(len(instance.rules)):
        yield replace(instance, rules=[*instance.rules[:at], *instance.rules[at + 1 :]])
    for i in reversed(range(instance.n if instance.n > 1 else 0)):
        yield from without(instance, i)
    for at, rule in enumerate(instance.rules):
        for less in reduced(rule):
            if less is not None:
                rules = [*instance.rules[:at], less, *instance.rules[at + 1 :]]
                yield replace(instance, rules=rules)
    if instance.weights is not None:
        yield replace(instance, weights=None)
    if instance.form != "float64":
        yield replace(instance, form="float64", names=None)
    if instance.X.shape[1] > 1:
        for feature in range(instance.X.shape[1]):
            yield replace(instance, X=np.delete(instance.X, feature, axis=1))


def without(instance: Instance, i: int) -> Iterator[Instance]:
    """The instance without row i; exact sizes lose one in each possible cluster."""
    for j in range(instance.k):
        rules = [cut(copy.deepcopy(rule), i, j, instance.k) for rule in instance.rules]
        yield replace(
            instance,
            X=np.delete(instance.X, i, axis=0),
            rules=[rule for rule in rules if rule],
            weights=_less(instance.weights, i),
            names=_less(instance.names, i),
            planted=_less(instance.planted, i),
        )
        if not any(rule["kind"] == "ClusterSizes" and rule["sizes"] for rule in instance.rules):
            return


def _less(values: Any, i: int) -> Any:
    return None if values is None else [*values[:i], *values[i + 1 :]]


def cut(rule: Rule, i: int, j: int, k: int) -> Rule | None:
    """The rule without row i; an exact size of cluster j is one less."""
    kind = rule["kind"]
    if kind.endswith("Link"):
        weights = each(rule["weight"], len(rule["pairs"]))
        kept = [at for at, pair in enumerate(rule["pairs"]) if i not in pair]
        rule["pairs"] = [[row - (row > i) for row in rule["pairs"][at]] for at in kept]
        if isinstance(rule["weight"], list):
            rule["weight"] = [weights[at] for at in kept]
        return rule if kept else None
    if kind == "Pin":
        pins = zip(rule["rows"], rule["clusters"], strict=True)
        pairs = [(row - (row > i), cluster) for row, cluster in pins if row != i]
        rule["rows"], rule["clusters"] = [r for r, _ in pairs], [c for _, c in pairs]
        return rule if pairs else None
    if kind == "LinearConstraint":
        entries = zip(rule["row"], rule["column"], rule["value"], strict=True)
        left = [(r, c - k * (c // k > i), v) for r, c, v in entries if c // k != i]
        rule["row"], rule["column"], rule["value"] = (list(x) for x in zip(*left, strict=True))
        rule["shape"] = [rule["shape"][0], rule["shape"][1] - k]
    elif kind == "ClusterSizes" and rule["sizes"]:
        rule["sizes"][j] -= 1
    for name in ("values", "groups"):
        if name in rule:
            rule[name] = _less(rule[name], i)
    return rule
