"""Mixed groups of small problems are optimal: all labels are tried."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from corral import CannotLink, ClusterSizes, ConstraintSet, MixedGroups, MustLink, Pin


def every_label(n, k):
    """All labels of n rows in k groups, one of each numbering."""
    for labels in itertools.product(range(k), repeat=n):
        yield np.array(labels)


def standardised(points):
    spread = points.std(axis=0)
    return (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def value(objective, points, labels, k):
    """The objective from its definition."""
    seen = standardised(points)
    if objective == "diversity":
        inside = labels[:, None] == labels
        return squareform(pdist(seen))[inside].sum() / 2.0
    if objective == "moments":
        seen = np.hstack([seen, standardised(seen**2)])
    groups = [seen[labels == j] for j in range(k)]
    return sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups if len(group))


def rules_of(rng, n, k):
    """Some rules that labels can obey."""
    hidden = rng.permutation(np.arange(n) % k)
    pairs = rng.permutation(np.array(list(itertools.combinations(range(n), 2))))[:4]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    rules = [MustLink(pairs[same][:1]), CannotLink(pairs[~same][:2])]
    if rng.random() < 0.5:
        rules.append(ClusterSizes(np.bincount(hidden, minlength=k).tolist(), ordered=True))
        rules.append(Pin({0: int(hidden[0])}))
    return rules


def best_of(objective, points, rules, k):
    """The largest objective of labels that obey the rules, and are even if no sizes are given."""
    n = len(points)
    even = not ConstraintSet(rules).of_kind(ClusterSizes)
    best = -np.inf
    for labels in every_label(n, k):
        sizes = np.bincount(labels, minlength=k)
        if even and np.ptp(sizes) > 1:
            continue
        if all(v.count == 0 for v in ConstraintSet(rules).violations(labels, k)):
            best = max(best, value(objective, points, labels, k))
    return best


@pytest.mark.parametrize("objective", ["means", "moments", "diversity"])
@pytest.mark.parametrize("seed", range(4))
def test_small_problems(seed, objective):
    rng = np.random.default_rng(seed)
    n, k = (8, 2) if seed % 2 else (7, 3)
    points = rng.normal(size=(n, 2)).round(2)
    rules = rules_of(rng, n, k)
    wanted = best_of(objective, points, rules, k)
    if np.isinf(wanted):
        pytest.skip("no even groups obey the links")
    model = MixedGroups(k, objective, random_state=0).fit(points, constraints=rules)
    assert model.report_.feasible
    assert model.inertia_ == pytest.approx(value(objective, points, model.labels_, k))
    assert model.inertia_ == pytest.approx(wanted)
    assert wanted <= model.report_.most * (1.0 + 1e-12)
