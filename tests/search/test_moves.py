"""The rise of a move is the difference of what the state is worth before and after it."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import sparse

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstraintSet,
    LinearConstraint,
    MustLink,
    Pin,
)
from corral.rows import METRICS, MemoryTable
from corral.rules import presolve
from corral.search import moves, ready
from corral.search.model import (
    CHORDS,
    DIVERSE,
    MEANS,
    MEDOIDS,
    MIXED,
    TABLE,
    Priced,
    diverse_model,
    medoid_model,
    mixed_model,
    model_of,
    table_model,
)
from corral.search.moves import Scratch, appraise, rare_of, state_of

N, D, K = 30, 4, 4


def run(kernel):
    """Call a kernel that only other kernels call, as the model needs it."""
    made = numba.njit(error_model="numpy")(kernel)
    return lambda model, *arguments: made(rare_of(model), model, *arguments)


@run
def shift_rise(rare, model, state, scratch, i, b):
    a, move, rise = state.labels[i], scratch.move, 0.0
    for j, sign in ((a, -1.0), (b, 1.0)):
        move[0, 0], move[1, 0] = i, b if sign > 0.0 else -1
        _, cost, paid = moves.half_shift(rare, model, state, scratch, i, j, sign)
        rise += cost + paid
    rise += moves.pin_price(model.pin, model.paid, i, a, b)
    for edge in range(model.ptr[i], model.ptr[i + 1]):
        beside = state.labels[model.other[edge]]
        rise += model.tie[0, edge] * ((1.0 if beside == b else 0.0) - (1.0 if beside == a else 0.0))
    if len(model.column) > 1:
        rise += moves.rows_rise(model, state, move, np.int64(1))
    return rise


@run
def chain(rare, model, state, scratch, i, b):
    return moves.kempe_chain(model, state.labels, scratch.mark, scratch.move, i, b)


@run
def move_rise(rare, model, state, scratch, n):
    return moves.move_rise(rare, model, state, scratch, n)


@run
def make(rare, model, state, scratch, n):
    moves.keep_move(scratch.move, n)
    moves.make_move(rare, model, state, scratch, n)


def written(scratch, groups, to):
    """Write a move into the scratch."""
    scratch.move[0, : len(groups)], scratch.move[1, : len(groups)] = groups, to


def some_pairs(rng, number):
    """Different pairs of rows, those joined by the rules below left out."""
    pairs = np.argwhere(np.triu(np.ones((N, N), bool), 1))
    pairs = pairs[~((pairs[:, 0] < 4) & (pairs[:, 1] < 4))]
    return rng.permutation(pairs)[:number]


def every_rule(rng):
    """Rules of all kinds; most of them are broken by labels at random."""
    pairs = some_pairs(rng, 24)
    amounts, signed = rng.uniform(0.5, 2.0, N), rng.normal(size=N)
    entries = sparse.random_array((3, N * K), density=0.2, rng=rng, format="csr")
    return [
        MustLink([(0, 1), (2, 3)]),  # groups of two rows, with other weights
        CannotLink(pairs[:12]),
        CannotLink(pairs[12:18], weight=rng.uniform(0.1, 2.0, 6)),
        MustLink(pairs[18:], weight=rng.uniform(0.1, 2.0, 6)),
        ClusterSizes([6, 7, 8, 9], ordered=True),
        ClusterSizes(maximum=8, weight=0.3),
        ClusterTotals(amounts, maximum=amounts.sum() / K),
        ClusterTotals(signed, minimum=-0.5, maximum=0.5, weight=0.7),
        Pin({5: 0, 9: 1, 11: 1}, weight=[0.5, 1.5, 0.2]),
        LinearConstraint(entries, lower=0.5, upper=1.5, n_clusters=K),
    ]


def of_one_kind(name):
    """The rules of one kind, or all, or none."""
    kinds = {
        "none": [],
        "pairs": [CannotLink, MustLink],
        "sums": [ClusterSizes, ClusterTotals],
        "pins": [Pin],
        "linear": [LinearConstraint],
        "all": [CannotLink, MustLink, ClusterSizes, ClusterTotals, Pin, LinearConstraint],
    }[name]
    return lambda rng: [rule for rule in every_rule(rng) if type(rule) in kinds]


def points_in(kind, stored, rng):
    """A model's rows by a metric, dense or CSR, with weights."""
    points = rng.normal(size=(N, D))
    if stored == "csr":
        kept = rng.random((N, D)) < 0.5
        kept[np.arange(N), np.arange(N) % D] = True  # no row is zero
        points = sparse.csr_array(points * kept)
    metric = METRICS["cosine" if kind == CHORDS else "euclidean"]
    return lambda rules: MemoryTable(points, rng.uniform(0.5, 2.0, N), metric=metric).rows(
        rules.group
    )


