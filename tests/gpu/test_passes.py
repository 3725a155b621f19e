"""The passes on tensors against the blocks of NumPy, through all phases."""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

CUDA = torch.cuda.is_available()

from corral.backends.gpu.launch import Tuning, Tunings  # noqa: E402
from corral.backends.gpu.transfer import Replay  # noqa: E402

from corral.admm.crew import Setup, Threads  # noqa: E402
from corral.admm.schedule import GRADUATE, SETTLE, Schedule  # noqa: E402
from corral.admm.updates import Step  # noqa: E402
from corral.backends.gpu import fused  # noqa: E402
from corral.backends.gpu import torch_passes as passes  # noqa: E402

DEVICE = "cuda" if CUDA else "cpu"
SUMS = ("points", "mass", "moved", "unbalanced", "outside", "undecided", "radius")
N_STEPS = 4


def a_setup(rng, m, k, *, weighted, pulled):
    weight = rng.uniform(0.2, 3.0, m) if weighted else None
    metric = np.maximum(weight, 0.9) if weighted else None
    ends = np.sort(rng.choice(m, m // 3, replace=False)) if pulled else np.empty(0, np.int64)
    values = rng.integers(1, 5, (1, m)).astype(float) if weighted else None
    if pulled and values is None:
        values = np.ones((1, m))
    pins = np.empty((0, 2), np.int64)
    return Setup(k, rng.integers(0, k, m), weight, metric, values, pins, ends)


def some_steps(rng, points, k):
    """Penalties of some iterations that graduate and then settle, with centres of their own."""
    before = Schedule.start(2.0, k, 1.0, 1.2, False)
    middle = points.mean(axis=0, dtype=np.float64)
    for number in range(N_STEPS):
        now = replace(
            before,
            phase=GRADUATE if number < N_STEPS // 2 else SETTLE,
            box=before.box * rng.uniform(0.7, 1.3),
            sphere=1.0 + 0.2 * number,
            ridge=before.ridge / 5.0,
        )
        centers = rng.normal(size=(k, points.shape[1]))
        norms = ((centers * centers).sum(axis=1) + 2.0 * centers @ middle)[:, None]
        yield Step(centers, norms, before, now, 0.8 if number > N_STEPS // 2 else 1.0)
        before = now


def assert_close(got, wanted, tolerance, name):
    """Errors small in the largest entry."""
    got, wanted = (np.asarray(a.cpu() if hasattr(a, "cpu") else a) for a in (got, wanted))
    assert got.shape == wanted.shape, name
    scale = max(np.abs(wanted).max(initial=0.0), 1e-12)
    np.testing.assert_allclose(got / scale, wanted / scale, atol=tolerance, rtol=0, err_msg=name)


def walk(make, m, d, k, *, weighted, pulled, dtype, tolerance):
    """Take the same steps with NumPy in float64 and with the other, and compare all there is."""
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(m, d)) + rng.normal(size=d)).astype(dtype)
    setup = a_setup(rng, m, k, weighted=weighted, pulled=pulled)
    crew = Threads(points.astype(np.float64), 1)
    crew.begin(setup)
    other = make(torch.as_tensor(points).to(DEVICE), setup)
    for step in some_steps(rng, points, k):
        if step.now.phase > step.before.phase:
            crew.start_sphere()
            other.start_sphere()
        if pulled:
            pull = rng.normal(size=(k, len(setup.pulled)))
            stiffening = rng.uniform(0.0, 2.0, len(setup.pulled))
            crew.pull(pull, stiffening)
            other.pull(torch.as_tensor(pull.T.copy()).T, torch.as_tensor(stiffening))
        same = replace(step, centers=step.centers.astype(dtype), offsets=step.offsets.astype(dtype))
        for name, got, wanted in zip(
            ("totals", "gram"), other.forward(same), crew.forward(step), strict=True
        ):
            assert_close(got, wanted, tolerance, name)
        theta = rng.normal(size=(1, k)) * step.now.box / 20.0
        theta -= theta.mean()  # as rows of x sum to one
        sums, wanted_sums = other.backward(same, theta), crew.backward(step, theta)
        for name in SUMS:
            assert_close(getattr(sums, name), getattr(wanted_sums, name), tolerance, name)
        assert_close(other.x(), crew.x(), tolerance, "x")
        assert_close(other.pulled_x(), crew.pulled_x(), tolerance, "pulled x")
        np.testing.assert_array_equal(other.labels(), crew.labels())


@pytest.mark.parametrize("pulled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_tensors_are_blocks(monkeypatch, weighted, pulled, dtype):
    monkeypatch.setattr(passes, "BLOCK_BYTES", 1 << 9)  # several blocks
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    walk(
        passes.Blocks, 101, 5, 3, weighted=weighted, pulled=pulled, dtype=dtype, tolerance=tolerance
    )


@pytest.mark.parametrize(
    ("m", "d", "k"),
    [
        (64, 5, 3),
        (75, 20, 21),  # not all of a tile, nor of the room for clusters and features
        (33, 64, 100),
    ],
)
@pytest.mark.parametrize("pulled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_do_what_blocks_do(m, d, k, weighted, pulled):
    walk(fused.Fused, m, d, k, weighted=weighted, pulled=pulled, dtype=np.float32, tolerance=1e-4)


@pytest.mark.parametrize("tile", [16, 64])
@pytest.mark.parametrize("warps", [1, 4])
def test_layout_changes_no_number(tile, warps):
    rng = np.random.default_rng(1)
    points = torch.as_tensor(rng.normal(size=(90, 6)).astype(np.float32)).to(DEVICE)
    setup = a_setup(rng, 90, 20, weighted=True, pulled=True)
    tuning = Tuning(tile=tile, warps=warps, programs=2)
    one, other = (
        fused.Fused(points, setup),
        fused.Fused(points, setup, tunings=Tunings(*[tuning] * 4)),
    )
    for step in some_steps(rng, points.cpu().numpy(), 20):
        if step.now.phase > GRADUATE:
            break
        step = replace(step, centers=step.centers.astype(np.float32))
        for state in (one, other):
            state.forward(step)
        wanted, got = (state.backward(step, None) for state in (one, other))
        for name in SUMS:
            assert_close(getattr(got, name), getattr(wanted, name), 1e-5, name)
    np.testing.assert_allclose(one.x(), other.x(), atol=1e-5)


def test_large_x_is_not_kept(monkeypatch):
    monkeypatch.setattr(fused, "DEVICE_X", 10)
    rng = np.random.default_rng(2)
    points = torch.as_tensor(rng.normal(size=(40, 4)).astype(np.float32)).to(DEVICE)
    setup = a_setup(rng, 40, 3, weighted=False, pulled=True)
    state = fused.Fused(points, setup)
    np.testing.assert_array_equal(state.labels(), setup.labels)
    assert state.pulled_x().shape == (3, 13)
    with pytest.raises(RuntimeError, match="x of 40 groups and 3 clusters was not kept"):
        state.x()
    assert fused.Fused(points, setup, keep_x=True).x().shape == (40, 3)


def test_kernels_say_what_fits_them():
    rng = np.random.default_rng(3)
    setup = a_setup(rng, 40, 100, weighted=True, pulled=False)
    assert fused.fits(64, setup)
    assert not fused.fits(300, setup)
    assert not fused.fits(64, replace(setup, n_clusters=300))
    assert not fused.fits(64, replace(setup, values=np.ones((2, 40))))
    assert not fused.fits(64, replace(setup, pins=np.array([[3, 1]])))


def test_everything_else_goes_block_by_block():
    rng = np.random.default_rng(4)
    setup = a_setup(rng, 40, 3, weighted=False, pulled=False)
    points = torch.as_tensor(rng.normal(size=(40, 4)))
    assert isinstance(passes.passes(points.to(DEVICE), setup), passes.Blocks)
    assert isinstance(passes.passes(points.float(), setup), passes.Blocks)
    on_device = passes.passes(points.float().to(DEVICE), setup)
    assert isinstance(on_device, fused.Fused if CUDA else passes.Blocks)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("ahead", [False, True])
def test_runs_of_tiles_and_tiles_ahead(ahead, stages):
    rng = np.random.default_rng(5)
    points = (rng.normal(size=(250, 6)) + 3.0).astype(np.float32)
    setup = a_setup(rng, 250, 5, weighted=False, pulled=True)
    tuning = Tuning(tile=16, warps=1, programs=2, ahead=ahead, stages=stages, run=3)
    crew = Threads(points.astype(np.float64), 1)
    crew.begin(setup)
    there = torch.as_tensor(points).to(DEVICE)
    state = fused.Fused(there, setup, tunings=Tunings(*[tuning] * 4))
    step = next(some_steps(rng, points, 5))
    pull, stiffening = rng.normal(size=(5, 83)), rng.uniform(0.0, 2.0, 83)
    for own in (crew, state):
        own.pull(pull, stiffening)
        own.forward(step)
    sums, wanted = state.backward(step, None), crew.backward(step, None)
    for name in SUMS:
        assert_close(getattr(sums, name), getattr(wanted, name), 1e-4, name)


def test_fewer_bits_of_the_points_hardly_show():
    rng = np.random.default_rng(6)
    points = (rng.normal(size=(2_000, 8)) + 20.0).astype(np.float32)
    setup = a_setup(rng, 2_000, 4, weighted=False, pulled=False)
    there = torch.as_tensor(points).to(DEVICE)
    states = [fused.Fused(there, setup, lean=lean) for lean in (False, True)]
    step = next(some_steps(rng, points, 4))
    exact, lean = (state.backward(step, None) for state in states)
    np.testing.assert_array_equal(exact.mass, lean.mass)
    gaps = (exact.points - lean.points) / exact.mass[:, None]
    assert 0.0 < np.abs(gaps).max() < 3e-4  # in standard deviations, here of 500 points each
    assert not states[0].lean
    assert fused.LEAN_GROUPS == 200_000


def test_repeated_work_sees_what_has_changed():
    given, made = (torch.zeros(3, device=DEVICE) for _ in range(2))
    replay = Replay(given.device)
    for number in range(4):  # the first is done, the second recorded
        given.fill_(number)
        replay(lambda: made.copy_(2.0 * given))
        np.testing.assert_array_equal(made.cpu(), 2.0 * number)


def test_state_goes_with_its_last_user():
    rng = np.random.default_rng(7)
    points = torch.as_tensor(rng.normal(size=(40, 4)).astype(np.float32)).to(DEVICE)
    state = fused.Fused(points, a_setup(rng, 40, 3, weighted=False, pulled=True))
    gone = weakref.ref(state)
    del state
    assert gone() is None
