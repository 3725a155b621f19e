"""One matrix for each kind of cluster: what every clustering obeys, and how much it tightens."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from reference import Rules, best_partition

from corral.constraints import ConstraintSet
from corral.deadline import NEVER
from corral.proof import kinds, relaxation
from corral.proof.ascent import Ascent
from corral.proof.cuts import Cuts
from corral.proof.kinds import Balance, Kind
from corral.proof.relaxation import Grouped
from corral.proof.spectrum import InMemory

HERE = InMemory(1000)


def matrices(labels, weight, kind):
    """The matrix Y of each kind, given the kind of each cluster."""
    total = np.bincount(labels, weight)
    same = (labels[:, None] == labels) * np.sqrt(np.outer(weight, weight)) / total[labels]
    return np.stack([same * (kind[labels] == c)[:, None] for c in range(kind.max() + 1)])


def rules_of(seed, n=9):
    """Three sizes: in any order, in order with pins, or as intervals."""
    rng = np.random.default_rng(seed)
    low = np.array([2, 3, 4])
    high = low + 1 if seed % 3 == 2 else low
    pins = np.array([[0, 2], [1, 0]]) if seed % 3 == 1 else np.empty((0, 2), np.int64)
    given = {"sizes": (low, high), "ordered": seed % 3 == 1, "pins": pins}
    return rng.normal(size=(n, 2)), Rules(n=n, k=3, **given)


def bound_of(X, rules, most):
    """The bound after so many iterations."""
    grouped = Grouped.of(X, None, ConstraintSet(rules.constraints()), rules.k)
    return Ascent(grouped.relaxation()).run(NEVER, most=most)


@pytest.mark.parametrize("seed", range(6))
def test_no_partition_is_below_the_bound_of_several_kinds(seed):
    X, rules = rules_of(seed)
    best = best_partition(X, rules)
    assert 0.5 * best <= bound_of(X, rules, 200) <= best


def test_kinds_tighten_the_bound(monkeypatch):
    """Points on a line have their best sizes far from those that the rules want."""
    X = np.concatenate([np.linspace(0.0, 1.0, 6), np.linspace(9.0, 10.0, 6)])[:, None]
    sizes = np.array([2, 10])
    rules = Rules(n=12, k=2, sizes=(sizes, sizes))
    several = bound_of(X, rules, 300)
    monkeypatch.setattr(kinds, "MOST_KINDS", 1)
    one = bound_of(X, rules, 300)
    assert one < 0.9 * several
    assert several <= best_partition(X, rules)


def test_sizes_that_differ_have_a_kind_each():
    X, rules = rules_of(0)
    grouped = Grouped.of(X, None, ConstraintSet(rules.constraints()), 3)
    assert [(kind.number, kind.least) for kind in grouped.relaxation().kinds] == [
        (1, 2.0),
        (1, 3.0),
        (1, 4.0),
    ]
    weighted = Grouped.of(X, np.linspace(1, 2, 9), ConstraintSet(rules.constraints()), 3)
    assert len(weighted.relaxation().kinds) == 1


def test_every_clustering_obeys_the_row_sums():
    """The product with the multipliers is at most the price, and equal to it for exact sizes."""
    rng = np.random.default_rng(0)
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 2.0, 1.0])
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    exact = [Kind(2, 4.0, 4.0, True), Kind(1, 5.0, 5.0, True)]
    loose = [Kind(2, 3.0, 4.0, True), Kind(1, 4.0, 7.0, True)]
    # Clusters 0 and 2 weigh 3 and 4, cluster 1 weighs 5; with exact sizes group 0 weighs 2.
    for given, heavier in ((exact, 1.0), (loose, 0.0)):
        own = weight + heavier * (np.arange(8) == 0)
        Y = matrices(labels, own, np.array([0, 1, 0]))
        balance = Balance(given, own, HERE)
        for _ in range(20):
            balance.along = rng.normal(size=8)
            balance.each = np.clip(rng.normal(size=balance.each.shape), balance.low, balance.high)
            pull, error, price = balance.pull(3.0)
            product = np.sum(pull * Y)
            assert product <= price + 1e-12
            assert error < 1e-10
            assert not heavier or product == pytest.approx(price)


def test_adjoint_is_the_adjoint():
    """The gradient of the projection's dual problem has the row sums of the adjoint's matrices."""
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, 6).astype(float)
    balance = Balance([Kind(1, 3.0, 5.0, True), Kind(2, 2.0, 2.0, True)], weight, HERE)
    Y = rng.normal(size=(2, 6, 6))
    Y = Y + Y.transpose(0, 2, 1)
    root = np.sqrt(weight)
    sums = Y @ root
    along, each = rng.normal(size=6), rng.normal(size=balance.each.shape)
    sizes = np.array([5.0, 3.0, 2.0])
    rows = [sums[c] - s * np.diag(Y[c]) / root for c, s in zip((0, 0, 1), sizes, strict=True)]
    expected = along @ sums.sum(axis=0) + sum(m @ row for m, row in zip(each, rows, strict=True))
    assert np.sum(balance.adjoint(along, each) * Y) == pytest.approx(expected)


def test_stars_and_covers_hold_for_every_clustering():
    rng = np.random.default_rng(0)
    m, k = 12, 3
    weight = rng.uniform(0.5, 3.0, m)
    cliques = [np.array([0, 1, 2]), np.array([3, 4, 5])]
    cuts = Cuts(weight, HERE, cliques, k)
    noise = rng.uniform(size=(2, m, m))
    cuts.renew(noise + noise.transpose(0, 2, 1), np.random.RandomState(0))
    assert {
        (int(sign), int((T >= 0).sum()))
        for sign, T in zip(cuts.corners[:, 1], cuts.corners[:, 3:], strict=True)
    } >= {(1, 2), (1, 3)}
    cuts.corners = np.concatenate([cuts.corners, [[0, -1, 7, 0, 1, 2], [1, -1, 8, 3, 4, 5]]])
    cuts._build()
    for _ in range(50):
        labels = np.concatenate([rng.permutation(k), rng.permutation(k), rng.integers(0, k, m - 6)])
        Y = matrices(labels, weight, np.array([0, 1, 0]))
        cuts.multiplier = rng.uniform(size=len(cuts))
        assert np.sum(cuts.moved(np.zeros((2, m, m)), 1.0) * Y) <= 1e-12


def test_cannot_link_cliques_tighten_the_bound(monkeypatch):
    apart = np.array([p for t in (range(3), range(3, 6)) for p in combinations(t, 2)])
    rules = Rules(n=9, k=3, cannot=apart)
    points = [np.random.default_rng(seed).normal(size=(9, 2)) for seed in range(4)]
    best = [best_partition(X, rules) for X in points]
    used = [bound_of(X, rules, 300) for X in points]
    monkeypatch.setattr(relaxation, "cliques", lambda *_: [])
    unused = [bound_of(X, rules, 300) for X in points]
    assert np.all(np.array(used) <= best)
    assert sum(used) > sum(unused)


@pytest.mark.parametrize("seed", [0, 1])
def test_tensors_have_the_same_bound(seed):
    """With several kinds of clusters, cuts and pins."""
    pytest.importorskip("torch")
    X, rules = rules_of(seed)
    grouped = Grouped.of(X, None, ConstraintSet(rules.constraints()), rules.k)
    there = Ascent(grouped.relaxation("cpu")).run(NEVER, most=100)
    assert there == pytest.approx(bound_of(X, rules, 100), rel=1e-6)
