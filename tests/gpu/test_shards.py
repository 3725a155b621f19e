"""Everything that is done on a shard, on tensors as on NumPy's arrays."""

from __future__ import annotations

from dataclasses import astuple, is_dataclass

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")


from corral.audit import inertia  # noqa: E402
from corral.audit.inertia import piece_inertia, piece_sums  # noqa: E402
from corral.rows import Shard, passes, shard  # noqa: E402

N, D, K = 300, 4, 5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RNG = np.random.default_rng(0)
POINTS, WEIGHT = RNG.normal(size=(N, D)), RNG.uniform(0.5, 2.0, N)
AMOUNTS = np.stack([RNG.lognormal(0.0, 0.7, N), RNG.normal(size=N)], axis=1)
CENTERS = RNG.normal(size=(K, D))
ROWS, LABELS = np.flatnonzero(RNG.random(N) < 0.2), RNG.integers(0, K, N)
PATCH, EVERY = (ROWS, LABELS[ROWS]), np.arange(len(LABELS))
NONE = np.empty(0, np.int64), np.empty(0, np.int64)
PARTS = RNG.uniform(0.0, 0.5, K)


def ask(q, **given):
    """A question about q sums."""
    prices, unit = np.random.default_rng(q).normal(size=(q, K)), np.array([1.0, 2.0])[:q]
    return passes.Ask(CENTERS, (CENTERS**2).sum(axis=1), prices, unit, "one", **given)


def where(q):
    return passes.Where(ask(q), "two")


PASSES = {
    "rows_of": lambda each, q: passes.rows_of(each, ROWS),
    "finite": lambda each, q: passes.finite(each),
    "moments": lambda each, q: passes.moments(each, POINTS[7]),
    "soft_loads": lambda each, q: passes.soft_loads(each, ask(q), 0.7),
    "soft loads of few": lambda each, q: passes.soft_loads(each, ask(q, near=ask(q)), 0.7),
    "place": lambda each, q: passes.place(each, where(q), None, NONE),
    "drawn": lambda each, q: passes.place(
        each, passes.Where(ask(q, temperature=0.7), "three"), CENTERS, PATCH
    ),
    "least": lambda each, q: passes.least_margins(each, ask(q), 0.02, PARTS, PARTS / 2),
    "margins": lambda each, q: passes.margins_of(each, ask(q)),
    "within": lambda each, q: passes.rows_within(each, ask(q), 0.4),
    "number": lambda each, q: passes.number_within(each, ask(q), 0.4),
    "brought": lambda each, q: passes.brought(each, where(q), PATCH),
    "labels at": lambda each, q: passes.labels_at(each, where(q), PATCH, ROWS[::3]),
    "measured": lambda each, q: passes.measured(each, where(q), CENTERS, PATCH),
    "amounts": lambda each, q: passes.amounts_kept(each, where(q), PATCH),
    "given": lambda each, q: passes.measured(each, where(q), CENTERS, (EVERY, LABELS)),
    "the audit's sums": lambda each, q: passes.on_points(each, piece_sums, K, LABELS, WEIGHT**2),
    "the audit's inertia": lambda each, q: passes.on_points(
        each, piece_inertia, CENTERS, LABELS, WEIGHT**2
    ),
}
TRANSFORMS = {
    "shifted": (shard.shifted, POINTS[3]),
    "with_amounts": (shard.with_amounts, AMOUNTS**2),
    "without amounts": (shard.with_amounts, None),
    "with_weight": (shard.with_weight, WEIGHT**2),
    "without weight": (shard.with_weight, None),
    "chosen": (shard.chosen, ROWS),
    "contracted": (shard.contracted, ROWS, np.array([2, 5]), POINTS[:2], WEIGHT[ROWS]),
}


def shards(weighted):
    """The same rows in both kinds of arrays."""
    here = {"weight": WEIGHT, "amounts": AMOUNTS} if weighted else {}
    there = {name: torch.as_tensor(a).to(DEVICE) for name, a in here.items()}
    return Shard(POINTS, **here), Shard(torch.as_tensor(POINTS).to(DEVICE), **there)


def flat(result):
    """All numbers of a result, in NumPy's arrays."""
    if is_dataclass(result):
        result = astuple(result)
    if isinstance(result, tuple):
        return [a for part in result for a in flat(part)]
    if sparse.issparse(result):
        return [result.toarray()]
    return [np.asarray(result.cpu() if hasattr(result, "cpu") else result)]


def assert_same(got, wanted):
    """Up to rounding; shares are added in units of 2**-32."""
    for a, b in zip(flat(got), flat(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=N * 2.0**-32)


@pytest.mark.parametrize(("entries", "sorted_from"), [(64, 2), (1 << 20, 99)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PASSES)
def test_passes(monkeypatch, name, weighted, entries, sorted_from):
    monkeypatch.setattr(inertia, "MOST_DENSE", sorted_from)
    settings = {"SORTED_FROM": sorted_from, "BLOCK_ENTRIES": entries, "ENTRIES_ON_DEVICE": entries}
    for setting, value in {**settings, "SORTED_FROM": 16, "CHEAPEST": 3}.items():
        monkeypatch.setattr(passes, setting, value)
    wanted, got = (PASSES[name](each, 2 if weighted else 1) for each in shards(weighted))
    assert_same(got, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, weighted):
    function, *args = TRANSFORMS[name]
    wanted, got = (function(each, *args) for each in shards(weighted))
    assert got.points.device.type == DEVICE
    for field in ("points", "weight", "amounts"):
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
        passes.brought(got, where(1), PATCH), passes.brought(wanted, where(1), PATCH)
    )
    loads = [passes.soft_loads(each, ask(1), 0.7).load for each in (got, wanted)]
    np.testing.assert_allclose(*loads, rtol=1e-5)
    moved = shard.shifted(got, POINTS[3])
    assert moved.points.dtype == torch.float32
