"""One instance: fit it, and compare everything that corral says with what is known."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import corral

from .conflict import complaints
from .costs import Costs
from .instances import Instance
from .model import broken, labellings, obeyed, obeying, satisfiable, solve
from .rules import LOOSE, SURE, Match, Pair, Row, Term, terms

#: Seconds that a fit may take, by the clock and of the processor, so that a busy machine is no
#: failure.
LIMIT = 20.0


@dataclass
class Outcome:
    """What became of an instance; ``optimal`` is None if the optimum is not known."""

    seed: int
    what: str
    ended: str = ""
    seconds: float = 0.0
    processor: float = 0.0
    optimal: bool | None = None
    gap: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)


def run(instance: Instance) -> Outcome:
    """Fit the instance and check the answer."""
    outcome = Outcome(instance.seed, instance.what())
    items = terms(instance.rules, instance.n, instance.k)
    begun, worked = time.perf_counter(), time.process_time()
    answer, heard = fit(instance)
    outcome.seconds = time.perf_counter() - begun
    outcome.processor = time.process_time() - worked
    outcome.failures += heard
    outcome.failures += agreed(instance, items)
    if min(outcome.seconds, outcome.processor) > LIMIT:
        outcome.failures.append(
            ("slow", f"{outcome.seconds:.1f} s, {outcome.processor:.1f} s of the processor")
        )
    if isinstance(answer, corral.InfeasibleConstraintsError):
        outcome.ended = "infeasible"
        outcome.failures += refused(instance, items, answer)
    elif isinstance(answer, Exception):
        outcome.ended = "error"
        if not (instance.extreme and isinstance(answer, ValueError)):
            place = traceback.extract_tb(answer.__traceback__)[-1]
            said = f"{type(answer).__name__}: {str(answer)[:200]}"
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            outcome.failures.append((f"exception {type(answer).__name__}", f"{said} ({where})"))
    else:
        outcome.ended = "labels"
        costs = Costs(instance, items)
        outcome.failures += answered(instance, items, answer)
        outcome.failures += audited(instance, items, costs, answer)
        if not instance.extreme:
            compare(instance, items, costs, answer, outcome)
        outcome.failures += repeated(instance, answer, outcome.seconds)
        outcome.failures += assigned(instance, items, costs, answer)
    return outcome


def agreed(instance: Instance, items: list[Term]) -> Iterator[tuple[str, str]]:
    """Check the fuzzer itself: its model and its enumeration must agree."""
    n, k = instance.n, instance.k
    if instance.small and instance.seed % 8 == 1:
        for tolerance in (SURE, LOOSE):
            try:
                told = solve(items, n, k, tolerance)
            except OverflowError:
                continue
            if told != obeying(items, n, k, tolerance).any():
                yield "fuzzer", f"CP-SAT says {told}, enumeration does not"


def fit(instance: Instance) -> tuple[Any, list[tuple[str, str]]]:
    """The fitted model or the error, and warnings that point to a fault."""
    model = corral.ConstrainedKMeans(instance.k, random_state=instance.seed, **instance.options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rules = instance.constraints()
            answer: Any = model.fit(
                instance.data(), constraints=rules, sample_weight=instance.weights
            )
        except Exception as error:  # an error is also a result
            answer = error
    heard = [
        ("runtime warning", f"{one.message} ({one.filename.rpartition('/')[2]}:{one.lineno})")
        for one in caught
        if issubclass(one.category, RuntimeWarning) and not instance.extreme
    ]
    return answer, heard[:1]


def refused(instance: Instance, items: list[Term], error: Any) -> list[tuple[str, str]]:
    """Check that the rules contradict each other and that the conflict shows it."""
    n, k = instance.n, instance.k
    if instance.options.get("on_infeasible") == "relax":
        return [("relax raised", str(error)[:200])]
    if instance.planted is not None and not broken(items, instance.planted, k, SURE):
        return [("false infeasible", f"{str(error)[:200]}; obeyed by {instance.planted}")]
    known = satisfiable(items, n, k, SURE)
    if known:
        return [("false infeasible", str(error)[:200])]
    conflict = [one.to_dict() for one in error.conflict]
    failures = list(complaints(conflict, instance.rules, n, k))
    return [(kind, f"{text} | {str(error)[:200]}") for kind, text in failures]


def answered(instance: Instance, items: list[Term], model: Any) -> Iterator[tuple[str, str]]:
    """Check that the labels obey the hard rules, or break as little as possible."""
    labels, k = np.asarray(model.labels_).tolist(), instance.k
    if len(labels) != instance.n or not all(0 <= label < k for label in labels):
        yield "labels out of range", str(labels)
        return
    wrong = broken(items, labels, k)
    if not wrong:
        if not model.report_.feasible:
            yield "report", "says infeasible, but every rule is obeyed"
        return
    if instance.options.get("on_infeasible") != "relax":
        yield "violation", f"{len(wrong)} broken, such as {str(wrong[0])[:300]}"
        return
    if model.report_.feasible:
        yield "report", "says feasible, but rules are broken"
    if satisfiable(items, instance.n, k, SURE):
        yield "relax broke rules that can be obeyed", str(wrong[0])[:300]
    elif instance.small:
        yield from relaxed(instance, items, labels)


def relaxed(instance: Instance, items: list[Term], labels: list[int]) -> Iterator[tuple[str, str]]:
    """Check that the total violation is the smallest, where all rules count in whole units."""
    countable = all(
        (isinstance(item, Pair) and (item.price is None))
        or (isinstance(item, Row) and item.magnitude == 0 and None not in (item.low, item.high))
        for item in items
    )
    if countable and instance.k**instance.n <= 5_000:
        everything = labellings(instance.n, instance.k)[0]
        least = min(amount(items, one.tolist()) for one in everything)
        own = amount(items, labels)
        if own > least:
            yield "relax did not find the least violation", f"{own} instead of {least}"


def amount(items: list[Term], labels: list[int]) -> Fraction:
    """By how much the labels break hard pairs, pins and sizes."""
    total = Fraction(0)
    for item in items:
        if isinstance(item, Pair):
            total += (labels[item.i] == labels[item.j]) != item.together
        elif isinstance(item, Row):
            held = sum(labels[i] == j for i, j in item.coefficients)
            assert item.low is not None
            assert item.high is not None
            total += max(item.low - held, held - item.high, Fraction(0))
    return total


def compare(
    instance: Instance, items: list[Term], costs: Costs, model: Any, outcome: Outcome
) -> None:
    """Compare the objective with the optimum of all labellings."""
    if not instance.small:
        return
    good = obeying(items, instance.n, instance.k, SURE)
    if not good.any():
        return
    best = float(costs.objective(labellings(instance.n, instance.k)[0][good]).min())
    own = float(costs.objective(np.asarray(model.labels_))[0])
    relative = 1e-5 if instance.form == "float32" else 1e-9
    outcome.optimal = own <= best * (1 + relative) + 1e-3 * relative * costs.total
    outcome.gap = (own - best) / best if best > 0 else (own - best) / (costs.total or 1.0)


def audited(
    instance: Instance, items: list[Term], costs: Costs, model: Any
) -> Iterator[tuple[str, str]]:
    """Check the numbers of the report, of an audit of the labels, and of other labels."""
    labels = np.asarray(model.labels_)
    report = model.report_
    yield from numbers(instance, costs, labels, report, "report")
    if not instance.extreme:
        yield from centres(instance, costs, labels, model)
    rng = np.random.default_rng(instance.seed)
    other = rng.integers(instance.k, size=instance.n)
    for tried, name in ((labels, "audit"), (other, "audit of other labels")):
        try:
            found = corral.audit(
                instance.data(), tried, instance.constraints(), instance.k, instance.weights
            )
        except Exception as error:  # an error is also a result
            if not instance.extreme:
                yield name, f"{type(error).__name__}: {str(error)[:200]}"
            continue
        yield from numbers(instance, costs, tried, found, name)


def numbers(
    instance: Instance, costs: Costs, labels: Any, report: Any, name: str
) -> Iterator[tuple[str, str]]:
    """Compare one report with the own figures."""
    if list(report.sizes) != np.bincount(labels, minlength=instance.k).tolist():
        yield name, f"sizes {report.sizes} of labels {labels.tolist()}"
    if not instance.extreme:
        size = costs.unit**2 * costs.heaviest
        offset = float((costs.share[:, None] * costs.X**2).sum() / costs.unit**2)
        coarse = 1e-5 if instance.form == "float32" else 1e-9
        for told, own in (
            (report.inertia / size, costs.inertia(labels)[0]),
            (report.objective / size, costs.objective(labels)[0]),
        ):
            if not abs(told - own) <= coarse * own + 1e-13 * offset + 1e-12 * costs.total:
                yield name, f"objective or inertia {told * size!r} instead of {own * size!r}"
    for entry, rule in zip(report.entries, instance.rules, strict=True):
        told, least, most = entry.violations.count, *counted(rule, instance, labels.tolist())
        if not least <= told <= most:
            yield name, f"{told} broken instead of {least} of {str(rule)[:300]}"


def counted(rule: dict[str, Any], instance: Instance, labels: list[int]) -> tuple[int, int]:
    """How many parts of a rule are broken, at least and at most within the tolerance."""
    items = terms([rule], instance.n, instance.k)
    soft = [
        item
        for item in items
        if isinstance(item, Pair)
        and item.price is not None
        and (labels[item.i] == labels[item.j]) != item.together
    ]
    least = sum(not obeyed(item, labels, instance.k, LOOSE) for item in items) + len(soft)
    most = sum(not obeyed(item, labels, instance.k, Fraction(0)) for item in items) + len(soft)
    if any(isinstance(item, Match) for item in items):
        most = instance.k if most else 0
    return least, most


def centres(instance: Instance, costs: Costs, labels: Any, model: Any) -> Iterator[tuple[str, str]]:
    """Check that centres are the weighted means of their clusters."""
    told = np.asarray(model.cluster_centers_, dtype=np.float64)
    if not np.isfinite(told).all():
        yield "centres", f"not finite: {told.tolist()}"
        return
    coarse = (1e-4 if instance.form == "float32" else 1e-8) * (np.abs(costs.X).max() or 1.0)
    for j in range(instance.k):
        own = costs.share * (labels == j)
        if own.sum() > 0:
            mean = (own[:, None] * costs.X).sum(axis=0) / own.sum()
            if np.abs(mean - told[j]).max() > coarse:
                yield "centres", f"cluster {j}: {told[j].tolist()} instead of {mean.tolist()}"


def repeated(instance: Instance, model: Any, seconds: float) -> Iterator[tuple[str, str]]:
    """Check that the same seed gives the same labels; of long fits, only every fourth."""
    if seconds > 0.3 and instance.seed % 4:
        return
    again, _ = fit(instance)
    fitted = [one for one in (model, again) if hasattr(one, "report_")]
    if any(one.report_.ended or "by time" in one.report_.how() for one in fitted):
        return  # what time cuts short need not be repeatable
    if isinstance(again, Exception):
        yield "unrepeatable", f"second fit: {type(again).__name__}: {str(again)[:200]}"
    elif list(again.labels_) != list(model.labels_):
        yield "unrepeatable", f"{list(model.labels_)}, then {list(again.labels_)}"


def assigned(
    instance: Instance, items: list[Term], costs: Costs, model: Any
) -> Iterator[tuple[str, str]]:
    """Check that ``assign`` obeys the rules at the least cost for the fitted centres."""
    if instance.seed % 8 or instance.extreme or instance.options or not instance.small:
        return
    try:
        rules, X = instance.constraints(), instance.data()
        labels = np.asarray(model.assign(X, constraints=rules, sample_weight=instance.weights))
    except Exception as error:  # an error is also a result
        yield "assign", f"{type(error).__name__}: {str(error)[:200]}"
        return
    if broken(items, labels.tolist(), instance.k):
        yield "assign violation", str(labels.tolist())
        return
    good = obeying(items, instance.n, instance.k, SURE)
    if not good.any():
        return
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    every = labellings(instance.n, instance.k)[0]
    best = float(costs.assigned(every[good].astype(np.int64), centres).min())
    own = float(costs.assigned(labels, centres)[0])
    coarse = 1e-4 if instance.form == "float32" else 1e-7
    rounding = 1e-28 * float(np.square(costs.X).sum())
    if own > best * (1 + coarse) + coarse * 1e-2 * costs.total + rounding:
        yield "assign is not optimal", f"{own} instead of {best} (scaled)"
