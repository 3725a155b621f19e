"""Time limits and interrupts: do fits of hard instances end when they should?

``python benchmarks/limits.py`` makes 200 fits of hard instances with random values of
``time_limit`` from 0.2 to 10 s.  Each must end within 1 s + 5 % of its limit.
``python benchmarks/limits.py --interrupts 50`` sends SIGINT at random moments to processes that
run the same instances, by Python and by the command line alternately.  Each must end within 2 s
with KeyboardInterrupt (exit code 130 from the command line) and leave no file half written.
The exit code is 1 if anything fails.  Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from fuzzing.hard import HARD, prepare
from fuzzing.interrupts import Interrupted, interrupt

#: Seconds, and share of the limit, by which a fit may be late.
GRACE, SHARE = 1.0, 0.05

#: Seconds after the limit when a process is ended.
PATIENCE = 90.0


@dataclass
class Timed:
    """One fit under a limit."""

    name: str
    seed: int
    limit: float
    seconds: float
    ended: str
    failure: str = ""

    @property
    def late(self) -> float:
        """Seconds after the limit; negative if it ended before."""
        return self.seconds - self.limit


def work(pipe: Any) -> None:
    """Time the fits that come through the pipe."""
    while (task := pipe.recv()) is not None:
        name, seed, limit = task
        call = prepare(name, seed, limit)
        pipe.send("ready")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            begun = time.perf_counter()
            ended, failure = _ended(call)
            seconds = time.perf_counter() - begun
        told = any("time" in str(one.message).lower() for one in caught)
        if ended == "labels" and seconds > limit and not told:
            failure = failure or "ended by its limit without a warning"
        pipe.send(Timed(name, seed, limit, seconds, ended, failure))


def _ended(call: Any) -> tuple[str, str]:
    """How the call ended, and what is wrong with that."""
    from corral import ConstrainedKMeans, InfeasibleConstraintsError, SolverTimeoutError

    try:
        answer = call()
    except SolverTimeoutError:
        return "timeout", ""
    except InfeasibleConstraintsError:
        return "infeasible", ""
    except Exception as error:  # an error is also a result
        return "error", f"{type(error).__name__}: {str(error)[:150]}"
    if isinstance(answer, ConstrainedKMeans) and answer.on_infeasible == "raise":
        report = answer.report_
        if answer.solver == "projected" and not report.feasible:
            return "labels", "labels break a hard rule"
    return "labels", ""


class Clock:
    """A process that fits; one that is far too late is ended and replaced."""

    def __init__(self) -> None:
        self.process: Any = None

    def fit(self, name: str, seed: int, limit: float) -> Timed:
        """Time one fit."""
        if self.process is None:
            context = get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=work, args=(other,))
            self.process.start()
            other.close()
        self.pipe.send((name, seed, limit))
        begun = time.perf_counter()
        try:
            self.pipe.recv()
            begun = time.perf_counter()
            if self.pipe.poll(limit + PATIENCE):
                answer: Timed = self.pipe.recv()
                return answer
            failure = "did not end"
        except EOFError:
            failure = "the process died"
        self.end()
        return Timed(name, seed, limit, time.perf_counter() - begun, "none", failure)

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def close(self) -> None:
        """Let the process end by itself."""
        if self.process is not None:
            self.pipe.send(None)
            self.process.join()


def time_fits(names: list[str], seed: int, count: int) -> int:
    """Time the fits and print a table; the number of failures."""
    rng = np.random.default_rng(seed)
    clock, found = Clock(), []
    for number in range(count):
        name = names[number % len(names)]
        limit = round(float(np.exp(rng.uniform(np.log(0.2), np.log(10.0)))), 2)
        timed = clock.fit(name, seed + number, limit)
        if timed.late > GRACE + SHARE * limit:
            timed.failure = "LATE" + (f", {timed.failure}" if timed.failure else "")
        found.append(timed)
        print(
            f"{number + 1:4d}/{count}  {name:<20} seed {timed.seed:<5} limit {limit:5.2f} s  "
            f"took {timed.seconds:6.2f} s  {timed.ended:<10} {timed.failure}",
            flush=True,
        )
    clock.close()
    return limits_table(found)


def limits_table(found: list[Timed]) -> int:
    """Print how late the fits of each kind were; the number of failures."""
    kinds: dict[str, list[Timed]] = defaultdict(list)
    for timed in found:
        kinds[timed.name].append(timed)
    kinds["all"] = found
    print(f"\n{'kind':<20} fits  cut  late s: median    p90    max  over  other failures")
    for name, fits in kinds.items():
        late = np.maximum([one.late for one in fits], 0.0)
        over = sum("LATE" in one.failure for one in fits)
        cut = sum(one.late > -0.05 * one.limit for one in fits)
        other = sum(bool(one.failure) for one in fits) - over
        print(
            f"{name:<20} {len(fits):4d} {cut:4d} {np.median(late):15.2f} "
            f"{np.quantile(late, 0.9):6.2f} {late.max():6.2f} {over:5d} {other:6d}"
        )
    return sum(bool(one.failure) for one in found)


def send_interrupts(names: list[str], seed: int, count: int) -> int:
    """Interrupt processes and print a table; the number of failures."""
    found: list[Interrupted] = []
    for number in range(count):
        one = interrupt(names[number % len(names)], seed + number, command_line=bool(number % 2))
        found.append(one)
        print(
            f"{number + 1:4d}/{count}  {one.name:<20} seed {one.seed:<5} {one.way:<12} "
            f"after {one.moment:5.2f} s  ended in {one.seconds:5.2f} s  code {one.code:<5} "
            f"{one.failure}",
            flush=True,
        )
    print(f"\n{'way':<12} interrupts  median s  max s  failures")
    for way in sorted({one.way for one in found}):
        some = [one for one in found if one.way == way]
        seconds = [one.seconds for one in some]
        failures = sum(bool(one.failure) for one in some)
        print(
            f"{way:<12} {len(some):10d} {np.median(seconds):9.2f} {max(seconds):6.2f} {failures:9d}"
        )
    return sum(bool(one.failure) for one in found)


def main() -> int:
    """Time the fits, or interrupt them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="number of fits under a limit")
    parser.add_argument("--interrupts", type=int, default=0, help="interrupt so many fits instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first instance")
    parser.add_argument("--only", nargs="*", choices=list(HARD), help="kinds of instances")
    options = parser.parse_args()
    names = options.only or list(HARD)
    if options.interrupts:
        failures = send_interrupts(names, options.seed, options.interrupts)
    else:
        failures = time_fits(names, options.seed, options.count)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
