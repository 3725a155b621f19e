"""The version of corral in pickles of estimators."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

#: Name of the version in the state of an estimator; versions before 0.7.0 wrote none.
VERSION = "_corral_version"


class Versioned:
    """Part of an estimator: its pickles hold the version of corral that wrote them.

    Those of earlier versions can be read, and have the defaults of parameters that came later.
    Those of later or unknown versions are read with scikit-learn's InconsistentVersionWarning.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, VERSION: _version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = vars(type(self)()) | state
        written, now = state.pop(VERSION, None), _version()
        if written is not None and _numbers(written) > _numbers(now):
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"{now} of corral",
                    original_sklearn_version=f"{written} of corral",
                ),
                stacklevel=2,
            )
        super().__setstate__(state)  # type: ignore[misc]


def _version() -> str:
    version: str = import_module("corral").__version__
    return version


def _numbers(version: Any) -> tuple[float, ...]:
    """The numbers of a version, to be compared; what is none is above all."""
    parts = str(version).split(".")
    plain = all(part.isdecimal() for part in parts)
    return tuple(map(float, parts)) if plain else (float("inf"),)
