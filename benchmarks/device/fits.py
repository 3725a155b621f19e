"""c and d: whole fits through the estimator, on the device and against the CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from corral import ClusterSizes, ConstrainedKMeans
from corral.datasets import random_links

from .sampled import Sampled
from .short import check

#: Seconds that fits with sizes, and with pairs too, should take at most.
SECONDS, SECONDS_WITH_PAIRS = 30.0, 60.0
#: Inertia against free k-means, at most.
RATIO = 1.005
#: Labels alike on the device and in memory, at least.
ALIKE = 0.99
#: Standard deviation of the true centres, where noise has 1: about a tenth of all points then lie
#: nearer to another centre, with 64 features and 100 clusters.
SPREAD = 0.55
#: Rows that scikit-learn's k-means sees first, and that a pass takes at once.
SUBSAMPLE, CHUNK = 500_000, 1 << 20


def blobs(n: int, d: int, k: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Points on the device, and their true labels."""
    generator = torch.Generator("cuda").manual_seed(seed)
    centers = SPREAD * torch.randn((k, d), device="cuda", generator=generator)
    labels = torch.randint(0, k, (n,), device="cuda", generator=generator)
    points = torch.randn((n, d), device="cuda", generator=generator)
    for part in chunks(n):
        points[part] += centers[labels[part]]
    return points, labels


def chunks(n: int) -> Iterator[slice]:
    """Runs of rows."""
    return (slice(start, start + CHUNK) for start in range(0, n, CHUNK))


