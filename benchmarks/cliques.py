"""Cannot-links in cliques and at random, against Lloyd's method with an exact assignment.

    python benchmarks/cliques.py            # disjoint cliques, with and without equal sizes
    python benchmarks/cliques.py random     # 5 random cannot-links a point; the reference has 60 s
    python benchmarks/cliques.py --quick    # fewer and smaller ones of either
    python benchmarks/cliques.py random --jobs 12 --seeds 3  # three draws, in 12 processes

In a clique no two rows share a cluster.  Without sizes the reference assigns each clique by the
Hungarian method and every other row to its nearest centre.  With sizes one min-cost flow assigns
all rows exactly, because disjoint cliques and sizes are nested.  Reference and corral start from
the same k-means++ centres.  For random links an integer program assigns all rows in each round,
until the time is over; its best answer counts.

A line gives objectives, processor seconds, and whether corral is above the reference ("ABOVE") or,
for cliques, slower than 5 times its time plus 1 s ("SLOW").  The status is 1 if a line says so.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from corral import CannotLink, ClusterSizes, ConstrainedKMeans

STARTS = 5
#: Seconds of the reference for random links.
REFERENCE = 60.0

Assign = Callable[[np.ndarray], np.ndarray]
#: A line of the report, and whether it says that something is wrong.
Line = tuple[str, bool]


def cliques_of(rng, n, size):
    """As many disjoint cliques of random rows as there are rows for, a row each."""
    rows = rng.permutation(n)[: n // size * size]
    return rows.reshape(-1, size)


def pairs_of(cliques):
    """All pairs inside the cliques."""
    first, second = np.triu_indices(cliques.shape[1], 1)
    return np.column_stack([cliques[:, first].ravel(), cliques[:, second].ravel()])


def hungarian(cliques: np.ndarray) -> Assign:
    """Each clique by the Hungarian method, all other rows to the nearest centre."""

    def assign(cost):
        labels = cost.argmin(axis=1)
        for clique in cliques:
            labels[clique] = linear_sum_assignment(cost[clique])[1]
        return labels

    return assign


def flow(cliques: np.ndarray, sizes: np.ndarray, n: int) -> Assign:
    """Rows to places (clique, cluster) of one row each, places to clusters of given sizes."""
    k = len(sizes)
    of_row = np.arange(len(cliques), len(cliques) + n)  # rows outside have a place of their own
    of_row[cliques.ravel()] = np.repeat(np.arange(len(cliques)), cliques.shape[1])
    place = n + (of_row[:, None] * k + np.arange(k))
    used = np.unique(place)
    last = used.max() + 1
    tails = np.concatenate([np.repeat(np.arange(n), k), used])
    heads = np.concatenate([place.ravel(), last + (used - n) % k])
    supply = np.concatenate([np.ones(n, np.int64), -sizes])
    nodes = np.concatenate([np.arange(n), last + np.arange(k)])

    def assign(cost):
        whole = np.rint(cost * (1e9 / cost.max())).astype(np.int64)
        solver = SimpleMinCostFlow()
        price = np.concatenate([whole.ravel(), np.zeros(len(used), np.int64)])
        arcs = solver.add_arcs_with_capacity_and_unit_cost(tails, heads, np.ones_like(tails), price)
        solver.set_nodes_supplies(nodes, supply)
        if solver.solve() != solver.OPTIMAL:
            raise RuntimeError("the flow has no answer")
        return solver.flows(arcs)[: n * k].reshape(n, k).argmax(axis=1)

    return assign


def program(pairs: np.ndarray, n: int, k: int, end: float) -> Assign:
    """An integer program with a row for each pair and cluster, until the clock says ``end``."""
    first, second = ((side[:, None] * k + np.arange(k)).ravel() for side in pairs.T)
    number = np.arange(len(first))
    one = np.ones(len(first))
    shape = (len(first), n * k)
    apart = sparse.csr_array(
        (np.r_[one, one], (np.r_[number, number], np.r_[first, second])), shape=shape
    )
    single = sparse.kron(sparse.eye_array(n), np.ones((1, k)), format="csr")
    rules = [LinearConstraint(single, 1, 1), LinearConstraint(apart, -np.inf, 1)]

    def assign(cost):
        left = end - time.monotonic()
        if left <= 0:
            return None
        found = milp(
            cost.ravel(),
            constraints=rules,
            integrality=np.ones(n * k),
            bounds=Bounds(0, 1),
            options={"time_limit": left},
        )
        return None if found.x is None else found.x.reshape(n, k).argmax(axis=1)

    return assign


def lloyd(X: np.ndarray, centers: np.ndarray, assign: Assign) -> float:
    """The best inertia of assignment and means in turn, until it stops falling."""
    best = np.inf
    while True:
        labels = assign(euclidean_distances(X, centers, squared=True))
        if labels is None:
            return best
        for j in np.unique(labels):
            centers[j] = X[labels == j].mean(axis=0)
        inertia = float(np.square(X - centers[labels]).sum())
        if inertia >= best * (1 - 1e-12):
            return min(best, inertia)
        best = inertia


def timed(call: Callable[[], float]) -> tuple[float, float]:
    """What the call gives, and its seconds of processor time."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = call()
    return found, time.process_time() - began


