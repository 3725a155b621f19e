"""Tasks on a partition, without a cluster: pure, and the memo is never needed."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from corral.backends.dask.iterations import _compact
from corral.backends.dask.state import State, smallest_type

from corral.admm import crew
from corral.admm.crew import Setup
from corral.admm.schedule import SETTLE, Schedule
from corral.admm.updates import Step
from corral.backends.dask import partition_passes as passes
from corral.backends.dask import state as states_of
from corral.rows import Shard

N, D, K = 5000, 3, 4
NOTHING = np.empty(0, np.int64)


def setup(rng, *, weighted=False, pulled=NOTHING):
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    return Setup(
        n_clusters=K,
        labels=rng.integers(0, K, N),
        weight=weight,
        metric=weight,
        values=None if weight is None and not len(pulled) else np.ones((1, N)),
        pins=np.empty((0, 2), np.int64),
        pulled=pulled,
    )


def order(rng, number, phase=SETTLE, fresh=False, **given):
    before = Schedule.start(1.0, K, 1.0, 1.03, False)
    now = replace(before, box=1.3, ridge=0.2, phase=phase)
    before = now if number > 1 else before
    step = Step(rng.normal(size=(K, D)), rng.normal(size=(K, 1)), before, now, 0.9)
    return passes.Order("run", number, True, step, fresh, **given)


def iterate(shard, part, pull=None, *, forgets=False, n_steps=3):
    """Some iterations; the memo is lost before every pass if so wished."""
    rng = np.random.default_rng(7)
    state = passes.start(shard, part, "run", True)
    totals = []
    for number in range(1, n_steps + 1):
        for a in (state.v1, state.v2, state.labels, state.x):
            if a is not None:
                a.flags.writeable = False
        given = order(rng, number, fresh=number == 1)
        if forgets:
            shard.memo.clear()
        totals.append(passes.first_pass(shard, part, state, pull, given))
        if forgets:
            shard.memo.clear()
        given = replace(given, theta=rng.normal(size=(1, K)))
        state = passes.second_pass(shard, part, state, pull, given)
    return state, totals


@pytest.mark.parametrize("weighted", [False, True])
def test_the_memo_is_not_needed(weighted):
    rng = np.random.default_rng(0)
    shard, part = Shard(rng.normal(size=(N, D))), setup(rng, weighted=weighted, pulled=np.arange(9))
    pull = passes.Pull(rng.normal(size=(K, 9)), rng.uniform(size=9))
    kept, lost = (iterate(shard, part, pull, forgets=forgets) for forgets in (False, True))
    for name in ("v1", "v2", "labels", "x", "pulled"):
        np.testing.assert_array_equal(getattr(kept[0], name), getattr(lost[0], name))
    np.testing.assert_array_equal(kept[0].sums.points, lost[0].sums.points)
    np.testing.assert_array_equal(np.array(kept[1][-1][0]), lost[1][-1][0])


def test_the_memo_holds_no_state_of_dask():
    rng = np.random.default_rng(0)
    shard, part = Shard(rng.normal(size=(N, D))), setup(rng)
    state, _ = iterate(shard, part)
    (_, blocks) = shard.memo["blocks"]
    held = [a for block in blocks for a in (block.v1, block.v2) if a is not None]
    assert not any(np.shares_memory(a, b) for a in held for b in (state.v1, state.v2, state.x))


@pytest.mark.parametrize("block_bytes", [1 << 30, 1 << 16])
def test_a_partition_of_several_blocks_is_what_threads_do(monkeypatch, block_bytes):
    monkeypatch.setattr("corral.admm.blocks.BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("corral.admm.blocks.LEAST_BLOCK", 100)
    rng = np.random.default_rng(1)
    shard, part = Shard(rng.normal(size=(N, D))), setup(rng)
    state, _ = iterate(shard, part, n_steps=2)
    threads = crew.Threads(shard.points, n_threads=1)
    threads.begin(part)
    rng = np.random.default_rng(7)
    threads.start_sphere()
    for number in (1, 2):
        step = order(rng, number).step
        threads.forward(step)
        sums = threads.backward(step, rng.normal(size=(1, K)))
    np.testing.assert_array_equal(threads.labels(), state.labels)
    np.testing.assert_array_equal(threads.x(), passes.x_of(shard, part, state).T)
    np.testing.assert_array_equal(sums.points, state.sums.points)
    assert sums.radius == state.sums.radius


def test_a_checkpoint_gives_the_same_state(tmp_path):
    rng = np.random.default_rng(0)
    shard, part = Shard(rng.normal(size=(N, D))), setup(rng)
    path = str(tmp_path / "0.npz")
    before = passes.start(shard, part, "run", True)
    given = order(rng, 1, fresh=True, theta=rng.normal(size=(1, K)), path=path)
    saved = passes.advance(shard, part, before, None, given)
    assert passes.summary(saved)[2]
    remembered = passes.restore(shard, path)
    read = passes.restore(shard, path)
    assert remembered.v1 is saved.v1
    assert read.v1 is not saved.v1
    for name in ("v1", "v2", "labels", "x"):
        np.testing.assert_array_equal(getattr(read, name), getattr(saved, name))
    assert [file.name for file in tmp_path.iterdir()] == ["0.npz"]


def test_a_checkpoint_that_cannot_be_written_is_told_not_raised(tmp_path):
    rng = np.random.default_rng(0)
    shard, part = Shard(rng.normal(size=(N, D))), setup(rng)
    state = passes.start(shard, part, "run", False)
    given = order(rng, 1, theta=np.zeros((1, K)), path=str(tmp_path / "missing" / "0.npz"))
    following = passes.advance(shard, part, state, None, replace(given, fresh=True))
    assert not passes.summary(following)[2]


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("block_bytes", [1 << 30, 1 << 16])
def test_one_pass_that_does_both_gives_the_same_states(monkeypatch, block_bytes, forgets):
    monkeypatch.setattr("corral.admm.blocks.BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("corral.admm.blocks.LEAST_BLOCK", 100)
    rng = np.random.default_rng(2)
    # Two shards in turn, as their blocks have work arrays in common.
    held = [(Shard(rng.normal(size=(N, D))), setup(rng)) for _ in range(2)]
    expected = [iterate(shard, part)[0] for shard, part in held]
    states = [passes.start(shard, part, "run", True) for shard, part in held]
    rng = np.random.default_rng(7)
    for number in (1, 2, 3):
        given = order(rng, number, fresh=number == 1, whole=True)
        given = replace(given, theta=rng.normal(size=(1, K)))
        for i, (shard, part) in enumerate(held):
            if forgets:
                shard.memo.clear()
            states[i] = passes.second_pass(shard, part, states[i], None, given)
    for one, two in zip(states, expected, strict=True):
        for name in ("v1", "v2", "labels", "x"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_array_equal(one.sums.points, two.sums.points)


def test_what_travels_does_not_grow_with_the_rows():
    sent = []
    for n in (N, 4 * N):
        rng = np.random.default_rng(0)
        part = replace(setup(rng), labels=rng.integers(0, K, n))
        shard = Shard(rng.normal(size=(n, D)))
        state, totals = iterate(shard, part, n_steps=1)
        sent.append(len(pickle.dumps((passes.summary(state), totals))))
        assert len(pickle.dumps(state)) > 8 * n * K
    assert sent[1] <= sent[0] + 8  # whole numbers of more digits
    assert sent[0] < 2_000


def test_sizes_are_those_of_the_arrays():
    state = State(np.zeros(100, np.float32), None, np.zeros(25, np.uint8))
    assert state.__sizeof__() == 425
    assert len(pickle.dumps(state)) < 1500
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    assert sizeof(state) >= 425


@pytest.mark.parametrize("k", [2, 256, 257, 65_536, 65_537])
def test_labels_fit_their_type(k):
    assert np.iinfo(smallest_type(k)).max >= k - 1
    rng = np.random.default_rng(0)
    part = _compact(replace(setup(rng), n_clusters=k), np.float32)
    np.testing.assert_array_equal(part.labels, setup(np.random.default_rng(0)).labels)


def test_rounding_takes_the_first_of_the_largest():
    x = np.random.default_rng(0).integers(0, 4, (300, 1000)).astype(float)
    labels = np.zeros(1000, np.uint16)
    passes._round(x, labels)
    np.testing.assert_array_equal(labels, x.argmax(axis=0))


def test_memory_is_taken_again_when_its_last_view_is_gone():
    first = states_of.take(1000, np.float32)
    place, view = first.__array_interface__["data"][0], first[10:20].reshape(2, 5)
    del first
    second = states_of.take(1000, np.float32)
    assert not np.shares_memory(view, second)
    del view
    third = states_of.take(1000, np.float32)
    assert third.__array_interface__["data"][0] == place
    assert states_of.take(1000, np.float64).dtype == np.float64
    assert not np.shares_memory(second, third)
