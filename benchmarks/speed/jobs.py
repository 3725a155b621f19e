"""The jobs: data, rules, methods, number of starts and time limit of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from reference import Rules
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs

from corral import datasets

from .methods import ACTIVE, COP, CORRAL, ILP, KMC, KMC_TEN, KMEANS, Data, Floats, Labels

#: Seconds after which a run is stopped, for most jobs and for some large jobs.
LIMIT, LONG_LIMIT = 60, 400

#: The paper's data sets.
SMALL = ("iris", "wine", "glass", "hepatitis", "hepatitis1", "ionosphere", "breast_cancer")
SIZES_N, SIZES_K = (5_000, 20_000, 100_000), (10, 50, 100)
#: More pairs (n, k), needed only for the pictures.
MORE_SIZES = ((1_000, 10), (20_000, 5), (20_000, 20))
PAIRS_N = (1_000, 10_000, 100_000)
#: Sizes of the job with unequal sizes.
UNEQUAL = (500, 1_000, 1_500, 2_500, 4_500, 10_000)
#: n, d and k of the sparse job.
SPARSE = (20_000, 1_000, 10)


@dataclass(frozen=True)
class Job:
    """A job; ``make`` returns the data and the rules.

    ``kind`` says which rules the job has: "sizes", "pairs" or "both".  ``csr`` is true if X is
    sparse.
    """

    name: str
    family: str
    title: str
    kind: str
    make: Callable[[], tuple[Data, Rules]]
    methods: tuple[str, ...]
    starts: int = 5
    limit: int = LIMIT
    quick: bool = False
    csr: bool = False


def equal_sizes(n: int, k: int) -> tuple[Labels, Labels]:
    """Smallest and largest size of each cluster; they differ by one if k does not divide n."""
    return np.full(k, n // k), np.full(k, -(-n // k))


def overlapping(n: int, d: int, k: int) -> tuple[Floats, Rules]:
    """Overlapping blobs, in clusters of equal size."""
    X, _ = make_blobs(n, d, centers=k, cluster_std=6, random_state=0)
    return X, Rules(n=n, k=k, sizes=equal_sizes(n, k))


def bounded(n: int, k: int) -> tuple[Floats, Rules]:
    """The same blobs with 0.9 to 1.1 times the mean size."""
    X, _ = overlapping(n, 10, k)
    mean = n // k
    return X, Rules(n=n, k=k, sizes=(np.full(k, mean - mean // 10), np.full(k, mean + mean // 10)))


def unequal(sizes: tuple[int, ...]) -> tuple[Floats, Rules]:
    """Overlapping blobs of these sizes, and clusters of these sizes in any order."""
    X, _ = make_blobs(sizes, 10, cluster_std=6, random_state=0)
    exact = np.array(sizes)
    return X, Rules(n=len(X), k=len(exact), sizes=(exact, exact))


def topics(n: int, d: int, k: int, n_words: int = 10) -> tuple[sparse.csr_array, Rules]:
    """Word counts of texts with ``n_words`` words each, as CSR, in clusters of equal size.

    Two words of three come from the text's topic and one from the mixture of all topics, so that
    the topics overlap.
    """
    rng = np.random.default_rng(0)
    own = rng.dirichlet(np.full(d, 0.1), k)
    shares = (2 * own + own.mean(axis=0)) / 3
    # scikit-learn requires 32-bit indices.
    words = np.concatenate([rng.choice(d, (n // k, n_words), p=p) for p in shares]).astype(np.int32)
    rows = np.repeat(np.arange(n, dtype=np.int32), n_words)
    counts = (np.ones(n * n_words), (rng.permutation(n).astype(np.int32)[rows], words.ravel()))
    X = sparse.coo_array(counts, (n, d)).tocsr()
    return X, Rules(n=n, k=k, sizes=equal_sizes(n, k))


def digits() -> tuple[Floats, Rules]:
    """scikit-learn's digits, in clusters of equal size."""
    X = load_digits().data
    return X, Rules(n=len(X), k=10, sizes=equal_sizes(len(X), 10))


def many_digits(n: int) -> tuple[Floats, Rules]:
    """Digits drawn with replacement, with noise on each: 64 features, as many rows as MNIST.

    The noise has standard deviation 2; grey values are from 0 to 16.  So copies of one digit
    differ, and the ten digits can still be recognised.
    """
    rng = np.random.default_rng(0)
    source = load_digits().data
    X = source[rng.integers(len(source), size=n)] + rng.normal(0, 2, (n, source.shape[1]))
    return X, Rules(n=n, k=10, sizes=equal_sizes(n, 10))


