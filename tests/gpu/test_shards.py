"""Everything that is done on a shard, on tensors as on NumPy's arrays."""

from __future__ import annotations

from dataclasses import astuple, is_dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from corral.backends.gpu.torch_passes import DeviceCrew  # noqa: E402

from corral.audit import inertia  # noqa: E402
from corral.audit.inertia import piece_inertia, piece_sums  # noqa: E402
from corral.backends.gpu.device import DeviceShards  # noqa: E402
from corral.rows import Shard, shard  # noqa: E402
from corral.rows import candidate_passes as candidates  # noqa: E402
from corral.rows import shard_labels as kept  # noqa: E402
from corral.rows import shard_passes as passes  # noqa: E402

N, D, K = 300, 4, 5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RNG = np.random.default_rng(0)
POINTS, WEIGHT = RNG.normal(size=(N, D)), RNG.uniform(0.5, 2.0, N)
FREE = RNG.random(N) < 0.8
CENTERS = RNG.normal(size=(K, D))
ASK = passes.Ask(CENTERS, (CENTERS**2).sum(axis=1), RNG.normal(size=K), "one")
ROWS, LABELS = np.flatnonzero(RNG.random(N) < 0.2), RNG.integers(0, K, N)
MOVED = LABELS[ROWS]
REACH = RNG.uniform(0.5, 1.5, K)
COUNTS = RNG.integers(1, 4, len(ROWS))
LABELLED = "one", passes.settled, (ASK,)
ASKED = candidates.Asked(ASK, POINTS[1], 3, 1e-16)
PRICES, EACH, SLOTS = RNG.normal(size=K), RNG.integers(1, 4, N), RNG.integers(0, 3, len(ROWS))
PLACED = ASKED, PRICES, "two"

PASSES = {
    "rows_of": (passes.rows_of, ROWS),
    "finite": (passes.finite,),
    "moments": (passes.moments, POINTS[7]),
    "costs_of": (passes.costs_of, ASK, ROWS),
    "scan_rows": (passes.scan_rows, ASK),
    "count_within": (passes.count_within, ASK, 0.7),
    "margin_sample": (passes.margin_sample, ASK, 3),
    "near_rows": (passes.near_rows, ASK, REACH, ROWS, MOVED),
    "border_rows": (passes.border_rows, ASK, REACH, ROWS, MOVED),
    "settled": (passes.settled, ASK, ROWS, MOVED),
    "labels_of": (passes.labels_of, ASK, ROWS, MOVED),
    "kept sums": (kept.sums_of_kept, *LABELLED, K, (ROWS, MOVED)),
    "kept inertia": (kept.inertia_of_kept, *LABELLED, CENTERS, (ROWS, MOVED)),
    "measured": (kept.measured_part, *LABELLED, CENTERS, (ROWS, MOVED)),
    "kept labels": (kept.brought, *LABELLED, (ROWS, MOVED)),
    "label_sums": (kept.label_sums, K, LABELS),
    "label_inertia": (kept.label_inertia, CENTERS, LABELS),
    "the audit's sums": (passes.on_points, piece_sums, K, LABELS, WEIGHT**2),
    "the audit's inertia": (passes.on_points, piece_inertia, CENTERS, LABELS, WEIGHT**2),
    "placed_at": (passes.placed_at, ASK, ROWS, COUNTS),
    "spent": (candidates.of_table, ASKED, "spent", EACH),
    "margins": (candidates.of_table, ASKED, "margins", PRICES, None),
    "held": (candidates.of_table, ASKED, "held", PRICES, 0.7, EACH),
    "borders": (candidates.of_table, ASKED, "borders", PRICES, 0.7, None),
    "soft_sums": (candidates.soft_sums, ASKED, PRICES, 0.7, EACH),
    "stand": (candidates.stand, *PLACED, EACH, ROWS, SLOTS),
    "brought": (candidates.brought_part, *PLACED, None, ROWS, SLOTS),
    "reach": (candidates.reach_part, *PLACED, 0.1, REACH / 50, None, ROWS[:0], SLOTS[:0]),
    "near": (candidates.near_part, *PLACED, REACH, EACH, ROWS, SLOTS),
    "astray": (candidates.astray_part, *PLACED, ASK.prices, None, ROWS, SLOTS),
    "beyond": (candidates.beyond_part, *PLACED, ASK.prices, EACH, ROWS, SLOTS),
    "placed labels": (
        candidates.labels_part,
        *PLACED,
        None,
        (ROWS, SLOTS),
        (ROWS[:9], MOVED[:9]),
    ),
}
TRANSFORMS = {
    "shifted": (shard.shifted, POINTS[3]),
    "with_free": (shard.with_free, ~FREE),
    "with_weight": (shard.with_weight, WEIGHT**2),
    "without weight": (shard.with_weight, None),
    "contracted": (shard.contracted, ROWS, np.array([2, 5]), POINTS[:2], WEIGHT[ROWS]),
}


