"""Threads, forks, signals inside a fit, strange environments, and pickles of old releases."""

from __future__ import annotations

import copy
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .case import (
    RULES,
    Case,
    UnclearError,
    WrongError,
    made,
    needs,
    obeys,
    points,
    refused,
    same,
    sizes,
)
from .data import ESTIMATORS, model

ROOT = Path(__file__).parents[2]
PICKLES = ROOT / "tests" / "pickles"


def _blas() -> Any:
    return [pool["num_threads"] for pool in needs("threadpoolctl").threadpool_info()]


def _threads(kind: str, count: int) -> None:
    """Fits in threads give the labels of fits in turn, and leave BLAS as it was."""
    data = [points(90, 3, seed) for seed in range(count)]
    rules = [sizes([40, 30, 20])]
    fit = lambda X: model(kind).fit(X, constraints=made(rules)).labels_  # noqa: E731
    before = _blas()
    found: dict[int, Any] = {}
    jobs = [
        threading.Thread(target=lambda i=i: found.update({i: fit(data[i])})) for i in range(count)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    if _blas() != before:
        raise WrongError(f"BLAS had {before} threads and has {_blas()}")
    for i, X in enumerate(data):
        if i not in found:
            raise UnclearError(f"thread {i} of {count} ended without an answer")
        obeys(found[i], rules, 90)
        same(found[i], fit(X), "labels in a thread and alone")


def _one_model_in_threads() -> None:
    fitted = model("kmeans").fit(points())
    answers: list[Any] = []
    jobs = [
        threading.Thread(target=lambda: answers.append(fitted.predict(points()))) for _ in "abc"
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    for labels in answers:
        same(labels, fitted.labels_, "labels of predict in threads")


def _in_child(act: Callable[[], Any]) -> None:
    """Run in a fork of this process; raise what it says."""
    pid = os.fork()
    if not pid:
        try:
            act()
            os._exit(0)
        except BaseException as error:
            Path("child").write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        said = Path("child").read_text(encoding="utf-8") if Path("child").exists() else ""
        raise UnclearError(f"the fork ended with {code}: {said}")


def _fit(kind: str = "kmeans") -> None:
    obeys(model(kind).fit(points(), constraints=made(RULES)).labels_, RULES)


def _fork_after(kind: str) -> None:
    _fit(kind)
    _in_child(partial(_fit, kind))
    _fit(kind)


def _fork_during(kind: str) -> None:
    """A fork while another thread fits: both go on."""
    job = threading.Thread(target=lambda: model(kind).fit(points(400, 4)))
    job.start()
    time.sleep(0.05)
    _in_child(partial(_fit, kind))
    job.join()
    _fit(kind)


def _pool(method: str) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        for labels in pool.map(_labels, range(3)):
            obeys(labels, RULES)


def _labels(seed: int) -> Any:
    return (
        model("kmeans").set_params(random_state=seed).fit(points(), constraints=made(RULES)).labels_
    )


#: Programs that a process of its own runs, with a line that is printed at the end.
FIT = (
    "import sys; sys.path[:0] = [{benchmarks!r}]\n"
    "from hostile_cases.case import RULES, made, obeys, points\n"
    "from hostile_cases.data import model\n"
    "obeys(model({kind!r}).fit(points(), constraints=made(RULES)).labels_, RULES)\n"
    "print('obeyed')\n"
)


def _program(
    kind: str = "kmeans",
    first: str = "",
    flags: tuple[str, ...] = (),
    limits: Callable[[], Any] | None = None,
    **environment: str | None,
) -> None:
    """A fit in a new process with another environment."""
    text = first + FIT.format(benchmarks=str(ROOT / "benchmarks"), kind=kind)
    variables = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
    ended = subprocess.run(
        [sys.executable, *flags, "-c", text],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limits,
    )
    if ended.returncode or ended.stdout.split()[-1:] != ["obeyed"]:
        raise UnclearError(f"exit code {ended.returncode}: {ended.stderr[-300:]}")


ENVIRONMENTS: dict[str, Callable[[], None]] = {
    "no-jit": partial(_program, NUMBA_DISABLE_JIT="1"),
    "no-jit-medoids": partial(_program, kind="medoids", NUMBA_DISABLE_JIT="1"),
    "no-home": partial(_program, HOME="/nonexistent", XDG_CACHE_HOME=None),
    "home-unset": partial(_program, HOME=None),
    "locked-cache": partial(_program, NUMBA_CACHE_DIR="/proc/cache", NUMBA_OPT="0"),
    "cache-is-a-file": partial(_program, NUMBA_CACHE_DIR="/dev/null/cache"),
    "optimised": partial(_program, flags=("-OO",)),
    "utf8-off": partial(_program, LC_ALL="C", PYTHONUTF8="0", LANG=None),
    "warnings-are-errors": partial(_program, flags=("-W", "error:::corral")),
    "few-files": partial(
        _program, limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    ),
    "one-thread-each": partial(_program, OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1"),
    "many-threads": partial(_program, OMP_NUM_THREADS="16", NUMBA_NUM_THREADS="16"),
    "recursion-limit": partial(_program, first="import sys; sys.setrecursionlimit(100000)\n"),
    "numpy-raises": partial(_program, first="import numpy; numpy.seterr(all='raise')\n"),
    "no-bytecode": partial(_program, flags=("-B", "-s", "-X", "dev")),
    "in-a-thread": partial(
        _program, first="import threading; threading.stack_size(256 * 1024 * 4)\n"
    ),
    "random-hash": partial(_program, PYTHONHASHSEED="77"),
    "no-temporary-folder": partial(_program, TMPDIR="/nonexistent"),
}


def _interrupted(kind: str, number: int, delay: float) -> None:
    """A signal in a fit raises at once what the handler raises, and the next fit is sound."""

    class EndedError(Exception):
        pass

    def end(*_: object) -> None:
        raise EndedError

    signal.signal(number, end)
    threading.Timer(delay, os.kill, (os.getpid(), number)).start()
    begun = time.monotonic()
    try:
        for seed in range(1000):
            model(kind).set_params(random_state=seed).fit(points(3000, 8), constraints=[])
    except EndedError:
        late = time.monotonic() - begun - delay
        if late > 10.0:
            raise WrongError(f"the signal was noticed after {late:.0f} s") from None
    signal.signal(number, signal.SIG_DFL)
    _fit(kind)


def _old(version: str, ask: Callable[[Any], Any]) -> None:
    sys.path[:0] = [str(ROOT / "tests")]
    models, rules = pickle.loads((PICKLES / f"{version}.pickle").read_bytes())
    from pickles.make import X

    for fitted in models:
        ask((fitted, X))
    if not rules:
        raise WrongError("no rules")


ASKED: dict[str, Callable[[Any], Any]] = {
    "predict": lambda pair: same(
        pair[0].predict(pair[1][[0, -1]]), pair[0].labels_[[0, -1]], "labels"
    ),
    "report": lambda pair: str(pair[0].report_) or (_ for _ in ()).throw(WrongError("no report")),
    "html": lambda pair: pair[0].report_.to_html(),
    "refit": lambda pair: obeys(pair[0].fit(pair[1]).labels_, [], len(pair[1]), 2),
    "again": lambda pair: pickle.loads(pickle.dumps(pair[0])).predict(pair[1]),
    "copy": lambda pair: copy.deepcopy(pair[0]).predict(pair[1]),
}


def _bytes(change: Callable[[bytes], bytes]) -> None:
    """A spoiled pickle: pickle's own error, never a model without its parts."""
    data = change(pickle.dumps(model("kmeans").fit(points())))
    errors = (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, ImportError)
    refused(lambda: pickle.loads(data).predict(points()), kind=errors)


def _round_trip(kind: str, way: str) -> None:
    fitted = model(kind).fit(points(), constraints=made(RULES))
    if way == "joblib":
        joblib = needs("joblib")
        joblib.dump(fitted, "model.joblib", compress=3)
        other = joblib.load("model.joblib")
    else:
        other = pickle.loads(pickle.dumps(fitted, int(way)))
    same(other.labels_, fitted.labels_, "labels after a pickle")
    same(other.predict(points()), fitted.predict(points()), "predictions after a pickle")


def _closed_cluster() -> None:
    """A Dask cluster that is closed during the fit: an error, no endless wait."""
    distributed = needs("distributed")
    array = needs("dask.array").from_array(points(3000, 4), chunks=(500, 4))
    client = distributed.Client(n_workers=1, processes=False, dashboard_address=None)
    threading.Timer(0.3, client.close).start()
    try:
        for seed in range(50):
            labels = model("kmeans").set_params(random_state=seed).fit(array).labels_
            obeys(labels, [], 3000)
    except ConnectionError as error:
        if "was closed" not in str(error) and "were cancelled" not in str(error):
            raise UnclearError(str(error)) from None


def cases() -> Iterator[Case]:
    """Threads, forks, environments, signals and pickles."""
    for kind in ESTIMATORS:
        yield Case("threads", f"three-{kind}", partial(_threads, kind, 3))
        yield Case("forks", f"after-{kind}", partial(_fork_after, kind))
        yield Case("forks", f"during-{kind}", partial(_fork_during, kind))
        for way in ("0", "2", "5", "joblib"):
            yield Case("pickles", f"{kind}-{way}", partial(_round_trip, kind, way))
        for delay in (0.02, 0.3):
            name = f"api-{kind}-SIGINT-{delay}"
            yield Case("signals", name, partial(_interrupted, kind, signal.SIGINT, delay))
    yield Case("signals", "api-alarm", partial(_interrupted, "kmeans", signal.SIGALRM, 0.1))
    yield Case("threads", "eight-kmeans", partial(_threads, "kmeans", 8))
    yield Case("threads", "one-model", _one_model_in_threads)
    for method in ("fork", "spawn"):
        yield Case("forks", f"pool-{method}", partial(_pool, method))
    for what, run in ENVIRONMENTS.items():
        yield Case("environment", what, run)
    for path in sorted(PICKLES.glob("*.pickle")):
        for what, ask in ASKED.items():
            yield Case("pickles", f"{path.stem}-{what}", partial(_old, path.stem, ask))
    for what, change in {
        "short": lambda data: data[: len(data) // 2],
        "empty": lambda data: b"",
        "other-class": lambda data: data.replace(b"ConstrainedKMeans", b"ConstrainedKMeanz"),
        "text": lambda data: b"not a pickle",
    }.items():
        yield Case("pickles", what, partial(_bytes, change))
    yield Case("threads", "closed-cluster", _closed_cluster)
