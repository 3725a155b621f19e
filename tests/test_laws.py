"""Laws of the default solver; broken rules are counted by plain loops."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    ConstraintSet,
    GroupShares,
    InfeasibleConstraintsError,
    LinearConstraint,
    MustLink,
    Pin,
)

# --- rules counted anew -----------------------------------------------------------------------


def broken_pairs(rule, labels):
    """Pairs of a must-link or cannot-link rule that labels break, as (pair, weight)."""
    together = isinstance(rule, MustLink)
    for (i, j), weight in zip(rule.pairs.tolist(), rule.weight.tolist(), strict=True):
        if (labels[i] == labels[j]) != together:
            yield (i, j), weight


def each(bound, k, nothing):
    """One bound a cluster, from one number or k of them or none."""
    if bound is None:
        return [nothing] * k
    return [float(bound)] * k if np.ndim(bound) == 0 else [float(b) for b in bound]


def sizes_fit(rule, labels, k):
    size = [sum(1 for label in labels if label == j) for j in range(k)]
    if rule.sizes is not None:
        low = high = [int(s) for s in rule.sizes]
    else:
        low, high = each(rule.minimum, k, 0), each(rule.maximum, k, np.inf)
    orders = [range(k)] if rule.ordered else permutations(range(k))
    return any(all(low[e] <= size[j] <= high[e] for j, e in enumerate(order)) for order in orders)


def totals_fit(rule, labels, k):
    low, high = each(rule.minimum, k, -np.inf), each(rule.maximum, k, np.inf)
    for j in range(k):
        total = sum(v for v, label in zip(rule.values, labels, strict=True) if label == j)
        if not low[j] - 1e-7 <= total <= high[j] + 1e-7:
            return False
    return True


def shares_fit(rule, labels, k):
    for j in range(k):
        inside = [g for g, label in zip(rule.groups, labels, strict=True) if label == j]
        for group, share in rule.minimum.items():
            if sum(g == group for g in inside) < share * len(inside) - 1e-7:
                return False
        for group, share in rule.maximum.items():
            if sum(g == group for g in inside) > share * len(inside) + 1e-7:
                return False
    return True


def rows_fit(rule, labels, k):
    A = rule.A.toarray()
    for row, low, high in zip(A, rule.lower, rule.upper, strict=True):
        value = sum(row[i * k + label] for i, label in enumerate(labels))
        if not low - 1e-7 <= value <= high + 1e-7:
            return False
    return True


def obeys(rule, labels, k):
    """Whether labels obey the hard part of a rule."""
    if isinstance(rule, (MustLink, CannotLink)):
        return all(np.isfinite(weight) for _, weight in broken_pairs(rule, labels))
    if isinstance(rule, Pin):
        return all(labels[i] == j for i, j in zip(rule.rows, rule.clusters, strict=True))
    check = {
        ClusterSizes: sizes_fit,
        ClusterTotals: totals_fit,
        GroupShares: shares_fit,
        LinearConstraint: rows_fit,
    }[type(rule)]
    return check(rule, labels, k)


def price_of(rules, labels):
    """Weights of the soft pairs that labels break."""
    links = [rule for rule in rules if isinstance(rule, (MustLink, CannotLink))]
    return sum(
        weight for rule in links for _, weight in broken_pairs(rule, labels) if np.isfinite(weight)
    )


def inertia_of(X, labels, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    total = 0.0
    for j in set(labels):
        rows = [i for i, label in enumerate(labels) if label == j]
        if weight[rows].sum() > 0:
            center = np.average(X[rows], axis=0, weights=weight[rows])
            total += sum(weight[i] * np.sum((X[i] - center) ** 2) for i in rows)
    return float(total)


def fitted(X, k, rules=None, weight=None, **parameters):
    """Fit, and check the answer against the loops above."""
    settings = {"n_init": 1, "random_state": 0, **parameters}
    model = ConstrainedKMeans(k, **settings).fit(X, constraints=rules, sample_weight=weight)
    labels = model.labels_.tolist()
    rules = ConstraintSet(rules)
    assert set(labels) <= set(range(k))
    assert all(obeys(rule, labels, k) for rule in rules)
    assert model.report_.feasible
    assert model.inertia_ == pytest.approx(inertia_of(X, labels, weight), rel=1e-9, abs=1e-12)
    assert model.report_.soft_cost == pytest.approx(price_of(rules, labels))
    assert model.report_.objective == model.inertia_ + model.report_.soft_cost
    return model


# --- data and rules that a hidden labelling obeys ---------------------------------------------


def blobs(rng, n=30, k=3, spread=0.6):
    """Clear clusters of about equal size, in mixed order, and their labels."""
    angle = 2 * np.pi * np.arange(k) / k
    hidden = rng.permutation(np.arange(n) % k)
    centers = np.column_stack([5 * np.cos(angle), 8 * np.sin(angle)])
    return centers[hidden] + spread * rng.normal(size=(n, 2)), hidden


def cloud(rng, n=24, k=3):
    """Points without clusters, and labels by place or by chance."""
    X = rng.uniform(-1, 1, size=(n, 2))
    centers = X[rng.choice(n, k, replace=False)]
    near = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return X, near if rng.random() < 0.7 else rng.permutation(np.arange(n) % k)


def some_pairs(rng, hidden, same, count):
    pairs = [
        (i, j) for i in range(len(hidden)) for j in range(i) if (hidden[i] == hidden[j]) == same
    ]
    chosen = rng.permutation(len(pairs))[:count]
    return [pairs[c] for c in chosen]


def make_rule(kind, rng, hidden, k):
    """A rule of a kind, which the hidden labels obey if it is hard."""
    n = len(hidden)
    size = np.bincount(hidden, minlength=k)
    if kind == "must":
        return MustLink(some_pairs(rng, hidden, True, n // 6 + 1))
    if kind == "cannot":
        return CannotLink(some_pairs(rng, hidden, False, n // 4 + 1))
    if kind == "soft":
        pairs = rng.choice(n, (4, 2), replace=False) if n >= 8 else [(0, 1), (2, 3)]
        return [
            MustLink(pairs[:2], weight=rng.uniform(0.1, 2.0, len(pairs[:2]))),
            CannotLink(pairs[-2:], weight=rng.uniform(0.1, 2.0, len(pairs[-2:]))),
        ]
    if kind == "exact":
        return ClusterSizes(rng.permutation(size))
    if kind == "ordered":
        return ClusterSizes(size, ordered=True)
    if kind == "interval":
        return ClusterSizes(minimum=np.maximum(size - 2, 0), maximum=size + 1)
    if kind == "bounds":
        return ClusterSizes(minimum=int(size.min()), maximum=int(size.max()))
    values = np.round(rng.uniform(1, 9, n), 1)
    load = np.bincount(hidden, values, k)
    if kind == "capacity":
        return ClusterTotals(values, maximum=float(load.max()) + 0.1)
    if kind == "minimum total":
        return ClusterTotals(values, minimum=load - 1.0, maximum=load + 3.0)
    if kind == "shares":
        groups = rng.integers(0, 2, n)
        share = [groups[hidden == j].mean() for j in range(k) if size[j]]
        low = {1: np.floor(100 * min(share)) / 100}
        return GroupShares(groups, minimum=low, maximum={1: np.ceil(100 * max(share)) / 100})
    if kind == "pins":
        rows = rng.choice(n, 3, replace=False)
        return Pin({int(i): int(hidden[i]) for i in rows})
    A = rng.integers(-2, 3, size=(2, n * k)) * (rng.random((2, n * k)) < 0.3)
    value = A @ np.eye(k)[hidden].ravel()
    if kind == "equality":
        A = (rng.random((1, n * k)) < 0.2).astype(float)
        value = A @ np.eye(k)[hidden].ravel()
        return LinearConstraint(A, value, value)
    assert kind == "inequality"
    return LinearConstraint(A, [value[0] - 1, -np.inf], [np.inf, value[1] + 1])


KINDS = [
    "must",
    "cannot",
    "soft",
    "exact",
    "ordered",
    "interval",
    "bounds",
    "capacity",
    "minimum total",
    "shares",
    "pins",
    "equality",
    "inequality",
]
MIXTURES = [
    *((kind,) for kind in KINDS),
    ("must", "cannot", "exact"),
    ("must", "cannot", "soft", "bounds"),
    ("cannot", "capacity", "pins"),
    ("must", "shares", "interval"),
    ("ordered", "minimum total", "pins"),
    ("cannot", "equality", "soft"),
    ("must", "inequality", "bounds", "pins"),
]


@pytest.mark.parametrize("kinds", MIXTURES, ids=" + ".join)
def test_no_hard_rule_is_ever_broken(kinds):
    make = blobs if len(kinds[0]) % 2 else cloud
    rng = np.random.default_rng([len(kinds), *map(ord, "".join(kinds)[:9])])
    X, hidden = make(rng, n=16)
    fitted(X, 3, [make_rule(kind, rng, hidden, 3) for kind in kinds])


def test_the_counting_finds_what_is_broken():
    """The loops above must be able to say no."""
    rng = np.random.default_rng(0)
    for kind in KINDS:
        hidden = cloud(rng, n=20)[1]
        rules = ConstraintSet(make_rule(kind, rng, hidden, 3))
        assert all(obeys(rule, hidden.tolist(), 3) for rule in rules)
        wrong = [rng.integers(0, 3, 20).tolist() for _ in range(60)]
        assert kind == "soft" or any(not obeys(rule, w, 3) for rule in rules for w in wrong)


# --- names of clusters and rows ---------------------------------------------------------------


@pytest.mark.parametrize("kinds", [(), ("must", "cannot"), ("bounds", "cannot"), ("soft",)])
def test_relabelling_the_start_changes_nothing_but_the_names(kinds):
    rng = np.random.default_rng(3)
    X, hidden = blobs(rng)
    rules = [make_rule(kind, rng, hidden, 3) for kind in kinds]
    other = np.array([1, 2, 0])
    start = rng.integers(0, 3, len(X))
    one = fitted(X, 3, rules, init=start)
    two = fitted(X, 3, rules, init=other[start])
    # The solver forgets the start, and with it the names; the parts are the same.
    np.testing.assert_array_equal(parts(one.labels_), parts(two.labels_))
    assert one.report_.objective == pytest.approx(two.report_.objective, rel=1e-9)


def parts(labels):
    """Which rows are together, whatever their cluster is called."""
    return labels[:, None] == labels[None, :]


def renamed(rule, other):
    """The same rule where cluster j is called ``other[j]``."""
    back = np.argsort(other)
    if isinstance(rule, Pin):
        return Pin(dict(zip(rule.rows.tolist(), other[rule.clusters].tolist(), strict=True)))
    if isinstance(rule, ClusterSizes):
        return ClusterSizes(rule.sizes[back], ordered=True)
    if isinstance(rule, ClusterTotals):
        return ClusterTotals(rule.values, minimum=rule.minimum[back], maximum=rule.maximum[back])
    k = len(other)
    columns = rule.A.toarray().reshape(-1, k)[:, back].reshape(rule.A.shape)
    return LinearConstraint(columns, rule.lower, rule.upper)


@pytest.mark.parametrize("kind", ["ordered", "minimum total", "pins", "equality", "inequality"])
def test_renaming_the_clusters_of_the_rules_renames_the_answer(kind):
    rng = np.random.default_rng(5)
    X, hidden = blobs(rng, n=18)
    rule = make_rule(kind, rng, hidden, 3)
    other = np.array([2, 0, 1])
    centers = np.array([X[hidden == j].mean(axis=0) for j in range(3)])
    one = fitted(X, 3, rule, init=centers)
    two = fitted(X, 3, renamed(rule, other), init=centers[np.argsort(other)])
    assert one.inertia_ == pytest.approx(two.inertia_, rel=1e-9)
    np.testing.assert_array_equal(other[one.labels_], two.labels_)


@pytest.mark.parametrize("kinds", [(), ("must", "cannot"), ("exact",), ("capacity", "pins")])
def test_permuting_the_rows_permutes_the_labels(kinds):
    """Kicks draw rows at random, so only an answer that is best from everywhere must agree."""
    rng = np.random.default_rng(7)
    X, hidden = blobs(rng)
    rules = ConstraintSet([make_rule(kind, rng, hidden, 3) for kind in kinds])
    order = rng.permutation(len(X))
    one = fitted(X, 3, rules)
    moved = ConstraintSet([permuted(rule, order) for rule in rules])
    two = fitted(X[order], 3, moved)
    assert one.report_.objective == pytest.approx(two.report_.objective, rel=1e-9)
    np.testing.assert_array_equal(one.labels_[order], two.labels_)


def permuted(rule, order):
    """The rule for the rows in another order, written out without the package's own subset."""
    new = np.argsort(order)
    if isinstance(rule, (MustLink, CannotLink)):
        return type(rule)(new[rule.pairs], rule.weight)
    if isinstance(rule, Pin):
        return Pin(dict(zip(new[rule.rows].tolist(), rule.clusters.tolist(), strict=True)))
    if isinstance(rule, ClusterTotals):
        return ClusterTotals(rule.values[order], minimum=rule.minimum, maximum=rule.maximum)
    return rule


