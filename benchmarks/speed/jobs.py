"""The jobs: data, rules, who does them, from how many starts and how long a run may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from reference import Rules
from sklearn.datasets import load_digits, make_blobs

from corral import datasets

from .methods import ACTIVE, COP, CORRAL, ILP, KMC, KMEANS, Floats, Labels

#: Seconds after which a run is stopped, and for the jobs that must be done to their end.
LIMIT, LONG_LIMIT = 60, 400

#: The paper's data sets.
SMALL = ("iris", "wine", "glass", "hepatitis", "hepatitis1", "ionosphere", "breast_cancer")
SIZES_N, SIZES_K = (5_000, 20_000, 100_000), (10, 50, 100)
#: More k at 20,000 points and more n at ten clusters, for the pictures.
MORE_SIZES = ((1_000, 10), (20_000, 5), (20_000, 20))
PAIRS_N = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Job:
    """A job; ``make`` gives the data and the rules.

    ``kind`` tells which rules there are: "sizes", "pairs" or "both".
    """

    name: str
    family: str
    title: str
    kind: str
    make: Callable[[], tuple[Floats, Rules]]
    methods: tuple[str, ...]
    starts: int = 5
    limit: int = LIMIT
    quick: bool = False


def equal_sizes(n: int, k: int) -> tuple[Labels, Labels]:
    """Least and greatest size of each cluster, one apart if k does not divide n."""
    return np.full(k, n // k), np.full(k, -(-n // k))


def overlapping(n: int, d: int, k: int) -> tuple[Floats, Rules]:
    """Blobs that overlap, in clusters of equal size."""
    X, _ = make_blobs(n, d, centers=k, cluster_std=6, random_state=0)
    return X, Rules(n=n, k=k, sizes=equal_sizes(n, k))


def bounded(n: int, k: int) -> tuple[Floats, Rules]:
    """The same blobs with 0.9 to 1.1 times the mean size."""
    X, _ = overlapping(n, 10, k)
    mean = n // k
    return X, Rules(n=n, k=k, sizes=(np.full(k, mean - mean // 10), np.full(k, mean + mean // 10)))


def digits() -> tuple[Floats, Rules]:
    """scikit-learn's digits, in clusters of equal size."""
    X = load_digits().data
    return X, Rules(n=len(X), k=10, sizes=equal_sizes(len(X), 10))


def many_digits(n: int) -> tuple[Floats, Rules]:
    """As large as MNIST, in 64 dimensions: digits drawn with replacement, and noise on each.

    The noise (standard deviation 2, where grey values go from 0 to 16) keeps copies of one digit
    apart and leaves the ten shapes as they are.
    """
    rng = np.random.default_rng(0)
    source = load_digits().data
    X = source[rng.integers(len(source), size=n)] + rng.normal(0, 2, (n, source.shape[1]))
    return X, Rules(n=n, k=10, sizes=equal_sizes(n, 10))


def paired(n: int, n_pairs: int, *, sizes: bool = False) -> tuple[Floats, Rules]:
    """Five blobs with so many must-links and cannot-links from the labels, and equal sizes."""
    X, y = make_blobs(n, 5, centers=5, cluster_std=5, random_state=0)
    must, cannot = datasets.random_links(y, n_pairs, n_pairs, random_state=0)
    given = {"sizes": equal_sizes(n, 5)} if sizes else {}
    return X, Rules(n=n, k=5, must=must.pairs, cannot=cannot.pairs, **given)


