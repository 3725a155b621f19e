"""Numbers as people read them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral._text import MANY, in_digits


def read(text):
    return float(text.replace(",", ""))


@given(st.integers(-(10**15) + 1, 10**15 - 1))
def test_whole_numbers_have_all_their_digits(value):
    for kind in (int, float, np.int64, np.float64):
        text = in_digits(kind(value))
        assert int(text.replace(",", "")) == value
        assert text == f"{value:,}"


@given(st.floats(-1e300, 1e300, allow_subnormal=False), st.integers(2, 12))
def test_other_numbers_are_right_to_their_digits(value, digits):
    text = in_digits(value, digits)
    assert abs(read(text) - value) <= 0.5001 * 10.0 ** (1 - digits) * abs(value)
    if 1e-4 <= abs(value) < MANY:
        assert "e" not in text
        assert not ("." in text and text.endswith("0"))


@given(st.floats(-MANY, MANY), st.floats(-MANY, MANY))
def test_larger_numbers_do_not_look_smaller(one, other):
    low, high = sorted([one, other])
    assert read(in_digits(low)) <= read(in_digits(high))


def test_no_number_is_a_dash():
    assert in_digits(float("nan")) == "-"


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, float, int])
def test_every_kind_of_number(kind):
    assert in_digits(kind(12345)) == "12,345"