# --- scale, shift and weight ------------------------------------------------------------------


def scaled(rule, factor):
    """Prices are in the units of the objective, which are squared lengths."""
    if isinstance(rule, (MustLink, CannotLink)):
        return type(rule)(rule.pairs, rule.weight * factor**2)
    return rule


@pytest.mark.parametrize("make", [blobs, cloud])
@pytest.mark.parametrize(
    "kinds", [(), ("must", "cannot"), ("exact",), ("soft",), ("capacity",), ("inequality",)]
)
def test_scale_and_shift_change_no_label(make, kinds):
    rng = np.random.default_rng(11)
    X, hidden = make(rng, n=24)
    rules = ConstraintSet([make_rule(kind, rng, hidden, 3) for kind in kinds])
    plain = fitted(X, 3, rules).labels_
    for factor in (1e-6, 1e6):
        same = [scaled(rule, factor) for rule in rules]
        np.testing.assert_array_equal(fitted(X * factor, 3, same).labels_, plain)
    labels = ConstrainedKMeans(3, n_init=1, random_state=0).fit(X + 1e4, constraints=rules).labels_
    np.testing.assert_array_equal(labels, plain)


def test_whole_weights_are_repeated_rows():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, _ = blobs(rng, n=14, spread=1.5)
        weight = rng.integers(1, 4, 14)
        rows = np.repeat(np.arange(14), weight)
        one = fitted(X, 3, weight=weight.astype(float), n_init=3)
        two = fitted(X[rows], 3, n_init=3)
        assert one.inertia_ == pytest.approx(two.inertia_, rel=1e-9)
        np.testing.assert_array_equal(one.labels_[rows], two.labels_)