def shards(weighted):
    """The same rows in both kinds of arrays."""
    here = {"weight": WEIGHT, "free": FREE} if weighted else {}
    there = {name: torch.as_tensor(a).to(DEVICE) for name, a in here.items()}
    return Shard(POINTS, **here), Shard(torch.as_tensor(POINTS).to(DEVICE), **there)


def flat(result):
    """All numbers of a result, in NumPy's arrays."""
    if is_dataclass(result):
        result = astuple(result)
    if isinstance(result, tuple):
        return [a for part in result for a in flat(part)]
    return [np.asarray(result.cpu() if hasattr(result, "cpu") else result)]


def assert_same(got, wanted):
    """Up to rounding; shares are added in units of 2**-32."""
    for a, b in zip(flat(got), flat(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=N * 2.0**-32)


@pytest.mark.parametrize(("entries", "sorted_from"), [(64, 2), (1 << 20, 99)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PASSES)
def test_passes(monkeypatch, name, weighted, entries, sorted_from):
    monkeypatch.setattr(kept, "SORTED_FROM", sorted_from)
    monkeypatch.setattr(inertia, "MOST_DENSE", sorted_from)
    monkeypatch.setattr(passes, "ENTRIES", entries)
    monkeypatch.setattr(passes, "ENTRIES_ON_DEVICE", entries)
    function, *args = PASSES[name]
    wanted, got = (function(each, *args) for each in shards(weighted))
    assert_same(got, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, weighted):
    function, *args = TRANSFORMS[name]
    wanted, got = (function(each, *args) for each in shards(weighted))
    assert got.points.device.type == DEVICE
    for field in ("points", "weight", "free"):
        a, b = getattr(got, field), getattr(wanted, field)
        assert (a is None) == (b is None)
        if b is not None:
            assert_same(a, b)


def test_what_is_not_finite_is_found():
    points = torch.zeros((50, 3))
    points[31, 1] = torch.inf
    points[40, 0] = torch.nan
    assert passes.finite(Shard(points)) == 31


def test_half_of_the_bits_stay_half():
    points = POINTS.astype(np.float32)
    wanted, got = Shard(points), Shard(torch.as_tensor(points))
    np.testing.assert_array_equal(
        passes.labels_of(got, ASK, ROWS, MOVED), passes.labels_of(wanted, ASK, ROWS, MOVED)
    )
    moved = shard.shifted(got, POINTS[3])
    assert moved.points.dtype == torch.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_few_rows_are_worked_on_where_all_are_in_their_own_precision(dtype):
    shards = DeviceShards(torch.zeros((10, 2), dtype=torch.float64, device=DEVICE))
    crew = shards.crew(POINTS[:5, :2].astype(dtype))
    assert isinstance(crew, DeviceCrew)
    assert crew.points.device == shards.shard.points.device
    assert crew.dtype == dtype
    np.testing.assert_allclose(crew.points.cpu(), POINTS[:5, :2], rtol=1e-6)
