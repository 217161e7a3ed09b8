"""What a transaction does to minted keys."""

from __future__ import annotations


class Tokens:
    """Keys that come and go with a transaction; what it revokes, it revokes first."""

    def __init__(self) -> None:
        self.minted: list[tuple[bytes, int]] = []
        self.revoked: list[bytes] = []
        self.revoked_ids: list[int] = []