def test_whole_weights_are_repeated_rows_that_stay_together():
    rng = np.random.default_rng(2)
    X, hidden = cloud(rng, n=12)
    weight = rng.integers(1, 4, 12)
    rows = np.repeat(np.arange(12), weight)
    first = np.r_[0, np.cumsum(weight)[:-1]]
    cannot = np.array(some_pairs(rng, hidden, False, 4))
    values = rng.uniform(1, 2, 12)
    room = np.bincount(hidden, values, 3).max() + 0.1
    heavy = [CannotLink(cannot), ClusterTotals(values, maximum=room)]
    chain = [(i, i + 1) for i in range(len(rows) - 1) if rows[i] == rows[i + 1]]
    repeated = [
        MustLink(chain),
        CannotLink(first[cannot]),
        ClusterTotals((values / weight)[rows], maximum=room),
    ]
    one = fitted(X, 3, heavy, weight=weight.astype(float), n_init=3)
    two = fitted(X[rows], 3, repeated, n_init=3)
    assert one.inertia_ == pytest.approx(two.inertia_, rel=1e-9)


def test_rows_without_weight_do_not_move_the_centres():
    rng = np.random.default_rng(1)
    X, _ = blobs(rng, n=24)
    weight = np.ones(24)
    weight[:6] = 0.0
    model = fitted(X, 3, ClusterSizes([8, 8, 8]), weight=weight)
    assert model.report_.sizes == (8, 8, 8)
    for j in range(3):
        rows = (model.labels_ == j) & (weight > 0)
        np.testing.assert_allclose(model.cluster_centers_[j], X[rows].mean(axis=0), atol=1e-9)


