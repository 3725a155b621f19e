from __future__ import annotations

import json
import math
import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import corral
from corral import CannotLink, ClusterSizes, MustLink, Report, audit
from corral.audit import Entry, InMemory, examine


def inertia_by_the_book(X, labels, weight, centers=None):
    """Loop over clusters, in the widest floats there are."""
    X, weight = np.asarray(X, np.longdouble), np.asarray(weight, np.longdouble)
    total = np.longdouble(0)
    for j in np.unique(labels):
        rows = labels == j
        share = weight[rows, None]
        center = (share * X[rows]).sum(0) / share.sum() if centers is None else centers[j]
        total += (share * (X[rows] - center) ** 2).sum()
    return float(total)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.5)
    return X, rng.integers(3, size=60), rng.uniform(0.1, 3, size=60)


def make(kind, X):
    return sparse.csr_array(X) if kind == "sparse" else X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_inertia_is_that_of_the_definition(data, kind, weighted, given):
    X, labels, weight = data
    weight = weight if weighted else np.ones(len(X))
    centers = np.arange(12.0).reshape(3, 4) if given else None
    report = audit(make(kind, X), labels, None, 3, weight if weighted else None, centers)
    assert report.inertia == pytest.approx(
        inertia_by_the_book(X, labels, weight, centers), rel=1e-13
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_inertia_survives_a_large_shift(data, kind, weighted):
    X, labels, weight = data
    # A power of two and short fractions: the shifted data lose no digit themselves.
    X = np.round(X * 1024) / 1024
    weight = weight if weighted else None
    at_zero = audit(X, labels, None, 3, weight).inertia
    shifted = audit(make(kind, X + 2.0**20), labels, None, 3, weight).inertia
    assert shifted == pytest.approx(at_zero, rel=1e-9)


def test_float32_is_summed_in_double(data):
    X, labels, _ = data
    X = (X + 1e4).astype(np.float32)
    exact = inertia_by_the_book(X, labels, np.ones(len(X)))
    assert audit(X, labels, None, 3).inertia == pytest.approx(exact, rel=1e-9)
    assert audit(sparse.csr_array(X), labels, None, 3).inertia == pytest.approx(exact, rel=1e-9)


def test_blocks_do_not_matter(data, monkeypatch):
    X, labels, weight = data
    whole = audit(X, labels, None, 3, weight).inertia
    monkeypatch.setattr(sys.modules["corral.audit.inertia"], "ENTRIES", 7 * 4)
    assert audit(X, labels, None, 3, weight).inertia == pytest.approx(whole, rel=1e-14)


def test_sparse_entries_stored_twice_or_as_zero(data):
    X, labels, _ = data
    row, column = np.nonzero(np.ones_like(X))
    halves = sparse.coo_array(
        (np.tile(X.ravel() / 2, 2), (np.tile(row, 2), np.tile(column, 2))), shape=X.shape
    )
    twice = sparse.csr_array(
        (np.repeat(X.ravel() / 2, 2), np.repeat(column, 2), 8 * np.arange(len(X) + 1)),
        shape=X.shape,
    )
    for same in (halves.tocsr(), twice):
        before = same.nnz
        assert audit(same, labels, None, 3).inertia == pytest.approx(
            audit(X, labels, None, 3).inertia, rel=1e-13
        )
        assert same.nnz == before


def test_wide_sparse_data_stay_sparse():
    """A million columns dense would need 80 GB here."""
    n, d = 10_000, 1_000_000
    X = sparse.random_array((n, d), density=1e-6, format="csr", rng=np.random.default_rng(0))
    labels = np.arange(n) % 2
    report = audit(X, labels, None, 2)
    assert 0 < report.inertia <= (X.data**2).sum()


def test_empty_and_weightless_clusters_cost_nothing(data):
    X, labels, _ = data
    plain = audit(X, labels, None, 3)
    assert audit(X, labels, None, 5).inertia == plain.inertia
    assert audit(X, labels, None, 5).sizes == (*plain.sizes, 0, 0)
    weight = np.where(labels == 1, 0.0, 1.0)
    kept = labels != 1
    assert audit(X, labels, None, 3, weight).inertia == pytest.approx(
        audit(X[kept], labels[kept], None, 3).inertia
    )


LABELS = np.array([0, 0, 1, 1, 1])
X5 = np.array([[0.0], [2.0], [10.0], [12.0], [14.0]])


def test_hard_and_soft_are_told_apart():
    rules = [
        MustLink([(0, 1), (1, 2)], weight=[1.5, 4.0]),
        CannotLink([(2, 3), (3, 4), (0, 4)], weight=[np.inf, 0.5, np.inf]),
        ClusterSizes([2, 3]),
    ]
    report = audit(X5, LABELS, rules, 2)
    soft, mixed, sizes = report.entries
    assert (soft.hard_count, soft.soft_cost) == (0, 4.0)
    assert (mixed.hard_count, mixed.soft_cost) == (1, 0.5)
    assert (sizes.hard_count, sizes.soft_cost) == (0, 0.0)
    assert report.soft_cost == 4.5
    assert report.objective == report.inertia + 4.5 == 14.5
    assert report.broken == (mixed,)
    assert not report.feasible


def test_broken_soft_pairs_leave_an_answer_feasible():
    report = audit(X5, LABELS, MustLink([(1, 2)], weight=3), 2)
    assert report.feasible
    assert report.broken == ()
    assert report.soft_cost == 3


def test_printing_gives_an_aligned_table_and_what_is_broken():
    rules = [MustLink([(0, 1)]), CannotLink([(2, 3)], weight=7), ClusterSizes([1, 4])]
    report = audit(X5, LABELS, rules, 2)
    summary, table, complaints = str(report).split("\n\n")
    assert "5 points in 2 clusters" in summary
    assert len(table.splitlines()) == 4
    assert len({len(line) for line in table.splitlines()}) == 1
    assert complaints.splitlines() == report.entries[2].violations.messages()
    assert str(audit(X5, LABELS, None, 2)).endswith("no constraints")


def test_to_dict_goes_through_json():
    rules = [MustLink([(0, 1), (1, 2)]), ClusterSizes([2, 3])]
    report = audit(X5, LABELS, rules, 2)
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["feasible"] is False
    assert plain["sizes"] == [2, 3]
    assert plain["inertia"] == plain["objective"] == report.inertia
    assert [entry["broken"] for entry in plain["constraints"]] == [1, 0]
    assert plain["constraints"][0]["where"] == [1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"shape \(2,\), but X has 5 samples"),
        ([0, 0, 1, 1, 2], r"sample 4 is 2; labels must lie in \[0, 1\]"),
        ([0, -1, 1, 1, 1], r"sample 1 is -1; labels must lie in \[0, 1\]"),
        ([0.0, 0, 1, 1, 1], "dtype float64; labels must be integers"),
    ],
)
def test_labels_that_cannot_be(labels, message):
    with pytest.raises(ValueError, match=message):
        audit(X5, labels, None, 2)


