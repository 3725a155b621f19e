"""ConstrainedKMeans as scikit-learn users know an estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from corral import ConstrainedKMeans


@parametrize_with_checks([ConstrainedKMeans()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
