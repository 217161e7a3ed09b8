"""Order-preserving byte keys: comparing keys with memcmp compares the values.

Input is always a canonical stored value of the right type; nothing is checked again here.
Decimals are sign, exponent, digits: one nibble per digit, trailing zeros dropped, so that equal
numbers of different scale have equal keys. Negative ones are nines' complements, ended by a
nibble above every digit, so that more digits mean further down.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from struct import Struct
from typing import Any

from sandbar import clock
from sandbar.model.values.instants import stored_instant

MAX_SHORT_KEY = 255
_PREFIX = 224

_UNSIGNED = Struct(">Q")
_DOUBLE = Struct(">d")
_FLIP = 1 << 63
_ALL = (1 << 64) - 1

_NEGATIVE, _ZERO, _POSITIVE = b"\x40", b"\x80", b"\xc0"
_EXPONENT_BIAS = 1 << 15
_NINES = str.maketrans("0123456789", "9876543210")


text_key = str.encode
"""UTF-8 sorts as code points do."""


def boolean_key(stored: bool) -> bytes:
    """False before true."""
    return b"\x01" if stored else b"\x00"


def long_key(stored: int) -> bytes:
    """Big-endian with the sign bit flipped."""
    return _UNSIGNED.pack(stored + _FLIP)


def ref_key(stored: int) -> bytes:
    """Big-endian, unsigned."""
    return _UNSIGNED.pack(stored)


def double_key(stored: float) -> bytes:
    """IEEE bits; the sign bit flipped for positive numbers, every bit for negative ones."""
    (bits,) = _UNSIGNED.unpack(_DOUBLE.pack(stored))
    return _UNSIGNED.pack(bits ^ (_ALL if bits & _FLIP else _FLIP))


def instant_key(stored: str) -> bytes:
    """Microseconds, as a long."""
    return long_key(clock.instant_us(stored_instant(stored)))


def uuid_key(stored: str) -> bytes:
    """The sixteen bytes."""
    return bytes.fromhex(stored.replace("-", ""))


def bytes_key(stored: str) -> bytes:
    """The bytes themselves."""
    return b64decode(stored)


def decimal_key(stored: str) -> bytes:
    """The same key for 1.5, 1.50 and 15E-1."""
    number, _, power = stored.partition("E")
    negative = number.startswith("-")
    whole, _, fraction = number.lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    digits = significant.rstrip("0")
    if not digits:
        return _ZERO
    exponent = len(significant) - len(fraction) + int(power or "0")
    if not negative:
        scaled = (_EXPONENT_BIAS + exponent).to_bytes(2, "big")
        return _POSITIVE + scaled + bytes.fromhex(digits + "0" * (len(digits) % 2))
    scaled = (_EXPONENT_BIAS - exponent).to_bytes(2, "big")
    ended = digits.translate(_NINES) + ("f" if len(digits) % 2 else "ff")
    return _NEGATIVE + scaled + bytes.fromhex(ended)


_ALWAYS_SHORT = {boolean_key, long_key, ref_key, double_key, instant_key, uuid_key}


def shortened(key: bytes) -> bytes:
    """A key of at most 256 bytes; exactly 256, with a digest, if it had to be cut."""
    if len(key) <= MAX_SHORT_KEY:
        return key
    return key[:_PREFIX] + sha256(key).digest()


def index_key_of(order_key: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """What makes the shortened keys, with as few calls as can be."""
    if order_key in _ALWAYS_SHORT:
        return order_key

    def index_key(stored: Any) -> bytes:
        key = order_key(stored)
        return key if len(key) <= MAX_SHORT_KEY else shortened(key)

    return index_key