@pytest.mark.parametrize("convert", [np.ndarray.tolist, pd.DataFrame, sparse.csc_array])
def test_points_may_come_in_many_forms(convert):
    assert audit(convert(X5), LABELS, None, 2).inertia == audit(X5, LABELS, None, 2).inertia


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": None}, "Expected 2D array"),
        ({"X": X5[:, 0]}, "Expected 2D array"),
        ({"X": np.full((5, 1), np.nan)}, "X contains NaN"),
        ({"X": [["a"]] * 5}, "could not convert string"),
        ({"labels": None}, r"`labels` has shape \(\)"),
        ({"labels": [[0], [1, 2]]}, "`labels` is ragged"),
        ({"n_clusters": 0}, "`n_clusters` is 0; it must be an integer of at least 1"),
        ({"n_clusters": 2.0}, r"`n_clusters` is 2\.0"),
        ({"n_clusters": None}, "`n_clusters` is None"),
        ({"n_clusters": True}, "`n_clusters` is True"),
        ({"constraints": MustLink([(0, 9)])}, r"pair 0 is \(0, 9\), but X has 5 samples"),
        ({"constraints": ClusterSizes([5])}, "sizes has length 1, but n_clusters is 2"),
        ({"sample_weight": [1.0]}, r"`sample_weight` has shape \(1,\), but X has 5 samples"),
        ({"sample_weight": [1, 1, -1, 1, 1]}, r"`sample_weight`\[2\] is -1; .* not negative"),
        ({"sample_weight": [1, np.inf, 1, 1, 1]}, r"`sample_weight`\[1\] is inf"),
        ({"sample_weight": "heavy"}, "`sample_weight` must be numbers"),
        ({"centers": [[1.0, 2.0]]}, r"`centers` has shape \(1, 2\); .* must be \(2, 1\)"),
        ({"centers": [[1.0], [np.inf]]}, "`centers`.* is inf; each must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    fitting = {"X": X5, "labels": LABELS, "constraints": None, "n_clusters": 2}
    with pytest.raises(ValueError, match=message):
        audit(**(fitting | arguments))


def test_one_weight_is_that_of_every_row():
    twice = audit(X5, LABELS, None, 2, sample_weight=2)
    assert twice.inertia == 2 * audit(X5, LABELS, None, 2).inertia


def literal(X, labels, pairs, weight, k):
    """Inertia, sizes and broken must-links of the definition, one number after another."""
    X, labels, weight = X.tolist(), labels.tolist(), weight.tolist()
    inertia = []
    for j in range(k):
        rows = [i for i in range(len(X)) if labels[i] == j]
        mass = math.fsum(weight[i] for i in rows)
        for f in range(len(X[0])):
            mean = math.fsum(weight[i] * X[i][f] for i in rows) / mass if mass else 0.0
            inertia += [weight[i] * (X[i][f] - mean) ** 2 for i in rows]
    broken = [number for number, (a, b) in enumerate(pairs) if labels[a] != labels[b]]
    return math.fsum(inertia), tuple(labels.count(j) for j in range(k)), broken


def tensors(X):
    return pytest.importorskip("torch").as_tensor(X)


CUTS = {"whole": [0, 60], "even": [0, 20, 40, 60], "uneven": [0, 1, 1, 33, 60], "none": [0, 0, 60]}


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, tensors], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_anywhere_give_the_findings_of_a_literal_loop(data, cuts, kind, dtype, weighted):
    X, labels, weight = data
    X, weight = (X + 3.0).astype(dtype), weight if weighted else np.ones(len(X))
    weight[labels == 2] = 0.0
    pairs = [(0, 1), (2, 3), (4, 50), (50, 59)]
    inertia, sizes, broken = literal(X, labels, pairs, weight, 4)
    points = InMemory(*(kind(X[start:stop]) for start, stop in pairwise(CUTS[cuts])))
    rules = [MustLink(pairs), ClusterSizes(sizes, ordered=True)]
    found = examine(points, labels.astype(np.int32), rules, 4, weight)
    assert found.inertia == pytest.approx(inertia, rel=1e-12)
    assert found.sizes == sizes
    assert found.entries[0].violations.where.tolist() == broken
    assert found.entries[1].violations.count == 0
    assert found.feasible == (not broken)
    report = Report.of(points, labels, rules, 4, weight)
    np.testing.assert_array_equal(report.view.rows, np.arange(60))
    seen = report.view.points
    np.testing.assert_array_equal(seen.toarray() if sparse.issparse(seen) else seen, X)
    assert report.inertia == found.inertia


