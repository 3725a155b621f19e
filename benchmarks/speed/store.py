"""Results on disk, so that a stopped run can continue."""

from __future__ import annotations

import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import corral

HERE = Path(__file__).resolve().parent
#: Files of this folder on which a result depends.
OWN = ("methods.py", "jobs.py", "worker.py", "runner.py", "scaling.py")
PACKAGES = (
    "corral",
    "numpy",
    "scipy",
    "scikit-learn",
    "ortools",
    "k-means-constrained",
    "active-semi-supervised-clustering",
    "htcopkmeans",
)


def versions() -> dict[str, str]:
    """Versions of the installed packages."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def fingerprint(*settings: object) -> str:
    """A hash of corral's code, of these scripts, of the package versions and of the settings."""
    digest = hashlib.sha256(repr((sorted(versions().items()), settings)).encode())
    package = Path(corral.__file__).parent
    for path in [*sorted(package.rglob("*.py")), *(HERE / name for name in OWN)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Store:
    """One JSON file for each job; a result of other code or settings counts as missing."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder, self.mark = folder, mark
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, name: str) -> list[dict[str, Any]] | None:
        """The stored runs of a job, or None."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        return kept["runs"] if kept["mark"] == self.mark else None

    def save(self, name: str, runs: list[dict[str, Any]]) -> None:
        """Store the runs; the file is replaced as a whole, so it is never incomplete."""
        path = self.folder / f"{name}.json"
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"mark": self.mark, "runs": runs}, indent=1), encoding="utf-8")
        part.replace(path)
