"""Exact sizes over candidates, against one flow over all clusters and a linear program."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from corral.assign import NoAssignment
from corral.assign.sizes import candidates
from corral.assign.sizes.candidates import ship_among
from corral.assign.sizes.flow import transport
from corral.deadline import Deadline, OutOfTime
from corral.rows import MemoryRows
from corral.rows.cheapest import least_of


def look_at(rows, centers):
    """Candidates of the rows at these centres, as an assignment asks for them."""

    def look(prices, number, among):
        if among is None:
            return rows.candidates(centers, prices, number)
        return rows.candidates(centers[among], prices[among], number).named(among)

    return look


def problem(seed):
    """Rows, centres and bounds; some with ties, weights, intervals, crowded centres or islands."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(5, 300))
    k = int(rng.integers(2, min(m, 40) + 1))
    points = rng.normal(size=(m, int(rng.integers(1, 6))))
    points = np.round(points) if seed % 5 == 0 else points
    rows = MemoryRows(points, rng.random(m) if seed % 3 == 0 else None)
    centers = rng.choice([0.1, 1.0, 3.0]) * rng.normal(size=(k, points.shape[1]))
    if seed % 7 == 0:  # islands far apart, with too many and too few clusters
        places = 100.0 * rng.normal(size=(4, points.shape[1]))
        points += places[rng.integers(0, 4, m)]
        centers += places[rng.integers(0, 4, k)]
        rows = MemoryRows(points)
    lower = upper = np.bincount(rng.integers(0, k, m), minlength=k)
    if seed % 2:
        lower = np.maximum(lower - rng.integers(0, 3, k), 0)
        upper = upper + rng.integers(0, 3, k)
    return rng, rows, centers, lower, upper


