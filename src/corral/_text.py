"""Numbers as people read them."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

#: Numbers from here on are written with an exponent.  Up to here floats hold whole numbers exactly.
MANY = 1e15


def in_digits(value: Any, digits: int = 6, most: float = MANY) -> str:
    """Write a number: whole ones with all digits, in groups of three, others with some digits.

    Parameters
    ----------
    value : number
    digits : int
        Digits of a number that is not whole; those before the point are all written.
    most : float
        Where the exponents begin.

    Examples
    --------
    >>> in_digits(17350100.0), in_digits(680316123.4), in_digits(0.123456789), in_digits(1e20)
    ('17,350,100', '680,316,123', '0.123457', '1e+20')
    """
    if math.isnan(value):
        return "-"
    whole = isinstance(value, Integral) or float(value).is_integer()
    if abs(value) < most and (whole or abs(value) >= 10.0 ** (digits - 1)):
        return f"{round(value):,}"
    return f"{float(value):.{digits}g}" if abs(value) >= most else f"{float(value):,.{digits}g}"
