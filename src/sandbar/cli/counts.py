"""Numbers of things, as people say them."""

from __future__ import annotations

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def counted(number: int, one: str, many: str) -> str:
    """`1 key`, `2 keys`, `1,000 keys`."""
    return f"{number:,} {one if number == 1 else many}"


def sized(bytes: int) -> str:
    """`700 bytes`, `1.5 KiB`, `16 GiB`: rounded, so for people only."""
    power = min(max(bytes.bit_length() - 1, 0) // 10, len(_UNITS))
    if not power:
        return counted(bytes, "byte", "bytes")
    return f"{bytes / (1 << 10 * power):,.1f}".removesuffix(".0") + f" {_UNITS[power - 1]}"