def report(name: str, ours: tuple[float, float], theirs: tuple[float, float], limit: float) -> Line:
    """A line; it is bad if corral is above the reference or takes longer than the limit."""
    above, slow = ours[0] > theirs[0] * (1 + 1e-9), ours[1] > limit
    verdict = " ABOVE" * above + " SLOW" * slow or " ok"
    line = (
        f"{name:38s} corral {ours[0]:11.2f} {ours[1]:6.2f} s   reference {theirs[0]:11.2f} "
        f"{theirs[1]:6.2f} s   {100 * (ours[0] / theirs[0] - 1):+8.3f} %{verdict}"
    )
    return line, above or slow


def disjoint(seed: int, k: int, size: int, sized: bool) -> list[Line]:
    """The clique problem: corral's default, and corral from the starts of the reference."""
    n = 1500
    rng = np.random.default_rng(seed)
    X, _ = make_blobs(n, 4, centers=k, cluster_std=2.0, random_state=seed)
    cliques = cliques_of(rng, n, size)
    rules = [CannotLink(pairs_of(cliques))]
    assign = hungarian(cliques)
    if sized:
        sizes = np.full(k, n // k)
        rules.append(ClusterSizes(sizes))
        assign = flow(cliques, sizes, n)
    starts = [kmeans_plusplus(X, k, random_state=seed + i)[0] for i in range(STARTS)]

    def fit(**options):
        return ConstrainedKMeans(k, random_state=seed, **options).fit(X, constraints=rules).inertia_

    theirs = timed(lambda: min(lloyd(X, centers.copy(), assign) for centers in starts))
    same = timed(lambda: min(fit(init=centers) for centers in starts))
    limit = 5 * theirs[1] + 1
    name = f"k={k} cliques of {size}{', sizes' * sized}, seed {seed}"
    return [
        report(name + ", same starts", same, theirs, limit),
        report(name, timed(fit), theirs, limit),
    ]


def random(seed: int, n: int, k: int) -> list[Line]:
    """Random cannot-links: corral's default against exact programs."""
    rng = np.random.default_rng(seed)
    X, _ = make_blobs(n, 4, centers=k, cluster_std=2.0, random_state=seed)
    pairs = rng.integers(0, n, (5 * n, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    model = ConstrainedKMeans(k, random_state=seed)
    ours = timed(lambda: model.fit(X, constraints=[CannotLink(pairs)]).inertia_)
    start = kmeans_plusplus(X, k, random_state=seed)[0]
    theirs = timed(lambda: lloyd(X, start, program(pairs, n, k, time.monotonic() + REFERENCE)))
    return [report(f"n={n} k={k}, 5 random links a point, seed {seed}", ours, theirs, np.inf)]


def main() -> int:
    """Run the cliques or the random links."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kind", nargs="?", choices=["cliques", "random"], default="cliques")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems")
    parser.add_argument("--seeds", type=int, help="draws of each problem")
    parser.add_argument("--points", type=int, nargs="+", default=[500, 1500, 5000])
    parser.add_argument("--clusters", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    given = parser.parse_args()
    if given.kind == "random":
        points = given.points[: 1 if given.quick else None]
        seeds = range(given.seeds or 1)
        work = [
            delayed(random)(seed, n, k) for n in points for k in given.clusters for seed in seeds
        ]
    else:
        shapes = [(10, 5), (10, 9), (10, 10), (30, 29), (30, 30)]
        seeds = range(given.seeds or (1 if given.quick else 3))
        work = [
            delayed(disjoint)(seed, k, size, sized)
            for k, size in shapes
            for sized in (False, True)
            for seed in seeds
        ]
    bad = []
    for lines in Parallel(n_jobs=given.jobs, return_as="generator")(work):
        print(*(line for line, _ in lines), sep="\n", flush=True)
        bad.append(any(wrong for _, wrong in lines))
    print(f"{sum(bad)} of {len(bad)} above the reference or slow")
    return int(any(bad))


if __name__ == "__main__":
    sys.exit(main())