@pytest.mark.parametrize("seed", range(60))
def test_as_cheap_as_a_flow_over_all_clusters(seed):
    rng, rows, centers, lower, upper = problem(seed)
    k, cost = len(centers), rows.costs(centers).dense()
    best = float((transport(cost, np.ones(len(cost), np.int64), lower, upper) * cost).sum())
    start = rng.normal(size=k) if seed % 4 == 0 else None
    number = int(rng.integers(1, 9))
    found = ship_among(look_at(rows, centers), lower, upper, number, start)
    counted = np.bincount(found.where.labels, minlength=k)
    assert np.all((lower <= counted) & (counted <= upper))
    own = cost[np.arange(len(cost)), found.where.labels]
    np.testing.assert_allclose(found.where.cost, own, rtol=1e-9, atol=1e-9)
    assert own.sum() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_as_cheap_as_the_linear_program(seed):
    _, rows, centers, lower, upper = problem(seed)
    cost = rows.costs(centers).dense()
    m, k = cost.shape
    entry = np.arange(m * k)
    rows_of = csr_array((np.ones(m * k), (entry // k, entry)), shape=(m, m * k))
    held = csr_array((np.ones(m * k), (entry % k, entry)), shape=(k, m * k))
    bounds = csr_array(np.vstack([held.toarray(), -held.toarray()]))
    limits = np.concatenate([upper, -lower])
    best = linprog(cost.ravel(), bounds, limits, rows_of, np.ones(m)).fun
    found = ship_among(look_at(rows, centers), lower, upper, 3)
    assert found.where.cost.sum() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_prices_explain_the_labels(seed):
    """No row would rather be elsewhere, whatever its candidates were."""
    _, rows, centers, lower, upper = problem(seed)
    found = ship_among(look_at(rows, centers), lower, upper, 4)
    priced = rows.costs(centers).dense() + found.prices
    own = priced[np.arange(len(priced)), found.where.labels]
    assert np.all(own <= priced.min(axis=1) + 1e-9 * np.abs(priced).max())


def test_candidates_are_the_cheapest_clusters():
    """With and without those of similar centres, against a sort of all costs."""
    rng = np.random.default_rng(0)
    rows, centers = MemoryRows(rng.normal(size=(500, 4))), rng.normal(size=(250, 4))
    prices = rng.normal(size=250)
    before = rows.candidates(centers + 0.05 * rng.normal(size=centers.shape), prices, 8)
    priced = rows.costs(centers).dense() + prices
    order = np.argsort(priced, axis=1)
    for like in (None, before):
        found = rows.candidates(centers, prices, 8, like=like)
        known = np.isfinite(found.cost)
        expected = priced - prices
        rows_of = np.nonzero(known)[0]
        np.testing.assert_allclose(found.cost[known], expected[rows_of, found.cluster[known]])
        assert np.all(known.sum(axis=1) >= 4)
        for i in range(500):
            number = known[i].sum()
            assert set(found.cluster[i, known[i]]) == set(order[i, :number])
        rest = np.array([priced[i, order[i, known[i].sum()]] for i in range(500)])
        assert np.all(found.beyond <= rest + 1e-12)


def test_sizes_that_do_not_fit():
    rows = MemoryRows(np.arange(6.0)[:, None])
    with pytest.raises(NoAssignment):
        ship_among(look_at(rows, np.zeros((2, 1))), np.array([4, 4]), np.array([5, 5]), 1)


def test_the_deadline_ends_the_search():
    rng = np.random.default_rng(0)
    rows, centers = MemoryRows(rng.normal(size=(200, 3))), rng.normal(size=(20, 3))
    sizes = np.full(20, 10)
    with pytest.raises(OutOfTime):
        ship_among(look_at(rows, centers), sizes, sizes, 4, None, Deadline.after(0.0))


@pytest.mark.parametrize("seed", range(0, 70, 7))
def test_no_dearer_than_labels_that_are_known(seed):
    """Islands whose rows see few clusters, and flows over few rows."""
    rng, rows, centers, lower, upper = problem(seed)
    cost, m = rows.costs(centers).dense(), rows.shape[0]
    start = transport(rng.random(cost.shape), np.ones(m, np.int64), lower, upper)
    known = start.argmax(axis=1)
    own = cost[np.arange(m), known]

    def look(prices, number, among):
        found = look_at(rows, centers)(prices, number, among)
        return found if among is not None else found.including(known, own)

    with patch.multiple(candidates, LARGE_FLOW=0, WIDEST=m, ROWS_EACH=1, CROWDED_EACH=0):
        found = ship_among(look, lower, upper, 1, 9.0 * rng.normal(size=len(centers)), exact=False)
    counted = np.bincount(found.where.labels, minlength=len(centers))
    assert np.all((lower <= counted) & (counted <= upper))
    assert found.where.cost.sum() <= own.sum() * (1 + 1e-12)


@pytest.mark.parametrize("values", [3, 10_000])
@pytest.mark.parametrize("number", [1, 4, 7])
def test_least_entries_against_a_sort(values, number):
    """With many equal entries and with hardly any."""
    block = np.random.default_rng(0).integers(0, values, (200, 7)).astype(float)
    places, least, beyond = least_of(block.copy(), number)
    ordered = np.sort(block, axis=1)
    np.testing.assert_array_equal(np.sort(least, axis=1), ordered[:, :number])
    np.testing.assert_array_equal(np.take_along_axis(block, places, axis=1), least)
    assert all(len(set(row)) == number for row in places)
    rest = ordered[:, number] if number < 7 else np.full(200, np.inf)
    np.testing.assert_array_equal(beyond, rest)


@pytest.mark.parametrize("lacking", [20, 150, 400])
def test_doors_into_islands_that_no_row_sees(lacking):
    """Ten islands of twenty clusters; one has too few rows, and its neighbours too many."""
    rng = np.random.default_rng(0)
    places = 1000.0 * rng.normal(size=(10, 3))
    held = np.full(10, 1000)
    held[0] -= lacking
    held[1:] += np.bincount(np.arange(lacking) % 9, minlength=9)
    points = np.repeat(places, held, axis=0) + rng.normal(size=(10_000, 3))
    centers = np.repeat(places, 20, axis=0) + rng.normal(size=(200, 3))
    rows, sizes, asked = MemoryRows(points), np.full(200, 50), []

    def look(prices, number, among):
        asked.append(among)
        return look_at(rows, centers - rows.middle)(prices, number, among)

    found = ship_among(look, sizes, sizes, 12)
    assert any(among is not None for among in asked)
    assert np.array_equal(np.bincount(found.where.labels, minlength=200), sizes)
    cost = rows.costs(centers - rows.middle).dense()
    best = (transport(cost, np.ones(10_000, np.int64), sizes, sizes) * cost).sum()
    assert found.where.cost.sum() == pytest.approx(best, rel=1e-9)
