"""The projected solver against its definition: every step written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from admm_cases import Case, projected
from scipy import sparse
from scipy.optimize import minimize

from corral.admm.projected import LEAST_METRIC
from corral.admm.schedule import GRADUATE, HARDEN, SETTLE, Schedule
from corral.deadline import Deadline
from corral.rules import LinearRows, SizeBounds, SoftPairs, TotalBounds

M, K = 7, 3
EVERY = range(1, 1001)


# --- the reference ----------------------------------------------------------------------------


def prox_of_pair(a, b, price, together, rho, r_a, r_b):
    """Minimise price + ``rho/2 (r_a (za - a)^2 + r_b (zb - b)^2)``, by cases.

    A cannot-link pays ``price max(za + zb - 1, 0)``, a must-link ``price/2 |za - zb|``.
    """
    if together:
        met = (r_a * a + r_b * b) / (r_a + r_b)
        if abs(a - met) * rho * r_a <= price / 2:  # the price holds them together
            return met, met
        side = np.sign(a - b)
        return a - side * price / 2 / (rho * r_a), b + side * price / 2 / (rho * r_b)
    if a + b <= 1.0:
        return a, b
    # On the line za + zb = 1 the force is the same on both sides.
    force = (a + b - 1.0) / (1.0 / (rho * r_a) + 1.0 / (rho * r_b))
    force = min(force, price)
    return a - force / (rho * r_a), b - force / (rho * r_b)


class Quadratic:
    """``x'Hx/2 - b'x`` over x of m rows and k columns, entry ``g * k + j`` for x_gj."""

    def __init__(self, m, k):
        self.m, self.k = m, k
        self.H, self.b = np.zeros((m * k, m * k)), np.zeros(m * k)

    def unit(self, g, j):
        row = np.zeros(self.m * self.k)
        row[g * self.k + j] = 1.0
        return row

    def add_square(self, row, target, rho):
        """Add ``rho/2 (row'x - target)^2``."""
        self.H += rho * np.outer(row, row)
        self.b += rho * target * row

    def minimise(self, pins):
        """With rows that sum to one and pinned rows at their place: one KKT system."""
        rows, values = [], []
        for g in range(self.m):
            rows.append(sum(self.unit(g, j) for j in range(self.k)))
            values.append(1.0)
        for g, cluster in pins:
            for j in range(self.k - 1):  # the last entry follows from the sum
                rows.append(self.unit(g, j))
                values.append(float(j == cluster))
        E = np.array(rows)
        system = np.block([[self.H, E.T], [E, np.zeros((len(E), len(E)))]])
        answer = np.linalg.solve(system, np.concatenate([self.b, values]))
        return answer[: self.m * self.k].reshape(self.m, self.k)


class Literal:
    """The whole method on (m, k) arrays, one dense solve an iteration."""

    def __init__(self, case, labels, rho, growth):
        self.problem = problem = case.rules
        m, k = problem.n_groups, problem.n_clusters
        self.m, self.k = m, k
        middle = np.average(case.points, axis=0, weights=case.weight)
        self.points = np.asarray(case.points) - middle
        self.unit = case.weight.mean()
        self.w = case.weight / self.unit
        self.r = np.maximum(self.w, LEAST_METRIC)
        x = np.full((m, k), 0.5 / k)
        x[np.arange(m), labels] += 0.5
        for g, j in problem.pins:
            x[g] = np.eye(k)[j]
        self.x, self.z1, self.y2 = x, x.copy(), np.zeros((m, k))
        self.z2, self.y3 = None, np.zeros((m, k))
        self._start_rules()
        self.mu = self._means(x)
        covariance = (self.w[:, None] * self.points).T @ self.points / self.w.sum()
        largest = np.linalg.eigvalsh(covariance)[-1]
        self.schedule = Schedule.start(largest, k, rho, growth)

    def _start_rules(self):
        problem = self.problem
        soft = problem.soft
        self.pairs = [(a, b, np.inf, False) for a, b in problem.apart.tolist()]
        self.pairs += [
            (a, b, price / self.unit, together)
            for (a, b), price, together in zip(
                soft.pairs.tolist(), soft.price, soft.together, strict=True
            )
        ]
        self.copies = [[self.x[a].copy(), self.x[b].copy()] for a, b, *_ in self.pairs]
        self.duals = [[np.zeros(self.k), np.zeros(self.k)] for _ in self.pairs]
        self.totals = []
        if problem.sizes is not None:
            self.totals.append((problem.count, problem.sizes.lower, problem.sizes.upper))
        self.totals += [(t.values, t.lower, t.upper) for t in problem.totals]
        exact = problem.sizes is not None and np.array_equal(*self.totals[0][1:])
        self.balanced = not exact
        if self.balanced:
            share = np.full(self.k, self.r.sum() / self.k)
            self.totals.append((self.r, share, share))
        self.total_copies = None
        self.total_duals = np.zeros((len(self.totals), self.k))
        if problem.linear is not None:
            A = problem.linear.A.toarray()
            norm = np.linalg.norm(A, axis=1)
            self.A = A / norm[:, None]
            self.low, self.high = problem.linear.lower / norm, problem.linear.upper / norm
            self.rows = np.clip(self.A @ self.x.ravel(), self.low, self.high)
            self.row_duals = np.zeros(len(A))

    def _means(self, z):
        share = self.w[:, None] * z
        return (share.T @ self.points) / share.sum(axis=0)[:, None]

    def step(self):
        squares = ((self.points[:, None] - self.mu) ** 2).sum(axis=2)
        self.scale = np.median(squares.std(axis=1))
        self.used = self.schedule.at_scale(self.scale)
        if self.used.phase > GRADUATE and self.z2 is None:
            self.z2 = self.z1.copy()
        before = self.z1
        self._update_x(squares)
        self._update_box_and_sphere()
        self.gaps = {"pairs": self._update_pairs(), "linear": self._update_rows()}
        self.gaps["totals"] = self._update_totals()
        self.mu = self._means(self.z1)
        self.schedule = self.used.after(self.scale, np.abs(self.z1 - before).sum() / self.m)

    def _update_x(self, squares):
        used, terms = self.used, Quadratic(self.m, self.k)
        stiffness = np.full(self.m, used.box + used.ridge)
        for g in range(self.m):
            for j in range(self.k):
                e = terms.unit(g, j)
                terms.b -= self.w[g] * squares[g, j] * e
                terms.add_square(e, 0.0, self.r[g] * used.ridge)
                target = self.z1[g, j] - self.y2[g, j] / used.box
                terms.add_square(e, target, self.r[g] * used.box)
                if self.z2 is not None:
                    target = self.z2[g, j] - self.y3[g, j] / used.sphere
                    terms.add_square(e, target, self.r[g] * used.sphere)
        if self.z2 is not None:
            stiffness += used.sphere
        self._add_pairs(terms, stiffness)
        self._add_rows(terms, stiffness)
        plain = terms.minimise(self.problem.pins)
        self._add_totals(terms, self.r * stiffness, plain)
        self.x = terms.minimise(self.problem.pins)

    def _add_pairs(self, terms, stiffness):
        rho = self.used.box
        for (a, b, *_), copies, duals in zip(self.pairs, self.copies, self.duals, strict=True):
            for g, z, y in zip((a, b), copies, duals, strict=True):
                stiffness[g] += rho
                for j in range(self.k):
                    terms.add_square(terms.unit(g, j), z[j] - y[j] / rho, self.r[g] * rho)

    def _add_rows(self, terms, stiffness):
        """Linear rows by their slope at the last x and a diagonal that is steeper than they."""
        if self.problem.linear is None:
            return
        rho, x = self.used.box, self.x.ravel()
        slope = self.A.T @ (self.row_duals + rho * (self.A @ x - self.rows))
        size = np.abs(self.A)
        steep = (size.T @ size.sum(axis=1)).reshape(self.m, self.k).max(axis=1)
        gap = np.diag(np.repeat(steep, self.k)) - self.A.T @ self.A
        assert np.linalg.eigvalsh(gap).min() > -1e-9
        terms.b -= slope
        for g in range(self.m):
            stiffness[g] += rho * steep[g] / self.r[g]
            for j in range(self.k):
                terms.add_square(terms.unit(g, j), x[g * self.k + j], rho * steep[g])

    def _add_totals(self, terms, stiffness, plain):
        """Each total's penalty is that at which it weighs as much as the rest of the system."""
        free = np.setdiff1d(np.arange(self.m), self.problem.pins[:, 0])
        self.total_rho = [1.0 / np.sum(t[free] ** 2 / stiffness[free]) for t, *_ in self.totals]
        if self.balanced:
            self.total_rho[-1] = self.used.ridge * self.k / self.r.sum()
        if self.total_copies is None:
            self.total_copies = self._within([t @ plain for t, *_ in self.totals])
        for q, (t, *_) in enumerate(self.totals):
            rho = self.total_rho[q]
            for j in range(self.k):
                row = sum(t[g] * terms.unit(g, j) for g in range(self.m))
                target = self.total_copies[q][j] - self.total_duals[q, j] / rho
                terms.add_square(row, target, rho)

    def _within(self, totals):
        """Totals moved into their bounds, those of free sizes in the order of the totals."""
        moved = []
        for q, ((_, low, high), total) in enumerate(zip(self.totals, totals, strict=True)):
            if q == 0 and self.problem.sizes is not None and not self.problem.sizes.ordered:
                bounds = sorted(zip(low, high, strict=True))
                rank = np.argsort(np.argsort(total, kind="stable"), kind="stable")
                low, high = np.array([bounds[r] for r in rank]).T
            moved.append(np.clip(total, low, high))
        return moved

    def _update_box_and_sphere(self):
        used = self.used
        self.z1 = np.clip(self.x + self.y2 / used.box, 0.0, 1.0)
        self.y2 = self.y2 + used.box * (self.x - self.z1)
        if self.z2 is not None:
            wanted = self.x + self.y3 / used.sphere - 0.5
            norm = np.sqrt(np.sum(self.r[:, None] * wanted**2))
            self.z2 = 0.5 + wanted * 0.5 * np.sqrt(self.k * self.r.sum()) / norm
            self.y3 = self.y3 + used.sphere * (self.x - self.z2)

    def _update_pairs(self):
        rho, worst = self.used.box, 0.0
        for (a, b, price, together), z, y in zip(self.pairs, self.copies, self.duals, strict=True):
            for j in range(self.k):
                wanted = self.x[a, j] + y[0][j] / rho, self.x[b, j] + y[1][j] / rho
                z[0][j], z[1][j] = prox_of_pair(*wanted, price, together, rho, self.r[a], self.r[b])
            for side, g in enumerate((a, b)):
                y[side] += rho * (self.x[g] - z[side])
                worst = max(worst, np.abs(self.x[g] - z[side]).max())
        return worst

    def _update_rows(self):
        if self.problem.linear is None:
            return 0.0
        value = self.A @ self.x.ravel()
        self.rows = np.clip(value + self.row_duals / self.used.box, self.low, self.high)
        self.row_duals = self.row_duals + self.used.box * (value - self.rows)
        return np.abs(value - self.rows).max()

    def _update_totals(self):
        rho = np.array(self.total_rho)[:, None]
        totals = np.array([t @ self.x for t, *_ in self.totals])
        self.total_copies = self._within(totals + self.total_duals / rho)
        gap = totals - self.total_copies
        self.total_duals = self.total_duals + rho * gap
        if self.balanced:
            self.total_duals[-1] = 0.0
        unit = [np.abs(t).sum() / self.k for t, *_ in self.totals]
        real = len(self.totals) - self.balanced
        return max((np.abs(gap[q]).max() / unit[q] for q in range(real)), default=0.0)


# --- the solver equals it ---------------------------------------------------------------------


def some_problem(kinds, seed=0):
    """Seven groups of uneven weights and counts, and rules of the kinds named."""
    rng = np.random.default_rng(seed)
    made = {}
    if "pins" in kinds:
        made["pins"] = np.array([[1, 2], [5, 0]])
    if "apart" in kinds:
        made["apart"] = np.array([[0, 2], [2, 3], [1, 6]])
    if "soft" in kinds:
        pairs = np.array([[0, 4], [3, 5], [2, 6]])
        made["soft"] = SoftPairs(pairs, np.array([0.4, 2.0, 0.7]), np.array([True, False, True]))
    if "exact sizes" in kinds:
        made["sizes"] = SizeBounds(np.array([2, 4, 3]), np.array([2, 4, 3]), ordered=True)
    if "sizes" in kinds:
        made["sizes"] = SizeBounds(np.array([1, 4, 3]), np.array([3, 4, 6]), ordered=True)
    if "loose sizes" in kinds:
        made["sizes"] = SizeBounds(np.array([1, 4, 3]), np.array([2, 5, 3]), ordered=False)
    if "totals" in kinds:
        made["totals"] = (
            TotalBounds(rng.uniform(1.0, 4.0, M), np.full(K, -np.inf), np.array([6.0, 7.0, 8.0])),
            TotalBounds(rng.normal(size=M), np.full(K, -0.5), np.full(K, 1.5)),
        )
    if "linear" in kinds:
        A = np.round(rng.normal(size=(2, M * K)), 1) * (rng.random((2, M * K)) < 0.4)
        bounds = np.array([-np.inf, 0.5]), np.array([0.3, 0.5])
        made["linear"] = LinearRows(sparse.csr_array(A), *bounds)
    return Case(
        points=rng.normal(size=(M, 2)) + 3.0,
        weight=np.ones(M) if "unweighted" in kinds else rng.uniform(0.5, 3.0, M),
        count=np.ones(M, int) if "unweighted" in kinds else np.array([1, 2, 1, 1, 2, 1, 1]),
        n_clusters=K,
        **made,
    )


MIXTURES = [
    ("unweighted",),
    ("weighted",),
    ("pins",),
    ("apart",),
    ("soft",),
    ("exact sizes",),
    ("unweighted", "loose sizes"),
    ("sizes",),
    ("loose sizes",),
    ("totals",),
    ("linear",),
    ("apart", "soft", "sizes"),
    ("pins", "exact sizes", "totals"),
    ("pins", "apart", "soft", "loose sizes", "totals", "linear"),
]


@pytest.mark.parametrize("kinds", MIXTURES, ids=" + ".join)
def test_every_iteration_is_the_literal_one(kinds):
    """With a fast schedule, so that 30 iterations go through graduating and settling."""
    problem = some_problem(kinds)
    labels = np.random.default_rng(1).integers(K, size=M)
    answer = projected(problem, labels, rho=0.8, rho_growth=1.4, max_iter=30, record_x=EVERY)
    literal = Literal(problem, labels, 0.8, 1.4)
    phases = set()
    for iteration in range(1, answer.n_iter + 1):
        literal.step()
        phases.add(literal.used.phase)
        x = answer.history.x[iteration]
        np.testing.assert_allclose(x, literal.x, atol=1e-7, err_msg=f"iteration {iteration}")
        assert answer.history.rho[iteration - 1] == pytest.approx(literal.used.box, rel=1e-7)
        for name, gap in literal.gaps.items():
            assert answer.history.residuals[name][iteration - 1] == pytest.approx(gap, abs=1e-7)
    np.testing.assert_allclose(answer.centers, literal.mu, atol=1e-7)
    assert phases >= {GRADUATE, SETTLE}


PAIR_CASES = [
    (price, together, rho, weights)
    for price, together in ((np.inf, False), (0.3, False), (2.0, False), (0.3, True), (2.0, True))
    for rho in (0.2, 5.0)
    for weights in ((1.0, 1.0), (0.4, 2.5))
]


def numerical_prox(a, b, price, together, rho, r_a, r_b):
    """The same minimum over the two copies and a slack that is paid for."""
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
    for a, b in [*rng.uniform(-0.2, 1.2, (4, 2)), (1.0, 1.0), (0.0, 1.0), (0.3, 0.3)]:
        found = prox_of_pair(a, b, price, together, rho, *weights)
        nearest = numerical_prox(a, b, price, together, rho, *weights)
        np.testing.assert_allclose(found, nearest, atol=2e-5)


# --- laws of whole runs -----------------------------------------------------------------------


def blobs(m=40, k=3):
    rng = np.random.default_rng(7)
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
    return Case(
        points=centers[np.arange(m) % k] + 0.5 * rng.normal(size=(m, 2)),
        weight=np.ones(m),
        n_clusters=k,
    )


EXACT = SizeBounds(np.array([12, 13, 15]), np.array([12, 13, 15]), ordered=True)
BOUNDS = SizeBounds(np.array([10, 10, 10]), np.array([16, 16, 16]), ordered=False)
APART = np.array([[0, 3], [1, 4], [3, 6]])
CAPACITY = TotalBounds(np.linspace(1, 3, 40), np.full(3, -np.inf), np.full(3, 30.0))
WHOLE = {
    "free": blobs(),
    "sizes": replace(blobs(), sizes=EXACT),
    "bounds": replace(blobs(), sizes=BOUNDS, apart=APART),
    "pins": replace(blobs(), pins=np.array([[0, 1], [1, 1], [5, 0]]), apart=APART),
    "capacity": replace(blobs(), totals=(CAPACITY,)),
}


def run(problem, seed=0, **options):
    labels = np.random.default_rng(seed).integers(problem.n_clusters, size=len(problem.points))
    return projected(problem, labels, **options)


@pytest.mark.parametrize("name", WHOLE)
def test_rows_sum_to_one_and_pins_stay_at_every_iteration(name):
    answer = run(WHOLE[name], record_x=EVERY)
    assert list(answer.history.x) == list(range(1, answer.n_iter + 1))
    for x in answer.history.x.values():
        np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=1e-9)
        for g, j in WHOLE[name].rules.pins:
            np.testing.assert_allclose(x[g], np.eye(3)[j], atol=1e-12)
    np.testing.assert_array_equal(answer.x, answer.history.x[answer.n_iter])