# --- more rules, other rules ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "soft"])
def test_a_rule_that_the_answer_obeys_already_keeps_it_feasible(kind):
    rng = np.random.default_rng(13)
    X, hidden = cloud(rng, n=15)
    base = [make_rule("cannot", rng, hidden, 3)]
    answer = fitted(X, 3, base)
    added = make_rule(kind, rng, answer.labels_.astype(int), 3)
    again = fitted(X, 3, [*base, added], init=answer.labels_)
    # Started from an answer that obeys everything, it does not end up worse.
    assert again.inertia_ <= answer.inertia_ * (1 + 1e-9)


DROPPED = [
    *((kind,) for kind in KINDS),
    ("must", "cannot", "exact"),
    ("cannot", "capacity", "pins"),
    ("must", "shares", "interval"),
    ("cannot", "minimum total"),
]


@pytest.mark.parametrize("kinds", DROPPED, ids=" + ".join)
def test_dropping_a_rule_never_costs_more_than_one_per_cent(kinds):
    """Whatever obeys all rules obeys those that are left."""
    rng = np.random.default_rng([3, *map(ord, "".join(kinds)[:9])])
    X, hidden = cloud(rng, n=30, k=4)
    rules = [make_rule(kind, rng, hidden, 4) for kind in kinds]
    all_of_them = fitted(X, 4, rules, n_init="auto").report_.objective
    for left_out in range(len(rules)):
        fewer = rules[:left_out] + rules[left_out + 1 :]
        assert fitted(X, 4, fewer, n_init="auto").report_.objective <= 1.01 * all_of_them


