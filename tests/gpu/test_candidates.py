"""Many clusters on a device: candidates, sums over clusters and whole fits."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from local_shards import fit_shards  # noqa: E402

from corral import CannotLink, ClusterSizes, MustLink, Pin, audit  # noqa: E402
from corral.assign.many import AmongCandidates  # noqa: E402
from corral.backends.gpu.device import DeviceShards  # noqa: E402
from corral.deadline import NEVER  # noqa: E402
from corral.plan import thresholds  # noqa: E402
from corral.presolve import presolve  # noqa: E402
from corral.rows import MemoryRows, contracted_shards  # noqa: E402
from corral.rows.algebra import sums_by_cluster  # noqa: E402
from corral.rows.candidates import least_there  # noqa: E402

N, D, K = 2_000, 4, 40
X = make_blobs(N, D, centers=8, cluster_std=2.0, random_state=0)[0]
EQUAL = ClusterSizes([N // K] * K)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def pairs(number, seed=0):
    return np.random.default_rng(seed).permutation(N)[: 2 * number].reshape(-1, 2)


RULES = {
    "equal": [EQUAL],
    "interval": [ClusterSizes(minimum=30, maximum=80)],
    "unequal": [ClusterSizes([30] * (K // 2) + [70] * (K // 2))],
    "pins": [EQUAL, Pin({i: i % K for i in range(40)})],
    "links": [EQUAL, MustLink(pairs(40)), CannotLink(pairs(60, seed=1))],
    "soft": [EQUAL, CannotLink(pairs(60), weight=2.0)],
    "groups of two": [EQUAL, MustLink(np.arange(N).reshape(-1, 2))],
}


@pytest.fixture
def soon_many():
    """Problems of some thousand entries count as those with many clusters, and stay there."""
    small = {"FAR_CLUSTERS": 8, "MANY_ENTRIES": 1000, "CANDIDATES": 6, "LARGE": 1000}
    with patch.multiple(thresholds, **small, SAMPLE_SUMMED=400, SEEDS_EACH=10):
        yield


@pytest.mark.parametrize(("k", "t"), [(7, 7), (30, 5), (97, 3), (400, 6), (1024, 16)])
def test_least_entries_are_those_of_a_sort(k, t):
    block = np.random.default_rng(k).normal(size=(50, k)).astype(np.float32)
    order, least, beyond = (a.cpu().numpy() for a in least_there(torch.as_tensor(block), t))
    ranked = np.sort(block, axis=1)
    np.testing.assert_array_equal(np.sort(least, axis=1), ranked[:, :t])
    np.testing.assert_array_equal(np.take_along_axis(block, order, axis=1), least)
    np.testing.assert_array_equal(beyond, ranked[:, t] if t < k else np.full(50, np.inf))


@pytest.mark.parametrize("k", [3, 1500])
def test_sums_over_clusters_are_those_of_a_loop(k):
    rng = np.random.default_rng(0)
    points, share = rng.normal(size=(3_000, 5)), rng.random((3_000, 2))
    cluster = rng.integers(0, k, (3_000, 2)).astype(np.int32)
    sums, mass = np.zeros((k, 5)), np.zeros(k)
    for j in range(2):
        np.add.at(sums, cluster[:, j], points * share[:, [j]])
        np.add.at(mass, cluster[:, j], share[:, j])
    there = (torch.as_tensor(a).to(DEVICE) for a in (points, cluster, share))
    for found in (sums_by_cluster(points, cluster, share, k), sums_by_cluster(*there, k)):
        np.testing.assert_allclose(found[0], sums, atol=1e-9)
        np.testing.assert_allclose(found[1], mass, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["equal", "interval", "links", "groups of two"])
def test_assignments_cost_what_they_do_in_memory(kind, dtype):
    points, weight = X.astype(dtype), np.random.default_rng(0).uniform(0.5, 2.0, N)
    rules = presolve(RULES[kind], N, K)
    there = DeviceShards(torch.as_tensor(points).to(DEVICE))
    far = contracted_shards(there, weight, rules.group)
    near = far.home()
    assert isinstance(near, MemoryRows)
    centers = X[:K] - near.middle
    how = {"incumbent": None, "warm": None, "deadline": NEVER, "patience": 3.0}
    cost = near.costs(centers).dense()
    first, second = (
        rows.labels(AmongCandidates(rules, rows, 6)(centers, **how).labels) for rows in (near, far)
    )
    a, b = (cost[np.arange(len(cost)), labels].sum() for labels in (first, second))
    assert b == pytest.approx(a, rel=1e-9 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("kind", RULES)
def test_fits_obey_the_rules_and_end_as_low_as_in_memory(soon_many, kind):
    points = X.astype(np.float32)
    shards = DeviceShards(torch.as_tensor(points).to(DEVICE))
    found = fit_shards(points, shards, RULES[kind], K)
    assert (found.report_.plan.home, found.report_.plan.candidates) == ("", 6)
    independent = audit(points, found.labels_, RULES[kind], K)
    assert independent.feasible
    assert independent.objective == pytest.approx(found.report_.objective, rel=1e-6)
    again = fit_shards(points, shards, RULES[kind], K)
    np.testing.assert_array_equal(found.labels_, again.labels_)