@pytest.mark.parametrize("tol", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("name", WHOLE)
def test_converged_means_small_residuals_and_an_almost_binary_x(name, tol):
    answer = run(WHOLE[name], tol=tol)
    last = {kind: values[-1] for kind, values in answer.history.residuals.items()}
    assert set(last) == {"simplex", "box", "sphere", "totals", "pairs", "linear"}
    assert len(answer.history) == answer.n_iter < 1000
    assert answer.converged == (max(last.values()) <= tol)
    # The sphere is one for all points: a few undecided ones may hold out against a small tol.
    assert answer.converged or tol < 0.1
    if not answer.converged:
        return
    x = answer.x
    outside = x - np.clip(x, 0.0, 1.0)
    assert np.sqrt(np.mean(outside**2)) <= tol
    assert np.mean(x * (1.0 - x)) <= tol
    sums = {"sizes": np.ones(40), "bounds": np.ones(40), "capacity": CAPACITY.values}
    bounds = {"sizes": EXACT, "bounds": BOUNDS, "capacity": CAPACITY}
    if name in sums:
        total, bound = sums[name] @ x, bounds[name]
        miss = np.maximum(bound.lower - total, total - bound.upper).max()
        assert miss <= tol * sums[name].sum() / 3 + 1e-9
    if len(WHOLE[name].rules.apart):
        over = (x[APART[:, 0]] + x[APART[:, 1]] - 1.0).max()
        assert over <= 2 * tol + 1e-9


def test_well_separated_blobs_are_told_apart_from_any_start():
    truth = np.arange(40) % 3
    for seed in range(5):
        labels = run(WHOLE["free"], seed=seed).labels
        np.testing.assert_array_equal(
            labels[:, None] == labels[None, :], truth[:, None] == truth[None, :]
        )


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
@pytest.mark.parametrize("name", WHOLE)
def test_the_scale_of_the_points_changes_nothing_at_all(name, factor):
    """A power of two, so that every rounding is the same too."""
    scaled = replace(WHOLE[name], points=WHOLE[name].points * factor)
    one, two = run(WHOLE[name]), run(scaled)
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.centers * factor, two.centers)
    np.testing.assert_array_equal(one.history.objective * factor**2, two.history.objective)