@pytest.mark.parametrize("seed", range(3))
def test_must_links_move_as_one(seed):
    rng = np.random.default_rng(seed)
    X, hidden = cloud(rng, n=24)
    rule = MustLink(some_pairs(rng, hidden, True, 12))
    model = fitted(X, 3, rule)
    assert all(model.labels_[i] == model.labels_[j] for i, j in rule.pairs)
    # The same answer, from the groups written out as weighted points.
    group = np.arange(24)
    for _ in range(24):
        for i, j in rule.pairs:
            group[[i, j]] = group[[i, j]].min()
    kept, member = np.unique(group, return_inverse=True)
    points = np.array([X[member == g].mean(axis=0) for g in range(len(kept))])
    weight = np.bincount(member).astype(float)
    contracted = fitted(points, 3, weight=weight)
    scatter = sum(inertia_of(X[member == g], [0] * int(weight[g])) for g in range(len(kept)))
    assert model.inertia_ == pytest.approx(contracted.inertia_ + scatter, rel=1e-9)
    np.testing.assert_array_equal(model.labels_, contracted.labels_[member])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [MustLink, CannotLink])
def test_a_price_near_nothing_is_no_rule_and_a_huge_one_a_hard_rule(kind, seed):
    rng = np.random.default_rng(seed)
    X, hidden = blobs(rng, n=18, spread=1.0)
    pairs = some_pairs(rng, hidden, kind is CannotLink, 3)  # what the blobs would break
    free = fitted(X, 3)
    np.testing.assert_array_equal(fitted(X, 3, kind(pairs, weight=1e-12)).labels_, free.labels_)
    hard = fitted(X, 3, kind(pairs), n_init=4)
    dear = fitted(X, 3, kind(pairs, weight=1e7), n_init=4)
    assert dear.report_.soft_cost == 0.0
    assert dear.inertia_ == pytest.approx(hard.inertia_, rel=1e-9)


def test_the_price_decides_whether_a_pair_is_kept():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    rule = [(0, 1)]
    # Apart, the best is {0}, {1, 10, 11}: 60.67 in place of 1.
    extra = inertia_of(X, [0, 1, 1, 1]) - inertia_of(X, [0, 0, 1, 1])
    cheap = fitted(X, 2, CannotLink(rule, weight=extra - 0.1))
    dear = fitted(X, 2, CannotLink(rule, weight=extra + 0.1))
    assert cheap.report_.soft_cost == pytest.approx(extra - 0.1)
    assert dear.report_.soft_cost == 0.0
    assert dear.labels_[0] != dear.labels_[1]


@pytest.mark.parametrize("maximum", [20, 21, 10**6, 10**30, [30, 20, 10**9]])
def test_a_maximum_above_all_rows_is_none(maximum):
    X, _ = cloud(np.random.default_rng(4), n=20)
    model = fitted(X, 3, ClusterSizes(maximum=maximum))
    np.testing.assert_array_equal(model.labels_, fitted(X, 3).labels_)


def test_interval_sizes_are_used_to_their_ends():
    """Twelve points here and three there: six to nine a cluster leaves 9 and 6."""
    X = np.r_[np.linspace(0, 1, 12), np.linspace(9, 10, 3)][:, None]
    model = fitted(X, 2, ClusterSizes(minimum=6, maximum=9))
    assert sorted(model.report_.sizes) == [6, 9]
    with_order = fitted(X, 2, ClusterSizes(minimum=[6, 0], maximum=[6, 15], ordered=True))
    assert with_order.report_.sizes == (6, 9)


def test_more_clusters_never_cost_more_and_rules_never_cost_less():
    X, _ = cloud(np.random.default_rng(6), n=20)
    values = [fitted(X, k, n_init=3).inertia_ for k in (1, 2, 3, 4)]
    assert values == sorted(values, reverse=True)
    assert fitted(X, 3, ClusterSizes([7, 7, 6]), n_init=3).inertia_ >= values[2] * (1 - 1e-9)


def test_as_many_clusters_as_points_cost_nothing():
    X, _ = cloud(np.random.default_rng(8), n=6)
    model = fitted(X, 6)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-15)
    assert model.report_.sizes == (1,) * 6