def equal_sizes(n: int, k: int) -> list[int]:
    """Sizes that differ by one at most."""
    return [n // k + (j < n % k) for j in range(k)]


def inertia_of(points: torch.Tensor, labels: torch.Tensor, k: int) -> float:
    """From the labels alone, in double precision."""
    labels = labels.long()
    sums = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
    for part in chunks(len(points)):
        sums.index_add_(0, labels[part], points[part].double())
    means = sums / torch.bincount(labels, minlength=k).clamp(min=1)[:, None]
    total = 0.0
    for part in chunks(len(points)):
        total += float((points[part].double() - means[labels[part]]).square().sum())
    return total


def violations(labels: torch.Tensor, sizes: list[int], must: np.ndarray, cannot: np.ndarray) -> int:
    """Rules that labels break, counted on the device."""
    found = torch.bincount(labels.long(), minlength=len(sizes)).sort().values.cpu().numpy()
    broken = int(np.abs(found - np.sort(sizes)).sum())
    for pairs, alike in ((must, False), (cannot, True)):
        a, b = torch.as_tensor(pairs.copy(), device=labels.device).T
        broken += int(((labels[a] == labels[b]) == alike).sum())
    return broken


def free_inertia(points: torch.Tensor, k: int) -> float:
    """Scikit-learn's k-means without rules: on a subsample, and from there on all rows."""
    everything = points.cpu().numpy()
    rows = np.random.default_rng(0).choice(len(points), min(SUBSAMPLE, len(points)), replace=False)
    began = time.perf_counter()
    some = KMeans(k, n_init=1, random_state=0).fit(everything[rows])
    found = KMeans(k, init=some.cluster_centers_, n_init=1).fit(everything)
    print(
        f"  free k-means: {found.n_iter_} rounds on all rows after {some.n_iter_} on {len(rows)}, "
        f"{time.perf_counter() - began:.0f} s"
    )
    return inertia_of(points, torch.as_tensor(found.labels_, device=points.device), k)


def timed_fit(points, k, rules, **parameters):
    """A model and its seconds, from data on the device to labels there."""
    model = ConstrainedKMeans(k, random_state=0, **parameters)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    model.fit(points, constraints=rules)
    torch.cuda.synchronize()
    return model, time.perf_counter() - began


def show(name, points, k, rules, links, reference, most, **parameters) -> None:
    """Fit twice, and print what came out.

    ``reference`` is the inertia that that of the fit may exceed by a little, and whose it is.
    """
    print(f"  {name}", flush=True)
    (wanted, whose), sizes = reference, equal_sizes(len(points), k)
    model, first = timed_fit(points, k, rules, **parameters)
    held = torch.cuda.max_memory_allocated() / 2**30
    with Sampled() as sampled:
        model, second = timed_fit(points, k, rules, **parameters)
    labels = model.labels_
    assert isinstance(labels, torch.Tensor)
    assert labels.is_cuda
    inertia, broken = inertia_of(points, labels, k), violations(labels, sizes, *links)
    print(
        f"    first call {first:.2f} s, second {second:.2f} s, {model.n_iter_} "
        f"iterations, {broken} violations, inertia {inertia:.6g}, {inertia / wanted:.5f} of that "
        f"of {whose}, reported {model.inertia_ / inertia - 1.0:+.1e} off, {held:.1f} GiB at most"
    )
    sampled.show()
    check(broken == 0, f"{name}: {broken} violations")
    check(second <= most, f"{name}: {second:.1f} s")
    check(inertia <= RATIO * wanted, f"{name}: inertia {inertia / wanted:.4f} of {whose}")


def part_c1(n: int, d: int, k: int) -> None:
    """Equal sizes, against k-means without rules."""
    print(f"c1. fits of {n} x {d} float32 blobs, {k} clusters of equal sizes")
    points, _ = blobs(n, d, k)
    free = free_inertia(points, k), "free k-means"
    print(f"    inertia {free[0]:.6g}", flush=True)
    sizes = ClusterSizes(equal_sizes(n, k))
    none = (np.empty((0, 2), np.int64),) * 2
    show("sizes", points, k, sizes, none, free, SECONDS)


def part_c2(n: int, d: int, k: int, n_links: int) -> None:
    """Links too, against the true labels: links hold what overlaps where it came from."""
    name = f"sizes, {n_links} must-links and {n_links} cannot-links"
    print(f"c2. fits of {n} x {d} float32 blobs, {k} clusters, {name}")
    points, truth = blobs(n, d, k)
    true = inertia_of(points, truth, k), "the true labels"
    must, cannot = random_links(truth.cpu().numpy(), n_links, n_links, random_state=0)
    rules = [ClusterSizes(equal_sizes(n, k)), must, cannot]
    links = must.pairs, cannot.pairs
    show(name, points, k, rules, links, true, SECONDS_WITH_PAIRS)


def agreement(labels: np.ndarray, others: np.ndarray, k: int) -> float:
    """Part of the labels that are the same once clusters are numbered alike."""
    together = np.bincount(labels * k + others, minlength=k * k).reshape(k, k)
    return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(labels))


def part_d(n: int = 200_000, d: int = 16, k: int = 20) -> None:
    """The same input on the device and in memory."""
    print(f"d. {n} x {d} float32 blobs, {k} clusters, on the device and in memory")
    points, truth = blobs(n, d, k)
    sizes = ClusterSizes(equal_sizes(n, k))
    links = random_links(truth.cpu().numpy(), n // 50, n // 50, random_state=0)
    for name, rules in (("sizes", sizes), ("sizes and pairs", [sizes, *links])):
        there, seconds = timed_fit(points, k, rules)
        home = ConstrainedKMeans(k, random_state=0).fit(points.cpu().numpy(), constraints=rules)
        alike = agreement(there.labels_.cpu().numpy(), home.labels_, k)
        gap = there.inertia_ / home.inertia_ - 1.0
        print(
            f"  {name}: {alike:.2%} of the labels alike, inertia {gap:+.1e} off, {seconds:.2f} s "
            "on the device",
            flush=True,
        )
        check(abs(gap) < 1e-3, f"{name}: inertia {gap:+.1e} off")
        check(alike > ALIKE, f"{name}: {alike:.2%} of the labels alike")
