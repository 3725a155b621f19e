"""The projected solver against its own definition, written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from corral.admm.pairs import PairCopies
from corral.admm.projected import _Solver, solve_projected
from corral.admm.schedule import GRADUATE, HARDEN, SETTLE
from corral.admm.totals import Totals
from corral.geometry import Geometry
from corral.problem import LinearRows, Problem, SizeBounds, SoftPairs, TotalBounds

N_GROUPS, N_CLUSTERS = 7, 3


def plain(rng, m=N_GROUPS, k=N_CLUSTERS, **rules):
    """A problem of m groups with uneven weights and counts, and the rules given."""
    return Problem(
        points=rng.normal(size=(m, 2)),
        weight=rng.uniform(0.5, 3.0, m),
        count=rng.integers(1, 3, m),
        scatter=0.0,
        group=np.arange(m),
        n_clusters=k,
        **rules,
    )


def some_rules(rng, kinds):
    """Rules of the kinds named, on 7 groups and 3 clusters."""
    made = {}
    if "pins" in kinds:
        made["pins"] = np.array([[1, 2], [5, 0]])
    if "apart" in kinds:
        made["apart"] = np.array([[0, 2], [2, 3], [1, 6]])
    if "soft" in kinds:
        pairs = np.array([[0, 4], [3, 5], [2, 6]])
        made["soft"] = SoftPairs(pairs, np.array([0.4, 2.0, 0.7]), np.array([True, False, True]))
    if "sizes" in kinds:
        made["sizes"] = SizeBounds(np.array([1, 4, 3]), np.array([3, 4, 6]), ordered=True)
    if "loose sizes" in kinds:
        made["sizes"] = SizeBounds(np.array([1, 4, 3]), np.array([2, 5, 3]), ordered=False)
    if "totals" in kinds:
        made["totals"] = (
            TotalBounds(rng.uniform(1.0, 4.0, 7), np.full(3, -np.inf), np.array([6.0, 7.0, 8.0])),
            TotalBounds(rng.normal(size=7), np.full(3, -0.5), np.full(3, 1.5)),
        )
    if "linear" in kinds:
        A = sparse.csr_array(np.round(rng.normal(size=(2, 21)), 1) * (rng.random((2, 21)) < 0.4))
        made["linear"] = LinearRows(A, np.array([-np.inf, 0.5]), np.array([0.3, 0.5]))
    return made


MIXTURES = [
    (),
    ("pins",),
    ("apart",),
    ("soft",),
    ("sizes",),
    ("loose sizes",),
    ("totals",),
    ("linear",),
    ("apart", "soft", "sizes"),
    ("pins", "sizes", "totals"),
    ("pins", "apart", "soft", "loose sizes", "totals", "linear"),
]
MIXTURE_NAMES = [" + ".join(kinds) or "free" for kinds in MIXTURES]


def solver_for(kinds, seed=0, growth=1.3):
    rng = np.random.default_rng(seed)
    problem = plain(rng, **some_rules(rng, kinds))
    labels = rng.integers(N_CLUSTERS, size=N_GROUPS)
    return problem, _Solver(problem, Geometry(problem), labels, 1.0, growth)


class DenseStep:
    """The quadratic that the x-update minimises, added up term by term as ``x'Hx/2 - b'x``.

    Entry ``g * k + j`` of the vector is x_gj.
    """

    def __init__(self, m, k):
        self.m, self.k = m, k
        self.H, self.b = np.zeros((m * k, m * k)), np.zeros(m * k)

    def linear(self, g, j, value):
        """Add ``value x_gj``."""
        self.b[g * self.k + j] -= value

    def square(self, row, target, rho):
        """Add ``rho/2 (row'x - target)^2``."""
        self.H += rho * np.outer(row, row)
        self.b += rho * target * row

    def unit(self, g, j):
        row = np.zeros(self.m * self.k)
        row[g * self.k + j] = 1.0
        return row

    def solve(self, pins):
        """Minimise with rows that sum to one and pinned rows at their place: one KKT system."""
        rows, values = [], []
        for g in range(self.m):
            rows.append(sum(self.unit(g, j) for j in range(self.k)))
            values.append(1.0)
        for g, cluster in pins:
            for j in range(self.k - 1):  # the last one follows from the sum
                rows.append(self.unit(g, j))
                values.append(float(j == cluster))
        E = np.array(rows)
        zero = np.zeros((len(E), len(E)))
        system = np.block([[self.H, E.T], [E, zero]])
        answer = np.linalg.solve(system, np.concatenate([self.b, values]))
        return answer[: self.m * self.k].reshape(self.m, self.k)


def distance_costs(solver, problem, factor):
    """``|p_g|^2`` dropped, which does not depend on the cluster."""
    points = np.asarray(problem.points) - solver.geometry.middle
    mu = solver.state.centers
    return factor[:, None] * ((mu**2).sum(axis=1)[None, :] - 2.0 * points @ mu.T)


def literal_x(problem, solver):
    """The x-update from the state of a solver, by a dense solve."""
    m, k = problem.n_groups, problem.n_clusters
    state, used = solver.state, solver.used
    r = problem.weight / problem.weight.mean()
    dense = DenseStep(m, k)
    cost = distance_costs(solver, problem, np.ones(m))
    for g in range(m):
        for j in range(k):
            dense.linear(g, j, r[g] * cost[g, j])
            e = dense.unit(g, j)
            dense.square(e, 0.0, r[g] * used.ridge)
            dense.square(e, state.z1[j, g] - state.y2[j, g] / used.box, r[g] * used.box)
            if used.phase != GRADUATE:
                target = state.z2[j, g] - state.y3[j, g] / used.sphere
                dense.square(e, target, r[g] * used.sphere)
    add_pairs(dense, problem, solver, r)
    add_totals(dense, problem, solver, r)
    add_linear(dense, problem, solver)
    return dense.solve(problem.pins)


def add_pairs(dense, problem, solver, r):
    pairs = [*problem.apart.tolist(), *problem.soft.pairs.tolist()]
    copies, duals, rho = solver.pairs._copy, solver.pairs._dual, solver.used.box
    for p, ends in enumerate(pairs):
        for side, g in enumerate(ends):
            column = side * len(pairs) + p
            for j in range(dense.k):
                target = copies[j, column] - duals[j, column] / rho
                dense.square(dense.unit(g, j), target, r[g] * rho)


def add_totals(dense, problem, solver, r):
    """Sizes, totals, and the balance of clusters whose sizes are not exact."""
    values = [] if problem.sizes is None else [problem.count]
    values += [total.values for total in problem.totals]
    exact = problem.sizes is not None and np.array_equal(problem.sizes.lower, problem.sizes.upper)
    if not exact:
        values.append(r)
    for q, value in enumerate(values):
        rho = solver.totals._rho[q, 0]
        for j in range(dense.k):
            row = sum(value[g] * dense.unit(g, j) for g in range(dense.m))
            target = solver.totals._copy[q, j] - solver.totals._dual[q, j] / rho
            dense.square(row, target, rho)


def add_linear(dense, problem, solver):
    """Linear rows at the last x: their slope there and a diagonal that is steeper than they."""
    if problem.linear is None:
        return
    A = problem.linear.A.toarray()
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    rho, copies = solver.used.box, solver.linear
    x = solver.state.x.T.ravel()
    slope = A.T @ (copies._dual + rho * (A @ x - copies._copy))
    steep = np.array(
        [
            max(
                sum(abs(row[g * dense.k + j]) * np.abs(row).sum() for row in A)
                for j in range(dense.k)
            )
            for g in range(dense.m)
        ]
    )
    # The diagonal must lie above A'A for the step to be one of descent.
    assert np.linalg.eigvalsh(np.diag(np.repeat(steep, dense.k)) - A.T @ A).min() > -1e-9
    for g in range(dense.m):
        for j in range(dense.k):
            dense.linear(g, j, slope[g * dense.k + j])
            dense.square(dense.unit(g, j), x[g * dense.k + j], rho * steep[g])


@pytest.mark.parametrize("kinds", MIXTURES, ids=MIXTURE_NAMES)
def test_the_x_update_solves_the_dense_system_in_every_phase(kinds):
    problem, solver = solver_for(kinds)
    phases = set()
    for _ in range(45):
        cost = solver._costs()
        solver.used = solver.schedule.at_scale(solver._scale(cost))
        fast = solver._update_x(cost)
        phases.add(solver.used.phase)
        np.testing.assert_allclose(fast.T, literal_x(problem, solver), rtol=1e-7, atol=1e-8)
        solver.step()
        np.testing.assert_array_equal(solver.state.x, fast)
        if solver.schedule.phase == HARDEN and solver.schedule.in_phase > 5:
            break
    assert {GRADUATE, SETTLE} <= phases


def test_the_costs_are_the_squared_distances_up_to_a_constant_a_row():
    problem, solver = solver_for(())
    solver.step()
    points = np.asarray(problem.points) - solver.geometry.middle
    squares = ((points[:, None] - solver.state.centers) ** 2).sum(axis=2)
    gap = solver._costs().T - squares
    np.testing.assert_allclose(gap, np.repeat(gap[:, :1], N_CLUSTERS, axis=1), atol=1e-12)


def test_light_points_weigh_a_little_in_the_norms_and_nothing_in_the_costs():
    rng = np.random.default_rng(5)
    problem = replace(plain(rng), weight=np.array([0.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]))
    solver = _Solver(problem, Geometry(problem), np.arange(7) % 3, 1.0, 1.03)
    assert (solver.metric > 0).all()
    assert np.abs(solver._costs()[:, 0]).max() == 0.0
    np.testing.assert_allclose(solver.metric[1:], problem.weight[1:], rtol=1e-12)


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("pinned", [False, True])
def test_the_totals_solve_the_dense_system(balance, pinned):
    """Minimise ``sum_g d_g/2 |x_g - x0_g|^2 + sum_q rho_q/2 |t_q'x - z_q + y_q/rho_q|^2``."""
    rng = np.random.default_rng(3)
    problem = plain(rng, **some_rules(rng, ("sizes", "totals")))
    metric = rng.uniform(0.5, 2.0, N_GROUPS)
    totals = Totals(problem, metric, balance=balance)
    values = [problem.count, *(total.values for total in problem.totals)]
    values += [metric] if balance else []
    pins = [(2, 0)] if pinned else []
    for ridge in (0.7, 0.4, 0.1):
        x0 = rng.dirichlet(np.ones(N_CLUSTERS), N_GROUPS).T
        stiffness = rng.uniform(0.5, 3.0, N_GROUPS)
        for g, j in pins:
            x0[:, g], x0[j, g], stiffness[g] = 0.0, 1.0, np.inf
        found = totals.solve(x0.copy(), stiffness, ridge)
        dense = DenseStep(N_GROUPS, N_CLUSTERS)
        for g in range(N_GROUPS):
            for j in range(N_CLUSTERS):
                firm = stiffness[g] if np.isfinite(stiffness[g]) else 1.0
                dense.square(dense.unit(g, j), x0[j, g], firm)
        for q, value in enumerate(values):
            rho = totals._rho[q, 0]
            for j in range(N_CLUSTERS):
                row = sum(value[g] * dense.unit(g, j) for g in range(N_GROUPS))
                dense.square(row, totals._copy[q, j] - totals._dual[q, j] / rho, rho)
        np.testing.assert_allclose(found.T, dense.solve(pins), rtol=1e-9, atol=1e-10)
        totals.update(found)


def test_totals_within_their_bounds_are_left_alone():
    rng = np.random.default_rng(0)
    x = rng.dirichlet(np.ones(3), 7).T
    free = TotalBounds(rng.uniform(1, 2, 7), np.full(3, -100.0), np.full(3, 100.0))
    totals = Totals(plain(rng, totals=(free,)), np.ones(7), balance=False)
    for _ in range(3):
        np.testing.assert_allclose(totals.solve(x.copy(), np.ones(7), 0.1), x, atol=1e-13)
        totals.update(x)
        assert totals.residual == 0.0


def test_totals_say_how_far_out_of_their_bounds_they_are():
    rng = np.random.default_rng(0)
    sizes = SizeBounds(np.array([0, 0, 5]), np.array([1, 7, 7]), ordered=True)
    problem = replace(plain(rng), count=np.ones(7, int), sizes=sizes)
    totals = Totals(problem, np.ones(7), balance=False)
    x = np.zeros((3, 7))
    x[0] = 1.0
    totals.solve(x.copy(), np.ones(7), 0.1)
    totals.update(x)
    # Cluster 0 has six too many: in units of the mean total of a cluster, 7/3.
    assert totals.residual == pytest.approx(6 / (7 / 3))


PAIR_CASES = [
    (price, together, rho, weights)
    for price, together in ((np.inf, False), (0.3, False), (2.0, False), (0.3, True), (2.0, True))
    for rho in (0.2, 1.0, 5.0)
    for weights in ((1.0, 1.0), (0.4, 2.5))
]


def numerical_prox(a, b, price, together, rho, r_a, r_b):
    """Minimise the price and the weighted distance together, over the two copies and a slack."""
    paid = 0.0 if np.isinf(price) else price
    if together:  # price / 2 |za - zb|
        rows, least = [[-1.0, 1.0, 2.0], [1.0, -1.0, 2.0]], [0.0, 0.0]
    elif np.isinf(price):  # za + zb <= 1
        rows, least = [[-1.0, -1.0, 0.0]], [-1.0]
    else:  # price max(za + zb - 1, 0)
        rows, least = [[-1.0, -1.0, 1.0], [0.0, 0.0, 1.0]], [-1.0, 0.0]
    found = minimize(
        lambda v: paid * v[2] + rho / 2 * (r_a * (v[0] - a) ** 2 + r_b * (v[1] - b) ** 2),
        [0.3, 0.4, 0.5],
        jac=lambda v: np.array([rho * r_a * (v[0] - a), rho * r_b * (v[1] - b), paid]),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda v: np.array(rows) @ v - least,
            "jac": lambda v: np.array(rows),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.x[:2]


@pytest.mark.parametrize(("price", "together", "rho", "weights"), PAIR_CASES)
def test_the_prox_of_a_pair_is_the_numerical_minimum(price, together, rho, weights):
    rng = np.random.default_rng(1)
    both = np.array([[0, 1]])
    rules = (
        {"apart": both}
        if np.isinf(price)
        else {"soft": SoftPairs(both, np.array([price]), np.array([together]))}
    )
    metric = np.array(weights)
    start = rng.uniform(-0.2, 1.2, (4, 2))
    pairs = PairCopies(plain(rng, m=2, k=4, **rules), metric, start)
    dual = np.zeros((4, 2))
    for x in (start, rng.uniform(-0.2, 1.2, (4, 2)), np.array([[1.0, 1.0]] * 4)):
        pairs.update(x, rho)
        wanted = x + dual / rho
        nearest = [numerical_prox(a, b, price, together, rho, *weights) for a, b in wanted]
        np.testing.assert_allclose(pairs._copy, nearest, atol=2e-5)
        dual = dual + rho * (x - pairs._copy)
        np.testing.assert_allclose(pairs.pull(rho), rho * pairs._copy - dual, atol=1e-12)
        assert pairs.residual == pytest.approx(np.abs(x - pairs._copy).max())


def test_the_pull_of_pairs_adds_up_over_the_pairs_of_a_group():
    rng = np.random.default_rng(2)
    problem = plain(rng, **some_rules(rng, ("apart", "soft")))
    pairs = PairCopies(problem, np.ones(7), rng.random((3, 7)))
    pairs.update(rng.random((3, 7)), 0.7)
    expected = np.zeros((3, 7))
    ends = [*problem.apart.tolist(), *problem.soft.pairs.tolist()]
    for p, (a, b) in enumerate(ends):
        for side, g in enumerate((a, b)):
            column = side * len(ends) + p
            expected[:, g] += 0.7 * pairs._copy[:, column] - pairs._dual[:, column]
    np.testing.assert_allclose(pairs.pull(0.7), expected, atol=1e-12)
    np.testing.assert_array_equal(pairs.degree, np.bincount(np.ravel(ends), minlength=7))


def test_a_point_of_weight_two_does_what_two_points_do():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(6, 2))
    sizes = SizeBounds(np.array([1, 2, 2]), np.array([3, 3, 3]), ordered=True)
    demand = rng.uniform(1.0, 2.0, 6)
    bounds = (np.full(3, -np.inf), np.array([3.0, 4.0, 5.0]))

    def made(rows, weight, count, factor):
        problem = Problem(
            points=points[rows],
            weight=weight,
            count=count,
            scatter=0.0,
            group=np.arange(len(rows)),
            n_clusters=3,
            apart=np.array([[1, 2], [2, 3]]),
            sizes=sizes,
            totals=(TotalBounds(demand[rows] * factor, *bounds),),
        )
        labels = np.array([0, 1, 2, 0, 1, 2])[rows]
        return _Solver(problem, Geometry(problem), labels, 1.0, 1.1)

    twice = np.array([2.0, 1, 1, 1, 1, 1])
    heavy = made(np.arange(6), twice, twice.astype(int), twice)
    rows = np.array([0, 1, 2, 3, 4, 5, 0])
    double = made(rows, np.ones(7), np.ones(7, int), np.ones(7))
    for phase in (GRADUATE, GRADUATE, SETTLE, SETTLE, HARDEN):
        # The same penalties for both: their scale is a median over the groups.
        used = replace(heavy.schedule.at_scale(0.8), phase=phase)
        for solver in (heavy, double):
            solver.used = used
            solver._update_copies(solver._update_x(solver._costs()))
            state = solver.state
            state.centers = solver.geometry.soft_means(state.z1, state.centers)
        for name in ("x", "z1", "y2", "z2", "y3"):
            one, two = getattr(heavy.state, name), getattr(double.state, name)
            np.testing.assert_allclose(one[:, rows], two, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(heavy.state.centers, double.state.centers, atol=1e-10)


def test_the_centres_are_the_means_of_the_box_copy():
    problem, solver = solver_for(("apart", "sizes"))
    for _ in range(4):
        solver.step()
        z1 = solver.state.z1
        assert z1.min() >= 0.0
        assert z1.max() <= 1.0
        share = z1 * problem.weight
        means = (share @ problem.points) / share.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(solver.state.centers + solver.geometry.middle, means, atol=1e-12)


def test_the_objective_is_that_of_x_at_the_centres_before():
    problem, solver = solver_for(())
    for _ in range(3):
        centers = solver.state.centers + solver.geometry.middle
        objective = solver.step()
        squares = ((problem.points[:, None] - centers) ** 2).sum(axis=2)
        expected = (problem.weight[:, None] * solver.state.x.T * squares).sum()
        assert objective == pytest.approx(expected, rel=1e-10)


def blobs(rng, m=40, k=3, spread=0.5):
    centers = rng.normal(size=(k, 2)) * 4
    points = centers[np.arange(m) % k] + spread * rng.normal(size=(m, 2))
    return Problem(
        points=points,
        weight=np.ones(m),
        count=np.ones(m, int),
        scatter=0.0,
        group=np.arange(m),
        n_clusters=k,
    )


def whole_problems():
    rng = np.random.default_rng(7)
    problem = blobs(rng)
    exact = SizeBounds(np.array([12, 13, 15]), np.array([12, 13, 15]), ordered=True)
    bounds = SizeBounds(np.array([10, 10, 10]), np.array([16, 16, 16]), ordered=False)
    apart = np.array([[0, 3], [1, 4], [3, 6]])
    capacity = TotalBounds(rng.uniform(1, 3, 40), np.full(3, -np.inf), np.full(3, 30.0))
    return {
        "free": problem,
        "sizes": replace(problem, sizes=exact),
        "bounds": replace(problem, sizes=bounds, apart=apart),
        "pins": replace(problem, pins=np.array([[0, 1], [1, 1], [5, 0]]), apart=apart),
        "capacity": replace(problem, totals=(capacity,)),
    }


@pytest.mark.parametrize("name", whole_problems())
def test_rows_sum_to_one_and_pins_stay_at_every_iteration(name):
    problem = whole_problems()[name]
    labels = np.random.default_rng(0).integers(3, size=40)
    answer = solve_projected(problem, Geometry(problem), labels, record_x=range(1, 1001))
    assert list(answer.history.x) == list(range(1, answer.n_iter + 1))
    for x in answer.history.x.values():
        np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=1e-9)
        for g, j in problem.pins:
            np.testing.assert_array_equal(x[g], np.eye(3)[j])
    np.testing.assert_array_equal(answer.x, answer.history.x[answer.n_iter])


@pytest.mark.parametrize("name", whole_problems())
@pytest.mark.parametrize("tol", [0.05, 0.01, 0.001])
def test_converged_means_small_residuals_and_an_almost_binary_x(name, tol):
    problem = whole_problems()[name]
    labels = np.random.default_rng(1).integers(3, size=40)
    answer = solve_projected(problem, Geometry(problem), labels, tol=tol)
    last = {kind: values[-1] for kind, values in answer.history.residuals.items()}
    assert set(last) == {"simplex", "box", "sphere", "totals", "pairs", "linear"}
    assert len(answer.history) == answer.n_iter < 1000
    assert answer.converged == (max(last.values()) <= tol)
    # The sphere is one for all points: a few undecided ones may hold out against a small tol.
    assert answer.converged or tol < 0.05
    if not answer.converged:
        return
    x = answer.x
    assert x.min() >= -tol
    assert x.max() <= 1.0 + tol
    # Within tol of the sphere, |x - 1/2| >= (1/2 - tol) sqrt(mk): x (1 - x) is tol on average.
    assert (x * (1.0 - x)).mean() <= tol


def test_the_residuals_are_those_of_the_state():
    problem, solver = solver_for(("pins", "apart", "soft", "sizes", "totals", "linear"))
    for _ in range(30):
        solver.step()
    residuals = solver.residuals()
    x = solver.state.x
    assert residuals["simplex"] == pytest.approx(np.abs(x.sum(axis=0) - 1).max(), abs=1e-12)
    # A copy lies in its set, so the gap to it is at least the distance to the set.
    assert residuals["box"] >= max(-x.min(), x.max() - 1.0, 0.0) - 1e-12
    sums = [problem.count @ x.T, *(total.values @ x.T for total in problem.totals)]
    bounds = [problem.sizes, *problem.totals]
    values = [problem.count, *(total.values for total in problem.totals)]
    for total, bound, value in zip(sums, bounds, values, strict=True):
        out = np.maximum(bound.lower - total, total - bound.upper).max()
        assert residuals["totals"] >= out / (np.abs(value).sum() / N_CLUSTERS) - 1e-9
    over = max((x[:, a] + x[:, b] - 1.0).max() for a, b in problem.apart)
    assert residuals["pairs"] >= over / 2 - 1e-9
    A = problem.linear.A.toarray()
    norm = np.linalg.norm(A, axis=1)
    rows = A @ x.T.ravel()
    out = np.maximum(problem.linear.lower - rows, rows - problem.linear.upper) / norm
    assert residuals["linear"] >= out.max() - 1e-9


@pytest.mark.parametrize("name", whole_problems())
def test_phases_follow_each_other_and_the_penalties_do_not_turn_back(name):
    problem = whole_problems()[name]
    geometry = Geometry(problem)
    labels = np.random.default_rng(2).integers(3, size=40)
    solver = _Solver(problem, geometry, labels, 1.0, 1.05)
    used = []
    while not solver.schedule.exhausted and len(used) < 1000:
        solver.step()
        used.append(solver.used)
    phases = [penalties.phase for penalties in used]
    assert phases == sorted(phases)
    assert set(phases) == {GRADUATE, SETTLE, HARDEN}
    assert all(np.diff([penalties.ridge for penalties in used]) <= 0)
    assert all(np.diff([penalties.sphere for penalties in used]) >= 0)
    hard = [penalties.box for penalties in used if penalties.phase == HARDEN]
    assert all(np.diff(hard) >= 0)
    assert hard[-1] > 1e3 * hard[0]


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
@pytest.mark.parametrize("name", whole_problems())
def test_the_scale_of_the_points_changes_nothing_at_all(name, factor):
    """A power of two, so that every rounding is the same too."""
    problem = whole_problems()[name]
    scaled = replace(problem, points=problem.points * factor)
    labels = np.random.default_rng(3).integers(3, size=40)
    one = solve_projected(problem, Geometry(problem), labels)
    two = solve_projected(scaled, Geometry(scaled), labels)
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.centers * factor, two.centers)


@pytest.mark.parametrize("name", ["free", "bounds", "capacity"])
def test_relabelled_starts_give_relabelled_answers(name):
    problem = whole_problems()[name]
    labels = np.random.default_rng(3).integers(3, size=40)
    other = np.array([2, 0, 1])
    one = solve_projected(problem, Geometry(problem), labels)
    two = solve_projected(problem, Geometry(problem), other[labels])
    np.testing.assert_allclose(one.x, two.x[:, other], atol=1e-6)


def test_few_iterations_are_not_called_converged():
    problem = whole_problems()["free"]
    answer = solve_projected(problem, Geometry(problem), np.arange(40) % 3, max_iter=5)
    assert (answer.n_iter, answer.converged) == (5, False)


def test_a_passed_deadline_ends_it_after_an_iteration():
    problem = whole_problems()["free"]
    answer = solve_projected(problem, Geometry(problem), np.arange(40) % 3, deadline=0.0)
    assert (answer.n_iter, answer.converged) == (1, False)
