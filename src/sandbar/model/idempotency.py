"""What makes a write safe to repeat: its digest, its receipt, and what a repetition is answered."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from sandbar import clock
from sandbar.errors import Conflict, Incorrect
from sandbar.model.drafts import Hashed
from sandbar.model.operations import BYTES_MAX, Operation, parse_operations
from sandbar.model.requests import check_request
from sandbar.model.results import Receipt, Written
from sandbar.model.values.refusals import plain
from sandbar.store import Transaction


def checked_operations(
    given: Sequence[Any], principal: str, reason: str | None, key: str | None
) -> list[Operation]:
    """The operations of a request that is well-formed."""
    operations = parse_operations(given)
    if not operations:
        raise Incorrect(
            "operations.none", "a transaction has at least one operation", hint="give one"
        )
    check_request(principal, reason, key)
    return operations


def _plain(value: Any) -> str:
    """How values that are not JSON enter a digest; a secret must not, not even hashed."""
    return "a secret" if isinstance(value, Hashed) else plain(value)


def digest_of(operations: list[Operation], asked: Any, *, is_kept: bool) -> str:
    """What tells one request from another, if that is needed; refuses what is too large."""
    try:
        text = msgspec.json.encode(operations, enc_hook=_plain, order="deterministic")
    except (TypeError, ValueError, RecursionError) as error:
        raise Incorrect(
            "operations.malformed",
            "these operations cannot be written as JSON",
            hint="use text without lone surrogates, objects with text keys and little nesting",
        ) from error
    if len(text) > BYTES_MAX:
        raise Incorrect(
            "operations.too-large",
            f"a transaction has at most {BYTES_MAX} bytes",
            hint="send it in several parts",
        )
    if is_kept and asked is not None:
        text = msgspec.json.encode(asked, enc_hook=_plain, order="deterministic")
    return hashlib.sha256(text).hexdigest() if is_kept else ""


def receipt_of(tx: Transaction) -> Receipt:
    """A write that changed nothing points at the last transaction before it."""
    if tx.changed_ids:
        audit = None if tx.ride is None else tx.ride.quote()
        return Receipt(tx.t, clock.instant_text(tx.instant_us), tx.epoch, audit)
    return Receipt(tx.t - 1, clock.instant_text(tx.last_instant_us), tx.epoch)


def replay(known: str, receipt: str, digest: str) -> Written:
    """What the same request was answered the first time."""
    if known != digest:
        raise other_request()
    return msgspec.structs.replace(msgspec.json.decode(receipt, type=Written), replayed=True)


def other_request() -> Conflict:
    """The refusal of a key that stands for something else."""
    return Conflict(
        "idempotency.mismatch",
        "this idempotency key was used for another request",
        hint="use a new key for a new request",
    )
