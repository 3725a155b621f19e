from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import rand_score

from corral import CannotLink, ClusterSizes, MustLink, Pin
from corral.metrics import hubert_index, mirkin_index, violations


def disagreement(a, b):
    """Share of all pairs that one clustering joins and the other parts."""
    pairs = list(combinations(range(len(a)), 2))
    return np.mean([(a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs])


@pytest.fixture(params=range(8))
def clusterings(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(rng.integers(1, 6), size=25), rng.integers(rng.integers(1, 6), size=25)


def test_indices_count_pairs(clusterings):
    expected = disagreement(*clusterings)
    assert mirkin_index(*clusterings) == pytest.approx(expected, abs=1e-15)
    assert hubert_index(*clusterings) == pytest.approx((1 - expected) - expected, abs=1e-15)


def test_mirkin_is_what_the_rand_index_leaves(clusterings):
    assert mirkin_index(*clusterings) == pytest.approx(1 - rand_score(*clusterings), abs=1e-15)


def test_indices_are_symmetric_and_blind_to_names(clusterings):
    a, b = clusterings
    renamed = np.array([30, 10, 50, 20, 40])[a]
    assert mirkin_index(a, b) == mirkin_index(b, a) == mirkin_index(renamed, b)


def test_extremes():
    alone, together = np.arange(9), np.zeros(9, int)
    assert mirkin_index(alone, together) == 1.0
    assert hubert_index(alone, together) == -1.0
    assert mirkin_index(alone, alone) == 0.0
    assert hubert_index(together, together) == 1.0
    assert mirkin_index([0], [3]) == 0.0


# (MI, HI in per cent) from tables 2, 3 and 6 of the paper.
@pytest.mark.parametrize(
    ("mirkin", "hubert"),
    [(0.068, 86.423), (0.122, 75.590), (0.338, 32.378), (0.3082, 38.35), (0.125, 75.03)],
)
def test_the_paper_prints_one_minus_two_mirkin(mirkin, hubert):
    """The definitions here rest on this relation between the two columns it prints."""
    assert 1 - 2 * mirkin == pytest.approx(hubert / 100, abs=2e-3)


def test_large_counts_do_not_overflow():
    a, b = np.zeros(200_000, int), np.repeat([0, 1], 100_000)
    assert mirkin_index(a, b) == pytest.approx(100_000**2 / (200_000 * 199_999 / 2))


def test_violations_are_counted_by_kind():
    rules = [
        MustLink([(0, 1), (1, 2)]),
        MustLink([(0, 4)], weight=2.5),
        CannotLink([(2, 3), (0, 1)]),
        ClusterSizes([3, 2, 0], ordered=True),
        Pin({0: 1}),
    ]
    assert violations([0, 0, 1, 1, 1], rules, n_clusters=3) == {
        "MustLink": 2,
        "CannotLink": 2,
        "ClusterSizes": 2,
        "Pin": 1,
    }
    assert violations([0, 1], None) == {}
    assert violations([0, 1], MustLink([(0, 1)])) == {"MustLink": 1}
