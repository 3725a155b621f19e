"""Mixed groups: optima of small problems, large ones beside exchanges, batches, folds, a class.

    python benchmarks/mixed.py                  # all, some minutes
    python benchmarks/mixed.py small batches    # some of: small, large, many, batches, folds, class

The published exchange method (fast anticlustering, Papenberg and Klau) starts from random groups.
Each row in turn is compared with some random rows of other groups, and changes places with the one
that raises the inertia most.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
import warnings

import numba
import numpy as np
from scipy.spatial.distance import pdist, squareform

from corral import (
    CannotLink,
    ClusterSizes,
    ConstraintSet,
    GroupShares,
    MixedGroups,
    MixedKFold,
    MustLink,
    Pin,
)


def standardised(points):
    """Columns about their means in standard deviations."""
    spread = points.std(axis=0)
    return (points - points.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def value(objective, points, labels, k):
    """The objective of labels (l, n), from its definition."""
    seen = standardised(points)
    member = (labels[:, :, None] == np.arange(k)).astype(float)
    if objective == "diversity":
        distance = squareform(pdist(seen))
        return np.einsum("lik,im,lmk->l", member, distance, member, optimize=True) / 2.0
    if objective == "moments":
        seen = np.hstack([seen, standardised(seen**2)])
    sums = np.einsum("lik,id->lkd", member, seen)
    size = np.maximum(member.sum(axis=1), 1.0)
    return (seen**2).sum() - ((sums**2).sum(axis=2) / size).sum(axis=1)


def some_rules(rng, n, k):
    """Rules that some labels obey."""
    hidden = rng.permutation(np.arange(n) % k)
    pairs = rng.permutation(np.array(list(itertools.combinations(range(n), 2))))[:6]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    rules = [MustLink(pairs[same][:1]), CannotLink(pairs[~same][:3])]
    if rng.random() < 0.4:
        rules.append(ClusterSizes(np.bincount(hidden, minlength=k).tolist(), ordered=True))
        rules.append(Pin({0: int(hidden[0])}))
    if rng.random() < 0.3:
        kind = rng.integers(0, 2, n)
        share = min(np.mean(kind[hidden == j] == 0) for j in range(k))
        rules.append(GroupShares(kind, minimum={0: float(share)} if (kind == 0).any() else None))
    return rules


def small():
    """Brute force on 300 small problems with rules."""
    best, broken, off = 0, 0, []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, k = [(8, 2), (10, 2), (7, 3), (8, 3), (9, 3)][seed % 5]
        objective = ["means", "moments", "diversity"][seed % 3]
        points = rng.normal(size=(n, 1 + seed % 3)).round(2)
        rules = ConstraintSet(some_rules(rng, n, k))
        labels = np.array(list(itertools.product(range(k), repeat=n)))
        sizes = (labels[:, :, None] == np.arange(k)).sum(axis=1)
        if not rules.of_kind(ClusterSizes):
            even = np.ptp(sizes, axis=1) <= 1
            labels = labels[even]
        good = [all(v.count == 0 for v in rules.violations(each, k)) for each in labels]
        found = value(objective, points, labels[good], k)
        model = MixedGroups(k, objective, random_state=0).fit(points, constraints=rules)
        broken += not model.report_.feasible
        # Where no even groups obey the rules there is nothing to compare with.
        gap = 0.0 if not len(found) else (found.max() - model.inertia_) / max(found.max(), 1e-300)
        best += gap <= 1e-9
        if gap > 1e-9:
            off.append((seed, objective, gap))
    print(f"small: optimum in {best} of 300, {broken} with a broken rule; others: {off}")


@numba.njit
def exchanged(points, labels, k, partners, passes, seed):
    """The published exchange method; the loss of the groups, ``sum |S|^2 / n``."""
    np.random.seed(seed)
    n, d = points.shape
    sums, size = np.zeros((k, d)), np.zeros(k)
    for i in range(n):
        size[labels[i]] += 1.0
        for f in range(d):
            sums[labels[i], f] += points[i, f]
    for _ in range(passes):
        for i in range(n):
            a, best, chosen = labels[i], -1e-14, -1
            for _ in range(partners):
                g = np.random.randint(n)
                b = labels[g]
                if a == b:
                    continue
                along, far, square = 0.0, 0.0, 0.0
                for f in range(d):
                    step = points[g, f] - points[i, f]
                    square += step * step
                    along += step * sums[a, f]
                    far += step * sums[b, f]
                rise = (2.0 * along + square) / size[a] + (square - 2.0 * far) / size[b]
                if rise < best:
                    best, chosen = rise, g
            if chosen >= 0:
                b = labels[chosen]
                for f in range(d):
                    step = points[chosen, f] - points[i, f]
                    sums[a, f] += step
                    sums[b, f] -= step
                labels[i], labels[chosen] = b, a
    return ((sums**2).sum(axis=1) / size).sum()


def beside(n, d, k, trials):
    """One large problem beside exchanges."""
    points = np.random.default_rng(0).normal(size=(n, d))
    MixedGroups(2, random_state=0).fit(points[:20])  # compiles, or loads what was compiled
    exchanged(points[:100].copy(), np.arange(100) % 5, 5, 2, 1, 0)
    start, used = time.perf_counter(), time.process_time()
    model = MixedGroups(k, random_state=0).fit(points)
    loss = model.report_.most - model.inertia_
    print(
        f"{n:,} x {d} in {k:,} groups: corral {time.perf_counter() - start:.1f} s "
        f"({time.process_time() - used:.1f} s of one core), loss {loss:.3g}, "
        f"1 - share {1.0 - model.report_.share:.2g}, imbalance {model.report_.imbalance:.2g}, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB"
    )
    seen = standardised(points)
    for partners, passes in trials:
        labels = np.random.default_rng(1).permutation(n) % k
        used = time.process_time()
        loss = exchanged(seen, labels, k, partners, passes, 0)
        print(
            f"  exchanges, {partners} partners, {passes} passes: "
            f"{time.process_time() - used:.1f} s of one core, loss {loss:.3g}"
        )


def large():
    """250,000 rows in 100 groups."""
    beside(250_000, 2, 100, [(10, 1), (50, 1), (100, 1)])


def many():
    """A million rows in 10,000 groups."""
    beside(1_000_000, 16, 10_000, [(10, 1), (30, 1)])


def batches():
    """320 samples of patients in 20 batches, with three categories, over 10 seeds."""
    for of_patients in (False, True):
        made = [one_batching(seed, of_patients) for seed in range(10)]
        print(f"batches, categories of {'patients' if of_patients else 'samples'}:")
        names = ("uneven rows", "seconds", "of one core", "share", "imbalance")
        for name, column in zip(names, zip(*made, strict=True), strict=True):
            print(f"  {name}: {', '.join(f'{x:.4g}' for x in column)}")


def one_batching(seed, of_patients):
    """Rows of categories that are too many or too few, seconds, share and imbalance."""
    rng = np.random.default_rng(seed)
    number = rng.integers(1, 5, 320)
    number = number[: np.searchsorted(np.cumsum(number), 320) + 1]
    number[-1] -= number.sum() - 320
    patient = np.repeat(np.arange(len(number)), number)
    rows = np.flatnonzero(np.diff(patient) == 0)
    drawn = len(number) if of_patients else 320
    categories = [rng.integers(0, levels, drawn) for levels in (2, 3, 4)]
    categories = [each[patient] if of_patients else each for each in categories]
    points = rng.normal(size=(320, 3)) + rng.normal(size=(len(number), 3))[patient]
    table = np.column_stack([points.astype(object), *(c.astype(str) for c in categories)])
    rules = [MustLink(np.column_stack([rows, rows + 1])), ClusterSizes([16] * 20)]
    start, used = time.perf_counter(), time.process_time()
    model = MixedGroups(20, random_state=0).fit(table, constraints=rules)
    assert model.report_.feasible
    seconds = time.perf_counter() - start, time.process_time() - used
    return model.report_.balance.uneven, *seconds, model.report_.share, model.report_.imbalance


def folds():
    """Spread of the scores of five folds, over 50 repetitions."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for name, load in (("digits", load_digits), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        linear = make_pipeline(StandardScaler(), RidgeClassifier())
        kinds = {
            "StratifiedKFold": lambda seed: StratifiedKFold(5, shuffle=True, random_state=seed),
            "MixedKFold": lambda seed: MixedKFold(5, random_state=seed),
            "MixedKFold moments": lambda seed: MixedKFold(
                5, objective="moments", random_state=seed
            ),
        }
        for kind, make in kinds.items():
            used = time.process_time()
            scores = np.array([cross_val_score(linear, X, y, cv=make(seed)) for seed in range(50)])
            spread, mean = scores.std(axis=1, ddof=1), scores.mean(axis=1)
            error = spread.std(ddof=1) / np.sqrt(len(spread))
            print(
                f"{name}, {kind}: spread of fold scores {100 * spread.mean():.3f} +- "
                f"{100 * error:.3f} %, mean score {100 * mean.mean():.2f} %, of repetitions "
                f"{100 * mean.std(ddof=1):.3f} %; {(time.process_time() - used) / 50:.2f} s each"
            )


