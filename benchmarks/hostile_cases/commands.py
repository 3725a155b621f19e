"""Options that cannot be, for every command."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .case import Case
from .shell import OPTIONS, fails, prepare

#: Rules in a file that cannot be, with a word of the sentence.
RULES_FILES = {
    "huge-shape": (
        '{"kind": "LinearConstraint", "shape": [100000000, 180], "row": [], "column": [], '
        '"value": [], "lower": null, "upper": 1}',
        "rules.json",
    ),
    "other-rows": (
        '{"kind": "ClusterTotals", "values": [1, 2], "minimum": null, "maximum": 1}',
        "length 2",
    ),
}

#: Command lines, and a word of the sentence; each must end with the exit code 2.
BAD: dict[str, tuple[str, str]] = {
    "no-command": ("corral nothing", "nothing"),
    "no-file": ("corral fit", "POINTS"),
    "file-missing": ("corral fit none.csv -k 3", "none.csv"),
    "folder": ("corral fit bin -k 3", "bin"),
    "no-k": ("corral fit plain.csv", "-k"),
    "k-zero": ("corral fit plain.csv -k 0", "0"),
    "k-word": ("corral fit plain.csv -k many", "many"),
    "k-huge": ("corral fit plain.csv -k 1" + "0" * 400, ""),
    "k-above-rows": ("corral fit plain.csv -k 13", "13"),
    "k-not-sizes": ("corral fit plain.csv -k 2 --sizes 4,4,4", ""),
    "sizes-word": ("corral fit plain.csv --sizes a,b", "a"),
    "sizes-minus": ("corral fit plain.csv --sizes 14,-1,-1", "-1"),
    "sizes-half": ("corral fit plain.csv --sizes 4.5,4.5,3", "4.5"),
    "sizes-empty": ("corral fit plain.csv --sizes ''", ""),
    "min-minus": ("corral fit plain.csv -k 3 --min-size -1", "-1"),
    "total-unknown": ("corral fit plain.csv -k 3 --total weight:1:2", "weight"),
    "total-text": ("corral fit shops.csv -k 3 --columns x,y --total kind:1:2", "kind"),
    "total-nan": ("corral fit shops.csv -k 3 --columns x,y --total load:nan:", "nan"),
    "total-form": ("corral fit shops.csv -k 3 --columns x,y --total load", "load"),
    "share-above": ("corral fit shops.csv -k 3 --columns x,y --share kind:2:", "2"),
    "pin-unknown": ("corral fit plain.csv -k 3 --pin p", "p"),
    "columns-unknown": ("corral fit plain.csv -k 3 --columns z", "z"),
    "columns-none": ("corral fit plain.csv -k 3 --columns ''", ""),
    "columns-twice": ("corral fit plain.csv -k 3 --columns x,x", "x"),
    "id-unknown": ("corral fit plain.csv -k 3 --id-column name", "name"),
    "id-twice": ("corral fit shops.csv -k 3 --columns x,y --id-column kind", "unique"),
    "words-as-numbers": ("corral fit shops.csv -k 3", "number"),
    "weight-unknown": ("corral fit plain.csv -k 3 --weight w", "w"),
    "seed-minus": ("corral fit plain.csv -k 3 --seed -1", "-1"),
    "seed-huge": ("corral fit plain.csv -k 3 --seed 99999999999999999999", ""),
    "limit-zero": ("corral fit plain.csv -k 3 --time-limit 0", "0"),
    "limit-nan": ("corral fit plain.csv -k 3 --time-limit nan", "nan"),
    "effort-zero": ("corral fit plain.csv -k 3 --effort 0", "0"),
    "effort-nan": ("corral fit plain.csv -k 3 --effort nan", "nan"),
    "soft-nan": ("corral fit plain.csv -k 3 --must-link ml.csv --soft nan", "nan"),
    "method": ("corral fit plain.csv -k 3 --method magic", "magic"),
    "method-option": ("corral fit plain.csv -k 3 --covariance full", "covariance"),
    "gamma": ("corral fit plain.csv -k 3 --method kernel --gamma wide", "wide"),
    "haversine": ("corral fit plain.csv -k 3 --columns x --metric haversine", ""),
    "rules-missing": ("corral fit plain.csv -k 3 --rules none.json", "none.json"),
    "rules-csv": ("corral fit plain.csv -k 3 --rules ml.csv", "ml.csv"),
    "pairs-missing": ("corral fit plain.csv -k 3 --must-link none.csv", "none.csv"),
    "output-ending": ("corral fit plain.csv -k 3 -o out.doc", ".doc"),
    "output-input": ("corral fit plain.csv -k 3 -o plain.csv --force", "plain.csv"),
    "output-folder": ("corral fit plain.csv -k 3 -o none/out.csv", "none"),
    "output-under-file": ("corral fit plain.csv -k 3 -o ml.csv/out.csv", "ml.csv"),
    "output-exists": ("corral fit plain.csv -k 3 -o labels.csv", "exists"),
    "report-ending": ("corral fit plain.csv -k 3 --report r.txt -o out.csv", ".txt"),
    "plot-ending": ("corral fit plain.csv -k 3 --plot p.txt -o out.csv", ".txt"),
    "check-no-k": ("corral check plain.csv --must-link ml.csv", "-k"),
    "check-option": ("corral check plain.csv -k 3 --magic", "magic"),
    "choose-huge": ("corral choose plain.csv -k 1:1000000000", ""),
    "choose-backwards": ("corral choose plain.csv -k 5:2", "5"),
    "choose-word": ("corral choose plain.csv -k few", "few"),
    "audit-one-file": ("corral audit plain.csv", "LABELS"),
    "audit-no-file": ("corral audit plain.csv none.csv", "none.csv"),
    "audit-column": ("corral audit plain.csv labels.csv --label-column z", "z"),
    "audit-k": ("corral audit plain.csv labels.csv -k 2", "2"),
    "assign-no-model": ("corral assign plain.csv", "--model"),
    "assign-model": ("corral assign plain.csv --model none.json", "none.json"),
    "ask-no-answers": ("corral ask plain.csv -k 3", "answers"),
    "ask-ending": ("corral ask plain.csv -k 3 -o answers.txt", ".txt"),
    "ask-strategy": ("corral ask plain.csv -k 3 -o a.json --strategy luck", "luck"),
    "ask-questions": ("corral ask plain.csv -k 3 -o a.json --questions 0", "0"),
    "compare-no-k": ("corral compare plain.csv", "-k"),
    "compare-truth": ("corral compare plain.csv -k 3 --truth species", "species"),
    "studio-port": ("corral studio plain.csv --port 99999 --no-browser", "99999"),
    "demo-folder": ("corral demo --save ml.csv/wine", "ml.csv"),
    "reproduce-name": ("corral reproduce table99", "table99"),
    "completion": ("corral completion tcsh", "tcsh"),
}

#: Rules that contradict each other: exit code 3.
INFEASIBLE = {
    "sizes": "--sizes 9,9,9",
    "pairs": "-k 3 --must-link ml.csv --cannot-link ml.csv",
    "minimum": "-k 3 --min-size 5",
    "maximum": "-k 3 --max-size 3",
}


def _bad(line: str, word: str, code: int = 2, silent: bool = False) -> None:
    prepare()
    before = {path.name for path in Path().iterdir()}
    fails(line, word, code=code, silent=silent)
    if new := {path.name for path in Path().iterdir()} - before:
        raise AssertionError(f"{new} was written")


def _rules(text: str, word: str) -> None:
    prepare()
    line = f"corral fit plain.csv -k 3 {OPTIONS} --rules rules.json -o out.csv"
    document = f'{{"format": "corral constraints", "version": 1, "constraints": [{text}]}}'
    Path("rules.json").write_text(document, encoding="utf-8")
    fails(line, word)


def cases() -> Iterator[Case]:
    """Each command line."""
    for what, (line, word) in BAD.items():
        yield Case("options", what, partial(_bad, line, word))
    for what, options in INFEASIBLE.items():
        for command in ("fit", "check"):
            # The conflict is what was asked of check: it is on the standard output.
            run = partial(_bad, f"corral {command} plain.csv {options}", "", 3, command == "check")
            yield Case("options", f"infeasible-{command}-{what}", run)
    for what, (text, word) in RULES_FILES.items():
        yield Case("options", f"rules-{what}", partial(_rules, text, word))