@pytest.mark.parametrize("name", ["free", "bounds", "capacity"])
def test_relabelled_starts_give_relabelled_answers(name):
    problem, other = WHOLE[name], np.array([2, 0, 1])
    labels = np.random.default_rng(3).integers(3, size=40)
    one, two = projected(problem, labels), projected(problem, other[labels])
    np.testing.assert_allclose(one.x, two.x[:, other], atol=1e-6)


def test_a_weight_that_all_share_is_no_weight():
    heavy = replace(WHOLE["bounds"], weight=np.full(40, 8.0))
    np.testing.assert_array_equal(run(heavy).x, run(WHOLE["bounds"]).x)


def test_a_point_of_weight_two_does_what_two_points_do():
    """In one step, and where the twin is the median, so that the costs' scale is the same."""
    rng = np.random.default_rng(4)
    points, start = rng.normal(size=(7, 2)), np.array([0, 1, 2, 0, 1, 2, 0])
    demand = rng.uniform(1.0, 2.0, 7)
    sizes = SizeBounds(np.array([1, 2, 2]), np.array([3, 3, 4]), ordered=True)
    limits = (np.full(3, -np.inf), np.array([3.0, 4.0, 5.0]))

    def one_step(rows, twice):
        problem = Case(
            points=points[rows],
            weight=twice.astype(float),
            count=twice,
            n_clusters=3,
            sizes=sizes,
            totals=(TotalBounds(demand[rows] * twice, *limits),),
        )
        return projected(problem, start[rows], max_iter=1)

    compared = 0
    for heavy in range(7):
        twice = np.where(np.arange(7) == heavy, 2, 1)
        rows = np.append(np.arange(7), heavy)
        one, two = one_step(np.arange(7), twice), one_step(rows, np.ones(8, int))
        if one.history.rho[0] == pytest.approx(two.history.rho[0], rel=1e-9):
            compared += 1
            np.testing.assert_allclose(one.x[rows], two.x, atol=1e-10)
            np.testing.assert_allclose(one.centers, two.centers, atol=1e-10)
    assert compared


