"""The proof that belongs to a fit, and how reports tell of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from corral import ClusterSizes, ConstrainedKMeans, MustLink, estimator
from corral.proof import lower_bound, relaxation

X = np.concatenate([np.random.default_rng(0).normal(c, 1.0, (8, 2)) for c in (0.0, 6.0)])


def test_the_bound_is_that_of_the_function():
    rules = [MustLink([(0, 1)]), ClusterSizes(minimum=6)]
    model = ConstrainedKMeans(2, prove=20, random_state=0).fit(X, constraints=rules)
    alone = lower_bound(X, 2, rules, upper=model.inertia_, time_limit=20)
    assert model.report_.bound == pytest.approx(alone.value)
    assert model.report_.gap == pytest.approx(alone.gap)


@pytest.mark.parametrize("scale", [1e-80, 1.0, 1e80])
def test_the_unit_of_the_data_does_not_matter(scale):
    model = ConstrainedKMeans(2, prove=20, random_state=0).fit(scale * X)
    assert model.report_.gap <= 1e-6
    assert model.report_.bound == pytest.approx(model.inertia_, rel=1e-5)


def test_sparse_rows_have_the_same_bound():
    dense = ConstrainedKMeans(2, prove=20, random_state=0).fit(X)
    csr = ConstrainedKMeans(2, prove=20, random_state=0).fit(sparse.csr_array(X))
    assert csr.report_.bound == pytest.approx(dense.report_.bound)


def test_every_report_says_what_is_proven():
    report = ConstrainedKMeans(2, prove=20, random_state=0).fit(X).report_
    assert "proof    proven optimal" in str(report)
    assert "Proof: the answer is proven optimal." in report.to_html()
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["bound"] == report.bound
    assert plain["gap"] == report.gap


def test_without_prove_there_is_no_bound():
    report = ConstrainedKMeans(2, random_state=0).fit(X).report_
    assert report.bound is None
    assert report.gap is None
    assert "gap" not in report.to_dict()


def test_too_much_memory_is_refused_before_the_fit(monkeypatch):
    monkeypatch.setattr(relaxation, "BYTES_EACH", 2**50)
    monkeypatch.setattr(estimator, "solve", None)  # not reached
    with pytest.raises(MemoryError, match=r"bound for 16 groups needs about .* GiB"):
        ConstrainedKMeans(2, prove=1).fit(X)
