"""Bigint and bigdec: exact decimal numbers, stored as text.

Bounded before anything is computed: at most 400 digits, adjusted exponent within ±6000, and an
exponent is never expanded into digits.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite

from sandbar.errors import Incorrect
from sandbar.model.values.refusals import refused
from sandbar.model.values.scalars import plain_text

MAX_DIGITS = 400
MAX_EXPONENT = 6000
_MAX_TEXT = MAX_DIGITS + 12  # sign, point, exponent
_MAX_BITS = 1330  # 10**400 has 1329 bits
_MAX_EXACT = 1 << 53

_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?")
_BIGINT = "a whole number"
_BIGDEC = "a decimal number"


def decode_bigint(value: object) -> str:
    """`12345678901234567890`: a whole number without leading zeros."""
    if isinstance(value, str):
        text = _bounded_text(value, _BIGINT, '"12345678901234567890"')
        if _INTEGER.fullmatch(text) is None:
            raise refused("malformed", _BIGINT, value, '"12345678901234567890"')
        if len(text.removeprefix("-")) > MAX_DIGITS:
            raise _too_many_digits(value)
        return str(int(text))
    if isinstance(value, float | Decimal):
        return _whole_part(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole_text(int.__int__(value), value)
    raise refused("type", _BIGINT, value, '"12345678901234567890"')


def decode_bigdec(value: object) -> str:
    """`1.50`: a decimal number that keeps its scale."""
    if isinstance(value, str):
        text = _bounded_text(value, _BIGDEC, '"299.99"')
        if _DECIMAL.fullmatch(text) is None:
            raise refused("malformed", _BIGDEC, value, '"299.99"')
        return _decimal_text(Decimal(text), value)
    if isinstance(value, float):
        if not isfinite(value):
            raise refused("not-finite", _BIGDEC, value, '"299.99"')
        return _decimal_text(Decimal(float.__repr__(value)), value)
    if isinstance(value, Decimal):
        return _decimal_text(value, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole_text(int.__int__(value), value)
    raise refused("type", _BIGDEC, value, '"299.99"')


def _whole_part(value: float | Decimal) -> str:
    if isinstance(value, Decimal):
        whole = _bounded_decimal(value, value)
        if whole.adjusted() >= MAX_DIGITS:
            raise _too_many_digits(value)
        exact = whole == whole.to_integral_value()
    else:
        if not isfinite(value):
            raise refused("not-finite", _BIGINT, value, '"12345678901234567890"')
        exact = value.is_integer() and abs(value) <= _MAX_EXACT
    if not exact:
        raise refused("inexact", "an exact whole number", value, '"12345678901234567890"')
    return str(int(value))


def _bounded_text(value: str, expected: str, example: str) -> str:
    if len(value) > _MAX_TEXT:
        raise _too_many_digits(value)
    return plain_text(value, expected, example)


def _whole_text(number: int, came: object) -> str:
    if number.bit_length() < _MAX_BITS:  # str() of an unbounded integer is quadratic
        text = str(number)
        if len(text) - (number < 0) <= MAX_DIGITS:
            return text
    raise _too_many_digits(came)


def _decimal_text(number: Decimal, came: object) -> str:
    bounded = _bounded_decimal(number, came)
    text = str(bounded)
    return text[1:] if text.startswith("-") and not bounded else text


def _bounded_decimal(number: Decimal, came: object) -> Decimal:
    if not number.is_finite():
        raise refused("not-finite", "a finite decimal number", came, '"299.99"')
    if len(number.as_tuple().digits) > MAX_DIGITS:
        raise _too_many_digits(came)
    exponent = number.adjusted()
    if not -MAX_EXPONENT <= exponent <= MAX_EXPONENT:
        raise refused("range", f"an exponent within ±{MAX_EXPONENT}", came, '"1.5E+300"')
    return number


def _too_many_digits(came: object) -> Incorrect:
    return refused("too-long", f"a number of at most {MAX_DIGITS} digits", came, '"299.99"')
