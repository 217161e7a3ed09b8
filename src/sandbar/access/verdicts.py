"""Whether a chosen key is right: dear to find out by intent, so found out once and remembered.

The verdict belongs to the stored hash: another key has another hash, and asks anew. Candidates are
remembered as keyed digests. Names count too, so that nobody learns from the time an answer takes
whether a name exists. Few checks run at once, since each takes 19 MB and tens of milliseconds.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict

from sandbar.errors import TooMany
from sandbar.model import Credentials

CHECKS_AT_ONCE_MAX = 2
CHECKS_WAITING_MAX = 16
_RIGHT_KEPT_MAX = 4096
_WRONG_KEPT_MAX = 1024

# The hash of something nobody knows, made like every other: unknown names cost the same time.
NOBODYS_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$r1yWwe100RDxo6CXewICuA"
    "$MK+839CrDEO5Kz8PD5+yqWWJeZ7yQwFh2IsaljusCOE"
)


class MustCheck(Exception):
    """The verdict is not at hand, and whoever asked cannot wait for it."""


class Verdicts:
    """Remembered answers of the slow comparison."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        self._in_flight: dict[bytes, threading.Lock] = {}
        self._waiting = threading.BoundedSemaphore(CHECKS_AT_ONCE_MAX + CHECKS_WAITING_MAX)
        self._running = threading.BoundedSemaphore(CHECKS_AT_ONCE_MAX)

    def digest(self, *parts: str) -> bytes:
        """What a candidate is remembered by."""
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._secret, digest_size=32).digest()

    def is_right(self, name: str, hashed: str | None, candidate: str, *, at_once: bool) -> bool:
        """Whether the candidate is the key that was hashed; nothing hashed takes as long."""
        case = self.digest(name, hashed or "", candidate)
        known = self._known(case)
        if known is not None:
            return known
        if at_once:
            raise MustCheck
        with self._flight(case):  # many requests with one key are one check
            known = self._known(case)
            if known is None:
                known = self._check(hashed, candidate)
                self._keep(case, known)
        return known

    def _check(self, hashed: str | None, candidate: str) -> bool:
        if not self._waiting.acquire(blocking=False):
            raise TooMany(
                "auth.busy", "too many keys are being checked", hint="try again in a second"
            )
        try:
            with self._running:
                matches = Credentials.matches(hashed or NOBODYS_HASH, candidate)
        finally:
            self._waiting.release()
        return matches and hashed is not None

    def _known(self, case: bytes) -> bool | None:
        with self._lock:
            if case in self._right:
                self._right.move_to_end(case)
                return True
            return False if case in self._wrong else None

    def _keep(self, case: bytes, verdict: bool) -> None:
        kept, most = (self._right, _RIGHT_KEPT_MAX) if verdict else (self._wrong, _WRONG_KEPT_MAX)
        with self._lock:
            kept[case] = None
            if len(kept) > most:
                kept.popitem(last=False)

    def _flight(self, case: bytes) -> threading.Lock:
        with self._lock:
            if len(self._in_flight) > _WRONG_KEPT_MAX:
                self._in_flight = {c: lock for c, lock in self._in_flight.items() if lock.locked()}
            return self._in_flight.setdefault(case, threading.Lock())