def paired(n: int, n_must: int, n_cannot: int, *, sizes: bool = False) -> tuple[Floats, Rules]:
    """Five blobs with must-links and cannot-links from the labels, and equal sizes if asked."""
    X, y = make_blobs(n, 5, centers=5, cluster_std=5, random_state=0)
    must, cannot = datasets.random_links(y, n_must, n_cannot, random_state=0)
    given = {"sizes": equal_sizes(n, 5)} if sizes else {}
    return X, Rules(n=n, k=5, must=must.pairs, cannot=cannot.pairs, **given)


def small(name: str, rule: str) -> tuple[Floats, Rules]:
    """A data set of the paper with equal sizes, true sizes, or n/10 pairs of each kind."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    n, count = len(X), np.bincount(y)
    if rule == "pairs":
        must, cannot = datasets.random_links(y, n // 10, n // 10, random_state=0)
        return X, Rules(n=n, k=len(count), must=must.pairs, cannot=cannot.pairs)
    sizes = equal_sizes(n, len(count)) if rule == "equal" else (count, count)
    return X, Rules(n=n, k=len(count), sizes=sizes)


def sizes_jobs() -> Iterator[Job]:
    """Jobs with equal sizes and with bounds, compared with k-means-constrained."""
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
    yield unequal_job()
    yield sparse_job()


def unequal_job() -> Job:
    """A job with unequal sizes in any order, which no other package supports."""
    listed = ", ".join(f"{size:,}" for size in UNEQUAL)
    return Job(
        name=f"unequal-{sum(UNEQUAL)}-{len(UNEQUAL)}",
        family="Unequal sizes in any order",
        title=f"{sum(UNEQUAL):,} x 10, sizes {listed}",
        kind="sizes",
        make=partial(unequal, UNEQUAL),
        methods=(CORRAL, ILP),
        starts=3,
        # Exact ILP assignment takes about 100 s from the first start, over 300 s from the second.
        limit=150,
    )


def sparse_job() -> Job:
    """A job with CSR data, which k-means-constrained rejects; k-means without rules beside it."""
    n, d, k = SPARSE
    return Job(
        name=f"sparse-{n}-{k}",
        family="Sparse input, equal sizes",
        title=f"{n:,} x {d:,} as CSR, 1 % nonzeros, k = {k}",
        kind="sizes",
        make=partial(topics, n, d, k),
        methods=(CORRAL, KMEANS),
        quick=True,
        csr=True,
    )


def pairs_jobs() -> Iterator[Job]:
    """Jobs with must-links and cannot-links, without and with equal sizes."""
    for n in PAIRS_N:
        yield Job(
            name=f"pairs-{n}",
            family="Must-links and cannot-links",
            title=f"{n:,} x 5, k = 5, {n // 10:,} + {n // 10:,} pairs",
            kind="pairs",
            make=partial(paired, n, n // 10, n // 10),
            methods=(CORRAL, COP, ACTIVE, *((ILP,) if n == 1_000 else ())),
            starts=5 if n == 1_000 else 3,
            quick=n == 1_000,
        )
    yield Job(
        name="pairs-many",
        family="Must-links and cannot-links",
        title="200,000 x 5, k = 5, 1,000,000 + 1,000,000 pairs",
        kind="pairs",
        make=partial(paired, 200_000, 1_000_000, 1_000_000),
        methods=(CORRAL, ILP),
        starts=3,
    )
    for n in PAIRS_N:
        yield Job(
            name=f"both-{n}",
            family="Pairs and equal sizes together",
            title=f"{n:,} x 5, k = 5, {n // 10:,} + {n // 10:,} pairs",
            kind="both",
            make=partial(paired, n, n // 10, n // 10, sizes=True),
            methods=(CORRAL, ILP),
            starts=5 if n == 1_000 else 3,
            quick=n == 1_000,
        )
    yield Job(
        name="tangled-20000",
        family="Pairs and equal sizes together",
        title="20,000 x 5, k = 5, 30,000 cannot-links, mostly one component",
        kind="both",
        make=partial(paired, 20_000, 0, 30_000, sizes=True),
        methods=(CORRAL, ILP),
        starts=2,
    )


def small_jobs() -> Iterator[Job]:
    """Jobs on the paper's data sets."""
    rivals = {"equal": (KMC, KMC_TEN), "true": (ILP,), "pairs": (COP, ACTIVE, ILP)}
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
    """A job with a million points and equal sizes, compared with k-means without rules."""
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