def model_in(kind, stored, make_rules, seed):
    """A model whose hard rules have the price one, as :func:`appraise` counts broken pairs."""
    rng = np.random.default_rng(seed)
    rules = presolve(make_rules(rng), N, K)
    m = rules.n_groups
    if kind == TABLE:
        priced = table_model(rules).with_table(rng.random((m, K)))
    elif kind == MEDOIDS:
        priced = medoid_model(rules, rng.random((m, m)), np.arange(m))
    elif kind == DIVERSE:
        half = np.triu(rng.random((m, m)), 1)
        priced = diverse_model(rules, half + half.T)
    elif kind == MIXED:
        priced = mixed_model(rules, points_in(kind, stored, rng)(rules))
    else:
        priced = model_of(rules, points_in(kind, stored, rng)(rules))
    model = priced.at(1.0 / priced.scale)
    assert model.kind == kind
    assert (len(model.data) > 0) == (stored == "csr")
    return model, rng.integers(0, K, m), rng


def worth(model, labels):
    """Objective and prices of labels, counted anew."""
    return sum(appraise(model, state_of(model, labels)))


def check(model, labels, groups, to, rise):
    """The rise is that of labels with some groups elsewhere, counted anew and by the move."""
    after, state, scratch = labels.copy(), state_of(model, labels), Scratch.of(model)
    after[groups] = to
    expected = worth(model, after) - worth(model, labels)
    assert rise == pytest.approx(expected, rel=1e-9, abs=1e-9)
    written(scratch, groups, to)
    assert move_rise(model, state, scratch, len(groups)) == pytest.approx(expected, abs=1e-9)
    make(model, state, scratch, len(groups))
    np.testing.assert_array_equal(state.labels, after)
    assert sum(appraise(model, state)) == pytest.approx(worth(model, after), abs=1e-9)
    assert not scratch.step.any()


CASES = [
    (MEANS, "dense"),
    (MEANS, "csr"),
    (CHORDS, "dense"),
    (CHORDS, "csr"),
    (TABLE, "dense"),
    (MEDOIDS, "dense"),
    (MIXED, "dense"),
    (DIVERSE, "dense"),
]
RULES = ["none", "pairs", "sums", "pins", "linear", "all"]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("kind", "stored"), CASES)
def test_shifts(kind, stored, name):
    model, labels, rng = model_in(kind, stored, of_one_kind(name), 0)
    state, scratch = state_of(model, labels), Scratch.of(model)
    for i in range(len(labels)):
        b = (labels[i] + rng.integers(1, K)) % K
        check(model, labels, [i], [b], shift_rise(model, state, scratch, i, b))


@pytest.mark.parametrize("kind", [MEANS, CHORDS, TABLE, MEDOIDS, MIXED, DIVERSE])
def test_shifts_of_the_last_group_and_into_an_empty_cluster(kind):
    model, labels, _ = model_in(kind, "dense", of_one_kind("all"), 1)
    labels[labels == 3] = 0
    labels[7] = 2
    labels[(labels == 2) & (np.arange(len(labels)) != 7)] = 1
    state, scratch = state_of(model, labels), Scratch.of(model)
    for i, b in [(7, 0), (7, 3), (0, 3)]:
        check(model, labels, [i], [b], shift_rise(model, state, scratch, i, b))


@run
def exchange(rare, model, state, i, g, a, b, c, leave, best):
    return moves.exchange_rise(rare, model, state, i, g, a, b, c, leave, best)


@pytest.mark.parametrize("name", ["none", "sums"])
@pytest.mark.parametrize("kind", [MEANS, MIXED, DIVERSE])
def test_swaps_in_closed_form_rise_as_any_move(kind, name):
    model, labels, rng = model_in(kind, "dense", of_one_kind(name), 9)
    state, scratch = state_of(model, labels), Scratch.of(model)
    for i, g in rng.integers(0, len(labels), (40, 2)):
        a, b = labels[i], labels[g]
        if a != b:
            written(scratch, [i, g], [b, a])
            expected = move_rise(model, state, scratch, 2)
            # What cluster a pays for now is in what it feels when i leaves it.
            rise = exchange(model, state, i, g, a, b, a, 0.0, np.inf)
            assert rise == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["none", "pairs"])
def test_mixed_groups_cost_what_their_means_are_away_and_distances_are_gained(name):
    for kind in (MIXED, DIVERSE):
        model, labels, _ = model_in(kind, "dense", of_one_kind(name), 10)
        found = appraise(model, state_of(model, labels))[0]
        if kind == DIVERSE:
            same = labels[:, None] == labels
            assert found == pytest.approx(-0.5 * model.points[same].sum())
            continue
        weight = model.group[0]
        middle = np.average(model.points, axis=0, weights=weight)
        np.testing.assert_allclose(middle, 0.0, atol=1e-12)
        away = [
            weight[labels == j].sum()
            * (
                np.average(model.points[labels == j], axis=0, weights=weight[labels == j]) ** 2
            ).sum()
            for j in range(K)
        ]
        assert found == pytest.approx(sum(away))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("kind", "stored"), CASES)