def test_blocks_on_a_device_do_not_matter(data, monkeypatch):
    X, labels, weight = data
    points = InMemory(tensors(X))
    whole = examine(points, labels, None, 3, weight).inertia
    monkeypatch.setattr(sys.modules["corral.audit.inertia"], "ENTRIES_ON_DEVICE", 7 * 4)
    assert examine(points, labels, None, 3, weight).inertia == pytest.approx(whole, rel=1e-14)


def test_arrays_that_cannot_be_written_to_are_audited_in_silence(data, recwarn):
    X, labels, _ = data
    labels.flags.writeable = False
    weight = np.broadcast_to(2.0, len(X))
    found = examine(InMemory(tensors(X)), labels, None, 3, weight)
    assert found.inertia == pytest.approx(2 * audit(X, labels, None, 3).inertia, rel=1e-13)
    assert not recwarn.list


def test_reports_can_be_pickled_and_compared():
    report = audit(X5, LABELS, MustLink([(1, 2)]), 2)
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report)
    assert again.to_dict() == report.to_dict()
    np.testing.assert_array_equal(again.view.points, report.view.points)
    plain = audit(X5, LABELS, None, 2)
    assert plain == audit(X5, LABELS, None, 2)
    assert plain != audit(X5, LABELS[::-1], None, 2)


@pytest.mark.parametrize("name", ["Report", "audit"])
def test_old_imports_work_and_warn(name):
    with pytest.warns(DeprecationWarning, match=f"write `from corral import {name}`"):
        found = getattr(sys.modules["corral.audit"], name)
    assert found is getattr(corral, name)
    assert isinstance(audit(X5, LABELS, MustLink([(0, 1)]), 2).entries[0], Entry)
    with pytest.raises(AttributeError, match="nothing"):
        sys.modules["corral.audit"].nothing  # noqa: B018
