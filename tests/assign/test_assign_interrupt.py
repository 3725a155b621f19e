"""Ctrl-C ends a long solve at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from corral.assign.program import interruptible

PROGRAM = """
import numpy as np
from tiny_problems import make_rules
from corral.assign import assign, feasible
from corral.presolve import LinearRows
from scipy import sparse

rng = np.random.default_rng(0)
A = np.zeros((5, 100))
A[:, ::2] = rng.integers(0, 100, (5, 50))
half = A.sum(axis=1) // 2
rules = make_rules(np.ones(50, int), 2, linear=LinearRows(sparse.csr_array(A), half, half))
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
@pytest.mark.parametrize(
    "call", ["assign(rules, rng.random((50, 2)))", "feasible(rules)"], ids=["assign", "any"]
)
def test_ctrl_c_during_a_hard_problem(call):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(call=call)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.5)
        process.send_signal(signal.SIGINT)
        # Solving would take hours; a few seconds are for a slow machine.
        assert process.communicate(timeout=10)[0] == "interrupted\n"
    finally:
        process.kill()
        process.communicate()


def test_results_and_errors_come_through():
    assert interruptible(lambda: threading.current_thread().name) == "corral-solver"
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)


def test_no_thread_is_started_outside_the_main_one():
    names: list[str] = []
    inner = threading.Thread(
        name="inner",
        target=lambda: names.append(interruptible(lambda: threading.current_thread().name)),
    )
    inner.start()
    inner.join()
    assert names == ["inner"]