TOGETHER, APART = [(0, 3), (5, 8)], [(0, 1), (9, 10)]


def classlist():
    """31 students with two scores, gender and needs, friends and rivals, beside an exact solver.

    The solver makes the largest difference of a mean smallest; the means that corral makes alike
    are those of squares.
    """
    for scale, seed in itertools.product((20, 100), range(3)):
        rng = np.random.default_rng(seed)
        scores, gender = rng.integers(0, scale + 1, (31, 2)), rng.choice(["f", "m"], 31)
        needs = rng.choice(["none", "none", "none", "support"], 31)
        table = np.column_stack([scores.astype(object), gender, needs])
        used = time.process_time()
        model = MixedGroups(6, random_state=0)
        model.fit(table, constraints=[MustLink(TOGETHER), CannotLink(APART)])
        used, balance = time.process_time() - used, model.report_.balance
        found, least = nearest_means(scores, (gender, needs), [6, 5, 5, 5, 5, 5])
        print(
            f"class list, 0 to {scale} points: largest difference of a mean "
            f"{np.abs(balance.means - balance.mean).max():.2f} points after {used:.2f} s, "
            f"{balance.uneven} uneven; CP-SAT {found:.2f} after 20 s, at least {least:.2f}"
        )


def nearest_means(scores, categories, sizes, seconds=20.0):
    """The least largest difference of a mean from that of all that CP-SAT finds, and its bound."""
    from ortools.sat.python import cp_model

    n, k, model = len(scores), len(sizes), cp_model.CpModel()
    here = [[model.new_bool_var("") for _ in range(k)] for _ in range(n)]
    unit = n * int(np.lcm.reduce(sizes))
    worst = model.new_int_var(0, unit * int(scores.max()), "")
    for row in here:
        model.add_exactly_one(row)
    for (a, b), j in itertools.product(TOGETHER, range(k)):
        model.add(here[a][j] == here[b][j])
    for (a, b), j in itertools.product(APART, range(k)):
        model.add(here[a][j] + here[b][j] <= 1)
    for j, size in enumerate(sizes):
        model.add(sum(row[j] for row in here) == size)
        for words in categories:
            for level in set(words):
                own = np.flatnonzero(words == level)
                number, wanted = sum(here[i][j] for i in own), len(own) * size / n
                model.add(number >= int(np.floor(wanted + 1e-9)))
                model.add(number <= int(np.ceil(wanted - 1e-9)))
        for column in scores.T.tolist():
            total = sum(value * row[j] for value, row in zip(column, here, strict=True))
            away = (n * total - size * sum(column)) * (unit // (n * size))
            model.add_abs_equality(worst_of := model.new_int_var(0, unit * max(column), ""), away)
            model.add(worst_of <= worst)
    model.minimize(worst)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.solve(model)
    return solver.objective_value / unit, solver.best_objective_bound / unit


PARTS = {
    "small": small,
    "large": large,
    "many": many,
    "batches": batches,
    "folds": folds,
    "class": classlist,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    warnings.simplefilter("ignore")
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()
