"""Write models and a rule of each kind: ``python make.py FILE``, with corral of any version.

``tests/test_old_pickles.py`` reads what this wrote with the versions that files are named after.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

import corral
from corral import (
    CannotLink,
    ClusterSizes,
    ClusterTotals,
    ConstrainedKMeans,
    GroupShares,
    LinearConstraint,
    MustLink,
    Pin,
)

X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [10.0, 1.0], [11.0, 1.0], [12.0, 1.0]])
FITTED = [MustLink([(2, 3)]), ClusterSizes([2, 4])]
RULES = [
    MustLink([(0, 1), (1, 2)], [1.0, np.inf]),
    CannotLink([(0, 3)]),
    ClusterSizes([2, 4]),
    ClusterSizes(minimum=1, maximum=5),
    ClusterTotals([1, 2, 3, 4, 5, 6], maximum=15),
    GroupShares(list("aababb"), minimum={"a": 0.2}),
    Pin({0: 1}),
    LinearConstraint(np.ones((1, 12)), upper=9),
]
#: Estimators that came with version 0.5.0.
SHAPES = ("ConstrainedGaussianMixture", "ConstrainedKernelKMeans", "ConstrainedKMedoids")


def models():
    """A fitted model of every kind that this version has."""
    kinds = [ConstrainedKMeans, *(getattr(corral, name, None) for name in SHAPES)]
    return [kind(2, random_state=0).fit(X, constraints=FITTED) for kind in kinds if kind]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps((models(), RULES), protocol=4))
