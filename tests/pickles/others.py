"""Write what ``make.py`` does not: ``python others.py FILE``, with corral of any version.

Results of other functions and methods, by name: proofs, choices, baselines, and reports of broken
rules.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

import corral
from corral import CannotLink, ClusterSizes, ConstrainedKMeans, MustLink, audit, baselines

try:
    from pickles.make import RULES, X
except ImportError:  # run as a script
    from make import RULES, X

LINKS = [MustLink([(0, 1)]), CannotLink([(0, 5)])]
#: Methods that need no sizes.
METHODS = ("COPCobweb", "COPKMeans", "ConstrainedCompleteLink", "ConstrainedNCut", "E2CP")
METHODS += ("MPCKMeans", "PCKMeans", "PPC")
#: Labels that break most of ``RULES``.
BROKEN = np.array([0, 1, 0, 0, 0, 0])


def others():
    """What this version can make, by name."""
    found = {name: getattr(baselines, name)(2).fit(X, constraints=LINKS) for name in METHODS}
    least = baselines.MinSizeKMeans(2, random_state=0)
    found["MinSizeKMeans"] = least.fit(X, constraints=ClusterSizes(minimum=2))
    for rule in RULES:
        found[f"broken {rule!r}"] = audit(X, BROKEN, rule, 2)
    known = {"n_clusters": 2, "random_state": 0}
    soft = [MustLink([(0, 1), (0, 5)], 2.0), ClusterSizes(maximum=3)]
    found["soft"] = ConstrainedKMeans(**known).fit(X, constraints=soft)
    if "prove" in ConstrainedKMeans().get_params():
        found["proof"] = ConstrainedKMeans(**known, prove=2).fit(X, constraints=soft)
    if hasattr(corral, "choose_n_clusters"):
        found["choice"] = corral.choose_n_clusters(X, [2, 3], random_state=0)
        found["propagation"] = corral.LinkPropagation(2, n_neighbors=3).fit(X, constraints=LINKS)
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(others(), protocol=4))
