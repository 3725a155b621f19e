"""The row-block passes: equal to the whole, in any number of blocks and any array library."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from admm_cases import Case, projected
from scipy import sparse

from corral._arrays import namespace
from corral.admm import blocks as blocks_module
from corral.admm.blocks import Blocks, cut
from corral.admm.history import Options
from corral.admm.projected import ProjectedSolver
from corral.admm.schedule import GRADUATE, SETTLE
from corral.deadline import Deadline
from corral.rules import SizeBounds, TotalBounds

N, D, K = 90, 4, 3


def problem(seed=0, *, weighted=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    sizes = np.array([20, 30, 40])
    return Case(
        points=rng.normal(size=(N, D)).astype(dtype),
        weight=weight,
        n_clusters=K,
        pins=np.array([[3, 1], [70, 2]]),
        apart=np.array([[0, 80], [5, 6], [6, 88]]),
        sizes=SizeBounds(sizes, sizes, ordered=False),
        totals=(TotalBounds(rng.uniform(1, 2, N), np.full(K, -np.inf), np.full(K, 80.0)),),
    )


def run(given, n_steps=60):
    labels = np.random.default_rng(1).integers(0, K, N)
    options = Options(rho_growth=1.05)
    solver = ProjectedSolver(given.rules, given.rows, labels, Blocks(given.rows.points), options)
    objectives = [solver.step() for _ in range(n_steps)]
    return solver, np.array(objectives)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pieces", [2, 7])
def test_the_number_of_blocks_changes_nothing(monkeypatch, weighted, pieces):
    given = problem(weighted=weighted)
    whole, objectives = run(given)
    edges = np.linspace(0, N, pieces + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(edges)]
    monkeypatch.setattr(blocks_module, "cut", lambda *arguments: parts)
    blocked, same = run(given)
    assert len(blocked.blocks) == pieces
    np.testing.assert_allclose(same, objectives, rtol=1e-9)
    np.testing.assert_allclose(blocked.blocks.x(), whole.blocks.x(), atol=1e-7)
    assert blocked.residuals() == pytest.approx(whole.residuals(), abs=1e-7)


def test_blocks_cover_every_group_once():
    for n, k in [(1, 2), (5000, 3), (100_000, 10), (30_000, 500)]:
        parts = cut(n, k)
        covered = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        np.testing.assert_array_equal(covered, np.arange(n))


def test_float32_stays_float32():
    solver, _ = run(problem(dtype=np.float32), n_steps=3)
    assert {block.x.dtype for block in solver.blocks} == {np.dtype(np.float32)}
    assert {block.v1.dtype for block in solver.blocks} == {np.dtype(np.float32)}


def test_an_iteration_allocates_no_array_of_the_size_of_x():
    """The state is updated in place: x, v1 and v2 stay the same arrays."""
    solver, _ = run(problem(), n_steps=1)
    solver.schedule = dataclasses.replace(solver.schedule, phase=SETTLE, sphere=1.0)
    solver.step()
    before = [array for block in solver.blocks for array in (block.x, block.v1, block.v2)]
    solver.step()
    after = [array for block in solver.blocks for array in (block.x, block.v1, block.v2)]
    assert all(new is old for new, old in zip(after, before, strict=True))


def test_a_namespace_is_that_of_the_array():
    strict, torch = (pytest.importorskip(name) for name in ("array_api_strict", "torch"))
    assert namespace(np.zeros(3)) is np
    assert namespace(sparse.csr_array(np.eye(3))) is np
    assert namespace(strict.zeros(3)) is strict
    assert namespace(torch.zeros(3)).concat([torch.ones(2), torch.zeros(1)]).tolist() == [1, 1, 0]


def test_phases_are_in_order():
    given = problem()
    labels = np.random.default_rng(1).integers(0, K, N)
    blocks = Blocks(given.rows.points)
    solver = ProjectedSolver(given.rules, given.rows, labels, blocks, Options(rho_growth=1.05))
    phases = []
    while not solver.exhausted and len(phases) < 1000:
        solver.step()
        phases.append(solver.used.phase)
    assert phases[0] == GRADUATE
    assert phases == sorted(phases)


def test_a_deadline_in_the_past_stops_after_one_iteration():
    given = problem()
    relaxed = projected(given, np.zeros(N, np.int64), deadline=Deadline.after(0.0))
    assert relaxed.n_iter == 1
    assert not relaxed.converged
