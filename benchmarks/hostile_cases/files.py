"""What commands write: closed descriptors, full disks, links, modes, new files, and signals."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .case import Case, UnclearError, WrongError, obeys
from .shell import OPTIONS, RULES, fails, labelled, labels_in, prepare, shell, unfinished

FIT = f"corral fit plain.csv {OPTIONS}"

#: Lines whose labels must be in ``out.csv``, whatever is closed.
WRITTEN = {
    "stdout-closed": f"{FIT} -o out.csv >&-",
    "stderr-closed": f"{FIT} -o out.csv 2>&-",
    "stdin-closed": f"{FIT} -o out.csv <&-",
    "all-closed": f"{FIT} -o out.csv <&- >&- 2>&-",
    "stderr-full": f"{FIT} -o out.csv 2>/dev/full",
    "quiet-closed": f"{FIT} -q -o out.csv >&- 2>&-",
    "out-by-stdout": f"{FIT} > out.csv",
    "out-stderr-closed": f"{FIT} > out.csv 2>&-",
    "out-stdin-closed": f"{FIT} > out.csv <&-",
    "from-stdin": f"cat plain.csv | corral fit - {OPTIONS} -o out.csv",
    "named-pipe": f"mkfifo pipe; cat plain.csv > pipe & corral fit - {OPTIONS} -o out.csv < pipe",
    "force": f"touch out.csv; {FIT} --force -o out.csv",
    "long-name": f"cp plain.csv {'n' * 200}.csv; corral fit {'n' * 200}.csv {OPTIONS} -o out.csv",
    "odd-name": f"cp plain.csv $'a\\n-b.csv'; corral fit ./$'a\\n-b.csv' {OPTIONS} -o out.csv",
    "no-home": f"HOME=/nonexistent {FIT} -o out.csv",
    "no-folder-for-temporary-files": f"TMPDIR=/nonexistent {FIT} -o out.csv",
    "ascii": f"LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii {FIT} -o out.csv",
    "jobs": f"{FIT} --jobs 2 -o out.csv",
}

#: Lines that lose the labels must say so.
LOST = {
    "stdout-closed": f"{FIT} >&-",
    "stdout-full": f"{FIT} > /dev/full",
    "json-full": f"{FIT} --json > /dev/full",
    "stdin-closed": f"corral fit - {OPTIONS} -o out.csv <&-",
    "stdin-empty": f"corral fit - {OPTIONS} -o out.csv < /dev/null",
    "limit-of-size": f"ulimit -f 0; {FIT} -o out.csv",
    "output-device": f"ln -s /dev/full full.csv; {FIT} --force -o full.csv",
    "output-proc": f"{FIT} -o /proc/out.csv",
    "output-long": f"{FIT} -o {'n' * 300}.csv",
    "output-dangling": f"ln -s none/out.csv link.csv; {FIT} -o link.csv",
    "output-circle": f"ln -s a.csv b.csv; ln -s b.csv a.csv; {FIT} -o a.csv",
    "choose-full": "corral choose plain.csv -k 2,3 > /dev/full",
    "check-full": "corral check plain.csv -k 3 --max-size 5 > /dev/full",
    "assign-full": f"{FIT} --model model.json -o out.csv && "
    "corral assign plain.csv --model model.json > /dev/full",
    "audit-full": "corral audit plain.csv labels.csv > /dev/full",
    "compare-full": "corral compare plain.csv -k 3 > /dev/full",
}


def _written(line: str) -> None:
    prepare()
    labelled(line, RULES)
    if left := unfinished():
        raise WrongError(f"{left} was left")


def _lost(line: str) -> None:
    prepare()
    fails(line)
    if left := unfinished():
        raise WrongError(f"{left} was left")


def _broken_pipe() -> None:
    prepare()
    ended = shell(f"{FIT} | head -c 5; exit ${{PIPESTATUS[0]}}")
    if "Traceback" in ended.err:
        raise UnclearError(ended.err[-300:])


def _mode(mode: int) -> None:
    """``--force`` keeps the mode of a file."""
    prepare()
    Path("out.csv").touch()
    Path("out.csv").chmod(mode)
    labelled(f"{FIT} --force -o out.csv", RULES)
    found = stat.S_IMODE(Path("out.csv").stat().st_mode)
    if found != mode:
        raise WrongError(f"mode {found:o}, not {mode:o}")


def _link() -> None:
    """``--force`` onto a link writes to its target."""
    prepare()
    Path("target.csv").touch()
    Path("out.csv").symlink_to("target.csv")
    labelled(f"{FIT} --force -o out.csv", RULES, path="target.csv")
    if not Path("out.csv").is_symlink():
        raise WrongError("the link was replaced")


def _appears() -> None:
    """A file that appears during the fit stays as it is, and the labels are somewhere."""
    prepare()
    job = subprocess.Popen(["bash", "-c", f"PATH=$PWD/bin:$PATH; {FIT} -o out.csv"])
    while job.poll() is None and not Path("out.csv").exists():
        # After the first look at the folder, which makes a file, and before the fit ends.
        if list(Path().glob(".corral*")):
            Path("out.csv").write_text("mine", encoding="utf-8")
        time.sleep(0.0005)
    code = job.wait()
    texts = [path.read_text(encoding="utf-8") for path in Path().glob("out*.csv")]
    if "mine" in texts:
        others = [text for text in texts if text != "mine"]
        if code != 2 or len(others) != 1:
            raise WrongError(f"exit code {code}, {len(others)} files of labels")
        texts = others
    obeys(labels_in(texts[0]), RULES)


def _file_limit() -> None:
    """A disk that is full after some bytes: no half of a file has the name of the output."""
    prepare()
    path = f"{Path('bin').absolute()}{os.pathsep}{os.environ['PATH']}"

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    line = f"{FIT} -o out.csv"
    ended = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PATH": path, "NUMBA_CACHE_DIR": "/proc/none"},
        capture_output=True,
        preexec_fn=limited,
        check=False,
    )
    if ended.returncode != 2:
        raise WrongError(f"exit code {ended.returncode}: {ended.stderr[-200:]!r}")
    if Path("out.csv").exists():
        raise WrongError("a part of out.csv was written")


#: Options that make a fit long, so that a signal comes while it runs.
LONG = "--effort 1000"


def _signalled(number: int, options: str, delay: float) -> None:
    """The command ends soon with its code, and nothing stays."""
    prepare()
    path = f"{Path('bin').absolute()}{os.pathsep}{os.environ['PATH']}"
    line = f"exec corral fit plain.csv -k 3 {LONG} -o out.csv {options}"
    job = subprocess.Popen(
        ["bash", "-c", line],
        env={**os.environ, "PATH": path},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(delay)
    if job.poll() is None:
        os.kill(job.pid, number)
    _, said = job.communicate()
    if b"Traceback" in said:
        raise UnclearError(said.decode()[-300:])
    # A signal before Python's handlers are there ends the process by itself.
    if job.returncode not in (0, 128 + number, -number):
        raise UnclearError(f"exit code {job.returncode}: {said.decode()[-200:]}")
    try:
        os.killpg(job.pid, 0)
    except ProcessLookupError:
        pass
    else:
        raise WrongError("processes stay")
    if left := unfinished():
        raise WrongError(f"{left} was left")
    if job.returncode and Path("out.csv").exists():
        raise WrongError("out.csv was written")


def cases() -> Iterator[Case]:
    """Outputs and signals."""
    for group, table, run in (("written", WRITTEN, _written), ("lost", LOST, _lost)):
        for what, line in table.items():
            yield Case("outputs", f"{group}-{what}", partial(run, line))
    others: dict[str, Callable[[], None]] = {
        "broken-pipe": _broken_pipe,
        "mode-600": partial(_mode, 0o600),
        "mode-640": partial(_mode, 0o640),
        "link": _link,
        "appears": _appears,
        "limit-of-bytes": _file_limit,
    }
    for what, case in others.items():
        yield Case("outputs", what, case)
    for number in (signal.SIGINT, signal.SIGTERM):
        for what, options in {
            "": "",
            "-jobs-2": "--jobs 2",
            "-medoids": "--method medoids",
        }.items():
            for delay in (1.0, 6.0):
                name = f"cli-{number.name}{what}-{delay:g}"
                yield Case("signals", name, partial(_signalled, number, options, delay))
