"""The targets, each with the measured figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .jobs import SMALL, SPARSE, all_jobs
from .methods import COP, CORRAL, KMC, KMEANS, STAND_IN
from .scaling import exponent
from .summary import Line, Run, best_peer, lines, ratio
from .table import import_seconds, number, scaling_points

#: Relative difference below which two inertias count as equal.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Verdict:
    """A target, the measured figure, and whether the target is met; None if not measured.

    A line that is no target is given for information: it is never missed.
    """

    target: str
    found: str
    met: bool | None
    information: bool = False

    def __str__(self) -> str:
        word = {True: "yes", False: "**NO**", None: "not measured"}[self.met]
        if self.information and self.met is False:
            word = "no, for information"
        return f"- {self.target}: {word}{f' ({self.found})' if self.found else ''}"


Results = dict[str, list[Run]]


def verdicts(results: Results) -> list[Verdict]:
    """All targets."""
    parts: list[Callable[[Results], Iterator[Verdict]]] = [
        _sizes,
        _small,
        _pairs,
        _million,
        _sparse,
        _growth,
        _start_up,
        _peers,
    ]
    return [verdict for part in parts for verdict in part(results)]


def _against(
    results: Results,
    job: str,
    names: tuple[str, ...],
    target: str,
    least: float,
    *,
    lower: bool = False,
) -> Verdict:
    """Target: ``least`` times faster than a peer, no violation, no higher inertia."""
    found = lines(results.get(job, []))
    rival = next((found[name] for name in names if name in found), None)
    if rival is None or not (rival.feasible or rival.limit):
        return Verdict(target, "", None)
    times, bound = ratio(found, rival)
    gaps = found[CORRAL].gaps(rival)
    notes = [f"{'> ' if bound else ''}{number(times)} times"]
    if rival.method == STAND_IN:
        notes.append("COP-KMEANS of corral.baselines, with its own seeds")
    if not found[CORRAL].solved:
        notes.append("corral did not solve it from every start")
    elif not gaps:
        return Verdict(target, "; ".join([*notes, "inertia not compared"]), None)
    if gaps:
        mean, worst = 100 * np.mean(gaps), 100 * max(gaps)
        notes.append(f"inertia {mean:+.3f} % on average, {worst:+.3f} % at worst")
    good = max(gaps, default=0.0) <= ROUNDING and not (lower and gaps and np.mean(gaps) >= 0.0)
    return Verdict(target, "; ".join(notes), found[CORRAL].solved and times >= least and good)


def _sizes(results: Results) -> Iterator[Verdict]:
    for job in ("sizes-100000-10", "sizes-20000-100"):
        title = all_jobs()[job].title
        target = f"Sizes, {title}: 5 times faster than {KMC} at no higher inertia"
        yield _against(results, job, (KMC,), target, 5.0)


def _small(results: Results) -> Iterator[Verdict]:
    for rule in ("equal", "true", "pairs"):
        kept = [results[f"small-{rule}-{name}"] for name in SMALL if _has(results, rule, name)]
        ours = [lines(runs)[CORRAL] for runs in kept]
        what = "pairs" if rule == "pairs" else f"{rule} sizes"
        target = f"Small problems, {what}: median fit under 50 ms"
        if not ours:
            yield Verdict(target, "", None)
            continue
        each = [1e3 * line.seconds for line in ours]
        text = f"{np.median(each):.0f} ms, from {min(each):.0f} to {max(each):.0f}"
        yield Verdict(
            target, text, bool(np.median(each) < 50) and all(line.solved for line in ours)
        )


def _has(results: Results, rule: str, name: str) -> bool:
    return f"small-{rule}-{name}" in results


def _pairs(results: Results) -> Iterator[Verdict]:
    for n, least, words in ((1_000, 1.0, "faster"), (10_000, 20.0, "20 times faster")):
        target = f"Pairs, n = {n:,}: {words} than {COP}, no violation, lower inertia"
        yield _against(results, f"pairs-{n}", (COP, STAND_IN), target, least, lower=True)


def _million(results: Results) -> Iterator[Verdict]:
    found = lines(results.get("million", []))
    speed = "A million points: at most 10 times the time of scikit-learn's KMeans"
    room = "A million points: peak memory at most 3 copies of X and 6 n x k arrays"
    if KMEANS not in found:
        yield Verdict(speed, "", None)
        yield Verdict(room, "", None)
        return
    ours = found[CORRAL]
    times = ours.seconds / found[KMEANS].seconds
    yield Verdict(speed, f"{number(times)} times", ours.solved and times <= 10.0)
    n, d, k = 1_000_000, 16, 10
    allowed = 8.0 * n * (3 * d + 6 * k)
    text = f"{ours.memory / 1e6:.0f} MB of {allowed / 1e6:.0f}, X included"
    yield Verdict(room, text, bool(ours.memory <= allowed))


def _sparse(results: Results) -> Iterator[Verdict]:
    """A dense float32 copy of X takes half of X in float64; less memory means there was no copy."""
    n, d, k = SPARSE
    target = "Sparse input: peak memory below half of a dense copy of X"
    found = lines(results.get(f"sparse-{n}-{k}", []))
    if CORRAL not in found or np.isnan(found[CORRAL].memory):
        yield Verdict(target, "", None)
        return
    ours, allowed = found[CORRAL], 8.0 * n * d / 2
    text = f"{ours.memory / 1e6:.0f} MB of {allowed / 1e6:.0f}, X included"
    yield Verdict(target, text, ours.solved and bool(ours.memory < allowed))


def _growth(results: Results) -> Iterator[Verdict]:
    target = "Time of an iteration from 10,000 to 1,000,000 points: exponent at most 1.1"
    points = scaling_points(results.get("scaling", []))
    if len(points) < 2:
        yield Verdict(target, "", None)
        return
    text = f"{exponent(points):.2f}, {min(points):,} to {max(points):,}"
    whole = max(points) >= 1_000_000
    yield Verdict(target, text, exponent(points) <= 1.1 if whole else None)


def _start_up(results: Results) -> Iterator[Verdict]:
    target = "`import corral` under 1.5 times `import sklearn.cluster`"
    if "imports" not in results:
        yield Verdict(target, "", None)
        return
    seconds = import_seconds(results["imports"])
    times = seconds["corral"] / seconds["sklearn.cluster"]
    text = f"{times:.2f} times, {seconds['corral']:.2f} s"
    yield Verdict(target, text, times < 1.5)


def _peers(results: Results) -> Iterator[Verdict]:
    """Compare every job with its best peer, in two groups of jobs."""
    names = [name for name in all_jobs() if name in results]
    small = [name for name in names if name.startswith("small-")]
    others = [name for name in names if name not in small]
    for what, group in (("small problem", small), ("other job", others)):
        target = f"No {what} slower than its best peer"
        verdict = _beside_peers(target, {name: lines(results[name]) for name in group})
        # Peers need milliseconds for the paper's small sets, which ADMM alone takes.
        yield replace(verdict, information=group is small)


def _beside_peers(target: str, found: dict[str, dict[str, Line]]) -> Verdict:
    """Target: no job is slower than its best peer; jobs without a peer are only listed."""
    peers = {name: best_peer(methods) for name, methods in found.items()}
    ratios = {name: ratio(found[name], peer)[0] for name, peer in peers.items() if peer is not None}
    slower = [f"{name} {number(times)}" for name, times in ratios.items() if times < 1.0]
    alone = [name for name, peer in peers.items() if peer is None]
    unsolved = [name for name, methods in found.items() if not methods[CORRAL].solved]
    notes = [f"{len(ratios) - len(slower)} of {len(ratios)} faster"] if ratios else []
    if slower:
        notes.append(f"slower, with the peer's time over corral's: {', '.join(slower)}")
    if alone:
        notes.append(f"compared with no peer: {', '.join(alone)}")
    if unsolved:
        notes.append(f"not solved from every start: {', '.join(unsolved)}")
    met = not slower and not unsolved if ratios else None
    return Verdict(target, "; ".join(notes), met)