def test_phases_follow_each_other_and_the_penalties_do_not_turn_back():
    rng = np.random.default_rng(0)
    for _ in range(20):
        schedule = Schedule.start(
            rng.uniform(0.1, 10), 3, rng.uniform(0.3, 3), rng.uniform(1.01, 1.4)
        )
        used, scale = [], 1.0
        while not schedule.exhausted(scale) and len(used) < 5000:
            scale = rng.uniform(0.5, 2.0)
            used.append(schedule.at_scale(scale))
            schedule = used[-1].after(scale, 10.0 ** rng.uniform(-6, 0))
        phases = [penalties.phase for penalties in used]
        assert phases == sorted(phases)
        assert set(phases) == {GRADUATE, SETTLE, HARDEN}
        assert all(np.diff([penalties.ridge for penalties in used]) < 0)
        assert all(np.diff([penalties.sphere for penalties in used]) >= 0)
        hard = [penalties.box for penalties in used if penalties.phase == HARDEN]
        assert all(np.diff(hard) >= 0)
        assert hard[-1] > 100 * hard[0]
        assert min(penalties.box for penalties in used) > 0


def test_few_iterations_are_not_called_converged():
    answer = run(WHOLE["free"], max_iter=5)
    assert (answer.n_iter, answer.converged) == (5, False)


def test_a_passed_deadline_ends_it_after_an_iteration():
    answer = run(WHOLE["free"], deadline=Deadline.after(0.0))
    assert (answer.n_iter, answer.converged) == (1, False)


def test_progress_is_told_of_every_iteration():
    told = []
    answer = run(WHOLE["sizes"], progress=lambda *news: told.append(news))
    iterations, objectives, residuals, broken = zip(*told, strict=True)
    assert iterations == tuple(range(1, answer.n_iter + 1))
    np.testing.assert_array_equal(objectives, answer.history.objective)
    worst = np.max(list(answer.history.residuals.values()), axis=0)
    np.testing.assert_array_equal(residuals, worst)
    np.testing.assert_array_equal(broken, answer.history.card_violations)
