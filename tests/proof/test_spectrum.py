"""Projections onto the spectral set, and errors of eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from corral.deadline import NEVER
from corral.proof.cuts import Cuts
from corral.proof.spectrum import InMemory, SpectralSet


def clustering(rng, weight, k):
    """The matrix Y of random labels, every cluster with a row."""
    labels = np.concatenate([np.arange(k), rng.integers(0, k, len(weight) - k)])
    rng.shuffle(labels)
    same = labels[:, None] == labels
    total = np.bincount(labels, weight)[labels]
    return same * np.sqrt(np.outer(weight, weight)) / total[:, None]


@pytest.mark.parametrize("may_be_empty", [False, True])
@pytest.mark.parametrize("matrices", [InMemory(10), InMemory(1000)])
def test_projection_is_the_nearest_point_of_the_set(may_be_empty, matrices):
    rng = np.random.default_rng(0)
    m, k = 60, 4
    weight = rng.uniform(0.5, 3.0, m)
    v = np.sqrt(weight / weight.sum())
    spectral = SpectralSet(v, k, may_be_empty, matrices)
    T = rng.normal(size=(m, m))
    T = (T + T.T) / 10
    Y = spectral.project(T)
    values = linalg.eigvalsh(Y)
    assert values.min() > -1e-8
    assert values.max() < 1 + 1e-8
    np.testing.assert_allclose(Y @ v, v, atol=1e-8)
    assert Y.trace() <= k + 1e-6
    assert may_be_empty or Y.trace() == pytest.approx(k)
    # The nearest point of a convex set: no point of the set lies on the other side.
    for _ in range(30):
        assert np.sum((T - Y) * (clustering(rng, weight, k) - Y)) <= 1e-6


def hadamard(known, scale):
    """A matrix with known eigenvalues: whole numbers over 16 are exact in binary."""
    signs = linalg.hadamard(16)
    return scale * ((signs * known) @ signs.T / 16)


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_least_product_is_safe_and_tight(scale):
    rng = np.random.default_rng(0)
    for k in (1, 2, 5):
        for may_be_empty in (False, True):
            known = rng.integers(-50, 50, 16).astype(float)
            # The first vector of the Hadamard matrix is v.
            spectral = SpectralSet(np.full(16, 0.25), k, may_be_empty, InMemory(1000))
            rest = np.sort(known[1:])[: k - 1]
            true = scale * (known[0] + (np.minimum(rest, 0.0) if may_be_empty else rest).sum())
            least = spectral.least(hadamard(known, scale), 0.0)
            assert true - 1e-9 * scale * 50 <= least <= true


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_semidefinite_is_shown_only_where_it_is_true(scale):
    rng = np.random.default_rng(0)
    for lowest in (-3.0, 0.0, 2.0):
        known = np.concatenate([[lowest], rng.integers(3, 50, 15)])
        spectral = SpectralSet(np.full(16, 0.25), 2, False, InMemory(1000))
        margin = spectral._shown_semidefinite(hadamard(known, scale), NEVER)
        assert scale * lowest + margin >= 0.0
        assert margin <= max(-20.0 * scale * lowest, 1e-9 * scale * 50)


def test_cuts_hold_for_every_clustering():
    rng = np.random.default_rng(0)
    m = 12
    weight = rng.uniform(0.5, 3.0, m)
    cuts = Cuts(weight, InMemory(1000), [], 3)
    noise = rng.uniform(size=(m, m))
    assert cuts.renew((noise + noise.T)[None] / 2, np.random.RandomState(0)) > 0
    for k in (1, 2, 3, 5):
        for _ in range(20):
            cuts.multiplier = rng.uniform(size=len(cuts))
            pull = cuts.moved(np.zeros((1, m, m)), 1.0)
            assert np.sum(pull * clustering(rng, weight, k)) <= 1e-12


def test_cuts_find_what_is_violated():
    rng = np.random.default_rng(1)
    m = 10
    Y = rng.uniform(size=(m, m))
    Y = (Y + Y.T) / 2
    cuts = Cuts(np.ones(m), InMemory(1000), [], 3)
    cuts.renew(Y[None], np.random.RandomState(0))
    violated = set()
    for g in range(m):
        for h in range(m):
            if h != g and Y[g, h] > Y[g, g]:
                violated.add((g, h, -1))
            for i in range(h + 1, m):
                if g not in (h, i) and Y[g, h] + Y[g, i] > Y[g, g] + Y[h, i]:
                    violated.add((g, h, i))
    found = {tuple(corner[2:]) for corner in cuts.corners.tolist()}
    assert found <= violated
    assert len(found) == min(len(violated), 5 * m)
