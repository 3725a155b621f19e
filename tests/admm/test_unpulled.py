"""The first pass without a pass: what it sums follows from the sums of the pass before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corral.admm.crew import Setup, Threads
from corral.admm.schedule import GRADUATE, SETTLE, Schedule
from corral.admm.unpulled import Numbers, Unpulled
from corral.admm.updates import Step

M, D, K = 400, 3, 5
NO_PINS = np.empty((0, 2), np.int64)


def setup(rng, weighted, n_pulled):
    weight = rng.uniform(0.2, 3.0, M) if weighted else None
    metric = np.maximum(weight, 0.5) if weighted else None
    values = rng.integers(1, 4, (1, M)).astype(float) if weighted or n_pulled else None
    return Setup(K, rng.integers(0, K, M), weight, metric, values, NO_PINS, np.arange(n_pulled))


def steps(rng, number):
    """Steps whose penalties change, the sphere's copy from the third on."""
    before = Schedule.start(1.0, K, 1.0, 1.03, False)
    for i in range(number):
        now = replace(
            before,
            phase=GRADUATE if i < 2 else SETTLE,
            box=rng.uniform(0.5, 2.0),
            ridge=rng.uniform(0.1, 1.0),
            sphere=rng.uniform(0.1, 1.0),
        )
        centers, norms = rng.normal(size=(K, D)), rng.normal(size=(K, 1))
        yield Step(centers, norms, before, now, rng.uniform(0.8, 1.2))
        before = now


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_pulled", [0, 40])
def test_totals_are_those_of_the_pass_over_the_others(weighted, n_pulled):
    rng = np.random.default_rng(3)
    points, own = rng.normal(size=(M, D)) + 5.0, setup(rng, weighted, n_pulled)
    value = np.ones(M) if own.values is None else own.values[0] * (np.arange(M) >= n_pulled)
    metric = np.ones(M) if own.metric is None else own.metric
    shift = rng.normal(size=D)
    unpulled = Unpulled(own, shift, lambda weight: weight @ points)
    threads = Threads(points, n_threads=1)
    threads.begin(own)
    (block,) = threads.blocks
    for i, step in enumerate(steps(rng, 6)):
        if i == 2:
            threads.start_sphere()
            unpulled.start_sphere()
        threads.pull(rng.normal(size=(K, n_pulled)), rng.uniform(size=n_pulled))
        numbers = Numbers.of(step, shift)
        threads.forward(step)
        np.testing.assert_allclose(unpulled.totals(numbers), block.x @ value, atol=1e-9)
        gram = (value**2 / metric).sum() * numbers.inverse
        np.testing.assert_allclose(unpulled.gram(numbers), gram, rtol=1e-12)
        theta = rng.normal(size=(1, K))
        theta -= theta.mean()
        threads.backward(step, theta)
        unpulled.move(numbers, theta)
        unpulled.project(np.clip(block.v1, 0.0, 1.0) @ value)
