"""Ctrl-C ends a long solve at once, and nothing of the solver stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from corral.exact.program import interruptible

# What runs would take hours.
SOLVE = """
from tiny_problems import make_rules
from corral.exact import assign, feasible
from corral.rules import LinearRows
from scipy import sparse
A = np.zeros((5, 100))
A[:, ::2] = rng.integers(0, 100, (5, 50))
half = A.sum(axis=1) // 2
rules = make_rules(np.ones(50, int), 2, linear=LinearRows(sparse.csr_array(A), half, half))
call = lambda: {call}
"""
FIT = """
from corral import ClusterTotals, ConstrainedKMeans
X, weights = rng.normal(size=(300, 3)), rng.uniform(1, 9, (2, 300))
mean = weights.sum(axis=1) / 5
tight = [ClusterTotals(w, minimum=m * 0.9999, maximum=m * 1.0001) for w, m in zip(weights, mean)]
call = lambda: ConstrainedKMeans(5, random_state=0).fit(X, constraints=tight)
"""
PROGRAM = """
import signal, threading, time
# Imported first: an extension that is interrupted in its import raises another exception.
import highspy, numpy as np, ortools.sat.python.cp_model
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have set it to be ignored
rng = np.random.default_rng(0)
{setting}
print("ready", flush=True)
try:
    call()
finally:
    print(time.time(), *(thread.name for thread in threading.enumerate() if not thread.daemon))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
@pytest.mark.parametrize(
    "setting",
    [
        SOLVE.format(call="assign(rules, rng.random((50, 2)))"),
        SOLVE.format(call="feasible(rules)"),
        FIT,
    ],
    ids=["assign", "any", "fit"],
)
def test_ctrl_c_during_a_hard_problem(setting):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(setting=setting)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        # The exception comes soon; leaving Python may take longer on a slow machine.
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    raised, *threads = output.split()
    assert float(raised) - sent < 2.0
    assert threads == ["MainThread"]
    # A process that ends by KeyboardInterrupt ends by that signal; one that aborts, by another.
    assert process.returncode == -signal.SIGINT
    assert errors.endswith("\nKeyboardInterrupt\n")


def test_results_and_errors_come_through():
    assert interruptible(lambda: 3, stop=lambda: None) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, stop=lambda: None)


def test_an_interrupted_call_has_ended_when_the_exception_comes():
    stopped, ended = threading.Event(), threading.Event()

    def call():
        signal.raise_signal(signal.SIGINT)  # handled by the waiting thread
        stopped.wait()
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        interruptible(call, stop=stopped.set)
    assert ended.is_set()
    assert "corral-solver" not in {thread.name for thread in threading.enumerate()}
