"""Odd files of rows and pairs for the command line: CSV, Excel, Parquet, npy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case, D, K, N, needs, obeys, points
from .shell import RULES, fails, labelled, labels_in, prepare, shell

FIT = "corral fit given{ending} -k 3 -o out.csv"


def _lines(*lines: str) -> bytes:
    return "\n".join(lines).encode()


ROWS = [f"{x:.3f},{y:.3f}" for x, y in points().tolist()]

#: Text files that must be refused, and a word of the sentence.
BAD: dict[str, tuple[str, bytes, str]] = {
    "empty": (".csv", b"", "given.csv"),
    "header-only": (".csv", b"x,y\n", "given.csv"),
    "blank-lines": (".csv", b"\n\n\n", "given.csv"),
    "nul": (".csv", b"x,y\n" + b"\x00" * 50, "given.csv"),
    "binary": (".csv", bytes(range(256)) * 20, "given.csv"),
    "utf16": (".csv", "\n".join(["x,y", *ROWS]).encode("utf-16"), "given.csv"),
    "ragged": (".csv", _lines("x,y", *ROWS, "1,2,3"), "given.csv"),
    "short-line": (".csv", _lines("x,y", *ROWS, "1"), "given.csv"),
    "nan": (".csv", _lines("x,y", *ROWS, "nan,1"), "given.csv"),
    "inf": (".csv", _lines("x,y", *ROWS, "inf,1"), "given.csv"),
    "huge": (".csv", _lines("x,y", *ROWS, "1e400,1"), "given.csv"),
    "missing": (".csv", _lines("x,y", *ROWS, ",1"), "missing"),
    "words": (".csv", _lines("x,y", *ROWS, "far,1"), "far"),
    "names-twice": (".csv", _lines("x,x", *ROWS), "x"),
    "open-quote": (".csv", _lines("x,y", *ROWS, '"1,2'), "given.csv"),
    "comma-decimals": (".csv", _lines("x;y", "1,5;2,5", "2,5;3,5", "3,5;4,5"), ""),
    "no-gzip": (".csv.gz", b"x,y\n1,2\n", "given.csv.gz"),
    "short-gzip": (".csv.gz", b"\x1f\x8b\x08\x00", "given.csv.gz"),
    "no-excel": (".xlsx", b"PK\x03\x04 no workbook", "given.xlsx"),
    "text-as-excel": (".xlsx", b"x,y\n1,2\n", "given.xlsx"),
    "no-parquet": (".parquet", b"PAR1 none", "given.parquet"),
    "no-npy": (".npy", b"no array", "given.npy"),
    "unknown-ending": (".doc", b"x,y\n1,2\n", "given.doc"),
    "two-rows": (".csv", _lines("x,y", "1,2", "3,4"), "2"),
}

#: Odd text files that can be read.
SOUND: dict[str, tuple[str, bytes, str]] = {
    "bom": (".csv", b"\xef\xbb\xbf" + _lines("x,y", *ROWS), ""),
    "crlf": (".csv", "\r\n".join(["x,y", *ROWS]).encode(), ""),
    "no-header": (".csv", _lines(*ROWS), ""),
    "blank-last-lines": (".csv", _lines("x,y", *ROWS, "", ""), ""),
    "quoted": (".csv", _lines('"x","y"', *ROWS), ""),
    "spaces": (".csv", _lines("x , y", *(row.replace(",", " , ") for row in ROWS)), ""),
    "tabs": (".tsv", _lines("x\ty", *(row.replace(",", "\t") for row in ROWS)), ""),
    "decimal-comma": (
        ".csv",
        _lines("x;y", *(row.replace(",", ";").replace(".", ",") for row in ROWS)),
        "--decimal ,",
    ),
    "exponents": (".csv", _lines("x,y", *(f"{i}e-300,{i}E+2" for i in range(N))), ""),
    "long-header": (".csv", _lines("x" * 100_000 + ",y", *ROWS), ""),
}


def _npy(array: Any, **options: Any) -> bytes:
    from io import BytesIO

    file = BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def _npz() -> bytes:
    from io import BytesIO

    file = BytesIO()
    np.savez(file, X=points())
    return file.getvalue()


#: Files of arrays that must be refused.
ARRAYS: dict[str, Callable[[], bytes]] = {
    "npy-objects": lambda: _npy(points().astype(object), allow_pickle=True),
    "npy-text": lambda: _npy(np.array([["a", "b"]] * N)),
    "npy-complex": lambda: _npy(points() + 1j),
    "npy-one-dimension": lambda: _npy(points()[:, 0]),
    "npy-three-dimensions": lambda: _npy(points()[None]),
    "npy-nan": lambda: _npy(np.full((N, D), np.nan)),
    "npy-no-rows": lambda: _npy(points()[:0]),
    "npy-short": lambda: _npy(points())[:-9],
    "npy-dates": lambda: _npy(np.array([["2020-01-01"] * D] * N, dtype="M8[D]")),
    "npz": _npz,
}


def _excel(change: Callable[[Any], Any]) -> None:
    book = needs("openpyxl").Workbook()
    sheet = book.active
    sheet.append(["x", "y"])
    for row in points().tolist():
        sheet.append(row)
    change(sheet)
    book.save("given.xlsx")


#: Changes of a sheet that must be refused, with a word.
SHEETS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "word": (lambda sheet: sheet.append(["far", 1]), "far"),
    "error": (lambda sheet: sheet.append(["#DIV/0!", 1]), "DIV"),
    "formula": (lambda sheet: sheet.append(["=A2+1", 1]), ""),
    "hole": (lambda sheet: sheet.append([None, 1]), "missing"),
    "date": (lambda sheet: sheet.append([__import__("datetime").date(2020, 1, 1), 1]), ""),
    "no-header": (lambda sheet: sheet.delete_rows(1, N + 1), ""),
    "wide-row": (lambda sheet: sheet.append([1, 2, 3]), ""),
}


def _parquet(what: str) -> None:
    frame = needs("pandas").DataFrame(points(), columns=["x", "y"])
    needs("pyarrow")
    if what == "words":
        frame["y"] = "far"
    if what == "missing":
        frame.loc[3, "y"] = None
    if what == "nested":
        frame["y"] = [[1.0]] * N
    if what == "no-columns":
        frame = frame[[]]
    if what == "dates":
        frame["x"] = needs("pandas").Timestamp("2020-01-01")
    frame.to_parquet("given.parquet")


#: Files of pairs that must be refused.
PAIRS: dict[str, tuple[bytes, str]] = {
    "outside": (b"0,12\n", "12"),
    "negative": (b"0,-1\n", "-1"),
    "itself": (b"3,3\n", "3"),
    "one-column": (b"0\n1\n", "ml.csv"),
    "four-columns": (b"0,1,2,3\n", "ml.csv"),
    "half": (b"0,1.5\n", "1.5"),
    "name": (b"0,shop\n", "shop"),
    "weight-nan": (b"0,1,nan\n", "ml.csv"),
    "weight-minus": (b"0,1,-2\n", "ml.csv"),
    "weight-word": (b"0,1,much\n", "much"),
    "huge": (b"0," + b"9" * 400 + b"\n", "ml.csv"),
    "binary": (bytes(range(256)), "ml.csv"),
    "utf16": ("0,1\n".encode("utf-16"), "ml.csv"),
}

#: Files of labels that ``audit`` must refuse.
LABELS: dict[str, tuple[bytes, str]] = {
    "few": (b"id,label\n0,1\n", "labels.csv"),
    "many": (b"id,label\n" + b"".join(b"%d,0\n" % i for i in range(N + 1)), "labels.csv"),
    "negative": (b"id,label\n" + b"".join(b"%d,-1\n" % i for i in range(N)), "-1"),
    "half": (b"id,label\n" + b"".join(b"%d,0.5\n" % i for i in range(N)), "0.5"),
    "word": (b"id,label\n" + b"".join(b"%d,one\n" % i for i in range(N)), "one"),
    "huge": (b"id,label\n" + b"".join(b"%d,1%s\n" % (i, b"0" * 40) for i in range(N)), ""),
    "no-column": (b"id,cluster\n" + b"".join(b"%d,0\n" % i for i in range(N)), "label"),
    "twice": (b"id,label\n" + b"0,1\n" * N, ""),
    "empty": (b"", "labels.csv"),
}

#: Models that ``assign`` must refuse.
MODELS: dict[str, bytes] = {
    "empty": b"",
    "list": b"[]",
    "other": b'{"format": "other"}',
    "no-centres": b'{"format": "corral model", "version": 1, "columns": ["x", "y"]}',
    "new": b'{"format": "corral model", "version": 99}',
    "nan": b'{"format": "corral model", "version": 1, "columns": ["x", "y"], "metric": "euclidean",'
    b' "middle": [0, 0], "width": [1, 1], "fill": [0, 0], "centers": [[NaN, 1]]}',
    "ragged": b'{"format": "corral model", "version": 1, "columns": ["x", "y"], "metric": '
    b'"euclidean", "middle": [0, 0], "width": [1, 1], "fill": [0, 0], "centers": [[1], [1, 2]]}',
    "zero-width": b'{"format": "corral model", "version": 1, "columns": ["x", "y"], "metric": '
    b'"euclidean", "middle": [0, 0], "width": [0, 1], "fill": [0, 0], "centers": [[1, 2]]}',
    "binary": bytes(range(256)),
}


def _bad(name: str, data: bytes | Callable[[], bytes], line: str, word: str) -> None:
    prepare()
    Path(name).write_bytes(data if isinstance(data, bytes) else data())
    fails(line, word)
    if Path("out.csv").exists():
        raise AssertionError("out.csv was written")


def _sound(ending: str, data: bytes, options: str) -> None:
    prepare()
    Path(f"given{ending}").write_bytes(data)
    if "--decimal" in options:  # which holds for files of pairs, too
        Path("ml.csv").write_text("0;1\n", encoding="utf-8")
        Path("cl.csv").write_text("2;5\n", encoding="utf-8")
    rules = "--must-link ml.csv --cannot-link cl.csv --sizes 5,4,3 --json"
    ended = shell(f"{FIT.format(ending=ending)} {options} {rules}")
    if ended.code:
        raise AssertionError(f"exit code {ended.code}: {ended.err}")
    obeys(labels_in(Path("out.csv").read_text(encoding="utf-8").replace(";", ",")), RULES)


def _sheet(change: Callable[[Any], Any], word: str) -> None:
    prepare()
    _excel(change)
    fails(FIT.format(ending=".xlsx"), word)


def _bad_parquet(what: str) -> None:
    prepare()
    _parquet(what)
    fails(FIT.format(ending=".parquet"), "given.parquet")


def _same_everywhere(ending: str) -> None:
    """The same rows in another format give the same labels."""
    prepare()
    frame = needs("pandas").DataFrame(points(), columns=["x", "y"])
    if ending == ".xlsx":
        needs("openpyxl")
        frame.to_excel("given.xlsx", index=False)
    elif ending == ".parquet":
        needs("pyarrow")
        frame.to_parquet("given.parquet")
    elif ending == ".npy":
        np.save("given.npy", points())
    else:
        frame.to_csv(f"given{ending}", index=False)
    rules = "--must-link ml.csv --cannot-link cl.csv --sizes 5,4,3"
    labelled(f"corral fit given{ending} -k {K} {rules} -o out.csv", RULES)


def cases() -> Iterator[Case]:
    """Files of rows, pairs, labels and models."""
    for what, (ending, data, word) in BAD.items():
        line = FIT.format(ending=ending)
        yield Case("files-in", what, partial(_bad, f"given{ending}", data, line, word))
    for what, (ending, data, options) in SOUND.items():
        yield Case("files-in", f"odd-{what}", partial(_sound, ending, data, options))
    for what, make in ARRAYS.items():
        run = partial(_bad, "given.npy", make, FIT.format(ending=".npy"), "given.npy")
        yield Case("files-in", what, run)
    for what, (change, word) in SHEETS.items():
        yield Case("files-in", f"xlsx-{what}", partial(_sheet, change, word))
    for what in ("words", "missing", "nested", "no-columns", "dates"):
        yield Case("files-in", f"parquet-{what}", partial(_bad_parquet, what))
    for ending in (".xlsx", ".parquet", ".npy", ".csv.gz"):
        yield Case("files-in", f"same{ending}", partial(_same_everywhere, ending))
    for what, (data, word) in PAIRS.items():
        line = "corral fit plain.csv -k 3 --must-link ml.csv -o out.csv"
        yield Case("files-in", f"pairs-{what}", partial(_bad, "ml.csv", data, line, word))
    for what, (data, word) in LABELS.items():
        line = "corral audit plain.csv labels.csv"
        yield Case("files-in", f"labels-{what}", partial(_bad, "labels.csv", data, line, word))
    for what, data in MODELS.items():
        line = "corral assign plain.csv --model model.json -o out.csv"
        yield Case("files-in", f"model-{what}", partial(_bad, "model.json", data, line, "model"))
