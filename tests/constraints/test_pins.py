"""Pins and partial labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from corral.constraints import Pin, from_labels


def test_violations_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    pins = {int(row): int(rng.integers(3)) for row in rng.choice(20, 10, replace=False)}
    labels = rng.integers(0, 3, 20)
    found = Pin(pins).violations(labels)
    assert found.where.tolist() == [
        p for p, (row, cluster) in enumerate(pins.items()) if labels[row] != cluster
    ]
    assert found.count == found.amount


def test_many_ways_to_write_pins():
    pin = Pin({3: 0, 5: 1})
    assert Pin([(3, 0), (5, 1)]) == pin
    assert Pin(np.array([[3, 0], [5, 1]])) == pin
    named = Pin({"d": 0, "f": 1}, index=pd.Index(list("abcdef")))
    assert named == Pin({3: 0, 5: 1}, n_samples=6)
    assert Pin({np.int64(3): np.int32(0), 5: 1}) == pin
    assert pin.phrase() == "pins of 3 to cluster 0, 5 to cluster 1"
    assert Pin({3: 0}).phrase(list("abcd")) == "pin of d to cluster 0"


def test_no_pins_are_no_constraint():
    pin = Pin({})
    pin.check(3, 2)
    assert pin.violations([0, 1]).count == 0
    assert pin.subset([0]) is None


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({-1: 0}, "pin 0 is of row -1 to cluster 0; the row must be at least 0"),
        ({1: -1}, "pin 0 is of row 1 to cluster -1; the cluster must be at least 0"),
        ({1.0: 0}, "pinned rows must be integers"),
        ({1: 0.0}, "clusters of pins must be integers"),
        ({True: 0}, "pinned rows must be integers, but some are booleans"),
        ({0: 0, "a": 0}, "pinned rows must be integers"),
        ({"a": 0, 0: 0}, "pins hold the name 'a' and 0"),
        ([(1, 2, 3)], "Pin needs .*; pin 0 is"),
        ([1, 2], "Pin needs .*; pin 0 is 1"),
        ("ab", "Pin needs .*, not a str"),
        (None, "Pin needs .*, not None"),
        ({0: [1]}, "one row and one cluster"),
    ],
)
def test_bad_pins_are_refused(mapping, message):
    with pytest.raises(ValueError, match=message):
        Pin(mapping)


def test_pins_must_fit_the_data():
    pin = Pin({1: 0, 7: 3})
    pin.check(8, 4)
    with pytest.raises(ValueError, match=r"pin 1 is of row 7 .* X has 7 samples; .* \[0, 6\]"):
        pin.check(7, 4)
    with pytest.raises(ValueError, match=r"n_clusters is 3; clusters must lie in \[0, 2\]"):
        pin.check(8, 3)
    with pytest.raises(ValueError, match="'z', which is not in index"):
        Pin({"z": 0}, index=["a"])


@pytest.mark.parametrize(
    ("y", "rows", "clusters"),
    [
        ([7, -1, 9, 7], [0, 2, 3], [0, 1, 0]),
        (["b", "a", "b"], [0, 1, 2], [1, 0, 1]),
        (np.array(["b", None, "a", -1], object), [0, 2], [1, 0]),
        ([1.0, np.nan, -1.0, 0.0], [0, 3], [1, 0]),
        (["b", -1, "a"], [0, 2], [1, 0]),
        (["a", np.nan], [0], [0]),
        (("b", None, "a", np.int64(-1), pd.NA), [0, 2], [1, 0]),
        (iter(["b", -1, "a"]), [0, 2], [1, 0]),
        (np.ma.array([7, 5, 9], mask=[0, 1, 0]), [0, 2], [0, 1]),
        (pd.Series([5, -1, 5], index=[10, 11, 12]), [0, 2], [0, 0]),
        ([-1, -1], [], []),
        ([], [], []),
    ],
)
def test_known_labels_become_pins_in_the_order_of_the_classes(y, rows, clusters):
    pin = from_labels(y)
    assert pin.rows.tolist() == rows
    assert pin.clusters.tolist() == clusters


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["b", -1, "a"]), r"y\[1\] is the text '-1'; give the number -1"),
        (np.array(["a", np.nan]), r"y\[1\] is the text 'nan'"),
        (["a", "-1"], r"y\[1\] is the text '-1'"),
        (
            ["1", None, 1],
            r"y\[2\] is 1, but y\[0\] is '1'; classes must be all text or all numbers",
        ),
    ],
)
def test_text_that_may_be_an_unknown_class_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        from_labels(y)


def test_labels_must_be_one_per_row():
    with pytest.raises(ValueError, match=r"y has shape \(1, 2\)"):
        from_labels([[0, 1]])