def small(name: str, rule: str) -> tuple[Floats, Rules]:
    """A data set of the paper with equal sizes, its true sizes, or n/10 pairs of each kind."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    n, count = len(X), np.bincount(y)
    if rule == "pairs":
        must, cannot = datasets.random_links(y, n // 10, n // 10, random_state=0)
        return X, Rules(n=n, k=len(count), must=must.pairs, cannot=cannot.pairs)
    sizes = equal_sizes(n, len(count)) if rule == "equal" else (count, count)
    return X, Rules(n=n, k=len(count), sizes=sizes)


def sizes_jobs() -> Iterator[Job]:
    """Equal sizes, then bounds, against k-means-constrained."""
    wanted = {(n, k) for n in SIZES_N for k in SIZES_K} | set(MORE_SIZES)
    ends = {(100_000, 10), (20_000, 100)}
    for n, k in sorted(wanted):
        yield Job(
            name=f"sizes-{n}-{k}",
            family="Equal sizes",
            title=f"{n:,} x 10, k = {k}",
            kind="sizes",
            make=partial(overlapping, n, 10, k),
            methods=(CORRAL, KMC),
            starts=5 if n * k <= 200_000 else 2,
            limit=LONG_LIMIT if (n, k) in ends else LIMIT,
            quick=(n, k) in {(1_000, 10), (5_000, 10), (20_000, 5)},
        )
    given = {"family": "Equal sizes", "kind": "sizes", "methods": (CORRAL, KMC)}
    yield Job("digits", title="digits, 1,797 x 64, k = 10", make=digits, quick=True, **given)
    title, make = "like MNIST, 70,000 x 64, k = 10", partial(many_digits, 70_000)
    yield Job("many-digits", title=title, make=make, starts=3, limit=LONG_LIMIT, **given)
    for n, k in ((5_000, 10), (20_000, 50), (100_000, 10)):
        yield Job(
            name=f"bounds-{n}-{k}",
            family="Minimum and maximum sizes",
            title=f"{n:,} x 10, k = {k}",
            kind="sizes",
            make=partial(bounded, n, k),
            methods=(CORRAL, KMC),
            starts=5 if n * k <= 200_000 else 2,
            quick=n == 5_000,
        )


def pairs_jobs() -> Iterator[Job]:
    """Must-links and cannot-links, then these and equal sizes."""
    for n in PAIRS_N:
        yield Job(
            name=f"pairs-{n}",
            family="Must-links and cannot-links",
            title=f"{n:,} x 5, k = 5, {n // 10:,} + {n // 10:,} pairs",
            kind="pairs",
            make=partial(paired, n, n // 10),
            methods=(CORRAL, COP, ACTIVE, *((ILP,) if n == 1_000 else ())),
            starts=5 if n == 1_000 else 3,
            quick=n == 1_000,
        )
    yield Job(
        name="pairs-many",
        family="Must-links and cannot-links",
        title="200,000 x 5, k = 5, 1,000,000 + 1,000,000 pairs",
        kind="pairs",
        make=partial(paired, 200_000, 1_000_000),
        methods=(CORRAL,),
        starts=3,
    )
    for n in PAIRS_N:
        yield Job(
            name=f"both-{n}",
            family="Pairs and equal sizes together",
            title=f"{n:,} x 5, k = 5, {n // 10:,} + {n // 10:,} pairs",
            kind="both",
            make=partial(paired, n, n // 10, sizes=True),
            # The yardstick holds a dense n x n matrix: 80 GB at 100,000.
            methods=(CORRAL, ILP) if n <= 10_000 else (CORRAL,),
            starts=5 if n == 1_000 else 3,
            quick=n == 1_000,
        )


def small_jobs() -> Iterator[Job]:
    """The paper's data sets."""
    rivals = {"equal": (KMC,), "true": (ILP,), "pairs": (COP, ACTIVE, ILP)}
    for rule, others in rivals.items():
        for name in SMALL:
            yield Job(
                name=f"small-{rule}-{name}",
                family=f"Small problems, {'pairs' if rule == 'pairs' else f'{rule} sizes'}",
                title=name.replace("_", " "),
                kind="pairs" if rule == "pairs" else "sizes",
                make=partial(small, name, rule),
                methods=(CORRAL, *others),
                quick=name in ("iris", "wine"),
            )


def million_job() -> Job:
    """What equal sizes cost against no rules at all."""
    return Job(
        name="million",
        family="A million points, equal sizes",
        title="1,000,000 x 16, k = 10",
        kind="sizes",
        make=partial(overlapping, 1_000_000, 16, 10),
        methods=(CORRAL, KMEANS),
        starts=3,
        limit=LONG_LIMIT,
    )


def all_jobs() -> dict[str, Job]:
    """Every job by its name, in the order of the table."""
    jobs = [*sizes_jobs(), *pairs_jobs(), *small_jobs(), million_job()]
    return {job.name: job for job in jobs}
