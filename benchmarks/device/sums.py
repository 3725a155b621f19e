"""g: shares and totals where the rows are, and rows that pass through the GPU from a memory map."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from sklearn import config_context

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans, GroupShares

from .short import check

#: Rows, features, clusters, and the seconds that the fit may take; None where only time is told.
JOBS = {
    "g1": (2_500_000, 25, 10, 10.0),  # two groups' shares
    "g2": (10_000_000, 64, 100, 20.0),  # totals within 5 %
    "g3": (50_000_000, 64, 100, None),  # equal sizes, from a memory map and all on the card
}


def part_g(name: str, device: str = "cuda", shrink: int = 1) -> None:
    """One job: seconds, broken rules, and rows that came home.

    With ``shrink`` there are so many times fewer rows, for a try without a GPU.
    """
    n, d, k, seconds = JOBS[name]
    n //= shrink
    rng = np.random.default_rng(0)
    if name == "g3":
        _mapped(n, d, k, device)
        return
    points = _blobs(n, d, k, device)
    if name == "g1":
        party = (rng.random(n) < 0.4).astype(np.int8)
        rules = [GroupShares(party, minimum={0: 0.55, 1: 0.35})]
    else:
        values = rng.lognormal(0.0, 0.7, n)
        mean = values.sum() / k
        rules = [ClusterTotals(values, minimum=0.95 * mean, maximum=1.05 * mean)]
    for turn in ("first", "then"):
        took, model = _fit(points, k, rules, device)
        broken = sum(each.violations.count for each in model.report_.entries)
        print(
            f"{name}. {n} x {d}, {k} clusters, {rules[0]}: {turn} {took:.2f} s, {broken} broken, "
            f"inertia a row {float(model.inertia_) / n:.5f}, home: {_home(model)!r}",
            flush=True,
        )
        check(broken == 0, f"{name}: {broken} rules broken")
        check(_home(model) == "", f"{name}: rows came home")
    if shrink == 1 and seconds is not None:
        check(took <= seconds, f"{name}: {took:.1f} s, {seconds:g} wanted")


def _mapped(n: int, d: int, k: int, device: str) -> None:
    """Equal sizes: from a memory map through blocks of 2 GB, and with all rows on the card."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npy"
        mapped = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
        step, generator = 1_000_000, torch.Generator(device).manual_seed(0)
        for start in range(0, n, step):
            stop = min(start + step, n)
            mapped[start:stop] = _rows(stop - start, d, k, device, generator).cpu().numpy()
        mapped.flush()
        rules = [ClusterSizes(np.full(k, n // k) + (np.arange(k) < n % k))]
        given = np.load(path, mmap_mode="r")
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        took, model = _fit(given, k, rules, device, there=device == "cuda")
        peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
        broken = sum(each.violations.count for each in model.report_.entries)
        print(
            f"g3. {n} x {d} from a memory map, {k} clusters, equal sizes: {took:.1f} s, "
            f"{broken} broken, {peak:.1f} GiB of the GPU, inertia a row {model.inertia_ / n:.5f}",
            flush=True,
        )
        print("    " + model.report_.how().replace("\n", "\n    "), flush=True)
        check(broken == 0, f"g3: {broken} rules broken")
        points = torch.as_tensor(np.load(path)).to(device)
        whole, on_card = _fit(points, k, rules, device)
        print(
            f"    all rows on the card: {whole:.1f} s, inertia a row "
            f"{float(on_card.inertia_) / n:.5f}",
            flush=True,
        )


def _blobs(n: int, d: int, k: int, device: str) -> torch.Tensor:
    return _rows(n, d, k, device, torch.Generator(device).manual_seed(0))


def _rows(n: int, d: int, k: int, device: str, generator: torch.Generator) -> torch.Tensor:
    """Overlapping blobs, whose centres are the same in every call."""
    fixed = torch.Generator(device).manual_seed(1)
    centers = torch.randn((k, d), device=device, generator=fixed)
    where = torch.randint(k, (n,), device=device, generator=generator)
    return centers[where] + torch.randn((n, d), device=device, generator=generator)


def _fit(points, k: int, rules: list, device: str, there: bool = False):
    """Seconds and the model; ``there`` sends an array to the device."""
    model = ConstrainedKMeans(k, random_state=0, device=device if there else None)
    began = time.perf_counter()
    with config_context(array_api_dispatch=device == "cpu"):
        model.fit(points, constraints=rules)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, model


def _home(model: ConstrainedKMeans) -> str:
    return dict(model.report_.plan.table()).get("brought into memory because", "")
