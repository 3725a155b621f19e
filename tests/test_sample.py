"""A sample for the relaxed solver: rules in proportion, and answers as good as from all points."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem_of
from sklearn.datasets import make_blobs

import corral.search.makers
from corral import CannotLink, ClusterSizes, ClusterTotals, ConstrainedKMeans, MustLink, Pin
from corral.numbers import ADMM_EACH, ADMM_ENTRIES
from corral.rows import MemoryRows
from corral.search.makers import relax
from corral.search.starts import Start, draw

N, K = 5000, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
PAIRS = RNG.permutation(N)[:2000].reshape(-1, 2)


def problem(*rules, weight=None, **params):
    return problem_of(X, rules, K, weight, **params)


def test_sizes_add_up_to_the_sample():
    sizes = np.array([100, 900, 1500, 2500])
    whole = problem(ClusterSizes(sizes))
    part = whole.part(draw(whole.rules, 777, np.random.RandomState(0))).rules
    np.testing.assert_array_equal(part.sizes.lower, part.sizes.upper)
    assert part.sizes.lower.sum() == 777
    np.testing.assert_allclose(part.sizes.lower, sizes * 777 / N, atol=1.0)


def test_intervals_leave_room():
    whole = problem(ClusterSizes(minimum=1000, maximum=1400))
    part = whole.part(draw(whole.rules, 600, np.random.RandomState(1))).rules
    assert part.sizes.lower.sum() <= 600 <= part.sizes.upper.sum()
    np.testing.assert_allclose(part.sizes.lower, 120, atol=1)
    np.testing.assert_allclose(part.sizes.upper, 168, atol=2)


def test_pairs_pins_and_totals_of_the_groups_that_are_there():
    value = RNG.uniform(1, 2, N)
    rules = [
        MustLink(PAIRS[:500]),
        CannotLink(PAIRS[500:]),
        Pin({int(row): 1 for row in PAIRS[500:600, 0]}),
        ClusterTotals(value, maximum=3000.0),
    ]
    problems = problem(*rules)
    groups = draw(problems.rules, 1500, np.random.RandomState(0))
    smaller = problems.part(groups)
    np.testing.assert_array_equal(smaller.rows.points, problems.rows.points[groups])
    whole, part = problems.rules, smaller.rules
    assert part.n_groups == 1500
    np.testing.assert_array_equal(part.count, whole.count[groups])
    there = np.isin(whole.apart, groups).all(axis=1)
    np.testing.assert_array_equal(groups[part.apart], whole.apart[there])
    pinned = np.isin(whole.pins[:, 0], groups)
    np.testing.assert_array_equal(groups[part.pins[:, 0]], whole.pins[pinned, 0])
    share = part.n_groups / whole.n_groups
    # All values are moved alike, so that their mean is that of all groups.
    shift = part.totals[0].values - whole.totals[0].values[groups]
    np.testing.assert_allclose(shift, shift[0])
    assert part.totals[0].values.mean() == pytest.approx(whole.totals[0].values.mean())
    np.testing.assert_allclose(part.totals[0].upper, 3000.0 * share)


def test_a_draw_is_in_order_without_repeats_and_reproducible():
    whole = problem().rules
    one, two = (draw(whole, 100, np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.all(np.diff(one) > 0)


def test_pinned_groups_are_among_those_drawn():
    pinned = [7, 4000, 4999]
    whole = problem(Pin({row: row % K for row in pinned})).rules
    for seed in range(5):
        drawn = draw(whole, 100, np.random.RandomState(seed))
        assert len(np.unique(drawn)) == 100
        assert np.isin(pinned, drawn).all()


def test_many_pins_come_as_often_as_others():
    whole = problem(Pin({row: row % K for row in range(0, N, 2)})).rules
    drawn = draw(whole, 1000, np.random.RandomState(0))
    assert 400 < np.sum(drawn % 2 == 0) < 600


@pytest.mark.parametrize(
    ("rules", "wanted", "size"),
    [
        ([], "auto", min(N, ADMM_ENTRIES // K)),
        ([ClusterSizes([N // K] * K)], "auto", min(N, ADMM_ENTRIES // K)),
        ([], None, N),
        ([], 1000, 1000),
        ([], 2, K),
        ([], 10 * N, N),
    ],
)
def test_how_many_are_enough(rules, wanted, size):
    assert problem(*rules, max_samples=wanted).sample == size


def test_admm_is_left_out_where_its_sample_would_not_show_the_clusters():
    few = int(np.sqrt(ADMM_ENTRIES / ADMM_EACH))
    points = np.random.default_rng(0).random((20 * few, 2))
    assert problem_of(points, [], few).sample == ADMM_ENTRIES // few
    assert problem_of(points, [], 2 * few).sample == 0
    assert problem_of(points, [], 2 * few, max_samples=None).sample == len(points)


@pytest.mark.parametrize("parameters", [{"record_x": (1,)}, {"max_samples": None}])
def test_admm_sees_all_groups_where_it_is_to(parameters):
    n, k = 9_000, 3
    X = np.random.default_rng(0).normal(size=(n, 2))
    parameters = {"record_x": (1,), "max_iter": 2} | parameters
    model = ConstrainedKMeans(k, random_state=0, **parameters).fit(X)
    assert model.history_.x[1].shape == (n, k)


def test_x_is_hardened_where_it_is_wanted():
    points, _ = make_blobs(3000, 3, centers=4, cluster_std=3.0, random_state=0)
    start = Start(np.arange(3000) % 4, points[:4])
    some, wanted = (
        relax(problem_of(points, [], 4, repair=repair), start).history for repair in (True, False)
    )
    assert some.residuals["sphere"][-1] > wanted.residuals["sphere"][-1]
    assert wanted.residuals["sphere"][-1] <= 0.01
    assert len(some) < len(wanted)


@pytest.mark.parametrize("sizes", [None, [3000, 3000, 6000, 9000, 9000]])
def test_answers_are_as_good_as_from_all_points(sizes):
    points, _ = make_blobs(30_000, 4, centers=5, cluster_std=4.0, random_state=0)
    rules = None if sizes is None else ClusterSizes(sizes)
    # Orders of the sizes differ by less than what samples tell: the better of two seeds counts.
    seeds = (0,) if sizes is None else (0, 1)
    sampled, whole = (
        min(
            (
                ConstrainedKMeans(5, random_state=seed, max_samples=seen).fit(
                    points, constraints=rules
                )
                for seed in seeds
            ),
            key=lambda model: model.inertia_,
        )
        for seen in ("auto", None)
    )
    assert sampled.inertia_ <= whole.inertia_ * (1 + 2e-4)
    assert sampled.report_.feasible


# --- single precision ---------------------------------------------------------------------------


def relaxed_in(points, *, repair=True, single=True, k=K):
    """Precisions that the relaxed solver worked in, one after another, and its answer."""
    rules = [ClusterSizes(minimum=len(points) // k - 1)]
    problem = problem_of(points, rules, k, repair=repair, max_samples=None)
    labels = np.arange(len(points)) % k
    start = Start(labels, problem.rows.means(labels, k))
    with pytest.MonkeyPatch.context() as patch:
        used = watched(patch)
        if not single:
            patch.setattr(MemoryRows, "single", lambda rows: rows)
        return used, relax(problem, start)


def watched(patch):
    """The precisions of all relaxations from here on."""
    used, real = [], corral.search.makers.solve_projected

    def spy(rules, rows, *arguments):
        used.append(rows.points.dtype.name)
        return real(rules, rows, *arguments)

    patch.setattr(corral.search.makers, "solve_projected", spy)
    return used


BLOBS, _ = make_blobs(2500, 3, centers=K, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_points_are_relaxed_in_single_precision(shift):
    used, relaxed = relaxed_in(BLOBS + shift)
    assert used == ["float32"]
    used, double = relaxed_in(BLOBS + shift, single=False)
    assert used == ["float64"]
    np.testing.assert_allclose(relaxed.history.objective, double.history.objective, rtol=1e-3)
    assert np.mean(relaxed.labels == double.labels) > 0.999


@pytest.mark.parametrize(
    ("points", "repair"),
    [
        (BLOBS, False),
        (np.concatenate([BLOBS, np.full((1, BLOBS.shape[1]), 1e16)]), True),
        (np.zeros((2500, 3)), True),
    ],
    ids=["x is wanted", "one far away", "all the same"],
)
def test_otherwise_in_double(points, repair):
    assert relaxed_in(points, repair=repair)[0] == ["float64"]


@pytest.mark.parametrize("far", [1e20, 1e50])
def test_a_weightless_row_far_away_does_no_harm(far):
    points, weight = BLOBS.copy(), np.ones(len(BLOBS))
    points[7], weight[7] = far, 0.0
    model = ConstrainedKMeans(K, n_init=1, random_state=0)
    model.fit(points, sample_weight=weight, constraints=ClusterSizes([625] * K))
    assert model.report_.feasible
    assert np.isfinite(model.inertia_)


@pytest.mark.parametrize("unit", [1e-25, 1.0, 1e21])
def test_totals_of_any_magnitude(unit):
    value = unit * np.random.default_rng(0).uniform(1, 2, len(BLOBS))
    rules = ClusterTotals(value, maximum=1.1 * value.sum() / K)
    model = ConstrainedKMeans(K, n_init=1, random_state=0).fit(BLOBS, constraints=rules)
    assert model.report_.feasible


def test_points_that_users_see_relaxed_keep_their_precision(monkeypatch):
    seen = watched(monkeypatch)
    for options in ({}, {"repair": False}, {"record_x": [1]}, {"max_samples": None}):
        before = len(seen)
        ConstrainedKMeans(K, n_init=1, random_state=0, max_iter=300, **options).fit(
            BLOBS, constraints=ClusterSizes([625] * K)
        )
        expected = "float64" if "repair" in options or "record_x" in options else "float32"
        assert set(seen[before:]) <= {expected}
        assert len(seen) > before or "repair" not in options