# --- against all labellings -------------------------------------------------------------------


def all_labellings(n, k):
    return np.array(list(product(range(k), repeat=n)))


def best_by_enumeration(X, k, rules, weight):
    """Least objective over all labellings that obey; infinite if none does."""
    labellings = all_labellings(len(X), k)
    member = labellings[:, :, None] == np.arange(k)
    mass = np.einsum("lik,i->lk", member, weight)
    sums = np.einsum("lik,i,id->lkd", member, weight, X)
    saved = (sums**2).sum(axis=2) / np.where(mass > 0, mass, 1.0)
    inertia = float(weight @ (X**2).sum(axis=1)) - saved.sum(axis=1)
    # The cheapest first: the first that obeys is the best but for the prices.
    best = np.inf
    for number in np.argsort(inertia):
        if inertia[number] >= best:
            return best
        labels = labellings[number].tolist()
        if all(obeys(rule, labels, k) for rule in rules):
            best = min(best, inertia[number] + price_of(rules, labels))
    return best


def test_never_below_the_enumerated_optimum_and_mostly_at_it():
    equal, instances = 0, 20
    for seed in range(instances):
        rng = np.random.default_rng([41, seed])
        k = int(rng.integers(2, 4))
        n = 9 if k == 2 else 7
        X, hidden = cloud(rng, n=n, k=k)
        kinds = rng.choice(KINDS, int(rng.integers(1, 3)), replace=False)
        rules = ConstraintSet([make_rule(kind, rng, hidden, k) for kind in kinds])
        weight = rng.uniform(0.5, 2.0, n)
        found = fitted(X, k, rules, weight=weight, n_init=2).report_.objective
        best = best_by_enumeration(X, k, rules, weight)
        assert found >= best * (1 - 1e-9) - 1e-12
        equal += found <= best * (1 + 1e-9) + 1e-12
    assert equal >= 0.9 * instances


def cheapest_assignment(costs, rules):
    """Least cost of a labelling that obeys, over all of them; None if there is none."""
    n, k = costs.shape
    labellings = all_labellings(n, k)
    cost = costs[np.arange(n), labellings].sum(axis=1)
    best = None
    for number in np.argsort(cost):
        if best is not None and cost[number] >= best:
            break
        labels = labellings[number].tolist()
        if all(obeys(rule, labels, k) for rule in rules):
            total = cost[number] + price_of(rules, labels)
            best = total if best is None else min(best, total)
    return best


@pytest.mark.parametrize("kinds", MIXTURES, ids=" + ".join)
def test_assign_is_the_cheapest_of_all_assignments(kinds):
    rng = np.random.default_rng([23, *map(ord, "".join(kinds)[:9])])
    X, _ = cloud(rng, n=20)
    model = fitted(X, 3)
    for _ in range(3):
        new, hidden = cloud(rng, n=7)
        weight = rng.uniform(0.5, 2.0, 7)
        rules = ConstraintSet([make_rule(kind, rng, hidden, 3) for kind in kinds])
        centers = model.cluster_centers_
        costs = weight[:, None] * ((new[:, None] - centers) ** 2).sum(axis=2)
        labels = model.assign(new, constraints=rules, sample_weight=weight)
        found = costs[np.arange(7), labels].sum() + price_of(rules, labels)
        assert all(obeys(rule, labels.tolist(), 3) for rule in rules)
        assert found == pytest.approx(cheapest_assignment(costs, rules), rel=1e-9, abs=1e-12)


def test_assign_raises_exactly_when_no_assignment_obeys():
    rng = np.random.default_rng(31)
    X, _ = cloud(rng, n=20)
    model = fitted(X, 2)
    seen = set()
    for _ in range(25):
        new, hidden = cloud(rng, n=6, k=2)
        rules = ConstraintSet(
            [
                make_rule("exact", rng, rng.integers(0, 2, 6), 2),
                CannotLink(some_pairs(rng, hidden, False, 2) or [(0, 1)]),
                MustLink([(0, 5), (1, 4)]),
            ]
        )
        possible = any(
            all(obeys(rule, labels, 2) for rule in rules) for labels in product(range(2), repeat=6)
        )
        seen.add(possible)
        if possible:
            labels = model.assign(new, constraints=rules).tolist()
            assert all(obeys(rule, labels, 2) for rule in rules)
        else:
            with pytest.raises(InfeasibleConstraintsError):
                model.assign(new, constraints=rules)
    assert seen == {True, False}
