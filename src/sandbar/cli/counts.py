"""Numbers of things, as people say them."""

from __future__ import annotations


def counted(number: int, one: str, many: str) -> str:
    """`1 key`, `2 keys`, `1,000 keys`."""
    return f"{number:,} {one if number == 1 else many}"
