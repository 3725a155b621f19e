"""What differs between two versions: job by job, and in all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from .jobs import Job

#: Relative difference of objectives from which a job counts as better or worse.
NOTICEABLE = 1e-6
#: Largest mean relative difference, and largest median ratio of times, that is no failure.
MOST_MEAN, MOST_RATIO = 1e-9, 1.05
#: Relative difference between the reported and the recomputed inertia, by precision.
ROUNDING = {64: 1e-9, 32: 1e-4}


@dataclass
class Pair:
    """One job by both versions: the first answers, all seconds, whether a version is repeatable."""

    job: Job
    old: dict[str, Any]
    new: dict[str, Any]
    seconds_old: float
    seconds_new: float
    unsteady: str

    @property
    def ratio(self) -> float:
        return self.seconds_new / self.seconds_old

    @property
    def answered(self) -> bool:
        return "labels" in self.old and "labels" in self.new

    @property
    def comparable(self) -> bool:
        """Whether both answered and break equally much, so that objectives can be compared."""
        if not self.answered:
            return False
        old, new = self.old["violation"], self.new["violation"]
        return abs(new - old) <= 1e-9 * max(1.0, old)

    @property
    def difference(self) -> float:
        """By how much the new objective is higher, relative to the old one."""
        least = 1e-9 * self.old["scatter"]
        return (self.new["objective"] - self.old["objective"]) / max(
            self.old["objective"], least, 1e-300
        )

    def remarks(self) -> list[str]:
        """What differs, in words; nothing if nothing does."""
        return [text for text in (self._outcome(), self._labels(), *self._others()) if text]

    def _outcome(self) -> str:
        old, new = (one.get("error", "an answer") for one in (self.old, self.new))
        if old != new:
            return f"outcome: {old} -> {new} {self.new.get('message', '')}"
        if self.old.get("message") != self.new.get("message"):
            return f"message: {self.old['message']!r} -> {self.new['message']!r}"
        return ""

    def _labels(self) -> str:
        if not self.answered or self.old["labels"] == self.new["labels"]:
            return ""
        if self.old["partition"] == self.new["partition"]:
            return "clusters are numbered differently"
        if not self.comparable:
            return f"violation {self.old['violation']:.6g} -> {self.new['violation']:.6g}"
        return f"objective {self.difference:+.2e}"

    def _others(self) -> list[str]:
        texts = [f"not repeatable: {self.unsteady}"] * bool(self.unsteady)
        if self.old.get("digest") != self.new.get("digest"):
            texts.append("the data differ: the environments draw random numbers differently")
        if self.old["warnings"] != self.new["warnings"]:
            texts.append(f"warnings {self.old['warnings']} -> {self.new['warnings']}")
        for name, one in (("old", self.old), ("new", self.new)):
            if one.get("broken") and not self.job.may_break:
                texts.append(f"{name} BREAKS {one['broken']} rules")
            if self._wrong_inertia(one):
                texts.append(f"{name} reports inertia {one['inertia_']}, it is {one['inertia']}")
        return texts

    def _wrong_inertia(self, one: dict[str, Any]) -> bool:
        if "labels" not in one:
            return False
        most = ROUNDING[32 if self.job.form.endswith("32") else 64]
        return abs(one["inertia_"] - one["inertia"]) > most * max(one["scatter"], 1e-300)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        values = asdict(self) | {"name": self.job.name, "ratio": self.ratio}
        return values | ({"difference": self.difference} if self.answered else {})


@dataclass
class Summary:
    """All jobs together."""

    pairs: list[Pair]

    def text(self) -> str:
        """The table of what differs, and the figures."""
        parts = [self._table(), self._counts(), self._times()]
        failures = self.failures()
        parts.append("FAILED: " + "; ".join(failures) if failures else "as before")
        return "\n\n".join(part for part in parts if part)

    def failures(self) -> list[str]:
        """Why the new version is not as good as the old one."""
        found = []
        if self._broken("new"):
            found.append(f"{self._broken('new')} jobs break rules")
        others = [pair for pair in self.pairs if pair.old.get("error") != pair.new.get("error")]
        if others:
            found.append(f"{len(others)} jobs end differently")
        more = [pair for pair in self.pairs if pair.job.least_violation and self._more(pair)]
        if more:
            found.append(f"{len(more)} jobs break more than the least")
        if self._mean() > MOST_MEAN:
            found.append(f"the mean objective is {self._mean():.2e} higher")
        if self._ratio() > MOST_RATIO:
            found.append(f"the median time is {self._ratio():.3f} times the old one")
        return found

    @staticmethod
    def _more(pair: Pair) -> bool:
        return (
            pair.answered
            and not pair.comparable
            and (pair.new["violation"] > pair.old["violation"])
        )

    def _broken(self, side: str) -> int:
        answers = (getattr(pair, side) for pair in self.pairs if not pair.job.may_break)
        return sum(bool(answer.get("broken")) for answer in answers)

    def _differences(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.comparable]

    def _mean(self) -> float:
        return mean([pair.difference for pair in self._differences()] or [0.0])

    def _ratio(self) -> float:
        return median(pair.ratio for pair in self.pairs)

    def _table(self) -> str:
        lines = [
            f"{pair.job.name:<70} {'; '.join(pair.remarks())}"
            for pair in self.pairs
            if pair.remarks()
        ]
        return "\n".join(["what differs", *lines]) if lines else ""

    def _counts(self) -> str:
        answered = [pair for pair in self.pairs if pair.answered]
        compared = self._differences()
        worse = [pair for pair in compared if pair.difference > NOTICEABLE]
        better = [pair for pair in compared if pair.difference < -NOTICEABLE]
        same = sum(pair.old["labels"] == pair.new["labels"] for pair in answered)
        alike = sum(pair.old["partition"] == pair.new["partition"] for pair in answered)
        share = 100.0 / max(len(answered), 1)
        lines = [
            f"fits                      {len(self.pairs)}, {len(answered)} with an answer",
            f"jobs that break rules     old {self._broken('old')}, new {self._broken('new')}",
            f"objective higher          {len(worse)} (by more than {NOTICEABLE:g} relative)",
            *(f"    {pair.difference:+.2e}  {pair.job.name}" for pair in _worst(worse)),
            f"objective lower           {len(better)}",
            f"mean relative difference  {self._mean():+.3e}",
            f"identical labels          {share * same:.1f} %, clusters {share * alike:.1f} %",
        ]
        return "\n".join(lines)

    def _times(self) -> str:
        old, new = (sum(getattr(p, f"seconds_{s}") for p in self.pairs) for s in ("old", "new"))
        lines = [
            f"median time new/old       {self._ratio():.3f} (all: {old:.1f} s -> {new:.1f} s)",
            *self._by("rules"),
            *self._by("group"),
            *self._by("form"),
            "worst ratios",
        ]
        slowest = sorted(self.pairs, key=lambda pair: -pair.ratio)[:10]
        lines += [
            f"    {p.ratio:6.2f}  {p.seconds_old:.4f} s -> {p.seconds_new:.4f} s  {p.job.name}"
            for p in slowest
        ]
        return "\n".join(lines)

    def _by(self, what: str) -> list[str]:
        found = defaultdict(list)
        for pair in self.pairs:
            found[getattr(pair.job, what)].append(pair.ratio)
        lines = [f"    {median(found[key]):6.3f}  {key} ({len(found[key])})" for key in found]
        return [f"  by {what}", *lines]


def _worst(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: -pair.difference)
