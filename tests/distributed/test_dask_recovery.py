"""Workers that die in the middle of a fit: nothing is lost."""

from __future__ import annotations

import os

import numpy as np
import pytest

from corral.admm.history import Options
from corral.admm.projected import ProjectedSolver
from corral.presolve import Pairs, Rules, SizeBounds
from corral.rows import MemoryRows

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")

from corral.backends.dask import hold  # noqa: E402

N, D, K = 3000, 4, 5
STEPS = 14


def source():
    """An array that workers make themselves, and can make again."""
    rng = da.random.default_rng(0)
    return rng.normal(size=(N, D), chunks=(500, D)) + 5.0 * (
        rng.integers(0, 2, size=(N, 1), chunks=(500, 1))
    )


def problem(X, n_pairs=200):
    sizes = SizeBounds(np.full(K, N // K), np.full(K, N // K), True)
    apart = np.column_stack([np.arange(n_pairs), np.arange(2000, 2000 + n_pairs)])
    rules = Rules(
        n_clusters=K, count=np.ones(N, np.int64), pairs=Pairs(N, apart=apart), sizes=sizes
    )
    return rules, MemoryRows(X)


def solver_of(given, crew):
    return ProjectedSolver(*given, np.arange(N) % K, crew, Options(rho=1.0, rho_growth=1.7))


def fit(X, given, killed_before=None, kill_one=None):
    """Labels, x and objective after some steps; a worker dies before the pass that is named."""
    with hold(X) as shards:
        crew = shards.crew()
        solver = solver_of(given, crew)
        with crew.running():
            for number in range(1, STEPS + 1):
                if number == 11 and killed_before is not None:
                    fatal(crew, killed_before, kill_one)
                objective = solver.step()
        return crew.labels(), crew.x(), objective


def fatal(crew, name, kill_one):
    """Let a worker die before the next pass of this name, once."""
    own = getattr(crew, name)

    def kill_first(*args):
        setattr(crew, name, own)
        kill_one()
        return own(*args)

    setattr(crew, name, kill_first)


@pytest.mark.parametrize(
    ("every", "n_pairs", "killed_before"),
    [(4, 200, "forward"), (0, 0, "backward")],
)
def test_a_killed_worker_changes_nothing(mortal, kill_one, every, n_pairs, killed_before):
    given = problem(source().compute(), n_pairs)
    labels, x, objective = fit(source(), given)
    before = set(mortal.run(os.getpid).values())
    with config.set({"corral.checkpoint.every": every}):
        found = fit(source(), given, killed_before, kill_one)
    np.testing.assert_array_equal(found[0], labels)
    np.testing.assert_allclose(found[1], x, atol=1e-9)
    assert found[2] == pytest.approx(objective, rel=1e-12)
    assert len(before - set(mortal.run(os.getpid).values())) == 1


def test_checkpoints_leave_nothing_behind(client, tmp_path):
    with config.set({"corral.checkpoint.every": 4, "corral.checkpoint.directory": str(tmp_path)}):
        given = problem(source().compute())
        with hold(source()) as shards:
            solver = solver_of(given, shards.crew())
            for _ in range(9):
                solver.step()
            (folder,) = tmp_path.iterdir()
            assert [part.name for part in folder.iterdir()] == ["8"]
            assert len(list((folder / "8").iterdir())) == 6
            # What came before the checkpoint is not remembered any more.
            names = client.run_on_scheduler(known)
            assert names.count("corral-back") == 6
            assert "corral-start" not in names
    assert not list(tmp_path.iterdir())


def known(dask_scheduler):
    return [task.prefix.name for task in dask_scheduler.tasks.values()]


def test_a_folder_that_workers_do_not_see_is_refused(client, tmp_path, monkeypatch):
    monkeypatch.setattr("corral.backends.dask.state._sees", nothing)
    given = problem(source().compute())
    with (
        config.set({"corral.checkpoint.directory": str(tmp_path)}),
        hold(source()) as shards,
        pytest.raises(ValueError, match=r"worker tcp://.* does not see"),
    ):
        solver_of(given, shards.crew())
    assert not list(tmp_path.iterdir())


def nothing(folder):
    return False
