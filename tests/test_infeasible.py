"""Contradictions of every kind, hard instances, short time limits, least violation, Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import time
from itertools import permutations, product

import numpy as np
import pytest
from ortools.sat.python import cp_model
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    Pin,
    SolverTimeoutError,
)
from corral.deadline import OutOfTime
from corral.search.descent import Descender
from corral.search.ready import make_ready

# --- an exact model of its own ----------------------------------------------------------------


def bounds_of(rule, n, k):
    if getattr(rule, "sizes", None) is not None:
        return rule.sizes.tolist(), rule.sizes.tolist()
    low = 0 if rule.minimum is None else rule.minimum
    high = n if rule.maximum is None else rule.maximum
    return [np.broadcast_to(b, k).astype(int).tolist() for b in (low, high)]


class Exact:
    """CP-SAT over x_ij, built from the constraints alone; numbers in them must be whole."""

    def __init__(self, n, k):
        self.n, self.k, self.model = n, k, cp_model.CpModel()
        self.x = [[self.model.new_bool_var("") for _ in range(k)] for _ in range(n)]
        for row in self.x:
            self.model.add_exactly_one(row)

    def size(self, j):
        return sum(row[j] for row in self.x)

    def add(self, rule):
        getattr(self, f"_{type(rule).__name__}")(rule)

    def _MustLink(self, rule):
        for (a, b), weight in zip(rule.pairs.tolist(), rule.weight, strict=True):
            for j in range(self.k if np.isinf(weight) else 0):
                self.model.add(self.x[a][j] == self.x[b][j])

    def _CannotLink(self, rule):
        for (a, b), weight in zip(rule.pairs.tolist(), rule.weight, strict=True):
            for j in range(self.k if np.isinf(weight) else 0):
                self.model.add(self.x[a][j] + self.x[b][j] <= 1)

    def _Pin(self, rule):
        for i, j in zip(rule.rows.tolist(), rule.clusters.tolist(), strict=True):
            self.model.add(self.x[i][j] == 1)

    def _ClusterSizes(self, rule):
        low, high = bounds_of(rule, self.n, self.k)
        clusters = range(self.k)
        gets = [[self.model.new_bool_var("") for _ in clusters] for _ in clusters]
        for j in clusters:
            self.model.add_exactly_one(gets[j])
            self.model.add_exactly_one(row[j] for row in gets)
            self.model.add(self.size(j) >= sum(b * g for b, g in zip(low, gets[j], strict=True)))
            self.model.add(self.size(j) <= sum(b * g for b, g in zip(high, gets[j], strict=True)))
            if rule.ordered:
                self.model.add(gets[j][j] == 1)

    def _between(self, coefficients, expression, low, high):
        assert all(float(c).is_integer() for c in coefficients)
        if np.isfinite(low):
            self.model.add(expression >= int(np.ceil(low)))
        if np.isfinite(high):
            self.model.add(expression <= int(np.floor(high)))

    def _ClusterTotals(self, rule):
        low = np.broadcast_to(-np.inf if rule.minimum is None else rule.minimum, self.k)
        high = np.broadcast_to(np.inf if rule.maximum is None else rule.maximum, self.k)
        for j in range(self.k):
            total = sum(int(v) * self.x[i][j] for i, v in enumerate(rule.values))
            self._between(rule.values, total, low[j], high[j])

    def _GroupShares(self, rule):
        sides = [(g, s, 1) for g, s in rule.minimum.items()]
        sides += [(g, s, -1) for g, s in rule.maximum.items()]
        for group, share, sign in sides:
            percent = round(100 * share)
            assert percent == pytest.approx(100 * share)
            for j in range(self.k):
                inside = sum(self.x[i][j] for i, g in enumerate(rule.groups) if g == group)
                self.model.add(sign * (100 * inside - percent * self.size(j)) >= 0)

    def _LinearConstraint(self, rule):
        for row, low, high in zip(rule.A.toarray(), rule.lower, rule.upper, strict=True):
            terms = (int(c) * self.x[q // self.k][q % self.k] for q, c in enumerate(row) if c)
            self._between(row, sum(terms), low, high)


def possible(rules, n, k):
    """Whether some labels obey all rules, by the model above."""
    exact = Exact(n, k)
    for rule in rules:
        exact.add(rule)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(exact.model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE)
    return status != cp_model.INFEASIBLE


# --- planted contradictions -------------------------------------------------------------------
# Each planter gives n, k and rules; rows stand in a random order.


def shuffled(rng, n):
    return rng.permutation(n).tolist()


def odd_cycle(rng):
    n = int(rng.integers(10, 16))
    length = int(rng.choice([5, 7, 9]))
    rows = shuffled(rng, n)
    cycle = [(rows[i], rows[(i + 1) % length]) for i in range(length)]
    more = [(rows[i], rows[i + 1]) for i in range(length, n - 1, 2)]
    return n, 2, [CannotLink(rng.permutation(cycle + more))]


def odd_wheel(rng):
    """A hub and an odd rim need four colours, though no four rows are all apart."""
    n, rim = int(rng.integers(10, 15)), int(rng.choice([5, 7]))
    rows = shuffled(rng, n)
    pairs = [(rows[i], rows[(i + 1) % rim]) for i in range(rim)]
    pairs += [(rows[rim], rows[i]) for i in range(rim)]
    return n, 3, [CannotLink(rng.permutation(pairs)), ClusterSizes(minimum=1)]


def odd_cycle_of_groups(rng):
    n, length = 15, 5
    rows = shuffled(rng, n)
    together = [(rows[2 * i], rows[2 * i + 1]) for i in range(length)]
    apart = [(rows[2 * i + 1], rows[2 * ((i + 1) % length)]) for i in range(length)]
    return n, 2, [MustLink(together), CannotLink(apart), CannotLink([(rows[12], rows[13])])]


def groups_that_do_not_fit(rng):
    """Clusters of 2g - 1 rows hold one group of g each, and there are k + 1 groups."""
    k, g = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    n = k * (2 * g - 1)
    rows = shuffled(rng, n)
    chain = [(rows[q * g + i], rows[q * g + i + 1]) for q in range(k + 1) for i in range(g - 1)]
    most = 2 * g - 1
    sizes = ClusterSizes([most] * k) if rng.random() < 0.5 else ClusterSizes(maximum=most)
    return n, k, [MustLink(chain), sizes]


def loads_that_do_not_fit(rng):
    """Every cluster has room for two and a half of them."""
    k = int(rng.integers(2, 4))
    n = 2 * k + 1
    weight = int(rng.integers(4, 8)) * 2
    rules = [ClusterTotals(np.full(n, weight), maximum=2.5 * weight)]
    rules += [CannotLink([tuple(shuffled(rng, n)[:2])])]
    return n, k, rules


def quotas_against_sizes(rng):
    """Fewer rows of a group than clusters, and all must have some."""
    k, n = 3, 12
    groups = np.where(np.isin(np.arange(n), shuffled(rng, n)[: k - 1]), "few", "many")
    share = float(rng.choice([0.1, 0.2, 0.25]))
    return n, k, [GroupShares(groups, minimum={"few": share}), ClusterSizes(minimum=2)]


def quotas_against_capacities(rng):
    """Half of each cluster must be heavy rows, but a cluster has room for one of them."""
    n, k = 8, 2
    heavy = np.isin(np.arange(n), shuffled(rng, n)[:4])
    values = np.where(heavy, 5, 1)
    room = int(rng.integers(6, 9))
    rules = [GroupShares(heavy, minimum={True: 0.5}), ClusterTotals(values, maximum=room)]
    return n, k, rules


def pins_against_sizes(rng):
    n, k = 10, 2
    rows = shuffled(rng, n)
    if rng.random() < 0.5:
        return n, k, [Pin(dict.fromkeys(rows[:5], 1)), ClusterSizes([6, 4], ordered=True)]
    pins = Pin({**dict.fromkeys(rows[:3], 0), **dict.fromkeys(rows[3:6], 1)})
    return n, k, [pins, ClusterSizes([8, 2])]


def pins_against_totals(rng):
    n, k = 9, 3
    rows, values = shuffled(rng, n), rng.integers(3, 7, n)
    pinned = rows[:3]
    room = int(values[pinned].sum()) - 1
    high = np.array([room, 100, 100])
    return n, k, [Pin(dict.fromkeys(pinned, 0)), ClusterTotals(values, maximum=high)]


def rows_of_odd_sum(rng):
    """Twice a count is odd; or a row is in none of the clusters."""
    n, k = 8, 2
    A = np.zeros((2, n * k))
    if rng.random() < 0.5:
        A[0, ::2] = 2
        bound = int(rng.choice([3, 5, 7]))
        return n, k, [LinearConstraint(A, [bound, 0], [bound, 0])]
    row = shuffled(rng, n)[0]
    A[0, row * k], A[1, row * k + 1] = 1, 1
    return n, k, [LinearConstraint(A, -np.inf, 0), MustLink([tuple(shuffled(rng, n)[:2])])]


def rows_against_pins(rng):
    n, k = 8, 3
    rows = shuffled(rng, n)
    A = np.zeros((1, n * k))
    A[0, [rows[0] * k + 1, rows[1] * k + 1]] = 1
    return n, k, [LinearConstraint(A, upper=1), Pin({rows[0]: 1, rows[1]: 1})]


def chain_of_links(rng):
    n, k = 14, int(rng.integers(2, 5))
    rows, length = shuffled(rng, n), int(rng.integers(2, 7))
    chain = [(rows[i], rows[i + 1]) for i in range(length)]
    apart = [(rows[0], rows[length]), (rows[8], rows[9])]
    return n, k, [MustLink(rng.permutation(chain)), CannotLink(apart)]


def chain_between_pins(rng):
    n, k = 12, 3
    rows, length = shuffled(rng, n), int(rng.integers(1, 6))
    chain = MustLink([(rows[i], rows[i + 1]) for i in range(length)])
    if rng.random() < 0.5:
        return n, k, [chain, Pin({rows[0]: 0, rows[length]: 2, rows[9]: 1})]
    return n, k, [chain, CannotLink([(rows[length], rows[10])]), Pin({rows[0]: 1, rows[10]: 1})]


def sizes_of_another_sum(rng):
    n, k = int(rng.integers(9, 14)), 3
    wrong = int(rng.choice([-2, -1, 1, 2]))
    kind = rng.integers(3)
    if kind == 0:
        return n, k, [ClusterSizes([3, 3, n - 6 + wrong])]
    if kind == 1:
        return n, k, [ClusterSizes(minimum=n // 3 + 1)]
    return n, k, [ClusterSizes(maximum=(n - 1) // 3), MustLink([(0, 1)])]


def too_many_apart(rng):
    """One more group than clusters, all apart."""
    k, n = int(rng.integers(2, 5)), 12
    rows = shuffled(rng, n)
    together = MustLink([(rows[0], rows[k + 1]), (rows[1], rows[k + 2])])
    other = {0: rows[k + 1], 1: rows[k + 2]}
    apart = [(rows[i], other.get(j, rows[j])) for i in range(k + 1) for j in range(i)]
    return n, k, [together, CannotLink(apart)]


def least_totals_beyond_all(rng):
    n, k = 7, 3
    values = rng.integers(1, 6, n)
    low = int(values.sum()) // 3 + 1
    return n, k, [ClusterTotals(values, minimum=low), Pin({0: 1})]


PLANTERS = [
    odd_cycle,
    odd_wheel,
    odd_cycle_of_groups,
    groups_that_do_not_fit,
    loads_that_do_not_fit,
    quotas_against_sizes,
    quotas_against_capacities,
    pins_against_sizes,
    pins_against_totals,
    rows_of_odd_sum,
    rows_against_pins,
    chain_of_links,
    chain_between_pins,
    sizes_of_another_sum,
    too_many_apart,
    least_totals_beyond_all,
]
PLANTED = [(plant, seed) for plant in PLANTERS for seed in range(7)]


def atoms(rules):
    """Single pairs, pins and other rules, to compare two sets."""
    found = set()
    for rule in rules:
        if isinstance(rule, (MustLink, CannotLink)):
            found |= {(type(rule), *sorted(pair)) for pair in rule.pairs.tolist()}
        elif isinstance(rule, Pin):
            found |= {("pin", *pin) for pin in zip(rule.rows, rule.clusters, strict=True)}
        elif isinstance(rule, LinearConstraint):
            rows = zip(rule.A.toarray(), rule.lower, rule.upper, strict=True)
            found |= {("row", tuple(row), low, high) for row, low, high in rows}
        else:
            found.add(type(rule))
    return found


def rows_named(rules):
    """Rows in the pairs and pins of a conflict."""
    links = [rule.pairs.ravel() for rule in rules if isinstance(rule, (MustLink, CannotLink))]
    pins = [rule.rows for rule in rules if isinstance(rule, Pin)]
    return {int(row) for part in links + pins for row in part}


def left_out_one(rules):
    """The conflict without one pair, one pin, or one whole rule of another kind."""
    for place, rule in enumerate(rules):
        others = [*rules[:place], *rules[place + 1 :]]
        if not isinstance(rule, (MustLink, CannotLink, Pin)):
            yield others
            continue
        for left in range(len(rule.rows if isinstance(rule, Pin) else rule.pairs)):
            size = len(rule.rows if isinstance(rule, Pin) else rule.pairs)
            yield [*others, rule.take(np.delete(np.arange(size), left))]


@pytest.mark.parametrize(("plant", "seed"), PLANTED)
def test_a_planted_contradiction_is_found_proven_and_named(plant, seed):
    rng = np.random.default_rng([seed, *map(ord, plant.__name__[:8])])
    n, k, rules = plant(rng)
    soft = [MustLink([(0, 2)], weight=1.0), CannotLink([(1, 2)], weight=3.0)]
    X = rng.normal(size=(n, 2))
    assert not possible(rules, n, k)
    model = ConstrainedKMeans(k, random_state=0)
    with pytest.raises(InfeasibleConstraintsError) as error:
        model.fit(X, constraints=[*rules, *soft])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    conflict, sentence = error.value.conflict, str(error.value)
    assert not possible(conflict, n, k)
    assert atoms(conflict) <= atoms(rules)
    assert all(possible(rest, n, k) for rest in left_out_one(conflict))
    named = rows_named(conflict)
    assert len(named) > 10 or named <= {int(word) for word in re.findall(r"\d+", sentence)}


def test_there_are_a_hundred_of_them():
    assert len(PLANTED) >= 100


@pytest.mark.parametrize("plant", PLANTERS)
def test_without_the_conflict_the_exact_model_agrees_with_the_fit(plant):
    """The other way round: leave out a part of the conflict, and what is left can be obeyed."""
    rng = np.random.default_rng(99)
    n, k, rules = plant(rng)
    X = rng.normal(size=(n, 2))
    for left in range(len(rules)):
        rest = [rule for number, rule in enumerate(rules) if number != left]
        model = ConstrainedKMeans(k, n_init=1, random_state=0)
        if possible(rest, n, k):
            assert model.fit(X, constraints=rest).report_.feasible
        else:
            with pytest.raises(InfeasibleConstraintsError):
                model.fit(X, constraints=rest)


@pytest.mark.parametrize("plant", [odd_cycle, groups_that_do_not_fit, quotas_against_sizes])
def test_assign_finds_the_same_contradictions(plant):
    rng = np.random.default_rng(5)
    n, k, rules = plant(rng)
    X = rng.normal(size=(n, 2))
    model = ConstrainedKMeans(k, n_init=1, random_state=0).fit(X)
    labels = model.labels_.copy()
    with pytest.raises(InfeasibleConstraintsError) as error:
        model.assign(X, constraints=rules)
    assert not possible(error.value.conflict, n, k)
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("plant", [odd_cycle, pins_against_sizes, chain_of_links])
def test_algorithm1_finds_the_same_contradictions(plant):
    rng = np.random.default_rng(6)
    n, k, rules = plant(rng)
    with pytest.raises(InfeasibleConstraintsError) as error:
        ConstrainedKMeans(k, solver="algorithm1", n_init=1).fit(
            rng.normal(size=(n, 2)), constraints=rules
        )
    assert not possible(error.value.conflict, n, k)


# --- the least violation ----------------------------------------------------------------------


def violation(rules, labels, k):
    """Broken pairs and pins, rows too many or too few, totals in units of their mean value."""
    total = 0.0
    for rule in rules:
        if isinstance(rule, (MustLink, CannotLink)):
            together = isinstance(rule, MustLink)
            total += sum((labels[i] == labels[j]) != together for i, j in rule.pairs.tolist())
        elif isinstance(rule, Pin):
            total += sum(
                labels[i] != j for i, j in zip(rule.rows.tolist(), rule.clusters, strict=True)
            )
        elif isinstance(rule, ClusterSizes):
            low, high = bounds_of(rule, len(labels), k)
            size = [labels.count(j) for j in range(k)]
            orders = [range(k)] if rule.ordered else permutations(range(k))
            total += min(
                sum(max(low[e] - size[j], size[j] - high[e], 0) for j, e in enumerate(order))
                for order in orders
            )
        elif isinstance(rule, ClusterTotals):
            excess = 0.0
            for j in range(k):
                load = sum(v for v, label in zip(rule.values, labels, strict=True) if label == j)
                excess += max(0.0, load - rule.maximum)
            total += excess / np.abs(rule.values).mean()
        else:
            for row, low, high in zip(rule.A.toarray(), rule.lower, rule.upper, strict=True):
                value = sum(row[i * k + label] for i, label in enumerate(labels))
                total += max(low - value, value - high, 0.0)
    return total


def clashing_rules(rng, n, k):
    """Some rules of several kinds; mostly they clash."""
    every = [(i, j) for i in range(n) for j in range(i)]
    order = rng.permutation(len(every))
    pairs = [every[o] for o in order]
    rules = [MustLink(pairs[:4]), CannotLink(pairs[3 : 3 + 2 * k])]
    kind = rng.integers(5)
    if kind == 0:
        rules.append(Pin({0: 0, 1: 0, 2: k - 1}))
    elif kind == 1:
        rules.append(ClusterSizes([n - k + 1] + [1] * (k - 1), ordered=bool(rng.random() < 0.5)))
    elif kind == 2:
        values = rng.integers(1, 5, n)
        rules.append(ClusterTotals(values, maximum=float(np.ceil(values.sum() / k))))
    elif kind == 3:
        A = rng.integers(0, 2, size=(2, n * k))
        rules.append(LinearConstraint(A, [1, -np.inf], [2, 1]))
    return rules


def test_relaxing_gives_the_least_total_violation():
    clashes = 0
    for seed in range(14):
        rng = np.random.default_rng([3, seed])
        k = int(rng.integers(2, 4))
        n = 8 if k == 2 else 6
        rules = clashing_rules(rng, n, k)
        X = rng.normal(size=(n, 2))
        model = ConstrainedKMeans(k, n_init=1, on_infeasible="relax", random_state=0)
        model.fit(X, constraints=rules)
        least = min(violation(rules, list(way), k) for way in product(range(k), repeat=n))
        found = violation(rules, model.labels_.tolist(), k)
        assert found == pytest.approx(least, abs=1e-6)
        clashes += least > 0
        assert model.report_.feasible == (least < 1e-9)
        if least > 0:
            broken = {entry.constraint for entry in model.report_.broken}
            whole = [r for r in rules if violation([r], model.labels_.tolist(), k) > 1e-9]
            assert broken == set(whole)
            for entry in model.report_.broken:
                assert entry.violations.messages()[0] in str(model.report_)
    assert clashes >= 7


def test_relaxing_what_can_be_obeyed_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    rules = [MustLink([(0, 1)]), CannotLink([(1, 2)]), ClusterSizes([5, 7, 8])]
    plain = ConstrainedKMeans(3, n_init=1, random_state=0).fit(X, constraints=rules)
    relaxing = ConstrainedKMeans(3, n_init=1, random_state=0, on_infeasible="relax")
    np.testing.assert_array_equal(relaxing.fit(X, constraints=rules).labels_, plain.labels_)
    assert relaxing.report_.feasible


def test_soft_pairs_do_not_count_as_violation():
    """They are a price among the labels of least violation."""
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    rules = [MustLink([(0, 1)]), CannotLink([(0, 1)])]
    plain = ConstrainedKMeans(2, on_infeasible="relax", random_state=0).fit(X, constraints=rules)
    assert len(plain.report_.broken) == 1
    soft = [*rules, MustLink([(0, 2), (1, 3)], weight=1000.0)]
    priced = ConstrainedKMeans(2, on_infeasible="relax", random_state=0).fit(X, constraints=soft)
    assert len(priced.report_.broken) == 1
    assert priced.report_.soft_cost == 0.0


# --- little time ------------------------------------------------------------------------------


def hard_instance(seed=0, n=60, k=4):
    """Cannot-links, tight capacities and sizes that a hidden labelling obeys."""
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(np.arange(n) % k)
    pairs = rng.integers(0, n, size=(4 * n, 2))
    pairs = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]
    values = rng.integers(10, 99, n)
    load = np.bincount(hidden, values, k)
    rules = [
        CannotLink(pairs),
        ClusterTotals(values, maximum=float(load.max())),
        ClusterSizes([n // k] * k),
    ]
    return rng.normal(size=(n, 2)), rules, k


@pytest.mark.parametrize("limit", [0, 1e-4, 0.01, 0.1, 0.5])
def test_with_little_time_there_is_a_feasible_answer_or_a_timeout(limit):
    X, rules, k = hard_instance()
    model = ConstrainedKMeans(k, random_state=0, time_limit=limit)
    try:
        model.fit(X, constraints=rules)
    except SolverTimeoutError as late:
        error = late
    else:
        assert model.report_.feasible
        return
    assert isinstance(error, TimeoutError)
    assert error.seconds >= 0
    assert error.progress in str(error)
    assert "time_limit" in str(error)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("limit", [0, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("plant", [odd_wheel, groups_that_do_not_fit, quotas_against_capacities])
def test_with_little_time_a_contradiction_is_proven_or_a_timeout(plant, limit):
    n, k, rules = plant(np.random.default_rng(1))
    X = np.random.default_rng(2).normal(size=(n, 2))
    model = ConstrainedKMeans(k, random_state=0, time_limit=limit)
    with pytest.raises((InfeasibleConstraintsError, SolverTimeoutError)):
        model.fit(X, constraints=rules)
    fitted = ConstrainedKMeans(k, n_init=1, random_state=0).fit(X).set_params(time_limit=limit)
    with pytest.raises((InfeasibleConstraintsError, SolverTimeoutError)):
        fitted.assign(X, constraints=rules)


def test_no_time_left_to_explain_a_proven_contradiction(monkeypatch):
    def too_late(*arguments, **options):
        raise OutOfTime

    monkeypatch.setattr("corral.infeasible.explain", too_late)
    n, k, rules = odd_wheel(np.random.default_rng(0))
    X = np.random.default_rng(1).normal(size=(n, 2))
    model = ConstrainedKMeans(k, random_state=0, time_limit=60.0)
    with pytest.raises((InfeasibleConstraintsError, SolverTimeoutError)):
        model.fit(X, constraints=rules)
    with pytest.raises((InfeasibleConstraintsError, SolverTimeoutError)):
        model.fit(X).assign(X, constraints=rules)


@pytest.mark.parametrize("known", [1, 2, 3])
def test_an_answer_in_hand_is_kept_when_time_runs_out_later(monkeypatch, known):
    make_ready()
    improved, calls = Descender.improved, []

    def until_time_is_over(*arguments, **options):
        calls.append(arguments)
        if len(calls) > known:
            raise OutOfTime
        return improved(*arguments, **options)

    monkeypatch.setattr(Descender, "improved", until_time_is_over)
    X = np.random.default_rng(0).normal(size=(20, 2))
    rules = ClusterSizes([6, 7, 7])
    model = ConstrainedKMeans(3, n_init=4, random_state=0, time_limit=60.0)
    assert model.fit(X, constraints=rules).report_.feasible
    assert len(calls) > known


def test_a_generous_limit_changes_nothing():
    X = np.random.default_rng(0).normal(size=(20, 2))
    rules = [ClusterSizes([6, 7, 7]), CannotLink([(0, 1)])]
    free = ConstrainedKMeans(3, random_state=0).fit(X, constraints=rules)
    timed = ConstrainedKMeans(3, random_state=0, time_limit=1000).fit(X, constraints=rules)
    np.testing.assert_array_equal(free.labels_, timed.labels_)


# --- Ctrl-C -----------------------------------------------------------------------------------

LONG_FITS = {
    "iterations": """
        X = rng.normal(size=(20000, 20))
        rules = None
        model = ConstrainedKMeans(30, effort=1e6, random_state=0)
    """,
    "exact assignment": """
        n, k = 400, 8
        X, hidden = rng.normal(size=(n, 2)), np.arange(n) % k
        values = rng.integers(1000, 9999, n)
        pairs = rng.integers(0, n, size=(n, 2))
        room = np.bincount(hidden, values).max()
        rules = [
            ClusterTotals(values, maximum=room),
            CannotLink(pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]),
        ]
        model = ConstrainedKMeans(k, effort=1e6, random_state=0)
    """,
}
PROGRAM = """
import signal, time
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from corral import CannotLink, ClusterTotals, ConstrainedKMeans

# A shell may have told its children to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
{setting}
print("ready", flush=True)
try:
    model.fit(X, constraints=rules)
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
try:
    check_is_fitted(model)
except NotFittedError:
    print("unfitted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", LONG_FITS)
def test_ctrl_c_ends_a_long_fit_at_once_and_leaves_it_unfitted(name):
    program = PROGRAM.format(setting=textwrap.dedent(LONG_FITS[name]))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1.0)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            word, when = process.stdout.readline().split()
            assert word == "interrupted"
            assert float(when) - sent < 5.0
            assert process.stdout.readline() == "unfitted\n"
            assert process.wait(timeout=10) == 0
        finally:
            process.kill()
