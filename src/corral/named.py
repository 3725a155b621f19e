"""Names of clusters in an estimator: the labels as names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .constraints.clusters import read_cluster_names
from .inputs import brought


class NamedClusters:
    """Part of an estimator: the names of the clusters of its labels."""

    cluster_names: Any
    labels_: Any

    @property
    def named_labels_(self) -> NDArray[Any]:
        """The name of the cluster of each row, (n_samples,); only with ``cluster_names``."""
        names = read_cluster_names(self.cluster_names)
        if names is None:
            raise AttributeError(
                "named_labels_ needs names of the clusters: give the estimator cluster_names=."
            )
        named: NDArray[Any] = np.array(names, dtype=object)
        return np.asarray(named[np.asarray(brought(self.labels_))])