def test_swaps_and_ejections(kind, stored, name):
    model, labels, rng = model_in(kind, stored, of_one_kind(name), 2)
    state, scratch, done = state_of(model, labels), Scratch.of(model), 0
    linked = [(i, model.other[z]) for i in range(len(labels)) for z in range(*model.ptr[i : i + 2])]
    for i, o in [*linked, *rng.integers(0, len(labels), (40, 2))]:
        a, b = labels[i], labels[o]
        if a == b:
            continue
        done += 1
        for c in {0, 1, 2, 3} - {b}:  # a swap, or an ejection chain
            written(scratch, [i, o], [b, c])
            check(model, labels, [i, o], [b, c], move_rise(model, state, scratch, 2))
    assert done > 10


@pytest.mark.parametrize("name", ["pairs", "all"])
@pytest.mark.parametrize(("kind", "stored"), CASES)
def test_chains(kind, stored, name):
    model, labels, _ = model_in(kind, stored, of_one_kind(name), 3)
    state, scratch, lengths = state_of(model, labels), Scratch.of(model), set()
    for i in range(len(labels)):
        for b in {0, 1, 2, 3} - {labels[i]}:
            a = labels[i]
            found = chain(model, state, scratch, i, b)
            if not found:
                continue
            members = scratch.move[0, :found].copy()
            there = np.where(labels[members] == a, b, a)
            np.testing.assert_array_equal(scratch.move[1, :found], there)
            assert set(labels[members]) <= {a, b}
            lengths.add(found)
            check(model, labels, members, there, move_rise(model, state, scratch, found))
    assert len(lengths) > 2


def test_a_chain_takes_all_that_its_links_force():
    links = [(0, 1), (1, 2), (2, 3), (4, 5)]
    model, _, _ = model_in(MEANS, "dense", lambda rng: [CannotLink(links)], 4)
    labels = np.full(N, 2)
    labels[:6] = [0, 1, 0, 1, 0, 1]
    scratch = Scratch.of(model)
    assert chain(model, state_of(model, labels), scratch, 0, 1) == 4
    assert set(scratch.move[0, :4]) == {0, 1, 2, 3}


def test_a_chain_with_a_pinned_group_is_none():
    rules = [CannotLink([(0, 1)]), Pin({1: 1})]
    model, _, _ = model_in(MEANS, "dense", lambda rng: rules, 5)
    labels = np.arange(N) % K
    assert chain(model, state_of(model, labels), Scratch.of(model), 0, 1) == 0


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("kind", "stored"), CASES)
def test_a_part_rises_as_the_whole(kind, stored, name):
    """Some clusters and their groups are a problem of their own, whatever the other groups do."""
    model, labels, rng = model_in(kind, stored, of_one_kind(name), 5)
    some = np.array([0, 2, 3])
    groups = np.flatnonzero(np.isin(labels, some))
    part = Priced(model, np.ones(0), np.ones(0), 1.0).part(groups, some, labels).model
    before = np.searchsorted(some, labels[groups])
    for _ in range(10):
        inside, whole = rng.integers(0, len(some), len(groups)), labels.copy()
        whole[groups] = some[inside]
        rise = worth(part, inside) - worth(part, before)
        assert rise == pytest.approx(worth(model, whole) - worth(model, labels), abs=1e-9)


@pytest.mark.parametrize("name", ["none", "sums"])
def test_kernels_without_what_is_rare_find_the_same(name):
    model, labels, _ = model_in(MEANS, "dense", of_one_kind(name), 6)
    assert not model.rare
    found = []
    for each in (model, model._replace(rare=True)):
        state, none = state_of(each, labels), np.zeros(model.bound.shape[1:])
        order, awake, gaps = np.arange(len(labels)), np.ones(K, bool), np.zeros(K)
        arguments = order, awake, none, gaps, 50, 1e-9, 1.0, True, np.inf, True
        moves.descend(each, state, Scratch.of(each), *arguments)
        found.append((state.labels, *appraise(each, state)))
    assert not np.array_equal(found[0][0], labels)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1:], found[1][1:], rtol=1e-12)


@pytest.mark.parametrize("rule", [*every_rule(np.random.default_rng(7)), Pin({3: 1})])
def test_the_kernels_made_ready_are_those_of_the_model(rule, monkeypatch):
    made = []
    monkeypatch.setattr(ready, "make_ready", lambda rare, sized: made.append(rare))
    for stored in ("dense", "csr"):
        for kind in (MEANS, CHORDS):
            model, _, _ = model_in(kind, stored, lambda rng: [rule], 8)
            points = sparse.csr_array(np.eye(N)) if stored == "csr" else np.eye(N)
            metric = METRICS["cosine" if kind == CHORDS else "euclidean"]
            ready.ready_for(MemoryTable(points, np.ones(N), metric=metric), ConstraintSet(rule), K)
            assert made.pop() == model.rare
